/* k_shortest: considers path lengths from the least up, and for each length takes all paths, or as
 * many as are still wanted.
 *
 * One search from the target gives each node's distance and its number of walks of every slack
 * (walk_table). With these, little work is wasted if walks seldom visit a node twice, as in all
 * networks of high capacity. If they often do (a clique at the end of a corridor), the paths of a
 * length cannot be found in this way; the search then gives up after a bounded effort, and Yen's
 * algorithm does the pair. Both find the same lengths.
 *
 * Of the last length, the paths are chosen uniformly among all, unless Yen's algorithm chose them,
 * whose random order is not uniform. Which algorithm is used depends on graph, pair and k only,
 * never on earlier searches. */
#include "routing/paths/k_shortest.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"
#include "base/rng.h"
#include "routing/paths/path_class.h"
#include "routing/paths/walk_table.h"
#include "routing/paths/yen.h"
#include "topology/topology.h"

/* Listing visits all walks; drawing visits only the walks that are drawn. With at least this many
 * walks per wanted path, drawing is faster. */
#define DRAW_FROM 3
/* Draws that may all fail before listing is tried: if walks are seldom paths, there may be few
 * paths or none, as on a long ring, and listing finds out soon. */
#define DRAW_FIRST 8
/* Largest number of paths to list if drawing did not find enough. */
#define LIST_MAX 256
/* Ports that listing may examine, per port of the graph and wanted path: about what Yen's algorithm
 * examines for one or two hops of a path. */
#define LIST_WORK 2

struct k_shortest {
    const struct graph *graph; /* borrowed */
    struct walk_table table;
    struct path_class class;
    uint32_t *picks; /* indexes of paths in the class, being shuffled */
    size_t pick_capacity;
    struct yen *yen; /* NULL until needed */
};

enum err k_shortest_open(struct k_shortest **out, const struct graph *graph, struct why *why)
{
    struct k_shortest *search = array_new(1, sizeof *search);
    if (!search)
        return why_memory(why);
    search->graph = graph;
    enum err err = walk_table_init(&search->table, graph, why);
    if (!err)
        err = path_class_init(&search->class, graph, why);
    if (!err)
        *out = search;
    else
        k_shortest_close(search);
    return err;
}

void k_shortest_close(struct k_shortest *search)
{
    if (!search)
        return;
    walk_table_fini(&search->table);
    path_class_fini(&search->class);
    yen_close(search->yen);
    free(search->picks);
    free(search);
}

/* No other draw of a seed uses this stream: node numbers do not use the top bit. */
static struct rng pair_rng(uint64_t seed, uint32_t from, uint32_t to)
{
    return rng_make(seed, UINT64_C(1) << 63 | (uint64_t)from << 32 | to);
}

/* Fills the class with all paths of this slack, or with `wanted` of them. */
static enum err class_find(struct k_shortest *search, uint32_t from, uint32_t slack,
                           uint32_t wanted, struct rng *rng, bool *complete, struct why *why)
{
    struct path_class *class = &search->class;
    const struct walk_table *table = &search->table;
    double walks = table->walks[slack][from];
    uint64_t room = LIST_MAX + 4 * (uint64_t)wanted;
    uint64_t work = LIST_WORK * (wanted + (uint64_t)1) * (2 * (uint64_t)search->graph->link_count);
    uint64_t tries = walks > (double)room ? 4 * room : 16 + 3 * (uint64_t)wanted;
    uint32_t path_max = room < UINT32_MAX ? (uint32_t)room : UINT32_MAX;
    bool longer = false; /* the first few draws all failed; more draws may succeed */
    enum err err = OK;
    *complete = false;
    if (walks > DRAW_FROM * (double)wanted) {
        err = path_class_draw(class, table, from, slack, wanted, DRAW_FIRST, tries, rng, complete,
                              why);
        longer = class->count == 0;
    }
    if (!err && !*complete)
        err = path_class_list(class, table, from, slack, path_max, work + 16 * room, complete, why);
    if (!err && !*complete && longer) /* listing gave up: there are many paths or walks */
        err = path_class_draw(class, table, from, slack, wanted, tries, tries, rng, complete, why);
    return err;
}

