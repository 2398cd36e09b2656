/* bisection: proofs from below and searches from above, until they meet.
 *
 * The halvings of small graphs are enumerated completely. For larger graphs, the cheap proofs come
 * first, then the cuts that the coordinates suggest; if these meet, as for every torus of even
 * sizes, the work is done. Otherwise the search continues without coordinates, and the expensive
 * proofs follow. Everything depends on the topology and the seed only; work is limited by counting
 * it, never by the clock. */
#include "flow/bisection/bisection.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "flow/bisection/cayley.h"
#include "flow/bisection/clos.h"
#include "flow/bisection/congestion.h"
#include "flow/bisection/embedding.h"
#include "flow/bisection/exhaustive.h"
#include "flow/bisection/halving.h"
#include "flow/bisection/reach.h"
#include "flow/bisection/search.h"
#include "flow/bisection/spectral.h"
#include "flow/bisection/start.h"
#include "flow/bisection/structured.h"

#define FIEDLER_NODE_MAX 200000u /* for more nodes there is no spectral start */

double bisection_bollobas(double nodes, double degree)
{
    return nodes * (degree / 4 - sqrt(degree * log(2)) / 2);
}

uint64_t bisection_cut(const struct topology *topology, const uint8_t *side)
{
    uint64_t cut = 0;
    for (uint32_t e = 0; e < topology->graph.link_count; e++)
        cut += side[topology->graph.links[e].a] != side[topology->graph.links[e].b];
    return cut;
}

void bisection_fini(struct bisection *bisection)
{
    free(bisection->side);
    *bisection = (struct bisection){0};
}

/* Bollobas' bound; NaN if the graph is not random and regular, or if its halves are not halves of
 * the nodes. */
static double almost_surely(const struct topology *topology, const struct halving *halving)
{
    const struct graph *graph = &topology->graph;
    if (topology->kind != TOPOLOGY_JELLYFISH || !halving->uniform || graph->node_count == 0)
        return NAN;
    uint32_t degree = graph_degree(graph, 0);
    for (uint32_t v = 1; v < graph->node_count; v++)
        if (graph_degree(graph, v) != degree)
            return NAN;
    return fmax(0, bisection_bollobas(graph->node_count, degree));
}

/* A cut is an integer, so a bound may be rounded up; a little is subtracted first, because rounding
 * errors may have made an integer bound slightly too large. */
static void lower_raise(struct bisection *bisection, double bound, const char *method)
{
    double whole = ceil(bound - 1e-6);
    if (whole <= (double)bisection->lower)
        return;
    bisection->lower = (uint64_t)whole;
    bisection->lower_method = method;
}

static enum err lower_quick(struct bisection *bisection, const struct topology *topology,
                            const struct halving *halving, const struct cayley *cayley,
                            struct why *why)
{
    bool connected, whole;
    double bound;
    enum err err = graph_connected(&topology->graph, &connected, why);
    if (err)
        return err;
    if (halving->light > 0 && connected)
        lower_raise(bisection, 1, "connected");
    err = clos_check(topology, &whole, why);
    if (err)
        return err;
    if (whole)
        lower_raise(bisection, (double)halving->light * halving->unit, "non-blocking");
    if (!cayley->holds || !halving->uniform)
        return OK;
    double eigenvalue = cayley_second_eigenvalue(topology);
    bound = spectral_bound(halving, eigenvalue, eigenvalue) * (1 - 1e-12);
    lower_raise(bisection, bound, "spectral");
    err = congestion_lower(&topology->graph, halving, cayley, &bound, why);
    lower_raise(bisection, bound, "congestion");
    return err;
}

/* The spectral start and, if the eigenvalue is good enough, its proof. */
static enum err spectral_both(struct bisection *bisection, struct search *search,
                              const struct cayley *cayley, struct why *why)
{
    const struct graph *graph = &search->topology->graph;
    const struct halving *halving = search->halving;
    if (graph->node_count > FIEDLER_NODE_MAX)
        return OK;
    double *vector = array_new(graph->node_count, sizeof *vector);
    if (!vector)
        return why_memory(why);
    /* In a Cayley graph with equal weights the eigenvalue is known already. */
    bool found, provable = !(cayley->holds && halving->uniform);
    bool hurried = !provable || graph->node_count > SPECTRAL_NODE_MAX;
    double sigma, bound;
    observer_tell(&search->progress, "bisection, spectral cut", 0, 0);
    enum err err =
        spectral_estimate(graph, halving, hurried, search->seed, &found, &sigma, vector, why);
    if (!err && found)
        err = start_by_value(halving, vector, search->trial, why);
    if (!err && found)
        search_try(search, "spectral, refined");
    free(vector);
    if (err || !found || !provable || search_done(search))
        return err;
    err = spectral_lower(graph, halving, sigma, search->seed, search->progress, &bound, why);
    lower_raise(bisection, bound, "spectral");
    search->floor = bisection->lower;
    return err;
}

