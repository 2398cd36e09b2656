#include "topology/wiring.h"

#include "base/rng.h"
#include "base/test.h"
#include "topology/connected_test.h"

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
    assert_int_equal(wiring_find(&wiring, 2, 0), 0); /* it took the place of the removed cable */
    assert_int_equal(wiring.free[1], 2);
    wiring_fini(&wiring);
}

static void a_ring_stays_connected_after_one_cut_but_not_two(void **state)
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

/* Compared with graph_connected, on random sparse wirings. */
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
        assert_int_equal(all, test_connected(&graph));
        graph_fini(&graph);
        wiring_fini(&wiring);
    }
}

/* Checks that every port agrees with its cable, and that no port below `lowest` is free. */
static void wiring_verify(const struct wiring *wiring)
{
    for (uint32_t v = 0; v < wiring->node_count; v++) {
        const uint32_t *cables = wiring->cable_at + wiring->first[v];
        const uint32_t *peers = wiring->peer_at + wiring->first[v];
        uint32_t free = 0;
        for (uint32_t port = 0; port < wiring_ports(wiring, v); port++) {
            if (cables[port] == CABLE_NONE) {
                assert_true(port >= wiring->lowest[v]);
                assert_int_equal(peers[port], NODE_NONE);
                free++;
                continue;
            }
            const struct link *link = &wiring->cables[cables[port]];
            bool forward = link->a == v && link->a_port == port && link->b == peers[port];
            bool backward = link->b == v && link->b_port == port && link->a == peers[port];
            assert_true(forward != backward);
        }
        assert_int_equal(free, wiring->free[v]);
    }
}

static void crossing_keeps_ports_and_indexes(void **state)
{
    struct wiring wiring;
    assert_int_equal(wiring_init(&wiring, 4, (uint32_t[]){1, 2, 1, 2}, NULL), OK);
    wiring_plug(&wiring, 0, PORT_ANY, 1, 1);
    wiring_plug(&wiring, 2, PORT_ANY, 3, 1);
    wiring_cross(&wiring, 0, 1); /* (0, 1) (2, 3) become (0, 2) (1, 3) */
    wiring_verify(&wiring);
    assert_int_equal(wiring_find(&wiring, 0, 2), 0);
    assert_int_equal(wiring_find(&wiring, 3, 1), 1);
    assert_int_equal(wiring.cables[1].a_port, 1);
    assert_int_equal(wiring.cables[1].b_port, 1);
    wiring_turn(&wiring, 1);
    assert_int_equal(wiring.cables[1].a, 3);
    wiring_verify(&wiring);
    wiring_fini(&wiring);
}

static void moving_an_end_frees_one_port_and_takes_another(void **state)
{
    struct wiring wiring;
    assert_int_equal(wiring_init(&wiring, 3, (uint32_t[]){1, 1, 2}, NULL), OK);
    wiring_plug(&wiring, 0, PORT_ANY, 1, PORT_ANY);
    wiring_move(&wiring, 0, 0, 2);
    wiring_verify(&wiring);
    assert_true(wiring_joined(&wiring, 1, 2));
    assert_false(wiring_joined(&wiring, 1, 0));
    assert_int_equal(wiring.free[0], 1);
    assert_int_equal(wiring.free[2], 1);
    wiring_fini(&wiring);
}

/* Random changes; wiring_joined and wiring_find are compared with a matrix of cable counts. */
static void random_changes_keep_the_wiring_consistent(void **state)
{
    enum { NODES = 9, PORTS = 5 };
    struct rng rng = rng_make(12, 0);
    uint32_t ports[NODES], count[NODES][NODES] = {0};
    struct wiring wiring;
    for (int i = 0; i < NODES; i++)
        ports[i] = PORTS;
    assert_int_equal(wiring_init(&wiring, NODES, ports, NULL), OK);
    for (int step = 0; step < 3000; step++) {
        uint32_t a = (uint32_t)rng_below(&rng, NODES), b = (uint32_t)rng_below(&rng, NODES);
        uint32_t port = rng_below(&rng, 2) ? PORT_ANY : (uint32_t)rng_below(&rng, PORTS);
        bool named = port != PORT_ANY;
        if (a != b && wiring.free[a] && wiring.free[b] &&
            (!named || wiring.cable_at[wiring.first[a] + port] == CABLE_NONE)) {
            wiring_plug(&wiring, a, port, b, PORT_ANY);
            count[a][b]++, count[b][a]++;
        } else if (a != b && count[a][b] && rng_below(&rng, 2)) {
            wiring_unplug(&wiring, wiring_find(&wiring, a, b));
            count[a][b]--, count[b][a]--;
        }
        if (step % 10)
            continue;
        wiring_verify(&wiring);
        for (a = 0; a < NODES; a++)
            for (b = 0; b < NODES; b++) {
                assert_int_equal(wiring_joined(&wiring, a, b), count[a][b] > 0);
                assert_int_equal(wiring_find(&wiring, a, b) != CABLE_NONE, count[a][b] > 0);
            }
    }
    wiring_fini(&wiring);
}

TEST_MAIN(TEST(plugging_fills_the_lowest_free_ports),
          TEST(a_ring_stays_connected_after_one_cut_but_not_two),
          TEST(reaching_agrees_with_a_whole_search), TEST(crossing_keeps_ports_and_indexes),
          TEST(moving_an_end_frees_one_port_and_takes_another),
          TEST(random_changes_keep_the_wiring_consistent))
