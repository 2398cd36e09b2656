#include "flow/bisection/search.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "base/rng.h"
#include "flow/bisection/start.h"

/* Streams of random numbers, one for each use. */
enum { STREAM_RANDOM = 1, STREAM_GROWN, STREAM_SHAKE, STREAM_METIS };

enum err search_init(struct search *search, const struct topology *topology,
                     const struct halving *halving, uint64_t seed, struct why *why)
{
    *search = (struct search){
        .topology = topology, .halving = halving, .seed = seed, .cut = UINT64_MAX, .method = ""};
    enum err err = refine_init(&search->refine, &topology->graph, halving, why);
    if (err)
        return err;
    search->trial = array_new(halving->node_count, 1);
    search->best = array_new(halving->node_count, 1);
    if (search->trial && search->best)
        return OK;
    search_fini(search);
    return why_memory(why);
}

void search_fini(struct search *search)
{
    refine_fini(&search->refine);
    free(search->trial);
    free(search->best);
    *search = (struct search){0};
}

void search_try(struct search *search, const char *method)
{
    if (search->start < search->starts)
        observer_tell(&search->progress, "bisection, search", search->start++, search->starts);
    uint64_t cut = refine_run(&search->refine, search->trial);
    if (cut >= search->cut)
        return;
    search->cut = cut;
    search->method = method;
    memcpy(search->best, search->trial, search->halving->node_count);
}

static enum err try_metis(struct search *search, uint32_t runs, struct why *why)
{
    const struct graph *graph = &search->topology->graph;
    struct start_metis metis;
    struct rng rng = rng_make(search->seed, STREAM_METIS);
    enum err err = start_metis_init(&metis, graph, search->halving, why);
    if (err)
        return err;
    for (uint32_t i = 0; i < runs && !err && !search_done(search); i++) {
        bool found = false;
        err = start_metis_run(&metis, (uint32_t)rng_next(&rng), search->trial, &found, why);
        if (found)
            search_try(search, "METIS, refined");
    }
    start_metis_fini(&metis);
    return err;
}

static enum err try_regions(struct search *search, uint32_t runs, struct why *why)
{
    const struct graph *graph = &search->topology->graph;
    struct rng grown = rng_make(search->seed, STREAM_GROWN);
    struct rng random = rng_make(search->seed, STREAM_RANDOM);
    for (uint32_t i = 0; i < runs && !search_done(search); i++) {
        enum err err = start_grown(graph, search->halving, &grown, search->trial, why);
        if (err)
            return err;
        search_try(search, "grown region, refined");
        err = start_random(search->halving, &random, search->trial, why);
        if (err)
            return err;
        search_try(search, "random, refined");
    }
    return OK;
}

/* Moves some nodes of the best halving to the other side and refines it again. */
static void try_shaken(struct search *search, uint32_t runs)
{
    uint32_t nodes = search->halving->node_count;
    struct rng rng = rng_make(search->seed, STREAM_SHAKE);
    for (uint32_t i = 0; i < runs && !search_done(search); i++) {
        memcpy(search->trial, search->best, nodes);
        uint32_t thrown = 2 + (uint32_t)rng_below(&rng, 2 + nodes / 16);
        for (uint32_t j = 0; j < thrown; j++)
            search->trial[rng_below(&rng, nodes)] ^= 1;
        search_try(search, search->method);
    }
}

enum err search_starts(struct search *search, struct why *why)
{
    const struct graph *graph = &search->topology->graph;
    double size = 1.0 + graph->node_count + graph->link_count;
    double runs = 3e6 / size;
    uint32_t count = runs < 1 ? 1 : runs > 24 ? 24 : (uint32_t)runs;
    uint32_t by_metis = count < 3 ? count + 1 : count, regions = count / 2, shaken = 2 * count;
    search->starts = by_metis + 2 * regions + shaken;
    enum err err = try_metis(search, by_metis, why);
    if (!err)
        err = try_regions(search, regions, why);
    if (err)
        return err;
    if (search->cut == UINT64_MAX) { /* METIS failed; the graph is too large for the others */
        struct rng rng = rng_make(search->seed, STREAM_RANDOM);
        err = start_random(search->halving, &rng, search->trial, why);
        if (err)
            return err;
        search_try(search, "random, refined");
    }
    try_shaken(search, shaken);
    assert(halving_holds(search->halving, search->best));
    return OK;
}
