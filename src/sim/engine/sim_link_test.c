/* Tests times on the cable, room, and faults and their counters. */
#include "sim/engine/sim_link.h"

#include <stdlib.h>
#include <string.h>

#include "base/test.h"

#define MANY 4000

static const struct sim_link_settings settings = SIM_LINK_DEFAULTS; /* 8,000 ps per byte, 1 us */

static struct slab_pool *pool_open(void)
{
    struct slab_pool *pool;
    assert_int_equal(slab_pool_open(&pool, 0, NULL), OK);
    return pool;
}

static void link_open(struct sim_link *link, const struct sim_link_settings *with,
                      struct slab_pool *pool, uint64_t seed)
{
    sim_link_init(link, NULL, pool, seed, 9);
    sim_link_set(link, with);
}

static struct packet *packet_of(struct slab_pool *pool, uint32_t size)
{
    uint32_t stored = size < 100 ? size : 100;
    struct packet *packet = packet_take(slab_packets(pool), stored);
    packet->size = size;
    packet->read = true;
    for (uint32_t i = 0; i < stored; i++)
        packet->bytes[i] = (uint8_t)(i * 7);
    packet->hops_left = packet->bytes[4];
    packet->hops = packet->bytes[5];
    return packet;
}

static void send_one(struct sim_link *link, struct slab_pool *pool, psec now, uint32_t size)
{
    struct packet *packet = packet_of(pool, size);
    sim_link_send(link, now, &packet, 1);
}

static void a_frame_takes_byte_times_and_delay(void **state)
{
    struct slab_pool *pool = pool_open();
    struct sim_link link;
    struct packet *out[4];
    link_open(&link, &settings, pool, 1);
    assert_true(sim_link_next(&link) == PSEC_NEVER);
    send_one(&link, pool, 5000, 62);
    assert_true(sim_link_next(&link) == 5000 + 100 * 8000 + 1000000);
    send_one(&link, pool, 6000, 962); /* after the first */
    assert_int_equal(sim_link_receive(&link, sim_link_next(&link) - 1, out, 4), 0);
    assert_int_equal(sim_link_receive(&link, sim_link_next(&link), out, 4), 1);
    packet_done(out[0]);
    assert_true(sim_link_next(&link) == 5000 + 1100 * 8000 + 1000000);
    /* Packets of one frame pay for one frame, and arrive together. */
    struct packet *frame[3] = {packet_of(pool, 50), packet_of(pool, 50), packet_of(pool, 62)};
    sim_link_send(&link, 50000000, frame, 3);
    assert_int_equal(sim_link_receive(&link, 50000000, out, 4), 1);
    packet_done(out[0]);
    assert_true(sim_link_next(&link) == 50000000 + 200 * 8000 + 1000000);
    assert_int_equal(sim_link_receive(&link, sim_link_next(&link), out, 2), 2);
    assert_true(out[0] == frame[0] && out[1] == frame[1]);
    assert_int_equal(sim_link_receive(&link, PSEC_NEVER, out + 2, 2), 1);
    for (unsigned i = 0; i < 3; i++)
        packet_done(frame[i]);
    assert_true(link.bytes == 100 + 1000 + 200);
    sim_link_fini(&link);
    slab_pool_close(pool);
}

static void fractional_byte_times_are_exact_enough(void **state)
{
    struct slab_pool *pool = pool_open();
    struct sim_link link;
    struct sim_link_settings odd = settings;
    odd.delay = 0;
    odd.overhead = 0;
    odd.buffer = 0;
    odd.rate = 7000000003;
    link_open(&link, &odd, pool, 1);
    for (unsigned i = 0; i < 1000; i++)
        send_one(&link, pool, 0, 9000);
    double expected = 1000 * 9000.0 * 8e12 / 7000000003.0;
    assert_within((double)link.last->order / expected, 1, 1e-6);
    odd.rate = 0; /* takes no time */
    sim_link_set(&link, &odd);
    psec before = link.free_at;
    send_one(&link, pool, before + 5, 9000);
    assert_true(link.free_at == before + 5);
    sim_link_fini(&link);
    slab_pool_close(pool);
}

