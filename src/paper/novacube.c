/* novacube: figures of Wang, Su, Xia, Qin, Hamdi, "NovaCube: A Low Latency
 * Torus-Based Network Architecture for Data Centers".
 *
 * k is the size of every axis and n their number, as in the paper. */
#include "topology/generate/novacube.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow/bisection/bisection.h"
#include "paper/figures.h"
#include "topology/measure/shortest_paths.h"

#define N_MAX 3 /* axes, in the sweeps over all k and n */

static uint64_t power(uint64_t base, uint32_t exponent)
{
    uint64_t product = 1;
    while (exponent-- > 0)
        product *= base;
    return product;
}

/* "novacube:4x4x4" */
static void cube_spec(char spec[SPEC_SIZE], const char *kind, uint32_t k, uint32_t n)
{
    int used = snprintf(spec, SPEC_SIZE, "%s:%u", kind, k);
    for (uint32_t axis = 1; axis < n; axis++)
        used += snprintf(spec + used, SPEC_SIZE - (size_t)used, "x%u", k);
}

/* How often something held, of how many cases. */
struct score {
    uint32_t cases;
    uint32_t held;
};

static void score_add(struct score *score, bool holds)
{
    score->cases++;
    score->held += holds;
}

/* A claim about all cases of a sweep; `reason` if it fails in one. */
static void score_claim(struct figure_result *result, const char *where, const char *what,
                        const struct score *score, const char *reason)
{
    struct claim claim = {.unit = "cases", .paper = score->cases, .found = score->held};
    snprintf(claim.where, sizeof claim.where, "%s", where);
    snprintf(claim.what, sizeof claim.what, "%s", what);
    snprintf(claim.reason, sizeof claim.reason, "%s", reason);
    figure_claim(result, claim);
}

/* --- nova-build --- */

static const struct figure_column build_columns[] = {
    {"k", ""},
    {"n", ""},
    {"nodes", ""},
    {"degree_min", ""},
    {"degree_max", ""},
    {"jump_links", ""},
    {"plain_nodes", ""},
    {"plain_printed", ""},
    {"plain_derived", ""},
    {0},
};

