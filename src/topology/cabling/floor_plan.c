/* floor_plan: puts boxes into racks, and racks onto the floor.
 *
 * Three steps: order the nodes (a torus folded, a switched network by its groups), fill racks in
 * that order, then give the racks of each block their positions. A block is the whole floor, or one
 * container; racks of one block have consecutive numbers.
 *
 * Invariants: low + high never exceeds rack_units; every node, and in a switched network every
 * server, has exactly one spot. */
#include "topology/cabling/floor_plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"

#define RACK_NONE UINT32_MAX

/* Racks while they are being filled. */
struct filler {
    struct floor_plan *plan;
    const struct topology *topology;
    const struct cable_cost *cost;
    uint32_t container;
    uint32_t current; /* the rack that takes the next server, or RACK_NONE */
};

const char *floor_layout_name(enum floor_layout layout)
{
    switch (layout) { /* no default: the compiler reports a missing layout */
    case FLOOR_RACKS:
        return "racks";
    case FLOOR_CLUSTER:
        return "cluster";
    case FLOOR_CONTAINERS:
        return "containers";
    }
    assert_unreachable();
}

static bool groups_named(const struct topology *topology)
{
    for (uint32_t v = 0; v < topology->graph.node_count; v++)
        if (topology->sites[v].group != GROUP_NONE)
            return true;
    return false;
}

enum floor_layout floor_layout_default(const struct topology *topology,
                                       const struct cable_cost *cost)
{
    if (topology->direct)
        return FLOOR_RACKS;
    if (topology->kind == TOPOLOGY_FATTREE && topology->server_count <= cost->container_servers)
        return FLOOR_RACKS; /* it fits into one container, so it needs none */
    return groups_named(topology) ? FLOOR_CONTAINERS : FLOOR_CLUSTER;
}

uint32_t floor_fold(uint32_t c, uint32_t k)
{
    assert(c < k);
    return c < (k + 1) / 2 ? 2 * c : 2 * (k - 1 - c) + 1;
}

/* The order in which nodes are placed: by number or, on axes, by folded coordinates. */
static void order_natural(const struct topology *topology, uint32_t *order)
{
    for (uint32_t v = 0; v < topology->graph.node_count; v++) {
        uint32_t position = v;
        if (topology->axis_count) {
            uint32_t at[AXIS_MAX];
            topology_coordinate(topology, v, at);
            for (uint32_t axis = 0; axis < topology->axis_count; axis++)
                at[axis] = floor_fold(at[axis], topology->axis_size[axis]);
            position = topology_node_at(topology, at);
        }
        order[position] = v;
    }
}

enum err floor_containers(const struct topology *topology, const struct cable_cost *cost,
                          uint32_t *containers, uint32_t *count, struct why *why)
{
    uint32_t nodes = topology->graph.node_count, loose = 0, seen = 0;
    uint32_t *order = array_new(nodes, sizeof *order);
    if (!order)
        return why_memory(why);
    enum err err = topology_rank_groups(topology, containers, count, why);
    if (err)
        goto done;
    for (uint32_t v = 0; v < nodes; v++)
        loose += containers[v] == GROUP_NONE;
    if (*count == 0) {
        uint64_t needed = ((uint64_t)topology->server_count + cost->container_servers - 1) /
                          cost->container_servers;
        *count = needed < 1 ? 1 : needed > nodes && nodes ? nodes : (uint32_t)needed;
    }
    order_natural(topology, order);
    for (uint32_t i = 0; i < nodes && loose > 0; i++)
        if (containers[order[i]] == GROUP_NONE)
            containers[order[i]] = (uint32_t)((uint64_t)seen++ * *count / loose);
done:
    free(order);
    return err;
}

