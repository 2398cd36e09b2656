#pragma once
/* commission: finds a server's place by the cables in its ports (node/commission/bootstrap.h),
 * before its node runs. It continues beside the node, so that servers that start later, or again,
 * find their places, too.
 *
 * Its messages are the payloads of packets to a neighbour, with a service number that no node
 * uses. */

#include "node/commission/bootstrap.h"
#include "os/host/port.h"

#define COMMISSION_SERVICE 6

struct commission;

struct commission_config {
    const struct plan *plan; /* borrowed */
    uint64_t serial;
    node_id known;             /* its place before a restart; NODE_NONE */
    struct port *const *ports; /* PORT_MAX of them, NULL: no cable; borrowed */
    struct packet_pool *pool;
};

MUST_CHECK enum err commission_open(struct commission **commission,
                                    const struct commission_config *config, struct why *why);
void commission_close(struct commission *commission); /* NULL is allowed */

/* Removes its own packets from those that arrived over a port; returns how many are left. */
unsigned commission_filter(struct commission *commission, unsigned port, struct packet **packets,
                           unsigned count, nsec now);
/* Receives over a port that no node reads. */
void commission_drain(struct commission *commission, unsigned port, nsec now);

/* Does what is due; returns the moment of the next call if nothing comes before. */
nsec commission_step(struct commission *commission, nsec now);

/* True once for each new result. The commission owns the placement, which is valid until the next
 * call. */
bool commission_news(struct commission *commission, node_id *vertex,
                     const struct placement **placement);
/* The server has that place permanently. */
void commission_keep(struct commission *commission, node_id vertex, nsec now);
