#pragma once
/* churn: servers fail and come back all the time while all that are there send to random keys; who
 * delivers is held against an oracle. The experiment of section 4.2.5 of "CamCubeOS" (HPDC 2013).
 *
 * Failures of the whole cluster follow each other after exponentially distributed times; each meets
 * any server that is up. It returns after the time that keeps the wanted share of servers down on
 * average, and sends again as soon as it has settled. It begins with that share down and everybody
 * aware of it. A run is a function of its settings: all that decides is integers, and the hash is
 * equal in every build. */

#include "node/node.h"
#include "sim/engine/engine.h"

#define CHURN_MILLIONTHS 1000000u

struct churn_settings {
    const struct plan *plan; /* borrowed */
    uint64_t failures;       /* a second, in all, in millionths; the paper's churn rate is twice
                              * that. 0: none */
    uint32_t down;           /* share of servers, on average, in millionths; at most 900,000 */
    uint64_t packets;        /* in 1,000 s, of each server that is there */
    uint16_t payload;        /* bytes of each, at least BENCH_SIZE_MIN */
    psec length;             /* that is counted */
    bool carrier; /* neighbours notice at once, as by a cable without light; else by silence */
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
    size_t memory;   /* of the world, bytes */
    uint64_t hash;   /* of all events */
    char first[160]; /* misdelivery, in words */
};

/* Packets that never arrived, whatever the reason. */
uint64_t churn_dropped(const struct churn_result *result);

MUST_CHECK enum err churn_run(const struct churn_settings *settings, struct churn_result *result,
                              struct why *why);

/* Exponentially distributed with that mean, from 64 random bits; integers only. */
psec churn_exponential(uint64_t random, psec mean);
