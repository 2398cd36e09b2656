/* novacube_routing: the figures of the NovaCube paper (novacube.c names it)
 * about its routing algorithm PORA: the first hop of a packet, and the length of
 * its path. Deadlock is in novacube_deadlock.c. */
#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "paper/figures.h"
#include "paper/score.h"
#include "routing/load/load.h"
#include "routing/route.h"

/* --- nova-fig4 --- */

/* The destination is 3 along x and 2 along y from the source, so that the
 * neighbours are as far from it as in the paper's example. */
static const uint32_t fig4_offset[2] = {3, 2};
enum { FIG4_PORTS = 5 };

static const struct fig4_port {
    const char *name;
    double distance; /* from the neighbour to the destination, as printed */
    double printed;  /* % */
    double rounding;
} fig4_ports[FIG4_PORTS] = {
    {"+x", 4, 21.43, 0.005},  {"-x", 6, 9.524, 0.0005},  {"+y", 4, 21.43, 0.005},
    {"-y", 6, 9.524, 0.0005}, {"jump", 3, 38.10, 0.005},
};

/* Computes the probability that a packet leaves by each port. */
static enum err fig4_shares(const struct router *router, uint32_t to, double *shares,
                            struct why *why)
{
    const struct route_algorithm *algorithm = router->algorithm;
    struct route_move *moves = array_new(router->move_max, sizeof *moves);
    if (!moves)
        return why_memory(why);
    for (uint32_t i = 0; i < algorithm->start_count(router, 0, to); i++) {
        struct route_state state;
        double share = algorithm->start(router, 0, to, i, &state);
        uint32_t count = algorithm->moves(router, 0, to, &state, moves);
        for (uint32_t move = 0; move < count; move++)
            shares[graph_channel_port(&router->topology->graph, moves[move].channel)] +=
                share * moves[move].share;
    }
    free(moves);
    return OK;
}

static uint32_t ring_distance(uint32_t a, uint32_t b, uint32_t size)
{
    uint32_t apart = a > b ? a - b : b - a;
    return apart < size - apart ? apart : size - apart;
}

/* Returns the hops along the torus from the neighbour at a port of node 0 to the
 * destination. */
static double fig4_distance(const struct topology *topology, uint32_t port)
{
    uint32_t place[AXIS_MAX];
    double distance = 0;
    topology_coordinate(topology, topology->graph.to[topology->graph.first[0] + port], place);
    for (uint32_t axis = 0; axis < 2; axis++)
        distance += ring_distance(place[axis], fig4_offset[axis], topology->axis_size[axis]);
    return distance;
}

static enum err fig4_run(struct figure_result *result, const struct figure_call *call,
                         struct why *why)
{
    struct topology topology;
    struct router router;
    double shares[FIG4_PORTS] = {0};
    enum err err = topology_build(&topology, "novacube:8x8", why);
    if (err)
        return err;
    err = router_open(&router, "pora", &topology, NULL, why);
    if (!err) {
        err = fig4_shares(&router, topology_node_at(&topology, fig4_offset), shares, why);
        router_close(&router);
    }
    struct figure_table *table =
        figure_table_add(result, "first_hop", "port, distance (hops), printed (%), found (%)");
    for (uint32_t port = 0; !err && port < FIG4_PORTS; port++) {
        const struct fig4_port *printed = &fig4_ports[port];
        double distance = fig4_distance(&topology, port);
        figure_row_named(table, printed->name,
                         (double[]){distance, printed->printed, 100 * shares[port]});
        figure_claim(result, "fig 4",
                     figure_text(result, "hops from the neighbour at port %s", printed->name),
                     says_equal(printed->distance, 0, "hops"), distance, NULL);
        figure_claim(result, "section V.A",
                     figure_text(result, "packets that leave by port %s", printed->name),
                     says_equal(printed->printed, printed->rounding, "%"), 100 * shares[port],
                     NULL);
    }
    topology_fini(&topology);
    return err;
}

const struct figure figure_nova_fig4 = {
    .name = "nova-fig4",
    .paper = "NovaCube",
    .what = "first hop of a packet under PORA, by the distances of the neighbours",
    .full = {"8x8 NovaCube", .seconds = 0.1},
    .quick = {"8x8 NovaCube", .seconds = 0.1},
    .choice = "PORA, the paper's routing algorithm, prefers neighbours that are closer to the "
              "destination. The paper's drawing gives the distances of the neighbours (4, 4, 6, 6 "
              "and 3 hops), but not the place of the destination: here it is 3 hops along x and 2 "
              "along y from the source, which gives these distances.",
    .plot.table = "first_hop",
    .plot.x = {.column = "distance",
               .label = "distance of the neighbour to the destination in hops",
               .step = 1},
    .plot.y = {.label = "% of packets"},
    .plot.series =
        {
            {"paper", "printed", NULL, NULL, STYLE_PAPER},
            {"PORA", "found", NULL, NULL, STYLE_POINTS},
        },
    .run = fig4_run,
};

/* --- nova-fig5 --- */

