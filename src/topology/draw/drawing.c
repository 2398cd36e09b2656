#include "topology/draw/drawing.h"

#include <math.h>
#include <string.h>

#include "base/check.h"

#define MARGIN         36.0
#define FOOT           44.0 /* room for the caption */
#define SIDE_MAX       1400.0
#define BULGE          0.14 /* twice a wraparound cable's bend, relative to its length */
#define BULGE_SHORT    0.22 /* the same for a short cable, to clear the node between */
#define DOTS_MAX       64   /* servers of a switch that are drawn; the tooltip gives their number */
#define CAPTION_LETTER 7.0  /* width of a letter at 13 px */

/* Okabe and Ito's colours, which colour-blind people can distinguish. */
static const char *const axis_colour[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00"};
#define AXIS_COLOURS (sizeof axis_colour / sizeof *axis_colour)
#define PLAIN_COLOUR "#5b6770"
#define JUMP_COLOUR  "#8a4fbf"

struct canvas {
    struct text *out;
    const struct topology *topology;
    struct layout layout;
    double scale;  /* from the layout's units to the picture's */
    double radius; /* of a node */
    double width, height;
    double margin; /* around the nodes */
};

static struct point node_point(const struct canvas *canvas, uint32_t node)
{
    struct point at = canvas->layout.at[node];
    return (struct point){canvas->margin + (at.x - canvas->layout.low.x) * canvas->scale,
                          canvas->margin + (at.y - canvas->layout.low.y) * canvas->scale};
}

static void put_escaped(struct text *out, const char *string)
{
    for (; *string; string++) {
        switch (*string) {
        case '<':
            text_puts(out, "&lt;");
            break;
        case '>':
            text_puts(out, "&gt;");
            break;
        case '&':
            text_puts(out, "&amp;");
            break;
        default:
            if ((unsigned char)*string >= ' ')
                text_add(out, string, 1);
        }
    }
}

static void put_name(const struct canvas *canvas, uint32_t node)
{
    char buffer[NODE_NAME_SIZE];
    put_escaped(canvas->out, topology_name(canvas->topology, node, buffer));
}

/* The axis that a cable of a grid follows; axis_count for a jump or a random cable. */
static uint32_t link_axis(const struct topology *topology, const struct link *link, bool *wraps)
{
    uint32_t a[AXIS_MAX], b[AXIS_MAX], axis = topology->axis_count;
    *wraps = false;
    topology_coordinate(topology, link->a, a);
    topology_coordinate(topology, link->b, b);
    for (uint32_t i = 0; i < topology->axis_count; i++) {
        if (a[i] == b[i])
            continue;
        if (axis != topology->axis_count)
            return topology->axis_count;
        axis = i;
        uint32_t size = topology->axis_size[i];
        uint32_t gap = a[i] > b[i] ? a[i] - b[i] : b[i] - a[i];
        if (gap != 1 && gap != size - 1)
            return topology->axis_count;
        *wraps = gap != 1;
    }
    return axis;
}

/* Draws a curve whose control point is `bulge` of its length away from the line, to the left of its
 * direction. */
static void put_curve(const struct canvas *canvas, struct point a, struct point b, double bulge)
{
    double x = (a.x + b.x) / 2 + (b.y - a.y) * bulge, y = (a.y + b.y) / 2 - (b.x - a.x) * bulge;
    text_printf(canvas->out, "M%.1f %.1fQ%.1f %.1f %.1f %.1f", a.x, a.y, x, y, b.x, b.y);
}

static void put_path(const struct canvas *canvas, const struct link *link, const char **colour,
                     bool *dashed)
{
    const struct topology *topology = canvas->topology;
    struct point a = node_point(canvas, link->a), b = node_point(canvas, link->b);
    *colour = PLAIN_COLOUR;
    *dashed = false;
    if (canvas->layout.kind == LAYOUT_GRID) {
        bool wraps;
        uint32_t axis = link_axis(topology, link, &wraps);
        if (axis == topology->axis_count) {
            *colour = JUMP_COLOUR;
            *dashed = true;
            put_curve(canvas, a, b, 0.1); /* a straight line would cross nodes on the diagonal */
            return;
        }
        *colour = axis_colour[axis % AXIS_COLOURS];
        if (wraps) { /* outwards: up for rows, left for columns */
            bool forward = a.x < b.x || (a.x == b.x && a.y > b.y);
            put_curve(canvas, forward ? a : b, forward ? b : a,
                      topology->axis_size[axis] < 4 ? BULGE_SHORT : BULGE);
            return;
        }
    } else if (canvas->layout.kind == LAYOUT_CIRCLE) {
        struct point middle = {canvas->width / 2, (canvas->height - FOOT) / 2};
        struct point half = {(a.x + b.x) / 2, (a.y + b.y) / 2};
        /* Chords bend towards the centre, so that they leave the rim at once. */
        text_printf(canvas->out, "M%.1f %.1fQ%.1f %.1f %.1f %.1f", a.x, a.y,
                    half.x + (middle.x - half.x) * 0.35, half.y + (middle.y - half.y) * 0.35, b.x,
                    b.y);
        return;
    }
    text_printf(canvas->out, "M%.1f %.1fL%.1f %.1f", a.x, a.y, b.x, b.y);
}

static void put_links(const struct canvas *canvas)
{
    const struct graph *graph = &canvas->topology->graph;
    double density = graph->node_count ? (double)graph->link_count / graph->node_count : 0;
    double opacity = fmax(0.25, fmin(0.9, 12 / (density * sqrt(graph->node_count + 1.0))));
    text_printf(canvas->out, "<g fill=\"none\" stroke-width=\"%.2f\" stroke-opacity=\"%.2f\">\n",
                fmax(0.6, fmin(2, canvas->radius / 5)), opacity);
    for (uint32_t e = 0; e < graph->link_count; e++) {
        const struct link *link = &graph->links[e];
        const char *colour;
        bool dashed;
        text_puts(canvas->out, "<path d=\"");
        put_path(canvas, link, &colour, &dashed);
        text_printf(canvas->out, "\" stroke=\"%s\"%s><title>", colour,
                    dashed ? " stroke-dasharray=\"4 3\"" : "");
        put_name(canvas, link->a);
        text_printf(canvas->out, ":%u \xe2\x80\x93 ", link->a_port);
        put_name(canvas, link->b);
        text_printf(canvas->out, ":%u</title></path>\n", link->b_port);
    }
    text_puts(canvas->out, "</g>\n");
}

/* Draws the servers of a switch: dots on the side away from the centre, or below. */
static void put_servers(const struct canvas *canvas, uint32_t node)
{
    uint32_t servers = canvas->topology->sites[node].servers;
    struct point at = node_point(canvas, node);
    servers = servers < DOTS_MAX ? servers : DOTS_MAX;
    double direction = 1.5707963; /* straight down the page */
    if (canvas->layout.kind != LAYOUT_LEVELS)
        direction = atan2(at.y - (canvas->height - FOOT) / 2, at.x - canvas->width / 2);
    double dot = fmax(0.8, canvas->radius * 0.22), reach = canvas->radius * 1.7;
    for (uint32_t i = 0; i < servers; i++) {
        double angle = direction + (i - (servers - 1) / 2.0) * fmin(0.45, 2.4 / servers);
        text_printf(canvas->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"#e69f00\"/>",
                    at.x + reach * cos(angle), at.y + reach * sin(angle), dot);
    }
}

static void put_node(const struct canvas *canvas, uint32_t node, bool labelled)
{
    const struct topology *topology = canvas->topology;
    struct point at = node_point(canvas, node);
    if (!topology->direct)
        put_servers(canvas, node);
    text_printf(canvas->out,
                "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"%s\" stroke=\"#20303c\">"
                "<title>",
                at.x, at.y, canvas->radius, topology->direct ? "#e8f1f8" : "#f4efe6");
    put_name(canvas, node);
    if (topology->axis_count) {
        uint32_t coordinate[AXIS_MAX];
        topology_coordinate(topology, node, coordinate);
        for (uint32_t axis = 0; axis < topology->axis_count; axis++)
            text_printf(canvas->out, "%s%u", axis ? "," : " (", coordinate[axis]);
        text_puts(canvas->out, ")");
    }
    if (!topology->direct)
        text_printf(canvas->out, ", %u servers", topology->sites[node].servers);
    text_puts(canvas->out, "</title></circle>");
    if (labelled) {
        text_printf(canvas->out, "<text x=\"%.1f\" y=\"%.1f\">", at.x, at.y);
        put_name(canvas, node);
        text_puts(canvas->out, "</text>");
    }
    text_puts(canvas->out, "\n");
}

/* Names are written into the nodes if they fit. */
static bool labels_fit(const struct canvas *canvas)
{
    char buffer[NODE_NAME_SIZE];
    size_t longest = 0;
    for (uint32_t v = 0; v < canvas->topology->graph.node_count; v++) {
        size_t length = strlen(topology_name(canvas->topology, v, buffer));
        longest = length > longest ? length : longest;
    }
    return canvas->radius >= 6 && (double)longest <= 4;
}

static void put_nodes(const struct canvas *canvas)
{
    bool labelled = labels_fit(canvas);
    text_printf(canvas->out,
                "<g stroke-width=\"1\" font-size=\"%.1f\" text-anchor=\"middle\" "
                "dominant-baseline=\"central\" font-family=\"sans-serif\">\n",
                canvas->radius * 0.9);
    for (uint32_t v = 0; v < canvas->topology->graph.node_count; v++)
        put_node(canvas, v, labelled);
    text_puts(canvas->out, "</g>\n");
}

static void caption_write(struct text *caption, const struct topology *topology)
{
    put_escaped(caption, topology->spec[0] ? topology->spec : topology_kind_name(topology->kind));
    text_printf(caption, ": %u servers, ", topology->server_count);
    if (!topology->direct)
        text_printf(caption, "%u switches, ", topology_switch_count(topology));
    text_printf(caption, "%u links", topology->graph.link_count);
}

/* Chooses the scale so that nodes are not crowded and the picture is not larger than a screen, if
 * possible. */
static void canvas_size(struct canvas *canvas, size_t caption_size)
{
    const struct layout *layout = &canvas->layout;
    double wide = layout->high.x - layout->low.x, high = layout->high.y - layout->low.y;
    double roomy = 58 / layout->spacing;
    double fitting = SIDE_MAX / fmax(fmax(wide, high), 1e-9);
    canvas->scale = fmin(roomy, fitting);
    canvas->radius = fmax(1.2, fmin(14, canvas->scale * layout->spacing * 0.25));
    canvas->margin = MARGIN;
    if (layout->kind == LAYOUT_GRID) /* wraparound cables bend outwards */
        canvas->margin += BULGE / 2 * fmax(wide, high) * canvas->scale;
    canvas->width =
        fmax((double)caption_size * CAPTION_LETTER, wide * canvas->scale) + 2 * canvas->margin;
    canvas->height = high * canvas->scale + 2 * canvas->margin + FOOT;
}

enum err drawing_svg(struct text *out, const struct topology *topology, enum layout_kind kind,
                     struct why *why)
{
    const struct graph *graph = &topology->graph;
    if (graph->node_count > DRAWING_NODE_MAX || graph->link_count > DRAWING_LINK_MAX)
        return why_fail(
            why, ERR_USAGE,
            "draw: %u nodes and %u links are too many to draw; the maximum is %d and %d",
            graph->node_count, graph->link_count, DRAWING_NODE_MAX, DRAWING_LINK_MAX);
    struct canvas canvas = {.out = out, .topology = topology};
    enum err err = layout_make(&canvas.layout, topology, kind, why);
    if (err)
        return err;
    struct text caption = {0};
    caption_write(&caption, topology);
    canvas_size(&canvas, caption.size);
    text_printf(out,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
                "viewBox=\"0 0 %.0f %.0f\">\n<rect width=\"100%%\" height=\"100%%\" "
                "fill=\"white\"/>\n",
                canvas.width, canvas.height, canvas.width, canvas.height);
    put_links(&canvas);
    put_nodes(&canvas);
    text_printf(out,
                "<text x=\"%.0f\" y=\"%.0f\" font-family=\"sans-serif\" font-size=\"13\" "
                "fill=\"#20303c\">%s</text>\n</svg>\n",
                MARGIN / 2, canvas.height - FOOT / 3, text_ok(&caption) ? caption.data : "");
    layout_fini(&canvas.layout);
    bool complete = text_ok(out) && text_ok(&caption);
    text_fini(&caption);
    return complete ? OK : why_memory(why);
}
