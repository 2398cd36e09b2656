#pragma once
/* route_call: the start of every `weft route` command: a topology and a routing
 * algorithm on it. */

#include "cli/core/call.h"
#include "routing/route.h"
#include "topology/topology.h"

/* The options that route_call_open reads. */
#define ROUTE_CALL_OPTIONS                                                                         \
    {"algorithm", "NAME", "the routing algorithm; 'weft route list' lists them"},                  \
        {"ways", "N", "paths for each pair with ecmp and k-shortest (default 8)"},                 \
    {                                                                                              \
        "seed", "N", "seed of all random choices (default 1)"                                      \
    }

struct route_call {
    struct topology topology;
    struct router router;
    uint64_t seed;
};

/* Loads the first argument and opens --algorithm on it. The struct must not
 * move until route_call_close: the router borrows the topology. */
MUST_CHECK enum err route_call_open(struct route_call *route, const struct call *call,
                                    struct why *why);
void route_call_close(struct route_call *route);
