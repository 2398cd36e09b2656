/* certificate_verify: computes both bounds of a throughput again.
 *
 * The lower bound: every path is followed from its demand's source; its rate is added to each
 * channel on the way and to its demand. The upper bound: weights w on channels allow at most sum(w)
 * / sum(demand * distance under w) under any routing, because a unit of flow from a to b uses
 * channels whose weights sum to at least the distance from a to b, and the weights of all channels
 * sum to sum(w).
 *
 * Every sum of many terms is compensated, so that differences are larger than rounding errors.
 * Nothing here is shared with the solver. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "flow/concurrent/certificate.h"

/* Neumaier's sum: the rounding error of each addition is kept separately. */
struct sum {
    double high, low;
};

static void sum_add(struct sum *sum, double term)
{
    double next = sum->high + term;
    if (fabs(sum->high) >= fabs(term))
        sum->low += (sum->high - next) + term;
    else
        sum->low += (term - next) + sum->high;
    sum->high = next;
}

static double sum_value(const struct sum *sum)
{
    return sum->high + sum->low;
}

struct verifier {
    const struct certificate *certificate;
    const struct topology *topology;
    const struct path_set *paths; /* NULL: any path */
    struct why *why;
    struct sum *loads; /* owned; per channel */
    uint32_t *walk;    /* owned; the channels of one path */
    size_t walk_capacity;
    double *distance;  /* owned; per node, from one source */
    uint32_t *heap;    /* owned; nodes, the nearest first ... */
    uint32_t *slot_of; /* owned; ... and the position of each node in it, or NODE_NONE */
    uint32_t heap_count;
};

static bool differ(double one, double other)
{
    return !(fabs(one - other) <= CERTIFICATE_TOLERANCE * fmax(fabs(one), fabs(other)));
}

static const char *node_name(const struct verifier *verifier, uint32_t node,
                             char buffer[NODE_NAME_SIZE])
{
    return topology_name(verifier->topology, node, buffer);
}

#define fail_at(verifier, line, ...)                                                               \
    why_fail_line((verifier)->why, (verifier)->certificate->name, (line), __VA_ARGS__)

/* --- is the file about this topology and this traffic? --- */

static enum err check_links(const struct verifier *verifier)
{
    const struct certificate *certificate = verifier->certificate;
    const struct graph *graph = &verifier->topology->graph;
    char a[NODE_NAME_SIZE], b[NODE_NAME_SIZE];
    if (certificate->node_count != graph->node_count ||
        certificate->link_count != graph->link_count)
        return why_fail(verifier->why, ERR_INPUT,
                        "%s: the file is for %u nodes and %zu links, but the topology has %u and "
                        "%u; give the topology that the file was written for",
                        certificate->name, certificate->node_count, certificate->link_count,
                        graph->node_count, graph->link_count);
    for (uint32_t e = 0; e < graph->link_count; e++) {
        const struct certificate_link *link = &certificate->links[e];
        if (link->a != graph->links[e].a || link->b != graph->links[e].b)
            return fail_at(verifier, link->line,
                           "link %u of the topology joins %.60s and %.60s, not these nodes", e,
                           node_name(verifier, graph->links[e].a, a),
                           node_name(verifier, graph->links[e].b, b));
        if (!(link->weights[0] >= 0) || !(link->weights[1] >= 0))
            return fail_at(verifier, link->line, "a weight is negative");
    }
    return OK;
}

static enum err check_demands(const struct verifier *verifier)
{
    const struct certificate *certificate = verifier->certificate;
    size_t count = certificate->flow.pair_count;
    if (count != certificate->demand_count)
        return why_fail(verifier->why, ERR_INPUT,
                        "%s: the file has %zu demands, but demand_count is %llu", certificate->name,
                        count, (unsigned long long)certificate->demand_count);
    if (count == 0)
        return why_fail(verifier->why, ERR_INPUT, "%s: the file has no demands", certificate->name);
    return OK;
}