static enum err rack_open(struct filler *filler, bool central, struct why *why)
{
    struct floor_plan *plan = filler->plan;
    if (!array_reserve(&plan->racks, &plan->rack_capacity, (size_t)plan->rack_count + 1,
                       sizeof *plan->racks))
        return why_memory(why);
    filler->current = plan->rack_count;
    plan->racks[plan->rack_count++] =
        (struct rack){.container = filler->container, .central = central};
    return OK;
}

static struct spot spot_low(struct filler *filler, uint32_t rack, uint32_t units)
{
    struct rack *at = &filler->plan->racks[rack];
    struct spot spot = {rack, at->low + 1};
    at->low += units;
    at->servers++;
    assert(at->low + at->high <= filler->cost->rack_units);
    return spot;
}

static struct spot spot_high(struct filler *filler, uint32_t rack)
{
    struct rack *at = &filler->plan->racks[rack];
    at->high += filler->cost->switch_units;
    assert(at->low + at->high <= filler->cost->rack_units);
    return (struct spot){rack, filler->cost->rack_units - at->high + 1};
}

static bool rack_fits(const struct filler *filler, uint32_t rack, uint64_t units, uint64_t servers)
{
    if (rack == RACK_NONE)
        return false;
    const struct rack *at = &filler->plan->racks[rack];
    return at->low + at->high + units <= filler->cost->rack_units &&
           at->servers + servers <= filler->cost->servers_per_rack;
}

/* Places the servers of a switch, from the current rack on. */
static enum err servers_fill(struct filler *filler, uint32_t node, struct why *why)
{
    struct floor_plan *plan = filler->plan;
    uint32_t units = filler->cost->server_units;
    for (uint64_t s = plan->first_server[node]; s < plan->first_server[node + 1]; s++) {
        if (!rack_fits(filler, filler->current, units, 1)) {
            enum err err = rack_open(filler, false, why);
            if (err)
                return err;
        }
        plan->servers[s] = spot_low(filler, filler->current, units);
    }
    return OK;
}

static enum err direct_fill(struct filler *filler, const uint32_t *order, uint32_t count,
                            struct why *why)
{
    uint32_t units = filler->cost->server_units;
    filler->current = RACK_NONE;
    for (uint32_t i = 0; i < count; i++) {
        if (!rack_fits(filler, filler->current, units, 1)) {
            enum err err = rack_open(filler, false, why);
            if (err)
                return err;
        }
        filler->plan->nodes[order[i]] = spot_low(filler, filler->current, units);
    }
    return OK;
}

/* Places one switch into the racks at the centre. */
static enum err central_add(struct filler *filler, uint32_t node, struct why *why)
{
    const struct cable_cost *cost = filler->cost;
    const struct rack *at =
        filler->current == RACK_NONE ? NULL : &filler->plan->racks[filler->current];
    if (!at || at->high / cost->switch_units == cost->switches_per_rack ||
        at->high + cost->switch_units > cost->rack_units) {
        enum err err = rack_open(filler, true, why);
        if (err)
            return err;
    }
    filler->plan->nodes[node] = spot_high(filler, filler->current);
    return OK;
}

static enum err cluster_fill(struct filler *filler, const uint32_t *order, uint32_t count,
                             struct why *why)
{
    enum err err = OK;
    filler->current = RACK_NONE;
    for (uint32_t i = 0; i < count && !err; i++)
        err = central_add(filler, order[i], why);
    filler->current = RACK_NONE;
    for (uint32_t i = 0; i < count && !err; i++)
        err = servers_fill(filler, order[i], why);
    return err;
}

/* Places a switch on top of its servers: in the current rack if all of them fit, else in a new
 * rack, from which servers may overflow into more racks. */
static enum err top_add(struct filler *filler, uint32_t node, struct why *why)
{
    const struct cable_cost *cost = filler->cost;
    uint64_t servers = filler->topology->sites[node].servers;
    uint64_t units = servers * cost->server_units + cost->switch_units;
    if (!rack_fits(filler, filler->current, units, servers)) {
        enum err err = rack_open(filler, false, why);
        if (err)
            return err;
    }
    filler->plan->nodes[node] = spot_high(filler, filler->current);
    return servers_fill(filler, node, why);
}

