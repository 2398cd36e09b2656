#pragma once
/* stride: one long step in the direction that the last sweeps went.
 *
 * A sweep moves one demand after the other and creeps along valleys in which
 * many have to move together. From where a spread was some sweeps ago to where
 * it is now is a direction along such a valley; the step goes on in it as far
 * as the sum of exp(sharpness * load) falls. Paths that would then carry less
 * than nothing carry nothing, so the sum is looked at again, and the step taken
 * back unless it has fallen. */

#include "base/err.h"
#include "flow/concurrent/spread.h"

struct stride {
    double *rates; /* per path: where the spread was; owned */
    double *here;  /* per path: where it was before the step; owned */
    double *load;  /* per channel: where it was; owned */
    size_t rate_capacity, here_capacity;
};

MUST_CHECK enum err stride_open(struct stride *stride, const struct flow_spread *spread,
                                struct why *why);
void stride_close(struct stride *stride);

/* Remembers where the settled spread is. */
MUST_CHECK enum err stride_begin(struct stride *stride, const struct flow_spread *spread,
                                 struct why *why);

/* Takes the step from the settled spread, if there is one, and leaves the
 * spread settled. It must have the paths it had at stride_begin. */
void stride_take(struct stride *stride, struct flow_spread *spread, double sharpness);
