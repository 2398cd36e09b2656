#include "flow/concurrent/full_capacity.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/test.h"
#include "flow/concurrent/concurrent.h"
#include "routing/traffic/traffic.h"
#include "topology/topology.h"

static const char *const plan = "jellyfish:servers=20,switches=12,ports=6,seed=4";

static void step_expect(void *context, const struct full_capacity_step *step)
{
    uint32_t *ended = context;
    assert_true(step->servers >= 2);
    ++*ended;
}

static struct full_capacity find(const char *spec, uint32_t *ended)
{
    struct full_capacity found;
    struct why why = {""};
    const struct full_capacity_options options = {
        .seed = 1, .gap = FULL_CAPACITY_TOLERANCE, .end = step_expect, .context = ended};
    enum err err = full_capacity_find(&found, spec, &options, &why);
    assert_string_equal(why.text, "");
    assert_int_equal(err, OK);
    return found;
}

static enum full_capacity_verdict verdict_of(const struct full_capacity *found, uint32_t servers,
                                             uint32_t matrix)
{
    for (size_t i = 0; i < found->step_count; i++)
        if (found->steps[i].servers == servers && found->steps[i].matrix == matrix)
            return found->steps[i].verdict;
    fail_msg("no step of %u servers, matrix %u", servers, matrix);
    return FULL_CAPACITY_NO;
}

/* With as many servers as the result, all thirteen permutations are carried; with one server more,
 * one of them is not. */
static void the_steps_prove_the_result(void **state)
{
    uint32_t ended = 0;
    struct full_capacity found = find(plan, &ended);
    assert_int_equal(ended, found.step_count);
    assert_int_equal(found.undecided, 0);
    assert_in_range(found.servers, 12, 12 * 5);
    assert_true(found.servers <= found.servers_found);
    for (uint32_t matrix = 0; matrix < 13; matrix++)
        assert_int_equal(verdict_of(&found, found.servers, matrix), FULL_CAPACITY_YES);
    bool refused = false;
    for (size_t i = 0; i < found.step_count; i++) {
        const struct full_capacity_step *step = &found.steps[i];
        refused |= step->servers == found.servers + 1 && step->verdict != FULL_CAPACITY_YES;
        assert_int_equal(step->seed, 1 + step->matrix);
        for (size_t k = 0; k < i; k++)
            assert_false(found.steps[k].servers == step->servers &&
                         found.steps[k].matrix == step->matrix);
    }
    assert_true(refused);
    full_capacity_fini(&found);
}

/* Repeats each step without the search around it. */
static void each_step_can_be_repeated(void **state)
{
    uint32_t ended = 0, yes = 0, no = 0;
    struct full_capacity found = find(plan, &ended);
    for (size_t i = 0; i < found.step_count; i++) {
        const struct full_capacity_step *step = &found.steps[i];
        if (step->verdict != FULL_CAPACITY_YES && step->verdict != FULL_CAPACITY_NO)
            continue;
        const struct concurrent_options options = {.gap = 0.01};
        struct topology topology;
        struct traffic traffic;
        struct concurrent flow;
        char spec[128];
        snprintf(spec, sizeof spec, "jellyfish:servers=%u,switches=12,ports=6,seed=4",
                 step->servers);
        assert_int_equal(topology_build(&topology, spec, NULL), OK);
        assert_int_equal(traffic_permutation(&traffic, &topology, step->seed, NULL), OK);
        assert_int_equal(concurrent_solve(&flow, &topology, &traffic, &options, NULL), OK);
        if (step->verdict == FULL_CAPACITY_YES)
            assert_true(step->lower >= 1 - FULL_CAPACITY_TOLERANCE && flow.upper >= 1), yes++;
        else
            assert_true(step->upper < 1 && flow.lower < 1), no++;
        assert_true(step->lower <= flow.upper && flow.lower <= step->upper);
        concurrent_fini(&flow);
        traffic_fini(&traffic);
        topology_fini(&topology);
    }
    assert_true(yes >= 13 && no >= 1);
    full_capacity_fini(&found);
}

/* A single switch of eight ports can have no links, so all its ports have servers. Two switches of
 * two ports need one port each for the link, so each has one server. Five switches of six ports
 * carry at least two servers each. */
static void the_smallest_networks_have_their_full_capacity(void **state)
{
    uint32_t ended = 0;
    struct full_capacity found = find("jellyfish:servers=8,switches=1,ports=8", &ended);
    assert_int_equal(found.servers, 8);
    assert_int_equal(found.steps[0].verdict, FULL_CAPACITY_NO_NETWORK);
    assert_true(isinf(found.steps[found.step_count - 1].lower));
    full_capacity_fini(&found);
    found = find("jellyfish:servers=2,switches=2,ports=2", &ended);
    assert_int_equal(found.servers, 2);
    full_capacity_fini(&found);
    found = find("jellyfish:servers=11,switches=5,ports=6", &ended);
    assert_in_range(found.servers, 10, 15);
    full_capacity_fini(&found);
    found = find("jellyfish:servers=2,switches=3,ports=2", &ended); /* only a path is possible */
    assert_int_equal(found.servers, 2);
    full_capacity_fini(&found);
}

static void networks_without_switches_are_refused(void **state)
{
    static const char *const cases[][2] = {
        {"jellyfish:n=10,degree=3", "only switched networks"},
        {"jellyfish:servers=3,switches=4,ports=1", "jellyfish:servers=3,switches=4,ports=1: "},
        {"jellyfish:servers=3,switches=4", "ports"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct full_capacity_options options = {.seed = 1, .gap = 0.01};
        struct full_capacity found;
        struct why why = {""};
        assert_int_equal(full_capacity_find(&found, cases[i][0], &options, &why), ERR_USAGE);
        assert_non_null(strstr(why.text, cases[i][1]));
    }
}

TEST_MAIN(TEST(the_steps_prove_the_result), TEST(each_step_can_be_repeated),
          TEST(the_smallest_networks_have_their_full_capacity),
          TEST(networks_without_switches_are_refused))