/* Computes the exact mean path of an algorithm between different nodes, under uniform traffic. */
static enum err mean_path(const char *algorithm, const char *spec, double *mean, struct why *why)
{
    struct topology topology;
    struct traffic traffic;
    struct router router;
    struct load load;
    enum err err = topology_build(&topology, spec, why);
    if (err)
        return err;
    err = traffic_all_to_all(&traffic, &topology, why);
    if (err)
        goto free_topology;
    err = router_open(&router, algorithm, &topology, NULL, why);
    if (err)
        goto free_traffic;
    err = load_find(&load, &router, &traffic, (struct observer){0}, why);
    if (!err) {
        *mean = load.mean_path;
        load_fini(&load);
    }
    router_close(&router);
free_traffic:
    traffic_fini(&traffic);
free_topology:
    topology_fini(&topology);
    return err;
}

/* What "very close to the theoretical analysis" is taken to mean: at most 5 % longer. */
#define FIG5_CLOSE 1.05

struct fig5_scores {
    struct score shorter;  /* PORA's mean path is shorter than DOR's on the torus */
    struct score diameter; /* NovaCube's diameter is shorter than that */
    struct score close;    /* PORA's mean path is within 5 % of the shortest */
};

static enum err fig5_case(struct figure_table *table, const struct figure_call *call, uint32_t k,
                          uint32_t n, struct fig5_scores *scores, struct why *why)
{
    char nova[SPEC_SIZE], torus[SPEC_SIZE];
    struct figure_distances shortest;
    double pora = NAN, around = NAN, dor = NAN;
    figure_cube_spec(nova, "novacube", k, n);
    figure_cube_spec(torus, "torus", k, n);
    enum err err = figure_measure_spec(call, nova, &shortest, why);
    if (!err)
        err = mean_path("pora", nova, &pora, why);
    if (!err)
        err = mean_path("pora-around", nova, &around, why);
    if (!err)
        err = mean_path("dor", torus, &dor, why);
    if (err)
        return err;
    score_add(&scores->shorter, pora < dor);
    score_add(&scores->diameter, shortest.diameter < dor);
    score_add(&scores->close, pora <= FIG5_CLOSE * shortest.mean);
    figure_row_numbers(table,
                       (double[]){k, n, pora, around, shortest.mean, dor, shortest.diameter});
    return OK;
}

static enum err fig5_run(struct figure_result *result, const struct figure_call *call,
                         struct why *why)
{
    static const uint32_t cases[][2] = {{4, 2}, {6, 2},  {8, 2},  {10, 2}, {4, 3}, /* quick */
                                        {6, 3}, {12, 2}, {14, 2}, {16, 2}, {8, 3}, {10, 3}};
    struct figure_table *table = figure_table_add(
        result, "mean_path",
        "k, n, pora (hops), pora_around (hops), optimum (hops), dor_torus (hops), diameter (hops)");
    struct fig5_scores scores = {0};
    size_t count = call->quick ? 5 : sizeof cases / sizeof *cases;
    for (size_t i = 0; i < count; i++) {
        enum err err = fig5_case(table, call, cases[i][0], cases[i][1], &scores, why);
        if (err)
            return err;
        figure_progress(call, i + 1, count);
    }
    score_claim(result, "section V.D", "PORA's mean path is shorter than DOR's on the torus",
                &scores.shorter, NULL);
    score_claim(result, "section V.D",
                "the longest path is shorter than DOR's mean path on the torus", &scores.diameter,
                NULL);
    score_claim(result, "section V.D", "PORA's mean path is within 5 % of the shortest",
                &scores.close, NULL);
    return OK;
}

const struct figure figure_nova_fig5 = {
    .name = "nova-fig5",
    .paper = "NovaCube",
    .what = "mean path of PORA on NovaCube and of dimension-order routing on the torus",
    .full = {"even k to 16 for n = 2, to 10 for n = 3", .seconds = 0.3},
    .quick = {"even k to 10 for n = 2, k = 4 for n = 3", .seconds = 0.1},
    .choice =
        "k is the number of nodes along every axis, n the number of axes; a case is one pair of "
        "them. PORA is the "
        "paper's routing algorithm, DOR is dimension-order routing. Means are exact, over all "
        "pairs of different nodes and all random choices. \"Very close to the theoretical "
        "analysis\" is taken as at most 5 % above the shortest paths (optimum). pora_around is "
        "PORA with another reading of the paper's \"quadrant\": a packet keeps the direction "
        "of its first hop, even if that is the long way round.",
    .shown = "k, n, pora, pora_around, optimum, dor_torus, diameter",
    .plot.table = "mean_path",
    .plot.x = {.column = "k", .label = "k", .step = 2},
    .plot.y = {.label = "mean path in hops"},
    .plot.series =
        {
            {"PORA on NovaCube, n = 2", "pora", "n", "2", STYLE_BOTH},
            {"shortest on NovaCube, n = 2", "optimum", "n", "2", STYLE_BOTH},
            {"DOR on the torus, n = 2", "dor_torus", "n", "2", STYLE_BOTH},
            {"PORA on NovaCube, n = 3", "pora", "n", "3", STYLE_BOTH},
            {"shortest on NovaCube, n = 3", "optimum", "n", "3", STYLE_BOTH},
            {"DOR on the torus, n = 3", "dor_torus", "n", "3", STYLE_BOTH},
        },
    .run = fig5_run,
};