/* Adds `wanted` paths of the class to the set, or all of them, in random order. */
static enum err class_take(struct k_shortest *search, uint32_t wanted, struct rng *rng,
                           uint32_t *taken, struct path_set *set, struct why *why)
{
    const struct path_class *class = &search->class;
    if (!array_reserve(&search->picks, &search->pick_capacity, class->count, sizeof *search->picks))
        return why_memory(why);
    uint32_t *picks = search->picks, count = (uint32_t) class->count;
    for (uint32_t i = 0; i < count; i++)
        picks[i] = i;
    for (*taken = 0; *taken < wanted && *taken < count; ++*taken) {
        uint32_t rest = count - *taken;
        uint32_t pick = *taken + (rest > 1 ? (uint32_t)rng_below(rng, rest) : 0);
        uint32_t path = picks[pick];
        picks[pick] = picks[*taken];
        enum err err = path_set_path(set, path_class_path(class, path), class->hops, why);
        if (err)
            return err;
    }
    return OK;
}

/* Removes the paths that the pair has so far, and finds its paths with Yen's algorithm instead. */
static enum err turn_to_yen(struct k_shortest *search, uint32_t from, uint32_t to, uint32_t k,
                            enum k_shortest_rule rule, uint64_t seed, struct path_set *set,
                            struct why *why)
{
    size_t first = set->pair_first[set->pair_count - 1];
    if (first < set->path_count) {
        set->hop_count = set->path_first[first];
        set->path_count = first;
        set->pair_first[set->pair_count] = first;
    }
    if (!search->yen) {
        enum err err = yen_open(&search->yen, search->graph, why);
        if (err)
            return err;
    }
    uint32_t hop_max = rule == K_SHORTEST_EQUAL ? search->table.bfs.level[from] : UINT32_MAX;
    struct rng rng = pair_rng(seed, from, to);
    return yen_find(search->yen, from, to, k, hop_max, &rng, set, why);
}

/* Finds the paths between two different nodes that are connected. */
static enum err find_pair(struct k_shortest *search, uint32_t from, uint32_t to, uint32_t k,
                          enum k_shortest_rule rule, uint64_t seed, struct path_set *set,
                          struct why *why)
{
    uint32_t found = 0, taken = 0;
    /* Hops drawn for lengths that turn out to have no path. When they cost as much as a search of
     * the whole graph, Yen's algorithm is used: it is fast if there are few alternatives, as on a
     * ring. */
    uint64_t wasted = 0, wasted_max = 2 * (uint64_t)search->graph->link_count;
    struct rng rng = pair_rng(seed, from, to);
    /* a loopless path visits at most all nodes */
    uint32_t slack_end = search->table.bfs.count - search->table.bfs.level[from];
    for (uint32_t slack = 0; slack < slack_end && found < k; slack++) {
        bool complete = false;
        enum err err = OK;
        if (slack <= WALK_SLACK_MAX && wasted <= wasted_max) {
            err = walk_table_count(&search->table, slack, why);
            if (!err && search->table.walks[slack][from] <= 0)
                continue;
            if (!err)
                err = class_find(search, from, slack, k - found, &rng, &complete, why);
        }
        if (err)
            return err;
        if (!complete)
            return turn_to_yen(search, from, to, k, rule, seed, set, why);
        err = class_take(search, k - found, &rng, &taken, set, why);
        if (err || rule == K_SHORTEST_EQUAL)
            return err;
        found += taken;
        wasted += taken ? 0 : DRAW_FIRST * (uint64_t)search->class.hops;
    }
    return OK;
}

