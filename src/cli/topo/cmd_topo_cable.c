/* weft topo cable: the list of all cables, their cost, and a comparison with the
 * fat-tree that the same switches can build. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/core/call.h"
#include "cli/core/file.h"
#include "cli/core/load.h"
#include "topology/cabling/cable_cost.h"
#include "topology/cabling/cabling.h"

/* A network with its layout. */
struct laid {
    struct topology topology;
    struct cabling cabling;
    enum floor_layout cheapest; /* of all layouts; set only for a comparison */
    double cheapest_cost;
};

/* The fat-tree that the network is compared with, or why there is none. */
struct comparison {
    uint32_t ports;   /* of the fat-tree's switches; 0: there is none */
    char missing[96]; /* why there is none; empty if none was asked for */
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

/* Finds the cheapest layout and its cost. */
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

/* Lays out the fat-tree of the same switches. It is no failure if there is none. */
static enum err comparison_make(struct comparison *compared, struct laid *laid, bool wanted,
                                const struct cable_cost *cost, struct why *why)
{
    uint32_t k;
    compared->ports = 0;
    if (!wanted)
        return OK;
    if (laid->topology.direct)
        return comparison_lacks(compared,
                                "a network without switches has no fat-tree to compare with");
    enum err err = cabling_fattree_ports(&laid->topology, &k, why);
    if (err)
        return err;
    if (k == 0)
        return comparison_lacks(compared,
                                "these switches cannot even build a fat-tree of 2-port switches");
    if ((uint64_t)k * k * k / 4 * 3 > CABLING_CABLE_MAX)
        return comparison_lacks(compared, "the fat-tree has more cables than can be laid out");
    err = cheapest_find(laid, cost, why);
    if (!err)
        err = fattree_lay(&compared->laid, k, laid->cabling.plan.layout, cost, why);
    if (!err)
        compared->ports = k;
    return err;
}

static const char cable_page[] =
    "{topology}: {?direct}{:}{switches|switch|switches}, {/}{servers|server|servers}, layout "
    "{layout}{?layout_chosen} (chosen){/}\n"
    "  racks      {racks%10u}{?containers}   in {containers} containers{/}\n"
    "  cables     {cables%10u}   {link_cables} between nodes, {server_cables} to servers\n"
    "  copper     {copper%10u}\n"
    "  optical    {optical%10u}\n"
    "  length     {length_total_m%10.0f} m"
    "{?cables}, mean {length_mean_m%.2f} m, longest {length_max_m%.2f} m{/}\n"
    "  bundles    {bundles%10u}{?bundles}   largest {bundle_max} cables{/}\n"
    "{?containers}             {container_bundles%10u}   of them between containers, largest "
    "{container_bundle_max} cables\n{/}"
    "{?link_cables}  local      {local_share*100%10.1f} % of the cables between nodes stay in one "
    "{?containers}container{:}rack{/}\n{/}"
    "  cost       {cost_total%10.0f}   cable {cost_cable_metres%.0f}, transceivers "
    "{cost_transceivers%.0f}, copper ends {cost_copper_ends%.0f}, labour {cost_labour%.0f}"
    "{?cost_switches}, switches {cost_switches%.0f}{/}\n"
    "{?fattree_missing}\nnot compared: {fattree_missing}\n{/}"
    "{?fattree}\nbeside a fat-tree of the same switches, k = {fattree.k}\n"
    "                              this     fat-tree     ratio\n"
    "{#comparison}{.}\n{/}"
    "    in layout        {cheapest_layout%12s} {fattree.cheapest_layout%12s}\n{/}";

static void totals_put(struct result *result, const struct laid *laid)
{
    const struct cabling_totals *totals = &laid->cabling.totals;
    const struct floor_plan *plan = &laid->cabling.plan;
    result_uint(result, "switches", topology_switch_count(&laid->topology));
    result_uint(result, "servers", laid->topology.server_count);
    result_uint(result, "racks", plan->rack_count);
    result_uint(result, "containers", plan->container_count);
    result_uint(result, "cables", totals->cables);
    result_uint(result, "server_cables", totals->server_cables);
    result_uint(result, "link_cables", totals->link_cables);
    result_uint(result, "copper", totals->copper);
    result_uint(result, "optical", totals->optical);
    result_number(result, "length_total_m", totals->length_total_m);
    result_number(result, "length_mean_m", totals->length_mean_m);
    result_number(result, "length_max_m", totals->length_max_m);
    result_uint(result, "bundles", totals->bundles);
    result_uint(result, "bundle_max", totals->bundle_max);
    result_uint(result, "container_bundles", totals->container_bundles);
    result_uint(result, "container_bundle_max", totals->container_bundle_max);
    result_number(result, "local_share", totals->local_share);
    result_number(result, "cost_total", totals->cost_total);
    result_number(result, "cost_cable_metres", totals->cost_metres);
    result_number(result, "cost_transceivers", totals->cost_transceivers);
    result_number(result, "cost_copper_ends", totals->cost_copper_ends);
    result_number(result, "cost_labour", totals->cost_labour);
    result_number(result, "cost_switches", totals->cost_switches);
}

/* The numbers by which two networks of different size are compared. */
struct yardstick {
    double cables_per_server;
    double optical_share;
    double length_mean_m;
    double cost_per_server;
    double cheapest_per_server; /* in the cheapest layout */
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

static void yardstick_put(struct result *result, const struct yardstick *yardstick)
{
    result_number(result, "cables_per_server", yardstick->cables_per_server);
    result_number(result, "optical_share", yardstick->optical_share);
    result_number(result, "cost_per_server", yardstick->cost_per_server);
}

static void cheapest_put(struct result *result, const struct laid *laid,
                         const struct yardstick *yardstick)
{
    result_string(result, "cheapest_layout", floor_layout_name(laid->cheapest));
    result_number(result, "cheapest_cost_per_server", yardstick->cheapest_per_server);
}

/* Adds one line of the table: both networks and their ratio. */
static void comparison_line(struct result *result, const char *title, int decimals, double ours,
                            double theirs)
{
    struct text *out = result_words(result, NULL);
    text_printf(out, "  %-18s", title);
    if (isnan(ours))
        text_printf(out, " %12s", "-");
    else
        text_printf(out, " %12.*f", decimals, ours);
    text_printf(out, " %12.*f", decimals, theirs);
    if (theirs > 0 && !isnan(ours))
        text_printf(out, " %9.3f", ours / theirs);
}

static void comparison_table(struct result *result, const struct laid *laid,
                             const struct yardstick *ours, const struct laid *tree,
                             const struct yardstick *theirs)
{
    result_array(result_hide(result), "comparison");
    comparison_line(result, "switches", 0, topology_switch_count(&laid->topology),
                    topology_switch_count(&tree->topology));
    comparison_line(result, "servers", 0, laid->topology.server_count, tree->topology.server_count);
    comparison_line(result, "cables", 0, (double)laid->cabling.totals.cables,
                    (double)tree->cabling.totals.cables);
    comparison_line(result, "cables per server", 2, ours->cables_per_server,
                    theirs->cables_per_server);
    comparison_line(result, "mean length, m", 2, ours->length_mean_m, theirs->length_mean_m);
    comparison_line(result, "optical, %", 1, 100 * ours->optical_share,
                    100 * theirs->optical_share);
    comparison_line(result, "cost per server", 2, ours->cost_per_server, theirs->cost_per_server);
    comparison_line(result, "  at its cheapest", 2, ours->cheapest_per_server,
                    theirs->cheapest_per_server);
    result_end(result);
}

static void comparison_put(struct result *result, const struct laid *laid,
                           const struct comparison *compared)
{
    if (!compared->ports) {
        result_null(result, "fattree");
        if (compared->missing[0])
            result_string(result, "fattree_missing", compared->missing);
        return;
    }
    const struct laid *tree = &compared->laid;
    struct yardstick ours = yardstick_make(laid), theirs = yardstick_make(tree);
    result_object(result, "fattree");
    result_uint(result, "k", compared->ports);
    totals_put(result, tree);
    yardstick_put(result, &theirs);
    cheapest_put(result, tree, &theirs);
    result_end(result);
    cheapest_put(result, laid, &ours);
    comparison_table(result, laid, &ours, tree, &theirs);
    result_object(result, "ratio");
    result_number(result, "servers",
                  ratio(laid->topology.server_count, tree->topology.server_count));
    result_number(result, "cables",
                  ratio((double)laid->cabling.totals.cables, (double)tree->cabling.totals.cables));
    result_number(result, "cables_per_server",
                  ratio(ours.cables_per_server, theirs.cables_per_server));
    result_number(result, "optical_share", ratio(ours.optical_share, theirs.optical_share));
    result_number(result, "cost_per_server", ratio(ours.cost_per_server, theirs.cost_per_server));
    result_number(result, "cheapest_cost_per_server",
                  ratio(ours.cheapest_per_server, theirs.cheapest_per_server));
    result_end(result);
}

static void report(struct call *call, const struct laid *laid, const struct comparison *compared)
{
    struct result *result = call_result(call, cable_page);
    struct yardstick ours = yardstick_make(laid);
    result_string(result, "topology", call->arguments[0]);
    result_bool(result_hide(result), "direct", laid->topology.direct);
    result_string(result, "layout", floor_layout_name(laid->cabling.plan.layout));
    result_bool(result, "layout_chosen", !call_has(call, "layout"));
    totals_put(result, laid);
    yardstick_put(result, &ours);
    comparison_put(result, laid, compared);
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
    if (!err)
        report(call, laid, &compared);
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
    if (!err)
        err = call_out_ending(call, "out", (const char *const[]){".csv", NULL}, "", why);
    if (err)
        return err;
    if (call->argument_count == 0)
        return why_fail(why, ERR_USAGE, "topo cable: expected SPEC|FILE or --print-cost");
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
    {"layout", "racks|cluster|containers",
     "where switches and servers are placed (default: by the kind of topology)"},
    {"cost", "FILE", "read prices and lengths from this file, see weft-cost(5)"},
    {"out", "FILE", "write a CSV file with a line for each cable"},
    {"no-compare", NULL, "do not compare with a fat-tree of the same switches"},
    {"print-cost", NULL, "print the default prices and lengths as a file, and stop"},
    {0},
};

const struct command command_topo_cable = {
    .name = "topo cable",
    .arguments = "[SPEC|FILE]",
    .summary = "lay out racks and cables, and compute their cost",
    .description =
        "Places every switch and server in a rack and the racks in rows on a roughly square "
        "floor. For every cable it determines the length, whether it is copper or optical, its "
        "bundle and its cost. A cable runs up to an overhead tray, along and across the rows, "
        "and down again; inside a rack it is short.\n\n"
        "  racks       each switch is on top of the rack of its servers; the servers of a network\n"
        "              without switches fill racks, and a torus is folded, so that no ring has a\n"
        "              long cable\n"
        "  cluster     all switches are in racks at the centre, the servers around them\n"
        "  containers  each group of the topology (a pod of a fat-tree, with a part of the core) "
        "is\n"
        "              in a container with its switches in the middle; a network without groups\n"
        "              fills containers of equal size\n\n"
        "Without --layout, networks without switches and fat-trees that fit one container use "
        "racks, networks with groups use containers, and all others use cluster.\n\n"
        "A bundle consists of all cables between the same two racks, or the same two containers. "
        "A cable between two nodes is local if it stays in one container, or in one rack if there "
        "are no containers; the command prints the share of local cables.\n\n"
        "Networks with switches are compared with the largest fat-tree that the same switches "
        "can build, laid out by the same rules. The last lines give the cost of both in their "
        "cheapest layout.\n\n"
        "The file of --out has one line for each cable, with the columns cable, kind (link or "
        "server), container, rack, unit, node and port of both ends, length_m, medium, bundle "
        "and cost. A server is named SWITCH/INDEX.",
    .options = cable_options,
    .examples = "  weft topo cable jellyfish:servers=780,switches=245,ports=14\n"
                "  weft topo cable torus:8x8x8 --out blueprint.csv\n"
                "  weft topo cable --print-cost > cost.conf\n"
                "  weft topo cable fattree:k=14 --layout containers --cost cost.conf --json",
    .run = cable_run,
};
