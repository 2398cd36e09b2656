#pragma once
/* floor_plan: the position of every box on the floor, and the length of a cable between two boxes.
 *
 * Racks stand in rows on a floor that is about square. A cable goes up from its unit to the
 * overhead tray, along and across the rows, and down again. The rows are filled in alternating
 * directions, so that consecutive racks stand side by side. Servers fill a rack from the bottom,
 * switches from the top.
 *
 * A plan owns its arrays; floor_plan_fini frees them. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "topology/cabling/cable_cost.h"
#include "topology/topology.h"

enum floor_layout {
    FLOOR_RACKS,      /* a switch is at the top of its servers' rack; direct: servers in racks */
    FLOOR_CLUSTER,    /* all switches in racks at the centre, servers around them */
    FLOOR_CONTAINERS, /* each group of the topology in a container, laid out as a cluster */
};

struct rack {
    double x_m, y_m;    /* along the row, and across the rows */
    uint32_t container; /* 0 if there are no containers */
    uint32_t servers;   /* boxes that are servers or hold servers */
    uint32_t low, high; /* units used from the bottom and from the top */
    bool central;       /* holds switches only and stands in the middle of its block */
};

struct spot {
    uint32_t rack;
    uint32_t unit; /* the lowest unit of the box; unit 1 is at the floor */
};

struct floor_plan {
    enum floor_layout layout;
    uint32_t rack_count;
    uint32_t container_count; /* 0 unless FLOOR_CONTAINERS */
    size_t rack_capacity;
    struct rack *racks;
    struct spot *nodes;     /* one per node */
    struct spot *servers;   /* switched networks: all servers, in order of their switch */
    uint64_t *first_server; /* node_count + 1: servers of v are first_server[v] .. [v+1] - 1 */
};

/* The layout that suits the topology: racks for direct networks, whose cables are between servers,
 * and for small fat-trees, whose pods have few cables to other pods; containers if the topology
 * defines groups; else a cluster, which the Jellyfish paper recommends for switches that are joined
 * at random. */
enum floor_layout floor_layout_default(const struct topology *topology,
                                       const struct cable_cost *cost);
const char *floor_layout_name(enum floor_layout layout);

/* Refuses FLOOR_CLUSTER for a direct network, which has no switches to put together. */
MUST_CHECK enum err floor_plan_make(struct floor_plan *plan, const struct topology *topology,
                                    enum floor_layout layout, const struct cable_cost *cost,
                                    struct why *why);
void floor_plan_fini(struct floor_plan *plan);

/* Length of a cable between two units. */
double floor_plan_length_m(const struct floor_plan *plan, const struct cable_cost *cost,
                           struct spot a, struct spot b);

/* The container of each node with FLOOR_CONTAINERS. If the topology defines groups, these are the
 * containers, and nodes without a group (the core of a fat-tree) are divided equally among them.
 * Without groups, nodes fill in order as many containers as the servers need. `containers` has room
 * for every node; *count receives the number of containers. */
MUST_CHECK enum err floor_containers(const struct topology *topology, const struct cable_cost *cost,
                                     uint32_t *containers, uint32_t *count, struct why *why);

/* Position of coordinate c on a folded ring of k: the coordinates 0, k-1, 1, k-2, ... are side by
 * side, so that neighbours are at most two positions apart. */
uint32_t floor_fold(uint32_t c, uint32_t k);
