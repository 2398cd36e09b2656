#pragma once
/* traffic: how much each node sends to each other node.
 *
 * Demands are between nodes, in units of the server line rate (which is the rate of a link); the
 * demands of all servers of a node are added. Traffic that stays within a node needs no link and is
 * only counted. */

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "topology/topology.h"

struct demand {
    uint32_t from, to; /* different nodes */
    double amount;     /* > 0 and finite */
};

struct traffic {
    struct demand *demands; /* owned; by from, then to; each pair at most once */
    size_t count;
    double *to_self;  /* of patterns, per node: what it sends to itself, which Valiant's algorithm
                         sends through the network too; owned; NULL: nothing */
    double local;     /* demand between servers of one node */
    uint32_t lines;   /* lines of the file that it was read from; else 0 */
    const char *name; /* "permutation"; borrowed: a constant, or the file's name */
};

void traffic_fini(struct traffic *traffic);

/* Sorts demands, adds those of the same pair, and moves those within a node to `local`. Takes
 * ownership of the array, also on failure. */
MUST_CHECK enum err traffic_make(struct traffic *traffic, struct demand *demands, size_t count,
                                 struct why *why);

/* --- between servers; see `weft topo measure --throughput` --- */

/* Each server sends to one other and receives from one other: a uniformly
 * random permutation of servers without fixed points. */
MUST_CHECK enum err traffic_permutation(struct traffic *traffic, const struct topology *topology,
                                        uint64_t seed, struct why *why);

/* One unit for every ordered pair of distinct servers. */
MUST_CHECK enum err traffic_all_to_all(struct traffic *traffic, const struct topology *topology,
                                       struct why *why);

/* --- between nodes, each of which sends 1 in total; see `weft route load` --- */

enum traffic_pattern {
    TRAFFIC_UNIFORM,    /* to every node equally, including itself */
    TRAFFIC_TRANSPOSE,  /* coordinates in reverse order */
    TRAFFIC_COMPLEMENT, /* k - 1 - c on every axis */
    TRAFFIC_TORNADO,    /* just under half-way round the first axis: ceil(k/2) - 1 */
    TRAFFIC_NEIGHBOUR,  /* one up the first axis */
    TRAFFIC_PATTERN_COUNT,
};

const char *traffic_pattern_name(enum traffic_pattern pattern);

/* Refuses a pattern that does not suit the topology, such as transpose on axes of unequal size. */
MUST_CHECK enum err traffic_make_pattern(struct traffic *traffic, const struct topology *topology,
                                         enum traffic_pattern pattern, struct why *why);

/* --- from a file --- */

/* Reads lines "FROM TO [AMOUNT]", separated by spaces, tabs or commas; the default amount is 1; #
 * begins a comment. A server is named by its node in a direct network, and NODE/INDEX in a switched
 * one, where NODE alone means all its servers together. Refuses, naming the line: unknown servers,
 * negative, infinite or NaN amounts, and ends that no path joins. Amounts of repeated pairs are
 * added, amounts of 0 are left out. `name` is the file's name, for errors; borrowed. */
MUST_CHECK enum err traffic_read(struct traffic *traffic, const struct topology *topology,
                                 const char *name, const char *data, size_t size, struct why *why);

/* Refuses a demand whose ends are not connected, and names it. */
MUST_CHECK enum err traffic_check_reach(const struct traffic *traffic,
                                        const struct topology *topology, struct why *why);
