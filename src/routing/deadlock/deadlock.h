#pragma once
/* deadlock: whether packets can wait for each other in a circle, for ever.
 *
 * "Free" is a proof, with a numbering of the virtual channels as certificate (drain.h). Under
 * oblivious routing the opposite is a shortest cycle of the dependency graph: each of its channels
 * can be held by a packet that waits for the next channel. Whether traffic can cause all these
 * waits at the same time is a further question. It can if each packet is one hop from its source
 * and has no other way to go: send as many of each packet as a channel holds at the same moment;
 * they fill their first channels, and none ever moves again. Otherwise, and under adaptive routing,
 * the cycle is among channels that do not drain, and shows where to look. */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/observer.h"
#include "routing/deadlock/dependency.h"
#include "routing/deadlock/drain.h"

/* A channel that `packet` holds while it waits for the channel of the next step. */
struct deadlock_step {
    struct virtual_channel held;
    struct waiting_packet packet;
};

struct deadlock {
    bool free;
    bool wormhole;     /* free also if packets occupy several channels at once; see deadlock.c */
    uint32_t lanes;    /* different lanes that packets use on some channel */
    uint32_t channels; /* virtual channels that packets hold */
    uint32_t stuck;    /* how many of these do not drain; 0 if it is free */
    uint64_t states;   /* states of packets in flight, counted with their destination */
    uint64_t dependencies; /* edges of the graph */
    struct drain drain;    /* the certificate, indexed as the channels of the dependency graph */

    struct deadlock_step *cycle; /* owned; NULL if it is free */
    uint32_t cycle_length;
    bool at_once; /* each packet of the cycle is one hop from its source and has no other way */
};

void deadlock_fini(struct deadlock *deadlock);

/* Decides for a given dependency graph. On failure nothing is kept. */
MUST_CHECK enum err deadlock_judge(struct deadlock *deadlock, const struct dependency *dependency,
                                   struct why *why);

/* Decides for a router with these lanes. */
MUST_CHECK enum err deadlock_find(struct deadlock *deadlock, const struct router *router,
                                  struct lane_rule rule, struct observer progress, struct why *why);
