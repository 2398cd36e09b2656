#include "routing/traffic/traffic.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"
#include "base/rng.h"

void traffic_fini(struct traffic *traffic)
{
    free(traffic->demands);
    free(traffic->to_self);
    *traffic = (struct traffic){0};
}

static int demand_compare(const void *one, const void *other)
{
    const struct demand *a = one, *b = other;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return a->to == b->to ? 0 : a->to < b->to ? -1 : 1;
}

enum err traffic_make(struct traffic *traffic, struct demand *demands, size_t count,
                      struct why *why)
{
    if (!demands)
        return why_memory(why);
    *traffic = (struct traffic){.demands = demands};
    qsort(demands, count, sizeof *demands, demand_compare);
    for (size_t i = 0; i < count; i++) {
        struct demand *last = traffic->count ? &demands[traffic->count - 1] : NULL;
        if (demands[i].from == demands[i].to)
            traffic->local += demands[i].amount;
        else if (last && !demand_compare(last, &demands[i]))
            last->amount += demands[i].amount;
        else
            demands[traffic->count++] = demands[i];
    }
    return OK;
}

/* The node of every server, in order; NULL if memory is short. */
static uint32_t *server_nodes(const struct topology *topology)
{
    uint32_t *nodes = array_new(topology->server_count, sizeof *nodes);
    uint32_t count = 0;
    for (uint32_t v = 0; nodes && v < topology->graph.node_count; v++)
        for (uint32_t i = 0; i < topology->sites[v].servers; i++)
            nodes[count++] = v;
    return nodes;
}

/* Makes a uniformly random permutation without fixed points: shuffles until there is none, which is
 * the case for one shuffle in e. */
static void derange(uint32_t *items, uint32_t count, struct rng *rng)
{
    bool fixed = true;
    while (fixed) {
        for (uint32_t i = 0; i < count; i++)
            items[i] = i;
        rng_shuffle(rng, items, count);
        fixed = false;
        for (uint32_t i = 0; i < count && !fixed; i++)
            fixed = items[i] == i;
    }
}

enum { STREAM_PERMUTATION = 0x7065726d }; /* "perm": no other draw of the seed uses this stream */

enum err traffic_permutation(struct traffic *traffic, const struct topology *topology,
                             uint64_t seed, struct why *why)
{
    uint32_t count = topology->server_count;
    if (count < 2)
        return why_fail(why, ERR_USAGE, "a permutation of servers needs at least two servers");
    struct rng rng = rng_make(seed, STREAM_PERMUTATION);
    uint32_t *nodes = server_nodes(topology);
    uint32_t *receiver = array_new(count, sizeof *receiver);
    struct demand *demands = array_new(count, sizeof *demands);
    if (!nodes || !receiver || !demands) {
        free(nodes);
        free(receiver);
        free(demands);
        return why_memory(why);
    }
    derange(receiver, count, &rng);
    for (uint32_t i = 0; i < count; i++)
        demands[i] = (struct demand){nodes[i], nodes[receiver[i]], 1};
    free(nodes);
    free(receiver);
    enum err err = traffic_make(traffic, demands, count, why);
    if (!err)
        traffic->name = "permutation";
    return err;
}

enum err traffic_all_to_all(struct traffic *traffic, const struct topology *topology,
                            struct why *why)
{
    if (topology->server_count < 2)
        return why_fail(why, ERR_USAGE, "all-to-all traffic needs at least two servers");
    size_t hosts = topology_host_count(topology);
    double local = 0;
    for (uint32_t v = 0; v < topology->graph.node_count; v++) {
        double servers = topology->sites[v].servers;
        local += servers * (servers - 1);
    }
    struct demand *demands = array_new(hosts * hosts, sizeof *demands);
    if (!demands)
        return why_memory(why);
    size_t count = 0;
    for (uint32_t a = 0; a < topology->graph.node_count; a++) {
        double servers = topology->sites[a].servers;
        for (uint32_t b = 0; b < topology->graph.node_count && servers > 0; b++)
            if (a != b && topology->sites[b].servers)
                demands[count++] = (struct demand){a, b, servers * topology->sites[b].servers};
    }
    *traffic = (struct traffic){.demands = demands, .count = count, .local = local};
    traffic->name = "all-to-all";
    return OK;
}
