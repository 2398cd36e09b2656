/* jellyfish: the figures about path lengths of Singla, Hong, Popa, Godfrey,
 * "Jellyfish: Networking Data Centers Randomly" (NSDI 2012). The figures about
 * bisection are in jellyfish_bisection.c, those about cables in
 * jellyfish_cabling.c.
 *
 * RRG(N, k, r) is a random regular graph of N switches with k ports, of which r
 * are for links to other switches. */
#include <math.h>
#include <stdio.h>

#include "paper/figures.h"
#include "topology/cabling/cable_count.h"
#include "topology/change/grow.h"

/* --- jelly-fig1c --- */

#define HOP_LAST 6

static const char fig1c_columns[] = "network, servers, hops, share (%)";

/* By the number of hops: the share of server pairs that are at most so far
 * apart, in a fat-tree, and in Jellyfish of the same equipment (the mean of
 * several graphs). */
struct shares {
    double tree[HOP_LAST + 1];
    double jelly[HOP_LAST + 1];
    uint32_t servers;
};

static enum err shares_measure(const struct figure_call *call, uint32_t k, uint32_t graphs,
                               struct shares *shares, struct why *why)
{
    char spec[SPEC_SIZE];
    struct figure_distances tree, jelly;
    struct cable_count equipment = cable_count_fattree(k);
    *shares = (struct shares){.servers = (uint32_t)equipment.servers};
    snprintf(spec, sizeof spec, "fattree:k=%u", k);
    enum err err = figure_measure_spec(call, spec, &tree, why);
    for (uint32_t i = 0; i < graphs && !err; i++) {
        figure_jellyfish_spec(spec, equipment.servers, equipment.switches, k, call->seed + i);
        err = figure_measure_spec(call, spec, &jelly, why);
        for (uint32_t hops = 0; hops <= HOP_LAST && !err; hops++)
            shares->jelly[hops] += 100 * jelly.server_share[hops] / graphs;
        figure_progress(call, i + 1, graphs);
    }
    for (uint32_t hops = 0; hops <= HOP_LAST && !err; hops++)
        shares->tree[hops] = 100 * tree.server_share[hops];
    return err;
}

static void shares_rows(struct figure_table *table, const struct shares *shares)
{
    for (uint32_t hops = 2; hops <= HOP_LAST; hops++) {
        figure_row_named(table, "Jellyfish",
                         (double[]){shares->servers, hops, shares->jelly[hops]});
        figure_row_named(table, "fat-tree", (double[]){shares->servers, hops, shares->tree[hops]});
    }
}

static void fig1c_claims(struct figure_result *result, const struct shares *large,
                         const struct shares *small, uint32_t graphs)
{
    double others = (large->servers - 1) / 100.0, few = (small->servers - 1) / 100.0;
    const char *single = figure_text(result,
                                     "the paper counts from one server of one graph; weft's "
                                     "number is the mean over all servers of %u graphs",
                                     graphs);
    figure_claim_at(result, "fig 1c", "Jellyfish, 686 servers: pairs within 5 hops",
                    says_above(99.5, "%"), large->jelly[5], 5, NULL);
    figure_claim_at(result, "fig 1c", "fat-tree, 686 servers: pairs within 5 hops",
                    says_equal(7.5, 0.05, "%"), large->tree[5], 5,
                    figure_text(result,
                                "in a fat-tree of 14-port switches a server has %.0f others on "
                                "its switch and %.0f within its pod, out of %u in all",
                                large->tree[2] * others, large->tree[5] * others,
                                large->servers - 1));
    figure_claim(result, "fig 1a", "fat-tree, 16 servers: others within 5 hops",
                 says_equal(3, 0.5, "servers"), small->tree[5] * few, single);
    figure_claim(result, "fig 1b", "Jellyfish, 16 servers: others within 5 hops",
                 says_equal(12, 0.5, "servers"), small->jelly[5] * few, single);
    figure_claim(result, "fig 1b", "Jellyfish, 16 servers: others within 4 hops",
                 says_equal(6, 0.5, "servers"), small->jelly[4] * few, single);
}

static enum err fig1c_run(struct figure_result *result, const struct figure_call *call,
                          struct why *why)
{
    struct figure_table *table = figure_table_add(result, "hops", fig1c_columns);
    struct figure_table *small_table = figure_table_add(result, "small", fig1c_columns);
    struct shares large, small;
    uint32_t graphs = call->quick ? 20 : 200; /* of the small network */
    enum err err = shares_measure(call, 14, call->quick ? 3 : 20, &large, why);
    if (!err)
        err = shares_measure(call, 4, graphs, &small, why);
    if (err)
        return err;
    shares_rows(table, &large);
    shares_rows(small_table, &small);
    fig1c_claims(result, &large, &small, graphs);
    return OK;
}

const struct figure figure_jelly_fig1c = {
    .name = "jelly-fig1c",
    .paper = "Jellyfish",
    .what = "share of server pairs by their distance in hops, 686 servers",
    .full =
        {"fat-tree of 14-port switches and 20 graphs of 245 switches; 4-port and 200 graphs of 20",
         .seconds = 0.1},
    .quick =
        {"fat-tree of 14-port switches and 3 graphs of 245 switches; 4-port and 20 graphs of 20",
         .seconds = 0.1},
    .choice = "A hop is one cable; the cables between the two servers and their switches count.",
    .plot.table = "hops",
    .plot.x = {.column = "hops", .label = "hops between two servers, at most", .step = 1},
    .plot.y = {.label = "share of pairs (%)"},
    .plot.series =
        {
            {"Jellyfish", "share", "network", "Jellyfish", STYLE_BOTH},
            {"fat-tree", "share", "network", "fat-tree", STYLE_BOTH},
        },
    .run = fig1c_run,
};

