/* weft topo show */
#include <string.h>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/core/call.h"
#include "cli/core/load.h"

/* The least and the most of something over all nodes. */
struct range {
    uint32_t least, most;
};

struct summary {
    struct range degree, servers, ports;
    uint32_t group_count; /* the highest number, plus one */
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

static void range_json(struct json *json, const char *key, const struct range *range, bool known)
{
    json_key(json, key);
    json_array(json);
    if (known && range->least <= range->most) {
        json_uint(json, range->least);
        json_uint(json, range->most);
    }
    json_end(json, ']');
}

static void node_json(struct json *json, const struct topology *topology, uint32_t node)
{
    const struct graph *graph = &topology->graph;
    const struct site *site = &topology->sites[node];
    char name[NODE_NAME_SIZE];
    uint32_t at[AXIS_MAX];
    json_object(json);
    json_put_string(json, "name", topology_name(topology, node, name));
    json_put_uint(json, "id", node);
    json_key(json, "coordinate");
    json_array(json);
    topology_coordinate(topology, node, at);
    for (uint32_t axis = 0; axis < topology->axis_count; axis++)
        json_uint(json, at[axis]);
    json_end(json, ']');
    if (site->group != GROUP_NONE)
        json_put_uint(json, "group", site->group);
    else
        json_put_null(json, "group");
    json_put_uint(json, "level", site->level);
    json_put_uint(json, "servers", site->servers);
    json_put_uint(json, "ports", site->ports);
    json_put_uint(json, "free_ports", topology_free_ports(topology, node));
    json_key(json, "links");
    json_array(json);
    for (uint32_t slot = graph->first[node]; slot < graph->first[node + 1]; slot++) {
        json_object(json);
        json_put_uint(json, "port", graph_channel_port(graph, graph->channel[slot]));
        json_put_string(json, "to", topology_name(topology, graph->to[slot], name));
        json_put_uint(json, "to_port", graph_channel_port(graph, graph->channel[slot] ^ 1));
        json_end(json, '}');
    }
    json_end(json, ']');
    json_end(json, '}');
}

static void show_json(struct text *out, const struct topology *topology, const uint32_t *nodes,
                      int count)
{
    struct summary summary = summarise(topology);
    struct json json = json_make(out, true);
    json_object(&json);
    json_put_string(&json, "kind", topology_kind_name(topology->kind));
    json_put_string(&json, "spec", topology->spec);
    json_put_string(&json, "parameters", parameters(topology));
    json_put_bool(&json, "direct", topology->direct);
    json_put_uint(&json, "servers", topology->server_count);
    json_put_uint(&json, "switches", topology_switch_count(topology));
    json_put_uint(&json, "nodes", topology->graph.node_count);
    json_put_uint(&json, "links", topology->graph.link_count);
    json_key(&json, "axes");
    json_array(&json);
    for (uint32_t axis = 0; axis < topology->axis_count; axis++)
        json_uint(&json, topology->axis_size[axis]);
    json_end(&json, ']');
    range_json(&json, "degree_range", &summary.degree, true);
    range_json(&json, "ports_range", &summary.ports, summary.ports.most > 0);
    range_json(&json, "servers_range", &summary.servers, true);
    json_put_uint(&json, "groups", summary.group_count);
    json_put_uint(&json, "levels", summary.levels);
    json_key(&json, "shown");
    json_array(&json);
    for (int i = 0; i < count; i++)
        node_json(&json, topology, nodes[i]);
    json_end(&json, ']');
    json_end(&json, '}');
}

static void line(struct text *out, const char *label)
{
    text_printf(out, "  %-22s", label);
}

static void range_text(struct text *out, const char *label, const struct range *range)
{
    if (range->most == 0)
        return;
    line(out, label);
    if (range->least == range->most)
        text_printf(out, "%u\n", range->least);
    else
        text_printf(out, "%u to %u\n", range->least, range->most);
}

static void summary_text(struct text *out, const struct topology *topology)
{
    struct summary summary = summarise(topology);
    line(out, "kind");
    text_printf(out, "%s%s\n", topology_kind_name(topology->kind),
                topology->direct ? ", of servers that forward for each other" : ", of switches");
    if (*topology->spec) {
        line(out, "parameters");
        text_printf(out, "%s\n", parameters(topology));
    }
    line(out, topology->direct ? "servers" : "switches");
    text_printf(out, "%u\n", topology->graph.node_count);
    line(out, "links");
    text_printf(out, "%u\n", topology->graph.link_count);
    if (topology->axis_count) {
        line(out, "axes");
        for (uint32_t axis = 0; axis < topology->axis_count; axis++)
            text_printf(out, "%s%u", axis ? " x " : "", topology->axis_size[axis]);
        text_puts(out, "\n");
    }
    range_text(out, "links per node", &summary.degree);
    range_text(out, "ports per node", &summary.ports);
    if (!topology->direct) {
        line(out, "servers");
        text_printf(out, "%u\n", topology->server_count);
        range_text(out, "servers per switch", &summary.servers);
    }
    if (summary.group_count) {
        line(out, "groups");
        text_printf(out, "%u\n", summary.group_count);
    }
    if (summary.levels > 1) {
        line(out, "levels");
        text_printf(out, "%u\n", summary.levels);
    }
}

static void node_text(struct text *out, const struct topology *topology, uint32_t node)
{
    const struct graph *graph = &topology->graph;
    const struct site *site = &topology->sites[node];
    char name[NODE_NAME_SIZE];
    uint32_t at[AXIS_MAX];
    text_printf(out, "\nnode %s", topology_name(topology, node, name));
    topology_coordinate(topology, node, at);
    for (uint32_t axis = 0; axis < topology->axis_count; axis++)
        text_printf(out, "%s%u%s", axis ? "," : " at (", at[axis],
                    axis + 1 == topology->axis_count ? ")" : "");
    if (site->group != GROUP_NONE)
        text_printf(out, ", group %u", site->group);
    if (topology->kind == TOPOLOGY_FATTREE)
        text_printf(out, ", level %u", site->level);
    if (!topology->direct)
        text_printf(out, ", %u servers", site->servers);
    if (site->ports)
        text_printf(out, ", %u of %u ports free", topology_free_ports(topology, node), site->ports);
    text_puts(out, "\n");
    for (uint32_t slot = graph->first[node]; slot < graph->first[node + 1]; slot++) {
        uint32_t channel = graph->channel[slot];
        text_printf(out, "  port %-4u -> %s:%u\n", graph_channel_port(graph, channel),
                    topology_name(topology, graph->to[slot], name),
                    graph_channel_port(graph, channel ^ 1));
    }
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
    if (!err && call->json) {
        show_json(&call->out, &topology, nodes, count);
    } else if (!err) {
        text_printf(&call->out, "%s\n", call->arguments[0]);
        summary_text(&call->out, &topology);
        for (int i = 0; i < count; i++)
            node_text(&call->out, &topology, nodes[i]);
    }
    topology_fini(&topology);
    return err;
}

const struct command command_topo_show = {
    .name = "topo show",
    .arguments = "SPEC|FILE [NODE...]",
    .summary = "what a topology is, and what its nodes are cabled to",
    .description =
        "Prints the kind of the topology, its parameters and sizes. For every NODE named, also "
        "where it stands, its servers, and where each of its cables leads, as node:port.\n\n"
        "A range with --json is [least, most]; it is empty where nothing is known. Ports are 0 "
        "where a node has as many as it uses.",
    .examples = "  weft topo show torus:3x4x5\n"
                "  weft topo show torus:3x4x5 0 59",
    .run = show_run,
};
