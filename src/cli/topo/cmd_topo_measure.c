/* weft topo measure */
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/core/call.h"
#include "cli/core/load.h"
#include "cli/core/parallel.h"
#include "cli/core/progress.h"
#include "cli/topo/measure_report.h"
#include "cli/topo/throughput_report.h"
#include "topology/measure/connectivity.h"
#include "topology/measure/failure.h"

/* Reads the share of --fail-links or --fail-nodes. 1 is refused: it could mean one link or all of
 * them, and a network without links or nodes cannot be measured. */
static enum err share_read(const struct call *call, const char *name, const char *what,
                           double *share, struct why *why)
{
    const char *word = call_option(call, name);
    if (call_real(call, name, 0, 1, share, NULL) || *share >= 1)
        return why_fail(why, ERR_USAGE,
                        "--%s %s: expected a share of the %s, at least 0 and below 1; 0.05 is 5 %%",
                        name, word, what);
    return OK;
}

static enum err failures_read(const struct call *call, struct measurement *found, struct why *why)
{
    enum err err = share_read(call, "fail-links", "links", &found->link_share, why);
    if (!err)
        err = share_read(call, "fail-nodes", "nodes", &found->node_share, why);
    if (!err)
        err = call_uint(call, "seed", 0, UINT64_MAX, &found->seed, why);
    return err;
}

/* Removes the links and nodes that fail from the topology. */
static enum err measure_failures(struct measurement *found, struct topology *topology,
                                 struct why *why)
{
    struct topology left;
    if (found->link_share <= 0 && found->node_share <= 0)
        return OK;
    enum err err =
        failure_apply(&left, topology, found->link_share, found->node_share, found->seed, why);
    if (err)
        return err;
    found->links_lost = topology->graph.link_count - left.graph.link_count;
    found->nodes_lost = topology->graph.node_count - left.graph.node_count;
    topology_fini(topology);
    *topology = left;
    return OK;
}

static enum err measure_distances(const struct call *call, struct measurement *found,
                                  struct why *why)
{
    const struct graph *graph = &found->topology->graph;
    uint32_t threads;
    found->degree_min = UINT32_MAX;
    for (uint32_t v = 0; v < graph->node_count; v++) {
        uint32_t degree = graph_degree(graph, v);
        found->degree_min = degree < found->degree_min ? degree : found->degree_min;
        found->degree_max = degree > found->degree_max ? degree : found->degree_max;
    }
    enum err err = parallel_threads(call, &threads, why);
    if (!err)
        err = connectivity_components(graph, &found->components, why);
    if (!err)
        err = parallel_distances(&found->tally, found->topology, threads, "distances", why);
    return err;
}

static enum err measure_bisection(struct measurement *found, struct why *why)
{
    enum err err =
        bisection_watch(&found->bisection, found->topology, found->seed, progress_observer, why);
    found->has_bisection = !err;
    return err ? err : bisection_raise(&found->bisection, found->topology, &found->tally, why);
}

static enum err measure_connectivity(struct measurement *found, struct why *why)
{
    const struct graph *graph = &found->topology->graph;
    found->has_connectivity = true;
    enum err err = connectivity_edge(graph, progress_observer, &found->edge_connectivity, why);
    if (err)
        return err;
    return connectivity_vertex(graph, progress_observer, &found->vertex_connectivity, why);
}

/* Reads "A,B". A name may contain commas, so any comma that leaves two existing
 * nodes is accepted. */
static enum err paths_ends(struct measurement *found, const char *words, struct why *why)
{
    const struct topology *topology = found->topology;
    uint32_t *from = &found->path_from, *to = &found->path_to;
    const char *stranger = words;
    char *first = strdup(words);
    if (!first)
        return why_memory(why);
    *from = *to = NODE_NONE;
    for (char *comma = strchr(first, ','); comma; comma = strchr(comma + 1, ',')) {
        *comma = '\0';
        *from = topology_find(topology, first);
        *to = topology_find(topology, comma + 1);
        *comma = ',';
        if (*from != NODE_NONE && *to != NODE_NONE)
            break;
        stranger = *from == NODE_NONE ? words : words + (comma + 1 - first);
    }
    bool separated = strchr(first, ',') != NULL;
    free(first);
    if (!separated)
        return why_fail(why, ERR_USAGE, "--paths %s: expected two nodes, as in A,B", words);
    if (*from != NODE_NONE && *to != NODE_NONE)
        return OK;
    int size = stranger == words ? (int)strcspn(words, ",") : (int)strlen(stranger);
    return why_fail(why, ERR_USAGE, "--paths %s: there is no node '%.*s'%s", words, size, stranger,
                    found->nodes_lost ? " left" : "");
}

