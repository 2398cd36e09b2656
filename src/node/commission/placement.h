#pragma once
/* placement: which server is at which vertex of the plan, computed only from the hellos that its
 * ports receive; and which cables are not where the plan puts them.
 *
 * A server is identified by its serial number. The search starts with an origin, one server at one
 * vertex, and follows the plan's ports: a server that receives the planned neighbour at the planned
 * port is at the planned vertex. Misplaced cables must not mislead the search: a server takes the
 * place that most of its cables confirm, the most certain server first. The search runs from
 * several origins, and the result that agrees with the most reports wins. On a torus all origins
 * are equivalent, so the lowest serial number gets vertex 0; elsewhere the wiring itself identifies
 * the servers.
 *
 * Servers that have a place already keep it; new servers are placed around them.
 *
 * Pure: all servers with the same reports compute the same result. */

#include "base/err.h"
#include "node/plan.h"
#include "topology/cabling/inspection.h"

/* The other end of a cable. */
struct placement_end {
    uint64_t serial;
    uint32_t port; /* PORT_NONE: no hello received there */
};

/* The hellos that one server receives. */
struct placement_report {
    uint64_t serial;
    node_id known;       /* its vertex before a restart; NODE_NONE: none */
    uint32_t port_count; /* at most PORT_MAX */
    struct placement_end ears[PORT_MAX];
};

enum placement_finding_kind {
    PLACEMENT_MISWIRED,   /* a cable leads elsewhere than planned */
    PLACEMENT_MISSING,    /* a planned cable is missing */
    PLACEMENT_SURPLUS,    /* a cable of which neither end is where the plan puts it */
    PLACEMENT_ONE_WAY,    /* one end receives the other's hellos, but not the reverse */
    PLACEMENT_DISPUTED,   /* two reports contradict each other */
    PLACEMENT_ABSENT,     /* no server received a hello of a planned server */
    PLACEMENT_STRANGER,   /* a server beyond the plan */
    PLACEMENT_IMPOSSIBLE, /* an earlier place that the server cannot keep */
};

/* One line for the operator. `server` and `port` are where to look; PORT_NONE: the whole server. */
struct placement_finding {
    enum placement_finding_kind kind;
    node_id server;
    uint32_t port;
    char *line; /* owned, without a newline */
};

struct placement {
    uint32_t count;    /* servers that reported, or that a report names */
    uint64_t *serials; /* ascending */
    node_id *vertices; /* of each serial; numbers from the plan's server_count on are strangers */
    struct inspection inspection; /* by vertex; found, right, misplaced, missing ... */
    struct placement_finding *findings;
    size_t finding_capacity;
    uint32_t finding_count;
};

/* The reports may be in any order; of two with the same serial number the first counts. On failure
 * (memory) nothing is kept. */
MUST_CHECK enum err placement_make(struct placement *placement, const struct plan *plan,
                                   const struct placement_report *reports, uint32_t count,
                                   struct why *why);
void placement_fini(struct placement *placement);

/* The vertex of a serial number; NODE_NONE if no report names it. */
node_id placement_find(const struct placement *placement, uint64_t serial);
