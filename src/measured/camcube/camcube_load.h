#pragma once
/* camcube_load: servers of a network that saturate L of their links each, in real processes
 * with rate-limited links and in the simulator. Both use the same service and the same counters.
 *
 * Throughput is defined as in the paper: the bytes that a server received plus those that its
 * neighbours received from it, divided by what the L links can carry in both directions. Bytes are
 * those of packets with weft's header, without what Ethernet adds to a frame. */

#include <stdint.h>

#include "base/err.h"

#define CAMCUBE_LINKS_MAX 6

enum load_kind { LOAD_JUMBO, LOAD_STANDARD, LOAD_AGGREGATED, LOAD_KINDS };

extern const char *const load_kind_words[LOAD_KINDS];

/* The result of one kind of packets and one number of links. */
struct load_point {
    double share;     /* throughput: the median of the servers */
    double low, high; /* the lowest and the highest server's */
    double packets;   /* packets a second that all servers together received */
    double cores;     /* processor time of all processes over real time; NaN: simulated */
};

struct load_found {
    struct load_point points[LOAD_KINDS][CAMCUBE_LINKS_MAX + 1]; /* [.][0]: no server sends */
};

struct load_job {
    uint64_t rate;      /* bits a second of each direction of a link */
    uint32_t links;     /* bit L is set: L links are tried */
    double seconds;     /* duration of each measurement */
    const char *spec;   /* of the network */
    uint32_t processes; /* that host the servers; real only */
    uint64_t seed;      /* simulated only */
};

MUST_CHECK enum err load_measure(struct load_found *found, const struct load_job *job,
                                 struct why *why);
MUST_CHECK enum err load_simulate(struct load_found *found, const struct load_job *job,
                                  struct why *why);
