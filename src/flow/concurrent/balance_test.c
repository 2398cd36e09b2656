#include "flow/concurrent/balance.h"

#include <math.h>
#include <stdlib.h>

#include "base/test.h"
#include "topology/topology.h"

/* One demand from node 0 to node 1 over parallel cables, one path each; some cables already carry
 * other traffic. */
struct parallel {
    struct topology topology;
    struct traffic traffic;
    struct flow_spread spread;
    struct balance balance;
};

static void open_parallel(struct parallel *parallel, uint32_t cables, double amount)
{
    struct link links[8];
    for (uint32_t e = 0; e < cables; e++)
        links[e] = (struct link){0, 1, PORT_ANY, PORT_ANY};
    assert_int_equal(
        topology_init(&parallel->topology, TOPOLOGY_OTHER, true, 2, links, cables, NULL), OK);
    struct demand *demand = calloc(1, sizeof *demand);
    assert_non_null(demand);
    *demand = (struct demand){0, 1, amount};
    assert_int_equal(traffic_make(&parallel->traffic, demand, 1, NULL), OK);
    assert_int_equal(
        spread_open(&parallel->spread, &parallel->topology.graph, &parallel->traffic, NULL), OK);
    assert_int_equal(balance_open(&parallel->balance, &parallel->spread, NULL), OK);
    assert_int_equal(path_set_pair(&parallel->spread.paths, NULL), OK);
    for (uint32_t e = 0; e < cables; e++)
        assert_int_equal(
            spread_add(&parallel->spread, (uint32_t[]){2 * e}, 1, e ? 0 : amount, NULL), OK);
    spread_settle(&parallel->spread);
}

static void close_parallel(struct parallel *parallel)
{
    balance_close(&parallel->balance);
    spread_close(&parallel->spread);
    traffic_fini(&parallel->traffic);
    topology_fini(&parallel->topology);
}

/* A round begins with weights that are at least a minimum, so a large sharpness needs several
 * rounds. */
static void run_rounds(struct balance *balance)
{
    for (int round = 0; round < 100; round++)
        assert_int_equal(balance_run(balance, 10, 1e-13, NULL), OK);
}

static void two_equal_paths_are_even_after_one_shift(void **state)
{
    struct parallel parallel;
    open_parallel(&parallel, 2, 3);
    assert_true(parallel.spread.busiest == 3);
    parallel.balance.sharpness = 5;
    assert_int_equal(balance_run(&parallel.balance, 1, 0, NULL), OK);
    spread_check(&parallel.spread);
    assert_true(fabs(parallel.spread.rates[0] - 1.5) < 1e-12);
    assert_true(fabs(parallel.spread.busiest - 1.5) < 1e-12);
    close_parallel(&parallel);
}

static void several_paths_are_even_at_any_sharpness(void **state)
{
    static const double sharpness[] = {0.01, 1, 30};
    for (size_t i = 0; i < sizeof sharpness / sizeof *sharpness; i++) {
        struct parallel parallel;
        open_parallel(&parallel, 7, 14);
        parallel.balance.sharpness = sharpness[i];
        run_rounds(&parallel.balance);
        spread_check(&parallel.spread);
        if (fabs(parallel.spread.busiest - 2) >= 1e-6)
            fail_msg("sharpness %g: %.9g", sharpness[i], parallel.spread.busiest);
        close_parallel(&parallel);
    }
}

/* Marks are numbers that wrap around; a run across that point must not mistake an old mark for a
 * new one. */
static void marks_wrap_around_safely(void **state)
{
    struct parallel parallel;
    open_parallel(&parallel, 3, 6);
    parallel.balance.sharpness = 10;
    for (size_t c = 0; c < 6; c++)
        parallel.balance.channels[c] = (struct balance_channel){1, 1, 2};
    parallel.balance.stamp = UINT32_MAX - 1;
    run_rounds(&parallel.balance);
    assert_true(parallel.balance.stamp < 100000);
    assert_true(fabs(parallel.spread.busiest - 2) < 1e-6);
    close_parallel(&parallel);
}

TEST_MAIN(TEST(two_equal_paths_are_even_after_one_shift),
          TEST(several_paths_are_even_at_any_sharpness), TEST(marks_wrap_around_safely))
