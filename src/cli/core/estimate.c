#include "cli/core/estimate.h"

#include <math.h>

#include "base/check.h"

#define SHARE_MIN   0.02 /* a smaller share says too little about the rest */
#define SPENT_MIN_S 0.5
#define MARGIN      1.1 /* work that slows down a little is still on time */

double estimate_left(struct estimate *estimate, double begun_s, double now_s, double share)
{
    double spent = now_s - begun_s;
    assert(spent >= 0 && share >= 0 && share <= 1);
    if (share >= SHARE_MIN && spent >= SPENT_MIN_S) {
        double due = now_s + MARGIN * spent * (1 - share) / share;
        estimate->due_s = estimate->promised ? fmin(estimate->due_s, due) : due;
        estimate->promised = true;
    }
    if (!estimate->promised)
        return ESTIMATE_NONE;
    estimate->late |= now_s > estimate->due_s;
    return estimate->late ? ESTIMATE_LATE : estimate->due_s - now_s;
}
