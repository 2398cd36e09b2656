/* jellyfish_small_world: the figure of the Jellyfish paper (jellyfish.c names it)
 * that compares throughput under random permutations with small-world data
 * centers (Shin, Wong and Sirer, 2011).
 *
 * The small worlds that weft generates have no parallel cables. The program that
 * the authors of Jellyfish published later draws a cable even if the two nodes
 * already have one. On a ring, where near nodes are likely, this happens often.
 * So the ring is built in that way, too. Run i draws its graphs and its
 * permutation from the seed plus i. */
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"
#include "base/rng.h"
#include "paper/figures.h"
#include "paper/throughput.h"

/* --- jelly-fig4 --- */

enum { FIG4_JELLY, FIG4_RING, FIG4_TORUS, FIG4_HEX, FIG4_DOUBLED, FIG4_COUNT };

#define FIG4_DEGREE 6u

struct fig4_network {
    const char *name;
    const char *words; /* specification without servers; NULL: built from `switches` */
    uint32_t switches;
};

static const struct fig4_network fig4_full[FIG4_COUNT] = {
    [FIG4_JELLY] = {"Jellyfish", NULL, 484},
    [FIG4_RING] = {"ring", "swdc-ring:484", 484},
    [FIG4_TORUS] = {"2D torus", "swdc-torus2d:22x22", 484},
    [FIG4_HEX] = {"3D hex torus", "swdc-hex3d:10x15x3", 450},
    [FIG4_DOUBLED] = {"ring with parallel cables", NULL, 484},
};
static const struct fig4_network fig4_quick[FIG4_COUNT] = {
    [FIG4_JELLY] = {"Jellyfish", NULL, 100},
    [FIG4_RING] = {"ring", "swdc-ring:100", 100},
    [FIG4_TORUS] = {"2D torus", "swdc-torus2d:10x10", 100},
    [FIG4_HEX] = {"3D hex torus", "swdc-hex3d:6x5x3", 90},
    [FIG4_DOUBLED] = {"ring with parallel cables", NULL, 100},
};

/* --- the ring with parallel cables --- */

enum { STREAM_DOUBLED = 0x72696e67 }; /* "ring" */

/* Draws a distance along the ring, from 1 to size - 1; sums[d] is the sum of the
 * weights of the distances up to d. */
