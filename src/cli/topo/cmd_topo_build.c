/* weft topo build */
#include "cli/commands.h"
#include "cli/core/call.h"
#include "cli/topo/topology_out.h"

static const struct option build_options[] = {
    {"out", "FILE", "write the topology to this file; its ending selects the format"},
    {"format", FORMAT_CHOICES, "format of the file (default: by the ending of --out, or json)"},
    {0},
};

const struct command command_topo_build = {
    .name = "topo build",
    .arguments = "SPEC|FILE",
    .summary = "build a topology and write it to a file",
    .description =
        "Builds the topology that SPEC describes, or reads it from FILE (- is standard input), "
        "and writes it to the file of --out, or to standard output without --out.\n\n"
        "The file is node-link JSON as networkx reads it, unless --format or the ending of its "
        "name (.json, .edgelist, .edges, .txt, .dot, .gv, .graphml, .anynet) selects another "
        "format. weft-topology-file(5) describes what each format can store.\n\n"
        "With --out it prints one line about the file, or with --json one object: file, format, "
        "kind, spec, nodes, servers, switches, links.",
    .options = build_options,
    .examples = "  weft topo build torus:3x3x3 --out cube.json\n"
                "  weft topo build cube.json --format dot | neato -Tsvg -o cube.svg",
    .run = topology_out_run,
};
