#pragma once
/* waiting: the one loop in which calls wait. It checks its condition, moves polled transports
 * along, spins, yields, and at last sleeps on the service's bell. */

#include "ripc/core/context.h"

/* 0: not yet; anything else ends the wait. */
typedef int waiting_check(void *argument);

/* What a call waits for. */
struct waiting {
    waiting_check *check;
    void *argument;
    const bool *closing; /* NULL, or ends the wait by -ECANCELED; written under the lock */
};

/* With the lock held, and held again on return; given up while pausing.
 * Returns what the check returned, or -ETIMEDOUT, or -EAGAIN where the deadline
 * is RIPC_NOW. */
int waiting_until(struct ripc *ripc, struct doorbell *bell, waiting_check *check, void *argument,
                  int64_t deadline);

/* The same, from after a first check that found nothing. */
int waiting_longer(struct ripc *ripc, struct doorbell *bell, const struct waiting *waiting,
                   int64_t deadline);

/* Moves what does not move by itself. Returns how many things happened. */
int waiting_progress(struct ripc *ripc);

/* After doorbell_prepare, and before the last check: what arrives rings from now on. */
void waiting_arm(struct ripc *ripc);

/* A moment for others: they get the lock, and a context without a keeper does its
 * work. For waits that are rare and have no bell. */
void waiting_pause(struct ripc *ripc);

/* Lets another thread in, if one wants to: called with the lock held, between
 * the pieces of long work. */
void waiting_give_way(struct ripc *ripc);
