/* weft topo build */
#include "cli/commands.h"
#include "cli/core/call.h"
#include "cli/topo/topology_out.h"

static const struct option build_options[] = {
    {"out", "FILE", "write the topology here; the ending says in which format"},
    {"format", FORMAT_CHOICES, "of the file; json if nothing says"},
    {0},
};

const struct command command_topo_build = {
    .name = "topo build",
    .arguments = "SPEC|FILE",
    .summary = "construct a topology and write it to a file",
    .description =
        "Constructs the topology that SPEC names, or reads it from FILE (- is standard input), "
        "and writes it: to the file of --out, or, without --out, to standard output.\n\n"
        "The file is node-link JSON as networkx reads it, unless --format or the ending of the "
        "file's name (.json, .edgelist, .edges, .txt, .dot, .gv, .graphml, .anynet) says "
        "otherwise. weft-topology-file(5) tells what each format keeps.\n\n"
        "With --out it prints one line about what was written, or with --json one object: file, "
        "format, kind, spec, nodes, servers, switches, links.",
    .options = build_options,
    .examples = "  weft topo build torus:3x3x3 --out cube.json\n"
                "  weft topo build cube.json --format dot | neato -Tsvg -o cube.svg",
    .run = topology_out_run,
};
