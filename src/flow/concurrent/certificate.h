#pragma once
/* certificate: a flow and weights as a file, from which everybody can work out
 * both sides of a throughput again (weft-flow-file(5) has the format).
 *
 * The reader only takes the file apart; the verifier believes none of it. It
 * adds up the paths, looks for shortest paths under the weights with code of
 * its own, and shares nothing with the solver but the graph. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"
#include "flow/concurrent/concurrent.h"
#include "routing/paths/path_set.h"
#include "routing/traffic/traffic.h"
#include "topology/topology.h"

/* Relative; rounding in a flow of millions of paths stays far below, and one
 * path's rate changed by one part in a hundred far above. */
#define CERTIFICATE_TOLERANCE 1e-9

#define CERTIFICATE_NAME_SIZE 256

/* More paths per pair are no routing any more, and take forever to find. */
#define CERTIFICATE_WAYS_MAX 4096u

enum certificate_traffic {
    CERTIFICATE_PERMUTATION,
    CERTIFICATE_ALL_TO_ALL,
    CERTIFICATE_LONGEST_MATCHING,
    CERTIFICATE_FILE, /* the demands in it are all that is known */
    CERTIFICATE_TRAFFIC_COUNT,
};

enum certificate_routing {
    CERTIFICATE_OPTIMAL,
    CERTIFICATE_ECMP,       /* `ways` of the shortest paths of a pair */
    CERTIFICATE_K_SHORTEST, /* its `ways` shortest paths */
    CERTIFICATE_ROUTING_COUNT,
};

/* The words of both, as the file and the command line spell them; NULL after
 * the last. */
extern const char *const certificate_traffic_names[];
extern const char *const certificate_routing_names[];

/* What a certificate is about. */
struct certificate_about {
    char topology[CERTIFICATE_NAME_SIZE]; /* as it was named; for people only */
    enum certificate_traffic traffic;
    enum certificate_routing routing;
    uint32_t ways; /* of a restricted routing, else 0 */
    uint64_t seed; /* of the permutation and of the ties between paths */
};

/* Appends the file. The flow is one that was found for this traffic on this
 * topology. */
MUST_CHECK enum err certificate_write(struct text *out, const struct certificate_about *about,
                                      const struct topology *topology,
                                      const struct traffic *traffic,
                                      const struct concurrent *concurrent, struct why *why);

/* What a file says, and where it says it. */
struct certificate {
    const char *name; /* borrowed: the file's, begins every complaint */
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

    struct demand *demands; /* owned; as they stand there: ends differ, amounts are above 0 */
    unsigned long *demand_lines;
    size_t demand_capacity, demand_line_capacity;

    struct path_set flow; /* per demand; its `channels` are numbers of links here */
    double *rates;        /* owned; per path of the flow */
    unsigned long *path_lines;
    size_t rate_capacity, path_line_capacity;
};

/* Node names are looked up in the topology, so that a file about another one
 * is refused where it names the first stranger. */
MUST_CHECK enum err certificate_read(struct certificate *certificate,
                                     const struct topology *topology, const char *name,
                                     const char *data, size_t size, struct why *why);
void certificate_fini(struct certificate *certificate);

/* What the verifier worked out by itself. */
struct certificate_proof {
    double lower;    /* what the flow carries of every demand, shrunk until all links bear it */
    double upper;    /* what the weights allow at most */
    double load_max; /* of the busiest channel */
};

/* Refuses, naming the place, a file whose links are not the topology's, whose
 * paths are not paths between the ends of their demands, or carry together
 * more than a link or less or more than the claimed share of a demand, and
 * claims that do not follow. With `traffic`, its demands must be the traffic's;
 * with `paths`, the paths allowed to each demand in order (of a routing that is
 * not optimal), only those may be used, and `upper` holds for those only. */
MUST_CHECK enum err certificate_verify(const struct certificate *certificate,
                                       const struct topology *topology,
                                       const struct traffic *traffic, const struct path_set *paths,
                                       struct certificate_proof *proof, struct why *why);
