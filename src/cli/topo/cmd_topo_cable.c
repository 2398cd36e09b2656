/* weft topo cable: the blueprint of the cables, their cost, and the same for
 * the fat-tree that could be built instead. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/core/call.h"
#include "cli/core/file.h"
#include "cli/core/load.h"
#include "topology/cabling/cable_cost.h"
#include "topology/cabling/cabling.h"

/* A network laid out, with the few figures its table shows. */
struct laid {
    struct topology topology;
    struct cabling cabling;
    enum floor_layout cheapest; /* of all layouts; known only where two are compared */
    double cheapest_cost;
};

/* What stands beside the network, or why nothing does. */
struct comparison {
    uint32_t ports;   /* k of the fat-tree; 0: there is none */
    char missing[96]; /* why not: one line for the reader; empty if nobody asked */
    struct laid laid; /* valid if ports > 0 */
};

static void laid_fini(struct laid *laid)
{
    cabling_fini(&laid->cabling);
    topology_fini(&laid->topology);
}

static enum err cost_load(const struct call *call, struct cable_cost *cost, struct why *why)
{
    const char *path = call_option(call, "cost");
    *cost = cable_cost_default();
    if (!path)
        return OK;
    char *data;
    size_t size;
    enum err err = file_read(path, &data, &size, why);
    if (err)
        return err;
    err = cable_cost_read(cost, data, size, path, why);
    free(data);
    return err;
}

/* The layout that costs least, and how much. */
static enum err cheapest_find(struct laid *laid, const struct cable_cost *cost, struct why *why)
{
    laid->cheapest = laid->cabling.plan.layout;
    laid->cheapest_cost = laid->cabling.totals.cost_total;
    for (int layout = FLOOR_RACKS; layout <= FLOOR_CONTAINERS; layout++) {
        struct cabling cabling;
        if ((enum floor_layout)layout == laid->cabling.plan.layout)
            continue;
        enum err err =
            cabling_make(&cabling, &laid->topology, (enum floor_layout)layout, cost, why);
        if (err)
            return err;
        if (cabling.totals.cost_total < laid->cheapest_cost) {
            laid->cheapest = (enum floor_layout)layout;
            laid->cheapest_cost = cabling.totals.cost_total;
        }
        cabling_fini(&cabling);
    }
    return OK;
}

static enum err fattree_lay(struct laid *laid, uint32_t k, enum floor_layout layout,
                            const struct cable_cost *cost, struct why *why)
{
    char spec[32];
    snprintf(spec, sizeof spec, "fattree:k=%u", k);
    enum err err = topology_build(&laid->topology, spec, why);
    if (err)
        return err;
    err = cabling_make(&laid->cabling, &laid->topology, layout, cost, why);
    if (err)
        goto fail_cabling;
    err = cheapest_find(laid, cost, why);
    if (err)
        goto fail_cheapest;
    return OK;

fail_cheapest:
    cabling_fini(&laid->cabling);
fail_cabling:
    topology_fini(&laid->topology);
    return err;
}

static enum err comparison_lacks(struct comparison *compared, const char *reason)
{
    snprintf(compared->missing, sizeof compared->missing, "%s", reason);
    return OK;
}

/* The fat-tree of the same equipment. Not to have one is no failure. */
static enum err comparison_make(struct comparison *compared, struct laid *laid, bool wanted,
                                const struct cable_cost *cost, struct why *why)
{
    uint32_t k;
    compared->ports = 0;
    if (!wanted)
        return OK;
    if (laid->topology.direct)
        return comparison_lacks(compared, "a network without switches has no such fat-tree");
    enum err err = cabling_fattree_ports(&laid->topology, &k, why);
    if (err)
        return err;
    if (k == 0)
        return comparison_lacks(compared, "these switches cannot build even the one of k = 2");
    if ((uint64_t)k * k * k / 4 * 3 > CABLING_CABLE_MAX)
        return comparison_lacks(compared, "the fat-tree has more cables than can be laid out");
    err = cheapest_find(laid, cost, why);
    if (!err)
        err = fattree_lay(&compared->laid, k, laid->cabling.plan.layout, cost, why);
    if (!err)
        compared->ports = k;
    return err;
}

