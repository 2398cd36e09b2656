/* path_table: ecmp and k-shortest: each pair of nodes has a few paths, and a packet (or the flow
 * that it belongs to) takes one of them, all equally likely.
 *
 * The paths of all pairs are found when the router is opened. The state's target is the number of
 * the packet's path in the set, its hops the position on it. The lane is that position too: lanes
 * only increase, so no packets can wait for each other in a circle on any graph. This takes as many
 * lanes as the longest path has hops. */
#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"
#include "routing/algorithms.h"
#include "routing/paths/k_shortest.h"

/* Limit for the bytes of all paths together. */
#define TABLE_MAX ((uint64_t)1 << 30)

static uint64_t table_size(const struct path_set *paths)
{
    return (uint64_t)paths->pair_count * sizeof *paths->pair_first +
           (uint64_t)paths->path_count * sizeof *paths->path_first +
           (uint64_t)paths->hop_count * sizeof *paths->channels;
}

/* Will all paths fit, judging by those to the first `done` of `nodes` nodes? A table that is far
 * too large is refused before it fills the memory. */
static bool table_fits(const struct path_set *paths, uint32_t done, uint32_t nodes)
{
    uint64_t size = table_size(paths);
    assert(done > 0);
    return size <= TABLE_MAX && (double)size / done * nodes <= 2 * (double)TABLE_MAX;
}

static enum err refuse_size(const struct router *router, struct why *why)
{
    return why_fail(why, ERR_USAGE,
                    "%s: the paths of all pairs of %u nodes take more than 1 GiB; try fewer "
                    "--ways, or a smaller network",
                    router->algorithm->name, router->topology->graph.node_count);
}

/* Cables lead both ways, so the error about a pair without a path may name `to`, the lower node,
 * first. */
static enum err find_to(struct k_shortest *search, const struct router *router, uint32_t to,
                        enum k_shortest_rule rule, struct path_set *paths, struct why *why)
{
    const struct topology *topology = router->topology;
    const char *name = router->algorithm->name;
    uint32_t nodes = topology->graph.node_count;
    for (uint32_t from = 0; from < nodes; from++) {
        enum err err = k_shortest_find(search, from, to, router->options.ways, rule,
                                       router->options.seed, paths, why);
        if (err)
            return err;
        char one[NODE_NAME_SIZE], other[NODE_NAME_SIZE];
        if (paths->pair_first[paths->pair_count] == paths->pair_first[paths->pair_count - 1])
            return why_fail(why, ERR_NO, "%s: there is no path from %.100s to %.100s", name,
                            topology_name(topology, to, one), topology_name(topology, from, other));
    }
    return table_fits(paths, to + 1, nodes) ? OK : refuse_size(router, why);
}

static void path_table_close(struct router *router)
{
    path_set_fini(router->tables);
    free(router->tables);
}

static enum err find_all(struct router *router, enum k_shortest_rule rule, struct why *why)
{
    struct path_set *paths = router->tables;
    const struct graph *graph = &router->topology->graph;
    uint64_t nodes = graph->node_count;
    /* With a million nodes, the paths to one node alone may take gigabytes. */
    if (nodes > TABLE_MAX / sizeof *paths->pair_first / (nodes + 1))
        return refuse_size(router, why);
    struct k_shortest *search;
    enum err err = k_shortest_open(&search, graph, why);
    if (err)
        return err;
    for (uint32_t to = 0; to < graph->node_count && !err; to++)
        err = find_to(search, router, to, rule, paths, why);
    k_shortest_close(search);
    router->lane_count = 1;
    for (size_t path = 0; path < paths->path_count; path++) {
        uint32_t hops = (uint32_t)path_set_hops(paths, path);
        router->lane_count = hops > router->lane_count ? hops : router->lane_count;
    }
    assert(router->lane_count <= ROUTE_HOP_MAX); /* longer paths would not fit into memory */
    return err;
}

static enum err path_table_open(struct router *router, enum k_shortest_rule rule, struct why *why)
{
    if (!router->options.ways)
        router->options.ways = ROUTE_WAYS_DEFAULT;
    if (router->options.ways > ROUTE_WAYS_MAX)
        return why_fail(why, ERR_USAGE, "%s: %u ways are too many; the maximum is %u",
                        router->algorithm->name, router->options.ways, ROUTE_WAYS_MAX);
    router->tables = array_new(1, sizeof(struct path_set));
    if (!router->tables)
        return why_memory(why);
    router->move_max = 1;
    router->symmetric = false; /* ties are broken for each pair separately */
    enum err err = find_all(router, rule, why);
    if (err)
        path_table_close(router);
    return err;
}

static enum err ecmp_open(struct router *router, struct why *why)
{
    return path_table_open(router, K_SHORTEST_EQUAL, why);
}

static enum err k_shortest_router_open(struct router *router, struct why *why)
{
    return path_table_open(router, K_SHORTEST_ANY, why);
}

static size_t pair_of(const struct router *router, uint32_t from, uint32_t to)
{
    return (size_t)to * router->topology->graph.node_count + from;
}

static uint32_t path_count(const struct router *router, uint32_t from, uint32_t to)
{
    const struct path_set *paths = router->tables;
    size_t pair = pair_of(router, from, to);
    return (uint32_t)(paths->pair_first[pair + 1] - paths->pair_first[pair]);
}

static double path_start(const struct router *router, uint32_t from, uint32_t to, uint32_t index,
                         struct route_state *state)
{
    const struct path_set *paths = router->tables;
    uint32_t count = path_count(router, from, to);
    assert(index < count);
    *state = (struct route_state){.target = (uint32_t)paths->pair_first[pair_of(router, from, to)] +
                                            index};
    return 1.0 / count;
}

static void path_draw(const struct router *router, uint32_t from, uint32_t to, struct rng *rng,
                      struct route_state *state)
{
    uint32_t count = path_count(router, from, to);
    (void)path_start(router, from, to, count > 1 ? (uint32_t)rng_below(rng, count) : 0, state);
}

static uint32_t path_moves(const struct router *router, uint32_t at, uint32_t to,
                           const struct route_state *state, struct route_move *moves)
{
    const struct path_set *paths = router->tables;
    size_t hop = paths->path_first[state->target] + state->hops;
    if (hop == paths->path_first[state->target + 1])
        return 0;
    moves[0] = (struct route_move){
        .share = 1, .channel = paths->channels[hop], .lane = state->hops, .next = *state};
    moves[0].next.hops++;
    return 1;
}

const struct route_algorithm route_ecmp = {
    .name = "ecmp",
    .summary = "one of at most N shortest paths of each pair (--ways), all equally likely",
    .oblivious = true,
    .open = ecmp_open,
    .close = path_table_close,
    .start_count = path_count,
    .start = path_start,
    .draw = path_draw,
    .moves = path_moves,
};

const struct route_algorithm route_k_shortest = {
    .name = "k-shortest",
    .summary = "one of the N shortest loopless paths of each pair (--ways), all equally likely",
    .oblivious = true,
    .open = k_shortest_router_open,
    .close = path_table_close,
    .start_count = path_count,
    .start = path_start,
    .draw = path_draw,
    .moves = path_moves,
};
