#pragma once
/* placement_impl: the steps of a placement; only placement.c calls them. Servers are numbered here
 * in the order of their serial numbers: that is their rank. */

#include "node/commission/placement.h"

#define RANK_NONE UINT32_MAX

/* The other end of a port, by rank. */
struct placement_far {
    uint32_t rank; /* RANK_NONE: nothing there */
    uint32_t port;
};

/* The wiring as it was found. */
struct placement_wiring {
    const struct plan *plan;   /* borrowed */
    uint32_t count;            /* servers */
    struct placement_far *far; /* count times PORT_MAX; owned by placement.c */
    uint32_t end_count;        /* ends that have another */
    node_id *known;            /* per rank: the place it keeps, or NODE_NONE */
};

static inline const struct placement_far *placement_far(const struct placement_wiring *wiring,
                                                        uint32_t rank, uint32_t port)
{
    return &wiring->far[(size_t)rank * PORT_MAX + port];
}

/* Does the plan lead from that port of a vertex to that port of the other? */
static inline bool placement_planned(const struct plan *plan, node_id vertex, uint32_t port,
                                     node_id other, uint32_t other_port)
{
    if (port >= plan->port_count || vertex >= plan->server_count)
        return false;
    const struct plan_end *end = plan_end(plan, vertex, port);
    return end->server == other && end->port == other_port && other != NODE_NONE;
}

/* placement_assign.c: the vertex of each rank, so that as many ends as can be found agree.
 * Strangers get the numbers behind the last vertex. */
MUST_CHECK enum err placement_assign(const struct placement_wiring *wiring, node_id *vertices,
                                     struct why *why);

/* placement_origin.c: from which server at which vertex it is worth to start. */
struct placement_origin {
    uint32_t rank;
    uint32_t depth;   /* around it the wiring is the plan's, so many hops far */
    uint32_t choices; /* vertices of the plan that look the same so far */
};

struct placement_origins {
    struct placement_origin *items; /* the best first; one per server */
    uint32_t count;
    uint64_t *colours; /* of the plan's vertices, per depth */
    uint64_t *own;     /* of the servers, per depth */
    uint32_t vertex_count;
    bool same; /* every vertex looks like every other: one choice will do */
};

MUST_CHECK enum err placement_origins_make(struct placement_origins *origins,
                                           const struct placement_wiring *wiring, struct why *why);
void placement_origins_fini(struct placement_origins *origins);

/* The first vertex from `from` on at which that origin may stand; NODE_NONE. */
node_id placement_origin_vertex(const struct placement_origins *origins,
                                const struct placement_origin *origin, node_id from);

/* Does the plan look the same, with its ports, from every vertex: a torus, a NovaCube? */
bool placement_plan_same(const struct topology *topology);

/* placement_find.c: writes the findings. `heard` is all reports by vertex; `reports` has one per
 * rank, or NULL of a server that others name and that has said nothing itself. */
MUST_CHECK enum err placement_find_all(struct placement *placement, const struct plan *plan,
                                       const struct neighbour_reports *heard,
                                       const struct placement_report *const *reports,
                                       struct why *why);
