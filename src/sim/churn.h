#pragma once
/* churn: servers fail and return all the time while everybody sends to random keys; an oracle with
 * global knowledge counts what was delivered to whom (CamCubeOS, section 4.2.5, figure 5c).
 *
 * The churn rate is servers that fail and return per second: half of it are failures, with
 * exponentially distributed times between them. Who fails returns after a fixed time, chosen so
 * that a share of the servers is down on average. The run begins with that share down and everybody
 * aware of it.
 *
 * A run is a function of its settings: all arithmetic is on integers, and the hash is equal in
 * every build. Nothing is remembered of a packet, so memory does not grow with time. */

#include <stdbool.h>

#include "base/err.h"
#include "base/observer.h"
#include "node/node.h"
#include "sim/engine.h"

#define CHURN_MILLIONTHS 1000000u

struct churn_settings {
    const struct plan *plan; /* borrowed */
    uint64_t seed;
    uint64_t rate;               /* failures and returns per second, in millionths */
    uint32_t down;               /* share of the servers that is down on average, in millionths */
    psec length;                 /* that is counted */
    uint64_t packets_per_second; /* of each server that is up */
    env_nsec hello_nsec, silence_nsec;
    bool carrier;    /* neighbours notice a failure at once, as by a link without light; else by
                      * silence alone */
    uint32_t plants; /* enum node_fault */
    struct observer observer; /* told how far it is */
};

struct churn_result {
    uint64_t sent, delivered, misdelivered;
    uint64_t lost; /* on the way to a server that was gone */
    uint64_t dropped[DROP_COUNT];
    uint64_t unaccounted; /* sent, and neither of the above; always 0 */
    uint64_t unknown;     /* times that a link came up whose far side not all knew; always 0 */
    uint64_t hops;        /* of those that were delivered */
    uint32_t hops_max;
    uint64_t failures, returns;
    uint64_t events, all_hops;
    psec simulated;
    psec down_for; /* how long a failure lasted */
    uint64_t hash;
    size_t memory_peak; /* of the world */
    char first[160];    /* misdelivery, in words */
};

MUST_CHECK enum err churn_run(const struct churn_settings *settings, struct churn_result *result,
                              struct why *why);

/* Exponentially distributed with that mean, from 64 random bits; integers only. */
psec churn_exponential(uint64_t random, psec mean);
