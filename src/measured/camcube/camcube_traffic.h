#pragma once
/* camcube_traffic: all servers of a simulated cluster send to all others, by the whole node code,
 * and what arrives is counted.
 *
 * Each server sends jumbo packets at one rate, each to any of the others that it can reach, and
 * nothing holds it back. Throughput is of packets delivered to a server, not of those that it
 * passes on, in bits as they are on the line: 8,940 bytes and the 38 that Ethernet adds. So that of
 * an ideal network is all of its links' rate over the mean number of hops. */

#include "node/plan.h"
#include "sim/engine/engine.h"

#define TRAFFIC_LINK_BPS   1e9
#define TRAFFIC_FRAME_BITS (8.0 * (8940 + 38))

/* What the wiring alone says of those servers that live. */
struct traffic_wiring {
    uint32_t servers;
    double links;    /* directions, a server */
    double hops;     /* mean between two that reach each other */
    double expected; /* bits a second a server: links times rate over hops */
};

/* `failed` of each server; NULL: none. */
MUST_CHECK enum err traffic_wiring(struct traffic_wiring *wiring, const struct plan *plan,
                                   const bool *failed, struct why *why);

struct traffic_job {
    const struct plan *plan;
    const bool *failed; /* these have failed, and everybody has noticed; NULL: none */
    double rate;        /* bits a second that each server offers */
    psec warm, length;  /* before it counts, and while it does */
    uint64_t seed;
};

struct traffic_found {
    double offered;   /* bits a second a server, mean */
    double mean;      /* delivered, bits a second a server */
    double median;    /* of the servers */
    double low, high; /* of the servers */
    double hops;      /* of what arrived, mean */
    uint64_t packets; /* that arrived */
    double noticed;   /* seconds until all had noticed the failures */
};

MUST_CHECK enum err traffic_simulate(struct traffic_found *found, const struct traffic_job *job,
                                     struct why *why);
