/* Checks that packets of streams are read as they were written, and that damage is found. */
#include "node/stream/segment.h"

#include <string.h>

#include "base/digest.h"
#include "base/rng.h"
#include "base/test.h"

static struct segment sample(unsigned kind)
{
    struct segment segment = {
        .kind = (uint8_t)kind,
        .flags = kind == SEGMENT_DATA ? SEGMENT_LAST : 3,
        .to = {0x1122334455667788, 7 << 16 | 1},
        .from = {0x99aabbccddeeff00, 9 << 16 | 2},
        .open = {1, 2, 3, 4, 5},
        .limit = 64,
        .sequence = 1000000007,
        .check = 0xfeedface,
        .ack = {.base = 10, .limit = 74, .place = 12345, .repeats = 6, .marks = 7},
    };
    segment.ack.bitmap_size = 3;
    memcpy(segment.ack.bitmap, "\x05\x00\x80", 3);
    return segment;
}

static uint32_t packet_of(const struct segment *segment, uint8_t *packet, uint32_t bytes)
{
    struct segment copy = *segment;
    for (uint32_t i = 0; i < bytes; i++)
        packet[SEGMENT_DATA_HEAD + i] = (uint8_t)(i * 7);
    copy.digest = digest_bytes(packet + SEGMENT_DATA_HEAD, bytes);
    return segment_write(&copy, packet) + (copy.kind == SEGMENT_DATA ? bytes : 0);
}

static void every_kind_is_read_as_written(void **state)
{
    uint8_t packet[SEGMENT_DATA_HEAD + SEGMENT_BYTES_MAX];
    for (unsigned kind = SEGMENT_OPEN; kind <= SEGMENT_END; kind++) {
        struct segment wrote = sample(kind), read;
        uint32_t size = packet_of(&wrote, packet, kind == SEGMENT_DATA ? SEGMENT_BYTES_MAX : 0);
        assert_true(segment_read(&read, packet, size));
        assert_int_equal(read.kind, kind);
        assert_int_equal(read.flags, wrote.flags);
        assert_memory_equal(&read.to, &wrote.to, sizeof read.to);
        assert_memory_equal(&read.from, &wrote.from, sizeof read.from);
        if (kind == SEGMENT_OPEN)
            assert_memory_equal(&read.open, &wrote.open, sizeof read.open);
        if (kind == SEGMENT_ACCEPT)
            assert_int_equal(read.limit, wrote.limit);
        if (kind == SEGMENT_DATA) {
            assert_int_equal(read.sequence, wrote.sequence);
            assert_int_equal(read.check, wrote.check);
            assert_int_equal(read.size, SEGMENT_BYTES_MAX);
            assert_ptr_equal(read.bytes, packet + SEGMENT_DATA_HEAD);
        }
        if (kind == SEGMENT_ACK) {
            assert_int_equal(read.ack.base, 10);
            assert_int_equal(read.ack.limit, 74);
            assert_int_equal(read.ack.place, 12345);
            assert_int_equal(read.ack.repeats, 6);
            assert_int_equal(read.ack.marks, 7);
            assert_int_equal(read.ack.bitmap_size, 3);
            assert_memory_equal(read.ack.bitmap, wrote.ack.bitmap, 3);
        }
    }
}

static void every_flipped_bit_is_found(void **state)
{
    uint8_t packet[SEGMENT_DATA_HEAD + 300];
    for (unsigned kind = SEGMENT_OPEN; kind <= SEGMENT_END; kind++) {
        struct segment wrote = sample(kind), read;
        uint32_t size = packet_of(&wrote, packet, kind == SEGMENT_DATA ? 300 : 0);
        for (uint32_t bit = 0; bit < 8 * size; bit++) {
            packet[bit / 8] ^= (uint8_t)(1u << bit % 8);
            assert_false(segment_read(&read, packet, size));
            packet[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        assert_true(segment_read(&read, packet, size));
    }
}

/* A head that gets its digest later is the same in the end. */
static void a_head_can_be_sealed_later(void **state)
{
    uint8_t whole[SEGMENT_DATA_HEAD + 300], later[SEGMENT_DATA_HEAD];
    for (unsigned flags = 0; flags <= (SEGMENT_LAST | SEGMENT_FINISH); flags++) {
        struct segment segment = sample(SEGMENT_DATA);
        segment.flags = (uint8_t)flags;
        assert_int_equal(segment_write(&segment, later), SEGMENT_DATA_HEAD);
        for (unsigned i = 0; i < 300; i++)
            whole[SEGMENT_DATA_HEAD + i] = (uint8_t)(i * 7);
        uint64_t digest = digest_bytes(whole + SEGMENT_DATA_HEAD, 300);
        if (flags & SEGMENT_LAST) /* then the check of the message has this segment, too */
            segment.check = segment_check_add(segment.check, digest);
        (void)packet_of(&segment, whole, 300);
        segment_seal(later, digest);
        assert_memory_equal(later, whole, SEGMENT_DATA_HEAD);
    }
}

static void every_shorter_packet_is_refused(void **state)
{
    uint8_t packet[SEGMENT_DATA_HEAD + 100];
    for (unsigned kind = SEGMENT_OPEN; kind <= SEGMENT_END; kind++) {
        struct segment wrote = sample(kind), read;
        uint32_t size = packet_of(&wrote, packet, kind == SEGMENT_DATA ? 100 : 0);
        for (uint32_t less = 0; less < size; less++)
            assert_false(segment_read(&read, packet, less));
    }
}

/* Words that trade places, move or are cleared are damage that a plain sum would miss. */
static void a_digest_depends_on_the_order_of_words(void **state)
{
    struct rng rng = rng_make(1, 2);
    uint8_t bytes[256], other[256];
    for (unsigned round = 0; round < 1000; round++) {
        for (unsigned i = 0; i < sizeof bytes; i++)
            bytes[i] = (uint8_t)rng_next(&rng);
        memcpy(other, bytes, sizeof bytes);
        unsigned one = (unsigned)rng_below(&rng, 32), two = (unsigned)rng_below(&rng, 32);
        if (one == two)
            continue;
        memcpy(other + 8 * one, bytes + 8 * two, 8);
        memcpy(other + 8 * two, bytes + 8 * one, 8);
        assert_true(digest_bytes(bytes, sizeof bytes) != digest_bytes(other, sizeof other));
        memset(other + 8 * one, 0, 8);
        assert_true(digest_bytes(bytes, sizeof bytes) != digest_bytes(other, sizeof other));
    }
    memset(bytes, 0, sizeof bytes);
    for (size_t size = 0; size < sizeof bytes; size++) /* zeroes of another length */
        assert_true(digest_bytes(bytes, size) != digest_bytes(bytes, size + 1));
}

TEST_MAIN(TEST(every_kind_is_read_as_written), TEST(every_flipped_bit_is_found),
          TEST(a_head_can_be_sealed_later), TEST(every_shorter_packet_is_refused),
          TEST(a_digest_depends_on_the_order_of_words))
