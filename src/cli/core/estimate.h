#pragma once
/* estimate: how long a piece of work still takes. The time left that is shown never grows.
 *
 * The moment at which the work should be done is computed from the share that is done. A later
 * estimate may move this moment to an earlier one, never to a later one. If the moment passes and
 * the work is not done, no time is shown any more. */

#include <stdbool.h>

struct estimate {
    bool promised; /* due_s has a value */
    bool late;     /* the moment has passed */
    double due_s;  /* the moment at which the work should be done */
};

/* Returned instead of seconds. */
#define ESTIMATE_NONE (-1.0) /* too early to tell */
#define ESTIMATE_LATE (-2.0) /* the work takes longer than estimated */

/* Returns the seconds left (at least 0) or one of the two values above. The work began at
 * `begun_s`; at the moment `now_s` the share `share` of it, from 0 to 1, is done. From call to call
 * `now_s` never falls, but `share` may. Zero the estimate before a new piece of work. */
double estimate_left(struct estimate *estimate, double begun_s, double now_s, double share);
