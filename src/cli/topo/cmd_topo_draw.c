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
        return why_fail(why, ERR_USAGE,
                        "topo draw: --json needs --out FILE: the result is a picture");
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
    {"layout", "auto|grid|circle|levels|spring", "how the nodes stand (default auto)"},
    {"out", "FILE", "write the picture there, not to standard output"},
    {0},
};

const struct command command_topo_draw = {
    .name = "topo draw",
    .arguments = "SPEC|FILE",
    .summary = "draw a topology as an SVG picture",
    .description =
        "Draws a topology. Tori and NovaCubes stand on a grid, the third axis into the depth, "
        "with bent wraparound cables and dashed jumps; a fat-tree in its levels; Jellyfish on a "
        "ring, containers on rings of their own; other graphs by springs. Nodes and cables show "
        "their names and ports when the pointer rests on them.\n\n"
        "Pictures are readable to a few hundred nodes.",
    .options = draw_options,
    .examples = "  weft topo draw torus:4x4x4 --out torus.svg",
    .run = draw_run,
};
