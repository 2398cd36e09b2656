/* novacube_deadlock: the claim of the NovaCube paper (novacube.c names it) that
 * its routing algorithm PORA is free of deadlock with two virtual channels. The
 * channel dependency graph decides it, for each reading of PORA that
 * routing/torus/pora.c has, and for the two variants that are proved free. */
#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "paper/figures.h"
#include "paper/score.h"
#include "routing/deadlock/deadlock.h"
#include "routing/load/load.h"
#include "routing/route.h"

/* The result of one algorithm on one network. */
struct trial {
    bool fits; /* the algorithm runs on this network; otherwise the rest is not set */
    bool free;
    bool at_once; /* all packets of the cycle hold their first channel */
    uint32_t lanes;
    uint32_t cycle; /* channels; 0 if free */
    double path;    /* mean path over all pairs of different nodes */
};

/* Computes the mean path under uniform traffic as an exact expectation. */
static enum err mean_path(const struct router *router, double *mean, struct why *why)
{
    const struct graph *graph = &router->topology->graph;
    uint32_t sources = router->symmetric ? 1 : graph->node_count;
    double *channels = array_new(graph_channel_count(graph), sizeof *channels), hops = 0;
    struct load_walk *walk;
    enum err err = channels ? load_walk_open(&walk, router, why) : why_memory(why);
    if (err) {
        free(channels);
        return err;
    }
    for (uint32_t from = 0; !err && from < sources; from++)
        for (uint32_t to = 0; !err && to < graph->node_count; to++)
            err = load_add(walk, from, to, 1, channels, &hops, why);
    assert(sources > 0 && graph->node_count > 1);
    *mean = hops / sources / (graph->node_count - 1);
    load_walk_close(walk);
    free(channels);
    return err;
}

static enum err try_algorithm(struct trial *trial, const struct topology *topology,
                              const char *algorithm, struct why *why)
{
    struct router router;
    struct deadlock found;
    *trial = (struct trial){0};
    enum err err = router_open(&router, algorithm, topology, NULL, why);
    if (err == ERR_USAGE)
        return OK; /* pora-quadrants exists for two axes only */
    if (err)
        return err;
    err =
        deadlock_find(&found, &router, (struct lane_rule){LANE_OWN, 0}, (struct observer){0}, why);
    if (!err) {
        *trial = (struct trial){.fits = true,
                                .free = found.free,
                                .at_once = found.at_once,
                                .lanes = found.lanes,
                                .cycle = found.cycle_length};
        deadlock_fini(&found);
        err = mean_path(&router, &trial->path, why);
    }
    router_close(&router);
    return err;
}

enum { PORA, AROUND, QUADRANTS, RAISED, VARIANT, TORUS, TRIALS };
static const char *const trial_names[TRIALS] = {"pora",        "pora-around", "pora-quadrants",
                                                "pora-raised", "pora-free",   "dor-split"};

/* At how many sizes each statement holds. */
struct deadlock_scores {
    struct score free[TRIALS]; /* free of deadlock with two virtual channels */
    struct score raised;       /* PORA's routes are free with three */
    struct score shorter;      /* pora-free's mean path is at most PORA's */
    struct score optimal;      /* pora-free's mean path is the shortest possible (even k) */
    struct score certain;      /* the packets of PORA's cycle can block each other at once */
};

static void score_case(struct deadlock_scores *scores, const struct trial *trials, uint32_t k,
                       double optimum)
{
    const double rounding = 1e-9;
    for (int i = 0; i < TRIALS; i++)
        if (trials[i].fits)
            score_add(&scores->free[i], trials[i].free && trials[i].lanes <= 2);
    score_add(&scores->raised, trials[RAISED].free && trials[RAISED].lanes <= 3);
    score_add(&scores->shorter, trials[VARIANT].path <= trials[PORA].path + rounding);
    if (k % 2 == 0)
        score_add(&scores->optimal, fabs(trials[VARIANT].path - optimum) < rounding);
    for (int i = PORA; i <= QUADRANTS; i++)
        if (trials[i].fits && !trials[i].free)
            score_add(&scores->certain, trials[i].at_once);
}

static struct figure_cell cycle_cell(const struct trial *trial)
{
    return figure_number(trial->fits && !trial->free ? trial->cycle : (double)NAN);
}

static enum err deadlock_case(struct figure_table *table, const struct figure_call *call,
                              uint32_t k, uint32_t n, struct deadlock_scores *scores,
                              struct why *why)
{
    char spec[SPEC_SIZE];
    struct topology topology;
    struct figure_distances distances;
    struct trial trials[TRIALS] = {0};
    figure_cube_spec(spec, "novacube", k, n);
    enum err err = topology_build(&topology, spec, why);
    if (err)
        return err;
    err = figure_measure(call, &topology, &distances, why);
    for (int i = 0; !err && i < TRIALS; i++)
        err = try_algorithm(&trials[i], &topology, trial_names[i], why);
    topology_fini(&topology);
    if (err)
        return err;
    score_case(scores, trials, k, distances.mean);
    figure_row(table, (struct figure_cell[]){
                          figure_number(k), figure_number(n),
                          figure_word(trials[PORA].free ? "yes" : "no"), cycle_cell(&trials[PORA]),
                          cycle_cell(&trials[AROUND]), cycle_cell(&trials[QUADRANTS]),
                          figure_number(trials[RAISED].lanes), figure_number(trials[VARIANT].lanes),
                          figure_number(trials[PORA].path), figure_number(trials[VARIANT].path),
                          figure_number(distances.mean), figure_number(trials[TORUS].path)});
    return OK;
}

