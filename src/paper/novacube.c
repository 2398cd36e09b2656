/* novacube: figures of Wang, Su, Xia, Qin, Hamdi, "NovaCube: A Low Latency
 * Torus-Based Network Architecture for Data Centers", about its construction and
 * its path lengths. The figures about bisection and numbers of paths are in
 * novacube_capacity.c.
 *
 * k is the size of every axis and n the number of axes, as in the paper. A
 * NovaCube is a torus in which each node also has a jump cable to the node
 * farthest from it; if k is odd, only the nodes of a sub-cube of side k - 1 have
 * one. */
#include <math.h>

#include "paper/figures.h"
#include "paper/score.h"

#define N_MAX 3 /* axes, in the sweeps over all k and n */

static uint64_t power(uint64_t base, uint32_t exponent)
{
    uint64_t product = 1;
    while (exponent-- > 0)
        product *= base;
    return product;
}

/* --- nova-build --- */

struct build_count {
    uint32_t degree_min, degree_max;
    uint64_t jump_links; /* jump cables */
    uint64_t plain;      /* nodes without a jump cable */
};

static void build_measure(const struct graph *graph, uint32_t n, struct build_count *count)
{
    *count = (struct build_count){.degree_min = UINT32_MAX, .plain = graph->node_count};
    for (uint32_t node = 0; node < graph->node_count; node++) {
        uint32_t degree = graph_degree(graph, node);
        count->degree_min = degree < count->degree_min ? degree : count->degree_min;
        count->degree_max = degree > count->degree_max ? degree : count->degree_max;
    }
    for (uint32_t link = 0; link < graph->link_count; link++)
        count->jump_links += graph->links[link].a_port == 2 * n;
    count->plain -= 2 * count->jump_links;
}

struct build_scores {
    struct score degree, degree_two, links_even, links_odd, printed, derived;
};

static enum err build_case(struct figure_table *table, uint32_t k, uint32_t n,
                           struct build_scores *scores, struct why *why)
{
    char spec[SPEC_SIZE];
    struct topology topology;
    struct build_count count;
    figure_cube_spec(spec, "novacube", k, n);
    enum err err = topology_build(&topology, spec, why);
    if (err)
        return err;
    build_measure(&topology.graph, n, &count);
    bool odd = k & 1;
    double printed = pow(n, k) - pow(n, k - 1.0);
    uint64_t derived = power(k, n) - power(k - 1, n);
    if (odd) {
        score_add(&scores->links_odd, 2 * count.jump_links == power(k - 1, n));
        score_add(&scores->printed, printed == (double)count.plain);
        score_add(&scores->derived, derived == count.plain);
    } else {
        bool degree = count.degree_min == 2 * n + 1 && count.degree_max == 2 * n + 1;
        score_add(k == 2 ? &scores->degree_two : &scores->degree, degree);
        score_add(&scores->links_even, 2 * count.jump_links == power(k, n));
    }
    figure_row_numbers(table, (double[]){k, n, topology.graph.node_count, count.degree_min,
                                         count.degree_max, count.jump_links, count.plain,
                                         odd ? printed : NAN, odd ? (double)derived : NAN});
    topology_fini(&topology);
    return OK;
}

static enum err build_run(struct figure_result *result, const struct figure_call *call,
                          struct why *why)
{
    struct figure_table *table =
        figure_table_add(result, "build",
                         "k, n, nodes, degree_min, degree_max, jump_links, plain_nodes, "
                         "plain_printed, plain_derived");
    struct build_scores scores = {0};
    uint32_t last = call->quick ? 8 : 16;
    for (uint32_t k = 2; k <= last; k++) {
        for (uint32_t n = 1; n <= N_MAX; n++) {
            enum err err = build_case(table, k, n, &scores, why);
            if (err)
                return err;
        }
        figure_progress(call, k, last);
    }
    score_claim(result, "section IV.A", "even k from 4: every node has 2n + 1 cables",
                &scores.degree, NULL);
    score_claim(result, "section IV.A", "k = 2: every node has 2n + 1 cables", &scores.degree_two,
                NULL);
    score_claim(result, "section IV.A", "even k: k^n / 2 jump cables", &scores.links_even, NULL);
    score_claim(result, "section IV.A", "odd k: (k-1)^n / 2 jump cables", &scores.links_odd, NULL);
    score_claim(result, "section IV.A", "odd k: n^k - n^(k-1) nodes without a jump cable",
                &scores.printed,
                figure_text(result,
                            "k^n - (k-1)^n, the number of nodes outside the sub-cube of side "
                            "k - 1, holds in %u of %u cases",
                            scores.derived.held, scores.derived.cases));
    return OK;
}