static void totals_json(struct json *json, const struct laid *laid)
{
    const struct cabling_totals *totals = &laid->cabling.totals;
    const struct floor_plan *plan = &laid->cabling.plan;
    json_put_uint(json, "switches", topology_switch_count(&laid->topology));
    json_put_uint(json, "servers", laid->topology.server_count);
    json_put_uint(json, "racks", plan->rack_count);
    json_put_uint(json, "containers", plan->container_count);
    json_put_uint(json, "cables", totals->cables);
    json_put_uint(json, "server_cables", totals->server_cables);
    json_put_uint(json, "link_cables", totals->link_cables);
    json_put_uint(json, "copper", totals->copper);
    json_put_uint(json, "optical", totals->optical);
    json_put_number(json, "length_total_m", totals->length_total_m);
    json_put_number(json, "length_mean_m", totals->length_mean_m);
    json_put_number(json, "length_max_m", totals->length_max_m);
    json_put_uint(json, "bundles", totals->bundles);
    json_put_uint(json, "bundle_max", totals->bundle_max);
    json_put_uint(json, "container_bundles", totals->container_bundles);
    json_put_uint(json, "container_bundle_max", totals->container_bundle_max);
    json_put_number(json, "local_share", totals->local_share);
    json_put_number(json, "cost_total", totals->cost_total);
    json_put_number(json, "cost_cable_metres", totals->cost_metres);
    json_put_number(json, "cost_transceivers", totals->cost_transceivers);
    json_put_number(json, "cost_copper_ends", totals->cost_copper_ends);
    json_put_number(json, "cost_labour", totals->cost_labour);
    json_put_number(json, "cost_switches", totals->cost_switches);
}

/* The figures by which two networks of different size are compared. */
struct yardstick {
    double cables_per_server;
    double optical_share;
    double length_mean_m;
    double cost_per_server;
    double cheapest_per_server; /* in the layout that costs least */
};

static struct yardstick yardstick_make(const struct laid *laid)
{
    const struct cabling_totals *totals = &laid->cabling.totals;
    double servers = laid->topology.server_count, cables = (double)totals->cables;
    return (struct yardstick){
        .cables_per_server = servers > 0 ? cables / servers : (double)NAN,
        .optical_share = cables > 0 ? (double)totals->optical / cables : (double)NAN,
        .length_mean_m = totals->length_mean_m,
        .cost_per_server = servers > 0 ? totals->cost_total / servers : (double)NAN,
        .cheapest_per_server = servers > 0 ? laid->cheapest_cost / servers : (double)NAN,
    };
}

static double ratio(double ours, double theirs)
{
    return theirs > 0 ? ours / theirs : (double)NAN;
}

static void yardstick_json(struct json *json, const struct yardstick *yardstick)
{
    json_put_number(json, "cables_per_server", yardstick->cables_per_server);
    json_put_number(json, "optical_share", yardstick->optical_share);
    json_put_number(json, "cost_per_server", yardstick->cost_per_server);
}

static void cheapest_json(struct json *json, const struct laid *laid,
                          const struct yardstick *yardstick)
{
    json_put_string(json, "cheapest_layout", floor_layout_name(laid->cheapest));
    json_put_number(json, "cheapest_cost_per_server", yardstick->cheapest_per_server);
}

static void comparison_json(struct json *json, const struct laid *laid,
                            const struct comparison *compared)
{
    json_key(json, "fattree");
    if (!compared->ports) {
        json_null(json);
        if (compared->missing[0])
            json_put_string(json, "fattree_missing", compared->missing);
        return;
    }
    struct yardstick ours = yardstick_make(laid), theirs = yardstick_make(&compared->laid);
    json_object(json);
    json_put_uint(json, "k", compared->ports);
    totals_json(json, &compared->laid);
    yardstick_json(json, &theirs);
    cheapest_json(json, &compared->laid, &theirs);
    json_end(json, '}');
    cheapest_json(json, laid, &ours);
    json_key(json, "ratio");
    json_object(json);
    json_put_number(json, "servers",
                    ratio(laid->topology.server_count, compared->laid.topology.server_count));
    json_put_number(
        json, "cables",
        ratio((double)laid->cabling.totals.cables, (double)compared->laid.cabling.totals.cables));
    json_put_number(json, "cables_per_server",
                    ratio(ours.cables_per_server, theirs.cables_per_server));
    json_put_number(json, "optical_share", ratio(ours.optical_share, theirs.optical_share));
    json_put_number(json, "cost_per_server", ratio(ours.cost_per_server, theirs.cost_per_server));
    json_put_number(json, "cheapest_cost_per_server",
                    ratio(ours.cheapest_per_server, theirs.cheapest_per_server));
    json_end(json, '}');
}

static void cable_json(struct call *call, const struct laid *laid,
                       const struct comparison *compared)
{
    struct json json = json_make(&call->out, true);
    struct yardstick ours = yardstick_make(laid);
    json_object(&json);
    json_put_string(&json, "topology", call->arguments[0]);
    json_put_string(&json, "layout", floor_layout_name(laid->cabling.plan.layout));
    json_put_bool(&json, "layout_chosen", !call_has(call, "layout"));
    totals_json(&json, laid);
    yardstick_json(&json, &ours);
    comparison_json(&json, laid, compared);
    json_end(&json, '}');
}

