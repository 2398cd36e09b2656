#pragma once
/* balance: moves traffic from crowded paths to empty ones, among the paths that a spread already
 * has.
 *
 * The weight of a channel is exp(sharpness * load). The sum of the weights is a smooth replacement
 * for the busiest load: the sharper, the closer. If a demand shifts the amount d from one path to
 * another, the weights of the channels that only the first path uses, A in sum, are multiplied by
 * exp(-sharpness * d), and those of the second, B in sum, by the inverse; their total is smallest
 * if both become sqrt(A * B), at d = log(A / B) / (2 * sharpness). So each shift is the best
 * possible one, in closed form, and costs one logarithm. */

#include <stdint.h>

#include "base/err.h"
#include "flow/concurrent/spread.h"
#include "flow/concurrent/stride.h"

/* One channel while traffic moves. The marks show whether the empty and the crowded path of the
 * current shift use it: each holds the number of the last such path over this channel. */
struct balance_channel {
    double weight; /* proportional to exp(sharpness * load) */
    uint32_t on_empty, on_crowded;
};

struct balance {
    struct flow_spread *spread; /* borrowed */
    double sharpness;
    double *weight;                   /* per channel: the result of the last run; owned */
    struct balance_channel *channels; /* owned */
    uint32_t stamp;                   /* the last number that was used as a mark */
    struct stride stride;
};

MUST_CHECK enum err balance_open(struct balance *balance, struct flow_spread *spread,
                                 struct why *why);
void balance_close(struct balance *balance);

/* Sweeps over all demands up to sweep_max times, until the possible gain is below `tolerance` of
 * the whole. Leaves the spread settled. Leaves as weights the mean of the weights after each sweep
 * of the later half: the weights of single sweeps fluctuate, and the mean proves a better bound. If
 * it ends early, the weights are those after the last sweep. */
MUST_CHECK enum err balance_run(struct balance *balance, uint32_t sweep_max, double tolerance,
                                struct why *why);

/* --- one move at a time, for solvers that sweep in their own way: they set the weights of
 * `channels` at the start, and settle the spread at the end --- */

/* The sum of the channels' weights along a path. */
double balance_length(const struct balance *balance, size_t path);

/* Balances two paths of one demand: `from`, which carries traffic, and a shorter one, `to`. Does
 * nothing if `to` is not shorter. Returns the possible gain: traffic times difference. */
double balance_shift(struct balance *balance, size_t from, size_t to);

/* Adds an amount, which may be negative, to the rate of a path. */
void balance_load(struct balance *balance, size_t path, double amount);
