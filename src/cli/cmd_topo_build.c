/* weft topo build */
#include "base/json.h"
#include "cli/call.h"
#include "cli/commands.h"
#include "cli/load.h"

static enum err build_run(struct call *call, struct why *why)
{
    struct topology topology;
    enum err err = load_topology(&topology, call->arguments[0], why);
    if (err)
        return err;
    text_printf(&call->out, "%s: %u nodes, %u links, %u servers\n", topology.spec,
                topology.graph.node_count, topology.graph.link_count, topology.server_count);
    topology_fini(&topology);
    return OK;
}

const struct command command_topo_build = {
    .name = "topo build",
    .arguments = "SPEC|FILE",
    .summary = "construct a topology and write it to a file",
    .description = "Constructs a topology.",
    .run = build_run,
};