enum err k_shortest_find(struct k_shortest *search, uint32_t from, uint32_t to, uint32_t k,
                         enum k_shortest_rule rule, uint64_t seed, struct path_set *set,
                         struct why *why)
{
    assert(from < search->graph->node_count && to < search->graph->node_count);
    enum err err = path_set_pair(set, why);
    if (err || k == 0)
        return err;
    if (from == to)
        return path_set_path(set, NULL, 0, why);
    walk_table_aim(&search->table, to);
    if (search->table.bfs.level[from] == BFS_UNSEEN)
        return OK;
    return find_pair(search, from, to, k, rule, seed, set, why);
}

/* Indexes of the demands, grouped by destination; NULL if memory is short. */
static size_t *order_by_target(const struct traffic *traffic, uint32_t node_count)
{
    size_t *order = array_new(traffic->count, sizeof *order);
    size_t *position = array_new((size_t)node_count + 1, sizeof *position);
    if (order && position) {
        for (size_t i = 0; i < traffic->count; i++)
            position[traffic->demands[i].to + 1]++;
        for (uint32_t v = 0; v < node_count; v++)
            position[v + 1] += position[v];
        for (size_t i = 0; i < traffic->count; i++)
            order[position[traffic->demands[i].to]++] = i;
    } else {
        free(order);
        order = NULL;
    }
    free(position);
    return order;
}

static enum err refuse_demand(const struct topology *topology, const struct demand *demand,
                              struct why *why)
{
    char from[NODE_NAME_SIZE], to[NODE_NAME_SIZE];
    return why_fail(
        why, ERR_NO, "the traffic has a demand from %.100s to %.100s, but there is no path",
        topology_name(topology, demand->from, from), topology_name(topology, demand->to, to));
}

/* Finds the paths of all demands, in the given order. */
static enum err find_ordered(struct k_shortest *search, const struct topology *topology,
                             const struct traffic *traffic, const size_t *order, uint32_t k,
                             enum k_shortest_rule rule, uint64_t seed, struct path_set *set,
                             struct why *why)
{
    for (size_t i = 0; i < traffic->count; i++) {
        const struct demand *demand = &traffic->demands[order[i]];
        enum err err = k_shortest_find(search, demand->from, demand->to, k, rule, seed, set, why);
        if (err)
            return err;
        if (set->pair_first[i] == set->pair_first[i + 1])
            return refuse_demand(topology, demand, why);
    }
    return OK;
}

/* Copies pair i of `found` to pair order[i] of `set`. */
static enum err paths_reorder(struct path_set *set, const struct path_set *found,
                              const size_t *order, struct why *why)
{
    size_t count = found->pair_count;
    size_t *position = array_new(count, sizeof *position);
    if (!position)
        return why_memory(why);
    for (size_t i = 0; i < count; i++)
        position[order[i]] = i;
    enum err err = OK;
    for (size_t i = 0; i < count && !err; i++) {
        err = path_set_pair(set, why);
        size_t end = found->pair_first[position[i] + 1];
        for (size_t path = found->pair_first[position[i]]; path < end && !err; path++)
            err = path_set_path(set, found->channels + found->path_first[path],
                                found->path_first[path + 1] - found->path_first[path], why);
    }
    free(position);
    return err;
}

enum err k_shortest_traffic(struct path_set *set, const struct topology *topology,
                            const struct traffic *traffic, uint32_t k, enum k_shortest_rule rule,
                            uint64_t seed, struct why *why)
{
    assert(k > 0);
    struct path_set found = {0};
    struct k_shortest *search = NULL;
    *set = (struct path_set){0};
    size_t *order = order_by_target(traffic, topology->graph.node_count);
    enum err err = order ? k_shortest_open(&search, &topology->graph, why) : why_memory(why);
    if (!err)
        err = find_ordered(search, topology, traffic, order, k, rule, seed, &found, why);
    if (!err)
        err = paths_reorder(set, &found, order, why);
    if (err)
        path_set_fini(set);
    path_set_fini(&found);
    k_shortest_close(search);
    free(order);
    return err;
}