static enum err bracket(struct bisection *bisection, struct search *search,
                        const struct cayley *cayley, struct why *why)
{
    const struct topology *topology = search->topology;
    const struct halving *halving = search->halving;
    observer_tell(&search->progress, "bisection, quick bounds", 0, 0);
    enum err err = lower_quick(bisection, topology, halving, cayley, why);
    search->floor = bisection->lower;
    observer_tell(&search->progress, "bisection, structured cuts", 0, 0);
    if (!err)
        err = structured_search(search, why);
    if (!err && !search_done(search) && cayley->holds && halving->uniform) {
        double eigenvalue;
        observer_tell(&search->progress, "bisection, embedding bound", 0, 0);
        err = embedding_eigenvalue(topology, &eigenvalue, why);
        lower_raise(bisection, spectral_bound(halving, eigenvalue, eigenvalue) * (1 - 1e-12),
                    "embedding");
        search->floor = bisection->lower;
    }
    if (!err && !search_done(search))
        err = spectral_both(bisection, search, cayley, why);
    if (!err && !search_done(search) && !(cayley->holds && halving->uniform)) {
        double bound;
        observer_tell(&search->progress, "bisection, congestion bound", 0, 0);
        err = congestion_lower(&topology->graph, halving, cayley, &bound, why);
        lower_raise(bisection, bound, "congestion");
        search->floor = bisection->lower;
    }
    if (!err && !search_done(search))
        err = search_starts(search, why);
    return err;
}

static enum err search_all(struct bisection *bisection, const struct topology *topology,
                           const struct halving *halving, uint64_t seed, struct observer progress,
                           struct why *why)
{
    struct search search;
    struct cayley cayley;
    enum err err = cayley_init(&cayley, topology, why);
    if (err)
        return err;
    err = search_init(&search, topology, halving, seed, why);
    if (!err) {
        search.progress = progress;
        err = bracket(bisection, &search, &cayley, why);
        if (!err) {
            bisection->upper = search.cut;
            bisection->upper_method = search.method;
            memcpy(bisection->side, search.best, halving->node_count);
        }
        search_fini(&search);
    }
    cayley_fini(&cayley);
    return err;
}

static enum err find(struct bisection *bisection, const struct topology *topology, uint64_t seed,
                     uint32_t exhaustive_max, struct observer progress, struct why *why)
{
    uint32_t nodes = topology->graph.node_count;
    struct halving halving;
    *bisection = (struct bisection){.lower_method = "none", .upper_method = "none"};
    enum err err = halving_init(&halving, topology, why);
    if (err)
        return err;
    bisection->almost_surely = almost_surely(topology, &halving);
    bisection->side = array_new(nodes, 1);
    if (!bisection->side) {
        err = why_memory(why);
    } else if (nodes == 0) {
        bisection->upper = 0;
    } else if (nodes <= exhaustive_max) {
        bisection->upper = exhaustive_find(&topology->graph, &halving, bisection->side);
        bisection->lower = bisection->upper;
        bisection->lower_method = bisection->upper_method = "exhaustive";
    } else {
        err = search_all(bisection, topology, &halving, seed, progress, why);
    }
    if (!err && nodes) {
        assert(halving_holds(&halving, bisection->side));
        assert(bisection_cut(topology, bisection->side) == bisection->upper);
        assert(bisection->lower <= bisection->upper);
    }
    halving_fini(&halving);
    if (err)
        bisection_fini(bisection);
    return err;
}

enum err bisection_find(struct bisection *bisection, const struct topology *topology, uint64_t seed,
                        struct why *why)
{
    return bisection_watch(bisection, topology, seed, (struct observer){0}, why);
}

enum err bisection_watch(struct bisection *bisection, const struct topology *topology,
                         uint64_t seed, struct observer progress, struct why *why)
{
    return find(bisection, topology, seed, EXHAUSTIVE_NODE_MAX, progress, why);
}

enum err bisection_bracket(struct bisection *bisection, const struct topology *topology,
                           uint64_t seed, struct why *why)
{
    return find(bisection, topology, seed, 0, (struct observer){0}, why);
}

enum err bisection_raise(struct bisection *bisection, const struct topology *topology,
                         const struct distance_tally *tally, struct why *why)
{
    struct halving halving;
    enum err err = halving_init(&halving, topology, why);
    if (err)
        return err;
    uint64_t bound = reach_lower(topology, &halving, tally);
    assert(bound <= bisection->upper);
    if (bound > bisection->lower) {
        bisection->lower = bound;
        bisection->lower_method = "distances";
    }
    halving_fini(&halving);
    return OK;
}
