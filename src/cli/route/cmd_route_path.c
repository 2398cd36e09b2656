/* weft route path */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "cli/commands.h"
#include "cli/core/call.h"
#include "cli/route/route_call.h"
#include "routing/load/load.h"
#include "routing/paths/ways.h"

enum { STREAM_PACKETS = 0x7061636b }; /* "pack"; no other random stream uses it */

struct path_report {
    struct route_call route;
    const char *name; /* of the network, as the user wrote it */
    uint32_t from, to;
    bool all;
    uint64_t count; /* packets drawn; 0 with --all */
    double mean_path;
    struct ways ways;
};

static enum err find_node(const struct path_report *report, const char *name, uint32_t *node,
                          struct why *why)
{
    *node = topology_find(&report->route.topology, name);
    if (*node == NODE_NONE)
        return why_fail(why, ERR_USAGE, "%.150s: there is no node '%.100s'", report->name, name);
    return OK;
}

/* Computes the exact mean path, even if packets are drawn. */
static enum err find_mean(struct path_report *report, struct why *why)
{
    const struct graph *graph = &report->route.topology.graph;
    struct load_walk *walk = NULL;
    double *channels = array_new(graph_channel_count(graph), sizeof *channels);
    enum err err = channels ? load_walk_open(&walk, &report->route.router, why) : why_memory(why);
    if (!err)
        err = load_add(walk, report->from, report->to, 1, channels, &report->mean_path, why);
    load_walk_close(walk);
    free(channels);
    return err;
}

static enum err find_ways(struct path_report *report, struct why *why)
{
    const struct router *router = &report->route.router;
    struct rng rng = rng_make(report->route.seed, STREAM_PACKETS);
    if (!report->all)
        return ways_draw(&report->ways, router, report->from, report->to, (uint32_t)report->count,
                         &rng, why);
    return ways_list(&report->ways, router, report->from, report->to, why);
}

static void print_coordinate(struct text *out, const struct topology *topology, uint32_t node)
{
    uint32_t at[AXIS_MAX];
    topology_coordinate(topology, node, at);
    for (uint32_t axis = 0; axis < topology->axis_count; axis++)
        text_printf(out, "%c%u", axis ? ',' : '(', at[axis]);
    if (topology->axis_count)
        text_puts(out, ")");
}

/* Returns the length of the longest name on the first path. */
static int name_width(const struct path_report *report)
{
    const struct topology *topology = &report->route.topology;
    const struct path_set *set = &report->ways.paths;
    char name[NODE_NAME_SIZE];
    size_t width = strlen(topology_name(topology, report->from, name));
    for (size_t hop = set->path_first[0]; hop < set->path_first[1]; hop++) {
        uint32_t node = graph_channel_to(&topology->graph, set->channels[hop]);
        size_t size = strlen(topology_name(topology, node, name));
        width = size > width ? size : width;
    }
    return (int)width;
}

/* Prints the only path, one hop per line. */
static void print_hops(struct text *out, const struct path_report *report)
{
    const struct topology *topology = &report->route.topology;
    const struct path_set *set = &report->ways.paths;
    uint32_t node = report->from;
    int width = name_width(report);
    char name[NODE_NAME_SIZE];
    for (size_t hop = 0; hop <= set->hop_count; hop++) {
        bool last = hop == set->hop_count;
        text_printf(out, "  %-*s%s", last && !topology->axis_count ? 0 : width,
                    topology_name(topology, node, name), topology->axis_count ? "  " : "");
        print_coordinate(out, topology, node);
        if (!last) {
            uint32_t channel = set->channels[hop];
            text_printf(out, "  port %u", graph_channel_port(&topology->graph, channel));
            node = graph_channel_to(&topology->graph, channel);
        }
        text_puts(out, "\n");
    }
}

/* Prints one path: its nodes, each but the last with the port by which the packet leaves it. */
static void print_way(struct text *out, const struct path_report *report, size_t way)
{
    const struct topology *topology = &report->route.topology;
    const struct path_set *set = &report->ways.paths;
    uint32_t node = report->from;
    char name[NODE_NAME_SIZE];
    text_puts(out, topology_name(topology, node, name));
    print_coordinate(out, topology, node);
    for (size_t hop = set->path_first[way]; hop < set->path_first[way + 1]; hop++) {
        text_printf(out, ":%u", graph_channel_port(&topology->graph, set->channels[hop]));
        node = graph_channel_to(&topology->graph, set->channels[hop]);
        text_printf(out, " %s", topology_name(topology, node, name));
        print_coordinate(out, topology, node);
    }
}

static const char path_page[] =
    "{topology}, {algorithm}, from {from} to {to}\n"
    "mean path {mean_path%.6g} hops\n"
    "{?only}{only_hops|hop|hops}{?all}, the only path{/}\n{only}{:}"
    "{ways|path|paths}{?all}{:} of {count} packets{/}\n\n"
    "  {?all}probability{:}    packets{/}  hops  node:port ...\n"
    "{#paths}  {?all}{probability%11.6f}{:}{packets%11u}{/}  {hops%4u}  {words}\n{/}{/}";

static void node_put(struct result *result, const struct topology *topology, uint32_t node)
{
    char name[NODE_NAME_SIZE];
    result_string(result, NULL, topology_name(topology, node, name));
}

