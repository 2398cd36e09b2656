#pragma once
/* route_cases: networks and traffic that tests of routing share. For tests only. */

#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/test.h"
#include "routing/load/load.h"
#include "routing/route.h"
#include "routing/traffic/traffic.h"
#include "topology/build_test.h"

/* A network and a router on it. The router borrows the topology, so the struct must not move;
 * therefore it is on the heap. */
struct route_case {
    struct topology topology;
    struct router router;
};

/* NULL if the algorithm does not support the network. */
static inline struct route_case *route_case_try(const char *spec, const char *algorithm)
{
    struct route_case *test = array_new(1, sizeof *test);
    struct why why = {0};
    assert_non_null(test);
    test->topology = build_test(spec);
    enum err err = router_open(&test->router, algorithm, &test->topology, NULL, &why);
    if (!err)
        return test;
    if (err != ERR_USAGE)
        fail_msg("%s on %s: %s", algorithm, spec, why.text);
    topology_fini(&test->topology);
    free(test);
    return NULL;
}

static inline struct route_case *route_case_open(const char *spec, const char *algorithm)
{
    struct route_case *test = route_case_try(spec, algorithm);
    if (!test)
        fail_msg("%s does not fit %s", algorithm, spec);
    return test;
}

static inline void route_case_close(struct route_case *test)
{
    router_close(&test->router);
    topology_fini(&test->topology);
    free(test);
}

static inline struct traffic route_case_traffic(const struct topology *topology,
                                                enum traffic_pattern pattern)
{
    struct traffic traffic;
    assert_int_equal(traffic_make_pattern(&traffic, topology, pattern, NULL), OK);
    return traffic;
}

static inline struct load route_case_load(const struct router *router,
                                          const struct traffic *traffic)
{
    struct load load;
    assert_int_equal(load_find(&load, router, traffic, (struct observer){0}, NULL), OK);
    return load;
}