static void totals_text(struct text *out, const struct laid *laid)
{
    const struct cabling_totals *totals = &laid->cabling.totals;
    const struct floor_plan *plan = &laid->cabling.plan;
    text_printf(out, "  racks      %10u", plan->rack_count);
    if (plan->container_count)
        text_printf(out, "   in %u containers", plan->container_count);
    text_printf(out, "\n  cables     %10llu   %llu between nodes, %llu to servers\n",
                (unsigned long long)totals->cables, (unsigned long long)totals->link_cables,
                (unsigned long long)totals->server_cables);
    text_printf(out, "  copper     %10llu\n  optical    %10llu\n",
                (unsigned long long)totals->copper, (unsigned long long)totals->optical);
    text_printf(out, "  length     %10.0f m", totals->length_total_m);
    if (totals->cables)
        text_printf(out, ", mean %.2f m, longest %.2f m", totals->length_mean_m,
                    totals->length_max_m);
    text_printf(out, "\n  bundles    %10llu", (unsigned long long)totals->bundles);
    if (totals->bundles)
        text_printf(out, "   largest %llu cables", (unsigned long long)totals->bundle_max);
    text_puts(out, "\n");
    if (plan->container_count)
        text_printf(out, "             %10llu   of them between containers, largest %llu cables\n",
                    (unsigned long long)totals->container_bundles,
                    (unsigned long long)totals->container_bundle_max);
    if (totals->link_cables)
        text_printf(out, "  local      %10.1f %% of the cables between nodes stay in one %s\n",
                    100 * totals->local_share, plan->container_count ? "container" : "rack");
    text_printf(out,
                "  cost       %10.0f   cable %.0f, transceivers %.0f, copper ends %.0f, "
                "labour %.0f",
                totals->cost_total, totals->cost_metres, totals->cost_transceivers,
                totals->cost_copper_ends, totals->cost_labour);
    if (totals->cost_switches > 0)
        text_printf(out, ", switches %.0f", totals->cost_switches);
    text_puts(out, "\n");
}

/* Both numbers and their ratio, where there is one: a network without servers
 * has no cost per server. */
static void comparison_line(struct text *out, const char *title, int decimals, double ours,
                            double theirs)
{
    text_printf(out, "  %-18s", title);
    if (isnan(ours))
        text_printf(out, " %12s", "-");
    else
        text_printf(out, " %12.*f", decimals, ours);
    text_printf(out, " %12.*f", decimals, theirs);
    if (theirs > 0 && !isnan(ours))
        text_printf(out, " %9.3f", ours / theirs);
    text_puts(out, "\n");
}

static void comparison_text(struct text *out, const struct laid *laid,
                            const struct comparison *compared)
{
    if (!compared->ports) {
        if (compared->missing[0])
            text_printf(out, "\nnot compared: %s\n", compared->missing);
        return;
    }
    const struct laid *tree = &compared->laid;
    struct yardstick ours = yardstick_make(laid), theirs = yardstick_make(tree);
    text_printf(out, "\nbeside a fat-tree of the same switches, k = %u\n%21s %12s %12s %9s\n",
                compared->ports, "", "this", "fat-tree", "ratio");
    comparison_line(out, "switches", 0, topology_switch_count(&laid->topology),
                    topology_switch_count(&tree->topology));
    comparison_line(out, "servers", 0, laid->topology.server_count, tree->topology.server_count);
    comparison_line(out, "cables", 0, (double)laid->cabling.totals.cables,
                    (double)tree->cabling.totals.cables);
    comparison_line(out, "cables per server", 2, ours.cables_per_server, theirs.cables_per_server);
    comparison_line(out, "mean length, m", 2, ours.length_mean_m, theirs.length_mean_m);
    comparison_line(out, "optical, %", 1, 100 * ours.optical_share, 100 * theirs.optical_share);
    comparison_line(out, "cost per server", 2, ours.cost_per_server, theirs.cost_per_server);
    comparison_line(out, "  at its cheapest", 2, ours.cheapest_per_server,
                    theirs.cheapest_per_server);
    text_printf(out, "  %-18s %12s %12s\n", "  in layout", floor_layout_name(laid->cheapest),
                floor_layout_name(tree->cheapest));
}

static enum err blueprint_write(const struct call *call, const struct laid *laid, struct why *why)
{
    const char *path = call_option(call, "out");
    if (!path)
        return OK;
    struct text text = {0};
    cabling_write_csv(&laid->cabling, &laid->topology, &text);
    enum err err = file_write(path, &text, why);
    text_fini(&text);
    return err;
}

