/* weft topo export */
#include "cli/commands.h"
#include "cli/core/call.h"
#include "cli/topo/topology_out.h"

/* Nothing but the format distinguishes it from build, so it must be said. */
static enum err export_run(struct call *call, struct why *why)
{
    enum format format;
    const char *path = call_option(call, "out");
    enum err err = topology_out_format(call, FORMAT_JSON, &format, why);
    if (err)
        return err;
    if (!call_has(call, "format") && !(path && format_of_name(path, &format)))
        return why_fail(why, ERR_USAGE,
                        "topo export: which format? say --format json, edgelist, dot, graphml or "
                        "anynet");
    return topology_out_run(call, why);
}

static const struct option export_options[] = {
    {"format", FORMAT_CHOICES, "of the file; the ending of --out if not given"},
    {"out", "FILE", "write here instead of to standard output"},
    {0},
};

const struct command command_topo_export = {
    .name = "topo export",
    .arguments = "SPEC|FILE",
    .summary = "write a topology in another program's format",
    .description =
        "Reads or constructs a topology and writes it in the format asked for by --format, or by "
        "the ending of --out:\n\n"
        "  json       node-link JSON of networkx and D3     .json\n"
        "  edgelist   one link per line                     .edgelist .edges .txt\n"
        "  dot        graphviz                              .dot .gv\n"
        "  graphml    GraphML                               .graphml\n"
        "  anynet     network file of the BookSim simulator .anynet\n\n"
        "anynet keeps routers, servers and links only, and cannot hold two cables between the "
        "same routers. weft-topology-file(5) has the details.",
    .options = export_options,
    .examples = "  weft topo export torus:8x8 --format anynet --out torus88.anynet\n"
                "  weft topo export network.graphml --format edgelist",
    .run = export_run,
};
