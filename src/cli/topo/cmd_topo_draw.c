/* weft topo draw */
#include <string.h>

#include "cli/commands.h"
#include "cli/core/call.h"
#include "cli/core/file.h"
#include "cli/core/load.h"
#include "topology/draw/drawing.h"

static enum err draw_deliver(struct call *call, const struct text *picture, struct why *why)
{
    const char *path = call_option(call, "out");
    if (!path || strcmp(path, "-") == 0) {
        text_add(&call->out, picture->data, picture->size);
        return OK;
    }
    enum err err = file_write(path, picture, why);
    if (err)
        return err;
    struct result *result = call_result(call, "{file}: {bytes} bytes\n");
    result_string(result, "file", path);
    result_uint(result, "bytes", picture->size);
    return OK;
}

static enum err draw_run(struct call *call, struct why *why)
{
    int kind = LAYOUT_AUTO;
    enum err err = call_choice(call, "layout", layout_names, &kind, why);
    if (!err)
        err = call_out_ending(call, "out", (const char *const[]){".svg", NULL}, "", why);
    if (err)
        return err;
    const char *path = call_option(call, "out");
    if (call->json && (!path || strcmp(path, "-") == 0))
        return why_fail(
            why, ERR_USAGE,
            "topo draw: --json needs --out FILE, because the picture goes to standard output");
    struct topology topology;
    err = load_topology(&topology, call->arguments[0], why);
    if (err)
        return err;
    struct text picture = {0};
    err = drawing_svg(&picture, &topology, (enum layout_kind)kind, why);
    if (!err)
        err = draw_deliver(call, &picture, why);
    text_fini(&picture);
    topology_fini(&topology);
    return err;
}

static const struct option draw_options[] = {
    {"layout", "auto|grid|circle|levels|spring", "how the nodes are placed (default auto)"},
    {"out", "FILE", "write the picture to this file instead of standard output"},
    {0},
};

const struct command command_topo_draw = {
    .name = "topo draw",
    .arguments = "SPEC|FILE",
    .summary = "draw a topology as an SVG picture",
    .description =
        "Draws a topology. Tori and NovaCubes are drawn on a grid with the third axis in "
        "perspective, curved wraparound cables and dashed jump cables; fat-trees in levels; "
        "Jellyfish on a ring, with a separate ring for each container; all other graphs with a "
        "force-directed layout. Nodes and cables show their names and ports when the pointer is "
        "over them.\n\n"
        "Pictures of up to a few hundred nodes are readable.",
    .options = draw_options,
    .examples = "  weft topo draw torus:4x4x4 --out torus.svg",
    .run = draw_run,
};