static enum err check_traffic(const struct verifier *verifier, const struct traffic *traffic)
{
    const struct certificate *certificate = verifier->certificate;
    char from[NODE_NAME_SIZE], to[NODE_NAME_SIZE];
    size_t count = certificate->flow.pair_count;
    for (size_t i = 0; i < count && i < traffic->count; i++) {
        const struct demand *is = &certificate->demands[i], *should = &traffic->demands[i];
        if (is->from != should->from || is->to != should->to || differ(is->amount, should->amount))
            return fail_at(verifier, certificate->demand_lines[i],
                           "demand %zu of the traffic is another one: %.12g from %.60s to %.60s",
                           i + 1, should->amount, node_name(verifier, should->from, from),
                           node_name(verifier, should->to, to));
    }
    if (count != traffic->count)
        return why_fail(verifier->why, ERR_INPUT,
                        "%s: the file has %zu demands, but the traffic has %zu", certificate->name,
                        count, traffic->count);
    if (differ(certificate->local, traffic->local))
        return why_fail(verifier->why, ERR_INPUT,
                        "%s: local is %.12g, but the traffic within nodes is %.12g",
                        certificate->name, certificate->local, traffic->local);
    return OK;
}

/* --- the lower bound --- */

/* Writes the channels of a path, from its links, to verifier->walk. */
static enum err walk_path(struct verifier *verifier, size_t path, const struct demand *demand)
{
    const struct certificate *certificate = verifier->certificate;
    const struct graph *graph = &verifier->topology->graph;
    const uint32_t *links = path_set_channels(&certificate->flow, path);
    size_t hops = path_set_hops(&certificate->flow, path);
    unsigned long line = certificate->path_lines[path];
    char name[NODE_NAME_SIZE], end[NODE_NAME_SIZE];
    uint32_t at = demand->from;
    if (!array_reserve(&verifier->walk, &verifier->walk_capacity, hops, sizeof *verifier->walk))
        return why_memory(verifier->why);
    for (size_t i = 0; i < hops; i++) {
        if (links[i] >= graph->link_count)
            return fail_at(verifier, line, "the topology has no link %u", links[i]);
        const struct link *link = &graph->links[links[i]];
        if (at != link->a && at != link->b)
            return fail_at(verifier, line, "not a path: link %u has no end at node %.60s", links[i],
                           node_name(verifier, at, name));
        verifier->walk[i] = 2 * links[i] + (at == link->b);
        at = at == link->a ? link->b : link->a;
    }
    if (at != demand->to)
        return fail_at(verifier, line, "the path ends at node %.60s, but its demand goes to %.60s",
                       node_name(verifier, at, name), node_name(verifier, demand->to, end));
    return OK;
}

/* Is the walk one of the allowed paths of this pair? */
static bool walk_allowed(const struct verifier *verifier, size_t pair, size_t hops)
{
    const struct path_set *paths = verifier->paths;
    for (size_t p = paths->pair_first[pair]; p < paths->pair_first[pair + 1]; p++)
        if (path_set_hops(paths, p) == hops &&
            !memcmp(path_set_channels(paths, p), verifier->walk, hops * sizeof *verifier->walk))
            return true;
    return false;
}

static enum err add_path(struct verifier *verifier, size_t pair, size_t path, struct sum *carried)
{
    const struct certificate *certificate = verifier->certificate;
    double rate = certificate->rates[path];
    size_t hops = path_set_hops(&certificate->flow, path);
    if (!(rate >= 0))
        return fail_at(verifier, certificate->path_lines[path], "a rate is negative");
    enum err err = walk_path(verifier, path, &certificate->demands[pair]);
    if (err)
        return err;
    if (verifier->paths && !walk_allowed(verifier, pair, hops))
        return fail_at(verifier, certificate->path_lines[path],
                       "%s routing with %u ways does not choose this path",
                       certificate_routing_names[certificate->about.routing],
                       certificate->about.ways);
    for (size_t i = 0; i < hops; i++)
        sum_add(&verifier->loads[verifier->walk[i]], rate);
    sum_add(carried, rate);
    return OK;
}

