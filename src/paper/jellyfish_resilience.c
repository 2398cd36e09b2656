/* jellyfish_resilience: the figure of the Jellyfish paper (jellyfish.c names it)
 * about the throughput that is left when links fail, in Jellyfish and in a
 * fat-tree of the same equipment with fewer servers. */
#include <stdio.h>

#include "paper/figures.h"
#include "paper/score.h"
#include "paper/throughput.h"
#include "topology/cabling/cable_count.h"
#include "topology/measure/failure.h"

enum {
    STEPS = 5, /* of 5 % each */
    STEP_PERCENT = 5,
    CLAIMED = 3, /* the step with 15 % failed, for which the paper prints a number */
};

/* The step with a printed number is computed more closely. */
static double step_gap(uint32_t step)
{
    return step == CLAIMED ? 0.002 : 0.005;
}

/* The results of one network over all runs. */
struct decline {
    const char *name;
    const char *words; /* specification, without the seed */
    bool random;       /* the specification takes a seed */
    uint32_t servers;
    /* By step: the mean rate of all flows, and the largest rate that all can have at once. */
    struct throughput_bracket mean[STEPS + 1], at_once[STEPS + 1];
    double apart[STEPS + 1]; /* servers cut off from their partner; sum of all runs */
};

/* Lets more links fail at each step; each server keeps sending to the same partner. */
static enum err decline_run(struct decline *decline, const struct topology *whole, uint64_t seed,
                            struct why *why)
{
    for (uint32_t step = 0; step <= STEPS; step++) {
        struct topology broken;
        uint32_t apart = 0;
        double gap = step_gap(step);
        enum err err = failure_apply(&broken, whole, step * STEP_PERCENT / 100.0, 0, seed, why);
        if (err)
            return err;
        err = throughput_add_mean(&decline->mean[step], &broken, seed, gap, &apart, why);
        if (!err && apart) /* the least rate counts: that of a server that is cut off, 0 */
            throughput_add(&decline->at_once[step], 0, 0);
        else if (!err)
            err = throughput_add_permutation(&decline->at_once[step], &broken, seed, gap, why);
        topology_fini(&broken);
        if (err)
            return err;
        decline->apart[step] += apart;
    }
    return OK;
}

static enum err decline_measure(struct decline *decline, const struct figure_call *call,
                                uint32_t runs, uint64_t done, struct why *why)
{
    for (uint32_t i = 0; i < runs; i++) {
        char spec[SPEC_SIZE];
        struct topology whole;
        uint64_t seed = call->seed + i;
        if (decline->random)
            snprintf(spec, sizeof spec, "%s,seed=%llu", decline->words, (unsigned long long)seed);
        else
            snprintf(spec, sizeof spec, "%s", decline->words);
        enum err err = topology_build(&whole, spec, why);
        if (err)
            return err;
        decline->servers = whole.server_count;
        err = decline_run(decline, &whole, seed, why);
        topology_fini(&whole);
        if (err)
            return err;
        figure_progress(call, done + i + 1, 2 * (uint64_t)runs);
    }
    return OK;
}

static void decline_rows(struct figure_table *table, const struct decline *decline)
{
    for (uint32_t step = 0; step <= STEPS; step++) {
        const struct throughput_bracket *mean = &decline->mean[step],
                                        *at_once = &decline->at_once[step];
        figure_row_named(table, decline->name,
                         (double[]){decline->servers, step * STEP_PERCENT, mean->lower, mean->upper,
                                    at_once->lower, at_once->upper,
                                    decline->apart[step] / mean->runs});
    }
}

/* The loss, in % of the throughput without failures, is between these two. */
static double loss_least(const struct decline *decline, uint32_t step)
{
    return 100 * (1 - throughput_ratio(&decline->mean[step], &decline->mean[0]).upper);
}

static double loss_most(const struct decline *decline, uint32_t step)
{
    return 100 * (1 - throughput_ratio(&decline->mean[step], &decline->mean[0]).lower);
}

