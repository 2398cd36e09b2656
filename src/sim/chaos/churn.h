#pragma once
/* churn: servers fail and return all the time, while all running servers send to random keys; each
 * delivery is compared with an oracle. The experiment of section 4.2.5 of "CamCubeOS" (HPDC 2013).
 *
 * The times between failures in the cluster are exponentially distributed; each failure hits a
 * random server that is up. The server returns after the time that keeps the wanted share of
 * servers down on average, and sends again as soon as it has settled. At the beginning that share
 * is down and all servers know it. A run is a function of its settings: all decisions use integers,
 * and the hash is the same in every build. */

#include "node/node.h"
#include "sim/engine/engine.h"

#define CHURN_MILLIONTHS 1000000u

struct churn_settings {
    const struct plan *plan; /* borrowed */
    uint64_t failures;       /* per second in the whole cluster, in millionths; the paper's churn
                              * rate is twice that. 0: none */
    uint32_t down; /* share of servers that is down, on average, in millionths; at most 900,000 */
    uint64_t packets; /* per 1,000 s, of each running server */
    uint16_t payload; /* bytes of each, at least BENCH_SIZE_MIN */
    psec length;      /* that is counted */
    bool carrier;     /* neighbours notice a failure at once, like a cable without light; otherwise
                       * by silence */
    env_nsec hello_nsec, silence_nsec; /* 0: the node's default */
    uint64_t seed;
    uint64_t plants; /* of PLANTED_BIT: planted bugs, to check that they are found */
    void (*progress)(void *context, double seconds); /* simulated so far; or NULL */
    void *context;
};

struct churn_result {
    uint64_t failures, returns;
    double down;   /* share of servers, mean over the time */
    uint64_t sent; /* packets for keys */
    uint64_t delivered;
    uint64_t misdelivered; /* of those: by a server other than the oracle's root */
    uint64_t lost;         /* in flight to a server that had failed */
    uint64_t dropped[DROP_COUNT];
    uint64_t left; /* still waiting when all was quiet */
    uint64_t hops, events;
    size_t memory;   /* of the world, bytes */
    uint64_t hash;   /* of all events */
    char first[160]; /* the first misdelivery, as text */
};

/* Packets that never arrived, for any reason. */
uint64_t churn_dropped(const struct churn_result *result);

MUST_CHECK enum err churn_run(const struct churn_settings *settings, struct churn_result *result,
                              struct why *why);

/* An exponentially distributed time with that mean, from 64 random bits; integers only. */
psec churn_exponential(uint64_t random, psec mean);
