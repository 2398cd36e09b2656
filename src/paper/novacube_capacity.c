/* novacube_capacity: the figures of the NovaCube paper (novacube.c names it)
 * about the bisection, that is the cables between two halves, and about the
 * number of shortest paths between two nodes. */
#include <math.h>
#include <stdio.h>

#include "flow/bisection/bisection.h"
#include "paper/figures.h"
#include "paper/score.h"
#include "topology/measure/shortest_paths.h"

/* --- nova-eq4 --- */

/* "NovaCube effectively increases the bisection bandwidth by at least k/4 >= 25 %". */
struct eq4_scores {
    struct score quarter; /* by k/4: the smallest cut found allows it */
    struct score percent; /* by 25 %: proved by the lower bound */
};

static enum err eq4_case(struct figure_result *result, struct figure_table *table,
                         const struct figure_call *call, uint32_t k, uint32_t n,
                         struct eq4_scores *scores, struct why *why)
{
    char spec[SPEC_SIZE];
    struct topology topology;
    struct bisection bisection;
    figure_cube_spec(spec, "novacube", k, n);
    enum err err = topology_build(&topology, spec, why);
    if (err)
        return err;
    err = bisection_find(&bisection, &topology, call->seed, why);
    topology_fini(&topology);
    if (err)
        return err;
    double printed = pow(k, n) + 4 * pow(k, n - 1.0);
    double torus = 4 * pow(k, n - 1.0);
    double upper = 2.0 * (double)bisection.upper, lower = 2.0 * (double)bisection.lower;
    figure_claim(result, "eq 4",
                 figure_text(result, "k = %u, n = %u: smallest cut into halves (at least %.0f)", k,
                             n, lower),
                 says_equal(printed, 0, "channels"), upper, NULL);
    score_add(&scores->quarter, upper >= torus * (1 + k / 4.0));
    score_add(&scores->percent, lower >= torus * 1.25);
    char method[FIGURE_WORD_SIZE];
    snprintf(method, sizeof method, "%s", bisection.upper_method);
    figure_row(table,
               (struct figure_cell[]){figure_number(k), figure_number(n), figure_number(printed),
                                      figure_number(upper), figure_number(lower),
                                      figure_word(method), figure_number(torus)});
    bisection_fini(&bisection);
    return OK;
}

static enum err eq4_run(struct figure_result *result, const struct figure_call *call,
                        struct why *why)
{
    static const uint32_t cases[][2] = {{4, 2},  {6, 2}, {8, 2}, {10, 2}, {12, 2},
                                        {16, 2}, {4, 3}, {6, 3}, {8, 3}, /* quick until here */
                                        {10, 3}, {12, 3}};
    struct figure_table *table =
        figure_table_add(result, "bisection",
                         "k, n, printed (channels), best_cut (channels), "
                         "lower_bound (channels), found_by, torus (channels)");
    struct eq4_scores scores = {0};
    size_t count = call->quick ? 9 : sizeof cases / sizeof *cases;
    for (size_t i = 0; i < count; i++) {
        enum err err = eq4_case(result, table, call, cases[i][0], cases[i][1], &scores, why);
        if (err)
            return err;
        figure_progress(call, i + 1, count);
    }
    score_claim(result, "section IV.B.2", "by at least k/4 more channels than the torus",
                &scores.quarter, NULL);
    score_claim(result, "section IV.B.2", "at least 25 % more channels than the torus, proved",
                &scores.percent, NULL);
    return OK;
}

const struct figure figure_nova_eq4 = {
    .name = "nova-eq4",
    .paper = "NovaCube",
    .what = "channels between two halves, and the formula of equation 4, even k",
    .full = {"even k to 16 for n = 2, to 12 for n = 3", .seconds = 1},
    .quick = {"even k to 16 for n = 2, to 8 for n = 3", .seconds = 0.2},
    .choice =
        "k is the number of nodes along every axis, n the number of axes; a case is one pair of "
        "them. A cable "
        "has two channels, one in each direction. Weft's number is the smallest cut that a "
        "search found; \"at least\" is a proved lower bound. \"agrees\" means that the search "
        "found no smaller cut than the printed one.",
    .plot.table = "bisection",
    .plot.x = {.column = "k", .label = "k", .step = 2},
    .plot.y = {.label = "channels", .log = true},
    .plot.series =
        {
            {"eq 4, n = 2", "printed", "n", "2", STYLE_PAPER},
            {"smallest cut found, n = 2", "best_cut", "n", "2", STYLE_BOTH},
            {"lower bound, n = 2", "lower_bound", "n", "2", STYLE_BOTH},
            {"eq 4, n = 3", "printed", "n", "3", STYLE_PAPER},
            {"smallest cut found, n = 3", "best_cut", "n", "3", STYLE_BOTH},
            {"lower bound, n = 3", "lower_bound", "n", "3", STYLE_BOTH},
        },
    .run = eq4_run,
};

