#pragma once
/* camcube_traffic: all servers of a simulated cluster send to all others, with the complete node
 * code, and delivered packets are counted.
 *
 * Each server sends jumbo packets at a constant rate, each to a random server that it can reach,
 * without flow control. Throughput counts packets delivered to a server, not those that it
 * forwards, in bits on the line: 8,940 bytes plus the 38 that Ethernet adds. So an ideal network
 * reaches the rate of all its links divided by the mean number of hops. */

#include "node/plan.h"
#include "sim/engine/engine.h"

#define TRAFFIC_LINK_BPS   1e9
#define TRAFFIC_FRAME_BITS (8.0 * (8940 + 38))

/* What follows from the wiring of the servers that have not failed. */
struct traffic_wiring {
    uint32_t servers;
    double links;    /* mean number of links of a server */
    double hops;     /* mean between two servers that reach each other */
    double expected; /* bits a second for each server: links times rate over hops */
};

/* failed[i] is set if server i has failed; NULL: no server has. */
MUST_CHECK enum err traffic_wiring(struct traffic_wiring *wiring, const struct plan *plan,
                                   const bool *failed, struct why *why);

struct traffic_job {
    const struct plan *plan;
    const bool *failed; /* servers that failed, noticed by all others before; NULL: none */
    double rate;        /* bits a second that each server offers */
    psec warm, length;  /* duration of the warm-up and of the measurement */
    uint64_t seed;
};

struct traffic_found {
    double offered;   /* bits a second, mean of the servers */
    double mean;      /* delivered bits a second, mean of the servers ... */
    double median;    /* ... their median ... */
    double low, high; /* ... and the lowest and the highest server's */
    double hops;      /* mean of the delivered packets */
    uint64_t packets; /* delivered */
    double noticed;   /* seconds until all servers had noticed the failures */
};

MUST_CHECK enum err traffic_simulate(struct traffic_found *found, const struct traffic_job *job,
                                     struct why *why);
