#pragma once
/* placement_impl: the steps of a placement; only placement.c calls them. A server's *rank* is its
 * position in the order of serial numbers. */

#include "node/commission/placement.h"

#define RANK_NONE UINT32_MAX

/* The other end of a port, by rank. */
struct placement_far {
    uint32_t rank; /* RANK_NONE: no cable */
    uint32_t port;
};

/* The wiring as found. */
struct placement_wiring {
    const struct plan *plan;   /* borrowed */
    uint32_t count;            /* servers */
    struct placement_far *far; /* count times PORT_MAX; owned by placement.c */
    uint32_t end_count;        /* ends whose other end is known */
    node_id *known;            /* per rank: the place that the server keeps, or NODE_NONE */
};

static inline const struct placement_far *placement_far(const struct placement_wiring *wiring,
                                                        uint32_t rank, uint32_t port)
{
    return &wiring->far[(size_t)rank * PORT_MAX + port];
}

/* Does the plan connect that port of `vertex` to that port of `other`? */
static inline bool placement_planned(const struct plan *plan, node_id vertex, uint32_t port,
                                     node_id other, uint32_t other_port)
{
    if (port >= plan->port_count || vertex >= plan->server_count)
        return false;
    const struct plan_end *end = plan_end(plan, vertex, port);
    return end->server == other && end->port == other_port && other != NODE_NONE;
}

/* placement_assign.c: finds a vertex for each rank so that as many ends as possible agree.
 * Strangers get the numbers after the last vertex. */
MUST_CHECK enum err placement_assign(const struct placement_wiring *wiring, node_id *vertices,
                                     struct why *why);

/* placement_origin.c: a server from which a search is worth starting. */
struct placement_origin {
    uint32_t rank;
    uint32_t depth;   /* hops around it within which the wiring matches the plan */
    uint32_t choices; /* vertices of the plan that look the same within that depth */
};

struct placement_origins {
    struct placement_origin *items; /* best first; one per server */
    uint32_t count;
    uint64_t *colours; /* of the plan's vertices, per depth */
    uint64_t *own;     /* of the servers, per depth */
    uint32_t vertex_count;
    bool same; /* all vertices look the same: one choice suffices */
};

MUST_CHECK enum err placement_origins_make(struct placement_origins *origins,
                                           const struct placement_wiring *wiring, struct why *why);
void placement_origins_fini(struct placement_origins *origins);

/* The first vertex from `from` on that is possible for that origin; NODE_NONE. */
node_id placement_origin_vertex(const struct placement_origins *origins,
                                const struct placement_origin *origin, node_id from);

/* Does the plan, with its ports, look the same from every vertex: a torus, a NovaCube? */
bool placement_plan_same(const struct topology *topology);

/* placement_find.c: writes the findings. `heard` has all reports by vertex; `reports` has one per
 * rank, or NULL for a server that only others name. */
MUST_CHECK enum err placement_find_all(struct placement *placement, const struct plan *plan,
                                       const struct neighbour_reports *heard,
                                       const struct placement_report *const *reports,
                                       struct why *why);
