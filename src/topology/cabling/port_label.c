#include "topology/cabling/port_label.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"

static const char axes[] = "xyzwvutsrqponmlk";
static_assert(sizeof axes - 1 == AXIS_MAX, "every axis has a letter");

bool port_label_directed(const struct topology *topology)
{
    return topology->axis_count > 0 &&
           (topology->kind == TOPOLOGY_TORUS || topology->kind == TOPOLOGY_NOVACUBE);
}

static bool port_is_jump(const struct topology *topology, uint32_t port)
{
    return topology->kind == TOPOLOGY_NOVACUBE && port == 2 * topology->axis_count;
}

const char *port_label(const struct topology *topology, uint32_t port, char buffer[PORT_LABEL_SIZE])
{
    bool directed = port_label_directed(topology);
    if (directed && port_is_jump(topology, port))
        snprintf(buffer, PORT_LABEL_SIZE, "jump(%u)", port);
    else if (directed && port < 2 * topology->axis_count)
        snprintf(buffer, PORT_LABEL_SIZE, "%c%c(%u)", port & 1 ? '-' : '+', axes[port / 2], port);
    else
        snprintf(buffer, PORT_LABEL_SIZE, "%u", port);
    return buffer;
}

static uint32_t number_find(const char *text, size_t size)
{
    uint64_t number = 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9' || number >= PORT_ANY)
            return PORT_ANY;
        number = 10 * number + (uint64_t)(text[i] - '0');
    }
    return size == 0 || number >= PORT_ANY ? PORT_ANY : (uint32_t)number;
}

uint32_t port_label_find(const struct topology *topology, const char *text, size_t size)
{
    if (!port_label_directed(topology))
        return number_find(text, size);
    if (size == 4 && memcmp(text, "jump", 4) == 0 && topology->kind == TOPOLOGY_NOVACUBE)
        return 2 * topology->axis_count;
    if (size == 2 && (text[0] == '+' || text[0] == '-')) {
        const char *axis = memchr(axes, text[1], topology->axis_count);
        return axis ? 2 * (uint32_t)(axis - axes) + (text[0] == '-') : PORT_ANY;
    }
    return number_find(text, size);
}

uint32_t port_label_limit(const struct topology *topology, uint32_t node)
{
    if (port_label_directed(topology))
        return 2 * topology->axis_count + (topology->kind == TOPOLOGY_NOVACUBE);
    const struct graph *graph = &topology->graph;
    uint32_t end = graph->first[node + 1], limit = topology->sites[node].ports;
    if (limit == 0)
        return PORT_ANY;
    if (end > graph->first[node]) {
        uint32_t last = graph_channel_port(graph, graph->channel[end - 1]);
        limit = last >= limit ? last + 1 : limit;
    }
    return limit;
}