const struct figure figure_nova_build = {
    .name = "nova-build",
    .paper = "NovaCube",
    .what = "cables of a node, jump cables, and nodes without a jump cable",
    .full = {"k from 2 to 16, n from 1 to 3", .seconds = 0.1},
    .quick = {"k from 2 to 8, n from 1 to 3", .seconds = 0.1},
    .choice =
        "k is the number of nodes along every axis, n the number of axes; a case is one pair of "
        "them. A jump "
        "cable leads to the node that is farthest away in the torus; if k is odd, only the "
        "nodes of a sub-cube of side k - 1 have one.",
    .plot.table = "build",
    .plot.x = {.column = "k", .label = "k", .step = 2},
    .plot.y = {.label = "jump cables, and nodes without one", .log = true},
    .plot.series =
        {
            {"jump cables, n = 1", "jump_links", "n", "1", STYLE_BOTH},
            {"jump cables, n = 2", "jump_links", "n", "2", STYLE_BOTH},
            {"jump cables, n = 3", "jump_links", "n", "3", STYLE_BOTH},
            {"nodes without, n = 3", "plain_nodes", "n", "3", STYLE_POINTS},
            {"as printed, n = 3", "plain_printed", "n", "3", STYLE_PAPER},
        },
    .run = build_run,
};

/* --- nova-eq3 --- */

static uint32_t eq3_printed(uint32_t k, uint32_t n)
{
    return (k / 2 * n + 1) / 2;
}

struct eq3_scores {
    struct score even, odd;
    uint32_t worst_k, worst_n, worst_diameter, worst_printed; /* odd k with the most difference */
};

static enum err eq3_case(struct figure_table *table, const struct figure_call *call, uint32_t k,
                         uint32_t n, struct eq3_scores *scores, struct why *why)
{
    char spec[SPEC_SIZE];
    struct figure_distances found;
    figure_cube_spec(spec, "novacube", k, n);
    enum err err = figure_measure_spec(call, spec, &found, why);
    if (err)
        return err;
    uint32_t printed = eq3_printed(k, n), torus = k / 2 * n;
    bool odd = k & 1;
    score_add(odd ? &scores->odd : &scores->even, found.diameter == printed);
    double difference = (double)found.diameter - printed;
    if (odd && difference > (double)scores->worst_diameter - scores->worst_printed) {
        scores->worst_k = k, scores->worst_n = n;
        scores->worst_diameter = found.diameter, scores->worst_printed = printed;
    }
    figure_row(table, (struct figure_cell[]){figure_number(k), figure_number(n),
                                             figure_word(odd ? "odd" : "even"),
                                             figure_number(printed), figure_number(found.diameter),
                                             figure_number(difference), figure_number(torus)});
    return OK;
}

static enum err eq3_run(struct figure_result *result, const struct figure_call *call,
                        struct why *why)
{
    struct figure_table *table = figure_table_add(
        result, "diameter",
        "k, n, parity, printed (hops), diameter (hops), difference (hops), torus_diameter (hops)");
    struct eq3_scores scores = {0};
    uint32_t last = call->quick ? 9 : 16, cases = 0;
    for (uint32_t n = 1; n <= N_MAX; n++) {
        for (uint32_t k = 2; k <= last; k++) {
            enum err err = eq3_case(table, call, k, n, &scores, why);
            if (err)
                return err;
            figure_progress(call, ++cases, (uint64_t)N_MAX * (last - 1));
        }
    }
    score_claim(result, "eq 3", "even k: the diameter is ceil(floor(k/2) n / 2)", &scores.even,
                NULL);
    score_claim(
        result, "eq 3", "odd k: the diameter is ceil(floor(k/2) n / 2)", &scores.odd,
        figure_text(result, "the largest difference is at k = %u, n = %u: %u hops instead of %u",
                    scores.worst_k, scores.worst_n, scores.worst_diameter, scores.worst_printed));
    return OK;
}

