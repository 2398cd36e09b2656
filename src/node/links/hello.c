#include "node/links/hello.h"

#include "base/bytes.h"
#include "base/check.h"
#include "base/hash.h"

enum { FLAG_MORE = 1 };

static_assert(HELLO_ROWS_MAX >= 256, "a message holds the rows of a cluster of 256 servers");

static void tail_write(uint8_t *bytes, size_t size)
{
    struct writer out = writer_make(bytes + size - HELLO_TAIL, HELLO_TAIL);
    write_u64(&out, hash_bytes(bytes, size - HELLO_TAIL));
}

void hello_write(const struct link_hello *hello, uint8_t bytes[HELLO_SIZE])
{
    struct writer out = writer_make(bytes, HELLO_SIZE - HELLO_TAIL);
    write_u8(&out, HELLO);
    write_u8(&out, 0);
    write_u16(&out, (uint16_t)hello->port);
    write_u32(&out, hello->server);
    write_u64(&out, hello->self.incarnation);
    write_u32(&out, hello->self.session);
    write_u64(&out, hello->heard.incarnation);
    write_u32(&out, hello->heard.session);
    write_u64(&out, hello->layout);
    write_u64(&out, hello->digest);
    write_u32(&out, 0);
    assert(!out.failed && out.left == 0);
    tail_write(bytes, HELLO_SIZE);
}

void hello_read(const uint8_t *bytes, struct link_hello *hello)
{
    struct reader in = reader_make(bytes + 2, HELLO_SIZE - 2);
    hello->port = read_u16(&in);
    hello->server = read_u32(&in);
    hello->self.incarnation = read_u64(&in);
    hello->self.session = read_u32(&in);
    hello->heard.incarnation = read_u64(&in);
    hello->heard.session = read_u32(&in);
    hello->layout = read_u64(&in);
    hello->digest = read_u64(&in);
}

void hello_rows_write(const struct hello_rows *rows, const struct link_report *reports,
                      uint8_t *bytes)
{
    size_t size = hello_rows_size(rows->count);
    struct writer out = writer_make(bytes, size - HELLO_TAIL);
    write_u8(&out, HELLO_ROWS);
    write_u8(&out, rows->more ? FLAG_MORE : 0);
    write_u16(&out, (uint16_t)rows->count);
    write_u32(&out, rows->self_session);
    write_u32(&out, rows->peer_session);
    write_u32(&out, rows->sequence);
    write_u32(&out, rows->acknowledged);
    for (uint32_t i = 0; i < rows->count; i++) {
        write_u32(&out, reports[i].server);
        write_u64(&out, reports[i].incarnation);
        write_u64(&out, reports[i].version);
        write_u32(&out, reports[i].near);
        write_u32(&out, reports[i].up);
    }
    assert(!out.failed && out.left == 0);
    tail_write(bytes, size);
}

bool hello_rows_read(const uint8_t *bytes, size_t size, struct hello_rows *rows)
{
    struct reader in = reader_make(bytes + 1, size - 1);
    rows->more = read_u8(&in) & FLAG_MORE;
    rows->count = read_u16(&in);
    rows->self_session = read_u32(&in);
    rows->peer_session = read_u32(&in);
    rows->sequence = read_u32(&in);
    rows->acknowledged = read_u32(&in);
    return !in.failed && size == hello_rows_size(rows->count);
}

void hello_row_read(const uint8_t *bytes, uint32_t index, struct link_report *report)
{
    struct reader in =
        reader_make(bytes + HELLO_ROWS_HEAD + (size_t)index * HELLO_ROW_SIZE, HELLO_ROW_SIZE);
    report->server = read_u32(&in);
    report->incarnation = read_u64(&in);
    report->version = read_u64(&in);
    report->near = read_u32(&in);
    report->up = read_u32(&in);
}

void hello_seen_write(const struct link_seen *seen, uint8_t bytes[HELLO_SEEN_SIZE])
{
    struct writer out = writer_make(bytes, HELLO_SEEN_SIZE - HELLO_TAIL);
    write_u32(&out, (uint32_t)HELLO_SEEN << 24);
    write_u64(&out, seen->incarnation);
    write_u64(&out, seen->version);
    write_u64(&out, seen->own_incarnation);
    write_u64(&out, seen->own_version);
    assert(!out.failed && out.left == 0);
    tail_write(bytes, HELLO_SEEN_SIZE);
}

void hello_seen_read(const uint8_t *bytes, struct link_seen *seen)
{
    struct reader in = reader_make(bytes + 4, HELLO_SEEN_SIZE - 4);
    seen->incarnation = read_u64(&in);
    seen->version = read_u64(&in);
    seen->own_incarnation = read_u64(&in);
    seen->own_version = read_u64(&in);
}

unsigned hello_type(const uint8_t *bytes, size_t size)
{
    if (size < HELLO_ROWS_HEAD + HELLO_TAIL)
        return 0;
    struct reader in = reader_make(bytes + size - HELLO_TAIL, HELLO_TAIL);
    if (read_u64(&in) != hash_bytes(bytes, size - HELLO_TAIL))
        return 0;
    switch (bytes[0]) {
    case HELLO:
        return size == HELLO_SIZE ? HELLO : 0;
    case HELLO_ROWS:
        return HELLO_ROWS;
    case HELLO_SEEN:
        return size == HELLO_SEEN_SIZE ? HELLO_SEEN : 0;
    default:
        return 0;
    }
}
