#include "topology/topology.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"

enum err topology_init(struct topology *topology, enum topology_kind kind, bool direct,
                       uint32_t node_count, const struct link *links, uint32_t link_count,
                       struct why *why)
{
    *topology = (struct topology){.kind = kind, .direct = direct};
    enum err err = graph_make(&topology->graph, node_count, links, link_count, why);
    if (err)
        return err;
    topology->sites = array_new(node_count, sizeof *topology->sites);
    if (!topology->sites) {
        topology_fini(topology);
        return why_memory(why);
    }
    for (uint32_t v = 0; v < node_count; v++)
        topology->sites[v] = (struct site){.servers = direct, .group = GROUP_NONE};
    topology_count_servers(topology);
    return OK;
}

void topology_fini(struct topology *topology)
{
    if (topology->names)
        for (uint32_t v = 0; v < topology->graph.node_count; v++)
            free(topology->names[v]);
    free(topology->names);
    free(topology->sites);
    graph_fini(&topology->graph);
    *topology = (struct topology){0};
}

void topology_set_servers(struct topology *topology, uint32_t servers)
{
    for (uint32_t v = 0; v < topology->graph.node_count && !topology->direct; v++)
        topology->sites[v].servers = servers;
    topology_count_servers(topology);
}

void topology_count_servers(struct topology *topology)
{
    uint64_t sum = 0;
    for (uint32_t v = 0; v < topology->graph.node_count; v++)
        sum += topology->sites[v].servers;
    assert(sum <= UINT32_MAX);
    topology->server_count = (uint32_t)sum;
}

uint32_t topology_switch_count(const struct topology *topology)
{
    return topology->direct ? 0 : topology->graph.node_count;
}

uint32_t topology_host_count(const struct topology *topology)
{
    uint32_t count = 0;
    for (uint32_t v = 0; v < topology->graph.node_count; v++)
        count += topology->sites[v].servers > 0;
    return count;
}

static int uint_compare(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a < b ? -1 : a > b;
}

enum err topology_rank_groups(const struct topology *topology, uint32_t *ranks, uint32_t *count,
                              struct why *why)
{
    uint32_t nodes = topology->graph.node_count, used = 0;
    uint32_t *values = array_new(nodes, sizeof *values);
    *count = 0;
    for (uint32_t v = 0; v < nodes; v++)
        ranks[v] = GROUP_NONE;
    if (!values)
        return why_memory(why);
    for (uint32_t v = 0; v < nodes; v++)
        if (topology->sites[v].group != GROUP_NONE)
            values[used++] = topology->sites[v].group;
    qsort(values, used, sizeof *values, uint_compare);
    for (uint32_t i = 0; i < used; i++)
        if (i == 0 || values[i] != values[i - 1])
            values[(*count)++] = values[i];
    for (uint32_t v = 0; v < nodes; v++) {
        const uint32_t *found =
            bsearch(&topology->sites[v].group, values, *count, sizeof *values, uint_compare);
        if (found)
            ranks[v] = (uint32_t)(found - values);
    }
    free(values);
    return OK;
}

uint64_t topology_used_ports(const struct topology *topology, uint32_t node)
{
    uint64_t links = graph_degree(&topology->graph, node);
    return topology->direct ? links : links + topology->sites[node].servers;
}

uint32_t topology_all_ports(const struct topology *topology, uint32_t node)
{
    uint64_t used = topology_used_ports(topology, node), said = topology->sites[node].ports;
    uint64_t all = said > used ? said : used;
    return all < UINT32_MAX ? (uint32_t)all : UINT32_MAX;
}

uint32_t topology_free_ports(const struct topology *topology, uint32_t node)
{
    uint64_t used = topology_used_ports(topology, node), said = topology->sites[node].ports;
    return said > used ? (uint32_t)(said - used) : 0;
}

