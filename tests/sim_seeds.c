/* Seeds of `weft sim chaos`: 200 over three topologies, all seeds that ever failed, a few of large
 * clusters, and the event hashes of some, which are the same in every build, on every machine and
 * for any number of threads. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>

#include "base/test.h"
#include "node/test_plan.h"
#include "sim/chaos/chaos.h"

static struct chaos_result run(const struct test_plan *test, uint64_t seed, uint32_t kinds)
{
    struct chaos_settings settings = {&test->plan, seed, kinds, 0};
    struct chaos_result result;
    assert_int_equal(chaos_run(&settings, &result, NULL), OK);
    return result;
}

static void run_clean(const char *spec, const struct test_plan *test, uint64_t seed,
                      const char *faults)
{
    uint32_t kinds;
    assert_int_equal(fault_kinds_read(faults, &kinds, NULL), OK);
    struct chaos_result result = run(test, seed, kinds);
    if (result.checker)
        fail_msg("weft sim chaos %s --seed %" PRIu64 " --faults %s: %s: %s", spec, seed, faults,
                 result.checker, result.text);
}

struct storm {
    const char *spec;
    uint64_t seed;
    const char *faults;
};

static void storm_is_clean(const struct storm *storm)
{
    struct test_plan test;
    test_plan_open(&test, storm->spec);
    run_clean(storm->spec, &test, storm->seed, storm->faults);
    test_plan_close(&test);
}

/* ---- seeds that failed once ---- */

/* The kinds of faults that existed then: with another kind the storm would change. */
#define ALL_THEN                                                                                   \
    "loss,corruption,duplication,jitter,one_way,flap,plane,cut,crash,restart,quick,pause,clock"

static const struct storm failed_once[] = {
    /* The two ends of a link raised their sessions in turn forever. */
    {"torus:3x3x3", 17, "pause"},
    {"torus:3x3x3", 10, ALL_THEN},
    {"torus:3x3x3", 15, ALL_THEN},
    /* A server restarted with the version that its row had before. */
    {"torus:3x3x3", 56, ALL_THEN},
    /* Two links came up at once, and two roots overlapped. */
    {"jellyfish:n=27,degree=6", 59, ALL_THEN},
    {"jellyfish:n=27,degree=6", 61, ALL_THEN},
    {"jellyfish:n=27,degree=6", 68, ALL_THEN},
    {"jellyfish:n=27,degree=6", 75, "loss"},
    {"jellyfish:n=27,degree=6", 143, ALL_THEN},
    /* Two damaged bits of a header cancelled out, and a packet had another key. */
    {"jellyfish:n=16,degree=3", 1022, "loss,corruption,plane,restart,hang,slow,rewind"},
};

static void seeds_that_failed_once_are_clean(void **state)
{
    for (unsigned i = 0; i < sizeof failed_once / sizeof *failed_once; i++)
        storm_is_clean(&failed_once[i]);
}

/* ---- many seeds ---- */

static void seeds_are_clean(const char *spec, uint64_t count)
{
    struct test_plan test;
    test_plan_open(&test, spec);
    for (uint64_t seed = 1; seed <= count; seed++)
        run_clean(spec, &test, seed, "all");
    test_plan_close(&test);
}

static void a_torus_survives(void **state)
{
    seeds_are_clean("torus:3x3x3", 60);
}

static void a_novacube_survives(void **state)
{
    seeds_are_clean("novacube:4x4", 80);
}

static void a_jellyfish_survives(void **state)
{
    seeds_are_clean("jellyfish:n=27,degree=6", 60);
}

/* Beyond 316 servers a batch of rows takes several messages (node/links/flood.h). A storm of all
 * kinds takes ten seconds and more there; these are short, and have 84 such batches. */
static const struct storm large[] = {
    {"torus:8x8x5", 1, "restart"},
    {"torus:8x8x5", 1, "loss"},
    {"torus:18x18", 1, "plane"},
};

static void clusters_whose_rows_take_two_messages_survive(void **state)
{
    for (unsigned i = 0; i < sizeof large / sizeof *large; i++)
        storm_is_clean(&large[i]);
}

/* ---- hashes ---- */

static const struct known {
    const char *spec;
    uint64_t seed;
    uint64_t hash;
} known[] = {
    {"torus:3x3x3", 1, 0xdf1036a919757bfb},
    {"torus:3x3x3", 2, 0x97224bef24c850f5},
    {"novacube:4x4", 3, 0x4bb6d4e1d62f62ed},
    {"jellyfish:n=27,degree=6", 4, 0x65c9fb1738dc2492},
};

#define KNOWN_COUNT (sizeof known / sizeof *known)

struct hashes {
    uint64_t of[KNOWN_COUNT]; /* written by one thread, read after it was joined */
};

static void *hashes_find(void *context)
{
    struct hashes *hashes = context;
    for (unsigned i = 0; i < KNOWN_COUNT; i++) {
        struct test_plan test;
        test_plan_open(&test, known[i].spec);
        hashes->of[i] = run(&test, known[i].seed, FAULT_ALL).hash;
        test_plan_close(&test);
    }
    return NULL;
}

/* A change of the nodes' behaviour changes these hashes: this test, or `weft sim chaos SPEC --seed
 * N`, prints the new ones. Two builds or two runs of one source must never differ. */
static void hashes_are_the_same_in_every_build(void **state)
{
    struct hashes one = {0}, other = {0};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, hashes_find, &other), 0);
    hashes_find(&one);
    pthread_join(thread, NULL);
    for (unsigned i = 0; i < KNOWN_COUNT; i++) {
        if (one.of[i] != known[i].hash)
            print_error("%s seed %" PRIu64 ": %#" PRIx64 "\n", known[i].spec, known[i].seed,
                        one.of[i]);
        assert_true(one.of[i] == other.of[i]);
    }
    for (unsigned i = 0; i < KNOWN_COUNT; i++)
        assert_true(one.of[i] == known[i].hash);
}

TEST_MAIN(TEST(seeds_that_failed_once_are_clean), TEST(a_torus_survives), TEST(a_novacube_survives),
          TEST(a_jellyfish_survives), TEST(clusters_whose_rows_take_two_messages_survive),
          TEST(hashes_are_the_same_in_every_build))
