#pragma once
/* bootstrap: the commissioning pass. Servers that know the plan, but not where in it they stand,
 * tell each other who hears whom and all find the same places and the same miswired cables.
 *
 * Each says hello over every port: its serial number and the port's. What it hears is its row,
 * which it floods: a row is passed on by whoever sees it for the first time. Hellos carry a digest
 * of the rows; where two differ each sends the other all it has, so nothing that is lost stays
 * lost. Who has heard nothing new for a while (or has everything that is planned) says so in its
 * row, with a digest of all reports; when everybody it is joined to says the same digest, all have
 * the same reports, and placement.h gives all the same answer. A server that nobody hears any more
 * is left out.
 *
 * It goes on listening afterwards: when a cable is moved, it is no longer done, and soon is again.
 *
 * How a server uses it, before it runs a node (one thread, no clock of its own):
 *
 *     bootstrap_open(&bootstrap, &config, why);      known: bootstrap_text_read() of the kept file
 *     for each frame that comes:                     bootstrap_receive(bootstrap, port, ...);
 *     after that, and when the time is there:        next = bootstrap_step(bootstrap, now, ...);
 *     once bootstrap_done(bootstrap, &vertex, &placement):
 *         say placement->findings; if there are none, or the operator wants to go on: keep
 *         bootstrap_text_write(serial, vertex, ...) in a file (written anew, then renamed), go on
 *         for a few hellos so that the others finish, close it, and open a node at that vertex.
 *
 * Serial numbers are whatever is unique: of the board, the lowest hardware address. */

#include "base/env.h"
#include "base/err.h"
#include "node/commission/placement.h"
#include "node/plan.h"

struct bootstrap;

struct bootstrap_config {
    const struct plan *plan; /* borrowed */
    uint64_t serial;
    uint32_t port_count;   /* that this machine has; at most PORT_MAX */
    node_id known;         /* its vertex from an earlier life; NODE_NONE */
    env_nsec hello_nsec;   /* between two hellos on a port; 0: 100 ms */
    env_nsec silence_nsec; /* nothing heard for so long: nobody is there; 0: five hellos */
    env_nsec quiet_nsec;   /* nothing new for so long: that was all; 0: ten hellos */
};

MUST_CHECK enum err bootstrap_open(struct bootstrap **bootstrap,
                                   const struct bootstrap_config *config, struct why *why);
void bootstrap_close(struct bootstrap *bootstrap);

/* It has taken that place, for life: from now on all others are told, and keep to it. */
void bootstrap_keep(struct bootstrap *bootstrap, node_id vertex);

/* A message came over that port. What is damaged is counted and dropped. */
void bootstrap_receive(struct bootstrap *bootstrap, unsigned port, const void *bytes, size_t size,
                       env_nsec now);

/* Sends one message, at most BOOTSTRAP_SIZE_MAX bytes, over a port; false: not now, try again. */
typedef bool bootstrap_send(void *context, unsigned port, const void *bytes, size_t size);

/* Does what is due; returns when it wants to be called again if nothing comes before. */
env_nsec bootstrap_step(struct bootstrap *bootstrap, env_nsec now, bootstrap_send *send,
                        void *context);

/* True while all agree. The placement is the bootstrap's, until the next call of any function. */
bool bootstrap_done(const struct bootstrap *bootstrap, node_id *vertex,
                    const struct placement **placement);

struct bootstrap_snapshot {
    uint32_t servers; /* that it is joined to, itself too */
    uint32_t agreed;  /* of those: who says that it has the same reports as we */
    bool clash;       /* somebody else has our serial number: it never gets done */
    uint64_t dropped; /* messages that were damaged, or rows too many */
    uint64_t sent;
};

void bootstrap_snapshot(const struct bootstrap *bootstrap, struct bootstrap_snapshot *snapshot);