static void a_full_link_has_no_room_until_it_drains(void **state)
{
    struct slab_pool *pool = pool_open();
    struct sim_link link;
    struct sim_link_settings shallow = settings;
    shallow.depth = 1000;
    link_open(&link, &shallow, pool, 1);
    assert_true(sim_link_room(&link, 0) >= PACKET_SIZE_MAX);
    send_one(&link, pool, 0, 962); /* 1,000 bytes: exactly as much as may wait */
    assert_true(sim_link_room(&link, 0) > 0);
    assert_false(link.asked);
    send_one(&link, pool, 0, 62);
    assert_int_equal(sim_link_room(&link, 0), 0);
    assert_true(link.asked);
    assert_true(sim_link_room_at(&link) == 100 * 8000);
    assert_int_equal(sim_link_room(&link, sim_link_room_at(&link) - 1), 0);
    assert_true(sim_link_room(&link, sim_link_room_at(&link)) > 0);
    assert_true(link.full == 1);
    sim_link_fini(&link);
    slab_pool_close(pool);
}

/* What arrived after MANY frames of two packets were sent into a link. */
struct outcome {
    unsigned received, damaged, twice, overtaken;
    uint64_t hash;
    struct sim_link_counts counts;
};

static struct outcome run(const struct sim_link_faults *faults, uint64_t seed)
{
    static uint8_t seen[2 * MANY + 2];
    struct slab_pool *pool = pool_open();
    struct outcome outcome = {0};
    struct sim_link link;
    struct packet *out;
    uint64_t last = 0;
    memset(seen, 0, sizeof seen);
    link_open(&link, &settings, pool, seed);
    sim_link_set_faults(&link, faults);
    for (unsigned i = 0; i < MANY; i++) {
        struct packet *frame[2] = {packet_of(pool, 80), packet_of(pool, 300)};
        frame[0]->trail = 2 * i + 1;
        frame[1]->trail = 2 * i + 2;
        sim_link_send(&link, (psec)i * 10000, frame, 2);
        sim_link_check(&link);
        if (i % 64 == 0 && link.first) { /* sometimes a packet is read */
            assert_int_equal(sim_link_receive(&link, PSEC_NEVER, &out, 1), 1);
            outcome.received++;
            outcome.twice += seen[out->trail]++ != 0;
            packet_done(out);
        }
    }
    psec before = 0;
    while (sim_link_next(&link) != PSEC_NEVER) {
        psec at = sim_link_next(&link);
        assert_true(at >= before);
        before = at;
        assert_int_equal(sim_link_receive(&link, at, &out, 1), 1);
        outcome.hash = (outcome.hash + at + out->trail) * 0x9e3779b97f4a7c15u;
        outcome.received++;
        outcome.twice += seen[out->trail]++ != 0;
        outcome.overtaken += out->trail < last;
        last = out->trail;
        unsigned wrong = 0;
        for (uint32_t k = 0; k < out->stored; k++)
            wrong += out->bytes[k] != (uint8_t)(k * 7);
        assert_true(out->read || wrong > 0 || faults->corruption);
        assert_true(!out->read || wrong == 0);
        outcome.damaged += wrong > 0;
        packet_done(out);
    }
    sim_link_check(&link);
    sim_link_count(&link, &outcome.counts);
    sim_link_fini(&link);
    slab_pool_close(pool);
    return outcome;
}

