/* traffic_pattern: the synthetic patterns by which routing algorithms are compared. In all but
 * uniform traffic each node sends to one other node, which follows from its coordinates. */
#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"
#include "routing/traffic/traffic.h"

/* 2 GB: more might crash the program instead of failing the request */
#define PAIR_MAX ((uint64_t)1 << 27)

const char *traffic_pattern_name(enum traffic_pattern pattern)
{
    static const char *const names[TRAFFIC_PATTERN_COUNT] = {
        [TRAFFIC_UNIFORM] = "uniform",       [TRAFFIC_TRANSPOSE] = "transpose",
        [TRAFFIC_COMPLEMENT] = "complement", [TRAFFIC_TORNADO] = "tornado",
        [TRAFFIC_NEIGHBOUR] = "neighbour",
    };
    assert(pattern < TRAFFIC_PATTERN_COUNT);
    return names[pattern];
}

/* Nodes that send: those with servers. The caller frees *hosts. */
static enum err hosts_list(const struct topology *topology, uint32_t **hosts, uint32_t *count,
                           struct why *why)
{
    uint32_t *list = array_new(topology->graph.node_count, sizeof *list);
    if (!list)
        return why_memory(why);
    *count = 0;
    for (uint32_t v = 0; v < topology->graph.node_count; v++)
        if (topology->sites[v].servers)
            list[(*count)++] = v;
    *hosts = list;
    return OK;
}

static enum err make_uniform(struct traffic *traffic, const struct topology *topology,
                             struct why *why)
{
    uint32_t *hosts, count;
    enum err err = hosts_list(topology, &hosts, &count, why);
    if (err)
        return err;
    if (count < 2) {
        free(hosts);
        return why_fail(why, ERR_USAGE, "uniform traffic needs at least two nodes with servers");
    }
    if ((uint64_t)count * (count - 1) > PAIR_MAX) {
        free(hosts);
        return why_fail(why, ERR_USAGE,
                        "uniform traffic between %u nodes has too many pairs to keep in memory",
                        count);
    }
    struct demand *demands = array_new((size_t)count * (count - 1), sizeof *demands);
    double *to_self = array_new(topology->graph.node_count, sizeof *to_self);
    if (!demands || !to_self) {
        free(hosts);
        free(demands);
        free(to_self);
        return why_memory(why);
    }
    size_t used = 0;
    for (uint32_t a = 0; a < count; a++) {
        to_self[hosts[a]] = 1.0 / count;
        for (uint32_t b = 0; b < count; b++)
            if (a != b)
                demands[used++] = (struct demand){hosts[a], hosts[b], 1.0 / count};
    }
    free(hosts);
    *traffic = (struct traffic){.demands = demands, .count = used, .to_self = to_self, .local = 1};
    traffic->name = traffic_pattern_name(TRAFFIC_UNIFORM);
    return OK;
}

static enum err check_fit(const struct topology *topology, enum traffic_pattern pattern,
                          struct why *why)
{
    const char *name = traffic_pattern_name(pattern);
    uint32_t axes = topology->axis_count;
    if (axes == 0)
        return why_fail(why, ERR_USAGE, "%s traffic needs nodes with coordinates, as in a torus",
                        name);
    for (uint32_t v = 0; v < topology->graph.node_count; v++)
        if (!topology->sites[v].servers)
            return why_fail(why, ERR_USAGE, "%s traffic needs servers at every node", name);
    for (uint32_t i = 0; i < axes && pattern == TRAFFIC_TRANSPOSE; i++)
        if (topology->axis_size[i] != topology->axis_size[axes - 1 - i])
            return why_fail(why, ERR_USAGE,
                            "transpose traffic: axis %u has size %u, axis %u has %u; "
                            "they must be equal to be swapped",
                            i, topology->axis_size[i], axes - 1 - i,
                            topology->axis_size[axes - 1 - i]);
    return OK;
}

static uint32_t receiver(const struct topology *topology, enum traffic_pattern pattern,
                         uint32_t node)
{
    uint32_t at[AXIS_MAX] = {0}, to[AXIS_MAX] = {0};
    const uint32_t *size = topology->axis_size;
    uint32_t axes = topology->axis_count;
    topology_coordinate(topology, node, at);
    for (uint32_t i = 0; i < axes; i++) {
        switch (pattern) {
        case TRAFFIC_TRANSPOSE:
            to[i] = at[axes - 1 - i];
            break;
        case TRAFFIC_COMPLEMENT:
            to[i] = size[i] - 1 - at[i];
            break;
        case TRAFFIC_TORNADO:
            to[i] = i == 0 ? (at[0] + (size[0] + 1) / 2 - 1) % size[0] : at[i];
            break;
        case TRAFFIC_NEIGHBOUR:
            to[i] = i == 0 ? (at[0] + 1) % size[0] : at[i];
            break;
        case TRAFFIC_UNIFORM: /* has no single receiver */
        case TRAFFIC_PATTERN_COUNT:
            assert_unreachable();
        }
    }
    return topology_node_at(topology, to);
}

enum err traffic_make_pattern(struct traffic *traffic, const struct topology *topology,
                              enum traffic_pattern pattern, struct why *why)
{
    uint32_t nodes = topology->graph.node_count;
    if (pattern == TRAFFIC_UNIFORM)
        return make_uniform(traffic, topology, why);
    enum err err = check_fit(topology, pattern, why);
    if (err)
        return err;
    struct demand *demands = array_new(nodes, sizeof *demands);
    double *to_self = array_new(nodes, sizeof *to_self);
    if (!demands || !to_self) {
        free(demands);
        free(to_self);
        return why_memory(why);
    }
    for (uint32_t v = 0; v < nodes; v++) {
        demands[v] = (struct demand){v, receiver(topology, pattern, v), 1};
        to_self[v] = demands[v].to == v;
    }
    err = traffic_make(traffic, demands, nodes, why);
    if (err) {
        free(to_self);
        return err;
    }
    traffic->to_self = to_self;
    traffic->name = traffic_pattern_name(pattern);
    if (traffic->count)
        return OK;
    traffic_fini(traffic);
    return why_fail(why, ERR_USAGE,
                    "%s traffic: on axes of these sizes every node would send to itself",
                    traffic_pattern_name(pattern));
}
