#pragma once
/* camcube_network: a network to simulate: its topology, and the plan of its servers, which borrows
 * the topology. */

#include "node/plan.h"

struct camcube_network {
    struct topology topology;
    struct plan plan;
};

MUST_CHECK enum err camcube_network_open(struct camcube_network *network, const char *spec,
                                         struct why *why);
void camcube_network_close(struct camcube_network *network);
