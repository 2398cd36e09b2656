/* jellyfish_paths: the figure of the Jellyfish paper (jellyfish.c names it)
 * about how many paths a link is on, under ECMP and k-shortest-path routing.
 *
 * If a pair has more equally long paths than it uses, the choice among them
 * matters. Here a random draw decides; a second curve takes the paths in the
 * order of their switches' numbers and so shows the effect of that choice. */
#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"
#include "paper/figures.h"
#include "routing/paths/k_shortest.h"
#include "routing/traffic/traffic.h"

#define FIG9_SHORTEST 6.0 /* %, as printed */

enum { FEW_PATHS = 2, RANK_STEP = 14, CHOICE_COUNT = 4 };

/* Which paths a pair of switches uses. */
static const struct fig9_choice {
    const char *name;
    enum k_shortest_rule rule;
    uint32_t ways;
    bool ordered; /* equally long paths by the numbers of their switches, not at random */
} fig9_choices[CHOICE_COUNT] = {
    {"8-way ECMP", K_SHORTEST_EQUAL, 8, false},
    {"64-way ECMP", K_SHORTEST_EQUAL, 64, false},
    {"8 shortest paths", K_SHORTEST_ANY, 8, false},
    {"8 shortest paths, by number", K_SHORTEST_ANY, 8, true},
};

enum { CHOICE_ECMP_8, CHOICE_ECMP_64, CHOICE_SHORTEST, CHOICE_ORDERED };

/* The results of one choice: means over all graphs, and the range of the share `few`. */
struct fig9_tally {
    double *ranked;               /* owned; by rank, fewest first: the number of paths of a link */
    double few, few_min, few_max; /* % of the links that are on at most FEW_PATHS paths */
    double few_by_servers;        /* the same if every pair of servers has paths of its own */
    double paths_per_pair, paths_per_link;
};

struct fig9 {
    struct fig9_tally tallies[CHOICE_COUNT];
    uint32_t links; /* directed; the same in all graphs */
    uint32_t graphs;
};

/* --- which paths --- */

/* The order of the paths of a set: shorter first, then by the numbers of their nodes. */
struct ordering {
    const struct graph *graph;
    const struct path_set *paths;
};

static int path_compare(const void *left, const void *right, void *context)
{
    const struct ordering *ordering = context;
    const struct path_set *paths = ordering->paths;
    const size_t *one = left, *other = right;
    const uint32_t *a = path_set_channels(paths, *one);
    const uint32_t *b = path_set_channels(paths, *other);
    size_t a_hops = path_set_hops(paths, *one);
    size_t b_hops = path_set_hops(paths, *other);
    if (a_hops != b_hops)
        return a_hops < b_hops ? -1 : 1;
    for (size_t i = 0; i < a_hops; i++) {
        uint32_t a_node = graph_channel_to(ordering->graph, a[i]);
        uint32_t b_node = graph_channel_to(ordering->graph, b[i]);
        if (a_node != b_node)
            return a_node < b_node ? -1 : 1;
    }
    return *one < *other ? -1 : *one > *other; /* they differ in parallel cables only */
}

/* Tells whether a search for `asked` paths has found all that are as long as the k-th. */
static bool pool_complete(const struct path_set *pool, size_t asked, size_t k)
{
    size_t last = pool->path_count - 1;
    if (pool->path_count < asked || pool->path_count < k)
        return true;
    return path_set_hops(pool, k - 1) < path_set_hops(pool, last);
}

/* Adds the first k paths of a pair in order. They come from a pool that has all
 * paths which may be among them. */
static enum err ordered_pair(struct path_set *set, struct k_shortest *search,
                             const struct graph *graph, const struct demand *demand, uint32_t k,
                             struct why *why)
{
    struct path_set pool = {0};
    size_t *order = NULL;
    enum err err = OK;
    for (uint32_t asked = 8 * k; !err; asked *= 2) {
        path_set_fini(&pool);
        err =
            k_shortest_find(search, demand->from, demand->to, asked, K_SHORTEST_ANY, 1, &pool, why);
        if (!err && pool_complete(&pool, asked, k))
            break;
    }
    if (!err)
        err = path_set_pair(set, why);
    if (!err && !(order = array_new(pool.path_count, sizeof *order)))
        err = why_memory(why);
    if (!err) {
        struct ordering ordering = {graph, &pool};
        for (size_t p = 0; p < pool.path_count; p++)
            order[p] = p;
        qsort_r(order, pool.path_count, sizeof *order, path_compare, &ordering);
    }
    for (size_t i = 0; i < k && i < pool.path_count && !err; i++) {
        size_t first = pool.path_first[order[i]];
        err = path_set_path(set, pool.channels + first, pool.path_first[order[i] + 1] - first, why);
    }
    free(order);
    path_set_fini(&pool);
    return err;
}

