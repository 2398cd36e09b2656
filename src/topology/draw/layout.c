#include "topology/draw/layout.h"

#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"

#define TURN 6.283185307179586

#define SPRING_NODE_MAX 1000 /* the cost of a round is the square of the number of nodes */
#define SPRING_ROUNDS   300

const char *const layout_names[] = {"auto", "grid", "circle", "levels", "spring", NULL};

static enum layout_kind layout_suiting(const struct topology *topology)
{
    if (topology->axis_count >= 2)
        return LAYOUT_GRID;
    switch (topology->kind) {
    case TOPOLOGY_FATTREE:
        return LAYOUT_LEVELS;
    case TOPOLOGY_OTHER:
        return topology->graph.node_count <= SPRING_NODE_MAX ? LAYOUT_SPRING : LAYOUT_CIRCLE;
    case TOPOLOGY_TORUS:
    case TOPOLOGY_NOVACUBE:
    case TOPOLOGY_JELLYFISH:
    case TOPOLOGY_SWDC_RING:
    case TOPOLOGY_SWDC_TORUS2D:
    case TOPOLOGY_SWDC_HEX3D:
    case TOPOLOGY_DEGREE_DIAMETER:
        return LAYOUT_CIRCLE;
    }
    assert_unreachable();
}

/* Axis 0 goes to the right, axis 1 down, axis 2 into the depth; three more axes make blocks of such
 * boxes, and so on. A small slant keeps the nodes of a row from hiding the links of the row
 * behind. */
static void layout_grid(struct layout *layout, const struct topology *topology)
{
    struct point step[AXIS_MAX] = {{0, 0}};
    double width = 1, height = 1;
    for (uint32_t axis = 0; axis < topology->axis_count; axis++) {
        double reach = topology->axis_size[axis] - 1.0;
        switch (axis % 3) {
        case 0:
            step[axis] = (struct point){width, 0};
            width += reach * width;
            break;
        case 1:
            step[axis] = (struct point){0, height};
            height += reach * height;
            break;
        default: {
            double depth = axis == 2 ? 1 : fmin(width, height);
            step[axis] = (struct point){0.44 * depth, -0.36 * depth};
            width += reach * step[axis].x;
            height -= reach * step[axis].y;
            width += 1; /* a gap before the next block */
            height += 1;
        }
        }
    }
    for (uint32_t v = 0; v < topology->graph.node_count; v++) {
        uint32_t coordinate[AXIS_MAX];
        topology_coordinate(topology, v, coordinate);
        layout->at[v] = (struct point){0, 0};
        for (uint32_t axis = 0; axis < topology->axis_count; axis++) {
            layout->at[v].x += coordinate[axis] * step[axis].x;
            layout->at[v].y += coordinate[axis] * step[axis].y;
        }
    }
}

static struct point on_circle(struct point centre, double radius, double share)
{
    return (struct point){centre.x + radius * sin(TURN * share),
                          centre.y - radius * cos(TURN * share)};
}

static double circle_radius(uint32_t count)
{
    return count < 2 ? 0 : fmax(1, count / TURN);
}

/* Groups (containers, pods) are circles whose centres are on a circle. */
static enum err layout_circle(struct layout *layout, const struct topology *topology,
                              struct why *why)
{
    uint32_t nodes = topology->graph.node_count, groups = 0, largest = 0;
    uint32_t *group_of = array_new(nodes, sizeof *group_of); /* 0: in no group */
    uint32_t *size = array_new((size_t)nodes + 1, sizeof *size);
    uint32_t *seen = array_new((size_t)nodes + 1, sizeof *seen);
    enum err err = group_of && size && seen ? topology_rank_groups(topology, group_of, &groups, why)
                                            : why_memory(why);
    if (err)
        goto done;
    groups++;
    for (uint32_t v = 0; v < nodes; v++) {
        group_of[v] = group_of[v] == GROUP_NONE ? 0 : group_of[v] + 1;
        size[group_of[v]]++;
    }
    for (uint32_t group = 0; group < groups; group++)
        largest = size[group] > largest ? size[group] : largest;
    double radius = circle_radius(largest);
    double distance = groups > 1 ? fmax((radius + 1) * (groups - 1) * 2.2 / TURN, 1.5 * radius) : 0;
    for (uint32_t v = 0; v < nodes; v++) {
        uint32_t group = group_of[v];
        struct point centre = {0, 0};
        if (group)
            centre = on_circle(centre, distance, (group - 1.0) / (groups - 1.0));
        layout->at[v] = on_circle(centre, group || groups == 1 ? radius : distance * 0.4,
                                  seen[group]++ / (double)size[group]);
    }
done:
    free(group_of);
    free(size);
    free(seen);
    return err;
}

/* Every level is a row; all rows are as wide as the widest. */
static void layout_levels(struct layout *layout, const struct topology *topology)
{
    uint32_t count[3] = {0}, seen[3] = {0}, widest = 1;
    for (uint32_t v = 0; v < topology->graph.node_count; v++)
        count[topology->sites[v].level % 3]++;
    for (int level = 0; level < 3; level++)
        widest = count[level] > widest ? count[level] : widest;
    for (uint32_t v = 0; v < topology->graph.node_count; v++) {
        uint32_t level = topology->sites[v].level % 3;
        layout->at[v].x = (seen[level]++ + 0.5) * widest / count[level];
        layout->at[v].y = (2.0 - level) * fmax(2, widest / 6.0);
    }
}

