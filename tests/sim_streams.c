/* Streams in the simulator: 1,000 streams among 27 servers, to servers and to keys, while links
 * lose 1 % of their frames and two servers are killed per second. Every byte is right and in order,
 * or the end of its stream is reported; memory is bounded; shares follow the weights. The service
 * is tests/stream_load.c.
 *
 *     sim_streams_test [SEEDS [SECONDS]]    3 seeds and 4 simulated seconds by default */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/test.h"
#include "node/test_plan.h"
#include "sim/engine/slab.h"
#include "sim/world/world.h"

#define SERVERS 27
#define LOAD    300
#define MSEC    (PSEC_PER_SECOND / 1000)

extern const struct weft_service weft_service;
static const struct weft_service *const services[] = {&weft_service, NULL};

struct town {
    struct test_plan test;
    struct world *world;
    struct rng rng;
    char answer[8192];
};

static void answered(void *context, node_id at, uint64_t client, const void *bytes, uint32_t size)
{
    struct town *town = context;
    assert_true(size < sizeof town->answer);
    memcpy(town->answer, bytes, size);
    town->answer[size] = '\0';
}

static void town_open(struct town *town, const char *spec, uint64_t rate, uint64_t seed)
{
    struct world_settings settings = WORLD_DEFAULTS;
    struct why why;
    *town = (struct town){.rng = rng_make(seed, 99)};
    test_plan_open(&town->test, spec);
    settings.plan = &town->test.plan;
    settings.node.services = services;
    settings.link.rate = rate;
    settings.seed = seed;
    settings.settled = true;
    settings.answer = answered;
    settings.context = town;
    assert_int_equal(world_open(&town->world, &settings, &why), OK);
}

static void town_close(struct town *town)
{
    world_check(town->world);
    world_close(town->world);
    test_plan_close(&town->test);
}

static const char *ask(struct town *town, node_id server, const char *text)
{
    town->answer[0] = '\0';
    if (world_request(town->world, server, LOAD, 1, text, (uint32_t)strlen(text)) < 0)
        return ""; /* it is down */
    return town->answer;
}

/* The sum of a counter over all servers that run. */
static uint64_t total(struct town *town, const char *name)
{
    uint64_t sum = 0;
    char word[32];
    snprintf(word, sizeof word, "%s=", name);
    for (node_id id = 0; id < town->test.plan.server_count; id++) {
        const char *found = strstr(ask(town, id, "report"), word);
        sum += found ? strtoull(found + strlen(word), NULL, 10) : 0;
    }
    return sum;
}

static void run(struct town *town, uint64_t msec)
{
    world_run(town->world, world_now(town->world) + msec * MSEC);
}

static void lose(struct town *town, uint32_t loss)
{
    for (node_id id = 0; id < town->test.plan.server_count; id++)
        for (unsigned port = 0; port < town->test.plan.port_count; port++)
            if (world_link(town->world, id, port))
                sim_link_set_faults(world_link(town->world, id, port),
                                    &(struct sim_link_faults){.loss = loss});
}

/* Opens streams from that server, its part of 1,000. */
static void flows_begin(struct town *town, node_id server)
{
    char text[96];
    for (unsigned i = 0; i < 37 + (server == 0); i++) {
        if (i % 4 == 3)
            snprintf(text, sizeof text, "flow key-%u %u 0 %u 1",
                     (unsigned)rng_below(&town->rng, 1000), (unsigned)rng_below(&town->rng, 60000),
                     1 + i % 3);
        else
            snprintf(text, sizeof text, "flow %u %u 0 %u 1",
                     (unsigned)rng_below(&town->rng, SERVERS),
                     (unsigned)rng_below(&town->rng, 60000), 1 + i % 3);
        (void)ask(town, server, text);
    }
}

static uint64_t seeds = 3, seconds = 4; /* as in main() */

static void storm(uint64_t seed)
{
    struct town town;
    struct why why;
    town_open(&town, "torus:3x3x3", 20000000, seed);
    for (node_id id = 0; id < SERVERS; id++)
        flows_begin(&town, id);
    run(&town, 100);
    lose(&town, 10000); /* 1 % */
    size_t memory = world_memory(town.world);
    uint64_t moved = 0, messages = 0, bytes = 0;
    for (unsigned kills = 0; kills < 2 * seconds; kills++) {
        node_id victim = (node_id)rng_below(&town.rng, SERVERS);
        char report[16] = "report";
        (void)ask(&town, victim, report); /* its counters end with it */
        assert_non_null(strstr(town.answer, "wrong=0"));
        world_crash(town.world, victim);
        run(&town, 500);
        assert_int_equal(world_restart(town.world, victim, &why), OK);
        flows_begin(&town, victim);
        assert_int_equal(total(&town, "wrong"), 0);
        /* The nodes allocate nothing; packets wait in bounded queues, not for each stream. */
        assert_true(world_memory(town.world) < memory + (64u << 20));
    }
    moved = total(&town, "moved");
    messages = total(&town, "messages");
    bytes = total(&town, "bytes");
    lose(&town, 0);
    run(&town, 2000);
    for (node_id id = 0; id < SERVERS; id++)
        (void)ask(&town, id, "stop");
    for (unsigned i = 0; i < 40 && total(&town, "open"); i++)
        run(&town, 500);
    assert_int_equal(total(&town, "open"), 0);
    assert_int_equal(total(&town, "wrong"), 0);
    assert_true(messages > 1000 && bytes > 10000000);
    assert_true(moved > 0);
    assert_true(total(&town, "finished") > 900);
    /* What senders count as acknowledged, receivers have: those that run now got some of it. */
    assert_true(total(&town, "done") > 1000);
    town_close(&town);
}