/* Places a switch without servers (in a pod's aggregation layer) at the top of a rack of its group,
 * the first from *rack on that has room. */
static enum err bare_add(struct filler *filler, uint32_t node, uint32_t *rack, struct why *why)
{
    uint32_t units = filler->cost->switch_units;
    while (*rack < filler->plan->rack_count && !rack_fits(filler, *rack, units, 0))
        ++*rack;
    if (*rack == filler->plan->rack_count) {
        enum err err = rack_open(filler, false, why);
        if (err)
            return err;
    }
    filler->plan->nodes[node] = spot_high(filler, *rack);
    return OK;
}

static enum err tops_fill(struct filler *filler, const uint32_t *order, const uint32_t *ranks,
                          uint32_t count, struct why *why)
{
    const struct site *sites = filler->topology->sites;
    enum err err = OK;
    filler->current = RACK_NONE;
    for (uint32_t start = 0, end = 0; start < count && !err; start = end) {
        uint32_t rack = filler->plan->rack_count ? filler->plan->rack_count - 1 : 0;
        while (end < count && ranks[order[end]] == ranks[order[start]])
            end++;
        for (uint32_t i = start; i < end && !err; i++)
            if (sites[order[i]].servers)
                err = top_add(filler, order[i], why);
        for (uint32_t i = start; i < end && !err; i++)
            if (!sites[order[i]].servers && ranks[order[i]] != GROUP_NONE)
                err = bare_add(filler, order[i], &rack, why);
    }
    filler->current = RACK_NONE;
    for (uint32_t i = 0; i < count && !err; i++)
        if (!sites[order[i]].servers && ranks[order[i]] == GROUP_NONE)
            err = central_add(filler, order[i], why);
    return err;
}

/* A position in a block for a rack. */
struct cell {
    double distance_m; /* from the centre of the block */
    uint32_t index;
    bool taken;
};

static int cell_by_distance(const void *left, const void *right)
{
    const struct cell *a = left, *b = right;
    if (a->distance_m != b->distance_m)
        return a->distance_m < b->distance_m ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

static int cell_by_index(const void *left, const void *right)
{
    const struct cell *a = left, *b = right;
    return a->index < b->index ? -1 : a->index > b->index;
}

/* Cell `index` when the rows are filled in alternating directions. */
static void cell_locate(uint32_t index, uint32_t columns, uint32_t *column, uint32_t *row)
{
    *row = index / columns;
    *column = *row & 1 ? columns - 1 - index % columns : index % columns;
}

static void rack_put(struct rack *rack, uint32_t index, uint32_t columns,
                     const struct cable_cost *cost)
{
    uint32_t column, row;
    cell_locate(index, columns, &column, &row);
    rack->x_m = column * cost->rack_width_m;
    rack->y_m = row * cost->row_pitch_m;
}

/* Places the racks of one block, with its corner at 0, 0: racks of switches take the cells nearest
 * to the centre, the other racks take the remaining cells in order. */
static enum err block_arrange(struct rack *racks, uint32_t count, uint32_t columns,
                              const struct cable_cost *cost, struct why *why)
{
    if (count == 0)
        return OK;
    struct cell *cells = array_new(count, sizeof *cells);
    if (!cells)
        return why_memory(why);
    uint32_t rows = (count + columns - 1) / columns, wide = count < columns ? count : columns;
    double middle_x_m = (wide - 1) * cost->rack_width_m / 2;
    double middle_y_m = (rows - 1) * cost->row_pitch_m / 2;
    for (uint32_t i = 0; i < count; i++) {
        struct rack at;
        rack_put(&at, i, columns, cost);
        cells[i].index = i;
        cells[i].distance_m = fabs(at.x_m - middle_x_m) + fabs(at.y_m - middle_y_m);
    }
    qsort(cells, count, sizeof *cells, cell_by_distance);
    uint32_t central = 0, next = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (racks[i].central) {
            cells[central].taken = true;
            rack_put(&racks[i], cells[central++].index, columns, cost);
        }
    }
    qsort(cells, count, sizeof *cells, cell_by_index);
    for (uint32_t i = 0; i < count; i++) {
        if (racks[i].central)
            continue;
        while (cells[next].taken)
            next++;
        rack_put(&racks[i], next++, columns, cost);
    }
    free(cells);
    return OK;
}