/* One round of Fruchterman and Reingold's forces: all pairs of nodes repel each other, links pull.
 * No node moves further than `heat`. */
static void spring_round(struct point *at, struct point *push, const struct graph *graph,
                         double heat)
{
    for (uint32_t v = 0; v < graph->node_count; v++)
        push[v] = (struct point){0, 0};
    for (uint32_t v = 0; v < graph->node_count; v++) {
        for (uint32_t w = v + 1; w < graph->node_count; w++) {
            double x = at[v].x - at[w].x, y = at[v].y - at[w].y;
            double force = 1 / fmax(x * x + y * y, 1e-4);
            push[v].x += x * force;
            push[v].y += y * force;
            push[w].x -= x * force;
            push[w].y -= y * force;
        }
    }
    for (uint32_t e = 0; e < graph->link_count; e++) {
        const struct link *link = &graph->links[e];
        double x = at[link->a].x - at[link->b].x, y = at[link->a].y - at[link->b].y;
        double force = sqrt(x * x + y * y);
        push[link->a].x -= x * force;
        push[link->a].y -= y * force;
        push[link->b].x += x * force;
        push[link->b].y += y * force;
    }
    for (uint32_t v = 0; v < graph->node_count; v++) {
        double length = sqrt(push[v].x * push[v].x + push[v].y * push[v].y);
        double scale = length > heat ? heat / length : 1;
        /* A weak pull to the middle keeps separate parts on the page. */
        at[v].x += push[v].x * scale - at[v].x * 0.01;
        at[v].y += push[v].y * scale - at[v].y * 0.01;
    }
}

static enum err layout_spring(struct layout *layout, const struct topology *topology,
                              struct why *why)
{
    uint32_t nodes = topology->graph.node_count;
    if (nodes > SPRING_NODE_MAX)
        return why_fail(why, ERR_USAGE,
                        "spring: %u nodes are too many; the maximum is %d; try circle", nodes,
                        SPRING_NODE_MAX);
    struct point *push = array_new(nodes, sizeof *push);
    if (!push)
        return why_memory(why);
    /* A sunflower pattern: evenly spread, and no two nodes at the same place. */
    for (uint32_t v = 0; v < nodes; v++)
        layout->at[v] = on_circle((struct point){0, 0}, sqrt(v + 0.5), v * 0.618033988749895);
    double heat = fmax(1, sqrt(nodes) / 4);
    for (int round = 0; round < SPRING_ROUNDS; round++)
        spring_round(layout->at, push, &topology->graph,
                     heat * (1 - round / (double)SPRING_ROUNDS));
    free(push);
    return OK;
}

static int point_by_x(const void *left, const void *right)
{
    const struct point *a = left, *b = right;
    return a->x < b->x ? -1 : a->x > b->x;
}

/* The smallest distance between two nodes. After sorting by x, only nodes with close x are
 * compared. */
static double spacing_of(const struct point *at, uint32_t count, struct point *sorted)
{
    double least = INFINITY;
    for (uint32_t v = 0; v < count; v++)
        sorted[v] = at[v];
    qsort(sorted, count, sizeof *sorted, point_by_x);
    for (uint32_t v = 0; v < count; v++) {
        for (uint32_t w = v + 1; w < count && sorted[w].x - sorted[v].x < least; w++) {
            double x = sorted[w].x - sorted[v].x, y = sorted[w].y - sorted[v].y;
            least = fmin(least, sqrt(x * x + y * y));
        }
    }
    return isfinite(least) ? fmax(least, 0.05) : 1;
}

static enum err layout_finish(struct layout *layout, uint32_t count, struct why *why)
{
    struct point *sorted = array_new(count, sizeof *sorted);
    if (!sorted)
        return why_memory(why);
    layout->spacing = spacing_of(layout->at, count, sorted);
    free(sorted);
    layout->low = layout->high = count ? layout->at[0] : (struct point){0, 0};
    for (uint32_t v = 1; v < count; v++) {
        layout->low.x = fmin(layout->low.x, layout->at[v].x);
        layout->low.y = fmin(layout->low.y, layout->at[v].y);
        layout->high.x = fmax(layout->high.x, layout->at[v].x);
        layout->high.y = fmax(layout->high.y, layout->at[v].y);
    }
    return OK;
}

enum err layout_make(struct layout *layout, const struct topology *topology, enum layout_kind kind,
                     struct why *why)
{
    *layout = (struct layout){.kind = kind == LAYOUT_AUTO ? layout_suiting(topology) : kind};
    if (layout->kind == LAYOUT_GRID && topology->axis_count == 0)
        return why_fail(why, ERR_USAGE, "grid: this topology has no axes; try circle or spring");
    layout->at = array_new(topology->graph.node_count, sizeof *layout->at);
    if (!layout->at)
        return why_memory(why);
    enum err err = OK;
    switch (layout->kind) {
    case LAYOUT_AUTO:
        assert_unreachable();
    case LAYOUT_GRID:
        layout_grid(layout, topology);
        break;
    case LAYOUT_CIRCLE:
        err = layout_circle(layout, topology, why);
        break;
    case LAYOUT_LEVELS:
        layout_levels(layout, topology);
        break;
    case LAYOUT_SPRING:
        err = layout_spring(layout, topology, why);
        break;
    }
    if (!err)
        err = layout_finish(layout, topology->graph.node_count, why);
    if (err)
        layout_fini(layout);
    return err;
}

void layout_fini(struct layout *layout)
{
    free(layout->at);
    layout->at = NULL;
}
