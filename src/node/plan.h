#pragma once
/* plan: what all servers of a cluster know before they start: the wiring and the key space. Shared
 * by all nodes of a process, and immutable. */

#include "keyspace/keyspace.h"
#include "node/packet.h"
#include "topology/topology.h"

struct plan_end {
    node_id server; /* NODE_NONE: no cable in this port */
    uint32_t port;
    uint32_t link; /* of the graph */
};

struct plan {
    const struct topology *topology; /* borrowed */
    struct keyspace keyspace;
    uint32_t server_count;
    uint32_t port_count;   /* of the server that has most; at most PORT_MAX */
    uint8_t hop_limit;     /* of a packet: room for long ways round failures, and then it is lost */
    port_set *ports;       /* of each server: those with a cable */
    struct plan_end *ends; /* server_count times port_count: the other end of each port */
    uint16_t *neighbours;  /* just their servers, small enough for a cache to hold a large plan */
};

/* Refuses what is not direct, and more than PORT_MAX ports. */
MUST_CHECK enum err plan_init(struct plan *plan, const struct topology *topology, struct why *why);
void plan_fini(struct plan *plan);

static inline const struct plan_end *plan_end(const struct plan *plan, node_id server,
                                              unsigned port)
{
    return &plan->ends[(size_t)server * plan->port_count + port];
}

/* The port of `server` whose cable leads to `other`, the lowest; PORT_NONE. */
unsigned plan_port(const struct plan *plan, node_id server, node_id other);
