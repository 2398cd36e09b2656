#include "topology/change/rewire.h"

#include "topology/change/replay_test.h"

static const uint32_t three[] = {3, 3, 3, 3, 3, 3};

/* Nodes 0, 1 and 2 form a triangle, and node 3 is joined to node 2. Nodes 4 and 5 are new: they
 * have no cables yet. */
static const struct link kite[] = {{0, 1, 0, 0}, {1, 2, 1, 0}, {2, 0, 1, 1}, {2, 3, 2, 0}};

static void a_node_counts_from_its_first_cable_on(void **state)
{
    struct rewire rewire;
    assert_int_equal(rewire_init(&rewire, 6, three, three, NULL, kite, 4, NULL), OK);
    assert_int_equal(rewire.parts, 1);
    assert_true(rewire_joins(&rewire, 0, 4));
    assert_false(rewire_joins(&rewire, 4, 5));
    assert_int_equal(rewire_plug(&rewire, 4, PORT_ANY, 5, PORT_ANY, NULL), OK);
    assert_int_equal(rewire.parts, 2);
    /* Port 0 is in use at both ends, so the cable gets the lowest free ports. */
    assert_int_equal(rewire_plug(&rewire, 5, 0, 0, 0, NULL), OK);
    assert_int_equal(rewire.plan.actions[1].cable.a_port, 1);
    assert_int_equal(rewire.plan.actions[1].cable.b_port, 2);
    assert_int_equal(rewire.parts, 1);
    assert_int_equal(rewire_room(&rewire, 0), 0);
    rewire_fini(&rewire);
}

static void only_a_leaving_node_may_lose_its_last_cable(void **state)
{
    const uint8_t leaving[] = {0, 0, 0, 1, 0, 0};
    for (int leaves = 0; leaves < 2; leaves++) {
        struct rewire rewire;
        bool done;
        assert_int_equal(
            rewire_init(&rewire, 6, three, three, leaves ? leaving : NULL, kite, 4, NULL), OK);
        uint32_t tail = wiring_find(&rewire.wiring, 2, 3);
        assert_int_equal(rewire_unplug_safely(&rewire, tail, &done, NULL), OK);
        assert_int_equal(done, leaves);
        if (!leaves)
            assert_int_equal(rewire_unplug(&rewire, tail, NULL), OK);
        assert_int_equal(rewire.parts, leaves ? 1 : 2);
        rewire_fini(&rewire);
    }
}

static void a_commit_makes_one_step(void **state)
{
    struct rewire rewire;
    assert_int_equal(rewire_init(&rewire, 6, three, three, NULL, kite, 4, NULL), OK);
    assert_int_equal(rewire_unplug(&rewire, wiring_find(&rewire.wiring, 2, 3), NULL), OK);
    assert_int_equal(rewire_plug(&rewire, 4, PORT_ANY, 2, 2, NULL), OK);
    assert_int_equal(rewire_plug(&rewire, 4, PORT_ANY, 3, 0, NULL), OK);
    rewire_commit(&rewire);
    assert_int_equal(rewire_unplug(&rewire, wiring_find(&rewire.wiring, 4, 3), NULL), OK);
    rewire_commit(&rewire);
    assert_int_equal(rewire.plan.step_count, 2);
    assert_int_equal(rewire.plan.together_count, 1);
    assert_int_equal(rewire.plan.apart_count, 1);
    assert_int_equal(rewire.plan.actions[2].step, 1);
    assert_false(rewire.plan.actions[2].apart);
    assert_true(rewire.plan.actions[3].apart);
    rewire_fini(&rewire);
}

/* After each random action the number of parts is compared with the replay's; then all actions are
 * undone. */
static void parts_are_correct_after_any_actions_and_undo(void **state)
{
    struct rng rng = rng_make(3, 0);
    uint32_t limit[12];
    uint8_t leaving[12];
    for (uint32_t v = 0; v < 12; v++) {
        limit[v] = 4;
        leaving[v] = v % 3 == 0;
    }
    for (int round = 0; round < 300; round++) {
        struct graph graph;
        struct rewire rewire;
        struct replay replay;
        random_regular(&graph, 10, 2 + (uint32_t)rng_below(&rng, 2), &rng);
        assert_int_equal(
            rewire_init(&rewire, 12, limit, limit, leaving, graph.links, graph.link_count, NULL),
            OK);
        replay_init(&replay, 12, limit, leaving, &graph, 60);
        for (int i = 0; i < 50; i++) {
            uint32_t a = (uint32_t)rng_below(&rng, 12), b = (uint32_t)rng_below(&rng, 12);
            if (rng_below(&rng, 2) && rewire.wiring.cable_count) {
                uint32_t cable = (uint32_t)rng_below(&rng, rewire.wiring.cable_count);
                assert_int_equal(rewire_unplug(&rewire, cable, NULL), OK);
                replay_unplug(&replay, &rewire.plan.actions[rewire.plan.count - 1].cable);
            } else if (a != b && rewire_room(&rewire, a) && rewire_room(&rewire, b)) {
                assert_int_equal(rewire_plug(&rewire, a, PORT_ANY, b, PORT_ANY, NULL), OK);
                replay_plug(&replay, &rewire.plan.actions[rewire.plan.count - 1].cable);
            }
            assert_int_equal(rewire.parts, replay_parts(&replay));
        }
        while (rewire.plan.count)
            rewire_undo(&rewire);
        struct graph again;
        assert_int_equal(
            graph_make(&again, 10, rewire.wiring.cables, rewire.wiring.cable_count, NULL), OK);
        assert_true(graph_equal(&graph, &again));
        assert_int_equal(rewire.parts, 1);
        assert_false(rewire.attached[11]);
        graph_fini(&graph);
        graph_fini(&again);
        rewire_fini(&rewire);
        replay_fini(&replay);
    }
}

static void huge_port_numbers_are_refused(void **state)
{
    struct rewire rewire;
    struct why why;
    uint32_t slots[2] = {1, 1}, limit[2] = {1, 1};
    struct graph graph;
    const struct link far = {0, 1, 4294967294u, 0};
    assert_int_equal(graph_make(&graph, 2, &far, 1, NULL), OK);
    rewire_cover(slots, &graph, NULL);
    assert_int_equal(rewire_init(&rewire, 2, limit, slots, NULL, &far, 1, &why), ERR_INPUT);
    assert_string_equal(why.text,
                        "port numbers up to 4294967294 are too large for a network of 1 cables");
    graph_fini(&graph);
}

TEST_MAIN(TEST(a_node_counts_from_its_first_cable_on),
          TEST(only_a_leaving_node_may_lose_its_last_cable), TEST(a_commit_makes_one_step),
          TEST(parts_are_correct_after_any_actions_and_undo), TEST(huge_port_numbers_are_refused))