/* --- nova-eq8 --- */

static const uint32_t eq8_offset[3] = {3, 4, 5};

static double factorial(uint32_t number)
{
    double product = 1;
    for (uint32_t i = 2; i <= number; i++)
        product *= i;
    return product;
}

struct eq8_count {
    uint32_t distance;
    double paths;
};

static enum err eq8_case(struct figure_table *table, const char *kind, uint32_t k,
                         struct eq8_count *count, struct why *why)
{
    char spec[SPEC_SIZE];
    struct topology topology;
    struct shortest_paths paths;
    figure_cube_spec(spec, kind, k, 3);
    enum err err = topology_build(&topology, spec, why);
    if (err)
        return err;
    uint32_t to = topology_node_at(&topology, eq8_offset);
    err = shortest_paths_count(&paths, &topology.graph, 0, to, why);
    topology_fini(&topology);
    if (err)
        return err;
    *count = (struct eq8_count){.distance = paths.distance, .paths = (double)paths.count};
    figure_row_named(table, kind, (double[]){k, count->distance, count->paths});
    return OK;
}

static enum err eq8_run(struct figure_result *result, const struct figure_call *call,
                        struct why *why)
{
    enum { FIRST = 6, LAST = 18 };
    struct figure_table *table =
        figure_table_add(result, "paths", "network, k, distance (hops), shortest_paths");
    struct eq8_count torus[LAST + 1], nova[LAST + 1];
    for (uint32_t k = FIRST; k <= LAST; k++) {
        enum err err = eq8_case(table, "torus", k, &torus[k], why);
        if (!err)
            err = eq8_case(table, "novacube", k, &nova[k], why);
        if (err)
            return err;
        figure_progress(call, k - FIRST + 1, LAST - FIRST + 1);
    }
    double formula = factorial(12) / (factorial(3) * factorial(4) * factorial(5));
    figure_claim(result, "eq 8", "the formula at (3, 4, 5)", says_equal(27720, 0, "paths"), formula,
                 NULL);
    figure_claim_at(result, "eq 8", "torus, k = 11: the other way round is never as short",
                    says_equal(27720, 0, "paths"), torus[11].paths, 11, NULL);
    figure_claim_at(result, "eq 8", "torus, k = 10: 5 hops are half-way round the axis",
                    says_equal(27720, 0, "paths"), torus[10].paths, 10, NULL);
    figure_claim_at(result, "eq 8", "torus, k = 8: 5 hops one way are 3 the other way",
                    says_equal(27720, 0, "paths"), torus[8].paths, 8,
                    figure_text(result,
                                "on an axis of 8 nodes a difference of 5 is 3 hops the other way "
                                "round, and 4 is half-way: the distance is %u hops, not 12",
                                torus[8].distance));
    figure_claim_at(result, "section IV.B.4", "NovaCube, k = 12: more paths than the torus",
                    says_above(27720, "paths"), nova[12].paths, 12,
                    figure_text(result,
                                "over a jump cable the two nodes are %u hops apart instead of 12, "
                                "and there are fewer shortest paths; only if longer paths are "
                                "counted, there can be more",
                                nova[12].distance));
    return OK;
}

const struct figure figure_nova_eq8 = {
    .name = "nova-eq8",
    .paper = "NovaCube",
    .what = "number of shortest paths from (0, 0, 0) to (3, 4, 5)",
    .full = {"torus and NovaCube of three axes, k from 6 to 18", .seconds = 0.1},
    .quick = {"torus and NovaCube of three axes, k from 6 to 18", .seconds = 0.1},
    .choice = "k is the number of nodes along each of the three axes.",
    .plot.table = "paths",
    .plot.x = {.column = "k", .label = "k", .step = 2},
    .plot.y = {.label = "shortest paths to (3, 4, 5)", .log = true},
    .plot.series =
        {
            {"torus", "shortest_paths", "network", "torus", STYLE_BOTH},
            {"NovaCube", "shortest_paths", "network", "novacube", STYLE_BOTH},
        },
    .run = eq8_run,
};