struct build_count {
    uint32_t degree_min, degree_max;
    uint64_t jump_links; /* cables at the jump port */
    uint64_t plain;      /* nodes without one */
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

static enum err build_case(struct figure_result *result, struct figure_table *table, uint32_t k,
                           uint32_t n, struct build_scores *scores, struct why *why)
{
    char spec[SPEC_SIZE];
    struct topology topology;
    struct build_count count;
    cube_spec(spec, "novacube", k, n);
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
    figure_row(result, table,
               (struct figure_cell[]){
                   figure_number(k), figure_number(n), figure_number(topology.graph.node_count),
                   figure_number(count.degree_min), figure_number(count.degree_max),
                   figure_number((double)count.jump_links), figure_number((double)count.plain),
                   figure_number(odd ? printed : NAN), figure_number(odd ? (double)derived : NAN)});
    topology_fini(&topology);
    return OK;
}

static enum err build_run(struct figure_result *result, const struct figure_call *call,
                          struct why *why)
{
    struct figure_table *table = figure_table_add(result, "build", build_columns);
    struct build_scores scores = {0};
    uint32_t last = call->quick ? 8 : 16;
    for (uint32_t k = 2; k <= last; k++) {
        for (uint32_t n = 1; n <= N_MAX; n++) {
            enum err err = build_case(result, table, k, n, &scores, why);
            if (err)
                return err;
        }
        figure_progress(call, k, last);
    }
    char reason[320];
    score_claim(result, "section IV.A", "even k from 4: every node has 2n + 1 cables",
                &scores.degree, "some node has another number of cables");
    score_claim(result, "section IV.A", "k = 2: every node has 2n + 1 cables", &scores.degree_two,
                "the two nodes of an axis of 2 are joined by one cable, not by two, so that a "
                "node has n + 1");
    score_claim(result, "section IV.A", "even k: k^n / 2 jump cables", &scores.links_even,
                "some NovaCube has another number of jump cables");
    score_claim(result, "section IV.A", "odd k: (k-1)^n / 2 jump cables", &scores.links_odd,
                "some NovaCube has another number of jump cables");
    snprintf(reason, sizeof reason,
             "a misprint: the nodes outside the sub-cube of k - 1 number k^n - (k-1)^n, which "
             "holds in %u of %u cases",
             scores.derived.held, scores.derived.cases);
    score_claim(result, "section IV.A", "odd k: n^k - n^(k-1) nodes without a jump cable",
                &scores.printed, reason);
    return OK;
}

static const struct figure_series build_series[] = {
    {"n = 1", "k", "jump_links", "n", "1", STYLE_BOTH},
    {"n = 2", "k", "jump_links", "n", "2", STYLE_BOTH},
    {"n = 3", "k", "jump_links", "n", "3", STYLE_BOTH},
    {0},
};

static const struct figure_plot build_plot = {
    .table = "build",
    .x_label = "k",
    .y_label = "jump cables",
    .log_y = true,
    .series = build_series,
};

const struct figure figure_nova_build = {
    .name = "nova-build",
    .paper = "NovaCube",
    .what = "degree, jump cables and plain nodes",
    .size = "k from 2 to 16, n from 1 to 3",
    .size_quick = "k from 2 to 8, n from 1 to 3",
    .seconds = 0.1,
    .seconds_quick = 0.1,
    .plot = &build_plot,
    .run = build_run,
};

/* --- nova-eq3 --- */

static const struct figure_column eq3_columns[] = {
    {"k", ""},
    {"n", ""},
    {"parity", ""},
    {"printed", "hops"},
    {"diameter", "hops"},
    {"difference", "hops"},
    {"torus_diameter", "hops"},
    {0},
};

static uint32_t eq3_printed(uint32_t k, uint32_t n)
{
    return (k / 2 * n + 1) / 2;
}

struct eq3_scores {
    struct score even, odd;
    uint32_t worst_k, worst_n, worst_diameter, worst_printed; /* largest difference, odd k */
};

static enum err eq3_case(struct figure_result *result, struct figure_table *table,
                         const struct figure_call *call, uint32_t k, uint32_t n,
                         struct eq3_scores *scores, struct why *why)
{
    char spec[SPEC_SIZE];
    struct figure_distances found;
    cube_spec(spec, "novacube", k, n);
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
    figure_row(result, table,
               (struct figure_cell[]){figure_number(k), figure_number(n),
                                      figure_word(odd ? "odd" : "even"), figure_number(printed),
                                      figure_number(found.diameter), figure_number(difference),
                                      figure_number(torus)});
    return OK;
}

static enum err eq3_run(struct figure_result *result, const struct figure_call *call,
                        struct why *why)
{
    struct figure_table *table = figure_table_add(result, "diameter", eq3_columns);
    struct eq3_scores scores = {0};
    uint32_t last = call->quick ? 9 : 16, cases = 0;
    for (uint32_t n = 1; n <= N_MAX; n++) {
        for (uint32_t k = 2; k <= last; k++) {
            enum err err = eq3_case(result, table, call, k, n, &scores, why);
            if (err)
                return err;
            figure_progress(call, ++cases, (uint64_t)N_MAX * (last - 1));
        }
    }
    char reason[320];
    score_claim(result, "eq 3", "even k: the diameter is ceil(floor(k/2) n / 2)", &scores.even,
                "some NovaCube of even k has another diameter");
    snprintf(reason, sizeof reason,
             "the proof pairs every node with a farthest one, but for odd k the nodes with a "
             "coordinate k - 1 have no jump cable and must first leave their plane; worst is "
             "k = %u, n = %u: %u hops against %u",
             scores.worst_k, scores.worst_n, scores.worst_diameter, scores.worst_printed);
    score_claim(result, "eq 3", "odd k: the diameter is ceil(floor(k/2) n / 2)", &scores.odd,
                reason);
    return OK;
}

static const struct figure_series eq3_series[] = {
    {"n = 1", "k", "diameter", "n", "1", STYLE_BOTH},
    {"n = 2", "k", "diameter", "n", "2", STYLE_BOTH},
    {"n = 3", "k", "diameter", "n", "3", STYLE_BOTH},
    {"eq 3, n = 1", "k", "printed", "n", "1", STYLE_POINTS},
    {"eq 3, n = 2", "k", "printed", "n", "2", STYLE_POINTS},
    {"eq 3, n = 3", "k", "printed", "n", "3", STYLE_POINTS},
    {0},
};

static const struct figure_plot eq3_plot = {
    .table = "diameter",
    .x_label = "k",
    .y_label = "diameter (hops)",
    .series = eq3_series,
};

const struct figure figure_nova_eq3 = {
    .name = "nova-eq3",
    .paper = "NovaCube",
    .what = "the diameter against equation 3, even and odd k",
    .size = "k from 2 to 16, n from 1 to 3, all pairs of nodes",
    .size_quick = "k from 2 to 9, n from 1 to 3, all pairs of nodes",
    .seconds = 0.1,
    .seconds_quick = 0.1,
    .plot = &eq3_plot,
    .run = eq3_run,
};

/* --- nova-eq4 --- */

static const struct figure_column eq4_columns[] = {
    {"k", ""},
    {"n", ""},
    {"printed", "channels"},
    {"best_cut", "channels"},
    {"lower_bound", "channels"},
    {"found_by", ""},
    {"torus", "channels"},
    {0},
};

static enum err eq4_case(struct figure_result *result, struct figure_table *table,
                         const struct figure_call *call, uint32_t k, uint32_t n, struct why *why)
{
    char spec[SPEC_SIZE];
    struct topology topology;
    struct bisection bisection;
    cube_spec(spec, "novacube", k, n);
    enum err err = topology_build(&topology, spec, why);
    if (err)
        return err;
    err = bisection_find(&bisection, &topology, call->seed, why);
    topology_fini(&topology);
    if (err)
        return err;
    double printed = (double)(power(k, n) + 4 * power(k, n - 1));
    double upper = 2.0 * (double)bisection.upper, lower = 2.0 * (double)bisection.lower;
    struct claim claim = {
        .where = "eq 4", .unit = "channels", .paper = printed, .found = upper, .tolerance = 0};
    snprintf(claim.what, sizeof claim.what, "k = %u, n = %u: the smallest halving, at least %.0f",
             k, n, lower);
    snprintf(claim.reason, sizeof claim.reason,
             "the printed number is that of a plane across one axis, which parts every jump "
             "cable; a halving that parts fewer channels was found");
    figure_claim(result, claim);
    char method[FIGURE_WORD_SIZE];
    snprintf(method, sizeof method, "%s", bisection.upper_method);
    figure_row(result, table,
               (struct figure_cell[]){figure_number(k), figure_number(n), figure_number(printed),
                                      figure_number(upper), figure_number(lower),
                                      figure_word(method),
                                      figure_number(4.0 * (double)power(k, n - 1))});
    bisection_fini(&bisection);
    return OK;
}

static enum err eq4_run(struct figure_result *result, const struct figure_call *call,
                        struct why *why)
{
    static const uint32_t cases[][2] = {{4, 2},  {6, 2}, {8, 2}, {10, 2}, {12, 2},
                                        {16, 2}, {4, 3}, {6, 3}, {8, 3}, /* quick until here */
                                        {10, 3}, {12, 3}};
    struct figure_table *table = figure_table_add(result, "bisection", eq4_columns);
    size_t count = call->quick ? 9 : sizeof cases / sizeof *cases;
    for (size_t i = 0; i < count; i++) {
        enum err err = eq4_case(result, table, call, cases[i][0], cases[i][1], why);
        if (err)
            return err;
        figure_progress(call, i + 1, count);
    }
    return OK;
}

static const struct figure_series eq4_series[] = {
    {"eq 4, n = 2", "k", "printed", "n", "2", STYLE_POINTS},
    {"best cut found, n = 2", "k", "best_cut", "n", "2", STYLE_BOTH},
    {"lower bound, n = 2", "k", "lower_bound", "n", "2", STYLE_BOTH},
    {"eq 4, n = 3", "k", "printed", "n", "3", STYLE_POINTS},
    {"best cut found, n = 3", "k", "best_cut", "n", "3", STYLE_BOTH},
    {"lower bound, n = 3", "k", "lower_bound", "n", "3", STYLE_BOTH},
    {0},
};

static const struct figure_plot eq4_plot = {
    .table = "bisection",
    .x_label = "k",
    .y_label = "channels",
    .log_y = true,
    .series = eq4_series,
};

const struct figure figure_nova_eq4 = {
    .name = "nova-eq4",
    .paper = "NovaCube",
    .what = "the bisection against equation 4, even k",
    .size = "even k to 16 for n = 2, to 12 for n = 3",
    .size_quick = "even k to 16 for n = 2, to 8 for n = 3",
    .seconds = 1,
    .seconds_quick = 0.2,
    .choice = "A cable is two channels. \"At least\" is proved; \"agrees\" means that the search "
              "found no smaller cut than the printed one.",
    .plot = &eq4_plot,
    .run = eq4_run,
};

/* --- nova-eq8 --- */

static const struct figure_column eq8_columns[] = {
    {"network", ""}, {"k", ""}, {"distance", "hops"}, {"shortest_paths", ""}, {0},
};

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

static enum err eq8_case(struct figure_result *result, struct figure_table *table, const char *kind,
                         uint32_t k, struct eq8_count *count, struct why *why)
{
    char spec[SPEC_SIZE];
    struct topology topology;
    struct shortest_paths paths;
    cube_spec(spec, kind, k, 3);
    enum err err = topology_build(&topology, spec, why);
    if (err)
        return err;
    uint32_t to = topology_node_at(&topology, eq8_offset);
    err = shortest_paths_count(&paths, &topology.graph, 0, to, why);
    topology_fini(&topology);
    if (err)
        return err;
    *count = (struct eq8_count){.distance = paths.distance, .paths = (double)paths.count};
    figure_row(result, table,
               (struct figure_cell[]){figure_word(kind), figure_number(k),
                                      figure_number(count->distance), figure_number(count->paths)});
    return OK;
}

static enum err eq8_run(struct figure_result *result, const struct figure_call *call,
                        struct why *why)
{
    enum { FIRST = 6, LAST = 18 };
    struct figure_table *table = figure_table_add(result, "paths", eq8_columns);
    struct eq8_count torus[LAST + 1], nova[LAST + 1];
    for (uint32_t k = FIRST; k <= LAST; k++) {
        enum err err = eq8_case(result, table, "torus", k, &torus[k], why);
        if (!err)
            err = eq8_case(result, table, "novacube", k, &nova[k], why);
        if (err)
            return err;
        figure_progress(call, k - FIRST + 1, LAST - FIRST + 1);
    }
    double formula = factorial(12) / (factorial(3) * factorial(4) * factorial(5));
    struct claim claim = {.where = "eq 8", .unit = "paths", .paper = 27720};