static enum err measure_paths(const char *words, struct measurement *found, struct why *why)
{
    found->has_paths = true;
    enum err err = paths_ends(found, words, why);
    if (err)
        return err;
    return shortest_paths_count(&found->paths, &found->topology->graph, found->path_from,
                                found->path_to, why);
}

static enum err measure_throughput(struct measurement *found, const struct throughput_plan *plan,
                                   struct why *why)
{
    return throughput_measure(&found->throughput, plan, found->topology, found->name,
                              found->links_lost || found->nodes_lost, &found->tally, why);
}

/* Measurements that can be refused come before those that take long. */
static enum err measure_all(const struct call *call, struct measurement *found,
                            struct topology *topology, const struct throughput_plan *plan,
                            struct why *why)
{
    enum err err = measure_failures(found, topology, why);
    if (!err && call_has(call, "paths"))
        err = measure_paths(call_option(call, "paths"), found, why);
    if (!err && plan->mode != THROUGHPUT_NONE && plan->mode != THROUGHPUT_BOUND)
        err = measure_throughput(found, plan, why);
    if (!err)
        err = measure_distances(call, found, why);
    if (!err && plan->mode == THROUGHPUT_BOUND) /* the bound needs the distances */
        err = measure_throughput(found, plan, why);
    if (!err && call_has(call, "bisection"))
        err = measure_bisection(found, why);
    if (!err && call_has(call, "connectivity"))
        err = measure_connectivity(found, why);
    return err;
}

static enum err measure_run(struct call *call, struct why *why)
{
    struct topology topology;
    struct throughput_plan plan;
    struct measurement found = {.name = call->arguments[0], .topology = &topology, .seed = 1};
    enum err err = throughput_plan_read(&plan, call, why);
    if (!err)
        err = failures_read(call, &found, why);
    if (!err)
        err = load_topology(&topology, call->arguments[0], why);
    if (err)
        return err;
    err = measure_all(call, &found, &topology, &plan, why);
    if (!err)
        measure_report(call, &found);
    call->no = !err && throughput_gap_missed(&found.throughput);
    distance_tally_fini(&found.tally);
    if (found.has_bisection)
        bisection_fini(&found.bisection);
    throughput_fini(&found.throughput);
    topology_fini(&topology);
    return err;
}

static const struct option measure_options[] = {
    {"bisection", NULL, "also the fewest cables between two halves of the servers, as two bounds"},
    {"connectivity", NULL, "also how many links, or nodes, must fail to split the network"},
    {"paths", "A,B", "also the number of shortest paths from node A to node B"},
    {"throughput", "permutation|all-to-all|longest-matching|FILE",
     "also how much of this traffic the network carries, as two bounds"},
    {"gap", "G", "stop when upper / lower - 1 is at most G (default 0.01; full capacity 1e-6)"},
    {"routing", "optimal|ecmp|k-shortest", "which paths the traffic may take (default optimal)"},
    {"ways", "N", "paths for each pair with ecmp and k-shortest (default 8)"},
    {"flow", "FILE",
     "write the proof of the throughput; or, with --verify and no --throughput, read it"},
    {"verify", NULL, "check both bounds again with separate code"},
    {"against", "permutation|all-to-all|longest-matching|FILE",
     "the traffic that a verified --flow FILE must match"},
    {"bound", NULL, "only an upper bound from path lengths (default traffic longest-matching)"},
    {"full-capacity", NULL, "also how many servers the switches of a Jellyfish carry at full rate"},
    {"fail-links", "SHARE", "first remove this share (0.05 is 5 %) of the links, at random"},
    {"fail-nodes", "SHARE", "first remove this share (0.05 is 5 %) of the nodes, at random"},
    {"seed", "N", "seed of failures, of the search for a cut, and of the permutation (default 1)"},
    {"threads", "N", "number of threads (default: all cores); the result does not depend on it"},
    {0},
};

