/* total: the solver.
 *
 * The part of a demand that is not served counts as carried on a path of its own with length 1; a
 * channel that carries x weighs exp(sharpness * (x - 1)). Moving traffic until no path of a demand
 * is longer than another that it could use minimises
 *
 *   sum over channels of exp(sharpness * (x - 1)) / sharpness + all that is not served
 *
 * A full channel weighs 1, as much as a unit that is not served, so no channel is filled beyond
 * that except for rounding; a channel that weighs w is only log(1 / w) / sharpness short of full.
 * The gap of the proof has two parts,
 *
 *   sum of w * (1 - x)                       too smooth: smaller with more sharpness
 *   excess length of paths over the shortest not balanced: smaller with more rounds
 *
 * and the sharpness is raised whenever the first is the larger one, as in flow/concurrent, whose
 * rounds of prices and of balance are used here. */
#include "flow/total/total.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "flow/concurrent/balance.h"
#include "flow/concurrent/price.h"
#include "flow/concurrent/spread.h"
#include "topology/measure/parts.h"

static const double sharpness_start = 5, sharpness_step = 1.2;

/* A round's balance ends when less than this share of the gap can be gained. */
static const double balance_tolerance = 0.05;

/* Prices keep a known path if the shortest path is shorter by rounding only. If all weights are
 * raised by more than that, no distance under them is below the length of the shortest known path
 * under the original weights. */
static const double rounding = 1e-8;

static const double weight_min = 1e-12;

enum {
    PHASE_MAX = 5000,
    SWEEP_MAX = 100, /* sweeps of the balance per round */
};

struct solver {
    const struct graph *graph;
    struct traffic traffic;    /* demands whose ends are connected */
    struct flow_spread spread; /* its rates sum to the served part of each demand */
    struct balance balance;    /* the weights, and the moves */
    struct price price;
    double lower, upper; /* the best so far */
    double smooth;       /* the two parts of the gap */
    double unbalanced;
};

/* --- which demands have a path --- */

/* Keeps the demands that have a path and adds up the others. */
static enum err reachable(const struct graph *graph, const struct traffic *traffic,
                          struct traffic *kept, double *unreachable, struct why *why)
{
    uint32_t *part = NULL;
    struct demand *demands = array_new(traffic->count, sizeof *demands);
    enum err err = demands ? parts_label(graph, &part, why) : why_memory(why);
    *unreachable = 0;
    *kept = (struct traffic){.demands = demands};
    for (size_t k = 0; k < traffic->count && !err; k++) {
        const struct demand *demand = &traffic->demands[k];
        if (part[demand->from] == part[demand->to])
            demands[kept->count++] = *demand;
        else
            *unreachable += demand->amount;
    }
    free(part);
    if (err)
        traffic_fini(kept);
    return err;
}

/* --- moves --- */

static double served(const struct solver *solver, size_t demand)
{
    const struct path_set *paths = &solver->spread.paths;
    double sum = 0;
    for (size_t p = paths->pair_first[demand]; p < paths->pair_first[demand + 1]; p++)
        sum += solver->spread.rates[p];
    return sum;
}

/* Serves more or less of a demand over this path until its length is 1. Returns the possible
 * gain. */
static double serve(struct solver *solver, size_t path, double unserved)
{
    struct balance *balance = &solver->balance;
    double length = balance_length(balance, path), rate = solver->spread.rates[path];
    double more = fmin(fmax(-log(length) / balance->sharpness, -rate), unserved);
    balance_load(balance, path, more);
    return length > 1 ? rate * (length - 1) : unserved * (1 - length);
}

/* Returns the possible gain of all moves. */
static double sweep_demand(struct solver *solver, size_t demand)
{
    const struct path_set *paths = &solver->spread.paths;
    size_t first = paths->pair_first[demand], end = paths->pair_first[demand + 1];
    size_t shortest = first;
    double least = INFINITY, gain = 0;
    for (size_t p = first; p < end; p++) {
        double length = balance_length(&solver->balance, p);
        if (length < least) {
            least = length;
            shortest = p;
        }
    }
    for (size_t p = first; p < end; p++)
        if (p != shortest && solver->spread.rates[p] > 0)
            gain += balance_shift(&solver->balance, p, shortest);
    double amount = solver->traffic.demands[demand].amount;
    gain += serve(solver, shortest, fmax(0, amount - served(solver, demand)));
    for (size_t p = first; p < end; p++)
        if (p != shortest && solver->spread.rates[p] > 0)
            gain += serve(solver, p, 0);
    return gain;
}

/* Computes the loads again from the rates, and the bound that they give. */
static void settle(struct solver *solver)
{
    struct flow_spread *spread = &solver->spread;
    const struct path_set *paths = &spread->paths;
    double all = 0;
    memset(spread->load, 0, graph_channel_count(solver->graph) * sizeof *spread->load);
    for (size_t p = 0; p < paths->path_count; p++) {
        spread->rates[p] = fmax(spread->rates[p], 0);
        all += spread->rates[p];
        for (size_t h = paths->path_first[p]; h < paths->path_first[p + 1]; h++)
            spread->load[paths->channels[h]] += spread->rates[p];
    }
    spread->busiest = 1; /* or the factor by which all rates must be divided to fit */
    for (size_t c = 0; c < graph_channel_count(solver->graph); c++)
        spread->busiest = fmax(spread->busiest, spread->load[c]);
    for (size_t k = 0; k < paths->pair_count; k++)
        spread->busiest =
            fmax(spread->busiest, served(solver, k) / solver->traffic.demands[k].amount);
    solver->lower = fmax(solver->lower, all / spread->busiest);
}