/* --- jelly-fig5 --- */

#define FIG5_PORTS   48u
#define FIG5_SERVERS 12u /* on each switch; 36 ports are left for links */

static void fig5_row(struct figure_table *table, const char *built,
                     const struct figure_distances *found)
{
    figure_row_named(table, built,
                     (double[]){found->nodes, found->servers, found->mean, found->diameter});
}

/* Grows the network to that many switches. */
static enum err fig5_grow(struct topology *topology, uint32_t switches, uint64_t seed,
                          struct why *why)
{
    struct growth growth;
    struct grow_order order = {
        .count = switches - topology->graph.node_count,
        .ports = FIG5_PORTS,
        .servers = FIG5_SERVERS,
        .seed = seed,
    };
    enum err err = grow_topology(&growth, topology, &order, why);
    if (err)
        return err;
    growth_accept(&growth, topology);
    return OK;
}

struct fig5_summary {
    double difference; /* the largest difference of the mean paths, in % */
    uint32_t sizes, same_diameter;
    uint32_t diameter_max;
    double mean_last;
};

/* Measures one size, built from scratch and grown from the size before. */
static enum err fig5_size(struct figure_table *table, const struct figure_call *call,
                          uint32_t switches, struct topology *grown, struct fig5_summary *summary,
                          struct why *why)
{
    char spec[SPEC_SIZE];
    struct figure_distances fresh, old;
    figure_jellyfish_spec(spec, switches * FIG5_SERVERS, switches, FIG5_PORTS, call->seed);
    enum err err = figure_measure_spec(call, spec, &fresh, why);
    if (!err && switches > grown->graph.node_count)
        err = fig5_grow(grown, switches, call->seed, why);
    if (!err)
        err = figure_measure(call, grown, &old, why);
    if (err)
        return err;
    fig5_row(table, "from scratch", &fresh);
    fig5_row(table, "grown", &old);
    double difference = 100 * fabs(old.mean / fresh.mean - 1);
    summary->difference = fmax(summary->difference, difference);
    summary->sizes++;
    summary->same_diameter += old.diameter == fresh.diameter;
    uint32_t longest = old.diameter > fresh.diameter ? old.diameter : fresh.diameter;
    summary->diameter_max = longest > summary->diameter_max ? longest : summary->diameter_max;
    summary->mean_last = fresh.mean;
    return OK;
}

static void fig5_claims(struct figure_result *result, const struct fig5_summary *summary)
{
    figure_claim_at(result, "section 4.1", "3200 switches: mean path between switches",
                    says_below(2.7, "hops"), summary->mean_last, 3200 * FIG5_SERVERS, NULL);
    figure_claim(result, "fig 5", "mean path, grown and from scratch: largest difference",
                 says_equal(0, 1, "%"), summary->difference, NULL);
    figure_claim(result, "fig 5", "sizes at which both have the same diameter",
                 says_equal(summary->sizes, 0, "sizes"), summary->same_diameter, NULL);
    figure_claim(result, "section 4", "longest path between switches; a fat-tree has 4",
                 says_at_most(4, "hops"), summary->diameter_max, NULL);
}

static enum err fig5_run(struct figure_result *result, const struct figure_call *call,
                         struct why *why)
{
    static const uint32_t full[] = {100,  200,  300,  400,  600,  800,
                                    1200, 1600, 2000, 2400, 2800, 3200};
    static const uint32_t quick[] = {100, 400, 3200};
    const uint32_t *sizes = call->quick ? quick : full;
    size_t count = call->quick ? sizeof quick / sizeof *quick : sizeof full / sizeof *full;
    struct figure_table *table = figure_table_add(
        result, "paths", "built, switches, servers, mean_path (hops), diameter (hops)");
    struct fig5_summary summary = {0};
    struct topology grown;
    char spec[SPEC_SIZE];
    /* The next seed: the graph that grows differs from the first one built from scratch. */
    figure_jellyfish_spec(spec, sizes[0] * FIG5_SERVERS, sizes[0], FIG5_PORTS, call->seed + 1);
    enum err err = topology_build(&grown, spec, why);
    if (err)
        return err;
    for (size_t i = 0; i < count && !err; i++) {
        err = fig5_size(table, call, sizes[i], &grown, &summary, why);
        figure_progress(call, sizes[i], sizes[count - 1]);
    }
    topology_fini(&grown);
    if (!err)
        fig5_claims(result, &summary);
    return err;
}

const struct figure figure_jelly_fig5 = {
    .name = "jelly-fig5",
    .paper = "Jellyfish",
    .what = "mean path and diameter of networks built at once and grown",
    .full = {"random graphs of 100 to 3200 switches, 12 sizes", .seconds = 0.5},
    .quick = {"random graphs of 100, 400 and 3200 switches", .seconds = 0.3},
    .choice = "Switches have 48 ports, 12 for servers and 36 for links. The paper's \"close to "
              "identical\" is taken as a difference of at most 1 % in the mean path.",
    .plot.table = "paths",
    .plot.x = {.column = "servers", .label = "servers"},
    .plot.y = {.label = "hops between switches"},
    .plot.series =
        {
            {"mean path, from scratch", "mean_path", "built", "from scratch", STYLE_BOTH},
            {"mean path, grown", "mean_path", "built", "grown", STYLE_POINTS},
            {"diameter, from scratch", "diameter", "built", "from scratch", STYLE_BOTH},
            {"diameter, grown", "diameter", "built", "grown", STYLE_POINTS},
        },
    .run = fig5_run,
};
