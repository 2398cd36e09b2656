#include "flow/concurrent/spread.h"

#include <stdlib.h>

#include "base/test.h"

/* A triangle. Links 0-1, 1-2, 2-0 have channels 0 and 1, 2 and 3, 4 and 5. */
static struct graph triangle(void)
{
    static const struct link links[] = {
        {0, 1, PORT_ANY, PORT_ANY}, {1, 2, PORT_ANY, PORT_ANY}, {2, 0, PORT_ANY, PORT_ANY}};
    struct graph graph;
    assert_int_equal(graph_make(&graph, 3, links, 3, NULL), OK);
    return graph;
}

static void settling_scales_the_rates_and_adds_up_the_loads(void **state)
{
    struct demand demands[] = {{0, 1, 2}, {0, 2, 1}};
    struct traffic traffic = {.demands = demands, .count = 2};
    struct graph graph = triangle();
    struct flow_spread spread;
    assert_int_equal(spread_open(&spread, &graph, &traffic, NULL), OK);
    assert_int_equal(path_set_pair(&spread.paths, NULL), OK);
    assert_int_equal(spread_add(&spread, (uint32_t[]){0}, 1, 6, NULL), OK);
    assert_int_equal(spread_add(&spread, (uint32_t[]){5, 3}, 2, 2, NULL), OK);
    assert_int_equal(path_set_pair(&spread.paths, NULL), OK);
    assert_int_equal(spread_add(&spread, (uint32_t[]){5}, 1, 1, NULL), OK);
    spread_settle(&spread);
    spread_check(&spread);

    const double rates[] = {1.5, 0.5, 1}, load[] = {1.5, 0, 0, 0.5, 0, 1.5};
    for (size_t p = 0; p < 3; p++)
        assert_within(spread.rates[p], rates[p], 1e-12);
    for (size_t c = 0; c < 6; c++)
        assert_within(spread.load[c], load[c], 1e-12);
    assert_within(spread.busiest, 1.5, 1e-12);
    spread_close(&spread);
    graph_fini(&graph);
}

TEST_MAIN(TEST(settling_scales_the_rates_and_adds_up_the_loads))
