#pragma once
/* cable: links to nodes of other processes on this machine, over a transport's pipes (shm, udp).
 *
 * Each server listens in the run directory (a lifeline's socket, named by its number). A server
 * that starts calls all its neighbours; those that do not run yet will call when they start. The
 * two then tell each other which servers and ports are at the two ends, and each offers a pipe in
 * its direction. If both call at once, the call of the server with the lower number stays. The link
 * has a carrier when both pipes are open, and loses it the moment the lifeline breaks, which is
 * when the other process ends; packets that had arrived by then are still received.
 *
 * A frame holds packets back to back. They are received in place: see packets.h. */

#include "base/err.h"
#include "os/host/packets.h"
#include "os/host/port.h"
#include "transport/wake/doorbell.h"
#include "transport/wake/poller.h"

struct cables; /* all cables of a process */
struct transport_ops;

/* "shm" or "udp"; NULL: no such transport. */
const struct transport_ops *cables_transport(const char *name);

struct cables_config {
    const struct transport_ops *transport;
    const char *folder;  /* the run directory; short enough for a socket's path */
    const char *address; /* of this machine, for transports that need one; or NULL */
    struct poller *poller;
    struct doorbell *bell; /* rung when packets arrived while we slept */
    struct packets *packets;
    struct port_events events;
    uint32_t ring_slots, ring_bytes; /* of each pipe; 0: the transport's default */
};

struct cable_plan {
    uint32_t server, number;           /* our end */
    uint32_t peer_server, peer_number; /* the other end */
};

MUST_CHECK int cables_open(struct cables **cables, const struct cables_config *config,
                           struct why *why);
/* Call it after all their ports are closed. NULL is allowed. */
void cables_close(struct cables *cables);

/* Listens for a server of this process; call it before its cables are made. */
MUST_CHECK int cables_listen(struct cables *cables, uint32_t server, struct why *why);
MUST_CHECK int cables_add(struct cables *cables, const struct cable_plan *plan, struct port **port,
                          struct why *why);
/* Calls all neighbours. */
void cables_call(struct cables *cables);

/* For transports that need polling: polls. Returns how much happened. */
int cables_progress(struct cables *cables);
/* Call it before sleeping: from now on the poller notices arrivals. Returns how much happened. */
int cables_arm(struct cables *cables);
