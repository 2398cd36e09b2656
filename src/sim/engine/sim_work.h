#pragma once
/* sim_work: functions that services run beside their node (weft/work.h), in simulated time.
 *
 * A function runs on this thread. The seed decides whether it runs at the earliest moment that the
 * real world permits, when it is submitted, or at the latest, before done(): a service that touches
 * the memory of a function under way then behaves differently in different runs. The operation is
 * done after the time that the service states, or after a random time.
 *
 * Deterministic by seed. Operations belong to the caller, who keeps them valid until they are done.
 * One thread. */

#include "base/env.h"
#include "base/err.h"
#include "sim/engine/engine.h"

struct sim_work;

MUST_CHECK enum err sim_work_open(struct sim_work **work, uint64_t seed, uint64_t stream,
                                  struct why *why);
void sim_work_close(struct sim_work *work); /* pending operations are never done; NULL is allowed */

/* The operation is done at a later moment: sim_work_next says when. */
void sim_work_submit(struct sim_work *work, psec now, struct work_operation *operation);
psec sim_work_next(const struct sim_work *work); /* PSEC_NEVER: nothing is pending */
/* Calls done() of the operations that are due; it may submit more. */
void sim_work_run(struct sim_work *work, psec now);
/* `cancelled` of the operation was set. A child, and a function that did not run, is done at once,
 * with -ECANCELED; a function that ran has seen no flag, and its result arrives as planned. */
void sim_work_cancel(struct sim_work *work, psec now, struct work_operation *operation);
/* The server ends: done() of pending operations is never called, and no function runs. */
void sim_work_end(struct sim_work *work);