static uint32_t draw_distance(const double *sums, uint32_t size, struct rng *rng)
{
    double at = rng_unit(rng) * sums[size - 1];
    uint32_t low = 1, high = size - 1; /* the first distance with a sum above `at` is between */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (sums[middle] > at)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Makes one cable for each pair of a perfect matching: every node in turn draws
 * others until it draws one that is not matched yet. */
static void match_nodes(struct link *links, uint32_t port, const double *sums, uint8_t *matched,
                        uint32_t size, struct rng *rng)
{
    uint32_t count = 0;
    for (uint32_t v = 0; v < size; v++)
        matched[v] = 0;
    for (uint32_t v = 0; v < size; v++) {
        if (matched[v])
            continue;
        uint32_t other;
        do
            other = (v + draw_distance(sums, size, rng)) % size;
        while (matched[other]);
        matched[v] = matched[other] = 1;
        links[count++] = (struct link){.a = v, .b = other, .a_port = port, .b_port = port};
    }
    assert(count == size / 2);
}

static enum err build_doubled(struct topology *topology, uint32_t size, uint32_t servers,
                              uint64_t seed, struct why *why)
{
    assert(size % 2 == 0 && size > 2);
    uint32_t count = size / 2 * FIG4_DEGREE;
    struct rng rng = rng_make(seed, STREAM_DOUBLED);
    struct link *links = array_new(count, sizeof *links);
    double *sums = array_new(size, sizeof *sums);
    uint8_t *matched = array_new(size, sizeof *matched);
    enum err err = links && sums && matched ? OK : why_memory(why);
    if (!err) {
        sums[0] = 0;
        for (uint32_t d = 1; d < size; d++)
            sums[d] = sums[d - 1] + 1.0 / (d < size - d ? d : size - d);
        for (uint32_t v = 0; v < size; v++)
            links[v] = (struct link){.a = v, .b = (v + 1) % size, .a_port = 0, .b_port = 1};
        for (uint32_t port = 2; port < FIG4_DEGREE; port++)
            match_nodes(links + size / 2 * port, port, sums, matched, size, &rng);
        err = topology_init(topology, TOPOLOGY_OTHER, false, size, links, count, why);
    }
    free(links);
    free(sums);
    free(matched);
    if (err)
        return err;
    topology_set_servers(topology, servers);
    topology_count_servers(topology);
    return OK;
}

static enum err add_doubled(struct throughput_both *both, uint32_t size, uint32_t servers,
                            uint64_t seed, double gap, struct why *why)
{
    struct topology topology;
    enum err err = build_doubled(&topology, size, servers, seed, why);
    if (err)
        return err;
    err = throughput_add_both(both, &topology, seed, gap, why);
    topology_fini(&topology);
    return err;
}

/* --- the figure --- */

static enum err fig4_measure(const struct figure_call *call, uint32_t which, uint32_t servers,
                             uint32_t runs, double gap, struct throughput_both *both,
                             struct why *why)
{
    const struct fig4_network *network = &(call->quick ? fig4_quick : fig4_full)[which];
    uint32_t size = network->switches;
    char words[SPEC_SIZE];
    enum err err = OK;
    if (network->words)
        snprintf(words, sizeof words, "%s,servers=%u", network->words, servers);
    else
        figure_jellyfish_words(words, size * servers, size, FIG4_DEGREE + servers);
    *both = (struct throughput_both){0};
    for (uint32_t i = 0; i < runs && !err; i++)
        err = which == FIG4_DOUBLED ? add_doubled(both, size, servers, call->seed + i, gap, why)
                                    : throughput_add_spec(both, words, call->seed + i, gap, why);
    return err;
}

static void fig4_row(struct figure_table *table, const struct fig4_network *network, uint32_t order,
                     uint32_t servers, const struct throughput_both *found)
{
    const struct throughput_bracket *mean = &found->mean, *at_once = &found->at_once;
    figure_row_named(table, network->name,
                     (double[]){order, network->switches, servers, mean->runs, mean->lower,
                                mean->upper, mean->least, mean->most, at_once->lower,
                                at_once->upper});
}

/* With one server on a switch, three of the networks have full throughput in the paper. */
static void fig4_claim_full(struct figure_result *result, const char *name,
                            const struct throughput_bracket *found)
{
    figure_claim(result, "section 4.1",
                 figure_text(result, "1 server on a switch: %s, lowest throughput of a run", name),
                 says_equal(1, 0, NULL), found->least,
                 figure_text(result, "the mean of %u runs is proved to be between %.4f and %.4f",
                             found->runs, found->lower, found->upper));
}

static void fig4_claims(struct figure_result *result,
                        const struct throughput_both found[FIG4_COUNT])
{
    const struct throughput_bracket *jelly = &found[FIG4_JELLY].mean,
                                    *ring = &found[FIG4_RING].mean;
    struct throughput_bracket share = throughput_ratio(jelly, ring);
    struct throughput_bracket doubled = throughput_ratio(jelly, &found[FIG4_DOUBLED].mean);
    struct throughput_bracket share_at_once =
        throughput_ratio(&found[FIG4_JELLY].at_once, &found[FIG4_RING].at_once);
    struct throughput_bracket doubled_at_once =
        throughput_ratio(&found[FIG4_JELLY].at_once, &found[FIG4_DOUBLED].at_once);
    const char *reason = figure_text(result, "if all servers must get the same rate, it is %.1f %%",
                                     50 * (share_at_once.lower + share_at_once.upper));
    const char *reason_doubled = figure_text(
        result,
        "over %u runs it is proved to be between %.1f and %.1f %%. If all servers must get the "
        "same rate, it is %.1f %%",
        doubled.runs, 100 * doubled.lower, 100 * doubled.upper,
        50 * (doubled_at_once.lower + doubled_at_once.upper));
    figure_claim(result, "fig 4", "2 servers: Jellyfish as a share of the ring",
                 says_equal(119, 1, "%"), 50 * (share.lower + share.upper), reason);
    figure_claim(result, "fig 4",
                 "2 servers: Jellyfish as a share of the ring with parallel cables",
                 says_equal(119, 1, "%"), 50 * (doubled.lower + doubled.upper), reason_doubled);
    figure_claim(result, "fig 4", "2 servers: the ring as a share of the 2D torus",
                 says_above(100, "%"), 100 * throughput_ratio(ring, &found[FIG4_TORUS].mean).lower,
                 NULL);
    figure_claim(result, "fig 4", "2 servers: the ring as a share of the 3D hex torus",
                 says_above(100, "%"), 100 * throughput_ratio(ring, &found[FIG4_HEX].mean).lower,
                 NULL);
}

static enum err fig4_run(struct figure_result *result, const struct figure_call *call,
                         struct why *why)
{
    const struct fig4_network *networks = call->quick ? fig4_quick : fig4_full;
    uint32_t runs = call->quick ? 2 : 10;
    double gap = call->quick ? 0.02 : 0.005;
    struct figure_table *table =
        figure_table_add(result, "throughput",
                         "network, order, switches, servers, runs, mean_lower, mean_upper, "
                         "mean_least, mean_most, at_once_lower, at_once_upper");
    struct throughput_both found[FIG4_COUNT] = {0};
    for (uint32_t servers = 1; servers <= 2; servers++)
        for (uint32_t i = 0; i < FIG4_COUNT; i++) {
            enum err err = fig4_measure(call, i, servers, runs, gap, &found[i], why);
            if (err)
                return err;
            fig4_row(table, &networks[i], i + 1, servers, &found[i]);
            if (servers == 1 && i < FIG4_HEX)
                fig4_claim_full(result, networks[i].name, &found[i].at_once);
            figure_progress(call, (servers - 1) * FIG4_COUNT + i + 1, 2 * FIG4_COUNT);
        }
    fig4_claims(result, found);
    return OK;
}

const struct figure figure_jelly_fig4 = {
    .name = "jelly-fig4",
    .paper = "Jellyfish",
    .what = "throughput of Jellyfish and of small-world data centers",
    .full = {"484 switches of degree 6 (hex torus 450), 1 and 2 servers each; 10 runs, to 0.5 %",
             .seconds = 150},
    .quick = {"100 switches of degree 6 (hex torus 90), 1 and 2 servers each; 2 runs, to 2 %",
              .seconds = 1},
    .choice =
        "Each run has its own graph, and each server sends to another one, drawn at random. With "
        "2 servers on a switch, throughput is the largest mean rate of the servers, as in "
        "jelly-fig3. Throughput is known as a lower and an upper bound; a share is the middle of "
        "what the bounds of both means allow, and \"about 119 %\" is taken as 118 to 120 %. The "
        "paper does not say whether a small world may have parallel cables. The program that its "
        "authors published later makes them, so the ring is built in both ways.",
    .plot.table = "throughput",
    .plot.x = {.column = "order",
               .label =
                   "1 Jellyfish, 2 ring, 3 2D torus, 4 3D hex torus, 5 ring with parallel cables",
               .step = 1},
    .plot.y = {.label = "mean throughput, share of line rate"},
    .plot.series =
        {
            {"1 server on a switch", "mean_lower", "servers", "1", STYLE_POINTS},
            {"2 servers on a switch", "mean_lower", "servers", "2", STYLE_POINTS},
        },
    .run = fig4_run,
};
