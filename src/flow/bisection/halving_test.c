#include "flow/bisection/halving.h"

#include <stdlib.h>

#include "base/rng.h"
#include "base/test.h"

/* Nodes without cables that have this many servers. */
static void boxes_make(struct topology *topology, const uint32_t *servers, uint32_t count)
{
    assert_int_equal(topology_init(topology, TOPOLOGY_OTHER, false, count, NULL, 0, NULL), OK);
    for (uint32_t v = 0; v < count; v++)
        topology->sites[v].servers = servers[v];
    topology_count_servers(topology);
}

/* The servers of the lighter side, by trying every subset. */
static uint64_t light_by_trying(const uint32_t *servers, uint32_t count)
{
    uint64_t total = 0, best = 0;
    for (uint32_t v = 0; v < count; v++)
        total += servers[v];
    for (uint32_t set = 0; set < 1u << count; set++) {
        uint64_t sum = 0;
        for (uint32_t v = 0; v < count; v++)
            sum += set >> v & 1 ? servers[v] : 0;
        if (2 * sum <= total && sum > best)
            best = sum;
    }
    return best;
}

static void composition_check(const struct halving *halving)
{
    uint64_t light = 0, nodes = 0;
    for (uint32_t c = 0; c < halving->class_count; c++) {
        const struct halving_class *class = &halving->classes[c];
        assert_true(class->light <= class->count);
        light += (uint64_t) class->light * class->weight;
        nodes += class->count;
    }
    assert_int_equal(light, halving->light);
    assert_int_equal(nodes, halving->node_count);
}

static void random_weights_are_divided_as_evenly_as_possible(void **state)
{
    print_message("# seed 11\n");
    struct rng rng = rng_make(11, 0);
    for (int round = 0; round < 600; round++) {
        uint32_t servers[12], count = 1 + (uint32_t)rng_below(&rng, 12);
        uint32_t most = 1 + (uint32_t)rng_below(&rng, 30), unit = 1 + (uint32_t)rng_below(&rng, 3);
        for (uint32_t v = 0; v < count; v++)
            servers[v] = unit * (uint32_t)rng_below(&rng, most + 1);
        servers[0] = unit * most; /* at least one has servers */
        struct topology topology;
        struct halving halving;
        boxes_make(&topology, servers, count);
        assert_int_equal(halving_init(&halving, &topology, NULL), OK);
        assert_int_equal(halving.light * halving.unit, light_by_trying(servers, count));
        composition_check(&halving);
        for (uint32_t v = 0; v < count; v++)
            assert_int_equal(halving_weight(&halving, v) * halving.unit, servers[v]);
        halving_fini(&halving);
        topology_fini(&topology);
    }
}

static void without_servers_every_node_weighs_one(void **state)
{
    const uint32_t none[5] = {0};
    struct topology topology;
    struct halving halving;
    boxes_make(&topology, none, 5);
    assert_int_equal(halving_init(&halving, &topology, NULL), OK);
    assert_int_equal(halving.total, 5);
    assert_int_equal(halving.light, 2);
    assert_true(halving.uniform);
    assert_true(halving_holds(&halving, (uint8_t[]){0, 1, 1, 0, 1}));
    assert_false(halving_holds(&halving, (uint8_t[]){0, 1, 1, 1, 1}));
    halving_fini(&halving);
    topology_fini(&topology);
}

static void nodes_without_servers_may_be_on_either_side(void **state)
{
    const uint32_t servers[4] = {6, 0, 6, 0};
    struct topology topology;
    struct halving halving;
    boxes_make(&topology, servers, 4);
    assert_int_equal(halving_init(&halving, &topology, NULL), OK);
    assert_int_equal(halving.unit, 6);
    assert_false(halving.uniform);
    assert_int_equal(halving_gap(&halving), 0);
    assert_true(halving_holds(&halving, (uint8_t[]){0, 1, 1, 1}));
    assert_true(halving_holds(&halving, (uint8_t[]){1, 1, 0, 1}));
    assert_false(halving_holds(&halving, (uint8_t[]){1, 0, 1, 0}));
    halving_fini(&halving);
    topology_fini(&topology);
}

TEST_MAIN(TEST(random_weights_are_divided_as_evenly_as_possible),
          TEST(without_servers_every_node_weighs_one),
          TEST(nodes_without_servers_may_be_on_either_side))
