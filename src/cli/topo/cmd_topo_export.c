/* weft topo export */
#include "cli/commands.h"
#include "cli/core/call.h"
#include "cli/topo/topology_out.h"

/* Only the format distinguishes export from build, so the user must name it. */
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
    {"format", FORMAT_CHOICES, "format of the file (default: by the ending of --out)"},
    {"out", "FILE", "write to this file instead of standard output"},
    {0},
};

const struct command command_topo_export = {
    .name = "topo export",
    .arguments = "SPEC|FILE",
    .summary = "write a topology in another program's format",
    .description =
        "Reads or builds a topology and writes it in the format that --format names, or that the "
        "ending of --out selects:\n\n"
        "  json       node-link JSON of networkx and D3     .json\n"
        "  edgelist   one link per line                     .edgelist .edges .txt\n"
        "  dot        graphviz                              .dot .gv\n"
        "  graphml    GraphML                               .graphml\n"
        "  anynet     network file of the BookSim simulator .anynet\n\n"
        "anynet stores routers, servers and links only, and cannot store two cables between the "
        "same routers. weft-topology-file(5) has the details.",
    .options = export_options,
    .examples = "  weft topo export torus:8x8 --format anynet --out torus88.anynet\n"
                "  weft topo export network.graphml --format edgelist",
    .run = export_run,
};
