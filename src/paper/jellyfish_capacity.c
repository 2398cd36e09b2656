/* jellyfish_capacity: figure 2c of the Jellyfish paper (jellyfish.c names it):
 * how many servers the switches of a fat-tree carry at full rate when they are
 * connected at random.
 *
 * Run i draws its graphs from the seed plus i, and no two runs share a
 * permutation. Every step of a search has a certificate (a lower and an upper
 * bound); all certificates of the largest size are in the table "steps". */
#include <math.h>

#include "base/check.h"
#include "flow/concurrent/full_capacity.h"
#include "paper/figures.h"
#include "paper/score.h"
#include "topology/cabling/cable_count.h"
#include "topology/topology.h"

enum { PHASE_MAX = 2000 }; /* the most rounds of the solver in a step */

/* What the searches with switches of one kind found. */
struct capacity {
    struct cable_count tree;
    uint32_t ports;
    uint32_t runs;
    double mean;
    double square; /* sum of the squared differences to the mean */
    double least, most;
};

struct capacity_figure {
    struct figure_result *result;
    const struct figure_call *call;
    struct figure_table *sizes, *searches, *steps;
    struct score decided; /* steps */
    double near;          /* the largest distance to 1 of a bound of an undecided step */
};

static void capacity_add(struct capacity *capacity, double servers)
{
    double off = servers - capacity->mean;
    capacity->runs++;
    capacity->mean += off / capacity->runs;
    capacity->square += off * (servers - capacity->mean);
    capacity->least = capacity->runs > 1 ? fmin(capacity->least, servers) : servers;
    capacity->most = capacity->runs > 1 ? fmax(capacity->most, servers) : servers;
}

/* Returns the standard error of the mean. */
static double capacity_error(const struct capacity *capacity)
{
    double runs = capacity->runs;
    return runs > 1 ? sqrt(capacity->square / (runs - 1) / runs) : 0;
}

static double capacity_more(const struct capacity *capacity)
{
    assert(capacity->tree.servers > 0);
    return 100 * (capacity->mean / (double)capacity->tree.servers - 1);
}

static void capacity_rows(struct capacity_figure *figure, const struct capacity *capacity)
{
    double tree = (double)capacity->tree.servers, switches = (double)capacity->tree.switches;
    figure_row_named(figure->sizes, "fat-tree",
                     (double[]){capacity->ports, switches, tree, tree, tree, 0, NAN});
    figure_row_named(figure->sizes, "Jellyfish",
                     (double[]){capacity->ports, switches, capacity->mean, capacity->least,
                                capacity->most, capacity_more(capacity), capacity->runs});
}

static void search_rows(struct capacity_figure *figure, const struct capacity *capacity,
                        uint32_t run, bool list, const struct full_capacity *found)
{
    figure_row_numbers(figure->searches,
                       (double[]){capacity->ports, run + 1, (double)(figure->call->seed + run),
                                  found->servers_found, found->servers, found->step_count,
                                  found->undecided});
    for (size_t i = 0; i < found->step_count; i++) {
        const struct full_capacity_step *step = &found->steps[i];
        bool decided = step->verdict != FULL_CAPACITY_UNDECIDED;
        score_add(&figure->decided, decided);
        if (!decided)
            figure->near = fmax(figure->near, fmax(1 - step->lower, step->upper - 1));
        if (!list)
            continue;
        figure_row(
            figure->steps,
            (struct figure_cell[]){figure_number(capacity->ports), figure_number(run + 1),
                                   figure_number((double)i + 1), figure_number(step->servers),
                                   figure_number(step->matrix + 1),
                                   figure_number((double)step->seed), figure_number(step->lower),
                                   figure_number(step->upper), figure_number((double)step->phases),
                                   figure_word(full_capacity_verdict_name(step->verdict))});
    }
}

static enum err capacity_run(struct capacity_figure *figure, struct capacity *capacity,
                             uint32_t run, bool list, struct why *why)
{
    char spec[SPEC_SIZE];
    uint64_t seed = figure->call->seed;
    struct full_capacity found;
    const struct full_capacity_options options = {
        .seed = seed + (uint64_t)run * (FULL_CAPACITY_SEARCH + FULL_CAPACITY_CONFIRM),
        .gap = FULL_CAPACITY_TOLERANCE,
        .phase_max = PHASE_MAX,
    };
    figure_jellyfish_spec(spec, capacity->tree.servers, capacity->tree.switches, capacity->ports,
                          seed + run);
    enum err err = full_capacity_find(&found, spec, &options, why);
    if (err)
        return err;
    capacity_add(capacity, found.servers);
    search_rows(figure, capacity, run, list, &found);
    full_capacity_fini(&found);
    return OK;
}

