/* novacube_throughput: the figures of the NovaCube paper (novacube.c names it)
 * about throughput: under uniform traffic (the capacity), and under the worst
 * traffic.
 *
 * Throughput is the rate at which every node sends, in multiples of the rate of
 * a link. */
#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "flow/concurrent/concurrent.h"
#include "flow/matching/longest.h"
#include "flow/worst/capacity.h"
#include "flow/worst/worst.h"
#include "paper/figures.h"
#include "paper/score.h"

/* The relative gap between the lower and the upper bound of capacities and throughputs. */
#define GAP 0.002

static enum err capacity_of(const char *kind, uint32_t k, uint32_t n, struct capacity *capacity,
                            struct why *why)
{
    char spec[SPEC_SIZE];
    struct topology topology;
    figure_cube_spec(spec, kind, k, n);
    enum err err = topology_build(&topology, spec, why);
    if (err)
        return err;
    err = uniform_capacity(capacity, &topology, GAP, NULL, NULL, why);
    topology_fini(&topology);
    return err;
}

/* --- nova-eq7 --- */

struct eq7_scores {
    struct score bound;    /* the printed number is an upper bound */
    struct score attained; /* the best routing attains the printed number */
    struct score torus;    /* the capacity of the torus is 8/k */
    struct score better;   /* the capacity of NovaCube is larger than the torus's */
};

static enum err eq7_case(struct figure_table *table, uint32_t k, uint32_t n,
                         struct eq7_scores *scores, struct why *why)
{
    struct capacity nova, torus;
    enum err err = capacity_of("novacube", k, n, &nova, why);
    if (!err)
        err = capacity_of("torus", k, n, &torus, why);
    if (err)
        return err;
    double printed = (2.0 * k + 8) / k, torus_printed = 8.0 / k;
    score_add(&scores->bound, nova.upper <= printed * (1 + GAP));
    score_add(&scores->attained, nova.upper >= printed);
    score_add(&scores->torus, torus.lower <= torus_printed * (1 + 1e-9) &&
                                  torus_printed <= torus.upper * (1 + 1e-9));
    score_add(&scores->better, nova.lower > torus.upper);
    figure_row_numbers(table, (double[]){k, n, printed, nova.lower, nova.upper, torus_printed,
                                         torus.lower, torus.upper});
    return OK;
}

static enum err eq7_run(struct figure_result *result, const struct figure_call *call,
                        struct why *why)
{
    static const uint32_t cases[][2] = {{4, 2},  {6, 2},  {8, 2},  {10, 2}, {4, 3}, /* quick */
                                        {12, 2}, {14, 2}, {16, 2}, {6, 3},  {8, 3}};
    struct figure_table *table =
        figure_table_add(result, "capacity",
                         "k, n, printed (link rates), capacity_lower (link rates), "
                         "capacity_upper (link rates), torus_printed (link rates), "
                         "torus_lower (link rates), torus_upper (link rates)");
    struct eq7_scores scores = {0};
    size_t count = call->quick ? 5 : sizeof cases / sizeof *cases;
    for (size_t i = 0; i < count; i++) {
        enum err err = eq7_case(table, cases[i][0], cases[i][1], &scores, why);
        if (err)
            return err;
        figure_progress(call, i + 1, count);
    }
    score_claim(result, "eq 7", "the capacity is at most (2k + 8) / k (column printed)",
                &scores.bound, NULL);
    score_claim(result, "section IV.B.3", "the best routing attains (2k + 8) / k", &scores.attained,
                NULL);
    score_claim(result, "section IV.B.3", "the torus's capacity is 8 / k (column torus_printed)",
                &scores.torus, NULL);
    score_claim(result, "section IV.B.3", "NovaCube's capacity is larger than the torus's",
                &scores.better, NULL);
    return OK;
}