static enum err ordered_traffic(struct path_set *set, const struct graph *graph,
                                const struct traffic *traffic, uint32_t k, struct why *why)
{
    struct k_shortest *search;
    enum err err = k_shortest_open(&search, graph, why);
    if (err)
        return err;
    for (size_t i = 0; i < traffic->count && !err; i++)
        err = ordered_pair(set, search, graph, &traffic->demands[i], k, why);
    k_shortest_close(search);
    return err;
}

/* --- how many of them a link is on --- */

static int count_compare(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

/* Sorts the counts, lowest first. Returns the share of links with at most FEW_PATHS, in %. */
static double counts_rank(uint32_t *counts, uint32_t links)
{
    uint32_t few = 0;
    assert(links > 0);
    qsort(counts, links, sizeof *counts, count_compare);
    while (few < links && counts[few] <= FEW_PATHS)
        few++;
    return 100.0 * few / links;
}

/* Adds the paths of one graph's traffic to the means of a choice. */
static enum err fig9_count(const struct fig9 *fig9, struct fig9_tally *tally,
                           const struct path_set *paths, const struct traffic *traffic,
                           struct why *why)
{
    uint32_t links = fig9->links;
    uint32_t *counts = array_new(2 * (size_t)links, sizeof *counts), *by_servers;
    if (!counts)
        return why_memory(why);
    by_servers = counts + links;
    for (size_t pair = 0; pair < paths->pair_count; pair++) {
        size_t first = paths->path_first[paths->pair_first[pair]];
        size_t last = paths->path_first[paths->pair_first[pair + 1]];
        for (size_t hop = first; hop < last; hop++) {
            counts[paths->channels[hop]]++;
            by_servers[paths->channels[hop]] += (uint32_t)lround(traffic->demands[pair].amount);
        }
    }
    double few = counts_rank(counts, links), graphs = fig9->graphs;
    tally->few += few / graphs;
    tally->few_min = fmin(tally->few_min, few);
    tally->few_max = fmax(tally->few_max, few);
    tally->few_by_servers += counts_rank(by_servers, links) / graphs;
    for (uint32_t rank = 0; rank < links; rank++)
        tally->ranked[rank] += counts[rank] / graphs;
    tally->paths_per_pair += (double)paths->path_count / (double)paths->pair_count / graphs;
    tally->paths_per_link += (double)paths->hop_count / links / graphs;
    free(counts);
    return OK;
}

/* Allocates the tallies once the number of links is known. */
static enum err fig9_begin(struct fig9 *fig9, const struct graph *graph, struct why *why)
{
    if (fig9->links) {
        assert(fig9->links == graph_channel_count(graph));
        return OK;
    }
    fig9->links = graph_channel_count(graph);
    for (int i = 0; i < CHOICE_COUNT; i++) {
        fig9->tallies[i].few_min = 100;
        fig9->tallies[i].ranked = array_new(fig9->links, sizeof *fig9->tallies[i].ranked);
        if (!fig9->tallies[i].ranked)
            return why_memory(why);
    }
    return OK;
}

/* One graph and one permutation of its servers, under every choice. */
static enum err fig9_graph(struct fig9 *fig9, uint64_t seed, struct why *why)
{
    char spec[SPEC_SIZE];
    struct topology topology;
    struct traffic traffic = {0};
    figure_jellyfish_spec(spec, 686, 245, 14, seed);
    enum err err = topology_build(&topology, spec, why);
    if (err)
        return err;
    err = fig9_begin(fig9, &topology.graph, why);
    if (!err)
        err = traffic_permutation(&traffic, &topology, seed, why);
    for (int i = 0; i < CHOICE_COUNT && !err; i++) {
        const struct fig9_choice *choice = &fig9_choices[i];
        struct path_set paths = {0};
        err = choice->ordered
                  ? ordered_traffic(&paths, &topology.graph, &traffic, choice->ways, why)
                  : k_shortest_traffic(&paths, &topology, &traffic, choice->ways, choice->rule,
                                       seed, why);
        if (!err)
            err = fig9_count(fig9, &fig9->tallies[i], &paths, &traffic, why);
        path_set_fini(&paths);
    }
    traffic_fini(&traffic);
    topology_fini(&topology);
    return err;
}

/* --- the figure --- */

static void fig9_rows(struct figure_result *result, const struct fig9 *fig9)
{
    struct figure_table *ranks = figure_table_add(result, "ranks", "routing, rank, paths");
    struct figure_table *shares =
        figure_table_add(result, "shares",
                         "routing, at_most_2 (%), at_most_2_lowest (%), at_most_2_highest (%), "
                         "at_most_2_by_servers (%), paths_per_pair, paths_per_link");
    for (int i = 0; i < CHOICE_COUNT; i++) {
        const struct fig9_tally *tally = &fig9->tallies[i];
        struct figure_cell name = figure_word(fig9_choices[i].name);
        for (uint32_t rank = 0; rank < fig9->links; rank += RANK_STEP)
            figure_row(ranks, (struct figure_cell[]){name, figure_number(rank),
                                                     figure_number(tally->ranked[rank])});
        figure_row(shares,
                   (struct figure_cell[]){
                       name, figure_number(tally->few), figure_number(tally->few_min),
                       figure_number(tally->few_max), figure_number(tally->few_by_servers),
                       figure_number(tally->paths_per_pair), figure_number(tally->paths_per_link)});
    }
}

/* Says how much the share depends on the choice among equally long paths, which
 * the paper does not name. */
static const char *fig9_tie_reason(struct figure_result *result, const struct fig9 *fig9)
{
    double drawn = fig9->tallies[CHOICE_SHORTEST].few;
    double ordered = fig9->tallies[CHOICE_ORDERED].few;
    return figure_text(result,
                       "it depends on the choice among equally long paths: %.1f %% if they are "
                       "drawn at random, %.1f %% if taken in the order of their switches%s",
                       drawn, ordered,
                       drawn < FIG9_SHORTEST && FIG9_SHORTEST < ordered
                           ? "; the paper, whose rule is not known, is in between"
                           : "; the paper does not state its rule");
}

static void fig9_claims(struct figure_result *result, const struct fig9 *fig9)
{
    const struct fig9_tally *tallies = fig9->tallies;
    figure_claim(result, "fig 9", "8-way ECMP: links on at most 2 paths", says_equal(55, 2.5, "%"),
                 tallies[CHOICE_ECMP_8].few,
                 figure_text(result,
                             "the paper's \"about 55 %%\" is of one graph; over %u graphs it is "
                             "%.1f to %.1f %%",
                             fig9->graphs, tallies[CHOICE_ECMP_8].few_min,
                             tallies[CHOICE_ECMP_8].few_max));
    figure_claim(result, "fig 9", "the same, less the share under 64-way ECMP",
                 says_equal(0, 5, "%"), tallies[CHOICE_ECMP_8].few - tallies[CHOICE_ECMP_64].few,
                 NULL);
    figure_claim(result, "fig 9", "8 shortest paths: links on at most 2 paths",
                 says_equal(FIG9_SHORTEST, 0.5, "%"), tallies[CHOICE_SHORTEST].few,
                 fig9_tie_reason(result, fig9));
}

static enum err fig9_run(struct figure_result *result, const struct figure_call *call,
                         struct why *why)
{
    struct fig9 fig9 = {.graphs = call->quick ? 2 : 20};
    enum err err = OK;
    for (uint32_t i = 0; i < fig9.graphs && !err; i++) {
        err = fig9_graph(&fig9, call->seed + i, why);
        figure_progress(call, i + 1, fig9.graphs);
    }
    if (!err) {
        fig9_rows(result, &fig9);
        fig9_claims(result, &fig9);
    }
    for (int i = 0; i < CHOICE_COUNT; i++)
        free(fig9.tallies[i].ranked);
    return err;
}

const struct figure figure_jelly_fig9 = {
    .name = "jelly-fig9",
    .paper = "Jellyfish",
    .what = "how many paths a link is on, with ECMP and with the 8 shortest paths",
    .full = {"20 graphs of 245 switches and 686 servers, a permutation of servers on each",
             .seconds = 4},
    .quick = {"2 graphs of 245 switches and 686 servers, a permutation of servers on each",
              .seconds = 0.5},
    .choice =
        "Each server sends to another one, drawn at random. Paths are paths between switches: "
        "servers on the same two switches share them, and they count once (the column "
        "at_most_2_by_servers of the table \"shares\", which --out writes, counts them for each "
        "pair of servers). The choice among equally long paths is random, except in the curve "
        "\"ties by number\". All numbers are means over the graphs, also at each rank.",
    .plot.table = "ranks",
    .plot.x = {.column = "rank", .label = "rank of the link"},
    .plot.y = {.label = "paths that the link is on"},
    .plot.series =
        {
            {"8 shortest paths", "paths", "routing", "8 shortest paths", STYLE_LINE},
            {"8 shortest paths, ties by number", "paths", "routing", "8 shortest paths, by number",
             STYLE_LINE},
            {"64-way ECMP", "paths", "routing", "64-way ECMP", STYLE_LINE},
            {"8-way ECMP", "paths", "routing", "8-way ECMP", STYLE_LINE},
        },
    .run = fig9_run,
};
