#pragma once
/* grow: new switches (or servers, in a direct network) in a network that runs,
 * by the procedure of the Jellyfish paper (section 4.2): break a random cable
 * and lead both its ends to the new node, until its ports are used. */

#include <stdint.h>

#include "base/err.h"
#include "topology/change/rewire.h"
#include "topology/topology.h"

struct grow_order {
    uint32_t count;   /* new nodes */
    uint32_t ports;   /* of each: all ports of a switch, the links of a server */
    uint32_t servers; /* of each switch; 0 makes it a bare one. 1 in a direct network */
    uint64_t seed;
};

struct growth {
    struct topology topology; /* the network afterwards */
    uint32_t first;           /* the first new node; the others follow */
    uint64_t ports_added;     /* for cables, at the new nodes */
    uint64_t ports_free;      /* of those, how many found no cable */
    struct rewire_plan plan;
};

/* What most nodes of the topology have: the defaults for new ones. */
MUST_CHECK enum err grow_majority(const struct topology *topology, uint32_t *ports,
                                  uint32_t *servers, struct why *why);

/* The plan unplugs no more cables than ports are added, makes no parallel
 * cables, and leaves the network whole after every step if it was. Refuses a
 * new node that would stay without a cable. */
MUST_CHECK enum err grow_topology(struct growth *growth, const struct topology *topology,
                                  const struct grow_order *order, struct why *why);
void growth_fini(struct growth *growth);

/* Puts the network afterwards in the place of the one before, which is freed,
 * as is the rest of the growth. */
void growth_accept(struct growth *growth, struct topology *topology);
