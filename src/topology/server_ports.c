#include "topology/server_ports.h"

struct server_ports server_ports_make(const struct topology *topology, uint32_t node)
{
    const struct graph *graph = &topology->graph;
    const struct site *site = &topology->sites[node];
    struct server_ports ports = {graph, 0, graph->first[node], graph->first[node + 1]};
    if (ports.slot == ports.end)
        return ports;
    uint32_t after = graph_channel_port(graph, graph->channel[ports.end - 1]) + 1;
    if (site->ports == 0 || (uint64_t)after + site->servers <= site->ports) {
        ports.port = after;
        ports.slot = ports.end;
    }
    return ports;
}

uint32_t server_ports_next(struct server_ports *ports)
{
    for (; ports->slot < ports->end; ports->slot++, ports->port++)
        if (graph_channel_port(ports->graph, ports->graph->channel[ports->slot]) != ports->port)
            break;
    return ports->port++;
}
