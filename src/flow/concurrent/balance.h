#pragma once
/* balance: moves traffic from crowded paths to empty ones, among the paths a
 * spread already has.
 *
 * Channels weigh exp(sharpness * load). The sum of the weights is a smooth
 * stand-in for the busiest load: the sharper, the closer. A demand that shifts
 * the amount d from one path to another multiplies the weights of the channels
 * that only the first uses, A in sum, by exp(-sharpness * d), and those of the
 * second's, B in sum, by the inverse; their total is least where both are
 * sqrt(A * B), at d = log(A / B) / (2 * sharpness). So each shift is the best
 * there is, in closed form, and costs one logarithm. */

#include <stdint.h>

#include "base/err.h"
#include "flow/concurrent/spread.h"
#include "flow/concurrent/stride.h"

/* One channel, while traffic moves. Marks tell which of two paths use it: they
 * hold the number of the last path that was marked so. */
struct balance_channel {
    double weight; /* in proportion to exp(sharpness * load) */
    uint32_t on_empty, on_crowded;
};

struct balance {
    struct flow_spread *spread; /* borrowed */
    double sharpness;
    double *weight;                   /* per channel: what the last run found; owned */
    struct balance_channel *channels; /* owned */
    uint32_t stamp;                   /* the last number that a mark was given */
    struct stride stride;
};

MUST_CHECK enum err balance_open(struct balance *balance, struct flow_spread *spread,
                                 struct why *why);
void balance_close(struct balance *balance);

/* Goes through all demands up to sweep_max times, until what is left to gain
 * is below `tolerance` of the whole. Leaves the spread settled, and as weights
 * the mean of those after each sweep of the later half: single ones jitter,
 * and their mean proves a better bound. */
MUST_CHECK enum err balance_run(struct balance *balance, uint32_t sweep_max, double tolerance,
                                struct why *why);

/* --- one move at a time, for solvers that sweep by rules of their own: they
 * begin with the weights of `channels`, and settle the spread at the end --- */

/* The sum of the channels' weights along a path. */
double balance_length(const struct balance *balance, size_t path);

/* Evens out two paths of one demand: `from`, which carries some, and a shorter
 * one, `to`. Does nothing if `to` is not shorter. Returns what there
 * was to gain: traffic times difference. */
double balance_shift(struct balance *balance, size_t from, size_t to);

/* Adds to the rate of a path, or takes from it. */
void balance_load(struct balance *balance, size_t path, double amount);
