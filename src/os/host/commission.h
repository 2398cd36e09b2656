#pragma once
/* commission: a server at its ports that finds its place by the cables in them
 * (node/commission/bootstrap.h), before its node runs and beside it: who comes later, or comes
 * back, finds it there.
 *
 * Its messages are the payloads of packets to a neighbour, of a service that no node has. */

#include "node/commission/bootstrap.h"
#include "os/host/port.h"

#define COMMISSION_SERVICE 6

struct commission;

struct commission_config {
    const struct plan *plan; /* borrowed */
    uint64_t serial;
    node_id known;             /* its place from an earlier life; NODE_NONE */
    struct port *const *ports; /* PORT_MAX of them, NULL: no cable; borrowed */
    struct packet_pool *pool;
};

MUST_CHECK enum err commission_open(struct commission **commission,
                                    const struct commission_config *config, struct why *why);
void commission_close(struct commission *commission); /* NULL is allowed */

/* Takes its own packets out of those that came over a port; returns how many are left. */
unsigned commission_filter(struct commission *commission, unsigned port, struct packet **packets,
                           unsigned count, nsec now);
/* Receives over a port that no node reads. */
void commission_drain(struct commission *commission, unsigned port, nsec now);

/* Does what is due; returns when to call again if nothing comes before. */
nsec commission_step(struct commission *commission, nsec now);

/* True once for each new result; the placement is the commission's, until the next call. */
bool commission_news(struct commission *commission, node_id *vertex,
                     const struct placement **placement);
/* It has that place, for life. */
void commission_keep(struct commission *commission, node_id vertex, nsec now);
