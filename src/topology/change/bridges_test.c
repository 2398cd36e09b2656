#include "topology/change/bridges.h"

#include "base/rng.h"
#include "base/test.h"

static void random_wiring(struct wiring *wiring, uint32_t nodes, uint32_t cables, struct rng *rng)
{
    uint32_t ports[16];
    for (uint32_t v = 0; v < nodes; v++)
        ports[v] = 6;
    assert_int_equal(wiring_init(wiring, nodes, ports, NULL), OK);
    for (uint32_t tries = 0; tries < cables; tries++) {
        uint32_t a = (uint32_t)rng_below(rng, nodes), b = (uint32_t)rng_below(rng, nodes);
        if (a != b && wiring->free[a] && wiring->free[b])
            wiring_plug(wiring, a, PORT_ANY, b, PORT_ANY);
    }
}

/* A cable is a bridge if its ends cannot reach each other without it; it separates the nodes that
 * then cannot reach each other. Parallel cables occur. */
static void bridges_are_the_cables_without_an_alternative_path(void **state)
{
    struct rng rng = rng_make(5, 0);
    uint32_t seen = 0;
    for (int round = 0; round < 400; round++) {
        struct wiring wiring;
        struct bridges bridges;
        random_wiring(&wiring, 12, 6 + (uint32_t)rng_below(&rng, 14), &rng);
        assert_int_equal(bridges_init(&bridges, &wiring, NULL), OK);
        bridges_find(&bridges, &wiring);
        for (uint32_t e = 0; e < wiring.cable_count; e++) {
            const struct link *cable = &wiring.cables[e];
            bool reaches, with, without;
            assert_int_equal(wiring_reaches(&wiring, cable->a, cable->b, e, &reaches, NULL), OK);
            assert_int_equal(bridges_has(&bridges, e), !reaches);
            for (uint32_t v = 0; !reaches && v < 12; v++) {
                assert_int_equal(wiring_reaches(&wiring, cable->a, v, CABLE_NONE, &with, NULL), OK);
                assert_int_equal(wiring_reaches(&wiring, cable->a, v, e, &without, NULL), OK);
                if (with)
                    assert_int_equal(bridges_part(&bridges, e, cable->a, v), !without);
                seen++;
            }
        }
        bridges_fini(&bridges);
        wiring_fini(&wiring);
    }
    assert_true(seen > 1000);
}

static void a_long_path_is_all_bridges(void **state)
{
    enum { LENGTH = 200000 };
    static uint32_t ports[LENGTH];
    struct wiring wiring;
    struct bridges bridges;
    for (uint32_t v = 0; v < LENGTH; v++)
        ports[v] = 2;
    assert_int_equal(wiring_init(&wiring, LENGTH, ports, NULL), OK);
    for (uint32_t v = 0; v + 1 < LENGTH; v++)
        wiring_plug(&wiring, v, PORT_ANY, v + 1, PORT_ANY);
    assert_int_equal(bridges_init(&bridges, &wiring, NULL), OK);
    bridges_find(&bridges, &wiring);
    for (uint32_t e = 0; e < wiring.cable_count; e++)
        assert_true(bridges_has(&bridges, e));
    wiring_plug(&wiring, LENGTH - 1, PORT_ANY, 0, PORT_ANY);
    bridges_find(&bridges, &wiring);
    for (uint32_t e = 0; e < wiring.cable_count; e++)
        assert_false(bridges_has(&bridges, e));
    bridges_fini(&bridges);
    wiring_fini(&wiring);
}

TEST_MAIN(TEST(bridges_are_the_cables_without_an_alternative_path),
          TEST(a_long_path_is_all_bridges))