static enum err laid_report(struct call *call, struct laid *laid, const struct cable_cost *cost,
                            struct why *why)
{
    struct comparison compared = {0};
    enum err err = comparison_make(&compared, laid, !call_has(call, "no-compare"), cost, why);
    if (!err)
        err = blueprint_write(call, laid, why);
    if (!err && call->json) {
        cable_json(call, laid, &compared);
    } else if (!err) {
        text_printf(&call->out, "%s: ", call->arguments[0]);
        if (!laid->topology.direct) {
            text_count(&call->out, topology_switch_count(&laid->topology), "switch", "switches");
            text_puts(&call->out, ", ");
        }
        text_count(&call->out, laid->topology.server_count, "server", "servers");
        text_printf(&call->out, ", layout %s%s\n", floor_layout_name(laid->cabling.plan.layout),
                    call_has(call, "layout") ? "" : " (chosen)");
        totals_text(&call->out, laid);
        comparison_text(&call->out, laid, &compared);
    }
    if (compared.ports)
        laid_fini(&compared.laid);
    return err;
}

static enum err cable_run(struct call *call, struct why *why)
{
    static const char *const layouts[] = {"racks", "cluster", "containers", NULL};
    struct cable_cost cost;
    int choice = -1;
    enum err err = call_choice(call, "layout", layouts, &choice, why);
    if (!err)
        err = cost_load(call, &cost, why);
    if (err)
        return err;
    if (call_has(call, "print-cost")) {
        cable_cost_write(&cost, &call->out);
        return OK;
    }
    const char *path;
    err = call_out_file(call, "out", &path, why);
    if (err)
        return err;
    if (call->argument_count == 0)
        return why_fail(why, ERR_USAGE, "topo cable: expected SPEC|FILE, or --print-cost");
    struct laid laid = {0};
    err = load_topology(&laid.topology, call->arguments[0], why);
    if (err)
        return err;
    enum floor_layout layout =
        choice < 0 ? floor_layout_default(&laid.topology, &cost) : (enum floor_layout)choice;
    err = cabling_make(&laid.cabling, &laid.topology, layout, &cost, why);
    if (!err) {
        err = laid_report(call, &laid, &cost, why);
        cabling_fini(&laid.cabling);
    }
    topology_fini(&laid.topology);
    return err;
}

static const struct option cable_options[] = {
    {"layout", "racks|cluster|containers", "how the boxes stand; default: what suits the topology"},
    {"cost", "FILE", "prices and measures, see weft-cost(5)"},
    {"out", "FILE", "write the blueprint, a line of CSV per cable"},
    {"no-compare", NULL, "leave out the fat-tree of the same switches"},
    {"print-cost", NULL, "print the cost model as a file and stop"},
    {0},
};

const struct command command_topo_cable = {
    .name = "topo cable",
    .arguments = "[SPEC|FILE]",
    .summary = "lay out racks and cables, and count what they cost",
    .description =
        "Places every switch and server in a rack, the racks in rows on a floor that is about "
        "square, and tells for every cable its length, whether it is copper or optical, the "
        "bundle it lies in and its cost. A cable runs up to an overhead tray, along and across "
        "the rows, and down; inside a rack it is short.\n\n"
        "  racks       a switch on top of the rack of its servers; the servers of a direct\n"
        "              network in racks, a torus folded so that its rings have no long cable\n"
        "  cluster     all switches in racks at the centre, servers around them\n"
        "  containers  the groups of the topology (a fat-tree's pods, with the core divided\n"
        "              among them) in boxes, each with its switches in the middle; a network\n"
        "              without groups fills boxes of equal size\n\n"
        "Without --layout, direct networks and fat-trees that would fit one container stand in "
        "racks, networks with groups in containers, and all others as a cluster.\n\n"
        "A bundle is all cables between the same two racks, or the same two containers. The "
        "share of local cables counts those between nodes that stay in one container, or in one "
        "rack where there are no containers.\n\n"
        "Switched networks are compared with the largest fat-tree that the same switches can "
        "build, laid out by the same rules; the last lines give both in the layout that costs "
        "each least.\n\n"
        "The blueprint of --out has the columns cable, kind (link or server), container, rack, "
        "unit, node and port of both ends, length_m, medium, bundle and cost. A server is named "
        "SWITCH/INDEX.",
    .options = cable_options,
    .examples = "  weft topo cable jellyfish:servers=780,switches=245,ports=14\n"
                "  weft topo cable torus:8x8x8 --out blueprint.csv\n"
                "  weft topo cable --print-cost > cost.conf\n"
                "  weft topo cable fattree:k=14 --layout containers --cost cost.conf --json",
    .run = cable_run,
};
