#pragma once
/* realtime: a process that runs before all ordinary ones (SCHED_RR, the lowest such priority).
 *
 * A server forwards packets of others: while a program computes on its processor, all of these
 * wait for the scheduler. Processes of this kind take turns among themselves when they yield, and
 * nobody else gets the processor until all of them sleep. What they start is ordinary again. */

#include "base/err.h"

/* Refuses with what is missing. */
MUST_CHECK enum err realtime_begin(struct why *why);
/* Could this process? It is afterwards what it was. */
MUST_CHECK enum err realtime_check(struct why *why);
