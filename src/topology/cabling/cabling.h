#pragma once
/* cabling: every cable of a topology on its floor: its length, copper or fibre, its bundle and its
 * cost.
 *
 * Links come first, in the order of the graph, then the cables between servers and switches, which
 * direct networks do not have. A bundle is the set of all cables between the same two places. A
 * place is a rack or, for a cable that leaves its container, the container. A cable inside one rack
 * is in no bundle.
 *
 * A cabling owns its arrays and its floor plan. */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"
#include "topology/cabling/cable_cost.h"
#include "topology/cabling/floor_plan.h"
#include "topology/topology.h"

#define BUNDLE_NONE       UINT32_MAX
#define CABLING_CABLE_MAX 20000000u

struct cable_end {
    uint32_t node;
    uint32_t server; /* which server of the node; SERVER_NONE: the node itself */
    uint32_t port;
    struct spot spot;
};

#define SERVER_NONE UINT32_MAX

struct planned_cable {
    struct cable_end a, b; /* a is the switch of a server cable */
    double length_m;
    double cost; /* metres, ends and its part of the labour */
    uint32_t bundle;
    bool optical;
    bool local; /* within one container, or within one rack if there are no containers */
};

struct cabling_totals {
    uint64_t cables, link_cables, server_cables;
    uint64_t copper, optical;
    double length_total_m, length_mean_m, length_max_m;
    uint64_t bundles, bundle_max; /* of all cables; bundle_max in cables */
    uint64_t container_bundles, container_bundle_max;
    double local_share; /* of the link cables; NaN if there are none */

    double cost_metres, cost_transceivers, cost_copper_ends, cost_labour;
    double cost_switches; /* 0 unless the model prices ports */
    double cost_total;
};

struct cabling {
    struct floor_plan plan;
    uint32_t cable_count;
    struct planned_cable *cables;
    struct cabling_totals totals;
};

MUST_CHECK enum err cabling_make(struct cabling *cabling, const struct topology *topology,
                                 enum floor_layout layout, const struct cable_cost *cost,
                                 struct why *why);
void cabling_fini(struct cabling *cabling);

/* Writes the cable list for the people who lay the cables, as CSV with a header line. A server is
 * written SWITCH/INDEX. */
void cabling_write_csv(const struct cabling *cabling, const struct topology *topology,
                       struct text *out);

/* The number of ports k of the largest fat-tree that the switches of this network can build: the
 * largest even k such that 5 k^2 / 4 of the switches have at least k ports. 0 if they cannot build
 * even the smallest, k = 2. */
MUST_CHECK enum err cabling_fattree_ports(const struct topology *topology, uint32_t *ports,
                                          struct why *why);