const struct figure figure_nova_eq7 = {
    .name = "nova-eq7",
    .paper = "NovaCube",
    .what = "throughput under uniform traffic, and the formula of equation 7, even k",
    .full = {"even k to 16 for n = 2, to 8 for n = 3", .seconds = 2},
    .quick = {"even k to 10 for n = 2, k = 4 for n = 3", .seconds = 0.2},
    .choice = "k is the number of nodes along every axis, n the number of axes. The capacity is "
              "the largest rate at which every node can send to all nodes alike, itself included, "
              "as in the textbook that the paper follows, with the best routing. It is computed as "
              "a lower and an upper bound (capacity_lower, capacity_upper), at most 0.2 % apart. A "
              "case is one pair of k and n, a line of the table below.",
    .shown =
        "k, n, printed, capacity_lower, capacity_upper, torus_printed, torus_lower, torus_upper",
    .plot.table = "capacity",
    .plot.x = {.column = "k", .label = "k", .step = 2},
    .plot.y = {.label = "rate of every node, in rates of a link"},
    .plot.series =
        {
            {"eq 7", "printed", "n", "2", STYLE_PAPER},
            {"NovaCube, n = 2", "capacity_lower", "n", "2", STYLE_BOTH},
            {"NovaCube, n = 3", "capacity_lower", "n", "3", STYLE_BOTH},
            {"torus, n = 2", "torus_lower", "n", "2", STYLE_BOTH},
        },
    .run = eq7_run,
};

/* --- nova-worst --- */

/* Bounds on the throughput of a NovaCube under the worst traffic, in rates of a link. */
struct worst_case {
    struct capacity capacity;
    double upper;   /* no routing has a higher throughput under the hardest permutation known */
    double pora;    /* exact worst case of PORA ... */
    double valiant; /* ... and of Valiant's algorithm on the torus cables */
};

/* Lowers the upper bound to what the best routing reaches under this traffic: the worst case of any
 * routing is at most that. */
static enum err limit_by(struct worst_case *found, const struct topology *topology,
                         const struct traffic *traffic, struct why *why)
{
    struct concurrent concurrent;
    struct concurrent_options options = {.gap = GAP};
    enum err err = concurrent_solve(&concurrent, topology, traffic, &options, why);
    if (err)
        return err;
    found->upper = fmin(found->upper, concurrent.upper);
    concurrent_fini(&concurrent);
    return OK;
}

static enum err limit_by_longest(struct worst_case *found, const struct topology *topology,
                                 struct why *why)
{
    struct traffic traffic;
    struct longest_matching matching;
    enum err err = longest_matching(&traffic, topology, &matching, why);
    if (err)
        return err;
    err = limit_by(found, topology, &traffic, why);
    traffic_fini(&traffic);
    return err;
}

/* Tries the permutation that is worst for one algorithm: it may be hard for all algorithms. */
static enum err limit_by_worst_of(struct worst_case *found, const struct topology *topology,
                                  const char *algorithm, double *throughput, struct why *why)
{
    struct router router;
    struct worst worst;
    struct traffic traffic;
    enum err err = router_open(&router, algorithm, topology, NULL, why);
    if (err)
        return err;
    err = worst_find(&worst, &router, (struct observer){0}, why);
    router_close(&router);
    if (err)
        return err;
    *throughput = 1 / worst.load;
    uint32_t nodes = topology->graph.node_count;
    struct demand *demands = array_new(nodes, sizeof *demands);
    for (uint32_t v = 0; demands && v < nodes; v++)
        demands[v] = (struct demand){v, worst.to[v], 1};
    worst_fini(&worst);
    err = traffic_make(&traffic, demands, nodes, why);
    if (err)
        return err;
    err = limit_by(found, topology, &traffic, why);
    traffic_fini(&traffic);
    return err;
}

static enum err worst_of(struct worst_case *found, uint32_t k, uint32_t n, struct why *why)
{
    char spec[SPEC_SIZE];
    struct topology topology;
    *found = (struct worst_case){.upper = INFINITY};
    figure_cube_spec(spec, "novacube", k, n);
    enum err err = topology_build(&topology, spec, why);
    if (err)
        return err;
    err = uniform_capacity(&found->capacity, &topology, GAP, NULL, NULL, why);
    if (!err)
        err = limit_by_longest(found, &topology, why);
    if (!err)
        err = limit_by_worst_of(found, &topology, "pora", &found->pora, why);
    if (!err)
        err = limit_by_worst_of(found, &topology, "valiant", &found->valiant, why);
    topology_fini(&topology);
    return err;
}

/* Valiant's routing sends each packet to a random node and on from there, both times
 * by the routing that is best for uniform traffic. Whatever the traffic, it loads no
 * channel more than twice as much as uniform traffic does. So every network attains
 * this share of its own capacity; it is a theorem, not a measurement. */
#define VALIANT_SHARE 50.0

