/* Checks the sender's window: what is sent again and when, and how much may be on its way. */
#include "node/stream/transit.h"

#include <string.h>

#include "base/rng.h"
#include "base/test.h"

#define MSEC 1000000LL

static struct transit_segment segments[SEGMENT_WINDOW_MAX];

static uint64_t send_new(struct transit *transit, env_nsec now)
{
    uint64_t sequence;
    (void)transit_add(transit, &sequence);
    transit_sent(transit, sequence, now);
    return sequence;
}

/* The receiver has all before base, and those of the list, which ends with 0. */
static void answer(struct transit *transit, uint64_t base, const uint64_t *more, env_nsec now)
{
    struct segment_ack ack = {.base = base, .limit = base + transit->window};
    for (; more && *more; more++) {
        uint64_t bit = *more - base - 1;
        ack.bitmap[bit / 8] |= (uint8_t)(1u << bit % 8);
        if (bit / 8 + 1 > ack.bitmap_size)
            ack.bitmap_size = (uint32_t)(bit / 8 + 1);
    }
    assert_true(transit_answered(transit, &ack, now));
    transit_check(transit);
}

static void a_gap_is_no_loss_before_its_time(void **state)
{
    struct transit transit;
    uint64_t sequence;
    transit_init(&transit, segments, 64, 64);
    for (unsigned i = 0; i < 4; i++)
        send_new(&transit, 1000 * MSEC);
    answer(&transit, 4, NULL, 1001 * MSEC); /* the round trip takes 1 ms */
    for (unsigned i = 0; i < 4; i++)
        send_new(&transit, 1010 * MSEC);
    answer(&transit, 4, (uint64_t[]){5, 6, 7, 0}, 1011 * MSEC);
    assert_null(transit_again(&transit, &sequence)); /* 4 may have taken a longer path */
    assert_true(transit.timer > 1011 * MSEC && transit.timer < 1013 * MSEC);
    transit_expire(&transit, transit.timer);
    assert_non_null(transit_again(&transit, &sequence));
    assert_int_equal(sequence, 4);
    transit_sent(&transit, 4, 1012 * MSEC);
    assert_null(transit_again(&transit, &sequence));
    answer(&transit, 8, NULL, 1013 * MSEC);
    assert_int_equal(transit.out, 0);
    assert_true(transit.timer == ENV_NEVER);
}

/* A segment that was sent twice though it was not lost makes the sender more patient. */
static void repeats_make_the_sender_patient(void **state)
{
    struct transit transit;
    transit_init(&transit, segments, 64, 64);
    send_new(&transit, 1000 * MSEC);
    uint32_t before = transit.reorder;
    struct segment_ack ack = {.base = 1, .limit = 65, .repeats = 1};
    assert_true(transit_answered(&transit, &ack, 1001 * MSEC));
    assert_true(transit.reorder > before);
}

static void without_answers_one_segment_is_sent_again_ever_more_rarely(void **state)
{
    struct transit transit;
    uint64_t sequence;
    transit_init(&transit, segments, 64, 64);
    for (unsigned i = 0; i < 10; i++)
        send_new(&transit, 0);
    env_nsec last = 0;
    for (unsigned i = 0; i < 8; i++) {
        env_nsec at = transit.timer;
        assert_true(at - last >= TRANSIT_TIMEOUT_FIRST);
        assert_true(at - last <= TRANSIT_TIMEOUT_MAX);
        transit_expire(&transit, at);
        assert_non_null(transit_again(&transit, &sequence));
        assert_int_equal(sequence, 0);
        transit_sent(&transit, 0, at);
        assert_null(transit_again(&transit, &sequence)); /* only one */
        transit_check(&transit);
        last = at;
    }
    /* The answer to the last shows that the others are lost. */
    answer(&transit, 1, NULL, last + MSEC);
    transit_expire(&transit, transit.timer);
    assert_non_null(transit_again(&transit, &sequence));
    assert_int_equal(sequence, 1);
}

static void credit_and_window_bound_what_is_sent(void **state)
{
    struct transit transit;
    transit_init(&transit, segments, 8, 3);
    for (unsigned i = 0; i < 3; i++)
        send_new(&transit, 0);
    assert_false(transit_has_room(&transit)); /* no credit */
    struct segment_ack ack = {.base = 0, .limit = 100};
    assert_true(transit_answered(&transit, &ack, MSEC));
    for (unsigned i = 0; i < 5; i++)
        send_new(&transit, MSEC);
    assert_false(transit_has_room(&transit)); /* no place */
    ack = (struct segment_ack){.base = 9, .limit = 100};
    assert_false(transit_answered(&transit, &ack, MSEC)); /* nine were not sent */
    assert_int_equal(transit.base, 0);
}