static void coordinate_put(struct result *result, const struct topology *topology, uint32_t node)
{
    uint32_t at[AXIS_MAX];
    topology_coordinate(topology, node, at);
    result_array(result, NULL);
    for (uint32_t axis = 0; axis < topology->axis_count; axis++)
        result_uint(result, NULL, at[axis]);
    result_end(result);
}

/* Adds the nodes of a path by `put`. */
static void
nodes_put(struct result *result, const char *key, const struct path_report *report, size_t way,
          void (*put)(struct result *result, const struct topology *topology, uint32_t node))
{
    const struct topology *topology = &report->route.topology;
    const struct path_set *set = &report->ways.paths;
    result_array(result, key);
    put(result, topology, report->from);
    for (size_t hop = set->path_first[way]; hop < set->path_first[way + 1]; hop++)
        put(result, topology, graph_channel_to(&topology->graph, set->channels[hop]));
    result_end(result);
}

static void way_put(struct result *result, const struct path_report *report, size_t way)
{
    const struct topology *topology = &report->route.topology;
    const struct path_set *set = &report->ways.paths;
    size_t first = set->path_first[way], end = set->path_first[way + 1];
    double share = report->ways.shares[way];
    result_object(result, NULL);
    result_uint(result, "hops", end - first);
    result_number(result, "probability", report->all ? share : (double)NAN);
    result_uint_if(result, "packets", !report->all, (uint64_t)share);
    nodes_put(result, "nodes", report, way, node_put);
    if (topology->axis_count)
        nodes_put(result, "coordinates", report, way, coordinate_put);
    result_array(result, "ports");
    for (size_t hop = first; hop < end; hop++)
        result_uint(result, NULL, graph_channel_port(&topology->graph, set->channels[hop]));
    result_end(result);
    result_array(result, "channels");
    for (size_t hop = first; hop < end; hop++)
        result_uint(result, NULL, set->channels[hop]);
    result_end(result);
    print_way(result_words(result_hide(result), "words"), report, way);
    result_end(result);
}

static void report_put(struct result *result, const struct path_report *report)
{
    const struct topology *topology = &report->route.topology;
    size_t count = report->ways.paths.path_count;
    char name[NODE_NAME_SIZE];
    result_string(result, "topology", report->name);
    result_string(result, "algorithm", report->route.router.algorithm->name);
    result_string(result, "from", topology_name(topology, report->from, name));
    result_string(result, "to", topology_name(topology, report->to, name));
    result_uint(result, "seed", report->route.seed);
    result_bool(result, "all", report->all);
    result_uint_if(result, "count", !report->all, report->count);
    result_number(result, "mean_path", report->mean_path);
    result_array(result, "paths");
    for (size_t i = 0; i < count; i++)
        way_put(result, report, report->ways.order[i]);
    result_end(result);
    result_uint(result_hide(result), "ways", count);
    if (count == 1) {
        result_uint(result_hide(result), "only_hops", report->ways.paths.hop_count);
        print_hops(result_words(result_hide(result), "only"), report);
    }
}

static enum err report_make(struct path_report *report, const struct call *call, struct why *why)
{
    enum err err = find_node(report, call->arguments[1], &report->from, why);
    if (!err)
        err = find_node(report, call->arguments[2], &report->to, why);
    if (!err)
        err = find_ways(report, why);
    if (!err)
        err = find_mean(report, why);
    return err;
}

static enum err path_run(struct call *call, struct why *why)
{
    struct path_report report = {.name = call->arguments[0], .all = call_has(call, "all")};
    report.count = report.all ? 0 : 1;
    if (report.all && call_has(call, "count"))
        return why_fail(why, ERR_USAGE,
                        "--all: cannot be combined with --count, because it draws no packets");
    enum err err = call_uint(call, "count", 1, 1000000, &report.count, why);
    if (!err)
        err = route_call_open(&report.route, call, why);
    if (err)
        return err;
    err = report_make(&report, call, why);
    if (!err)
        report_put(call_result(call, path_page), &report);
    ways_fini(&report.ways);
    route_call_close(&report.route);
    return err;
}

static const struct option path_options[] = {
    ROUTE_CALL_OPTIONS,
    {"count", "N", "send N packets and count how many take each path (default 1)"},
    {"all", NULL, "print every path that a packet may take, with its probability"},
    {0},
};

const struct command command_route_path = {
    .name = "route path",
    .arguments = "SPEC|FILE FROM TO",
    .summary = "print the path of a packet between two nodes",
    .description =
        "Sends a packet from one node to another under a routing algorithm and prints the nodes "
        "on its path, each with the port by which the packet leaves it and, if the network has "
        "axes, the coordinates. Another seed draws another packet; ecmp and k-shortest also use "
        "the seed to choose among paths of equal length.\n\n"
        "With --count, many packets are sent, and each path is printed once, with the number of "
        "packets that took it. With --all, no packets are drawn: all paths are printed with "
        "their probabilities, most likely first. More than 100000 paths are refused.\n\n"
        "The mean path is exact: it is the mean over all possible packets, not over those drawn. "
        "For an adaptive algorithm all moves that a packet may take at a node count as equally "
        "likely.",
    .options = path_options,
    .examples = "  weft route path torus:8x8 0 27 --algorithm dor\n"
                "  weft route path torus:8x8 0 27 --algorithm romm --all\n"
                "  weft route path jellyfish:n=50,degree=5,seed=1 0 17 --algorithm k-shortest "
                "--ways 4 --all --json",
    .run = path_run,
};
