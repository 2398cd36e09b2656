/* weft topo show */
#include <string.h>

#include "cli/commands.h"
#include "cli/core/call.h"
#include "cli/core/load.h"

/* The smallest and the largest value of all nodes. */
struct range {
    uint32_t least, most;
};

struct summary {
    struct range degree, servers, ports;
    uint32_t group_count; /* the highest number of a group, plus one */
    uint32_t levels;
};

static void range_add(struct range *range, uint32_t value)
{
    range->least = value < range->least ? value : range->least;
    range->most = value > range->most ? value : range->most;
}

static struct summary summarise(const struct topology *topology)
{
    const struct range none = {UINT32_MAX, 0};
    struct summary summary = {none, none, none, 0, 0};
    for (uint32_t v = 0; v < topology->graph.node_count; v++) {
        const struct site *site = &topology->sites[v];
        range_add(&summary.degree, graph_degree(&topology->graph, v));
        range_add(&summary.servers, site->servers);
        range_add(&summary.ports, site->ports);
        if (site->group != GROUP_NONE && site->group >= summary.group_count)
            summary.group_count = site->group + 1;
        if (site->level >= summary.levels)
            summary.levels = site->level + 1;
    }
    return summary;
}

static const char *parameters(const struct topology *topology)
{
    const char *colon = strchr(topology->spec, ':');
    return colon ? colon + 1 : "";
}

static const char show_page[] =
    "{topology}\n"
    "  kind                  {kind}, of {?direct}servers that forward for each "
    "other{:}switches{/}\n"
    "{?spec}  parameters            {parameters}\n{/}"
    "  {?direct}servers {:}switches{/}              {nodes}\n"
    "  links                 {links}\n"
    "{?axes}  axes                  {#axes| x }{.}{/}\n{/}"
    "{?degree_text}  links per node        {degree_text}\n{/}"
    "{?ports_text}  ports per node        {ports_text}\n{/}"
    "{?direct}{:}  servers               {servers}\n"
    "{?servers_text}  servers per switch    {servers_text}\n{/}{/}"
    "{?groups}  groups                {groups}\n{/}"
    "{?several_levels}  levels                {levels}\n{/}"
    "{#shown}\nnode {name}{?coordinate} at ({#coordinate|,}{.}{/}){/}"
    "{?grouped}, group {group}{/}{?leveled}, level {level}{/}{?direct}{:}, {servers} servers{/}"
    "{?ports}, {free_ports} of {ports} ports free{/}\n"
    "{#links}  port {port%-4u} -> {to}:{to_port}\n{/}{/}";

/* Adds a range as two numbers, if it is known; and as text, unless all values are 0. */
static void range_put(struct result *result, const char *key, const char *words_key,
                      const struct range *range, bool known)
{
    result_array(result, key);
    if (known && range->least <= range->most) {
        result_uint(result, NULL, range->least);
        result_uint(result, NULL, range->most);
    }
    result_end(result);
    struct text *words = result_words(result_hide(result), words_key);
    if (range->most && range->least == range->most)
        text_printf(words, "%u", range->least);
    else if (range->most)
        text_printf(words, "%u to %u", range->least, range->most);
}

static void node_put(struct result *result, const struct topology *topology, uint32_t node)
{
    const struct graph *graph = &topology->graph;
    const struct site *site = &topology->sites[node];
    char name[NODE_NAME_SIZE];
    uint32_t at[AXIS_MAX];
    result_object(result, NULL);
    result_string(result, "name", topology_name(topology, node, name));
    result_uint(result, "id", node);
    result_array(result, "coordinate");
    topology_coordinate(topology, node, at);
    for (uint32_t axis = 0; axis < topology->axis_count; axis++)
        result_uint(result, NULL, at[axis]);
    result_end(result);
    result_bool(result_hide(result), "grouped", site->group != GROUP_NONE);
    result_uint_if(result, "group", site->group != GROUP_NONE, site->group);
    result_bool(result_hide(result), "leveled", topology->kind == TOPOLOGY_FATTREE);
    result_uint(result, "level", site->level);
    result_uint(result, "servers", site->servers);
    result_uint(result, "ports", site->ports);
    result_uint(result, "free_ports", topology_free_ports(topology, node));
    result_array(result, "links");
    for (uint32_t slot = graph->first[node]; slot < graph->first[node + 1]; slot++) {
        result_object(result, NULL);
        result_uint(result, "port", graph_channel_port(graph, graph->channel[slot]));
        result_string(result, "to", topology_name(topology, graph->to[slot], name));
        result_uint(result, "to_port", graph_channel_port(graph, graph->channel[slot] ^ 1));
        result_end(result);
    }
    result_end(result);
    result_end(result);
}

static void show(struct call *call, const struct topology *topology, const uint32_t *nodes,
                 int count)
{
    struct summary summary = summarise(topology);
    struct result *result = call_result(call, show_page);
    result_string(result_hide(result), "topology", call->arguments[0]);
    result_string(result, "kind", topology_kind_name(topology->kind));
    result_string(result, "spec", topology->spec);
    result_string(result, "parameters", parameters(topology));
    result_bool(result, "direct", topology->direct);
    result_uint(result, "servers", topology->server_count);
    result_uint(result, "switches", topology_switch_count(topology));
    result_uint(result, "nodes", topology->graph.node_count);
    result_uint(result, "links", topology->graph.link_count);
    result_array(result, "axes");
    for (uint32_t axis = 0; axis < topology->axis_count; axis++)
        result_uint(result, NULL, topology->axis_size[axis]);
    result_end(result);
    range_put(result, "degree_range", "degree_text", &summary.degree, true);
    range_put(result, "ports_range", "ports_text", &summary.ports, summary.ports.most > 0);
    range_put(result, "servers_range", "servers_text", &summary.servers, true);
    result_uint(result, "groups", summary.group_count);
    result_uint(result, "levels", summary.levels);
    result_bool(result_hide(result), "several_levels", summary.levels > 1);
    result_array(result, "shown");
    for (int i = 0; i < count; i++)
        node_put(result, topology, nodes[i]);
    result_end(result);
}

static enum err show_run(struct call *call, struct why *why)
{
    struct topology topology;
    uint32_t nodes[CALL_ARGUMENT_MAX];
    int count = call->argument_count - 1;
    enum err err = load_topology(&topology, call->arguments[0], why);
    if (err)
        return err;
    for (int i = 0; i < count && !err; i++) {
        nodes[i] = topology_find(&topology, call->arguments[i + 1]);
        if (nodes[i] == NODE_NONE)
            err = why_fail(why, ERR_USAGE, "%s: there is no node '%s'", call->arguments[0],
                           call->arguments[i + 1]);
    }
    if (!err)
        show(call, &topology, nodes, count);
    topology_fini(&topology);
    return err;
}

const struct command command_topo_show = {
    .name = "topo show",
    .arguments = "SPEC|FILE [NODE...]",
    .summary = "print what a topology is, and the cables of its nodes",
    .description =
        "Prints the kind of the topology, its parameters and sizes. For every NODE it also "
        "prints the position, the number of servers, and where each cable leads, as node:port.\n\n"
        "With --json a range is [least, most], or empty if it is not known. The number of ports "
        "is 0 if a node has exactly as many ports as cables.",
    .examples = "  weft topo show torus:3x4x5\n"
                "  weft topo show torus:3x4x5 0 59",
    .run = show_run,
};
