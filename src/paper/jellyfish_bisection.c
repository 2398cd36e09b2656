/* jellyfish_bisection: the figures of the Jellyfish paper (jellyfish.c names
 * it) that follow from Bollobas' lower bound on the bisection of random graphs.
 *
 * Of the k ports of a switch, s connect servers and r = k - s other switches. N
 * switches have full bisection if the bound for N nodes of degree r is at least
 * half of the number of servers. Servers are spread evenly; if their number is
 * no multiple of N, r is a mean. */
#include <math.h>
#include <stdio.h>

#include "flow/bisection/bisection.h"
#include "paper/figures.h"
#include "topology/cabling/cable_count.h"
#include "topology/topology.h"

/* Returns the bound divided by what the servers of one half can send. */
static double normalised(double switches, double ports, double servers)
{
    return bisection_bollobas(switches, ports - servers / switches) / (servers / 2);
}

/* Returns the most servers that have full bisection; the bound falls with their number. */
static uint64_t servers_full(uint32_t switches, uint32_t ports)
{
    uint64_t low = 0, high = (uint64_t)switches * ports; /* low fits, high does not */
    while (low + 1 < high) {
        uint64_t middle = low + (high - low) / 2;
        if (normalised(switches, ports, (double)middle) >= 1)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The same with equal numbers of servers on all switches. */
static uint64_t servers_full_whole(uint32_t switches, uint32_t ports)
{
    uint32_t each = 0;
    while (each + 1 < ports && normalised(switches, ports, (double)(each + 1) * switches) >= 1)
        each++;
    return (uint64_t)each * switches;
}

static uint32_t fattree_switches(uint32_t k)
{
    return (uint32_t)cable_count_fattree(k).switches;
}

static uint32_t fattree_servers(uint32_t k)
{
    return (uint32_t)cable_count_fattree(k).servers;
}

/* --- jelly-fig2a --- */

/* Adds the curve of the equipment of one fat-tree, and the point of that fat-tree. */
static void fig2a_curve(struct figure_table *table, uint32_t k)
{
    uint32_t switches = fattree_switches(k);
    char network[FIGURE_WORD_SIZE];
    snprintf(network, sizeof network, "Jellyfish k=%u", k);
    for (uint32_t eighth = 8; eighth <= 4 * k; eighth++) {
        double servers = eighth / 8.0 * switches, value = normalised(switches, k, servers);
        if (value < 0.2 || value > 1.6)
            continue;
        figure_row_named(table, network, (double[]){switches, k, floor(servers), value});
    }
    figure_row_named(table, "fat-tree", (double[]){switches, k, fattree_servers(k), 1});
}

/* The bound holds for almost every graph; this checks one that weft builds. */
static enum err fig2a_measured(struct figure_result *result, const struct figure_call *call,
                               struct why *why)
{
    uint32_t ports = 24, switches = call->quick ? 60 : 720;
    uint64_t servers = servers_full_whole(switches, ports);
    uint32_t degree = ports - (uint32_t)(servers / switches);
    char spec[SPEC_SIZE];
    struct topology topology;
    struct bisection bisection;
    figure_jellyfish_spec(spec, servers, switches, ports, call->seed);
    enum err err = topology_build(&topology, spec, why);
    if (err)
        return err;
    err = bisection_find(&bisection, &topology, call->seed, why);
    topology_fini(&topology);
    if (err)
        return err;
    figure_claim(
        result, "section 4.1",
        figure_text(result, "smallest cut found: %u switches, %u links each", switches, degree),
        says_above(bisection_bollobas(switches, degree), "cables"), (double)bisection.upper, NULL);
    bisection_fini(&bisection);
    return OK;
}

static enum err fig2a_run(struct figure_result *result, const struct figure_call *call,
                          struct why *why)
{
    static const uint32_t drawn[] = {48, 32, 24};
    struct figure_table *table =
        figure_table_add(result, "bisection", "network, switches, ports, servers, bisection");
    for (size_t i = 0; i < 3; i++) {
        uint32_t k = drawn[i], switches = fattree_switches(k);
        fig2a_curve(table, k);
        figure_claim(
            result, "fig 2a",
            figure_text(result, "%u switches of %u ports: servers at full bisection", switches, k),
            says_above(fattree_servers(k), "servers"), (double)servers_full(switches, k), NULL);
    }
    uint32_t switches = fattree_switches(40);
    figure_claim(result, "section 4.1",
                 "2000 switches of 40 ports: servers at full bisection (fat-tree: 16,000)",
                 says_above(20000, "servers"), (double)servers_full(switches, 40), NULL);
    uint64_t whole = servers_full_whole(switches, 40);
    figure_claim(
        result, "section 4.1",
        "2000 switches of 40 ports: servers at full bisection, equally many on each",
        says_above(20000, "servers"), (double)whole,
        figure_text(result,
                    "%llu servers on each switch make exactly %llu servers; with one more on each "
                    "switch, bisection is no longer full. More than 20,000 servers are only "
                    "possible with unequal numbers on the switches; the bound, which is for "
                    "regular graphs, is then interpolated",
                    (unsigned long long)(whole / switches), (unsigned long long)whole));
    figure_claim(result, "section 4.1",
                 "switches of 10^6 ports: bisection divided by that of the fat-tree",
                 says_equal(2, 0.01, NULL), normalised(5e12 / 4, 1e6, 1e18 / 4), NULL);
    return fig2a_measured(result, call, why);
}

const struct figure figure_jelly_fig2a = {
    .name = "jelly-fig2a",
    .paper = "Jellyfish",
    .what = "bisection by number of servers, Jellyfish and fat-tree of the same switches",
    .full = {"by formula; a search for the smallest cut of 720 switches", .seconds = 2},
    .quick = {"by formula; a search for the smallest cut of 60 switches", .seconds = 0.3},
    .choice = "Bisection is normalised: 1 is full bisection, where half of the servers can send to "
              "the other half at full rate. In the first three claims the paper's number is the "
              "number of servers of the fat-tree that has the same switches. The fat-tree of "
              "16,000 servers in the paper's text has switches of 40 ports, and so belongs to none "
              "of the three curves. Servers are spread evenly, and Bollobas' bound is taken at the "
              "mean number of ports for links.",
    .plot.table = "bisection",
    .plot.x = {.column = "servers", .label = "servers"},
    .plot.y = {.label = "normalised bisection"},
    .plot.series =
        {
            {"Jellyfish, N = 2880, k = 48", "bisection", "network", "Jellyfish k=48", STYLE_LINE},
            {"Jellyfish, N = 1280, k = 32", "bisection", "network", "Jellyfish k=32", STYLE_LINE},
            {"Jellyfish, N = 720, k = 24", "bisection", "network", "Jellyfish k=24", STYLE_LINE},
            {"fat-tree", "bisection", "network", "fat-tree", STYLE_POINTS},
        },
    .run = fig2a_run,
};

/* --- jelly-fig2b --- */

static double fig2b_row(struct figure_table *table, const char *network, uint32_t k,
                        const struct cable_count *count)
{
    double ports = (double)count->switches * k, each = ports / (double)count->servers;
    figure_row_named(table, network, (double[]){k, count->servers, count->switches, ports, each});
    return each;
}

static enum err fig2b_run(struct figure_result *result, const struct figure_call *call,
                          struct why *why)
{
    static const uint32_t drawn[] = {24, 32, 48};
    enum { STEP = 2000, LAST = 80000 };
    struct figure_table *table = figure_table_add(
        result, "cost", "network, ports, servers, switches, total_ports (ports), ports_per_server");
    double each[3] = {NAN, NAN, NAN}, tree = NAN;
    for (size_t i = 0; i < 3; i++) {
        char network[FIGURE_WORD_SIZE];
        snprintf(network, sizeof network, "Jellyfish k=%u", drawn[i]);
        for (uint32_t servers = STEP; servers <= LAST; servers += STEP) {
            struct cable_count count;
            if (cable_count_jellyfish(drawn[i], servers, &count))
                each[i] = fig2b_row(table, network, drawn[i], &count);
        }
    }
    for (uint32_t k = 24; k <= 64; k += 8) {
        struct cable_count count = cable_count_fattree(k);
        tree = fig2b_row(table, "fat-tree", k, &count);
    }
    for (size_t i = 0; i < 3; i++)
        figure_claim(result, "fig 2b",
                     figure_text(result,
                                 "%u-port switches: ports for each server; a fat-tree has 5",
                                 drawn[i]),
                     says_below(tree, "ports"), each[i], NULL);
    for (size_t i = 1; i < 3; i++)
        figure_claim(result, "section 4.1",
                     figure_text(result, "%u-port switches: fewer ports than with %u-port ones",
                                 drawn[i], drawn[i - 1]),
                     says_below(each[i - 1], "ports"), each[i], NULL);
    return OK;
}

const struct figure figure_jelly_fig2b = {
    .name = "jelly-fig2b",
    .paper = "Jellyfish",
    .what = "cost in switch ports by number of servers, at full bisection",
    .full = {"by formula, to 80,000 servers", .seconds = 0.1},
    .quick = {"by formula, to 80,000 servers", .seconds = 0.1},
    .choice = "The cost is the number of switch ports, used or not. A fat-tree of k-port switches "
              "has k^3 / 4 servers and 5 ports for each server.",
    .plot.table = "cost",
    .plot.x = {.column = "servers", .label = "servers at full bisection"},
    .plot.y = {.label = "switch ports"},
    .plot.series =
        {
            {"Jellyfish, 24 ports", "total_ports", "network", "Jellyfish k=24", STYLE_LINE},
            {"Jellyfish, 32 ports", "total_ports", "network", "Jellyfish k=32", STYLE_LINE},
            {"Jellyfish, 48 ports", "total_ports", "network", "Jellyfish k=48", STYLE_LINE},
            {"fat-tree, 24 to 64 ports", "total_ports", "network", "fat-tree", STYLE_POINTS},
        },
    .run = fig2b_run,
};
