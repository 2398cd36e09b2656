/* stream: tests two ends, and between them a network that loses, duplicates, delays and
 * reorders. */
#include "transport/routed/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/test.h"

#define WAYS  256 /* datagrams in flight */
#define MSEC  (1000 * 1000LL)
#define TOTAL 200000 /* bytes in each direction */

struct flight {
    bool used;
    unsigned to;
    nsec at;
    size_t size;
    uint8_t bytes[STREAM_DATAGRAM_MAX];
};

struct end {
    struct stream stream;
    size_t put, took; /* in bytes; the n-th byte is a function of n and the end */
    size_t total;
    bool slow; /* refuses half of what arrives */
};

struct pair {
    struct end ends[2];
    struct flight ways[WAYS];
    struct rng rng;
    unsigned lose, twice; /* percentages */
    nsec now;
    uint64_t datagrams;
};

static uint8_t byte_at(unsigned end, size_t index)
{
    return (uint8_t)(index * 31 + (index >> 8) + end * 7);
}

static void pair_begin(struct pair *pair, uint64_t seed)
{
    *pair = (struct pair){.rng = rng_make(seed, 0), .now = 1000};
    for (unsigned i = 0; i < 2; i++)
        stream_init(&pair->ends[i].stream, 77, i == 0, pair->now);
}

static void fly(struct pair *pair, unsigned to, const uint8_t *bytes, size_t size)
{
    for (unsigned i = 0; i < WAYS; i++) {
        struct flight *flight = &pair->ways[i];
        if (flight->used)
            continue;
        *flight = (struct flight){.used = true, .to = to, .size = size};
        flight->at = pair->now + (nsec)rng_below(&pair->rng, 3 * MSEC);
        memcpy(flight->bytes, bytes, size);
        return;
    }
}

static void end_fill(struct pair *pair, unsigned i)
{
    struct end *end = &pair->ends[i];
    uint8_t bytes[STREAM_SEGMENT_MAX];
    while (end->put < end->total && stream_has_room(&end->stream)) {
        size_t size = 1 + (size_t)rng_below(&pair->rng, STREAM_SEGMENT_MAX);
        size = size < end->total - end->put ? size : end->total - end->put;
        for (size_t j = 0; j < size; j++)
            bytes[j] = byte_at(i, end->put + j);
        stream_put(&end->stream, bytes, size);
        end->put += size;
    }
}

static void end_send(struct pair *pair, unsigned i)
{
    struct stream_head head;
    const uint8_t *body;
    size_t size;
    uint8_t bytes[STREAM_DATAGRAM_MAX];
    while (stream_next(&pair->ends[i].stream, pair->now, &head, &body, &size)) {
        stream_head_write(&head, bytes);
        if (size)
            memcpy(bytes + STREAM_HEAD_SIZE, body, size);
        pair->datagrams++;
        if (rng_below(&pair->rng, 100) >= pair->lose)
            fly(pair, 1 - i, bytes, STREAM_HEAD_SIZE + size);
        if (rng_below(&pair->rng, 100) < pair->twice)
            fly(pair, 1 - i, bytes, STREAM_HEAD_SIZE + size);
    }
}

static void land(struct pair *pair, struct flight *flight)
{
    struct end *end = &pair->ends[flight->to];
    struct stream_head head;
    size_t size = flight->size - STREAM_HEAD_SIZE;
    flight->used = false;
    assert_int_equal(stream_head_read(&head, flight->bytes, flight->size), 0);
    if (!stream_heard(&end->stream, &head, size, pair->now) ||
        (end->slow && rng_below(&pair->rng, 2)))
        return;
    for (size_t i = 0; i < size; i++)
        assert_int_equal(flight->bytes[STREAM_HEAD_SIZE + i],
                         byte_at(1 - flight->to, end->took + i));
    end->took += size;
    stream_took(&end->stream);
}

static void pair_run(struct pair *pair, nsec length)
{
    nsec until = pair->now + length;
    while (pair->now < until) {
        nsec next = until;
        for (unsigned i = 0; i < 2; i++) {
            end_fill(pair, i);
            end_send(pair, i);
            nsec due = stream_due(&pair->ends[i].stream);
            next = due < next ? due : next;
        }
        for (unsigned i = 0; i < WAYS; i++)
            if (pair->ways[i].used && pair->ways[i].at < next)
                next = pair->ways[i].at;
        pair->now = next > pair->now ? next : pair->now + 1;
        for (unsigned i = 0; i < WAYS; i++)
            if (pair->ways[i].used && pair->ways[i].at <= pair->now)
                land(pair, &pair->ways[i]);
    }
}

