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

/* The share of --fail-links or --fail-nodes. 1 is refused: it could mean one of them, or all, and
 * a network without any is not worth a measurement. */
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

/* Replaces the topology by what the failures leave of it. */
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

/* "A,B". A name may hold commas of its own: any comma that leaves two nodes
 * will do. */
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
        return why_fail(why, ERR_USAGE, "--paths %s: expected two nodes, A,B", words);
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

/* What refuses comes before what takes long. */
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
    if (!err && plan->mode == THROUGHPUT_BOUND) /* it uses the distances */
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
    {"bisection", NULL, "also the fewest cables between two halves of the servers, as a bracket"},
    {"connectivity", NULL, "also the fewest links, and nodes, whose loss parts the network"},
    {"paths", "A,B", "also the number of shortest paths from node A to node B"},
    {"throughput", "permutation|all-to-all|longest-matching|FILE",
     "also how much of this traffic the network carries, as a bracket"},
    {"gap", "G", "stop when upper / lower - 1 is at most G (default 0.01; full capacity 1e-6)"},
    {"routing", "optimal|ecmp|k-shortest", "which paths the traffic may take (default optimal)"},
    {"ways", "N", "paths per pair of ecmp and k-shortest (default 8)"},
    {"flow", "FILE", "write flow and weights that prove the throughput; with --verify alone: read"},
    {"verify", NULL, "work both sides out again, with separate code, from flow and weights"},
    {"against", "permutation|all-to-all|longest-matching|FILE",
     "the traffic that a verified --flow FILE must be for"},
    {"bound", NULL, "only an upper bound, by path lengths (default traffic longest-matching)"},
    {"full-capacity", NULL, "also how many servers a Jellyfish's switches carry at full rate"},
    {"fail-links", "SHARE", "first remove this share (0.05 is 5 %) of the links, at random"},
    {"fail-nodes", "SHARE", "first remove this share (0.05 is 5 %) of the nodes, at random"},
    {"seed", "N", "what fails, where the search for a cut starts, the permutation (default 1)"},
    {"threads", "N", "work on N threads (default: all cores); the result is the same"},
    {0},
};

const struct command command_topo_measure = {
    .name = "topo measure",
    .arguments = "SPEC|FILE",
    .summary = "degrees, distances, bisection, connectivity, throughput of a topology",
    .description =
        "Prints sizes and degrees, whether the network is connected, and how far apart nodes and "
        "servers are: the longest and the mean of all shortest paths, and how many pairs are how "
        "many hops apart.\n\n"
        "A pair is two different nodes, counted once; shares are of all pairs. Where the nodes "
        "are switches, a path between servers also counts the two cables at its ends, so that "
        "servers of one switch are 2 hops apart. Pairs without a path are counted separately and "
        "left "
        "out of means.\n\n"
        "With --fail-links and --fail-nodes everything is measured on what is left. The same seed "
        "at a higher share takes the same links and nodes and more. Failed nodes are gone with "
        "their servers.\n\n"
        "The bisection is a bracket: no two halves of the servers are joined by fewer cables than "
        "the lower bound, which is proved, and the best cut found has as many as the upper. All "
        "other figures are exact.\n\n"
        "Throughput is the largest factor by which all demands can be multiplied and still be "
        "carried at once, under the best routing there is, links having rate 1 in each direction. "
        "Under a permutation (every server sends to one other) and the longest matching (the "
        "same, as far away as possible) it is a share of the server line rate; all-to-all, the "
        "flow of every ordered pair of servers; for a FILE of weft-traffic(5), a factor. The "
        "lower bound is a flow, the upper one follows from weights on the links: both are proofs. "
        "The exit code is 1 if the bracket stays wider than --gap. "
        "Cables between servers and switches are not counted: a network of switches that could "
        "carry more than the servers can send shows more than 1, and server_rate_lower and "
        "server_rate_upper of --json are what is left of it, 1 at most.\n\n"
        "With --routing ecmp or k-shortest traffic keeps to the paths that these choose, so that "
        "the price of routing shows; the bracket then holds for those paths.\n\n"
        "--flow writes the proof, a weft-flow-file(5). --verify reads it back, or reads a FILE "
        "without --throughput, and works out both sides with code of its own. A traffic pattern "
        "is made again and compared; the demands of a traffic file are those in the FILE unless "
        "--against says which they must be.\n\n"
        "--bound is for networks too large for a flow: no routing carries more than two channels "
        "a link, over the hops that the traffic needs at least.\n\n"
        "--full-capacity varies the number of servers of a Jellyfish given as words, by binary "
        "search: a number is carried if three random permutations are, each by proof and to a "
        "millionth, and the "
        "result is confirmed on ten more; if one of them is not, one server fewer is tried on "
        "all thirteen, and so on. Undecided ones count as not carried and are reported.\n\n"
        "Bisection and connectivity take a while on large networks and are measured when asked "
        "for; the last line, and not_measured with --json, say what was not.",
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
