#pragma once
/* measure_report: the result of `weft topo measure`. */

#include <stdbool.h>
#include <stdint.h>

#include "cli/core/call.h"
#include "cli/topo/measure_throughput.h"
#include "flow/bisection/bisection.h"
#include "topology/measure/distance.h"
#include "topology/measure/shortest_paths.h"
#include "topology/topology.h"

struct measurement {
    const char *name;                /* borrowed; as the user wrote it */
    const struct topology *topology; /* borrowed; after the failures */

    double link_share, node_share;   /* shares that were to fail */
    uint32_t links_lost, nodes_lost; /* that failed, links of failed nodes included */
    uint64_t seed;

    uint32_t degree_min, degree_max;
    uint32_t components;
    struct distance_tally tally; /* owned */

    bool has_bisection, has_connectivity, has_paths; /* which of these were measured */
    uint32_t edge_connectivity, vertex_connectivity;
    uint32_t path_from, path_to;
    struct bisection bisection; /* owned */
    struct shortest_paths paths;
    struct throughput throughput; /* owned; its plan says what was measured */
};

void measure_report(struct call *call, const struct measurement *found);