static void bytes_arrive_in_order_over_a_bad_network(void **state)
{
    static struct pair pair;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        print_message("# seed %llu\n", (unsigned long long)seed);
        pair_begin(&pair, seed);
        pair.lose = (unsigned)(seed % 4) * 10;
        pair.twice = (unsigned)(seed % 3) * 10;
        pair.ends[0].total = pair.ends[1].total = TOTAL;
        pair.ends[1].slow = seed % 2;
        for (unsigned i = 0; i < 400 && (pair.ends[0].took < TOTAL || pair.ends[1].took < TOTAL);
             i++)
            pair_run(&pair, 500 * MSEC);
        assert_int_equal(pair.ends[0].took, TOTAL);
        assert_int_equal(pair.ends[1].took, TOTAL);
    }
}

static void an_idle_stream_costs_little_and_stays_open(void **state)
{
    static struct pair pair;
    pair_begin(&pair, 1);
    pair.ends[0].total = 10;
    pair_run(&pair, 60000 * MSEC);
    assert_int_equal(pair.ends[1].took, 10);
    assert_false(stream_is_lost(&pair.ends[0].stream, pair.now));
    assert_false(stream_is_lost(&pair.ends[1].stream, pair.now));
    assert_true(pair.datagrams < 300);
    pair.lose = 100;
    pair_run(&pair, 10000 * MSEC);
    assert_true(stream_is_lost(&pair.ends[0].stream, pair.now));
    assert_true(stream_is_lost(&pair.ends[1].stream, pair.now));
}

static void an_end_comes_after_the_last_byte(void **state)
{
    static struct pair pair;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        pair_begin(&pair, seed);
        pair.ends[0].total = 50000;
        end_fill(&pair, 0);
        pair_run(&pair, 100 * MSEC);
        while (pair.ends[0].put < 50000)
            pair_run(&pair, 10 * MSEC);
        stream_end(&pair.ends[0].stream);
        pair_run(&pair, 1000 * MSEC);
        assert_true(stream_is_done(&pair.ends[0].stream));
        assert_int_equal(pair.ends[1].took, 50000);
        assert_true(pair.ends[1].stream.over);
    }
}

static void segment_numbers_wrap_around(void **state)
{
    static struct pair pair;
    pair_begin(&pair, 3);
    for (unsigned i = 0; i < 2; i++) {
        struct stream *stream = &pair.ends[i].stream;
        stream->ours.base = stream->ours.sent = stream->ours.next = stream->expected =
            UINT32_MAX - 5;
    }
    pair.lose = 20;
    pair.ends[0].total = pair.ends[1].total = TOTAL;
    pair_run(&pair, 100000 * MSEC);
    assert_int_equal(pair.ends[0].took, TOTAL);
    assert_int_equal(pair.ends[1].took, TOTAL);
}

static void invalid_datagrams_change_nothing(void **state)
{
    static struct stream stream;
    stream_init(&stream, 5, true, 0);
    stream_put(&stream, "abc", 3);
    struct stream_head head = {.line = 5, .received = 99};
    assert_false(stream_heard(&stream, &head, 0, 1)); /* confirms what was never sent */
    assert_int_equal(stream.ours.base, 0);
    head = (struct stream_head){.line = 5, .flags = STREAM_CONNECTS, .received = 1};
    assert_false(stream_heard(&stream, &head, 3, 1)); /* our own datagram */
    assert_int_equal(stream.ours.base, 0);
    head = (struct stream_head){.line = 5, .sequence = 1};
    assert_false(stream_heard(&stream, &head, 3, 1)); /* not the next */
    head = (struct stream_head){.line = 5, .flags = STREAM_RESETS};
    assert_false(stream_heard(&stream, &head, 0, 1));
    assert_true(stream_is_done(&stream));
    uint8_t bytes[STREAM_DATAGRAM_MAX + 1] = {0};
    stream_head_write(&head, bytes);
    assert_int_equal(stream_head_read(&head, bytes, STREAM_HEAD_SIZE - 1), -EPROTO);
    assert_int_equal(stream_head_read(&head, bytes, sizeof bytes), -EPROTO);
    bytes[8] = 0x80;
    assert_int_equal(stream_head_read(&head, bytes, STREAM_HEAD_SIZE), -EPROTO);
}

TEST_MAIN(TEST(bytes_arrive_in_order_over_a_bad_network),
          TEST(an_idle_stream_costs_little_and_stays_open), TEST(an_end_comes_after_the_last_byte),
          TEST(segment_numbers_wrap_around), TEST(invalid_datagrams_change_nothing))
