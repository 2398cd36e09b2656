/* worst: solves one class of channels after the other, the class with the highest limit first.
 *
 * The limit of a class is the sum of the largest entries of its rows, or of its columns if that is
 * less: no permutation loads the channel more. A class is skipped if its limit does not exceed the
 * worst load found so far. */
#include "flow/worst/worst.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "flow/worst/worst_impl.h"

#define HELD_MAX ((size_t)24 << 20) /* pairs of 16 bytes, 400 MB */

void worst_fini(struct worst *worst)
{
    free(worst->to);
    *worst = (struct worst){0};
}

enum err worst_traffic(const struct worst *worst, const struct topology *topology,
                       struct traffic *traffic, struct why *why)
{
    uint32_t nodes = topology->graph.node_count;
    struct demand *demands = array_new(nodes, sizeof *demands);
    double *to_self = array_new(nodes, sizeof *to_self);
    size_t count = 0;
    if (!demands || !to_self) {
        free(demands);
        free(to_self);
        return why_memory(why);
    }
    for (uint32_t v = 0; v < nodes; v++) {
        if (!topology->sites[v].servers)
            continue;
        to_self[v] = worst->to[v] == v;
        demands[count++] = (struct demand){v, worst->to[v], 1};
    }
    enum err err = traffic_make(traffic, demands, count, why);
    if (err) {
        free(to_self);
        return err;
    }
    traffic->to_self = to_self;
    traffic->name = "worst permutation";
    return OK;
}

/* Checks that there is a path from each node with servers to the next such node. Then all of them
 * reach each other. */
static enum err check_reach(const struct topology *topology, struct why *why)
{
    uint32_t nodes = topology->graph.node_count, first = NODE_NONE, last = NODE_NONE;
    struct demand *demands = array_new(nodes, sizeof *demands);
    if (!demands)
        return why_memory(why);
    size_t count = 0;
    for (uint32_t v = 0; v < nodes; v++) {
        if (!topology->sites[v].servers)
            continue;
        if (first == NODE_NONE)
            first = v;
        else
            demands[count++] = (struct demand){last, v, 1};
        last = v;
    }
    if (count == 0) {
        free(demands);
        return why_fail(why, ERR_USAGE, "a worst case needs at least two nodes with servers");
    }
    struct traffic traffic;
    enum err err = traffic_make(&traffic, demands, count, why);
    if (err)
        return err;
    traffic.name = "worst case";
    err = traffic_check_reach(&traffic, topology, why);
    traffic_fini(&traffic);
    return err;
}

struct ranked {
    double limit;
    uint32_t class;
};

static int ranked_compare(const void *one, const void *other)
{
    const struct ranked *a = one, *b = other;
    if (a->limit != b->limit)
        return a->limit > b->limit ? -1 : 1;
    return a->class < b->class ? -1 : a->class > b->class;
}

struct search {
    struct worst *worst;
    const struct router *router;
    struct pair_lists lists;
    struct ranked *ranked; /* the classes in memory that have pairs */
    uint32_t *to;          /* of the current class */
    struct observer progress;
    uint32_t done; /* classes that are done */
};

static enum err search_class(struct search *search, struct ranked ranked, struct why *why)
{
    struct worst *worst = search->worst;
    uint32_t nodes = search->router->topology->graph.node_count;
    struct heaviest heaviest;
    if (ranked.limit <= worst->load)
        return OK; /* all that follow are skipped in the same way */
    enum err err =
        pair_list_heaviest(&search->lists.lists[ranked.class], nodes, search->to, &heaviest, why);
    if (err)
        return err;
    worst->solved++;
    worst->bound = fmax(worst->bound, fmax(heaviest.bound, heaviest.load));
    if (heaviest.load <= worst->load)
        return OK;
    worst->load = heaviest.load;
    worst->channel = pair_lists_channel(search->router, ranked.class);
    memcpy(worst->to, search->to, nodes * sizeof *worst->to);
    return OK;
}