static void deadlock_claims(struct figure_result *result, const struct deadlock_scores *scores)
{
    const char *certain =
        figure_text(result,
                    "in %u of the %u cycles all packets are on their first channel, so sending "
                    "them at the same moment blocks them for ever",
                    scores->certain.held, scores->certain.cases);
    score_claim(result, "section V.C", "PORA is free of deadlock with two virtual channels",
                &scores->free[PORA], certain);
    score_claim(result, "section V.C",
                "the same if the first hop fixes the direction round a ring (pora-around)",
                &scores->free[AROUND], certain);
    score_claim(result, "section V.C",
                "the same with the quadrants seen from the source (pora-quadrants)",
                &scores->free[QUADRANTS], certain);
    score_claim(result, "our variant", "free with two if only the source may jump (pora-free)",
                &scores->free[VARIANT], NULL);
    score_claim(result, "our variant", "PORA's own routes are free with three (pora-raised)",
                &scores->raised, NULL);
    score_claim(result, "our variant", "pora-free's mean path is at most PORA's", &scores->shorter,
                NULL);
    score_claim(result, "our variant", "pora-free's mean path is the shortest possible, even k",
                &scores->optimal, NULL);
}

static enum err deadlock_run(struct figure_result *result, const struct figure_call *call,
                             struct why *why)
{
    static const uint32_t cases[][2] = {
        {4, 2}, {5, 2}, {6, 2}, {8, 2},  {4, 3}, /* quick until here */
        {3, 2}, {7, 2}, {9, 2}, {10, 2}, {12, 2}, {3, 3}, {5, 3}, {6, 3}, {7, 3}, {8, 3}};
    struct figure_table *table =
        figure_table_add(result, "deadlock",
                         "k, n, pora_free, pora_cycle (channels), around_cycle (channels), "
                         "quadrants_cycle (channels), raised_lanes, variant_lanes, "
                         "pora_path (hops), variant_path (hops), optimum (hops), "
                         "torus_path (hops)");
    struct deadlock_scores scores = {0};
    size_t count = call->quick ? 5 : sizeof cases / sizeof *cases;
    for (size_t i = 0; i < count; i++) {
        enum err err = deadlock_case(table, call, cases[i][0], cases[i][1], &scores, why);
        if (err)
            return err;
        figure_progress(call, i + 1, count);
    }
    deadlock_claims(result, &scores);
    return OK;
}

const struct figure figure_nova_deadlock = {
    .name = "nova-deadlock",
    .paper = "NovaCube",
    .what = "whether PORA is free of deadlock with two virtual channels",
    .full = {"k from 3 to 12 for n = 2, to 8 for n = 3", .seconds = 10},
    .quick = {"k from 4 to 8 for n = 2, k = 4 for n = 3", .seconds = 0.2},
    .choice =
        "k is the number of nodes along every axis, n the number of axes; a case is one pair of "
        "them. PORA is the "
        "paper's routing algorithm; the paper's \"quadrant\" can be read in three ways, which "
        "`weft route` has as pora, pora-around and pora-quadrants. Each ring changes to the "
        "second virtual channel at its end. pora-raised gives the first hop a third one; "
        "pora-free allows a jump at the source only. A cycle of channels that wait for each "
        "other is a deadlock; its length is given. Paths are exact means over all pairs; "
        "torus_path is that of dimension-order routing without jumps.",
    .shown = "k, n, pora_cycle, around_cycle, quadrants_cycle, raised_lanes, variant_lanes, "
             "pora_path, variant_path, optimum, torus_path",
    .plot.table = "deadlock",
    .plot.x = {.column = "k", .label = "k", .step = 1},
    .plot.y = {.label = "mean path, hops"},
    .plot.series =
        {
            {"PORA, n = 2", "pora_path", "n", "2", STYLE_BOTH},
            {"pora-free, n = 2", "variant_path", "n", "2", STYLE_BOTH},
            {"optimum, n = 2", "optimum", "n", "2", STYLE_POINTS},
            {"PORA, n = 3", "pora_path", "n", "3", STYLE_BOTH},
            {"pora-free, n = 3", "variant_path", "n", "3", STYLE_BOTH},
            {"optimum, n = 3", "optimum", "n", "3", STYLE_POINTS},
        },
    .run = deadlock_run,
};
