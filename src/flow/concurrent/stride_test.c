#include "flow/concurrent/stride.h"

#include <math.h>
#include <stdlib.h>

#include "base/test.h"
#include "topology/topology.h"

/* Two parallel cables, one demand of 3 over both. */
struct two {
    struct topology topology;
    struct traffic traffic;
    struct flow_spread spread;
    struct stride stride;
};

static void open_two(struct two *two)
{
    static const struct link links[] = {{0, 1, PORT_ANY, PORT_ANY}, {0, 1, PORT_ANY, PORT_ANY}};
    assert_int_equal(topology_init(&two->topology, TOPOLOGY_OTHER, true, 2, links, 2, NULL), OK);
    struct demand *demand = calloc(1, sizeof *demand);
    assert_non_null(demand);
    *demand = (struct demand){0, 1, 3};
    assert_int_equal(traffic_make(&two->traffic, demand, 1, NULL), OK);
    assert_int_equal(spread_open(&two->spread, &two->topology.graph, &two->traffic, NULL), OK);
    assert_int_equal(path_set_pair(&two->spread.paths, NULL), OK);
    assert_int_equal(spread_add(&two->spread, (uint32_t[]){0}, 1, 3, NULL), OK);
    assert_int_equal(spread_add(&two->spread, (uint32_t[]){2}, 1, 0, NULL), OK);
    assert_int_equal(stride_open(&two->stride, &two->spread, NULL), OK);
}

/* Changes the rate of the first cable from `before` to `now`, and takes a further step in this
 * direction. */
static void stride_from(struct two *two, double before, double now)
{
    two->spread.rates[0] = before;
    two->spread.rates[1] = 3 - before;
    spread_settle(&two->spread);
    assert_int_equal(stride_begin(&two->stride, &two->spread, NULL), OK);
    two->spread.rates[0] = now;
    two->spread.rates[1] = 3 - now;
    spread_settle(&two->spread);
    stride_take(&two->stride, &two->spread, 2);
    spread_check(&two->spread);
}

static void close_two(struct two *two)
{
    stride_close(&two->stride);
    spread_close(&two->spread);
    traffic_fini(&two->traffic);
    topology_fini(&two->topology);
}

static void the_step_ends_where_both_cables_carry_the_same(void **state)
{
    struct two two;
    open_two(&two);
    stride_from(&two, 3, 2.5); /* the step is twice as long as the change */
    assert_true(fabs(two.spread.rates[0] - 1.5) < 1e-3);
    assert_true(fabs(two.spread.busiest - 1.5) < 1e-3);
    close_two(&two);
}

static void a_bad_direction_is_not_followed(void **state)
{
    struct two two;
    open_two(&two);
    stride_from(&two, 2, 2.5);
    assert_true(two.spread.rates[0] == 2.5);
    stride_from(&two, 2.5, 2.5); /* there is no direction at all */
    assert_true(two.spread.rates[0] == 2.5);
    close_two(&two);
}

static void no_path_gets_a_negative_rate(void **state)
{
    struct two two;
    open_two(&two);
    stride_from(&two, 2.999, 2.99); /* the best step is longer than allowed */
    assert_true(two.spread.rates[0] >= 0 && two.spread.rates[1] >= 0);
    assert_true(two.spread.rates[0] < 2.99);
    close_two(&two);
}

TEST_MAIN(TEST(the_step_ends_where_both_cables_carry_the_same),
          TEST(a_bad_direction_is_not_followed), TEST(no_path_gets_a_negative_rate))