const char *topology_name(const struct topology *topology, uint32_t node,
                          char buffer[NODE_NAME_SIZE])
{
    assert(node < topology->graph.node_count);
    if (topology->names)
        return topology->names[node];
    snprintf(buffer, NODE_NAME_SIZE, "%u", node);
    return buffer;
}

uint32_t topology_find(const struct topology *topology, const char *name)
{
    char buffer[NODE_NAME_SIZE];
    for (uint32_t v = 0; v < topology->graph.node_count; v++)
        if (strcmp(topology_name(topology, v, buffer), name) == 0)
            return v;
    return NODE_NONE;
}

void topology_coordinate(const struct topology *topology, uint32_t node, uint32_t *coordinate)
{
    for (uint32_t axis = 0; axis < topology->axis_count; axis++) {
        coordinate[axis] = node % topology->axis_size[axis];
        node /= topology->axis_size[axis];
    }
}

uint32_t topology_node_at(const struct topology *topology, const uint32_t *coordinate)
{
    uint32_t node = 0;
    for (uint32_t axis = topology->axis_count; axis-- > 0;) {
        assert(coordinate[axis] < topology->axis_size[axis]);
        node = node * topology->axis_size[axis] + coordinate[axis];
    }
    return node;
}

const char *topology_kind_name(enum topology_kind kind)
{
    switch (kind) { /* no default: the compiler reports a missing kind */
    case TOPOLOGY_OTHER:
        return "graph";
    case TOPOLOGY_TORUS:
        return "torus";
    case TOPOLOGY_NOVACUBE:
        return "novacube";
    case TOPOLOGY_JELLYFISH:
        return "jellyfish";
    case TOPOLOGY_FATTREE:
        return "fattree";
    case TOPOLOGY_SWDC_RING:
        return "swdc-ring";
    case TOPOLOGY_SWDC_TORUS2D:
        return "swdc-torus2d";
    case TOPOLOGY_SWDC_HEX3D:
        return "swdc-hex3d";
    case TOPOLOGY_DEGREE_DIAMETER:
        return "degree-diameter";
    }
    assert_unreachable();
}

static char **names_copy(char *const *names, uint32_t count)
{
    char **copy = array_new(count, sizeof *copy);
    for (uint32_t v = 0; copy && v < count; v++) {
        copy[v] = strdup(names[v]);
        if (!copy[v]) {
            while (v-- > 0)
                free(copy[v]);
            free(copy);
            return NULL;
        }
    }
    return copy;
}

enum err topology_copy(struct topology *out, const struct topology *topology, struct why *why)
{
    const struct graph *graph = &topology->graph;
    struct topology copy = *topology;
    copy.sites = NULL;
    copy.names = NULL;
    enum err err = graph_make(&copy.graph, graph->node_count, graph->links, graph->link_count, why);
    if (err)
        return err;
    copy.sites = array_copy(topology->sites, graph->node_count, sizeof *copy.sites);
    if (topology->names)
        copy.names = names_copy(topology->names, graph->node_count);
    if (!copy.sites || (topology->names && !copy.names)) {
        topology_fini(&copy);
        return why_memory(why);
    }
    *out = copy;
    return OK;
}

void topology_check(const struct topology *topology)
{
    const struct graph *graph = &topology->graph;
    graph_check(graph);
    uint64_t servers = 0, nodes = 1;
    for (uint32_t v = 0; v < graph->node_count; v++) {
        const struct site *site = &topology->sites[v];
        servers += site->servers;
        assert(!topology->direct || site->servers == 1);
        assert(!topology->names || topology->names[v]);
        assert(!site->ports || topology_used_ports(topology, v) <= site->ports);
        uint32_t end = graph->first[v + 1];
        if (site->ports && end > graph->first[v]) /* the last slot has the highest port */
            assert(graph_channel_port(graph, graph->channel[end - 1]) < site->ports);
    }
    assert(servers == topology->server_count);
    for (uint32_t axis = 0; axis < topology->axis_count; axis++)
        nodes *= topology->axis_size[axis];
    assert(topology->axis_count == 0 || nodes == graph->node_count);
}
