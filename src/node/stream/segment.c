#include "node/stream/segment.h"

#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/digest.h"
#include "base/hash.h"
#include "base/wide.h"

enum { AT_CHECK = 4, AFTER_CHECK = 8, AT_MESSAGE = SEGMENT_DATA_HEAD - 8 };

/* ---- checks ---- */

/* Both halves of the product. */
static inline uint64_t fold(uint64_t one, uint64_t other)
{
    uint128 product = (uint128)one * other;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

#define SECRET_A 0xa0761d6478bd642fu
#define SECRET_B 0xe7037ed1a0b428dbu

/* The check of a packet whose head is `head` and whose bytes have that digest. */
static uint32_t packet_check(const uint8_t *head, size_t size, uint64_t digest)
{
    const uint8_t *at = head + AFTER_CHECK;
    uint64_t check = fold((hash_word(head) & UINT32_MAX) ^ SECRET_A, digest ^ size ^ SECRET_B);
    for (size -= AFTER_CHECK; size >= 16; at += 16, size -= 16)
        check = fold(hash_word(at) ^ SECRET_A, hash_word(at + 8) ^ check);
    uint8_t rest[16] = {0};
    if (size)
        memcpy(rest, at, size);
    check = fold(hash_word(rest) ^ SECRET_A, hash_word(rest + 8) ^ check);
    return (uint32_t)(hash_mix(check) >> 32);
}

static void write_check(uint8_t *head, size_t size, uint64_t digest)
{
    struct writer out = writer_make(head + AT_CHECK, sizeof(uint32_t));
    write_u32(&out, packet_check(head, size, digest));
}

/* ---- writing ---- */

static void write_end(struct writer *out, const struct segment_end *end)
{
    write_u64(out, end->run);
    write_u64(out, end->stream);
}

static void write_ack(struct writer *out, const struct segment_ack *ack)
{
    assert(ack->bitmap_size <= SEGMENT_BITMAP_SIZE);
    write_u64(out, ack->base);
    write_u64(out, ack->limit);
    write_u64(out, ack->place);
    write_u32(out, ack->repeats);
    write_u32(out, ack->marks);
    write_bytes(out, ack->bitmap, ack->bitmap_size);
}

uint32_t segment_write(const struct segment *segment, uint8_t *bytes)
{
    struct writer out = writer_make(bytes, SEGMENT_SHORT_MAX);
    write_u8(&out, segment->kind);
    write_u8(&out, segment->flags);
    write_u16(&out, 0);
    write_u32(&out, 0);
    write_end(&out, &segment->to);
    write_end(&out, &segment->from);
    switch ((enum segment_kind)segment->kind) {
    case SEGMENT_OPEN:
        write_u64(&out, segment->open.subject);
        write_u64(&out, segment->open.identity);
        write_u64(&out, segment->open.message);
        write_u64(&out, segment->open.offset);
        write_u64(&out, segment->open.place);
        break;
    case SEGMENT_ACCEPT:
        write_u64(&out, segment->limit);
        break;
    case SEGMENT_DATA:
        write_u64(&out, segment->sequence);
        write_u64(&out, segment->check);
        break;
    case SEGMENT_ACK:
        write_ack(&out, &segment->ack);
        break;
    case SEGMENT_PROBE:
    case SEGMENT_ALIVE:
    case SEGMENT_END:
        break;
    }
    assert(!out.failed);
    uint32_t size = SEGMENT_SHORT_MAX - (uint32_t)out.left;
    write_check(bytes, size, segment->kind == SEGMENT_DATA ? segment->digest : 0);
    return size;
}

void segment_seal(uint8_t *head, uint64_t digest)
{
    assert(head[0] == SEGMENT_DATA);
    if (head[1] & SEGMENT_LAST) {
        uint8_t *at = head + AT_MESSAGE;
        struct reader in = reader_make(at, sizeof(uint64_t));
        struct writer out = writer_make(at, sizeof(uint64_t));
        write_u64(&out, segment_check_add(read_u64(&in), digest));
    }
    write_check(head, SEGMENT_DATA_HEAD, digest);
}

/* ---- reading ---- */

static struct segment_end read_end(struct reader *in)
{
    struct segment_end end;
    end.run = read_u64(in);
    end.stream = read_u64(in);
    return end;
}

static void read_ack(struct reader *in, struct segment_ack *ack)
{
    ack->base = read_u64(in);
    ack->limit = read_u64(in);
    ack->place = read_u64(in);
    ack->repeats = read_u32(in);
    ack->marks = read_u32(in);
    ack->bitmap_size = (uint32_t)in->left;
    if (in->left > SEGMENT_BITMAP_SIZE)
        in->failed = true;
    else
        read_copy(in, ack->bitmap, in->left);
}

/* Reads what follows the head; false: no such kind, or not exactly its size. */
static bool read_body(struct segment *segment, struct reader *in)
{
    switch (segment->kind) {
    case SEGMENT_OPEN:
        segment->open.subject = read_u64(in);
        segment->open.identity = read_u64(in);
        segment->open.message = read_u64(in);
        segment->open.offset = read_u64(in);
        segment->open.place = read_u64(in);
        break;
    case SEGMENT_ACCEPT:
        segment->limit = read_u64(in);
        break;
    case SEGMENT_DATA:
        segment->sequence = read_u64(in);
        segment->check = read_u64(in);
        segment->size = (uint32_t)in->left;
        segment->bytes = read_bytes(in, in->left);
        return !in->failed && segment->size <= SEGMENT_BYTES_MAX;
    case SEGMENT_ACK:
        read_ack(in, &segment->ack);
        break;
    case SEGMENT_PROBE:
    case SEGMENT_ALIVE:
    case SEGMENT_END:
        break;
    default:
        return false;
    }
    return !in->failed && !in->left;
}

bool segment_parse(struct segment *segment, const uint8_t *bytes, size_t size)
{
    struct reader in = reader_make(bytes, size);
    segment->kind = read_u8(&in);
    segment->flags = read_u8(&in);
    bool zero = read_u16(&in) == 0;
    (void)read_u32(&in);
    segment->to = read_end(&in);
    segment->from = read_end(&in);
    segment->digest = 0;
    segment->copy = NULL;
    return !in.failed && zero && read_body(segment, &in);
}

bool segment_is_whole(const struct segment *segment, const uint8_t *bytes, size_t size)
{
    bool data = segment->kind == SEGMENT_DATA;
    struct reader in = reader_make(bytes + AT_CHECK, sizeof(uint32_t));
    return read_u32(&in) ==
           packet_check(bytes, data ? SEGMENT_DATA_HEAD : size, data ? segment->digest : 0);
}

bool segment_read(struct segment *segment, const uint8_t *bytes, size_t size)
{
    if (!segment_parse(segment, bytes, size))
        return false;
    if (segment->kind == SEGMENT_DATA)
        segment->digest = digest_bytes(segment->bytes, segment->size);
    return segment_is_whole(segment, bytes, size);
}