/* The number of columns with which `count` cells of this size form an area that is about square. */
static uint32_t columns_square(uint32_t count, double width_m, double depth_m)
{
    double columns = ceil(sqrt(count * depth_m / width_m));
    return columns < 1 ? 1 : columns > count ? (count ? count : 1) : (uint32_t)columns;
}

/* Places each container's racks in rows of their own, and the containers in rows on the floor, all
 * in cells of the size of the largest container. */
static enum err containers_arrange(struct floor_plan *plan, const struct cable_cost *cost,
                                   struct why *why)
{
    uint32_t most = 0;
    assert(cost->container_racks > 0);
    for (uint32_t first = 0, end = 0; first < plan->rack_count; first = end) {
        while (end < plan->rack_count && plan->racks[end].container == plan->racks[first].container)
            end++;
        enum err err =
            block_arrange(plan->racks + first, end - first, cost->container_racks, cost, why);
        if (err)
            return err;
        most = end - first > most ? end - first : most;
    }
    uint32_t wide = most < cost->container_racks ? most : cost->container_racks;
    uint32_t deep = (most + cost->container_racks - 1) / cost->container_racks;
    double width_m = wide * cost->rack_width_m + cost->container_gap_m;
    double depth_m = deep * cost->row_pitch_m + cost->container_gap_m;
    uint32_t columns = columns_square(plan->container_count, width_m, depth_m);
    for (uint32_t i = 0; i < plan->rack_count; i++) {
        uint32_t column, row;
        cell_locate(plan->racks[i].container, columns, &column, &row);
        plan->racks[i].x_m += column * width_m;
        plan->racks[i].y_m += row * depth_m;
    }
    return OK;
}

/* Brings the nodes of each rank (a container or a group) together, in their old order; nodes
 * without a group come last. */
static enum err order_gather(uint32_t *order, const uint32_t *ranks, uint32_t nodes,
                             uint32_t rank_count, struct why *why)
{
    uint32_t *next = array_new((size_t)rank_count + 2, sizeof *next);
    uint32_t *sorted = array_new(nodes, sizeof *sorted);
    if (!next || !sorted) {
        free(next);
        free(sorted);
        return why_memory(why);
    }
    for (uint32_t i = 0; i < nodes; i++)
        next[(ranks[i] < rank_count ? ranks[i] : rank_count) + 1]++;
    for (uint32_t r = 0; r < rank_count; r++)
        next[r + 1] += next[r];
    for (uint32_t i = 0; i < nodes; i++) {
        uint32_t rank = ranks[order[i]] < rank_count ? ranks[order[i]] : rank_count;
        sorted[next[rank]++] = order[i];
    }
    memcpy(order, sorted, nodes * sizeof *order);
    free(next);
    free(sorted);
    return OK;
}

static enum err containers_fill(struct filler *filler, const uint32_t *order,
                                const uint32_t *containers, uint32_t nodes, struct why *why)
{
    enum err err = OK;
    for (uint32_t start = 0, end = 0; start < nodes && !err; start = end) {
        filler->container = containers[order[start]];
        while (end < nodes && containers[order[end]] == filler->container)
            end++;
        err = filler->topology->direct ? direct_fill(filler, order + start, end - start, why)
                                       : cluster_fill(filler, order + start, end - start, why);
    }
    return err ? err : containers_arrange(filler->plan, filler->cost, why);
}

