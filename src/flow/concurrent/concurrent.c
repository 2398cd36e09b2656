/* concurrent: the solver.
 *
 * All demands are routed in full, and the load of the busiest channel is minimised: throughput is
 * its inverse. Each round has two parts:
 *
 *   price    shortest paths under the current weights: an upper bound, and
 *            paths that the demands do not use yet;
 *   balance  traffic moves between the paths that each demand has, which gives
 *            new loads (a lower bound) and new weights.
 *
 * With weights w, loads x, t the sum of amount times distance, and b the busiest load, the gap
 * upper / lower = b * sum(w) / t is a product of two factors:
 *
 *   b * sum(w) / sum(x * w)   too smooth: weight on channels that are not full;
 *                             becomes smaller with more sharpness
 *   sum(x * w) / t            not balanced: traffic on paths that are not shortest;
 *                             becomes smaller with more rounds
 *
 * so the sharpness is raised exactly when the first factor is the larger one. Starting with little
 * sharpness makes the first rounds converge fast, and most networks need little: if nearly all
 * channels are full, weights are nearly equal. */
#include "flow/concurrent/concurrent.h"

#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"
#include "flow/concurrent/balance.h"
#include "flow/concurrent/price.h"
#include "flow/concurrent/spread.h"

/* Sharpness times busiest load: the start value, and the factor by which it is raised. */
static const double sharpness_start = 3, sharpness_step = 1.5;

/* A round's balance ends when less than this share of the gap can be gained. */
static const double balance_tolerance = 0.003;

enum {
    PHASE_MAX = 20000,
    /* The balance of a round may take SWEEP_EFFORT times the effort of the prices, but makes at
     * least SWEEP_MIN and at most SWEEP_MAX sweeps. */
    SWEEP_MIN = 10,
    SWEEP_MAX = 100,
    SWEEP_EFFORT = 3,
};

struct solver {
    const struct topology *topology;
    const struct concurrent_options *options;
    struct flow_spread spread;
    struct balance balance;
    struct price price;
    double *best_weight; /* the weights that proved `upper` */
    double upper;        /* the smallest so far */
    uint64_t phases;
};

static size_t solver_channels(const struct solver *solver)
{
    return graph_channel_count(&solver->topology->graph);
}

static void solver_close(struct solver *solver)
{
    free(solver->best_weight);
    price_close(&solver->price);
    balance_close(&solver->balance);
    spread_close(&solver->spread);
}

/* If only given paths are allowed, the spread has them all from the start, with the traffic on the
 * first path of each demand. */
static enum err spread_given(struct flow_spread *spread, const struct path_set *given,
                             struct why *why)
{
    assert(given->pair_count == spread->traffic->count);
    for (size_t k = 0; k < given->pair_count; k++) {
        enum err err = path_set_pair(&spread->paths, why);
        size_t first = given->pair_first[k];
        assert(first < given->pair_first[k + 1]);
        for (size_t p = first; !err && p < given->pair_first[k + 1]; p++)
            err = spread_add(spread, path_set_channels(given, p), path_set_hops(given, p),
                             p == first ? spread->traffic->demands[k].amount : 0, why);
        if (err)
            return err;
    }
    return OK;
}

static enum err solver_open(struct solver *solver, const struct topology *topology,
                            const struct traffic *traffic, const struct concurrent_options *options,
                            struct why *why)
{
    *solver = (struct solver){.topology = topology, .options = options, .upper = INFINITY};
    const struct graph *graph = &topology->graph;
    solver->best_weight = array_new(solver_channels(solver), sizeof *solver->best_weight);
    enum err err = solver->best_weight ? OK : why_memory(why);
    if (!err)
        err = spread_open(&solver->spread, graph, traffic, why);
    if (!err)
        err = balance_open(&solver->balance, &solver->spread, why);
    if (!err)
        err = price_open(&solver->price, graph, traffic, why);
    if (!err && options->paths)
        err = spread_given(&solver->spread, options->paths, why);
    if (err)
        solver_close(solver);
    return err;
}

static enum err refuse_apart(const struct solver *solver, size_t apart, struct why *why)
{
    const struct topology *topology = solver->topology;
    const struct demand *demand = &solver->spread.traffic->demands[apart];
    char from[NODE_NAME_SIZE], to[NODE_NAME_SIZE];
    return why_fail(why, ERR_NO, "the traffic has a demand from %s to %s, but there is no path",
                    topology_name(topology, demand->from, from),
                    topology_name(topology, demand->to, to));
}

/* Runs one round of prices, and keeps the upper bound that the round proves if it is the best so
 * far. Sets *total as price_round does. */
