/* Tests the checkers: planted bugs (node/planted.h) are found by their checker within a few seeds,
 * and the same seeds are clean without them. tests/planted_table.c tries all bugs, with many seeds;
 * docs/testing.md has its table. */
#include <stdio.h>
#include <string.h>

#include "base/test.h"
#include "node/test_plan.h"
#include "sim/chaos/chaos.h"

#define SEEDS 12 /* for each bug, at most */

/* The bugs that take more seeds. */
static const char *const later[] = {"hello", "session", "resend", "ack",   "forget",
                                    "needs", "admit",   "sync",   "recall"};

static struct chaos_result run(const struct test_plan *test, uint64_t seed, uint64_t plants)
{
    struct chaos_settings settings = {&test->plan, seed, FAULT_ALL, plants};
    struct chaos_result result;
    assert_int_equal(chaos_run(&settings, &result, NULL), OK);
    return result;
}

static bool comes_later(const struct chaos_plant *plant)
{
    if (!strcmp(plant->checker, "streams"))
        return true; /* it needs streams: sim_stream_chaos.c */
    for (unsigned i = 0; i < sizeof later / sizeof *later; i++)
        if (!strcmp(plant->name, later[i]))
            return true;
    return false;
}

static void plant_is_found(const struct test_plan *test, const struct chaos_plant *plant)
{
    uint64_t seed = 1;
    struct chaos_result found = run(test, seed, plant->fault);
    while (!found.checker && seed < SEEDS)
        found = run(test, ++seed, plant->fault);
    if (!found.checker)
        fail_msg("%s was not found in %d seeds", plant->name, SEEDS);
    print_message("# %s: seed %d: %s: %s\n", plant->name, (int)seed, found.checker, found.text);
    if (strcmp(plant->checker, "any") != 0)
        assert_string_equal(found.checker, plant->checker);
    assert_null(run(test, seed, 0).checker);
}

static void planted_bugs_are_found(void **state)
{
    struct test_plan test;
    test_plan_open(&test, "torus:3x3");
    for (unsigned i = 0; i < CHAOS_PLANT_COUNT; i++)
        if (!comes_later(&chaos_plants[i]))
            plant_is_found(&test, &chaos_plants[i]);
    test_plan_close(&test);
}

/* A failure is replayed with only the kinds of faults that the seed used. */
static void a_failure_can_be_replayed(void **state)
{
    struct test_plan test;
    test_plan_open(&test, "torus:3x3x3");
    struct chaos_result first = run(&test, 1, PLANTED_BIT(UNFAIR));
    assert_non_null(first.checker);
    struct chaos_settings settings = {&test.plan, 1, first.kinds, PLANTED_BIT(UNFAIR)};
    struct chaos_result again;
    assert_int_equal(chaos_run(&settings, &again, NULL), OK);
    assert_string_equal(again.checker, first.checker);
    assert_string_equal(again.text, first.text);
    assert_true(again.failed_at == first.failed_at && again.hash == first.hash);
    test_plan_close(&test);
}

TEST_MAIN(TEST(planted_bugs_are_found), TEST(a_failure_can_be_replayed))
