#pragma once
/* stride: one long step in the direction of the last sweeps.
 *
 * A sweep moves one demand after the other. It makes slow progress where many demands have to move
 * together to decrease the sum of exp(sharpness * load). The difference between the spread some
 * sweeps ago and now is a direction in which they moved together; the step continues in this
 * direction as far as the sum decreases. Paths that would then carry a negative amount carry
 * nothing; so the sum is computed again, and the step is undone unless the sum has decreased. */

#include "base/err.h"
#include "flow/concurrent/spread.h"

struct stride {
    double *rates; /* per path: the rates at stride_begin; owned */
    double *here;  /* per path: the rates before the step; owned */
    double *load;  /* per channel: the loads at stride_begin; owned */
    size_t rate_capacity, here_capacity;
};

MUST_CHECK enum err stride_open(struct stride *stride, const struct flow_spread *spread,
                                struct why *why);
void stride_close(struct stride *stride);

/* Remembers the settled spread. */
MUST_CHECK enum err stride_begin(struct stride *stride, const struct flow_spread *spread,
                                 struct why *why);

/* Takes the step from the settled spread if that decreases the sum, and leaves the spread settled.
 * The spread must have the same paths as at stride_begin. */
void stride_take(struct stride *stride, struct flow_spread *spread, double sharpness);