/* The worst case of the best routing is between the two bounds. The claim agrees if
 * both are above the printed share, and differs if both are below. If the printed
 * share lies between them, nothing is decided. */
static void claim_share(struct figure_result *result, const char *what, double lower, double upper)
{
    const double printed = 62.5;
    double found = NAN;
    const char *reason = NULL;
    if (lower > printed) {
        found = lower;
    } else if (upper < printed) {
        found = upper;
        reason = "for one permutation no routing reaches a larger share";
    } else {
        reason = figure_text(result,
                             "not decided, at any size of the run: Valiant's routing attains "
                             "%.4g %%, and under the hardest permutation known the best routing "
                             "carries at most %.4g %%; the printed number lies between",
                             lower, upper);
    }
    figure_claim(result, "section IV.B.3", what, says_above(printed, "%"), found, reason);
}

static enum err worst_case(struct figure_result *result, struct figure_table *table, uint32_t k,
                           uint32_t n, struct why *why)
{
    struct worst_case found;
    enum err err = worst_of(&found, k, n, why);
    if (err)
        return err;
    double lower = VALIANT_SHARE / 100 * found.capacity.lower, torus = 8.0 / k;
    double own = capacity_middle(&found.capacity);
    double share_upper = 100 * found.upper / found.capacity.lower;
    figure_row_numbers(table, (double[]){k, n, own, lower, found.upper, share_upper,
                                         100 * lower / torus, 100 * found.upper / torus,
                                         100 * found.pora / own, 100 * found.valiant / own});
    claim_share(result, figure_text(result, "k = %u, n = %u: share of NovaCube's capacity", k, n),
                VALIANT_SHARE, share_upper);
    claim_share(result, figure_text(result, "k = %u, n = %u: share of the torus's capacity", k, n),
                100 * lower / torus, 100 * found.upper / torus);
    return OK;
}

static enum err worst_run(struct figure_result *result, const struct figure_call *call,
                          struct why *why)
{
    static const uint32_t cases[][2] = {{4, 2},  {6, 2},  {8, 2}, {4, 3}, /* quick */
                                        {10, 2}, {12, 2}, {6, 3}};
    struct figure_table *table =
        figure_table_add(result, "worst",
                         "k, n, capacity (link rates), best_lower (link rates), "
                         "best_upper (link rates), own_upper (%), torus_lower (%), "
                         "torus_upper (%), pora (%), valiant (%)");
    size_t count = call->quick ? 4 : sizeof cases / sizeof *cases;
    for (size_t i = 0; i < count; i++) {
        enum err err = worst_case(result, table, cases[i][0], cases[i][1], why);
        if (err)
            return err;
        figure_progress(call, i + 1, count);
    }
    return OK;
}

const struct figure figure_nova_worst = {
    .name = "nova-worst",
    .paper = "NovaCube",
    .what = "throughput under the worst permutation, as a share of the capacity",
    .full = {"even k to 12 for n = 2, to 6 for n = 3", .seconds = 5},
    .quick = {"even k to 8 for n = 2, k = 4 for n = 3", .seconds = 0.5},
    .choice =
        "k is the number of nodes along every axis, n the number of axes. A permutation lets "
        "every node send to one other; the capacity is the throughput under uniform traffic "
        "(nova-eq7). The paper raises the 50 % that Valiant's routing guarantees by the 25 % of "
        "its equation 4, at k = 1: that is a share of the torus's capacity, 8 / k. As a share of "
        "NovaCube's own capacity it is another claim, so both are checked. The worst case of the "
        "best routing lies between a lower bound (best_lower, by Valiant's routing) and an upper "
        "bound (best_upper, by permutations that no routing carries better). If the printed share "
        "lies between the two, the claim is not decided.",
    .shown = "k, n, capacity, best_lower, best_upper, own_upper, torus_lower, torus_upper, pora, "
             "valiant",
    .plot.table = "worst",
    .plot.x = {.column = "k", .label = "k", .step = 2},
    .plot.y = {.label = "% of NovaCube's capacity"},
    .plot.series =
        {
            {"best routing, at most, n = 2", "own_upper", "n", "2", STYLE_BOTH},
            {"Valiant on the torus cables, n = 2", "valiant", "n", "2", STYLE_BOTH},
            {"PORA, n = 2", "pora", "n", "2", STYLE_BOTH},
        },
    .run = worst_run,
};
