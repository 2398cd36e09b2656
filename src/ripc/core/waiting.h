#pragma once
/* waiting: the one loop in which calls wait. It checks its condition, lets the transports make
 * progress, spins, yields, and finally sleeps on the service's bell. */

#include "ripc/core/context.h"

/* 0: not yet; anything else ends the wait. */
typedef int waiting_check(void *argument);

/* For a thread that has blocked signals: how it sleeps so that they end its wait with -EINTR. See
 * doorbell_wait_interruptibly. */
struct waiting_signals {
    const sigset_t *mask; /* for the sleep */
    bool alone;           /* no other thread waits with signals on that bell: none is missed */
};

/* The condition of a waiting call. */
struct waiting {
    waiting_check *check;
    void *argument;
    const bool *closing; /* NULL, or a flag that ends the wait with -ECANCELED; written under the
                          * lock */
    const struct waiting_signals *signals; /* or NULL: signals do not end the wait */
};

/* Called with the lock held, which is released while pausing and held again on return. Returns the
 * result of the check, or -ETIMEDOUT, or -EAGAIN where the deadline is RIPC_NOW. */
int waiting_until(struct ripc *ripc, struct doorbell *bell, waiting_check *check, void *argument,
                  int64_t deadline);

/* The same, for callers whose first check has just failed. */
int waiting_longer(struct ripc *ripc, struct doorbell *bell, const struct waiting *waiting,
                   int64_t deadline);

/* Lets the transports that need it make progress. Returns how many things happened. */
int waiting_progress(struct ripc *ripc);

/* Call after doorbell_prepare and before the last check: from now on everything that arrives rings
 * the bell. */
void waiting_arm(struct ripc *ripc);

/* Pauses for a moment: other threads get the lock, and a context without a keeper does its work.
 * For rare waits that have no bell. */
void waiting_pause(struct ripc *ripc);

/* Lets another thread take the lock if one wants it. Called with the lock held, between the pieces
 * of long work. */
void waiting_give_way(struct ripc *ripc);