static void a_loss_reduces_what_may_be_on_its_way_once_per_round_trip(void **state)
{
    struct transit transit;
    uint64_t sequence;
    transit_init(&transit, segments, 64, 1000);
    for (unsigned i = 0; i < 16; i++)
        send_new(&transit, 1000 * MSEC);
    assert_false(transit_has_room(&transit));
    answer(&transit, 16, NULL, 1001 * MSEC);
    uint32_t grown = transit.allowed;
    assert_true(grown >= 32 * 256);
    for (unsigned i = 0; i < 32; i++)
        send_new(&transit, 1010 * MSEC);
    answer(&transit, 16, (uint64_t[]){20, 21, 22, 23, 0}, 1011 * MSEC);
    transit_expire(&transit, transit.timer); /* 16 to 19 are lost */
    uint32_t count = transit.lost;
    assert_int_equal(count, 4);
    assert_true(transit.allowed < grown && transit.allowed > grown / 2);
    uint32_t reduced = transit.allowed;
    answer(&transit, 16, (uint64_t[]){20, 21, 22, 23, 30, 0}, 1012 * MSEC);
    transit_expire(&transit, transit.timer); /* more of the same round trip */
    assert_true(transit.lost > count && transit.allowed >= reduced);
    while (transit_again(&transit, &sequence))
        transit_sent(&transit, sequence, 1013 * MSEC);
    transit_check(&transit);
}

/* Random losses, orders and answers: all arrives, and the invariants hold. */
static void everything_arrives_in_the_end(void **state)
{
    struct rng rng = rng_make(5, 5);
    for (unsigned run = 0; run < 50; run++) {
        struct transit transit;
        bool received[400] = {false};
        uint64_t base = 0, sequence;
        env_nsec now = 1000 * MSEC;
        transit_init(&transit, segments, 1u << (2 + run % 7), 0);
        transit.limit = transit.window;
        for (unsigned step = 0; base < 300 && step < 1000000; step++) {
            now += (env_nsec)rng_below(&rng, 20000);
            if (now >= transit.timer)
                transit_expire(&transit, now);
            const struct transit_segment *again = transit_again(&transit, &sequence);
            if (!again && transit_has_room(&transit) && transit.next < 300) {
                (void)transit_add(&transit, &sequence);
                again = segments;
            }
            if (again) {
                transit_sent(&transit, sequence, now);
                received[sequence] |= rng_below(&rng, 5) > 0;
            }
            while (base < 300 && received[base])
                base++;
            struct segment_ack ack = {.base = base, .limit = base + transit.window};
            for (uint64_t i = base + 1; i < base + 1 + 8 * SEGMENT_BITMAP_SIZE && i < 300; i++)
                if (received[i]) {
                    ack.bitmap[(i - base - 1) / 8] |= (uint8_t)(1u << (i - base - 1) % 8);
                    ack.bitmap_size = (uint32_t)((i - base - 1) / 8 + 1);
                }
            if (rng_below(&rng, 3) == 0)
                assert_true(transit_answered(&transit, &ack, now));
            transit_check(&transit);
        }
        assert_int_equal(base, 300);
    }
}

/* Segments that waited in a long queue slow the sender down before any is lost, once per round
 * trip; an old report changes nothing. */
static void marks_reduce_what_may_be_on_its_way(void **state)
{
    struct transit transit;
    transit_init(&transit, segments, 64, 1000);
    for (unsigned i = 0; i < 16; i++)
        send_new(&transit, 1000 * MSEC);
    uint32_t before = transit.allowed;
    struct segment_ack ack = {.base = 4, .limit = 68, .marks = 3};
    assert_true(transit_answered(&transit, &ack, 1001 * MSEC));
    uint32_t after = transit.allowed;
    assert_true(after < before && after >= before / 2);
    ack = (struct segment_ack){.base = 8, .limit = 72, .marks = 9};
    assert_true(transit_answered(&transit, &ack, 1001 * MSEC)); /* sent before the reduction */
    assert_true(transit.allowed >= after);
    while (transit_has_room(&transit))
        send_new(&transit, 1002 * MSEC);
    uint64_t last = transit.next;
    after = transit.allowed;
    ack = (struct segment_ack){.base = last, .limit = last + 64, .marks = 10};
    assert_true(transit_answered(&transit, &ack, 1003 * MSEC));
    assert_true(transit.allowed < after);
    after = transit.allowed;
    send_new(&transit, 1004 * MSEC);
    ack = (struct segment_ack){.base = last + 1, .limit = last + 65, .marks = 4}; /* an old one */
    assert_true(transit_answered(&transit, &ack, 1005 * MSEC));
    assert_true(transit.allowed >= after && transit.marks == 10);
    transit_check(&transit);
}

TEST_MAIN(TEST(a_gap_is_no_loss_before_its_time), TEST(repeats_make_the_sender_patient),
          TEST(without_answers_one_segment_is_sent_again_ever_more_rarely),
          TEST(credit_and_window_bound_what_is_sent),
          TEST(a_loss_reduces_what_may_be_on_its_way_once_per_round_trip),
          TEST(marks_reduce_what_may_be_on_its_way), TEST(everything_arrives_in_the_end))