/* Adds up all paths; *least is the smallest share of a demand that is carried. */
static enum err add_flow(struct verifier *verifier, double *least)
{
    const struct certificate *certificate = verifier->certificate;
    const struct path_set *flow = &certificate->flow;
    char from[NODE_NAME_SIZE], to[NODE_NAME_SIZE];
    *least = INFINITY;
    for (size_t i = 0; i < flow->pair_count; i++) {
        const struct demand *demand = &certificate->demands[i];
        struct sum carried = {0, 0};
        for (size_t p = flow->pair_first[i]; p < flow->pair_first[i + 1]; p++) {
            enum err err = add_path(verifier, i, p, &carried);
            if (err)
                return err;
        }
        double total = sum_value(&carried), share = total / demand->amount;
        if (differ(total, certificate->lower * demand->amount))
            return fail_at(verifier, certificate->demand_lines[i],
                           "the paths from %.60s to %.60s carry %.12g, but throughput_lower %.12g "
                           "times the amount %.12g is %.12g",
                           node_name(verifier, demand->from, from),
                           node_name(verifier, demand->to, to), total, certificate->lower,
                           demand->amount, certificate->lower * demand->amount);
        *least = share < *least ? share : *least;
    }
    return OK;
}

static enum err check_loads(const struct verifier *verifier, double *load_max)
{
    const struct graph *graph = &verifier->topology->graph;
    char from[NODE_NAME_SIZE], to[NODE_NAME_SIZE];
    *load_max = 0;
    for (uint32_t c = 0; c < graph_channel_count(graph); c++) {
        double load = sum_value(&verifier->loads[c]);
        if (!(load <= 1 + CERTIFICATE_TOLERANCE))
            return why_fail(verifier->why, ERR_INPUT,
                            "%s: link %u carries %.12g from %.60s to %.60s, but its capacity is 1",
                            verifier->certificate->name, c / 2, load,
                            node_name(verifier, graph_channel_from(graph, c), from),
                            node_name(verifier, graph_channel_to(graph, c), to));
        *load_max = load > *load_max ? load : *load_max;
    }
    return OK;
}

/* --- the upper bound --- */

static double channel_weight(const struct verifier *verifier, uint32_t channel)
{
    return verifier->certificate->links[channel / 2].weights[channel & 1];
}

static void heap_put(struct verifier *verifier, uint32_t slot, uint32_t node)
{
    verifier->heap[slot] = node;
    verifier->slot_of[node] = slot;
}

static void heap_rise(struct verifier *verifier, uint32_t slot)
{
    uint32_t node = verifier->heap[slot];
    while (slot > 0) {
        uint32_t above = verifier->heap[(slot - 1) / 2];
        if (verifier->distance[above] <= verifier->distance[node])
            break;
        heap_put(verifier, slot, above);
        slot = (slot - 1) / 2;
    }
    heap_put(verifier, slot, node);
}

/* Removes the nearest node. */
static uint32_t heap_take(struct verifier *verifier)
{
    assert(verifier->heap_count > 0);
    uint32_t nearest = verifier->heap[0], node = verifier->heap[--verifier->heap_count];
    uint32_t count = verifier->heap_count, slot = 0;
    while (2 * slot + 1 < count) {
        uint32_t child = 2 * slot + 1;
        if (child + 1 < count && verifier->distance[verifier->heap[child + 1]] <
                                     verifier->distance[verifier->heap[child]])
            child++;
        if (verifier->distance[node] <= verifier->distance[verifier->heap[child]])
            break;
        heap_put(verifier, slot, verifier->heap[child]);
        slot = child;
    }
    if (count)
        heap_put(verifier, slot, node);
    verifier->slot_of[nearest] = NODE_NONE;
    return nearest;
}

/* Dijkstra's algorithm; a node without a path stays at infinity. */
static void find_distances(struct verifier *verifier, uint32_t source)
{
    const struct graph *graph = &verifier->topology->graph;
    for (uint32_t v = 0; v < graph->node_count; v++) {
        verifier->distance[v] = INFINITY;
        verifier->slot_of[v] = NODE_NONE;
    }
    verifier->distance[source] = 0;
    heap_put(verifier, 0, source);
    verifier->heap_count = 1;
    while (verifier->heap_count) {
        uint32_t at = heap_take(verifier);
        for (uint32_t slot = graph->first[at]; slot < graph->first[at + 1]; slot++) {
            uint32_t next = graph->to[slot];
            double there = verifier->distance[at] + channel_weight(verifier, graph->channel[slot]);
            if (!(there < verifier->distance[next]))
                continue;
            verifier->distance[next] = there;
            if (verifier->slot_of[next] == NODE_NONE)
                heap_put(verifier, verifier->heap_count++, next);
            heap_rise(verifier, verifier->slot_of[next]);
        }
    }
}

