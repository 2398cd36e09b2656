#pragma once
/* cable: links to nodes of other processes on this machine, over a transport's pipes (shm, udp).
 *
 * Each server listens in the run directory (a lifeline's socket, by its number). Whoever starts
 * calls all its neighbours; those that are not there yet will call in turn, when they start. What
 * the two then say to each other is which servers and ports are at the two ends, and the offers of
 * a pipe in each direction. If both call at once, the call of the lower server stays. The link has
 * a carrier when both pipes are open, and loses it the moment the lifeline breaks, which is when
 * the other process ends; what had arrived by then is still received.
 *
 * A frame holds packets back to back. They are received where they lie: see packets.h. */

#include "base/err.h"
#include "os/host/packets.h"
#include "os/host/port.h"
#include "transport/wake/doorbell.h"
#include "transport/wake/poller.h"

struct cables; /* all of a process */
struct transport_ops;

/* "shm" or "udp"; NULL: no such transport. */
const struct transport_ops *cables_transport(const char *name);

struct cables_config {
    const struct transport_ops *transport;
    const char *folder;  /* the run directory; a path that fits a socket's name */
    const char *address; /* of this machine, for those that need one; or NULL */
    struct poller *poller;
    struct doorbell *bell; /* rung when something came while we slept */
    struct packets *packets;
    struct port_events events;
    uint32_t ring_slots, ring_bytes; /* of each pipe; 0: the transport's own choice */
};

struct cable_plan {
    uint32_t server, number;           /* ours */
    uint32_t peer_server, peer_number; /* the other end */
};

MUST_CHECK int cables_open(struct cables **cables, const struct cables_config *config,
                           struct why *why);
/* After all their ports are closed. NULL is allowed. */
void cables_close(struct cables *cables);

/* Listens for a server of this process, before its cables are made. */
MUST_CHECK int cables_listen(struct cables *cables, uint32_t server, struct why *why);
MUST_CHECK int cables_add(struct cables *cables, const struct cable_plan *plan, struct port **port,
                          struct why *why);
/* Calls all neighbours. */
void cables_call(struct cables *cables);

/* For transports that move nothing by themselves: polls. Returns how much happened. */
int cables_progress(struct cables *cables);
/* We are about to sleep: from now on the poller notices what arrives. Likewise. */
int cables_arm(struct cables *cables);
