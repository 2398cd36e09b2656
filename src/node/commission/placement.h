#pragma once
/* placement: which server stands at which vertex of the plan, found from nothing but what its ports
 * hear; and which cables are not where the plan has them.
 *
 * A server is known by its serial number. From an origin the plan's ports lead on: who hears the
 * neighbour that the plan has there, at the port it has there, is where the plan says. Cables that
 * lie elsewhere must not lead astray: a server takes the place that most of its cables speak for,
 * the surest first, from several origins, and of all the results that one is taken with which the
 * most reports agree. On a torus, where every origin is as good as another, the lowest serial
 * number gets vertex 0; elsewhere the wiring itself says who is who.
 *
 * Servers that have a place already keep it: whoever came later is placed around them.
 *
 * Pure: everybody with the same reports finds the same. */

#include "base/err.h"
#include "node/plan.h"
#include "topology/cabling/inspection.h"

/* Who is at the other end of a cable. */
struct placement_end {
    uint64_t serial;
    uint32_t port; /* PORT_NONE: nothing is heard there */
};

/* What one server hears. */
struct placement_report {
    uint64_t serial;
    node_id known;       /* its vertex from an earlier life; NODE_NONE: it has none */
    uint32_t port_count; /* at most PORT_MAX */
    struct placement_end ears[PORT_MAX];
};

enum placement_finding_kind {
    PLACEMENT_MISWIRED,   /* a cable leads elsewhere than planned */
    PLACEMENT_MISSING,    /* no cable where one is planned */
    PLACEMENT_SURPLUS,    /* a cable, neither end of which is planned like that */
    PLACEMENT_ONE_WAY,    /* one end hears the other, and is not heard */
    PLACEMENT_DISPUTED,   /* two reports contradict each other */
    PLACEMENT_ABSENT,     /* a planned server that nobody heard of */
    PLACEMENT_STRANGER,   /* a server too many */
    PLACEMENT_IMPOSSIBLE, /* a place from an earlier life that cannot be */
};

/* One line for a person. `server` and `port` are where to look; PORT_NONE: at the whole server. */
struct placement_finding {
    enum placement_finding_kind kind;
    node_id server;
    uint32_t port;
    char *line; /* owned, without a newline */
};

struct placement {
    uint32_t count;               /* servers that reported, or that a report names */
    uint64_t *serials;            /* ascending */
    node_id *vertices;            /* of each; from the plan's server_count on: a stranger */
    struct inspection inspection; /* by vertex; found, right, misplaced, missing ... */
    struct placement_finding *findings;
    size_t finding_capacity;
    uint32_t finding_count;
};

/* The reports may stand in any order; of two with the same serial number the first counts. On
 * failure (memory) nothing is kept. */
MUST_CHECK enum err placement_make(struct placement *placement, const struct plan *plan,
                                   const struct placement_report *reports, uint32_t count,
                                   struct why *why);
void placement_fini(struct placement *placement);

/* The vertex of a serial number; NODE_NONE if nobody named it. */
node_id placement_find(const struct placement *placement, uint64_t serial);