/* The lightest of the allowed paths of a pair. */
static double lightest_path(const struct verifier *verifier, size_t pair)
{
    const struct path_set *paths = verifier->paths;
    double least = INFINITY;
    for (size_t p = paths->pair_first[pair]; p < paths->pair_first[pair + 1]; p++) {
        struct sum weight = {0, 0};
        for (size_t hop = paths->path_first[p]; hop < paths->path_first[p + 1]; hop++)
            sum_add(&weight, channel_weight(verifier, paths->channels[hop]));
        least = fmin(least, sum_value(&weight));
    }
    return least;
}

static enum err find_upper(struct verifier *verifier, double *upper)
{
    const struct certificate *certificate = verifier->certificate;
    struct sum all = {0, 0}, taken = {0, 0};
    uint32_t source = NODE_NONE;
    for (uint32_t c = 0; c < graph_channel_count(&verifier->topology->graph); c++)
        sum_add(&all, channel_weight(verifier, c));
    for (size_t i = 0; i < certificate->flow.pair_count; i++) {
        const struct demand *demand = &certificate->demands[i];
        if (!verifier->paths && demand->from != source) {
            source = demand->from;
            find_distances(verifier, source);
        }
        double distance =
            verifier->paths ? lightest_path(verifier, i) : verifier->distance[demand->to];
        sum_add(&taken, demand->amount * distance);
    }
    *upper = sum_value(&all) / sum_value(&taken);
    if (!isfinite(*upper) || !(*upper > 0))
        return why_fail(
            verifier->why, ERR_INPUT,
            "%s: the weights give no upper bound: the weighted distances of all demands are 0",
            certificate->name);
    return OK;
}

/* --- both bounds --- */

static enum err check_claim(const struct verifier *verifier, const char *key, double claimed,
                            double found)
{
    if (!differ(claimed, found))
        return OK;
    return why_fail(verifier->why, ERR_INPUT,
                    "%s: %s is %.12g in the file, but the flow and the weights give %.12g",
                    verifier->certificate->name, key, claimed, found);
}

static enum err verify_all(struct verifier *verifier, const struct traffic *traffic,
                           struct certificate_proof *proof)
{
    const struct certificate *certificate = verifier->certificate;
    double least = 0;
    enum err err = check_links(verifier);
    if (!err)
        err = check_demands(verifier);
    if (!err && traffic)
        err = check_traffic(verifier, traffic);
    if (!err)
        err = add_flow(verifier, &least);
    if (!err)
        err = check_loads(verifier, &proof->load_max);
    if (!err)
        err = find_upper(verifier, &proof->upper);
    proof->lower = least / fmax(1, proof->load_max);
    if (!err)
        err = check_claim(verifier, "throughput_lower", certificate->lower, proof->lower);
    if (!err)
        err = check_claim(verifier, "throughput_upper", certificate->upper, proof->upper);
    return err;
}

enum err certificate_verify(const struct certificate *certificate, const struct topology *topology,
                            const struct traffic *traffic, const struct path_set *paths,
                            struct certificate_proof *proof, struct why *why)
{
    const struct graph *graph = &topology->graph;
    *proof = (struct certificate_proof){0};
    if ((certificate->about.routing == CERTIFICATE_OPTIMAL) != (paths == NULL) ||
        (paths && paths->pair_count != certificate->flow.pair_count))
        return why_fail(why, ERR_INPUT,
                        "%s: the file is for another routing or another number of demands",
                        certificate->name);
    struct verifier verifier = {
        .certificate = certificate,
        .topology = topology,
        .paths = paths,
        .why = why,
        .loads = array_new(graph_channel_count(graph), sizeof *verifier.loads),
        .distance = array_new(graph->node_count, sizeof *verifier.distance),
        .heap = array_new(graph->node_count, sizeof *verifier.heap),
        .slot_of = array_new(graph->node_count, sizeof *verifier.slot_of),
    };
    enum err err = verifier.loads && verifier.distance && verifier.heap && verifier.slot_of
                       ? verify_all(&verifier, traffic, proof)
                       : why_memory(why);
    free(verifier.loads);
    free(verifier.walk);
    free(verifier.distance);
    free(verifier.heap);
    free(verifier.slot_of);
    return err;
}
