#include "node/commission/bootstrap_wire.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/hash.h"

enum { MAGIC = 0x5762, VERSION = 1, CHECK_SIZE = 8, EAR_NONE = 0xff };

/* All messages begin like this: "Wb", version, type, number of ports or port. */
static void head_write(struct writer *out, enum bootstrap_type type, uint32_t port)
{
    write_u16(out, MAGIC);
    write_u8(out, VERSION);
    write_u8(out, (uint8_t)type);
    write_u32(out, port);
}

static void check_write(uint8_t *bytes, size_t size)
{
    struct writer out = writer_make(bytes + size - CHECK_SIZE, CHECK_SIZE);
    write_u64(&out, hash_bytes(bytes, size - CHECK_SIZE));
}

void bootstrap_hello_write(const struct bootstrap_hello *hello, uint8_t bytes[BOOTSTRAP_HELLO_SIZE])
{
    struct writer out = writer_make(bytes, BOOTSTRAP_HELLO_SIZE - CHECK_SIZE);
    assert(hello->port < PORT_MAX);
    head_write(&out, BOOTSTRAP_HELLO, hello->port);
    write_u64(&out, hello->serial);
    write_u64(&out, hello->digest);
    assert(!out.failed && out.left == 0);
    check_write(bytes, BOOTSTRAP_HELLO_SIZE);
}

size_t bootstrap_row_write(const struct bootstrap_row *row, uint8_t bytes[BOOTSTRAP_SIZE_MAX])
{
    const struct placement_report *report = &row->report;
    assert(report->port_count <= PORT_MAX);
    size_t size = BOOTSTRAP_ROW_HEAD + report->port_count * BOOTSTRAP_ROW_PORT;
    struct writer out = writer_make(bytes, size - CHECK_SIZE);
    head_write(&out, BOOTSTRAP_ROW, report->port_count);
    write_u64(&out, report->serial);
    write_u64(&out, row->version);
    write_u64(&out, row->agreed);
    write_u32(&out, report->known);
    for (uint32_t port = 0; port < report->port_count; port++) {
        bool hears = report->ears[port].port < PORT_MAX;
        write_u64(&out, hears ? report->ears[port].serial : 0);
        write_u8(&out, hears ? (uint8_t)report->ears[port].port : EAR_NONE);
    }
    assert(!out.failed && out.left == 0);
    check_write(bytes, size);
    return size;
}

unsigned bootstrap_type(const uint8_t *bytes, size_t size)
{
    if (size < BOOTSTRAP_HELLO_SIZE || size > BOOTSTRAP_SIZE_MAX)
        return 0;
    struct reader in = reader_make(bytes, size);
    struct reader check = reader_make(bytes + size - CHECK_SIZE, CHECK_SIZE);
    uint16_t magic = read_u16(&in);
    uint8_t version = read_u8(&in), type = read_u8(&in);
    if (magic != MAGIC || version != VERSION ||
        read_u64(&check) != hash_bytes(bytes, size - CHECK_SIZE))
        return 0;
    if (type == BOOTSTRAP_HELLO)
        return size == BOOTSTRAP_HELLO_SIZE ? type : 0;
    return type == BOOTSTRAP_ROW && size >= BOOTSTRAP_ROW_HEAD ? type : 0;
}

bool bootstrap_hello_read(struct bootstrap_hello *hello, const uint8_t *bytes, size_t size)
{
    struct reader in = reader_make(bytes + 4, size - 4);
    hello->port = read_u32(&in);
    hello->serial = read_u64(&in);
    hello->digest = read_u64(&in);
    return hello->port < PORT_MAX;
}

bool bootstrap_row_read(struct bootstrap_row *row, const uint8_t *bytes, size_t size)
{
    struct reader in = reader_make(bytes + 4, size - 4);
    struct placement_report *report = &row->report;
    *row = (struct bootstrap_row){.report.port_count = read_u32(&in)};
    if (report->port_count > PORT_MAX ||
        size != BOOTSTRAP_ROW_HEAD + report->port_count * BOOTSTRAP_ROW_PORT)
        return false;
    report->serial = read_u64(&in);
    row->version = read_u64(&in);
    row->agreed = read_u64(&in);
    report->known = read_u32(&in);
    bool sound = row->version > 0;
    for (uint32_t port = 0; port < PORT_MAX; port++) {
        struct placement_end *ear = &report->ears[port];
        bool there = port < report->port_count;
        ear->serial = there ? read_u64(&in) : 0;
        uint8_t far = there ? read_u8(&in) : EAR_NONE;
        ear->port = far == EAR_NONE ? PORT_NONE : far;
        sound &= far < PORT_MAX || (far == EAR_NONE && ear->serial == 0);
    }
    return sound;
}

/* ---- the file ---- */

size_t bootstrap_text_write(uint64_t serial, node_id server, char out[BOOTSTRAP_TEXT_SIZE])
{
    int size =
        snprintf(out, BOOTSTRAP_TEXT_SIZE,
                 "weft coordinate 1\nserial %" PRIu64 "\nserver %" PRIu32 "\n", serial, server);
    uint64_t check = hash_bytes(out, (size_t)size);
    size +=
        snprintf(out + size, BOOTSTRAP_TEXT_SIZE - (size_t)size, "check %016" PRIx64 "\n", check);
    assert(size < BOOTSTRAP_TEXT_SIZE);
    return (size_t)size;
}

/* The number after a word at the start of a line; the caller writes it again to verify it. */
static uint64_t text_number(const char *text, const char *word)
{
    const char *at = strstr(text, word);
    uint64_t number = 0;
    for (at = at ? at + strlen(word) : ""; *at >= '0' && *at <= '9'; at++)
        number = 10 * number + (uint64_t)(*at - '0');
    return number;
}

enum err bootstrap_text_read(node_id *server, uint64_t serial, uint32_t server_count,
                             const char *text, size_t size, struct why *why)
{
    char copy[BOOTSTRAP_TEXT_SIZE] = "", again[BOOTSTRAP_TEXT_SIZE];
    if (size < BOOTSTRAP_TEXT_SIZE)
        memcpy(copy, text, size);
    assert(copy[BOOTSTRAP_TEXT_SIZE - 1] == 0); /* text_number stops there */
    uint64_t owner = text_number(copy, "\nserial "), kept = text_number(copy, "\nserver ");
    if (bootstrap_text_write(owner, (node_id)kept, again) != size || memcmp(again, text, size) != 0)
        return why_fail(why, ERR_INPUT, "the saved coordinate is damaged");
    if (owner != serial)
        return why_fail(why, ERR_INPUT,
                        "the saved coordinate belongs to serial %" PRIu64
                        ", but this is serial %" PRIu64,
                        owner, serial);
    if (kept >= server_count)
        return why_fail(why, ERR_INPUT,
                        "the saved coordinate is server %" PRIu64 ", but the plan has only %u",
                        kept, server_count);
    *server = (node_id)kept;
    return OK;
}
