#include "topology/cabling/cabling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "topology/server_ports.h"

static void links_lay(struct cabling *cabling, const struct graph *graph)
{
    for (uint32_t e = 0; e < graph->link_count; e++) {
        const struct link *link = &graph->links[e];
        cabling->cables[e] = (struct planned_cable){
            .a = {link->a, SERVER_NONE, link->a_port, cabling->plan.nodes[link->a]},
            .b = {link->b, SERVER_NONE, link->b_port, cabling->plan.nodes[link->b]},
        };
    }
}

static void servers_lay(struct cabling *cabling, const struct topology *topology)
{
    const struct floor_plan *plan = &cabling->plan;
    struct planned_cable *cable = cabling->cables + topology->graph.link_count;
    for (uint32_t v = 0; v < topology->graph.node_count; v++) {
        struct server_ports ports = server_ports_make(topology, v);
        for (uint32_t s = 0; s < topology->sites[v].servers; s++)
            *cable++ = (struct planned_cable){
                .a = {v, SERVER_NONE, server_ports_next(&ports), plan->nodes[v]},
                .b = {v, s, 0, plan->servers[plan->first_server[v] + s]},
            };
    }
}

/* The two ends of a cable's bundle as one sortable number, or 0 if the cable is in no bundle. */
struct bundling {
    uint64_t key;
    uint32_t cable;
};

static int bundling_compare(const void *left, const void *right)
{
    const struct bundling *a = left, *b = right;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->cable < b->cable ? -1 : a->cable > b->cable;
}

#define BUNDLE_CONTAINERS (UINT64_C(1) << 63)

static uint64_t bundle_key(const struct floor_plan *plan, const struct planned_cable *cable)
{
    uint32_t one = cable->a.spot.rack, other = cable->b.spot.rack;
    if (one == other)
        return 0;
    uint32_t one_box = plan->racks[one].container, other_box = plan->racks[other].container;
    uint64_t mark = 0;
    if (one_box != other_box) {
        one = one_box;
        other = other_box;
        mark = BUNDLE_CONTAINERS;
    }
    uint32_t low = one < other ? one : other, high = one < other ? other : one;
    return mark | (uint64_t)low << 32 | high; /* high > low, so never 0 */
}

static enum err bundles_tie(struct cabling *cabling, struct why *why)
{
    struct bundling *order = array_new(cabling->cable_count, sizeof *order);
    if (!order)
        return why_memory(why);
    struct cabling_totals *totals = &cabling->totals;
    uint32_t count = 0;
    for (uint32_t i = 0; i < cabling->cable_count; i++) {
        uint64_t key = bundle_key(&cabling->plan, &cabling->cables[i]);
        cabling->cables[i].bundle = BUNDLE_NONE;
        if (key)
            order[count++] = (struct bundling){key, i};
    }
    qsort(order, count, sizeof *order, bundling_compare);
    for (uint32_t first = 0, end = 0; first < count; first = end) {
        for (; end < count && order[end].key == order[first].key; end++)
            cabling->cables[order[end].cable].bundle = (uint32_t)totals->bundles;
        uint64_t size = end - first;
        totals->bundles++;
        totals->bundle_max = size > totals->bundle_max ? size : totals->bundle_max;
        if (order[first].key & BUNDLE_CONTAINERS) {
            totals->container_bundles++;
            if (size > totals->container_bundle_max)
                totals->container_bundle_max = size;
        }
    }
    free(order);
    return OK;
}

/* Computes length, kind and price of one cable and adds them to the totals. */
static void cable_price(struct cabling *cabling, struct planned_cable *cable,
                        const struct cable_cost *cost)
{
    struct cabling_totals *totals = &cabling->totals;
    const struct floor_plan *plan = &cabling->plan;
    cable->length_m = floor_plan_length_m(plan, cost, cable->a.spot, cable->b.spot);
    cable->optical = cable->length_m > cost->copper_limit_m;
    cable->local = plan->layout == FLOOR_CONTAINERS ? plan->racks[cable->a.spot.rack].container ==
                                                          plan->racks[cable->b.spot.rack].container
                                                    : cable->a.spot.rack == cable->b.spot.rack;
    double metres = cable->length_m * (cable->optical ? cost->optical_metre : cost->copper_metre);
    double ends = 2 * (cable->optical ? cost->transceiver : cost->copper_end);
    cable->cost = (metres + ends) / (1 - cost->labour_share);
    totals->cost_metres += metres;
    *(cable->optical ? &totals->cost_transceivers : &totals->cost_copper_ends) += ends;
    totals->cost_labour += cable->cost * cost->labour_share;
    totals->length_total_m += cable->length_m;
    totals->length_max_m = fmax(totals->length_max_m, cable->length_m);
    *(cable->optical ? &totals->optical : &totals->copper) += 1;
}

