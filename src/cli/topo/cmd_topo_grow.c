/* weft topo grow */
#include <string.h>

#include "cli/commands.h"
#include "cli/core/call.h"
#include "cli/core/load.h"
#include "cli/topo/steps.h"
#include "cli/topo/topology_out.h"
#include "topology/change/grow.h"

#define ADD_MAX  1000000
#define PORT_MAX 1000000

/* Reads the options; the defaults are what most nodes have. */
static enum err order_read(struct grow_order *order, const struct call *call,
                           const struct topology *topology, struct why *why)
{
    uint32_t ports_usual, servers_usual;
    enum err err = grow_majority(topology, &ports_usual, &servers_usual, why);
    if (err)
        return err;
    uint64_t count = 0, ports = ports_usual, servers = servers_usual, seed = 1;
    if (!call_has(call, "add"))
        return why_fail(why, ERR_USAGE, "topo grow: --add N is missing: how many nodes to add");
    if (topology->direct && (call_has(call, "servers") || call_has(call, "bare")))
        return why_fail(
            why, ERR_USAGE,
            "%s: its nodes are servers; --servers and --bare need a network of switches",
            call->arguments[0]);
    if (call_has(call, "servers") && call_has(call, "bare"))
        return why_fail(why, ERR_USAGE, "topo grow: --bare and --servers cannot be combined");
    if (call_has(call, "bare"))
        servers = 0;
    err = call_uint(call, "add", 1, ADD_MAX, &count, why);
    if (!err)
        err = call_uint(call, "ports", 1, PORT_MAX, &ports, why);
    if (!err)
        err = call_uint(call, "servers", 0, PORT_MAX, &servers, why);
    if (!err)
        err = call_uint(call, "seed", 0, UINT64_MAX, &seed, why);
    *order = (struct grow_order){(uint32_t)count, (uint32_t)ports, (uint32_t)servers, seed};
    return err;
}

static const char grow_page[] =
    "{nodes_before} to {nodes} {?direct}nodes{:}switches{/}, {servers|server|servers}: "
    "{unplug|cable|cables} to unplug and {plug} to plug for {ports_added|new port|new ports}"
    "{?ports_free}, of which {ports_free|stays|stay} free{/}\n" STEPS_VERDICT_PAGE STEPS_PAGE;

static void growth_put(struct result *result, const struct growth *growth,
                       const struct grow_order *order, const struct steps_names *names)
{
    const struct topology *topology = &growth->topology;
    result_uint(result_hide(result), "nodes_before", growth->first);
    result_uint(result_hide(result), "nodes", topology->graph.node_count);
    result_bool(result_hide(result), "direct", topology->direct);
    result_uint(result, "servers", topology->server_count);
    result_uint(result, "switches", topology_switch_count(topology));
    result_uint(result, "links", topology->graph.link_count);
    result_uint(result, "seed", order->seed);
    result_array(result, "added");
    for (uint32_t v = growth->first; v < topology->graph.node_count; v++)
        steps_put_node(result, NULL, names, v);
    result_end(result);
    result_uint(result, "ports_added", growth->ports_added);
    result_uint(result, "ports_free", growth->ports_free);
    steps_put(result, &growth->plan, names);
}

static enum err grow_run(struct call *call, struct why *why)
{
    struct topology topology;
    struct grow_order order;
    struct growth growth;
    struct why reason = {""};
    enum format format;
    const char *path = call_option(call, "out");
    if (path && strcmp(path, "-") == 0)
        return why_fail(why, ERR_USAGE, "--out -: standard output has the plan; name a file");
    enum err err = topology_out_format(call, FORMAT_JSON, &format, why);
    if (!err)
        err = load_topology(&topology, call->arguments[0], why);
    if (err)
        return err;
    err = order_read(&order, call, &topology, why);
    if (err)
        goto done;
    err = grow_topology(&growth, &topology, &order, &reason);
    if (err) {
        err = why_fail(why, err, "%s: %s", call->arguments[0], reason.text);
        goto done;
    }
    const struct steps_names names = {.before = &growth.topology};
    growth_put(call_result(call, grow_page), &growth, &order, &names);
    if (path) /* standard output has the plan; the network only goes to a file */
        err = topology_out_file(path, &growth.topology, format, why);
    growth_fini(&growth);
done:
    topology_fini(&topology);
    return err;
}

static const struct option grow_options[] = {
    {"add", "N", "how many racks, switches or servers to add"},
    {"ports", "P", "ports of each new switch, or links of each new server"},
    {"servers", "S", "servers on each new switch"},
    {"bare", NULL, "add switches without servers"},
    {"seed", "K", "seed of the random choice of cables (default 1)"},
    {"out", "FILE", "write the grown network to this file; its ending selects the format"},
    {"format", FORMAT_CHOICES, "format of the file (default: by the ending of --out, or json)"},
    {0},
};

const struct command command_topo_grow = {
    .name = "topo grow",
    .arguments = "SPEC|FILE",
    .summary = "add switches to a network, and print which cables to move",
    .description =
        "Adds racks (a switch with servers), switches without servers, or, in a network without "
        "switches, servers. It follows the procedure of the Jellyfish paper: a random cable is "
        "unplugged and both of its ends are connected to the new node, until the ports of that "
        "node are used. If one port is left over, it is connected to a free port of another node, "
        "if there is one. At most as many cables are unplugged as ports are added, and no two "
        "nodes are joined by a second cable.\n\n"
        "Prints the cables to unplug and to plug, as node:port, in an order that keeps the "
        "network connected after every step; a new node is part of the network from its first "
        "cable on. If every cable is needed, as in a tree, a step consists of several actions at "
        "once; the second and further ones are marked with a plus. With several new nodes the "
        "steps lead directly to the final network: no cable is moved twice.\n\n"
        "New nodes have as many ports and servers as most nodes have, unless the options say "
        "otherwise. Ports that get no cable, because the network is too small, stay free and are "
        "counted. --out writes the grown network to a file, which can be measured, drawn and "
        "grown again.",
    .options = grow_options,
    .examples = "  weft topo grow jellyfish:n=20,degree=6,seed=1 --add 1\n"
                "  weft topo grow torus:8x8 --add 4 --ports 4 --json\n"
                "  weft topo grow now.json --add 8 --bare --out next.json",
    .run = grow_run,
};