/* Searches the classes in memory, those with the highest limit first. */
static enum err search_lists(struct search *search, struct why *why)
{
    const struct pair_lists *lists = &search->lists;
    uint32_t nodes = search->router->topology->graph.node_count, count = 0;
    enum err err = OK;
    for (uint32_t class = lists->first; class < lists->end && !err; class ++) {
        struct ranked ranked = {.class = class};
        if (!lists->lists[class].count)
            continue;
        err = pair_list_limit(&lists->lists[class], nodes, &ranked.limit, why);
        search->ranked[count++] = ranked;
    }
    search->worst->class_count += count;
    qsort(search->ranked, count, sizeof *search->ranked, ranked_compare);
    for (uint32_t i = 0; i < count && !err; i++) {
        observer_tell(&search->progress, "worst permutation", i, count);
        err = search_class(search, search->ranked[i], why);
    }
    return err;
}

/* Gives a receiver to every node that the heaviest permutation left without one: the node itself if
 * no other node sends to it, else a node that has no sender yet. Nodes without servers send to
 * themselves. */
static enum err complete(struct worst *worst, const struct topology *topology, struct why *why)
{
    uint32_t nodes = topology->graph.node_count, next = 0;
    uint8_t *taken = array_new(nodes, 1);
    if (!taken)
        return why_memory(why);
    for (uint32_t v = 0; v < nodes; v++)
        if (worst->to[v] != NODE_NONE)
            taken[worst->to[v]] = 1;
    for (uint32_t v = 0; v < nodes; v++)
        if (worst->to[v] == NODE_NONE && !taken[v]) {
            worst->to[v] = v;
            taken[v] = 1;
        }
    for (uint32_t v = 0; v < nodes; v++) {
        if (worst->to[v] != NODE_NONE)
            continue;
        while (taken[next])
            next++;
        worst->to[v] = next;
        taken[next] = 1;
    }
    free(taken);
    return OK;
}

static enum err search_run(struct search *search, size_t held_max, struct why *why)
{
    uint32_t nodes = search->router->topology->graph.node_count;
    enum err err = pair_lists_init(&search->lists, search->router, held_max, why);
    if (err)
        return err;
    search->lists.progress = search->progress;
    search->to = array_new(nodes, sizeof *search->to);
    search->ranked = array_new(search->lists.class_count, sizeof *search->ranked);
    search->worst->to = array_new(nodes, sizeof *search->worst->to);
    if (!search->to || !search->ranked || !search->worst->to)
        return why_memory(why);
    for (uint32_t v = 0; v < nodes; v++)
        search->worst->to[v] = NODE_NONE;
    for (uint32_t first = 0; first < search->lists.class_count && !err; first = search->lists.end) {
        err = pair_lists_fill(&search->lists, first, why);
        if (!err)
            err = search_lists(search, why);
    }
    return err ? err : complete(search->worst, search->router->topology, why);
}

enum err worst_find_within(struct worst *worst, const struct router *router, size_t held_max,
                           struct observer progress, struct why *why)
{
    struct search search = {.worst = worst, .router = router, .progress = progress};
    *worst = (struct worst){0};
    if (!router->algorithm->oblivious)
        return why_fail(why, ERR_USAGE,
                        "%s: packets choose their path by load, so the worst permutation cannot be "
                        "computed; use an oblivious algorithm",
                        router->algorithm->name);
    enum err err = check_reach(router->topology, why);
    if (!err)
        err = search_run(&search, held_max, why);
    pair_lists_fini(&search.lists);
    free(search.to);
    free(search.ranked);
    if (err)
        worst_fini(worst);
    return err;
}

enum err worst_find(struct worst *worst, const struct router *router, struct observer progress,
                    struct why *why)
{
    return worst_find_within(worst, router, HELD_MAX, progress, why);
}
