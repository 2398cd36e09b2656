#pragma once
/* camcube_load: servers of a network that saturate L of their links each, in real processes
 * with shaped links and in the simulator, by the same service and the same count.
 *
 * Throughput is as in the paper: what a server received and what its neighbours received from it,
 * over what the L links could carry both ways. Counted are packets with weft's header, not what
 * Ethernet adds to a frame. */

#include <stdint.h>

#include "base/err.h"

#define CAMCUBE_LINKS_MAX 6

enum load_kind { LOAD_JUMBO, LOAD_STANDARD, LOAD_AGGREGATED, LOAD_KINDS };

extern const char *const load_kind_words[LOAD_KINDS];

/* Of one kind at one number of links. */
struct load_point {
    double share;     /* median of the servers, of what the links can carry */
    double low, high; /* of the servers' */
    double packets;   /* that all servers received in a second */
    double cores;     /* kept busy by all processes; NaN: simulated */
};

struct load_found {
    struct load_point points[LOAD_KINDS][CAMCUBE_LINKS_MAX + 1]; /* [.][0]: nobody sends */
};

struct load_job {
    uint64_t rate;      /* bits a second of each direction of a link */
    uint32_t links;     /* a bit for each number of links that is tried */
    double seconds;     /* that are counted, of each */
    const char *spec;   /* of the network */
    uint32_t processes; /* real only: how many host its servers */
    uint64_t seed;      /* simulated only */
};

MUST_CHECK enum err load_measure(struct load_found *found, const struct load_job *job,
                                 struct why *why);
MUST_CHECK enum err load_simulate(struct load_found *found, const struct load_job *job,
                                  struct why *why);
