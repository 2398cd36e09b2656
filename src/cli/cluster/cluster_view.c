#include "cli/cluster/cluster_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "cli/show/unit_text.h"

#define LEVELS         8
#define FULL_MIN       65536.0 /* bytes a second; hellos alone are much less */
#define BUSIEST_SHOWN  5
#define SLICE_GAP      4
#define AXES_DRAWN_MAX 3
#define AXIS_DRAWN_MAX 64 /* servers in a row; a longer torus is shown as a list */

static const char *const level_glyphs[LEVELS + 1] = {"·", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

enum paint { PAINT_NONE, PAINT_RED, PAINT_YELLOW, PAINT_GREEN, PAINT_FAINT, PAINT_BOLD };

static const char *const paint_codes[] = {"", "31", "33", "32", "2", "1"};

struct drawing {
    const struct cluster_view *view;
    const struct table_text_style *style;
    struct text *out;
    const struct cluster_load *loads;
    const uint32_t *cable_at; /* the cable at each port of each server, or UINT32_MAX */
    double full;              /* bytes a second of a full block */
};

static void put(const struct drawing *drawing, enum paint paint, const char *text)
{
    if (drawing->style->colour && paint != PAINT_NONE)
        text_printf(drawing->out, "\033[%sm%s\033[0m", paint_codes[paint], text);
    else
        text_puts(drawing->out, text);
}

/* Prints a line, truncated to the width of the terminal. */
static void put_line(const struct drawing *drawing, enum paint paint, const struct text *line)
{
    if (!text_ok(line) || !line->size) {
        text_puts(drawing->out, "\n");
        return;
    }
    size_t size = line->size;
    if (drawing->style->width)
        size = table_text_fitting(line->data, drawing->style->width);
    char *copy = strndup(line->data, size);
    put(drawing, paint, copy ? copy : "");
    free(copy);
    text_puts(drawing->out, "\n");
}

/* ---- loads ---- */

/* Returns the load that left a server by a port; 0 if the server was restarted meanwhile. */
static double end_load(const struct cluster_view *view, node_id server, uint32_t port)
{
    const struct cluster_seen *now = &view->now[server], *before = &view->before[server];
    if (now->state != SERVER_LIVE || before->state != SERVER_LIVE ||
        now->snapshot.node.incarnation != before->snapshot.node.incarnation ||
        now->snapshot.now <= before->snapshot.now || port >= now->snapshot.port_count)
        return 0;
    uint64_t bytes = now->snapshot.ports[port].bytes_out - before->snapshot.ports[port].bytes_out;
    return (double)bytes * 1e9 / (double)(now->snapshot.now - before->snapshot.now);
}

void cluster_view_loads(const struct cluster_view *view, struct cluster_load *loads)
{
    for (uint32_t i = 0; i < view->health->cable_count; i++) {
        const struct cluster_cable *cable = &view->health->cables[i];
        loads[i].forth = end_load(view, cable->a, cable->a_port);
        loads[i].back = end_load(view, cable->b, cable->b_port);
    }
}

static double load_most(const struct cluster_load *load)
{
    return load->forth > load->back ? load->forth : load->back;
}

static double full_of(const struct cluster_view *view, const struct cluster_load *loads)
{
    double full = FULL_MIN;
    if (view->rate)
        return (double)view->rate / 8;
    for (uint32_t i = 0; i < view->health->cable_count; i++)
        full = load_most(&loads[i]) > full ? load_most(&loads[i]) : full;
    return full;
}

/* ---- one link, one server ---- */

static void put_link(const struct drawing *drawing, node_id server, uint32_t port)
{
    const struct plan *plan = drawing->view->plan;
    uint32_t at =
        port < plan->port_count ? drawing->cable_at[server * plan->port_count + port] : UINT32_MAX;
    if (at == UINT32_MAX) {
        put(drawing, PAINT_NONE, " ");
        return;
    }
    switch (drawing->view->health->cables[at].state) {
    case LINK_UP: {
        double share = load_most(&drawing->loads[at]) / drawing->full;
        int level = share < 1.0 / 64 ? 0 : (int)(share * LEVELS) + 1;
        level = level > LEVELS ? LEVELS : level;
        put(drawing,
            level == 0  ? PAINT_FAINT
            : level > 6 ? PAINT_BOLD
                        : PAINT_NONE,
            level_glyphs[level]);
        return;
    }
    case LINK_COMING:
        put(drawing, PAINT_YELLOW, "+");
        return;
    case LINK_MISWIRED:
        put(drawing, PAINT_RED, "!");
        return;
    case LINK_CUT:
        put(drawing, PAINT_RED, "/");
        return;
    case LINK_LOST:
        put(drawing, PAINT_FAINT, " ");
        return;
    case LINK_DOWN:
    case LINK_STATES:
        put(drawing, PAINT_RED, "x");
        return;
    }
}

static int name_width(const struct plan *plan)
{
    char buffer[NODE_NAME_SIZE];
    uint32_t widest = 1;
    for (node_id v = 0; v < plan->server_count; v++) {
        uint32_t width = table_text_width(topology_name(plan->topology, v, buffer));
        widest = width > widest ? width : widest;
    }
    return widest > 16 ? 16 : (int)widest;
}

/* Prints the name of a server, aligned right; a dead server is a cross. */
static void put_server(const struct drawing *drawing, node_id server, int width)
{
    char buffer[NODE_NAME_SIZE];
    const struct cluster_seen *seen = &drawing->view->now[server];
    const char *name = topology_name(drawing->view->plan->topology, server, buffer);
    enum paint paint = PAINT_GREEN;
    if (seen->state == SERVER_DEAD) {
        name = "✗";
        paint = PAINT_RED;
    } else if (seen->state == SERVER_SILENT) {
        name = "?";
        paint = PAINT_YELLOW;
    } else if (!seen->snapshot.node.settled) {
        paint = PAINT_YELLOW;
    }
    char *fitting = strndup(name, table_text_fitting(name, (uint32_t)width));
    if (!fitting)
        return;
    for (int pad = width - (int)table_text_width(fitting); pad > 0; pad--)
        text_puts(drawing->out, " ");
    put(drawing, paint, fitting);
    free(fitting);
}

static void put_spaces(const struct drawing *drawing, int count)
{
    for (; count > 0; count--)
        text_puts(drawing->out, " ");
}

/* ---- the torus in slices ---- */

struct grid {
    uint32_t size[AXES_DRAWN_MAX]; /* 1 if there is no such axis */
    int name;                      /* width of a name */
    int width;                     /* columns of a slice */
};

static node_id grid_server(const struct grid *grid, uint32_t x, uint32_t y, uint32_t z)
{
    return (z * grid->size[1] + y) * grid->size[0] + x;
}

/* Prints two lines of a slice: servers with links along the first axis, then the other links. */
static void slice_line(const struct drawing *drawing, const struct grid *grid, uint32_t y,
                       uint32_t z, bool below)
{
    for (uint32_t x = 0; x < grid->size[0]; x++) {
        node_id server = grid_server(grid, x, y, z);
        if (!below) {
            put_server(drawing, server, grid->name);
            text_puts(drawing->out, " ");
            put_link(drawing, server, 0);
        } else {
            put_spaces(drawing, grid->name - 1);
            put_link(drawing, server, 2);
            text_puts(drawing->out, " ");
            put_link(drawing, server, 4);
        }
        text_puts(drawing->out, " ");
    }
}

static void slice_titles(const struct drawing *drawing, const struct grid *grid, uint32_t first,
                         uint32_t last)
{
    struct text line = {0};
    for (uint32_t z = first; z < last; z++) {
        char title[24];
        int size = snprintf(title, sizeof title, "z %u", z);
        text_printf(&line, "%s%*s", title, z + 1 < last ? grid->width - size + SLICE_GAP : 0, "");
    }
    put_line(drawing, PAINT_FAINT, &line);
    text_fini(&line);
}

static void slices_draw(const struct drawing *drawing, const struct grid *grid)
{
    uint32_t beside = grid->size[2], room = drawing->style->width;
    if (room)
        beside = (room + SLICE_GAP) / (uint32_t)(grid->width + SLICE_GAP);
    beside = beside ? beside : 1;
    for (uint32_t first = 0; first < grid->size[2]; first += beside) {
        uint32_t last = first + beside < grid->size[2] ? first + beside : grid->size[2];
        if (grid->size[2] > 1)
            slice_titles(drawing, grid, first, last);
        for (uint32_t row = 0; row < 2 * grid->size[1]; row++) {
            for (uint32_t z = first; z < last; z++) {
                slice_line(drawing, grid, row / 2, z, row % 2 == 1);
                if (z + 1 < last)
                    put_spaces(drawing, SLICE_GAP);
            }
            text_puts(drawing->out, "\n");
        }
    }
}

static bool grid_make(const struct drawing *drawing, struct grid *grid)
{
    const struct topology *topology = drawing->view->plan->topology;
    *grid = (struct grid){.size = {1, 1, 1}, .name = name_width(drawing->view->plan)};
    if (topology->axis_count == 0 || topology->axis_count > AXES_DRAWN_MAX)
        return false;
    for (uint32_t axis = 0; axis < topology->axis_count; axis++)
        grid->size[axis] = topology->axis_size[axis];
    grid->width = (int)grid->size[0] * (grid->name + 3);
    return grid->size[0] <= AXIS_DRAWN_MAX && grid->size[1] <= AXIS_DRAWN_MAX &&
           (!drawing->style->width || (uint32_t)grid->width <= drawing->style->width);
}

/* Prints a network that is no torus: every server with its ports in order. */
static void servers_draw(const struct drawing *drawing)
{
    const struct plan *plan = drawing->view->plan;
    int name = name_width(plan), cell = name + 1 + (int)plan->port_count + 3;
    uint32_t across = drawing->style->width ? drawing->style->width / (uint32_t)cell : 8;
    across = across ? across : 1;
    for (node_id v = 0; v < plan->server_count; v++) {
        put_server(drawing, v, name);
        text_puts(drawing->out, " ");
        for (uint32_t port = 0; port < plan->port_count; port++)
            put_link(drawing, v, port);
        bool ends = v % across == across - 1 || v + 1 == plan->server_count;
        text_puts(drawing->out, ends ? "\n" : "   ");
    }
}

/* ---- above and below ---- */

struct totals {
    double packets, bytes, drops; /* a second */
};

static struct totals totals_make(const struct drawing *drawing)
{
    const struct cluster_view *view = drawing->view;
    struct totals totals = {0};
    for (uint32_t i = 0; i < view->health->cable_count; i++)
        totals.bytes += drawing->loads[i].forth + drawing->loads[i].back;
    for (node_id v = 0; v < view->plan->server_count; v++) {
        const struct control_snapshot *now = &view->now[v].snapshot,
                                      *before = &view->before[v].snapshot;
        if (view->now[v].state != SERVER_LIVE || view->before[v].state != SERVER_LIVE ||
            now->node.incarnation != before->node.incarnation || now->now <= before->now)
            continue;
        double per_second = 1e9 / (double)(now->now - before->now);
        for (unsigned i = 0; i < DROP_COUNT; i++)
            totals.drops += (double)(now->node.drops[i] - before->node.drops[i]) * per_second;
        for (uint32_t port = 0; port < now->port_count; port++)
            totals.packets +=
                (double)(now->ports[port].packets_out - before->ports[port].packets_out) *
                per_second;
    }
    return totals;
}

static void head_draw(const struct drawing *drawing)
{
    const struct cluster_health *health = drawing->view->health;
    struct totals totals = totals_make(drawing);
    struct text line = {0};
    text_printf(&line, "%s  %u of %u servers  %u of %u links up  %.0f packets/s  ",
                health_names[health->health], health->live, health->server_count,
                health->links[LINK_UP], health->cable_count, totals.packets);
    unit_text_rate(&line, totals.bytes);
    text_printf(&line, "  %.0f drops/s", totals.drops);
    put_line(drawing, health->health == HEALTH_OK ? PAINT_BOLD : PAINT_RED, &line);
    text_fini(&line);
    for (int code = 0; code < HEALTH_CODES; code++) {
        if (!health->reasons[code])
            continue;
        struct text reason = {0};
        text_printf(&reason, "  %s: ", health_code_names[code]);
        cluster_health_reason(health, (enum health_code)code, drawing->view->plan,
                              drawing->view->now, &reason);
        put_line(drawing, PAINT_YELLOW, &reason);
        text_fini(&reason);
    }
}

/* Returns the next cable after `last` in falling order of load, or the first; UINT32_MAX: none. */
static uint32_t busiest_after(const struct drawing *drawing, uint32_t last)
{
    const struct cluster_load *loads = drawing->loads;
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < drawing->view->health->cable_count; i++) {
        double load = load_most(&loads[i]);
        if (load <= 0)
            continue;
        if (last != UINT32_MAX &&
            (load > load_most(&loads[last]) || (load == load_most(&loads[last]) && i <= last)))
            continue;
        if (best == UINT32_MAX || load > load_most(&loads[best]))
            best = i;
    }
    return best;
}

