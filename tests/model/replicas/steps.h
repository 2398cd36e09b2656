#pragma once
/* steps: all that can happen in a state of the model of replicas, and what is wrong. */

#include "base/rng.h"
#include "model/explorer.h"
#include "model/replicas/state.h"

/* What was reached, so that a test can see that it was not empty. A test sets it to zero. */
struct seen {
    uint64_t active, grown, retired, rewritten, revived, read, forgotten;
};
extern struct seen seen;

/* For struct model. */
void steps_expand(struct explorer *explorer, const void *state);
void steps_print(const void *state, uint64_t action);
/* Without faults and without views most of the time, or a walk would see little else. */
void steps_expand_healthy(struct explorer *explorer, const void *state);
extern struct rng steps_chance;
/* Faults and clients have ended. There is one more view at least, since a server that has retired
 * is not asked again in the same one. Then all servers become members, and install the view. */
void steps_expand_calm(struct explorer *explorer, const void *state);

/* The leader of the newest view in which the group was active; NULL: it is none now. */
const struct replica *steps_leader(const struct state *state);
/* The first state: members have reported, as they do after each step as soon as they may. */
struct state steps_start(void);