const struct command command_topo_measure = {
    .name = "topo measure",
    .arguments = "SPEC|FILE",
    .summary = "measure degrees, distances, bisection, connectivity and throughput",
    .description =
        "Prints sizes and degrees, whether the network is connected, and the distances between "
        "nodes and between servers: the longest and the mean of all shortest paths, and the number "
        "of pairs at each distance in hops.\n\n"
        "A pair is two different nodes, counted once; shares are shares of all pairs. In a "
        "network of switches, a path between servers also counts the two cables at its ends, so "
        "that two servers on the same switch are 2 hops apart. Pairs without a path are counted "
        "separately and are not part of the means.\n\n"
        "With --fail-links and --fail-nodes, the rest of the network is measured. With the same "
        "seed, a higher share removes the same links and nodes as a lower one, and more. A node "
        "that fails takes its servers with it.\n\n"
        "The bisection is given as two bounds: every division of the servers into two halves "
        "cuts at least as many cables as the lower bound, which is proved; the upper bound is "
        "the smallest cut that was found. All other numbers are exact.\n\n"
        "Throughput is the largest factor by which all demands of a traffic pattern can be "
        "multiplied so that the network can still carry them at the same time, with the best "
        "routing; a link has rate 1 in each direction. For a permutation (every server sends to "
        "one other) and for the longest matching (the same, with partners as far apart as "
        "possible) it is a share of the line rate of a server; for all-to-all it is the rate of "
        "every ordered pair of servers; for a FILE (weft-traffic(5)) it is a factor. The lower "
        "bound is a flow and the upper bound follows from weights of the links, so both are "
        "proved. The exit code is 1 if the bounds are further apart than --gap. Cables between "
        "servers and switches are not limited: a network of switches that can carry more than "
        "its servers can send shows more than 1. server_rate_lower and server_rate_upper of "
        "--json are limited to 1.\n\n"
        "With --routing ecmp or k-shortest the traffic may only use the paths of that routing, "
        "and the bounds hold for these paths.\n\n"
        "--flow writes the proof to a file (weft-flow-file(5)). --verify reads the file again and "
        "recomputes both bounds with separate code; without --throughput it verifies an existing "
        "FILE. --verify generates a named traffic pattern again and compares it with the demands "
        "in the file. If the traffic came from a traffic file, the demands in the file are used as "
        "they are, unless --against names the traffic that they must match.\n\n"
        "--bound is for networks that are too large to compute a flow: the throughput is at most "
        "the total rate of all links in both directions, divided by the smallest number of hops "
        "that the traffic needs.\n\n"
        "--full-capacity searches for the largest number of servers that the switches of a "
        "Jellyfish, given as SPEC, carry at full rate. A number of servers is carried if the "
        "throughput of three random permutations is proved to be 1 to within a millionth. Ten more "
        "permutations must confirm the result; otherwise one server fewer is tried with all "
        "thirteen, and so on. Permutations that cannot be decided count as not carried and are "
        "reported.\n\n"
        "Bisection, connectivity and throughput take time on large networks and are measured "
        "only on request. The last line (not_measured with --json) lists what was not measured.",
    .options = measure_options,
    .examples = "  weft topo measure torus:8x8x8 --bisection\n"
                "  weft topo measure torus:9x9x11 --paths 0,444\n"
                "  weft topo measure torus:8x8x8 --fail-links 0.1 --seed 7 --connectivity --json\n"
                "  weft topo measure fattree:k=4 --throughput permutation --gap 0.001\n"
                "  weft topo measure torus:4x4 --throughput all-to-all --flow flow.json --verify\n"
                "  weft topo measure torus:4x4 --flow flow.json --verify\n"
                "  weft topo measure novacube:6x6 --throughput longest-matching --routing ecmp\n"
                "  weft topo measure torus:20x20x20 --bound --throughput all-to-all\n"
                "  weft topo measure jellyfish:servers=48,switches=24,ports=6 --full-capacity",
    .run = measure_run,
};