/* The printed numbers are for 14 ports, which only the full size has. */
static void printed_claims(struct figure_result *result, const struct capacity *largest)
{
    const char *where = "section 4.1", *servers = "14 ports: servers at full capacity";
    const char *more = "14 ports: more servers than the fat-tree", *needs = NULL, *reason = NULL;
    const struct says says = says_equal(874, 0.5, "servers");
    if (largest->ports == 14) {
        reason =
            figure_text(result,
                        "%u runs gave %.0f to %.0f servers, with a standard error of %.1f of the "
                        "mean",
                        largest->runs, largest->least, largest->most, capacity_error(largest));
        figure_claim_at(result, where, servers, says, largest->mean, 14, reason);
    } else {
        needs = "only the full size has 14-port switches: run it without --quick";
        figure_claim_needs(result, where, servers, says, needs, NAN, NULL);
    }
    figure_claim_needs(result, where, more, says_equal(27, 0.5, "%"), needs, capacity_more(largest),
                       reason);
}

static void capacity_claims(struct capacity_figure *figure, const struct capacity *capacities,
                            size_t count)
{
    struct figure_result *result = figure->result;
    const struct capacity *largest = &capacities[count - 1];
    struct score rises = {0}, above = {0};
    for (size_t i = 0; i < count; i++) {
        score_add(&above, capacities[i].mean >= (double)capacities[i].tree.servers);
        if (i > 0)
            score_add(&rises, capacity_more(&capacities[i]) > capacity_more(&capacities[i - 1]));
    }
    printed_claims(result, largest);
    score_claim(result, "fig 2c", "sizes at which Jellyfish has at least the fat-tree's servers",
                &above, NULL);
    score_claim(result, "section 4.1", "increases in size that raise the advantage", &rises, NULL);
    score_claim(result, "section 4", "search steps that their certificate decides",
                &figure->decided,
                figure_text(result,
                            "the throughput of the other steps is within %.3f %% of the full "
                            "rate, too close to decide in %d rounds; they count as not carried",
                            100 * figure->near, PHASE_MAX));
}

static enum err fig2c_run(struct figure_result *result, const struct figure_call *call,
                          struct why *why)
{
    static const uint32_t full[] = {6, 8, 10, 12, 14}, quick[] = {6, 8};
    const uint32_t *ports = call->quick ? quick : full;
    size_t count = call->quick ? sizeof quick / sizeof *quick : sizeof full / sizeof *full;
    uint32_t runs = call->quick ? 1 : 8;
    struct capacity_figure figure = {.result = result, .call = call};
    struct capacity capacities[sizeof full / sizeof *full] = {0};
    uint64_t done = 0, total = 0;
    figure.sizes =
        figure_table_add(result, "capacity",
                         "network, ports, switches, servers, servers_least, servers_most, "
                         "more_than_fattree (%), runs");
    figure.searches = figure_table_add(
        result, "searches", "ports, run, graph_seed, servers_found, servers, steps, undecided");
    figure.steps = figure_table_add(
        result, "steps",
        "ports, run, step, servers, matrix, matrix_seed, lower, upper, phases, carried");
    for (size_t i = 0; i < count; i++) {
        capacities[i] = (struct capacity){.ports = ports[i], .tree = cable_count_fattree(ports[i])};
        total += runs * capacities[i].tree.servers;
    }
    for (size_t i = 0; i < count; i++) {
        struct capacity *capacity = &capacities[i];
        for (uint32_t run = 0; run < runs; run++) {
            enum err err = capacity_run(&figure, capacity, run, i + 1 == count, why);
            if (err)
                return err;
            done += capacity->tree.servers;
            figure_progress(call, done, total);
        }
        capacity_rows(&figure, capacity);
    }
    capacity_claims(&figure, capacities, count);
    return OK;
}

const struct figure figure_jelly_fig2c = {
    .name = "jelly-fig2c",
    .paper = "Jellyfish",
    .what = "servers that a fat-tree's switches carry at full rate, connected at random",
    .full = {"switches of fat-trees of 6, 8, 10, 12, 14 ports, 8 runs each", .seconds = 300},
    .quick = {"switches of fat-trees of 6 and 8 ports, 1 run each", .seconds = 1},
    .choice =
        "The search tries each number of servers with three random permutations, in which "
        "every server sends to another one. Ten further permutations must confirm the number "
        "found; otherwise one server fewer is tried with all thirteen, until all are carried. "
        "A throughput of at least 1 - 10^-6 counts as full. The table \"steps\", which --out "
        "writes, has the certificates.",
    .plot.table = "capacity",
    .plot.x = {.column = "ports", .label = "ports of a switch", .step = 2},
    .plot.y = {.label = "servers at full capacity"},
    .plot.series =
        {
            {"Jellyfish", "servers", "network", "Jellyfish", STYLE_BOTH},
            {"fat-tree", "servers", "network", "fat-tree", STYLE_BOTH},
        },
    .run = fig2c_run,
};
