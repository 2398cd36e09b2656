/* pair_lists: which pairs of nodes load a channel, and how much.
 *
 * A symmetric router looks the same from all nodes. The load that the pair (s, d) puts on the
 * channel of some class that leaves node 0 is then the load that (0, d - s) puts on the channel of
 * the same class that leaves -s: the loads from node 0 to all others determine everything, and
 * there are only as many classes as ports. */
#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"
#include "flow/worst/worst_impl.h"
#include "routing/load/load.h"
#include "routing/load/symmetry.h"

/* All nodes must also send: a switch without servers does not. */
static bool is_symmetric(const struct router *router)
{
    return router->symmetric && router->topology->direct;
}

uint32_t pair_lists_classes(const struct router *router)
{
    return is_symmetric(router) ? SYMMETRY_CLASS_MAX
                                : graph_channel_count(&router->topology->graph);
}

uint32_t pair_lists_channel(const struct router *router, uint32_t class)
{
    const struct graph *graph = &router->topology->graph;
    if (!is_symmetric(router))
        return class;
    for (uint32_t slot = graph->first[0]; slot < graph->first[1]; slot++)
        if (symmetry_class(router->topology, graph->channel[slot]) == class)
            return graph->channel[slot];
    assert_unreachable(); /* a class without channels has no pairs */
}

enum err pair_lists_init(struct pair_lists *lists, const struct router *router, size_t held_max,
                         struct why *why)
{
    *lists = (struct pair_lists){.router = router, .held_max = held_max};
    lists->class_count = pair_lists_classes(router);
    lists->lists = array_new(lists->class_count, sizeof *lists->lists);
    return lists->lists ? OK : why_memory(why);
}

static void lists_empty(struct pair_lists *lists, uint32_t first, uint32_t end)
{
    for (uint32_t class = first; class < end; class ++) {
        lists->held -= lists->lists[class].count;
        free(lists->lists[class].pairs);
        lists->lists[class] = (struct pair_list){0};
    }
}

void pair_lists_fini(struct pair_lists *lists)
{
    if (lists->lists)
        lists_empty(lists, 0, lists->class_count);
    free(lists->lists);
    *lists = (struct pair_lists){0};
}

static bool lists_add(struct pair_lists *lists, uint32_t class, struct pair_load pair)
{
    if (class < lists->first || class >= lists->end)
        return true;
    struct pair_list *list = &lists->lists[class];
    if (!array_reserve(&list->pairs, &list->capacity, list->count + 1, sizeof pair))
        return false;
    list->pairs[list->count++] = pair;
    lists->held++;
    while (lists->held > lists->held_max && lists->end - lists->first > 1) {
        uint32_t end = lists->first + (lists->end - lists->first) / 2;
        lists_empty(lists, end, lists->end);
        lists->end = end;
    }
    return true;
}

/* One walk: loads of all channels, all 0 between walks, and the nodes that are still to be
 * visited. */
struct walker {
    struct load_walk *walk;
    double *loads;
    uint32_t *stack; /* room for a node per channel */
};

/* Follows the loaded channels from the source on, adds them to the lists and resets the loads;
 * other channels are not visited. */
static bool collect(struct pair_lists *lists, struct walker *walker, uint32_t from, uint32_t to)
{
    const struct topology *topology = lists->router->topology;
    const struct graph *graph = &topology->graph;
    bool symmetric = is_symmetric(lists->router);
    size_t count = 1;
    walker->stack[0] = from;
    while (count > 0) {
        uint32_t node = walker->stack[--count];
        for (uint32_t slot = graph->first[node]; slot < graph->first[node + 1]; slot++) {
            uint32_t channel = graph->channel[slot], class = channel;
            struct pair_load pair = {from, to, walker->loads[channel]};
            if (!(pair.load > 0))
                continue;
            walker->loads[channel] = 0;
            walker->stack[count++] = graph->to[slot];
            if (symmetric) {
                class = symmetry_class(topology, channel);
                pair.row = symmetry_difference(topology, node, from);
                pair.column = symmetry_difference(topology, node, to);
            }
            if (!lists_add(lists, class, pair))
                return false;
        }
    }
    return true;
}

static enum err fill_from(struct pair_lists *lists, struct walker *walker, uint32_t from,
                          struct why *why)
{
    const struct topology *topology = lists->router->topology;
    for (uint32_t to = 0; to < topology->graph.node_count; to++) {
        double hops = 0;
        if (!topology->sites[to].servers)
            continue; /* a node may send to itself: some algorithms send that through the network */
        enum err err = load_add(walker->walk, from, to, 1, walker->loads, &hops, why);
        if (err)
            return err;
        if (!collect(lists, walker, from, to))
            return why_memory(why);
    }
    return OK;
}

enum err pair_lists_fill(struct pair_lists *lists, uint32_t first, struct why *why)
{
    const struct topology *topology = lists->router->topology;
    size_t channels = graph_channel_count(&topology->graph);
    uint32_t sources = is_symmetric(lists->router) ? 1 : topology->graph.node_count;
    lists_empty(lists, 0, lists->class_count);
    lists->first = first;
    lists->end = lists->class_count;
    struct walker walker = {
        .loads = array_new(channels, sizeof *walker.loads),
        .stack = array_new(channels + 1, sizeof *walker.stack),
    };
    enum err err = walker.loads && walker.stack ? OK : why_memory(why);
    if (!err)
        err = load_walk_open(&walker.walk, lists->router, why);
    for (uint32_t from = 0; from < sources && !err; from++) {
        if (topology->sites[from].servers)
            err = fill_from(lists, &walker, from, why);
        observer_tell(&lists->progress, "loads of pairs", from + 1, sources);
    }
    load_walk_close(walker.walk);
    free(walker.loads);
    free(walker.stack);
    return err;
}
