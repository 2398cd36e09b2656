#include "routing/deadlock/leg.h"

#include "base/test.h"
#include "routing/algorithms.h"
#include "routing/deadlock/dependency.h"

#define MOVES 8

/* Valiant's algorithm without `roams`. */
static struct route_algorithm plain;

static uint32_t vertex_in(const struct dependency *other, const struct dependency *dependency,
                          uint32_t vertex)
{
    struct virtual_channel at = dependency_channel(dependency, vertex);
    return intern_find(&other->channels, &at);
}

/* Checks that both have the same waits, whose examples have the same number of hops. */
static void compare(const struct dependency *one, const struct dependency *other)
{
    assert_true(one->states == other->states);
    assert_int_equal(one->channels.count, other->channels.count);
    assert_int_equal(one->waits.count, other->waits.count);
    for (uint32_t i = 0; i < one->waits.count; i++) {
        const uint32_t *wait = dependency_wait(one, i);
        uint32_t same[2] = {vertex_in(other, one, wait[0]), vertex_in(other, one, wait[1])};
        uint32_t number = intern_find(&other->waits, same);
        assert_true(number != INTERN_NONE);
        assert_int_equal(one->examples[i].hops, other->examples[number].hops);
    }
}

static void compare_with_plain(const struct topology *topology, struct lane_rule rule)
{
    struct router router;
    struct dependency quick, slow;
    assert_int_equal(router_open(&router, "valiant", topology, NULL, NULL), OK);
    assert_true(router.algorithm->roams);
    assert_int_equal(dependency_find(&quick, &router, rule, NULL, (struct observer){0}, NULL), OK);
    router.algorithm = &plain;
    assert_int_equal(dependency_find(&slow, &router, rule, NULL, (struct observer){0}, NULL), OK);
    compare(&quick, &slow);
    dependency_fini(&quick);
    dependency_fini(&slow);
    router_close(&router);
}

/* Keeps servers on every `step`-th node only. */
static void thin_out(struct topology *topology, uint32_t step)
{
    for (uint32_t node = 0; node < topology->graph.node_count; node++) {
        if (node % step == 0)
            continue;
        topology->server_count -= topology->sites[node].servers;
        topology->sites[node].servers = 0;
    }
    assert_true(topology->server_count > 0);
}

/* On rings of 2 and 3 some states belong to packets of a single source. No packets start or end at
 * nodes without servers, so the first leg of other packets ends after more than one hop. */
static void exploring_the_leg_once_finds_the_same_waits(void **state)
{
    static const char *const specs[] = {"torus:2",   "torus:3",     "torus:8",
                                        "torus:4x3", "torus:2x3x4", "novacube:4x4"};
    static const uint32_t steps[] = {1, 3, 100};
    plain = route_valiant;
    plain.roams = false;
    for (size_t i = 0; i < 3 * sizeof specs / sizeof *specs; i++) {
        struct topology topology;
        assert_int_equal(topology_build(&topology, specs[i / 3], NULL), OK);
        thin_out(&topology, steps[i % 3]);
        compare_with_plain(&topology, (struct lane_rule){LANE_OWN, 0});
        compare_with_plain(&topology, (struct lane_rule){LANE_FOLDED, 1});
        compare_with_plain(&topology, (struct lane_rule){LANE_FOLDED, 3});
        compare_with_plain(&topology, (struct lane_rule){LANE_HOPS, 0});
        topology_fini(&topology);
    }
}

/* Checks that packets to `to` and to node 0 start and continue in the same way. */
static void check_starts(const struct router *router, uint32_t from, uint32_t to)
{
    const struct route_algorithm *algorithm = router->algorithm;
    struct route_move one[MOVES], other[MOVES];
    struct route_state first = {0}, second = {0};
    uint32_t starts = algorithm->start_count(router, from, to);
    assert_true(router->move_max <= MOVES);
    assert_int_equal(starts, algorithm->start_count(router, from, 0));
    for (uint32_t start = 0; start < starts; start++) {
        algorithm->start(router, from, to, start, &first);
        algorithm->start(router, from, 0, start, &second);
        assert_memory_equal(&first, &second, sizeof first);
        if (first.phase)
            continue;
        uint32_t count = algorithm->moves(router, from, to, &first, one);
        assert_int_equal(count, algorithm->moves(router, from, 0, &first, other));
        for (uint32_t i = 0; i < count; i++) {
            assert_int_equal(one[i].channel, other[i].channel);
            assert_int_equal(one[i].lane, other[i].lane);
            assert_memory_equal(&one[i].next, &other[i].next, sizeof first);
        }
    }
}

/* The guarantee of route_algorithm.roams. */
static void roaming_packets_do_not_depend_on_their_destination(void **state)
{
    struct topology torus;
    uint32_t roaming = 0;
    assert_int_equal(topology_build(&torus, "torus:4x3", NULL), OK);
    for (const struct route_algorithm *const *each = route_algorithms; *each; each++) {
        struct router router;
        if (!(*each)->roams)
            continue;
        assert_int_equal(router_open(&router, (*each)->name, &torus, NULL, NULL), OK);
        for (uint32_t pair = 0; pair < 12 * 12; pair++)
            check_starts(&router, pair / 12, pair % 12);
        router_close(&router);
        roaming++;
    }
    assert_true(roaming > 0);
    topology_fini(&torus);
}

TEST_MAIN(TEST(exploring_the_leg_once_finds_the_same_waits),
          TEST(roaming_packets_do_not_depend_on_their_destination))
