/* distance: all pairs of a random regular graph, compared with igraph on the same graph in the same
 * run, on one core; then sizes for which igraph's matrix of distances (8 bytes a pair) does not fit
 * into memory. */
#include <igraph.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "bench.h"
#include "topology/measure/distance.h"
#include "topology/topology.h"

#define DEGREE 24

struct pair {
    struct topology topology;
    igraph_t graph;
    struct distance_tally tally; /* ours, of the last run */
    igraph_real_t sum;           /* igraph's, of all distances */
    char spec[SPEC_SIZE];
};

static void build(void *context)
{
    struct pair *pair = context;
    struct why why;
    topology_fini(&pair->topology);
    if (topology_build(&pair->topology, pair->spec, &why))
        bench_fail("%s", why.text);
}

static void igraph_build(struct pair *pair)
{
    const struct graph *graph = &pair->topology.graph;
    igraph_vector_int_t ends;
    if (igraph_vector_int_init(&ends, 2 * (igraph_integer_t)graph->link_count))
        bench_fail("igraph: not enough memory");
    for (uint32_t e = 0; e < graph->link_count; e++) {
        VECTOR(ends)[2 * e] = graph->links[e].a;
        VECTOR(ends)[2 * e + 1] = graph->links[e].b;
    }
    if (igraph_create(&pair->graph, &ends, graph->node_count, IGRAPH_UNDIRECTED))
        bench_fail("igraph: cannot build the graph");
    igraph_vector_int_destroy(&ends);
}

static void run_weft(void *context)
{
    struct pair *pair = context;
    struct why why;
    distance_tally_fini(&pair->tally);
    if (distance_tally_add(&pair->tally, &pair->topology, 0, pair->topology.graph.node_count, &why))
        bench_fail("%s", why.text);
}

static void run_igraph_distances(void *context)
{
    struct pair *pair = context;
    igraph_matrix_t distances;
    if (igraph_matrix_init(&distances, 0, 0) ||
        igraph_distances(&pair->graph, &distances, igraph_vss_all(), igraph_vss_all(), IGRAPH_ALL))
        bench_fail("igraph: igraph_distances failed");
    pair->sum = igraph_matrix_sum(&distances);
    igraph_matrix_destroy(&distances);
}

static void run_igraph_histogram(void *context)
{
    struct pair *pair = context;
    igraph_vector_t histogram;
    igraph_real_t apart;
    if (igraph_vector_init(&histogram, 0) ||
        igraph_path_length_hist(&pair->graph, &histogram, &apart, false))
        bench_fail("igraph: igraph_path_length_hist failed");
    pair->sum = 0;
    for (igraph_integer_t i = 0; i < igraph_vector_size(&histogram); i++)
        pair->sum += 2 * (double)(i + 1) * VECTOR(histogram)[i];
    igraph_vector_destroy(&histogram);
}

/* Both sides must have the same result, otherwise the times are meaningless. */
static void agree(const struct pair *pair, const char *what)
{
    double sum = 0;
    for (uint32_t d = 0; d < pair->tally.length; d++)
        sum += (double)d * (double)pair->tally.nodes[d];
    if (sum != pair->sum)
        bench_fail("%s: the distances add up to %.0f in weft and to %.0f in igraph", what, sum,
                   pair->sum);
}

static void compare(struct bench *bench, uint32_t nodes, int rounds)
{
    struct pair pair = {0};
    char what[BENCH_WHAT_SIZE];
    snprintf(pair.spec, sizeof pair.spec, "jellyfish:n=%u,degree=%d,seed=1", nodes, DEGREE);
    build(&pair);
    igraph_build(&pair);
    snprintf(what, sizeof what, "all pairs, %u nodes, igraph_distances", nodes);
    bench_run(bench, what,
              (const struct bench_side[]){{"weft", run_weft, &pair},
                                          {"igraph", run_igraph_distances, &pair}},
              2, rounds);
    agree(&pair, what);
    snprintf(what, sizeof what, "all pairs, %u nodes, igraph_path_length_hist", nodes);
    bench_run(bench, what,
              (const struct bench_side[]){{"weft", run_weft, &pair},
                                          {"igraph", run_igraph_histogram, &pair}},
              2, 1);
    agree(&pair, what);
    distance_tally_fini(&pair.tally);
    igraph_destroy(&pair.graph);
    topology_fini(&pair.topology);
}

/* Runs before igraph, so that the peak of memory is ours. */
static void alone(struct bench *bench, uint32_t nodes, int rounds)
{
    struct pair pair = {0};
    struct rusage usage;
    char what[BENCH_WHAT_SIZE];
    snprintf(pair.spec, sizeof pair.spec, "jellyfish:n=%u,degree=%d,seed=1", nodes, DEGREE);
    snprintf(what, sizeof what, "building %u nodes", nodes);
    bench_run(bench, what, &(struct bench_side){"weft", build, &pair}, 1, rounds);
    snprintf(what, sizeof what, "all pairs, %u nodes", nodes);
    bench_run(bench, what, &(struct bench_side){"weft", run_weft, &pair}, 1, 1);
    getrusage(RUSAGE_SELF, &usage);
    snprintf(what, sizeof what, "most memory until here, %u nodes", nodes);
    bench_add(bench, what, "MiB", &(struct bench_value){"weft", (double)usage.ru_maxrss / 1024}, 1);
    distance_tally_fini(&pair.tally);
    topology_fini(&pair.topology);
}

int main(int count, char **words)
{
    static struct bench bench;
    bench_start(&bench, count, words);
    bench.cpu = true;
    alone(&bench, bench.quick ? 10000 : 100000, 3);
    compare(&bench, bench.quick ? 2000 : 10000, 3);
    return bench_finish(&bench);
}