/* Sweeps over all demands until there is little to gain, relative to the gap; leaves as weights the
 * mean of those after each sweep of the later half, which proves more than a single one, or those
 * after the last sweep if it ends early. */
static void balance_all(struct solver *solver)
{
    struct balance *balance = &solver->balance;
    const double *load = solver->spread.load;
    size_t channels = graph_channel_count(solver->graph);
    double gain = INFINITY, little = balance_tolerance * (solver->upper - solver->lower);
    uint32_t averaged = 0;
    memset(balance->weight, 0, channels * sizeof *balance->weight);
    for (size_t c = 0; c < channels; c++)
        balance->channels[c].weight = fmax(exp(balance->sharpness * (load[c] - 1)), weight_min);
    for (uint32_t i = 1; i <= SWEEP_MAX && gain > little; i++) {
        gain = 0;
        for (size_t k = 0; k < solver->traffic.count; k++)
            gain += sweep_demand(solver, k);
        if (2 * i <= SWEEP_MAX && gain > little)
            continue;
        for (size_t c = 0; c < channels; c++)
            balance->weight[c] += balance->channels[c].weight;
        averaged++;
    }
    assert(averaged > 0);
    for (size_t c = 0; c < channels; c++)
        balance->weight[c] /= averaged;
    settle(solver);
}

/* --- bounds --- */

/* Adds new paths, and computes the bound that the weights prove. */
static enum err bound(struct solver *solver, struct why *why)
{
    struct balance *balance = &solver->balance;
    const struct flow_spread *spread = &solver->spread;
    const struct path_set *paths = &spread->paths;
    bool fresh = paths->pair_count == 0;
    double sum = 0;
    size_t apart = 0;
    enum err err = price_round(&solver->price, &solver->spread, balance->weight, &sum, &apart, why);
    if (err)
        return err;
    assert(isfinite(sum));
    if (fresh) /* nothing is served yet */
        memset(spread->rates, 0, paths->path_count * sizeof *spread->rates);
    double upper = 0;
    solver->smooth = solver->unbalanced = 0;
    for (size_t c = 0; c < graph_channel_count(solver->graph); c++) {
        upper += balance->weight[c] * (1 + rounding);
        solver->smooth += balance->weight[c] * (1 - spread->load[c]);
    }
    for (size_t k = 0; k < paths->pair_count; k++) {
        double distance = INFINITY;
        for (size_t p = paths->pair_first[k]; p < paths->pair_first[k + 1]; p++) {
            double length = path_set_length(paths, p, balance->weight);
            distance = fmin(distance, length);
            solver->unbalanced += spread->rates[p] * (length - 1);
        }
        double worth = solver->traffic.demands[k].amount * fmax(0, 1 - distance);
        upper += worth;
        solver->unbalanced += worth;
    }
    solver->upper = fmin(solver->upper, upper);
    return OK;
}

static enum err solve(struct solver *solver, double gap, uint64_t phase_max, uint64_t *phases,
                      struct why *why)
{
    struct balance *balance = &solver->balance;
    for (*phases = 0; *phases < phase_max; ++*phases) {
        enum err err = bound(solver, why);
        if (err)
            return err;
        if (solver->upper <= solver->lower * (1 + gap))
            return OK;
        if (balance->sharpness == 0)
            balance->sharpness = sharpness_start;
        else if (solver->smooth > solver->unbalanced)
            balance->sharpness *= sharpness_step;
        balance_all(solver);
    }
    return OK;
}

static void solver_close(struct solver *solver)
{
    price_close(&solver->price);
    balance_close(&solver->balance);
    spread_close(&solver->spread);
    traffic_fini(&solver->traffic);
}

/* Takes ownership of the traffic, also on failure. */
static enum err solver_open(struct solver *solver, const struct graph *graph,
                            struct traffic traffic, struct why *why)
{
    *solver = (struct solver){.graph = graph, .traffic = traffic, .upper = INFINITY};
    enum err err = spread_open(&solver->spread, graph, &solver->traffic, why);
    if (!err)
        err = balance_open(&solver->balance, &solver->spread, why);
    if (!err)
        err = price_open(&solver->price, graph, &solver->traffic, why);
    if (err)
        solver_close(solver);
    return err;
}

enum err total_solve(struct total *total, const struct topology *topology,
                     const struct traffic *traffic, double gap, uint64_t phase_max, struct why *why)
{
    assert(gap > 0);
    struct solver solver;
    struct traffic kept;
    *total = (struct total){0};
    enum err err = reachable(&topology->graph, traffic, &kept, &total->unreachable, why);
    if (err)
        return err;
    if (!kept.count) { /* the result is exactly 0 */
        traffic_fini(&kept);
        return OK;
    }
    err = solver_open(&solver, &topology->graph, kept, why);
    if (err)
        return err;
    err = solve(&solver, gap, phase_max ? phase_max : PHASE_MAX, &total->phases, why);
    total->lower = solver.lower;
    total->upper = solver.upper;
    solver_close(&solver);
    return err;
}