static void busiest_draw(const struct drawing *drawing)
{
    const struct topology *topology = drawing->view->plan->topology;
    uint32_t at = UINT32_MAX;
    for (int shown = 0; shown < BUSIEST_SHOWN; shown++) {
        char a[NODE_NAME_SIZE], b[NODE_NAME_SIZE];
        at = busiest_after(drawing, at);
        if (at == UINT32_MAX || load_most(&drawing->loads[at]) < drawing->full / 64)
            return;
        const struct cluster_cable *cable = &drawing->view->health->cables[at];
        struct text line = {0};
        text_printf(&line, "  %s - %s  ", topology_name(topology, cable->a, a),
                    topology_name(topology, cable->b, b));
        unit_text_rate(&line, drawing->loads[at].forth);
        text_puts(&line, " there, ");
        unit_text_rate(&line, drawing->loads[at].back);
        text_puts(&line, " back");
        put_line(drawing, PAINT_NONE, &line);
        text_fini(&line);
    }
}

static void legend_draw(const struct drawing *drawing, bool slices)
{
    struct text line = {0};
    if (drawing->view->coming)
        text_puts(&line, "q quits; ");
    text_puts(&line, "█ is ");
    unit_text_rate(&line, drawing->full);
    text_puts(&line, slices ? "; right +x, below +y, diagonal +z" : "; a server, then its ports");
    text_puts(&line, "; x down, / cut, ! miswired, ✗ dead");
    put_line(drawing, PAINT_FAINT, &line);
    text_fini(&line);
}

