#pragma once
/* test_plan: a plan and its topology, for tests. */

#include "base/test.h"
#include "node/plan.h"

struct test_plan {
    struct topology topology;
    struct plan plan;
};

static inline void test_plan_open(struct test_plan *test, const char *spec)
{
    assert_int_equal(topology_build(&test->topology, spec, NULL), OK);
    assert_int_equal(plan_init(&test->plan, &test->topology, NULL), OK);
}

static inline void test_plan_close(struct test_plan *test)
{
    plan_fini(&test->plan);
    topology_fini(&test->topology);
}