static void fig8_claims(struct figure_result *result, const struct decline *jelly,
                        const struct decline *tree)
{
    const struct throughput_bracket *claimed = &jelly->mean[CLAIMED];
    figure_claim(result, "section 4", "15 % of the links failed: loss of capacity, Jellyfish",
                 says_below(16, "%"), loss_most(jelly, CLAIMED),
                 figure_text(result,
                             "the mean of %u runs is proved to be between %.2f and %.2f %%; "
                             "single runs lose %.1f to %.1f %% of the line rate",
                             claimed->runs, loss_least(jelly, CLAIMED), loss_most(jelly, CLAIMED),
                             100 * (1 - claimed->most), 100 * (1 - claimed->least)));
    struct score graceful = {0};
    const struct decline *both[] = {jelly, tree};
    for (uint32_t step = 1; step <= STEPS; step++)
        score_add(&graceful, jelly->mean[step].lower > tree->mean[step].upper);
    score_claim(result, "fig 8", "shares of failed links at which Jellyfish keeps more throughput",
                &graceful, NULL);
    for (size_t i = 0; i < 2; i++)
        figure_claim(
            result, "fig 8",
            figure_text(result, "25 %% of the links failed: throughput, %s", both[i]->name),
            says_above(60, "%"), 100 * both[i]->mean[STEPS].lower, NULL);
}

static enum err fig8_run(struct figure_result *result, const struct figure_call *call,
                         struct why *why)
{
    struct figure_table *table =
        figure_table_add(result, "failures",
                         "network, servers, failed (%), mean_lower, mean_upper, at_once_lower, "
                         "at_once_upper, servers_cut_off");
    uint32_t runs = call->quick ? 2 : 10;
    struct decline jelly = {.name = "Jellyfish", .random = true}, tree = {.name = "fat-tree"};
    jelly.words = call->quick ? "jellyfish:servers=60,switches=45,ports=6"
                              : "jellyfish:servers=544,switches=180,ports=12";
    tree.words = call->quick ? "fattree:k=6" : "fattree:k=12";
    enum err err = decline_measure(&jelly, call, runs, 0, why);
    if (!err)
        err = decline_measure(&tree, call, runs, runs, why);
    if (err)
        return err;
    decline_rows(table, &jelly);
    decline_rows(table, &tree);
    fig8_claims(result, &jelly, &tree);
    return OK;
}

const struct figure figure_jelly_fig8 = {
    .name = "jelly-fig8",
    .paper = "Jellyfish",
    .what = "throughput by the share of links that failed",
    .full = {"180 switches of 12 ports, 544 servers, and the fat-tree of 12 ports; 10 runs each",
             .seconds = 60},
    .quick = {"45 switches of 6 ports, 60 servers, and the fat-tree of 6 ports; 2 runs each",
              .seconds = 0.7},
    .choice =
        "Throughput is \"averaged over all flows\": each server sends to another one, drawn at "
        "random, and the routing makes the mean of their rates as large as possible; a pair that "
        "is cut off counts as 0. The largest rate that all servers can have at the same time "
        "(columns at_once, written by --out) cannot be what the paper plots: in the fat-tree it "
        "follows the edge switch that lost the most uplinks, and is far below the 60 % at which "
        "the paper's axis begins. The legend of the paper's plot was not available: the switches "
        "are those of the fat-tree of 12-port switches (432 servers), and Jellyfish has 544 "
        "servers, which get the full rate without failures. A run draws a graph, a permutation "
        "and the failures; the links that fail at one share also fail at each larger one.",
    .plot.table = "failures",
    .plot.x = {.column = "failed", .label = "links failed (%)", .step = STEP_PERCENT},
    .plot.y = {.label = "throughput per server"},
    .plot.series =
        {
            {"Jellyfish", "mean_lower", "network", "Jellyfish", STYLE_BOTH},
            {"fat-tree", "mean_lower", "network", "fat-tree", STYLE_BOTH},
            {"Jellyfish, all at once", "at_once_lower", "network", "Jellyfish", STYLE_LINE},
            {"fat-tree, all at once", "at_once_lower", "network", "fat-tree", STYLE_LINE},
        },
    .run = fig8_run,
};
