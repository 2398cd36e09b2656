/* Checks that packets do not overlap, and are bounded, counted and released. */
#include "sim/engine/slab.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/rng.h"
#include "base/test.h"

#define LIVE_MAX 6000

static uint32_t stored_any(struct rng *rng)
{
    switch (rng_below(rng, 4)) {
    case 0:
        return PACKET_SIZE_MAX;
    case 1:
        return SLAB_SMALL + (uint32_t)rng_below(rng, 2); /* last small, first large */
    default:
        return PACKET_HEADER_SIZE + (uint32_t)rng_below(rng, 500);
    }
}

/* Each packet holds its own trail in its first and last word; no other code writes there. */
static void mark(struct packet *packet)
{
    memcpy(packet->bytes + 4, &packet->trail, 8);
    memcpy(packet->bytes + packet->stored - 8, &packet->trail, 8);
}

static void marked(const struct packet *packet)
{
    assert_memory_equal(packet->bytes + 4, &packet->trail, 8);
    assert_memory_equal(packet->bytes + packet->stored - 8, &packet->trail, 8);
}

static void packets_do_not_overlap_and_all_memory_returns(void **state)
{
    static struct packet *live[LIVE_MAX];
    struct rng rng = rng_make(3, 0);
    struct slab_pool *pool;
    assert_int_equal(slab_pool_open(&pool, 0, NULL), OK);
    struct packet_pool *packets = slab_packets(pool);
    uint32_t count = 0;
    uint64_t trail = 0;
    for (unsigned turn = 0; turn < 60000; turn++) {
        bool growing = turn / 10000 % 2 == 0;
        if (count < LIVE_MAX && (count == 0 || rng_below(&rng, 10) < (growing ? 8 : 3))) {
            struct packet *packet = packet_take(packets, stored_any(&rng));
            assert_non_null(packet);
            assert_true(packet->trail > trail); /* never reused */
            assert_int_equal(packet->hops + packet->service + packet->kind, 0);
            trail = packet->trail;
            mark(packet);
            live[count++] = packet;
        } else {
            uint32_t i = (uint32_t)rng_below(&rng, count);
            marked(live[i]);
            packet_done(live[i]);
            live[i] = live[--count];
        }
        assert_true(packets->live == count);
    }
    while (count > 0)
        packet_done(live[--count]);
    assert_true(packets->live == 0);
    assert_true(slab_memory_peak(pool) > 8u << 20);
    assert_true(slab_memory(pool) < 3u << 20); /* the few that are kept */
    slab_pool_close(pool);
}

static void the_limit_holds_and_refusals_are_counted(void **state)
{
    enum { MOST = 1 << 20 };
    struct slab_pool *pool;
    assert_int_equal(slab_pool_open(&pool, MOST, NULL), OK);
    struct packet *all = NULL, *packet;
    unsigned count = 0;
    while ((packet = packet_take(slab_packets(pool), PACKET_SIZE_MAX))) {
        packet->next = all;
        all = packet;
        count++;
    }
    assert_true(count > 50 && count < MOST / PACKET_SIZE_MAX);
    assert_true(slab_memory(pool) <= MOST);
    assert_true(slab_refused(pool) == 1);
    assert_null(packet_take(slab_packets(pool), SLAB_SMALL)); /* of the other class, too */
    assert(all);
    packet = all->next;
    packet_done(all);
    all = packet_take(slab_packets(pool), PACKET_SIZE_MAX);
    assert_non_null(all);
    all->next = packet;
    while (all) {
        packet = all->next;
        packet_done(all);
        all = packet;
    }
    slab_pool_close(pool);
}

static void a_copy_is_the_same_packet_in_other_memory(void **state)
{
    struct slab_pool *pool;
    assert_int_equal(slab_pool_open(&pool, 0, NULL), OK);
    struct packet *packet = packet_take(slab_packets(pool), 300);
    mark(packet);
    packet->size = 9000;
    packet->source = 7;
    packet->hops = 3;
    packet->next = packet;
    struct packet *copy = slab_copy(pool, packet);
    assert_true(copy->bytes != packet->bytes);
    assert_memory_equal(copy->bytes, packet->bytes, 300);
    assert_int_equal(copy->size, 9000);
    assert_int_equal(copy->source, 7);
    assert_int_equal(copy->hops, 3);
    assert_true(copy->trail == packet->trail);
    assert_null(copy->next);
    packet_done(packet);
    marked(copy);
    packet_done(copy);
    slab_pool_close(pool);
}

TEST_MAIN(TEST(packets_do_not_overlap_and_all_memory_returns),
          TEST(the_limit_holds_and_refusals_are_counted),
          TEST(a_copy_is_the_same_packet_in_other_memory))
