#include "topology/wiring.h"

#include "base/rng.h"
#include "base/test.h"

static void plugging_fills_the_lowest_free_ports(void **state)
{
    struct wiring wiring;
    assert_int_equal(wiring_init(&wiring, 3, (uint32_t[]){2, 2, 1}, NULL), OK);
    uint32_t first = wiring_plug(&wiring, 0, PORT_ANY, 1, 1);
    uint32_t second = wiring_plug(&wiring, 0, PORT_ANY, 2, PORT_ANY);
    assert_int_equal(wiring.cables[first].a_port, 0);
    assert_int_equal(wiring.cables[first].b_port, 1);
    assert_int_equal(wiring.cables[second].a_port, 1);
    assert_int_equal(wiring.free[0], 0);
    assert_int_equal(wiring_find(&wiring, 1, 0), first);
    assert_int_equal(wiring_find(&wiring, 1, 2), CABLE_NONE);
    wiring_unplug(&wiring, first);
    assert_int_equal(wiring_find(&wiring, 2, 0), 0); /* moved into the hole */
    assert_int_equal(wiring.free[1], 2);
    wiring_fini(&wiring);
}

static void a_ring_survives_one_cut_and_not_two(void **state)
{
    uint32_t ports[10];
    struct wiring wiring;
    bool reaches;
    for (int i = 0; i < 10; i++)
        ports[i] = 2;
    assert_int_equal(wiring_init(&wiring, 10, ports, NULL), OK);
    for (uint32_t i = 0; i < 10; i++)
        wiring_plug(&wiring, i, PORT_ANY, (i + 1) % 10, PORT_ANY);
    assert_int_equal(wiring_reaches(&wiring, 0, 1, 0, &reaches, NULL), OK);
    assert_true(reaches);
    wiring_unplug(&wiring, wiring_find(&wiring, 4, 5));
    assert_int_equal(wiring_reaches(&wiring, 0, 1, 0, &reaches, NULL), OK);
    assert_false(reaches);
    assert_int_equal(wiring_reaches(&wiring, 0, 9, CABLE_NONE, &reaches, NULL), OK);
    assert_true(reaches);
    wiring_fini(&wiring);
}

/* Against the plain truth of graph_connected, on random sparse wirings. */
static void reaching_agrees_with_a_whole_search(void **state)
{
    struct rng rng = rng_make(11, 0);
    for (int round = 0; round < 300; round++) {
        uint32_t ports[12];
        struct wiring wiring;
        for (int i = 0; i < 12; i++)
            ports[i] = 4;
        assert_int_equal(wiring_init(&wiring, 12, ports, NULL), OK);
        for (int tries = 0; tries < 16; tries++) {
            uint32_t a = (uint32_t)rng_below(&rng, 12), b = (uint32_t)rng_below(&rng, 12);
            if (a != b && wiring.free[a] && wiring.free[b])
                wiring_plug(&wiring, a, PORT_ANY, b, PORT_ANY);
        }
        struct graph graph;
        assert_int_equal(graph_make(&graph, 12, wiring.cables, wiring.cable_count, NULL), OK);
        bool all = true, reaches;
        for (uint32_t v = 1; v < 12; v++) {
            assert_int_equal(wiring_reaches(&wiring, 0, v, CABLE_NONE, &reaches, NULL), OK);
            all &= reaches;
        }
        assert_int_equal(all, graph_connected(&graph));
        graph_fini(&graph);
        wiring_fini(&wiring);
    }
}

TEST_MAIN(TEST(plugging_fills_the_lowest_free_ports), TEST(a_ring_survives_one_cut_and_not_two),
          TEST(reaching_agrees_with_a_whole_search))
