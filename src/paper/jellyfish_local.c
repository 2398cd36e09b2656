/* jellyfish_local: the figure of the Jellyfish paper (jellyfish.c names it)
 * about short cables: switches are in containers, a share of the cables of each
 * switch stays inside its container, and the figure shows how much throughput
 * that costs.
 *
 * The equipment of a fat-tree of k-port switches is in k containers; the
 * fat-tree itself has a pod in each and its core divided equally. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "paper/figures.h"
#include "paper/score.h"
#include "paper/throughput.h"
#include "topology/cabling/cable_count.h"
#include "topology/cabling/floor_plan.h"

enum { TENTH_MAX = 8 }; /* the largest share of local links, in tenths */

static const double gap = 0.005;

/* The largest loss of throughput of any size, in %, at each share of local
 * links: the true loss is between `least` and `most`. */
struct losses {
    double least[TENTH_MAX + 1], most[TENTH_MAX + 1];
};

/* Returns 1.5 times as many servers as the fat-tree has. */
static uint32_t local_servers(uint32_t k)
{
    return (uint32_t)(cable_count_fattree(k).servers * 3 / 2);
}

/* Measures the throughput of several graphs of one kind. */
static enum err capacity_measure(struct throughput_both *capacity, const struct figure_call *call,
                                 const char *words, uint32_t graphs, struct why *why)
{
    *capacity = (struct throughput_both){0};
    enum err err = OK;
    for (uint32_t i = 0; i < graphs && !err; i++)
        err = throughput_add_spec(capacity, words, call->seed + i, gap, why);
    return err;
}

static void local_row(struct figure_table *table, uint32_t k, double local,
                      const struct throughput_both *found, const struct throughput_both *free)
{
    struct throughput_bracket ratio = throughput_ratio(&found->mean, &free->mean);
    figure_row_numbers(table,
                       (double[]){k, (double)cable_count_fattree(k).switches, local_servers(k),
                                  local, found->mean.lower, found->mean.upper, found->at_once.lower,
                                  found->at_once.upper, ratio.lower, ratio.upper,
                                  found->at_once.lower / free->at_once.upper});
}

/* Measures the curve of one size; `done` of `total` points have been measured before. */
static enum err local_curve(struct figure_table *table, const struct figure_call *call, uint32_t k,
                            uint32_t graphs, struct losses *losses, uint64_t done, uint64_t total,
                            struct why *why)
{
    char words[SPEC_SIZE];
    struct throughput_both free, bound;
    figure_jellyfish_words(words, local_servers(k), cable_count_fattree(k).switches, k);
    size_t length = strlen(words);
    enum err err = capacity_measure(&free, call, words, graphs, why);
    if (err)
        return err;
    local_row(table, k, NAN, &free, &free);
    for (uint32_t tenth = 0; tenth <= TENTH_MAX; tenth++) {
        snprintf(words + length, sizeof words - length, ",containers=%u,local=0.%u", k, tenth);
        err = capacity_measure(&bound, call, words, graphs, why);
        if (err)
            return err;
        local_row(table, k, tenth / 10.0, &bound, &free);
        struct throughput_bracket ratio = throughput_ratio(&bound.mean, &free.mean);
        losses->least[tenth] = fmax(losses->least[tenth], 100 * (1 - ratio.upper));
        losses->most[tenth] = fmax(losses->most[tenth], 100 * (1 - ratio.lower));
        figure_progress(call, done + tenth + 1, total);
    }
    return OK;
}

/* Counts the links of a fat-tree that stay within a pod and its part of the core, in %. */
static enum err tree_row(struct figure_table *table, uint32_t k, double *local, struct why *why)
{
    char spec[SPEC_SIZE];
    struct topology tree;
    struct container_tally tally = {0};
    struct cable_cost cost = cable_cost_default();
    uint32_t count = 0;
    snprintf(spec, sizeof spec, "fattree:k=%u", k);
    enum err err = topology_build(&tree, spec, why);
    if (err)
        return err;
    uint32_t *container = array_new(tree.graph.node_count, sizeof *container);
    err = container ? floor_containers(&tree, &cost, container, &count, why) : why_memory(why);
    if (!err)
        err = container_tally_make(&tally, &tree.graph, container, count, why);
    free(container);
    if (!err) {
        uint32_t links = tree.graph.link_count;
        *local = 100.0 * (double)tally.local / links;
        figure_row_numbers(table, (double[]){k, links, tally.local, *local, 50 * (1 + 1.0 / k)});
    }
    topology_fini(&tree);
    return err;
}

