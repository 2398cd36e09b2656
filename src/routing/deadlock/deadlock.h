#pragma once
/* deadlock: whether packets can wait for each other in a circle, for ever.
 *
 * "Free" is a proof, with a numbering of the virtual channels as certificate
 * (drain.h). Under oblivious routing the opposite is a shortest cycle of the
 * dependency graph: each of its channels can be held by a packet that waits
 * for the next. Whether traffic can bring all of them about at once is a
 * further question. Where each packet is one hop from its source and has no
 * other way to go it can: as many of each as a channel holds are sent at the
 * same moment, take the room in their first channels, and none ever moves
 * again. Else, under adaptive routing, the cycle lies among channels that do
 * not drain, and says where to look. */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/observer.h"
#include "routing/deadlock/dependency.h"
#include "routing/deadlock/drain.h"

/* Held by `packet`, which waits for the next step's. */
struct deadlock_step {
    struct virtual_channel held;
    struct waiting_packet packet;
};

struct deadlock {
    bool free;
    bool wormhole;         /* free, and the proof also holds for packets that stretch over several
                            * channels; see deadlock.c */
    uint32_t lanes;        /* different ones that packets take on some channel */
    uint32_t channels;     /* virtual channels that packets hold */
    uint32_t stuck;        /* of these, that do not drain; 0 if it is free */
    uint64_t states;       /* of packets under way, with their destination */
    uint64_t dependencies; /* edges of the graph */
    struct drain drain;    /* the certificate; numbers are those of the dependency graph */

    struct deadlock_step *cycle; /* owned; NULL if it is free */
    uint32_t cycle_length;
    bool at_once; /* each packet of the cycle is one hop from its source and has no other way */
};

void deadlock_fini(struct deadlock *deadlock);

/* What follows from a dependency graph. On failure nothing is kept. */
MUST_CHECK enum err deadlock_judge(struct deadlock *deadlock, const struct dependency *dependency,
                                   struct why *why);

/* The same of a router with these lanes. */
MUST_CHECK enum err deadlock_find(struct deadlock *deadlock, const struct router *router,
                                  struct lane_rule rule, struct observer progress, struct why *why);
