#pragma once
/* grow: adds switches (or servers, in a direct network) to a running network, by the procedure of
 * the Jellyfish paper (section 4.2): unplug a random cable and lead both its ends to the new node,
 * until its ports are used. */

#include <stdint.h>

#include "base/err.h"
#include "topology/change/rewire.h"
#include "topology/topology.h"

struct grow_order {
    uint32_t count;   /* new nodes */
    uint32_t ports;   /* per node: all ports of a switch, the links of a server */
    uint32_t servers; /* per switch; 0 makes a switch without servers; 1 in a direct network */
    uint64_t seed;
};

struct growth {
    struct topology topology; /* the network after the growth */
    uint32_t first;           /* the first new node; the other new nodes follow */
    uint64_t ports_added;     /* link ports of the new nodes */
    uint64_t ports_free;      /* how many of these ports got no cable */
    struct rewire_plan plan;
};

/* The values that most nodes of the topology have, as defaults for new nodes. */
MUST_CHECK enum err grow_majority(const struct topology *topology, uint32_t *ports,
                                  uint32_t *servers, struct why *why);

/* The plan unplugs at most as many cables as ports are added and makes no parallel cables. If the
 * network was connected, it stays connected after every step. Refuses a new node that would get no
 * cable. */
MUST_CHECK enum err grow_topology(struct growth *growth, const struct topology *topology,
                                  const struct grow_order *order, struct why *why);
void growth_fini(struct growth *growth);

/* Replaces `topology`, which is freed, by the network after the growth, and frees the rest of the
 * growth. */
void growth_accept(struct growth *growth, struct topology *topology);
