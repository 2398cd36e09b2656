#include "topology/generate/connect.h"

#include "base/test.h"
#include "topology/connected_test.h"

static bool whole(const struct wiring *wiring)
{
    struct graph graph;
    assert_int_equal(
        graph_make(&graph, wiring->node_count, wiring->cables, wiring->cable_count, NULL), OK);
    bool connected = test_connected(&graph);
    graph_fini(&graph);
    return connected;
}

static void ring_plug(struct wiring *wiring, uint32_t first, uint32_t size)
{
    for (uint32_t i = 0; i < size; i++)
        wiring_plug(wiring, first + i, PORT_ANY, first + (i + 1) % size, PORT_ANY);
}

static void rings_become_one_ring(void **state)
{
    uint32_t ports[30];
    for (int i = 0; i < 30; i++)
        ports[i] = 2;
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct wiring wiring;
        struct rng rng = rng_make(seed, 0);
        bool connected;
        assert_int_equal(wiring_init(&wiring, 30, ports, NULL), OK);
        for (uint32_t first = 0; first < 30; first += 5)
            ring_plug(&wiring, first, 5);
        assert_int_equal(connect_parts(&wiring, NULL, &rng, &connected, NULL), OK);
        assert_true(connected && whole(&wiring));
        assert_int_equal(wiring.cable_count, 30);
        wiring_fini(&wiring);
    }
}

/* One ring with three chords has four spare cables: enough for three pairs and an isolated node,
 * and then for nothing more. */
static void spare_cables_join_trees(void **state)
{
    uint32_t ports[14] = {3, 3, 3, 3, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1};
    for (uint64_t seed = 0; seed < 50; seed++) {
        for (uint32_t nodes = 13; nodes <= 14; nodes++) {
            struct wiring wiring;
            struct rng rng = rng_make(seed, 0);
            bool connected;
            assert_int_equal(wiring_init(&wiring, nodes, ports, NULL), OK);
            ring_plug(&wiring, 0, 6);
            for (uint32_t i = 0; i < 3; i++)
                wiring_plug(&wiring, i, PORT_ANY, i + 3, PORT_ANY);
            for (uint32_t v = 6; v < 12; v += 2)
                wiring_plug(&wiring, v, PORT_ANY, v + 1, PORT_ANY);
            assert_int_equal(connect_parts(&wiring, NULL, &rng, &connected, NULL), OK);
            assert_int_equal(connected, nodes == 13);
            assert_int_equal(whole(&wiring), connected);
            assert_int_equal(wiring.cable_count, 12);
            wiring_fini(&wiring);
        }
    }
}

/* Two pairs of triangles, each pair joined by one cable between groups: only cables inside a group
 * are spare, and they may cross only within it. */
static void groups_keep_their_cables(void **state)
{
    static const uint32_t group[12] = {0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1};
    uint32_t ports[12] = {3, 2, 2, 3, 2, 2, 3, 2, 2, 3, 2, 2};
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct wiring wiring;
        struct rng rng = rng_make(seed, 0);
        bool connected;
        uint32_t between = 0;
        assert_int_equal(wiring_init(&wiring, 12, ports, NULL), OK);
        for (uint32_t first = 0; first < 12; first += 3)
            ring_plug(&wiring, first, 3);
        wiring_plug(&wiring, 0, PORT_ANY, 3, PORT_ANY);
        wiring_plug(&wiring, 6, PORT_ANY, 9, PORT_ANY);
        assert_int_equal(connect_parts(&wiring, group, &rng, &connected, NULL), OK);
        assert_true(connected && whole(&wiring));
        for (uint32_t e = 0; e < wiring.cable_count; e++)
            between += group[wiring.cables[e].a] != group[wiring.cables[e].b];
        assert_int_equal(between, 2);
        wiring_fini(&wiring);
    }
}

static void groups_without_a_cable_between_stay_disconnected(void **state)
{
    static const uint32_t group[6] = {0, 0, 0, 1, 1, 1};
    struct wiring wiring;
    struct rng rng = rng_make(1, 0);
    bool connected;
    assert_int_equal(wiring_init(&wiring, 6, (uint32_t[]){2, 2, 2, 2, 2, 2}, NULL), OK);
    ring_plug(&wiring, 0, 3);
    ring_plug(&wiring, 3, 3);
    assert_int_equal(connect_parts(&wiring, group, &rng, &connected, NULL), OK);
    assert_false(connected);
    wiring_fini(&wiring);
}

/* An isolated node takes the end of a cable between groups, if one is spare. */
static void an_isolated_node_gets_a_cable_between_groups(void **state)
{
    static const uint32_t group[5] = {0, 0, 1, 1, 2};
    struct wiring wiring;
    struct rng rng = rng_make(1, 0);
    bool connected;
    assert_int_equal(wiring_init(&wiring, 5, (uint32_t[]){2, 2, 2, 2, 1}, NULL), OK);
    wiring_plug(&wiring, 0, PORT_ANY, 2, PORT_ANY);
    wiring_plug(&wiring, 2, PORT_ANY, 1, PORT_ANY);
    wiring_plug(&wiring, 1, PORT_ANY, 3, PORT_ANY);
    wiring_plug(&wiring, 3, PORT_ANY, 0, PORT_ANY);
    assert_int_equal(connect_parts(&wiring, group, &rng, &connected, NULL), OK);
    assert_true(connected && whole(&wiring));
    assert_int_equal(wiring.free[4], 0);
    for (uint32_t e = 0; e < wiring.cable_count; e++)
        assert_true(group[wiring.cables[e].a] != group[wiring.cables[e].b]);
    wiring_fini(&wiring);
}

TEST_MAIN(TEST(rings_become_one_ring), TEST(spare_cables_join_trees),
          TEST(groups_keep_their_cables), TEST(groups_without_a_cable_between_stay_disconnected),
          TEST(an_isolated_node_gets_a_cable_between_groups))