    snprintf(claim.what, sizeof claim.what, "the formula at (3, 4, 5)");
    snprintf(claim.reason, sizeof claim.reason, "12! / (3! 4! 5!) is another number");
    claim.found = formula;
    figure_claim(result, claim);

    snprintf(claim.what, sizeof claim.what, "torus of k = 11, no way round is as short");
    snprintf(claim.reason, sizeof claim.reason, "counted in the network");
    claim.found = torus[11].paths;
    figure_claim(result, claim);

    snprintf(claim.what, sizeof claim.what, "torus of k = 10, where 5 is half-way round");
    snprintf(claim.reason, sizeof claim.reason,
             "an axis crossed by exactly k/2 can be crossed both ways, which equation 8 does not "
             "count");
    claim.found = torus[10].paths;
    figure_claim(result, claim);

    snprintf(claim.what, sizeof claim.what, "torus of k = 8, where 5 is 3 the other way");
    snprintf(claim.reason, sizeof claim.reason,
             "|a - b| = 5 is 3 hops round an axis of 8, and 4 is half-way: the distance is %u, "
             "not 12",
             torus[8].distance);
    claim.found = torus[8].paths;
    figure_claim(result, claim);

    claim.relation = RELATION_ABOVE;
    snprintf(claim.where, sizeof claim.where, "section IV.B.4");
    snprintf(claim.what, sizeof claim.what, "NovaCube of k = 12: more paths than in the torus");
    snprintf(claim.reason, sizeof claim.reason,
             "over a jump the two are %u hops apart instead of 12, and of the shortest paths there "
             "are fewer; only with longer ones can they be more",
             nova[12].distance);
    claim.found = nova[12].paths;
    figure_claim(result, claim);
    return OK;
}

static const struct figure_series eq8_series[] = {
    {"torus", "k", "shortest_paths", "network", "torus", STYLE_BOTH},
    {"NovaCube", "k", "shortest_paths", "network", "novacube", STYLE_BOTH},
    {0},
};

static const struct figure_plot eq8_plot = {
    .table = "paths",
    .x_label = "k",
    .y_label = "shortest paths to (3, 4, 5)",
    .log_y = true,
    .series = eq8_series,
};

const struct figure figure_nova_eq8 = {
    .name = "nova-eq8",
    .paper = "NovaCube",
    .what = "the number of shortest paths to (3, 4, 5)",
    .size = "torus and NovaCube of n = 3, k from 6 to 18",
    .size_quick = "torus and NovaCube of n = 3, k from 6 to 18",
    .seconds = 0.1,
    .seconds_quick = 0.1,
    .plot = &eq8_plot,
    .run = eq8_run,
};

/* --- nova-eq10 --- */

static const struct figure_column eq10_columns[] = {
    {"k", ""}, {"printed", "hops"}, {"mean_path", "hops"}, {"torus_mean_path", "hops"}, {0},
};

static double eq10_printed(double k)
{
    return (k * k * k / 3 + k * k / 2 - 4 * k / 3 + 1) / (k * k - 1);
}

static void eq10_claim(struct figure_result *result, uint32_t k, double paper, double found)
{
    struct claim claim = {
        .where = "eq 10", .unit = "hops", .paper = paper, .found = found, .tolerance = 0.00005};
    snprintf(claim.what, sizeof claim.what, "k = %u: mean path, a node itself left out", k);
    snprintf(claim.reason, sizeof claim.reason, "measured over all pairs of nodes");
    figure_claim(result, claim);
}

static enum err eq10_run(struct figure_result *result, const struct figure_call *call,
                         struct why *why)
{
    struct figure_table *table = figure_table_add(result, "mean", eq10_columns);
    struct score score = {0};
    uint32_t last = call->quick ? 16 : 32;
    double nova_slope = NAN, torus_slope = NAN, nova_mean = NAN, torus_mean = NAN;
    for (uint32_t k = 2; k <= last; k += 2) {
        char spec[SPEC_SIZE];
        struct figure_distances nova, torus;
        cube_spec(spec, "novacube", k, 2);
        enum err err = figure_measure_spec(call, spec, &nova, why);
        cube_spec(spec, "torus", k, 2);
        if (!err)
            err = figure_measure_spec(call, spec, &torus, why);
        if (err)
            return err;
        double printed = eq10_printed(k);
        score_add(&score, fabs(printed - nova.mean) < 1e-9);
        figure_row(result, table,
                   (struct figure_cell[]){figure_number(k), figure_number(printed),
                                          figure_number(nova.mean), figure_number(torus.mean)});
        if (k == 4)
            eq10_claim(result, k, 1.6667, nova.mean);
        if (k == 8)
            eq10_claim(result, k, 3.0635, nova.mean);
        nova_slope = (nova.mean - nova_mean) / 2, nova_mean = nova.mean;
        torus_slope = (torus.mean - torus_mean) / 2, torus_mean = torus.mean;
        figure_progress(call, k, last);
    }
    score_claim(result, "eq 10", "every even k: the formula is the mean path", &score,
                "the formula misses the measured mean path for some k");
    struct claim claim = {.where = "section IV.B.5", .paper = 1 / 3.0, .tolerance = 0.005};
    snprintf(claim.what, sizeof claim.what, "hops that the mean grows with k, at k = %u", last);
    snprintf(claim.reason, sizeof claim.reason, "it grows at another rate");
    claim.found = nova_slope;
    figure_claim(result, claim);
    snprintf(claim.what, sizeof claim.what, "the same of the torus");
    claim.paper = 0.5, claim.found = torus_slope;
    figure_claim(result, claim);
    return OK;
}

static const struct figure_series eq10_series[] = {
    {"NovaCube, measured", "k", "mean_path", NULL, NULL, STYLE_BOTH},
    {"NovaCube, eq 10", "k", "printed", NULL, NULL, STYLE_POINTS},
    {"torus, measured", "k", "torus_mean_path", NULL, NULL, STYLE_BOTH},
    {0},
};

static const struct figure_plot eq10_plot = {
    .table = "mean",
    .x_label = "k",
    .y_label = "mean path (hops)",
    .series = eq10_series,
};

const struct figure figure_nova_eq10 = {
    .name = "nova-eq10",
    .paper = "NovaCube",
    .what = "the mean path against equation 10, n = 2",
    .size = "even k to 32, all pairs of nodes",
    .size_quick = "even k to 16, all pairs of nodes",
    .seconds = 0.1,
    .seconds_quick = 0.1,
    .plot = &eq10_plot,
    .run = eq10_run,
};
