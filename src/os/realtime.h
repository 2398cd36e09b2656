#pragma once
/* realtime: gives a process priority over all ordinary ones (SCHED_RR, the lowest such priority).
 *
 * A server forwards packets of other servers: while a program computes on its processor, all these
 * packets wait for the scheduler. Real-time processes take turns among themselves when they yield,
 * and ordinary processes get the processor only when all of them sleep. Processes that they start
 * are ordinary again. */

#include "base/err.h"

/* Makes this process real-time. On failure `why` says what permission is missing. */
MUST_CHECK enum err realtime_begin(struct why *why);
/* Could this process become real-time? It stays as it was. */
MUST_CHECK enum err realtime_check(struct why *why);
