#pragma once
/* place: a plan and its topology, for tests. */

#include "base/test.h"
#include "node/plan.h"

struct place {
    struct topology topology;
    struct plan plan;
};

static inline void place_open(struct place *place, const char *spec)
{
    assert_int_equal(topology_build(&place->topology, spec, NULL), OK);
    assert_int_equal(plan_init(&place->plan, &place->topology, NULL), OK);
}

static inline void place_close(struct place *place)
{
    plan_fini(&place->plan);
    topology_fini(&place->topology);
}