const struct figure figure_nova_eq3 = {
    .name = "nova-eq3",
    .paper = "NovaCube",
    .what = "longest path, and the formula of equation 3",
    .full = {"k from 2 to 16, n from 1 to 3, all pairs of nodes", .seconds = 0.1},
    .quick = {"k from 2 to 9, n from 1 to 3, all pairs of nodes", .seconds = 0.1},
    .choice =
        "k is the number of nodes along every axis, n the number of axes; a case is one pair of "
        "them. The diameter "
        "is the longest of the shortest paths between two nodes.",
    .plot.table = "diameter",
    .plot.x = {.column = "k", .label = "k", .step = 2},
    .plot.y = {.label = "diameter (hops)"},
    .plot.series =
        {
            {"n = 1", "diameter", "n", "1", STYLE_BOTH},
            {"n = 2", "diameter", "n", "2", STYLE_BOTH},
            {"n = 3", "diameter", "n", "3", STYLE_BOTH},
            {"eq 3, n = 1", "printed", "n", "1", STYLE_PAPER},
            {"eq 3, n = 2", "printed", "n", "2", STYLE_PAPER},
            {"eq 3, n = 3", "printed", "n", "3", STYLE_PAPER},
        },
    .run = eq3_run,
};

/* --- nova-eq10 --- */

static double eq10_printed(double k)
{
    return (k * k * k / 3 + k * k / 2 - 4 * k / 3 + 1) / (k * k - 1);
}

static void eq10_claim(struct figure_result *result, uint32_t k, double paper, double found)
{
    figure_claim(result, "eq 10",
                 figure_text(result, "k = %u: mean path between different nodes", k),
                 says_equal(paper, 0.00005, "hops"), found, NULL);
}

static enum err eq10_run(struct figure_result *result, const struct figure_call *call,
                         struct why *why)
{
    struct figure_table *table = figure_table_add(
        result, "mean", "k, printed (hops), mean_path (hops), torus_mean_path (hops)");
    struct score score = {0};
    uint32_t last = call->quick ? 16 : 32;
    double nova_slope = NAN, torus_slope = NAN, nova_mean = NAN, torus_mean = NAN;
    for (uint32_t k = 2; k <= last; k += 2) {
        char spec[SPEC_SIZE];
        struct figure_distances nova, torus;
        figure_cube_spec(spec, "novacube", k, 2);
        enum err err = figure_measure_spec(call, spec, &nova, why);
        figure_cube_spec(spec, "torus", k, 2);
        if (!err)
            err = figure_measure_spec(call, spec, &torus, why);
        if (err)
            return err;
        double printed = eq10_printed(k);
        score_add(&score, fabs(printed - nova.mean) < 1e-9);
        figure_row_numbers(table, (double[]){k, printed, nova.mean, torus.mean});
        if (k == 4)
            eq10_claim(result, k, 1.6667, nova.mean);
        if (k == 8)
            eq10_claim(result, k, 3.0635, nova.mean);
        nova_slope = (nova.mean - nova_mean) / 2, nova_mean = nova.mean;
        torus_slope = (torus.mean - torus_mean) / 2, torus_mean = torus.mean;
        figure_progress(call, k, last);
    }
    score_claim(result, "eq 10", "every even k: the formula gives the mean path", &score, NULL);
    figure_claim(result, "section IV.B.5",
                 figure_text(result, "growth of the mean path with k, at k = %u, in hops", last),
                 says_equal(1 / 3.0, 0.005, NULL), nova_slope, NULL);
    figure_claim(result, "section IV.B.5", "the same for the torus", says_equal(0.5, 0.005, NULL),
                 torus_slope, NULL);
    return OK;
}

const struct figure figure_nova_eq10 = {
    .name = "nova-eq10",
    .paper = "NovaCube",
    .what = "mean path of two axes, and the formula of equation 10",
    .full = {"even k to 32, all pairs of nodes", .seconds = 0.1},
    .quick = {"even k to 16, all pairs of nodes", .seconds = 0.1},
    .choice = "k is the number of nodes along each of the two axes; a case is one k.",
    .plot.table = "mean",
    .plot.x = {.column = "k", .label = "k", .step = 2},
    .plot.y = {.label = "mean path (hops)"},
    .plot.series =
        {
            {"NovaCube, measured", "mean_path", NULL, NULL, STYLE_BOTH},
            {"NovaCube, eq 10", "printed", NULL, NULL, STYLE_PAPER},
            {"torus, measured", "torus_mean_path", NULL, NULL, STYLE_BOTH},
        },
    .run = eq10_run,
};
