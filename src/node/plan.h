#pragma once
/* plan: what all servers of a cluster know before they start: the wiring and the key space. All
 * nodes of a process share one plan; it is immutable. */

#include "keyspace/keyspace.h"
#include "node/packet.h"
#include "topology/topology.h"

struct plan_end {
    node_id server; /* NODE_NONE: no cable in this port */
    uint32_t port;
    uint32_t link; /* index in the graph */
};

struct plan {
    const struct topology *topology; /* borrowed */
    struct keyspace keyspace;
    uint32_t server_count;
    uint32_t port_count;   /* of the server with the most ports; at most PORT_MAX */
    uint8_t hop_limit;     /* hops that a packet may take: enough for detours around failures;
                            * beyond it the packet is lost */
    port_set *ports;       /* of each server: the ports that have a cable */
    struct plan_end *ends; /* server_count times port_count: the other end of each port */
    uint16_t *neighbours;  /* only the servers of `ends`: small enough that a cache holds a large
                            * plan */
};

/* Refuses a topology with switches, with too many servers or with more than PORT_MAX ports. */
MUST_CHECK enum err plan_init(struct plan *plan, const struct topology *topology, struct why *why);
void plan_fini(struct plan *plan);

static inline const struct plan_end *plan_end(const struct plan *plan, node_id server,
                                              unsigned port)
{
    return &plan->ends[(size_t)server * plan->port_count + port];
}

/* The lowest port of `server` whose cable leads to `other`; PORT_NONE if there is none. */
unsigned plan_port(const struct plan *plan, node_id server, node_id other);
