#pragma once
/* longest: the traffic whose pairs are as far apart as a permutation allows. It is near the worst
 * case of a network with shortest paths (Jyothi, Singla, Godfrey and Kolla, "Measuring and
 * Understanding Throughput of Network Topologies", SC 2016). */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "routing/traffic/traffic.h"
#include "topology/topology.h"

struct longest_matching {
    uint64_t length; /* sum over servers of the hops between their nodes */
    bool exact;      /* no permutation is longer; else it is the best that a search has found */
};

/* Each server sends to one server and receives from one. Exact up to some thousand nodes, a good
 * matching beyond. */
MUST_CHECK enum err longest_matching(struct traffic *traffic, const struct topology *topology,
                                     struct longest_matching *found, struct why *why);
