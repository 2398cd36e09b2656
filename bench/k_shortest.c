/* k_shortest: the 8 shortest loopless paths of all ordered pairs of 245 switches, compared with
 * networkx.shortest_simple_paths on the same graph in the same run, on one core; then a network for
 * which networkx would need hours.
 *
 * networkx gets a random sample of the pairs, a new one in each round, and both times are per pair;
 * the lengths of the paths of every sampled pair must agree. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "base/rng.h"
#include "bench.h"
#include "peer.h"
#include "routing/paths/k_shortest.h"
#include "topology/topology.h"

#define K          8
#define LINE_SIZE  256
#define ROUNDS_MAX 5

struct contest {
    struct topology topology;
    struct k_shortest *search;
    struct path_set paths; /* of all pairs: to * nodes + from */
    uint32_t (*sample)[2]; /* pairs, from and to */
    uint32_t sample_count;
};

static void contest_open(struct contest *contest, const char *spec, uint32_t sample_count)
{
    struct why why;
    *contest = (struct contest){.sample_count = sample_count};
    if (topology_build(&contest->topology, spec, &why) ||
        k_shortest_open(&contest->search, &contest->topology.graph, &why))
        bench_fail("%s", why.text);
    contest->sample = array_new(sample_count, sizeof *contest->sample);
    if (!contest->sample)
        bench_fail("not enough memory");
}

static void contest_close(struct contest *contest)
{
    k_shortest_close(contest->search);
    path_set_fini(&contest->paths);
    topology_fini(&contest->topology);
    free(contest->sample);
}

/* Seconds per pair, over all pairs of different nodes. With `keep` all paths are kept, otherwise
 * only those to one node at a time. */
static double run_weft(const struct bench *bench, struct contest *contest, bool keep)
{
    uint32_t nodes = contest->topology.graph.node_count;
    struct path_set *paths = &contest->paths;
    struct why why;
    path_set_fini(paths);
    double started = bench_seconds(bench);
    for (uint32_t to = 0; to < nodes; to++) {
        if (!keep)
            path_set_clear(paths);
        for (uint32_t from = 0; from < nodes; from++)
            if (k_shortest_find(contest->search, from, to, K, K_SHORTEST_ANY, 1, paths, &why))
                bench_fail("%s", why.text);
    }
    return (bench_seconds(bench) - started) / ((double)nodes * (nodes - 1));
}

static void draw_sample(struct contest *contest, struct rng *rng)
{
    uint32_t nodes = contest->topology.graph.node_count;
    for (uint32_t i = 0; i < contest->sample_count; i++) {
        uint32_t from = (uint32_t)rng_below(rng, nodes);
        contest->sample[i][0] = from;
        contest->sample[i][1] = (from + 1 + (uint32_t)rng_below(rng, nodes - 1)) % nodes;
    }
}

static void write_problem(const struct contest *contest, FILE *file)
{
    const struct graph *graph = &contest->topology.graph;
    assert(file);
    fprintf(file, "k %d\n", K);
    for (uint32_t e = 0; e < graph->link_count; e++)
        fprintf(file, "link %u %u\n", graph->links[e].a, graph->links[e].b);
    for (uint32_t i = 0; i < contest->sample_count; i++)
        fprintf(file, "pair %u %u\n", contest->sample[i][0], contest->sample[i][1]);
}

/* The line of lengths that networkx printed must equal ours. */
static void agree(const struct contest *contest, uint32_t index, const char *line)
{
    const struct path_set *paths = &contest->paths;
    uint32_t from = contest->sample[index][0], to = contest->sample[index][1];
    size_t pair = (size_t)to * contest->topology.graph.node_count + from;
    const char *theirs = line;
    for (size_t path = paths->pair_first[pair]; path < paths->pair_first[pair + 1]; path++) {
        char *end;
        size_t hops = path_set_hops(paths, path);
        if (strtoull(theirs, &end, 10) != hops || end == theirs)
            bench_fail("from %u to %u: a path of %zu hops is not among '%s'", from, to, hops, line);
        theirs = end;
    }
    if (strspn(theirs, " \n") != strlen(theirs))
        bench_fail("from %u to %u: networkx has more paths: %s", from, to, line);
}

/* Reads what networkx printed: its time, then the lengths. */
static bool read_answer(const struct contest *contest, FILE *answer, double *seconds)
{
    char line[LINE_SIZE];
    assert(answer);
    uint32_t count = 0;
    if (!fgets(line, sizeof line, answer) || sscanf(line, "%lf", seconds) != 1)
        return false;
    while (count < contest->sample_count && fgets(line, sizeof line, answer))
        agree(contest, count++, line);
    return count == contest->sample_count;
}

/* Seconds per pair of a new sample. Returns false if networkx is not installed. */
static bool run_networkx(struct contest *contest, struct rng *rng, double *seconds)
{
    struct peer_script peer;
    peer_open(&peer);
    draw_sample(contest, rng);
    write_problem(contest, peer.problem);
    peer_start(&peer, PEER_SCRIPT);
    bool answered = read_answer(contest, peer.answer, seconds);
    *seconds /= contest->sample_count;
    return peer_close(&peer, "networkx", answered);
}

static void compare(struct bench *bench, int rounds, uint32_t sample_count)
{
    struct contest contest;
    struct rng rng = rng_make(1, 0);
    double ours[ROUNDS_MAX], theirs[ROUNDS_MAX] = {0};
    char what[BENCH_WHAT_SIZE];
    bool peer = true;
    contest_open(&contest, "jellyfish:servers=686,switches=245,ports=14,seed=1", sample_count);
    for (int round = 0; round < rounds; round++) {
        ours[round] = run_weft(bench, &contest, true);
        if (peer)
            peer = run_networkx(&contest, &rng, &theirs[round]);
    }
    struct bench_value values[] = {{"weft", bench_median(ours, rounds) * 1e6},
                                   {"networkx", bench_median(theirs, rounds) * 1e6},
                                   {"ratio", 0}};
    values[2].value = values[1].value / values[0].value;
    if (peer)
        snprintf(what, sizeof what, "k = %d, 245 switches: all pairs, networkx %d x %u of them", K,
                 rounds, sample_count);
    else
        snprintf(what, sizeof what, "k = %d, 245 switches: all pairs", K);
    bench_add(bench, what, "us per pair", values, peer ? 3 : 1);
    contest_close(&contest);
}

static void alone(struct bench *bench, uint32_t nodes)
{
    struct contest contest;
    char spec[SPEC_SIZE], what[BENCH_WHAT_SIZE];
    snprintf(spec, sizeof spec, "jellyfish:n=%u,degree=24,seed=1", nodes);
    snprintf(what, sizeof what, "k = %d, %u switches of degree 24: all pairs", K, nodes);
    contest_open(&contest, spec, 1);
    struct bench_value value = {"weft", run_weft(bench, &contest, false) * 1e6};
    bench_add(bench, what, "us per pair", &value, 1);
    contest_close(&contest);
}

int main(int count, char **words)
{
    static struct bench bench;
    bench_start(&bench, count, words);
    bench.cpu = true;
    compare(&bench, bench.quick ? 3 : ROUNDS_MAX, bench.quick ? 300 : 4000);
    alone(&bench, bench.quick ? 300 : 2000);
    return bench_finish(&bench);
}