static void a_thousand_streams_survive_losses_and_kills(void **state)
{
    for (uint64_t seed = 1; seed <= seeds; seed++)
        storm(seed);
}

/* The same run is the same again. */
static void a_seed_repeats_a_run(void **state)
{
    uint64_t hashes[2];
    for (unsigned i = 0; i < 2; i++) {
        struct town town;
        town_open(&town, "torus:3x3", 20000000, 5);
        for (node_id id = 0; id < 9; id++) {
            (void)ask(&town, id, "flow 4 30000 20 1 0");
            (void)ask(&town, id, "flow key 30000 20 1 0");
        }
        lose(&town, 10000);
        run(&town, 1000);
        hashes[i] = world_hash(town.world);
        town_close(&town);
    }
    assert_true(hashes[0] == hashes[1]);
}

/* Streams of one server to all others compete for its links. */
static void shares_follow_the_weights(void **state)
{
    struct town town;
    char text[96];
    town_open(&town, "torus:3x3x3", 50000000, 3);
    lose(&town, 10000);
    for (unsigned weight = 1; weight <= 4; weight++)
        for (node_id to = 1; to < SERVERS; to++) {
            snprintf(text, sizeof text, "flow %u 20000 0 %u 0", to, weight);
            (void)ask(&town, 0, text);
        }
    run(&town, 10000);
    double bytes[5] = {0}, whole = 0;
    const char *at = ask(&town, 0, "shares");
    unsigned weight, count = 0;
    unsigned long long flow;
    int used;
    while (sscanf(at, "%u:%llu %n", &weight, &flow, &used) == 2) {
        bytes[weight] += (double)flow;
        whole += (double)flow;
        at += used;
        count++;
    }
    assert_int_equal(count, 4 * 26);
    for (weight = 1; weight <= 4; weight++) {
        double share = bytes[weight] / whole, due = weight / 10.0;
        if (share < 0.95 * due || share > 1.05 * due)
            fail_msg("weight %u has %.4f of the bytes, not %.4f", weight, share, due);
    }
    /* The six links were busy all the time. */
    assert_true(whole > 0.8 * 6 * 50e6 / 8 * 10);
    town_close(&town);
}

/* Packets that found a full queue, so far. */
static uint64_t overflows(struct town *town)
{
    uint64_t sum = 0;
    for (node_id id = 0; id < SERVERS; id++) {
        struct node_snapshot snapshot;
        node_snapshot(world_node(town->world, id), &snapshot);
        sum += snapshot.drops[DROP_QUEUE_FULL];
    }
    return sum;
}

/* More streams lead to one server than the queues next to it could hold packets of: their senders
 * slow down before many packets are dropped. */
static void senders_slow_down_before_queues_are_full(void **state)
{
    struct town town;
    town_open(&town, "torus:3x3x3", 200000000, 4);
    for (node_id from = 0; from < SERVERS; from++)
        for (unsigned i = 0; from != 13 && i < 12; i++)
            (void)ask(&town, from, "flow 13 50000 0 1 0");
    run(&town, 1000); /* the streams find out how much they may send */
    uint64_t before = overflows(&town), bytes = total(&town, "bytes");
    run(&town, 3000);
    bytes = total(&town, "bytes") - bytes;
    assert_true((double)bytes > 0.8 * 6 * 200e6 / 8 * 3); /* the links were busy */
    /* One packet in two hundred at most; without marks it is one in twenty. */
    assert_true(overflows(&town) - before < bytes / 8844 / 200);
    assert_int_equal(total(&town, "wrong"), 0);
    town_close(&town);
}

int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {TEST(a_thousand_streams_survive_losses_and_kills),
                                       TEST(a_seed_repeats_a_run), TEST(shares_follow_the_weights),
                                       TEST(senders_slow_down_before_queues_are_full)};
    if (count > 1)
        seeds = strtoull(words[1], NULL, 10);
    if (count > 2)
        seconds = strtoull(words[2], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