/* ---- all ---- */

static void cables_index(const struct cluster_view *view, uint32_t *cable_at)
{
    const struct plan *plan = view->plan;
    for (uint32_t i = 0; i < plan->server_count * plan->port_count; i++)
        cable_at[i] = UINT32_MAX;
    for (uint32_t i = 0; i < view->health->cable_count; i++) {
        const struct cluster_cable *cable = &view->health->cables[i];
        cable_at[cable->a * plan->port_count + cable->a_port] = i;
        cable_at[cable->b * plan->port_count + cable->b_port] = i;
    }
}

enum err cluster_view_text(const struct cluster_view *view, struct text *out,
                           const struct table_text_style *style, struct why *why)
{
    struct cluster_load *loads = calloc(view->health->cable_count + 1, sizeof *loads);
    uint32_t *cable_at =
        calloc((size_t)view->plan->server_count * view->plan->port_count + 1, sizeof *cable_at);
    enum err err = OK;
    if (loads && cable_at) {
        struct grid grid;
        cluster_view_loads(view, loads);
        cables_index(view, cable_at);
        struct drawing drawing = {view, style, out, loads, cable_at, full_of(view, loads)};
        bool slices = grid_make(&drawing, &grid);
        head_draw(&drawing);
        text_puts(out, "\n");
        if (slices)
            slices_draw(&drawing, &grid);
        else
            servers_draw(&drawing);
        busiest_draw(&drawing);
        legend_draw(&drawing, slices);
    } else {
        err = why_memory(why);
    }
    free(loads);
    free(cable_at);
    return err;
}
