#pragma once
/* route_call: what every `weft route` command begins with: a topology and an
 * algorithm made ready for it. */

#include "cli/core/call.h"
#include "routing/route.h"
#include "topology/topology.h"

/* The rows of a command's options that route_call_open reads. */
#define ROUTE_CALL_OPTIONS                                                                         \
    {"algorithm", "NAME", "how packets find their way; 'weft route list' names them"},             \
        {"ways", "N", "paths per pair of ecmp and k-shortest (default 8)"},                        \
    {                                                                                              \
        "seed", "N", "of everything random (default 1)"                                            \
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