static void totals_sum(struct cabling *cabling, const struct topology *topology,
                       const struct cable_cost *cost)
{
    struct cabling_totals *totals = &cabling->totals;
    uint64_t local = 0;
    totals->cables = cabling->cable_count;
    totals->link_cables = topology->graph.link_count;
    totals->server_cables = totals->cables - totals->link_cables;
    for (uint32_t i = 0; i < cabling->cable_count; i++) {
        cable_price(cabling, &cabling->cables[i], cost);
        local += i < totals->link_cables && cabling->cables[i].local;
    }
    if (!topology->direct)
        for (uint32_t v = 0; v < topology->graph.node_count; v++)
            totals->cost_switches += cost->switch_port * topology_all_ports(topology, v);
    totals->length_mean_m =
        totals->cables ? totals->length_total_m / (double)totals->cables : (double)NAN;
    totals->local_share =
        totals->link_cables ? (double)local / (double)totals->link_cables : (double)NAN;
    totals->cost_total = totals->cost_metres + totals->cost_transceivers +
                         totals->cost_copper_ends + totals->cost_labour + totals->cost_switches;
}

enum err cabling_make(struct cabling *cabling, const struct topology *topology,
                      enum floor_layout layout, const struct cable_cost *cost, struct why *why)
{
    uint64_t count = topology->graph.link_count;
    if (!topology->direct)
        count += topology->server_count;
    if (count > CABLING_CABLE_MAX)
        return why_fail(why, ERR_USAGE, "%llu cables are too many to lay out; the maximum is %u",
                        (unsigned long long)count, CABLING_CABLE_MAX);
    *cabling = (struct cabling){.cable_count = (uint32_t)count};
    enum err err = floor_plan_make(&cabling->plan, topology, layout, cost, why);
    if (err)
        return err;
    cabling->cables = array_new(count, sizeof *cabling->cables);
    if (!cabling->cables) {
        err = why_memory(why);
        goto fail;
    }
    links_lay(cabling, &topology->graph);
    if (!topology->direct)
        servers_lay(cabling, topology);
    err = bundles_tie(cabling, why);
    if (err)
        goto fail;
    totals_sum(cabling, topology, cost);
    return OK;

fail:
    cabling_fini(cabling);
    return err;
}

void cabling_fini(struct cabling *cabling)
{
    floor_plan_fini(&cabling->plan);
    free(cabling->cables);
    *cabling = (struct cabling){0};
}

/* Writes a node's name, and the index of a server if it is one, as one field. */
static void csv_name(struct text *out, const char *name, uint32_t server)
{
    const char *quote = strpbrk(name, ",\"\r\n") ? "\"" : "";
    text_puts(out, quote);
    for (; *name; name++) {
        if (*name == '"')
            text_puts(out, quote);
        text_add(out, name, 1);
    }
    if (server != SERVER_NONE)
        text_printf(out, "/%u", server);
    text_puts(out, quote);
}

static void csv_end(struct text *out, const struct cabling *cabling,
                    const struct topology *topology, const struct cable_end *end)
{
    char buffer[NODE_NAME_SIZE];
    if (cabling->plan.container_count)
        text_printf(out, "%u", cabling->plan.racks[end->spot.rack].container);
    text_printf(out, ",%u,%u,", end->spot.rack, end->spot.unit);
    csv_name(out, topology_name(topology, end->node, buffer), end->server);
    text_printf(out, ",%u,", end->port);
}

void cabling_write_csv(const struct cabling *cabling, const struct topology *topology,
                       struct text *out)
{
    text_puts(out, "cable,kind,from_container,from_rack,from_unit,from_node,from_port,"
                   "to_container,to_rack,to_unit,to_node,to_port,length_m,medium,bundle,cost\n");
    for (uint32_t i = 0; i < cabling->cable_count; i++) {
        const struct planned_cable *cable = &cabling->cables[i];
        text_printf(out, "%u,%s,", i, cable->b.server == SERVER_NONE ? "link" : "server");
        csv_end(out, cabling, topology, &cable->a);
        csv_end(out, cabling, topology, &cable->b);
        text_printf(out, "%.2f,%s,", cable->length_m, cable->optical ? "optical" : "copper");
        if (cable->bundle != BUNDLE_NONE)
            text_printf(out, "%u", cable->bundle);
        text_printf(out, ",%.2f\n", cable->cost);
    }
}

static int ports_falling(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a > b ? -1 : a < b;
}

enum err cabling_fattree_ports(const struct topology *topology, uint32_t *ports, struct why *why)
{
    uint32_t nodes = topology_switch_count(topology);
    uint32_t *sizes = array_new(nodes, sizeof *sizes);
    if (!sizes)
        return why_memory(why);
    for (uint32_t v = 0; v < nodes; v++)
        sizes[v] = topology_all_ports(topology, v);
    qsort(sizes, nodes, sizeof *sizes, ports_falling);
    *ports = 0;
    for (uint64_t k = 2; 5 * k * k / 4 <= nodes; k += 2)
        if (sizes[5 * k * k / 4 - 1] >= k)
            *ports = (uint32_t)k;
    free(sizes);
    return OK;
}
