#pragma once
/* certificate: a flow and weights as a file, from which any program can compute both bounds of a
 * throughput again (weft-flow-file(5) describes the format).
 *
 * The reader only parses the file; the verifier trusts nothing in it. It adds up the paths, finds
 * shortest paths under the weights with its own code, and shares only the graph with the solver. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"
#include "flow/concurrent/concurrent.h"
#include "routing/paths/path_set.h"
#include "routing/traffic/traffic.h"
#include "topology/topology.h"

/* Relative. Rounding in a flow of millions of paths is far smaller; changing one path's rate by one
 * part in a hundred is far larger. */
#define CERTIFICATE_TOLERANCE 1e-9

#define CERTIFICATE_NAME_SIZE 256

/* More paths per pair make no useful routing, and take too long to find. */
#define CERTIFICATE_WAYS_MAX 4096u

enum certificate_traffic {
    CERTIFICATE_PERMUTATION,
    CERTIFICATE_ALL_TO_ALL,
    CERTIFICATE_LONGEST_MATCHING,
    CERTIFICATE_FILE, /* only the demands in the file are known */
    CERTIFICATE_TRAFFIC_COUNT,
};

enum certificate_routing {
    CERTIFICATE_OPTIMAL,
    CERTIFICATE_ECMP,       /* `ways` of the pair's paths of the least length */
    CERTIFICATE_K_SHORTEST, /* the pair's `ways` shortest paths */
    CERTIFICATE_ROUTING_COUNT,
};

/* The names of traffics and routings, as in the file and on the command line; NULL after the
 * last. */
extern const char *const certificate_traffic_names[];
extern const char *const certificate_routing_names[];

/* What a certificate is about. */
struct certificate_about {
    char topology[CERTIFICATE_NAME_SIZE]; /* spec or file name; for people only */
    enum certificate_traffic traffic;
    enum certificate_routing routing;
    uint32_t ways; /* for a restricted routing, else 0 */
    uint64_t seed; /* for the permutation and for ties between paths */
};

/* Appends the file. The flow must be one that was found for this traffic on this topology. */
MUST_CHECK enum err certificate_write(struct text *out, const struct certificate_about *about,
                                      const struct topology *topology,
                                      const struct traffic *traffic,
                                      const struct concurrent *concurrent, struct why *why);

/* The contents of a file, with line numbers. */
struct certificate {
    const char *name; /* borrowed: the file's name, begins every error */
    struct certificate_about about;
    double lower, upper; /* claimed */
    double local;        /* demand that needs no link */
    uint32_t node_count; /* claimed */
    uint64_t demand_count;

    struct certificate_link {
        uint32_t a, b;
        double weights[2]; /* from a to b, and back */
        unsigned long line;
    } * links; /* owned */
    size_t link_count, link_capacity;

    struct demand *demands; /* owned; in the order of the file: ends differ, amounts are above 0 */
    unsigned long *demand_lines;
    size_t demand_capacity, demand_line_capacity;

    struct path_set flow; /* per demand; its `channels` are link numbers here */
    double *rates;        /* owned; per path of the flow */
    unsigned long *path_lines;
    size_t rate_capacity, path_line_capacity;
};

/* Looks up node names in the topology, so a file for another topology is refused at the first
 * unknown node. */
MUST_CHECK enum err certificate_read(struct certificate *certificate,
                                     const struct topology *topology, const char *name,
                                     const char *data, size_t size, struct why *why);
void certificate_fini(struct certificate *certificate);

/* The bounds that the verifier has computed itself. */
struct certificate_proof {
    double lower;    /* share of every demand that the flow carries, scaled to fit all links */
    double upper;    /* the largest share that the weights allow */
    double load_max; /* of the busiest channel */
};

/* Refuses, naming the place: links that are not those of the topology; paths that do not join the
 * ends of their demand; paths that together carry more than a link's capacity, or less or more than
 * the claimed share of a demand; and claimed bounds that do not follow. With `traffic`, the demands
 * must be those of the traffic. With `paths`, which are the allowed paths of each demand in order
 * (for a routing that is not optimal), only these may be used, and `upper` holds only for these. */
MUST_CHECK enum err certificate_verify(const struct certificate *certificate,
                                       const struct topology *topology,
                                       const struct traffic *traffic, const struct path_set *paths,
                                       struct certificate_proof *proof, struct why *why);
