/* jellyfish_cabling: the claims of the Jellyfish paper (jellyfish.c names it)
 * about the number of cables, and of cable bundles between containers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "paper/figures.h"
#include "topology/cabling/cable_count.h"

static double cables_row(struct figure_table *table, uint32_t k)
{
    struct cable_count tree = cable_count_fattree(k), jelly;
    if (!cable_count_jellyfish(k, tree.servers, &jelly))
        return NAN;
    double tree_cables = (double)(tree.server_cables + tree.link_cables);
    double jelly_cables = (double)(jelly.server_cables + jelly.link_cables);
    double fewer = 100 * (1 - jelly_cables / tree_cables);
    double fewer_links = 100 * (1 - (double)jelly.link_cables / (double)tree.link_cables);
    figure_row_numbers(table, (double[]){k, tree.servers, tree.switches, tree_cables,
                                         jelly.switches, jelly_cables, fewer, fewer_links});
    return fewer;
}

static void cables_claims(struct figure_result *result, struct figure_table *table)
{
    static const uint32_t ports[] = {16, 20, 24, 28, 32, 36, 40, 44, 48, 56, 64};
    for (size_t i = 0; i < sizeof ports / sizeof *ports; i++) {
        double fewer = cables_row(table, ports[i]);
        if (ports[i] != 24 && ports[i] != 32 && ports[i] != 48)
            continue;
        figure_claim_at(
            result, "section 6.2",
            figure_text(result, "cables saved for the same servers, %u-port switches", ports[i]),
            says_about(says_between(15, 20, "%"), 0.5), fewer,
            (double)cable_count_fattree(ports[i]).servers, NULL);
    }
}

static enum err bundles_tally(const struct topology *topology, uint32_t containers,
                              struct container_tally *tally, struct why *why)
{
    uint32_t nodes = topology->graph.node_count;
    uint32_t *container = array_new(nodes, sizeof *container);
    if (!container)
        return why_memory(why);
    for (uint32_t node = 0; node < nodes; node++)
        container[node] = topology->sites[node].group;
    enum err err = container_tally_make(tally, &topology->graph, container, containers, why);
    free(container);
    return err;
}

static enum err bundles_claims(struct figure_result *result, struct figure_table *table,
                               const struct figure_call *call, struct why *why)
{
    enum { CONTAINERS = 40, SERVERS = 100000, PORTS = 48 };
    struct cable_count count = {0};
    struct topology topology;
    struct container_tally tally = {0};
    char spec[SPEC_SIZE];
    if (!cable_count_jellyfish(PORTS, SERVERS, &count))
        return why_fail(why, ERR_USAGE,
                        "jelly-cabling: switches of %d ports do not reach full bisection", PORTS);
    snprintf(spec, sizeof spec,
             "jellyfish:servers=%d,switches=%llu,ports=%d,containers=%d,local=0,seed=%llu", SERVERS,
             (unsigned long long)count.switches, PORTS, CONTAINERS, (unsigned long long)call->seed);
    enum err err = topology_build(&topology, spec, why);
    if (err)
        return err;
    err = bundles_tally(&topology, CONTAINERS, &tally, why);
    topology_fini(&topology);
    if (err)
        return err;
    figure_row_numbers(table, (double[]){CONTAINERS, SERVERS, count.switches, tally.global,
                                         tally.bundles, tally.bundle_mean, tally.bundle_max});
    figure_claim(result, "section 6.3",
                 figure_text(result, "bundles between %d containers", CONTAINERS),
                 says_equal(800, 50, NULL), (double)tally.bundles, NULL);
    figure_claim(result, "section 6.3", "cables in a bundle, mean", says_below(200, "cables"),
                 tally.bundle_mean, NULL);
    figure_claim(result, "section 6.3", "cables in a bundle, largest", says_below(200, "cables"),
                 (double)tally.bundle_max,
                 figure_text(result, "this is the largest of %llu bundles",
                             (unsigned long long)tally.bundles));
    return OK;
}

static enum err cabling_run(struct figure_result *result, const struct figure_call *call,
                            struct why *why)
{
    struct figure_table *cables =
        figure_table_add(result, "cables",
                         "ports, servers, fattree_switches, fattree_cables, jellyfish_switches, "
                         "jellyfish_cables, fewer (%), fewer_between_switches (%)");
    struct figure_table *bundles =
        figure_table_add(result, "bundles",
                         "containers, servers, switches, cables_between, bundles, "
                         "mean_bundle (cables), largest_bundle (cables)");
    cables_claims(result, cables);
    return bundles_claims(result, bundles, call, why);
}

const struct figure figure_jelly_cabling = {
    .name = "jelly-cabling",
    .paper = "Jellyfish",
    .what = "cables saved against a fat-tree, and cable bundles between containers",
    .full = {"by formula for 16 to 64 ports; one network of 100,000 servers", .seconds = 0.1},
    .quick = {"by formula for 16 to 64 ports; one network of 100,000 servers", .seconds = 0.1},
    .choice = "Jellyfish has as few switches as give full bisection by Bollobas' bound; they have "
              "as many ports as those of the fat-tree. The paper does not say which switches the "
              "network of 100,000 servers has: here they have 48 ports, and no cable between "
              "switches stays inside a container.",
    .plot.table = "cables",
    .plot.x = {.column = "servers", .label = "servers", .log = true},
    .plot.y = {.label = "fewer cables than the fat-tree (%)"},
    .plot.series =
        {
            {"all cables", "fewer", NULL, NULL, STYLE_BOTH},
            {"cables between switches", "fewer_between_switches", NULL, NULL, STYLE_BOTH},
        },
    .run = cabling_run,
};