static enum err bound(struct solver *solver, double *total, struct why *why)
{
    const double *weight = solver->balance.weight;
    if (solver->options->paths)
        *total = price_given(&solver->spread, weight);
    else {
        size_t apart = 0;
        enum err err = price_round(&solver->price, &solver->spread, weight, total, &apart, why);
        if (err)
            return err;
        if (*total == INFINITY)
            return refuse_apart(solver, apart, why);
    }
    double sum = 0;
    for (size_t c = 0; c < solver_channels(solver); c++)
        sum += weight[c];
    if (sum / *total < solver->upper) {
        solver->upper = sum / *total;
        for (size_t c = 0; c < solver_channels(solver); c++)
            solver->best_weight[c] = weight[c];
    }
    solver->phases++;
    return OK;
}

/* Raises the sharpness if smoothness is the larger of the two factors of the gap. */
static void sharpen(struct solver *solver, double total)
{
    const struct flow_spread *spread = &solver->spread;
    struct balance *balance = &solver->balance;
    if (balance->sharpness == 0) {
        balance->sharpness = sharpness_start / spread->busiest;
        return;
    }
    double sum = 0, loaded = 0;
    for (size_t c = 0; c < solver_channels(solver); c++) {
        sum += balance->weight[c];
        loaded += balance->weight[c] * spread->load[c];
    }
    if (spread->busiest * sum / loaded > loaded / total)
        balance->sharpness *= sharpness_step;
}

static bool solved(const struct solver *solver)
{
    const struct concurrent_options *options = solver->options;
    double lower = 1 / solver->spread.busiest;
    return solver->upper <= lower * (1 + options->gap) ||
           (options->enough > 0 && lower >= options->enough) ||
           (options->too_little > 0 && solver->upper < options->too_little) ||
           solver->phases >= (options->phase_max ? options->phase_max : PHASE_MAX);
}

static uint32_t sweeps(const struct solver *solver)
{
    double ratio =
        SWEEP_EFFORT * price_effort(&solver->price) / (double)(solver->spread.paths.hop_count + 1);
    return (uint32_t)fmin(SWEEP_MAX, fmax(SWEEP_MIN, ratio));
}

static enum err solve(struct solver *solver, struct why *why)
{
    const struct concurrent_options *options = solver->options;
    for (;;) {
        double total;
        enum err err = bound(solver, &total, why);
        if (err)
            return err;
        if (solver->phases == 1)
            spread_settle(&solver->spread);
        double lower = 1 / solver->spread.busiest;
        if (options->progress)
            options->progress(options->context, lower, solver->upper);
        if (solved(solver))
            return OK;
        sharpen(solver, total);
        err = balance_run(&solver->balance, sweeps(solver),
                          balance_tolerance * (solver->upper / lower - 1), why);
        if (err)
            return err;
    }
}

/* Returns the flow scaled to fit, without the paths that carry nothing. */
static enum err answer(struct concurrent *concurrent, struct solver *solver, struct why *why)
{
    const struct flow_spread *spread = &solver->spread;
    const struct path_set *paths = &spread->paths;
    check_slow(spread_check(spread));
    *concurrent = (struct concurrent){.lower = 1 / spread->busiest,
                                      .upper = solver->upper,
                                      .gap = solver->upper * spread->busiest - 1,
                                      .phases = solver->phases};
    concurrent->rates = array_new(paths->path_count, sizeof *concurrent->rates);
    if (!concurrent->rates)
        return why_memory(why);
    for (size_t k = 0; k < paths->pair_count; k++) {
        enum err err = path_set_pair(&concurrent->flow, why);
        for (size_t p = paths->pair_first[k]; !err && p < paths->pair_first[k + 1]; p++) {
            if (spread->rates[p] <= 0)
                continue;
            concurrent->rates[concurrent->flow.path_count] = spread->rates[p] / spread->busiest;
            err = path_set_path(&concurrent->flow, path_set_channels(paths, p),
                                path_set_hops(paths, p), why);
        }
        if (err) {
            concurrent_fini(concurrent);
            return err;
        }
    }
    concurrent->weights = solver->best_weight;
    solver->best_weight = NULL;
    return OK;
}

enum err concurrent_solve(struct concurrent *concurrent, const struct topology *topology,
                          const struct traffic *traffic, const struct concurrent_options *options,
                          struct why *why)
{
    assert(options->gap > 0);
    if (!traffic->count)
        return why_fail(why, ERR_INPUT,
                        "all traffic stays within its nodes, so no link carries any");
    struct solver solver;
    enum err err = solver_open(&solver, topology, traffic, options, why);
    if (err)
        return err;
    err = solve(&solver, why);
    if (!err)
        err = answer(concurrent, &solver, why);
    solver_close(&solver);
    return err;
}

void concurrent_fini(struct concurrent *concurrent)
{
    path_set_fini(&concurrent->flow);
    free(concurrent->rates);
    free(concurrent->weights);
    *concurrent = (struct concurrent){0};
}
