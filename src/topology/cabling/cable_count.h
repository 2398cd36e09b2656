#pragma once
/* cable_count: how many cables a network needs, from closed forms, without building it; and how the
 * cables of a built network are distributed over pairs of containers. */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "topology/graph.h"

struct cable_count {
    uint64_t switches;
    uint64_t servers;
    uint64_t server_cables;
    uint64_t link_cables;
};

/* The fat-tree of k-port switches: 5k^2/4 of them, k^3/4 servers, k^3/2 links.
 * k is even, 2 to 10000. */
struct cable_count cable_count_fattree(uint32_t k);

/* The smallest Jellyfish of k-port switches that carries this many servers at full bisection. With
 * r = k - servers / switches link ports per switch (the mean, because servers are spread evenly),
 * Bollobas' lower bound on its bisection, switches (r / 4 - sqrt(r ln 2) / 2) cables, is at least
 * half the servers. Returns false if no number of k-port switches is enough. */
bool cable_count_jellyfish(uint32_t k, uint64_t servers, struct cable_count *count);

/* The cables of a graph by pairs of containers; container[v] < containers. */
struct container_tally {
    uint64_t local;      /* links inside a container */
    uint64_t global;     /* links between two */
    uint64_t bundles;    /* pairs of containers with at least one link */
    uint64_t bundle_max; /* most links in one pair */
    double bundle_mean;  /* global / bundles; 0 if there is none */
};

MUST_CHECK enum err container_tally_make(struct container_tally *tally, const struct graph *graph,
                                         const uint32_t *container, uint32_t containers,
                                         struct why *why);
