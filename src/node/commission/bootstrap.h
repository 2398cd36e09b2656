#pragma once
/* bootstrap: the commissioning pass. Servers that know the plan, but not their own vertex in it,
 * tell each other which neighbours they receive hellos from. All of them then compute the same
 * places and the same miswired cables.
 *
 * Each server sends hellos over every port, with its serial number and the number of the port. The
 * hellos that it receives make up its row, which it floods: every server passes a new row on to its
 * neighbours. Hellos carry a digest of the rows; where the digests of two neighbours differ, each
 * sends the other all its rows, which repairs any loss. A server that has received nothing new for
 * a while (or has found all planned cables) writes a digest of all reports into its row. When all
 * servers that are connected to it show the same digest, all have the same reports, and placement.h
 * gives all of them the same answer. A server whose hellos no longer arrive is left out.
 *
 * The pass continues afterwards: when a cable is moved, bootstrap_done returns false until all
 * servers agree again.
 *
 * How a server uses it, before it runs a node (one thread, no clock of its own):
 *
 *     bootstrap_open(&bootstrap, &config, why);      known: bootstrap_text_read() of the saved file
 *     for each frame that arrives:                   bootstrap_receive(bootstrap, port, ...);
 *     after that, and at the moment `next`:          next = bootstrap_step(bootstrap, now, ...);
 *     once bootstrap_done(bootstrap, &vertex, &placement):
 *         report placement->findings; if there are none, or the operator goes on anyway: save
 *         bootstrap_text_write(serial, vertex, ...) in a file (write a new one, rename it), go on
 *         for a few hellos so that the others finish, close it, and open a node at that vertex.
 *
 * A serial number is any unique number: that of the board, or the lowest hardware address. */

#include "base/env.h"
#include "base/err.h"
#include "node/commission/placement.h"
#include "node/plan.h"

struct bootstrap;

struct bootstrap_config {
    const struct plan *plan; /* borrowed */
    uint64_t serial;
    uint32_t port_count;   /* of this machine; at most PORT_MAX */
    node_id known;         /* its vertex before a restart; NODE_NONE */
    env_nsec hello_nsec;   /* interval of hellos on a port; 0: 100 ms */
    env_nsec silence_nsec; /* no hello for this long: no neighbour there; 0: five hellos */
    env_nsec quiet_nsec;   /* no news for this long: the reports are complete; 0: ten hellos */
};

MUST_CHECK enum err bootstrap_open(struct bootstrap **bootstrap,
                                   const struct bootstrap_config *config, struct why *why);
void bootstrap_close(struct bootstrap *bootstrap);

/* The server has taken that place permanently: from now on its row says so, and the other servers
 * are placed around it. */
void bootstrap_keep(struct bootstrap *bootstrap, node_id vertex);

/* Handles a message that arrived over that port. A malformed message is counted and dropped. */
void bootstrap_receive(struct bootstrap *bootstrap, unsigned port, const void *bytes, size_t size,
                       env_nsec now);

/* Sends one message, at most BOOTSTRAP_SIZE_MAX bytes, over a port; false: cannot send now,
 * retry. */
typedef bool bootstrap_send(void *context, unsigned port, const void *bytes, size_t size);

/* Does what is due; returns the moment of the next call if no message comes before. */
env_nsec bootstrap_step(struct bootstrap *bootstrap, env_nsec now, bootstrap_send *send,
                        void *context);

/* True while all servers agree. The bootstrap owns the placement, which is valid until the next
 * call of any function. */
bool bootstrap_done(const struct bootstrap *bootstrap, node_id *vertex,
                    const struct placement **placement);

struct bootstrap_snapshot {
    uint32_t servers; /* connected to this one, itself included */
    uint32_t agreed;  /* of those: servers that show the same digest of reports */
    bool clash;       /* another server has our serial number, so it is never done */
    uint64_t dropped; /* malformed messages, or rows beyond the limit */
    uint64_t sent;
};

void bootstrap_snapshot(const struct bootstrap *bootstrap, struct bootstrap_snapshot *snapshot);
