#pragma once
/* churn: servers fail and come back all the time while all that are there send to random keys; who
 * delivers is held against an oracle. The experiment of section 4.2.5 of "CamCubeOS" (HPDC 2013).
 *
 * Failures of the whole cluster follow each other after exponentially distributed times; each meets
 * any server that is up. It returns after the time that keeps the wanted share of servers down on
 * average, and sends again as soon as it has settled. Its neighbours learn of both by hellos and
 * silence alone. A run is a function of its settings. */

#include "node/node.h"
#include "sim/engine.h"

struct churn_settings {
    const struct plan *plan; /* borrowed */
    double failures;         /* a second, in all; the paper's churn rate is twice that. 0: none */
    double down;             /* share of servers, on average; 0 to 0.9 */
    double packets;          /* a second, of each server that is there */
    uint16_t payload;        /* bytes of each, at least BENCH_SIZE_MIN */
    double seconds;          /* simulated */
    env_nsec hello_nsec, silence_nsec; /* 0: the node's own choice */
    uint64_t seed;
    uint32_t plants; /* enum node_fault: bugs, to see that they are found */
    void (*progress)(void *context, double seconds); /* simulated so far; or NULL */
    void *context;
};

struct churn_result {
    uint64_t failures, returns;
    double down;   /* share of servers, mean over the time */
    uint64_t sent; /* packets for keys */
    uint64_t delivered;
    uint64_t misdelivered; /* of those: by another than the oracle's root */
    uint64_t lost;         /* on their way to a server that had failed */
    uint64_t dropped[DROP_COUNT];
    uint64_t left; /* still waiting when all was quiet */
    uint64_t hops, events;
    size_t memory; /* of the world, bytes */
    uint64_t hash; /* of all events */
};

/* Packets that never arrived, whatever the reason. */
uint64_t churn_dropped(const struct churn_result *result);

MUST_CHECK enum err churn_run(const struct churn_settings *settings, struct churn_result *result,
                              struct why *why);