static enum err tree_claims(struct figure_result *result, struct figure_table *table,
                            struct why *why)
{
    struct score formula = {0};
    for (uint32_t k = 4; k <= 48; k += k < 16 ? 2 : 16) {
        double local;
        enum err err = tree_row(table, k, &local, why);
        if (err)
            return err;
        score_add(&formula, fabs(local - 50 * (1 + 1.0 / k)) < 1e-9);
        if (k == 14)
            figure_claim(result, "section 6.3", "local links of the fat-tree, k = 14",
                         says_equal(53.6, 0.05, "%"), local, NULL);
    }
    score_claim(result, "section 6.3", "the same is 0.5 (1 + 1 / k) for every k", &formula, NULL);
    return OK;
}

static void loss_claim(struct figure_result *result, const char *where, const struct losses *losses,
                       uint32_t tenth, double paper)
{
    figure_claim(result, where,
                 figure_text(result, "%u0 %% of the links local: largest loss of any size", tenth),
                 says_below(paper, "%"), losses->most[tenth],
                 figure_text(result,
                             "it is proved to be between %.1f and %.1f %%; the paper does not say "
                             "how many servers its networks have",
                             losses->least[tenth], losses->most[tenth]));
}

static enum err fig14_run(struct figure_result *result, const struct figure_call *call,
                          struct why *why)
{
    static const uint32_t full[] = {8, 10, 12, 14}, quick[] = {6, 8};
    const uint32_t *sizes = call->quick ? quick : full;
    size_t count = call->quick ? sizeof quick / sizeof *quick : sizeof full / sizeof *full;
    struct figure_table *table =
        figure_table_add(result, "local",
                         "k, switches, servers, local, mean_lower, mean_upper, at_once_lower, "
                         "at_once_upper, normalised_lower, normalised_upper, normalised_at_once");
    struct figure_table *trees =
        figure_table_add(result, "fattree", "k, links, local_links, local (%), by_formula (%)");
    struct losses losses = {0};
    uint64_t total = count * (TENTH_MAX + 1);
    for (size_t i = 0; i < count; i++) {
        enum err err = local_curve(table, call, sizes[i], call->quick ? 1 : 5, &losses,
                                   i * (TENTH_MAX + 1), total, why);
        if (err)
            return err;
    }
    loss_claim(result, "section 6.3", &losses, 6, 6);
    loss_claim(result, "fig 14", &losses, 5, 3);
    return tree_claims(result, trees, why);
}

const struct figure figure_jelly_fig14 = {
    .name = "jelly-fig14",
    .paper = "Jellyfish",
    .what = "throughput by the share of links that stay inside containers",
    .full = {"80, 125, 180 and 245 switches in 8, 10, 12 and 14 containers, 5 graphs each",
             .seconds = 80},
    .quick = {"45 and 80 switches in 6 and 8 containers, 1 graph each", .seconds = 1.7},
    .choice =
        "A link is local if both of its switches are in the same container. The paper does "
        "not name its four sizes, nor how many servers make a network oversubscribed. Here "
        "the networks have the switches of fat-trees of 8- to 14-port switches (the paper "
        "counts the local links of the last) and 1.5 times as many servers as the fat-tree; "
        "up to 1.27 times as many would get the full rate. \"Average server throughput\" is, "
        "as in jelly-fig8, the largest mean rate of the servers when each sends to another "
        "one, drawn at random. The rate that all servers can have at the same time (columns "
        "at_once, written by --out) falls by more. Both are known to within 0.5 %, and a loss "
        "is judged by the end of that range that makes it larger.",
    .plot.table = "local",
    .plot.x = {.column = "local", .label = "share of links inside containers"},
    .plot.y = {.label = "throughput, share of that without containers"},
    .plot.series =
        {
            {"80 switches", "normalised_lower", "k", "8", STYLE_BOTH},
            {"125 switches", "normalised_lower", "k", "10", STYLE_BOTH},
            {"180 switches", "normalised_lower", "k", "12", STYLE_BOTH},
            {"245 switches", "normalised_lower", "k", "14", STYLE_BOTH},
        },
    .run = fig14_run,
};