static void faults_have_the_set_frequency_and_are_counted(void **state)
{
    print_message("# seed 4\n");
    struct outcome none = run(&(struct sim_link_faults){0}, 4);
    assert_int_equal(none.received, 2 * MANY);
    assert_int_equal(none.damaged + none.twice + none.overtaken, 0);

    struct outcome loss = run(&(struct sim_link_faults){.loss = 250000}, 4);
    assert_true(loss.counts.lost > MANY / 2 - MANY / 10 && loss.counts.lost < MANY / 2 + MANY / 10);
    assert_int_equal(loss.received, 2 * MANY - loss.counts.lost);

    struct outcome broken = run(&(struct sim_link_faults){.corruption = 500000}, 4);
    assert_int_equal(broken.received, 2 * MANY);
    assert_true(broken.counts.corrupted > MANY / 2 - MANY / 10);
    /* Two flipped bits may cancel each other; one packet per 64 frames was not checked. */
    assert_true(broken.damaged <= broken.counts.corrupted);
    assert_true(broken.damaged > broken.counts.corrupted * 9 / 10);

    struct outcome twice = run(&(struct sim_link_faults){.duplication = 100000}, 4);
    assert_int_equal(twice.received, 2 * MANY + twice.counts.duplicated);
    assert_int_equal(twice.twice, twice.counts.duplicated);
    assert_true(twice.counts.duplicated > MANY / 10);

    struct outcome dead = run(&(struct sim_link_faults){.dead = true}, 4);
    assert_int_equal(dead.received, 0);
    assert_int_equal(dead.counts.dead, 2 * MANY);
}

static void jitter_keeps_the_order_unless_reordering_is_set(void **state)
{
    struct sim_link_faults faults = {.jitter = 100000000};
    assert_int_equal(run(&faults, 5).overtaken, 0);
    faults.reorder = true;
    assert_true(run(&faults, 5).overtaken > MANY / 10);
}

/* Late frames are overtaken by all others, also after the fault has ended. */
static void late_frames_are_overtaken(void **state)
{
    struct sim_link_faults faults = {.late = 100000000, .lateness = 100000};
    struct outcome late = run(&faults, 5);
    assert_in_range(late.overtaken, MANY / 20, MANY);
    assert_int_equal(late.received, 2 * MANY);

    struct slab_pool *pool = pool_open();
    struct sim_link link;
    struct packet *out[4];
    link_open(&link, &settings, pool, 1);
    faults = (struct sim_link_faults){.late = 1000 * PSEC_PER_SECOND, .lateness = SIM_LINK_PARTS};
    sim_link_set_faults(&link, &faults);
    send_one(&link, pool, 0, 100);
    assert_true(sim_link_next(&link) > PSEC_PER_SECOND);
    sim_link_set_faults(&link, &(struct sim_link_faults){0});
    send_one(&link, pool, 0, 200);
    assert_true(sim_link_next(&link) < PSEC_PER_SECOND);
    assert_int_equal(sim_link_receive(&link, PSEC_PER_SECOND, out, 4), 1);
    assert_int_equal(out[0]->size, 200);
    packet_done(out[0]);
    sim_link_fini(&link);
    slab_pool_close(pool);
}

static void equal_seeds_give_equal_runs_and_others_differ(void **state)
{
    const struct sim_link_faults faults = {.loss = 50000,
                                           .corruption = 50000,
                                           .duplication = 50000,
                                           .jitter = 50000000,
                                           .reorder = true};
    struct outcome one = run(&faults, 6), same = run(&faults, 6), other = run(&faults, 7);
    assert_true(one.hash == same.hash && one.hash != other.hash);
    assert_memory_equal(&one.counts, &same.counts, sizeof one.counts);
}

static void an_end_that_does_not_read_loses_excess_packets(void **state)
{
    struct slab_pool *pool = pool_open();
    struct sim_link link;
    struct sim_link_settings small = settings;
    small.buffer = 10000;
    link_open(&link, &small, pool, 1);
    for (unsigned i = 0; i < 100; i++)
        send_one(&link, pool, 0, 1000);
    assert_true(link.overrun == 89); /* the one that overfills it is kept */
    sim_link_flush(&link);
    assert_true(link.flushed == 11);
    sim_link_fini(&link);
    slab_pool_close(pool);
}

TEST_MAIN(TEST(a_frame_takes_byte_times_and_delay), TEST(fractional_byte_times_are_exact_enough),
          TEST(a_full_link_has_no_room_until_it_drains),
          TEST(faults_have_the_set_frequency_and_are_counted),
          TEST(jitter_keeps_the_order_unless_reordering_is_set), TEST(late_frames_are_overtaken),
          TEST(equal_seeds_give_equal_runs_and_others_differ),
          TEST(an_end_that_does_not_read_loses_excess_packets))