static enum err plan_fill(struct filler *filler, uint32_t *order, uint32_t *ranks, struct why *why)
{
    struct floor_plan *plan = filler->plan;
    const struct topology *topology = filler->topology;
    uint32_t nodes = topology->graph.node_count, count = 0;
    enum err err = plan->layout == FLOOR_CONTAINERS
                       ? floor_containers(topology, filler->cost, ranks, &count, why)
                       : topology_rank_groups(topology, ranks, &count, why);
    if (err)
        return err;
    order_natural(topology, order);
    if (plan->layout == FLOOR_CONTAINERS || !topology->direct)
        err = order_gather(order, ranks, nodes, count, why);
    if (err)
        return err;
    if (plan->layout == FLOOR_CONTAINERS) {
        plan->container_count = count;
        return containers_fill(filler, order, ranks, nodes, why);
    }
    if (topology->direct)
        err = direct_fill(filler, order, nodes, why);
    else if (plan->layout == FLOOR_CLUSTER)
        err = cluster_fill(filler, order, nodes, why);
    else
        err = tops_fill(filler, order, ranks, nodes, why);
    if (err)
        return err;
    uint32_t columns =
        columns_square(plan->rack_count, filler->cost->rack_width_m, filler->cost->row_pitch_m);
    return block_arrange(plan->racks, plan->rack_count, columns, filler->cost, why);
}

enum err floor_plan_make(struct floor_plan *plan, const struct topology *topology,
                         enum floor_layout layout, const struct cable_cost *cost, struct why *why)
{
    uint32_t nodes = topology->graph.node_count;
    if (topology->direct && layout == FLOOR_CLUSTER)
        return why_fail(
            why, ERR_USAGE,
            "layout cluster: a direct network has no switches to put together; use another layout");
    *plan = (struct floor_plan){.layout = layout};
    struct filler filler = {.plan = plan, .topology = topology, .cost = cost, .current = RACK_NONE};
    uint32_t *order = array_new(nodes, sizeof *order);
    uint32_t *ranks = array_new(nodes, sizeof *ranks);
    size_t servers = topology->direct ? 0 : topology->server_count;
    plan->nodes = array_new(nodes, sizeof *plan->nodes);
    plan->servers = array_new(servers, sizeof *plan->servers);
    plan->first_server = array_new((size_t)nodes + 1, sizeof *plan->first_server);
    enum err err;
    if (!order || !ranks || !plan->nodes || !plan->servers || !plan->first_server) {
        err = why_memory(why);
        goto done;
    }
    for (uint32_t v = 0; v < nodes; v++)
        plan->first_server[v + 1] =
            plan->first_server[v] + (topology->direct ? 0 : topology->sites[v].servers);
    err = plan_fill(&filler, order, ranks, why);
done:
    free(order);
    free(ranks);
    if (err)
        floor_plan_fini(plan);
    return err;
}

void floor_plan_fini(struct floor_plan *plan)
{
    free(plan->racks);
    free(plan->nodes);
    free(plan->servers);
    free(plan->first_server);
    *plan = (struct floor_plan){0};
}

double floor_plan_length_m(const struct floor_plan *plan, const struct cable_cost *cost,
                           struct spot a, struct spot b)
{
    const struct rack *one = &plan->racks[a.rack], *other = &plan->racks[b.rack];
    double a_height_m = a.unit * RACK_UNIT_M, b_height_m = b.unit * RACK_UNIT_M;
    if (a.rack == b.rack)
        return fabs(a_height_m - b_height_m) + cost->rack_slack_m;
    return fabs(one->x_m - other->x_m) + fabs(one->y_m - other->y_m) +
           (cost->tray_height_m - a_height_m) + (cost->tray_height_m - b_height_m) + cost->slack_m;
}
