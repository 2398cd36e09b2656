#pragma once
/* estimate: how long a piece of work still takes, as a promise that is never taken back.
 *
 * The time left is computed from the share of the work that is done. What is shown only counts
 * down: a moment at which the work should be done may move to an earlier one, and never to a later
 * one. If that moment passes, no time is shown any more. */

#include <stdbool.h>

struct estimate {
    bool promised;
    bool late;
    double due_s; /* the moment at which the work should be done; valid if promised */
};

/* Instead of seconds. */
#define ESTIMATE_NONE (-1.0) /* too early to tell */
#define ESTIMATE_LATE (-2.0) /* the work takes longer than was promised */

/* Seconds left, at least 0, or one of the above, at the moment `now_s`, of work that began at
 * `begun_s` and of which `share`, from 0 to 1, is done. The clock does not run backwards; the share
 * may. A new piece of work begins with a zeroed estimate. */
double estimate_left(struct estimate *estimate, double begun_s, double now_s, double share);
