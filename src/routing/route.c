#include "routing/route.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"

const struct route_algorithm *route_find(const char *name)
{
    for (const struct route_algorithm *const *each = route_algorithms; *each; each++)
        if (!strcmp((*each)->name, name))
            return *each;
    return NULL;
}

enum err router_open(struct router *router, const char *algorithm, const struct topology *topology,
                     const struct route_options *options, struct why *why)
{
    *router = (struct router){.algorithm = route_find(algorithm), .topology = topology};
    if (!router->algorithm)
        return why_fail(why, ERR_USAGE, "there is no routing algorithm '%s'", algorithm);
    if (options)
        router->options = *options;
    enum err err = router->algorithm->open(router, why);
    if (err)
        return err;
    assert(router->move_max > 0 && router->lane_count > 0);
    return OK;
}

void router_close(struct router *router)
{
    if (router->algorithm->close)
        router->algorithm->close(router);
    *router = (struct router){0};
}

static void draw_start(const struct router *router, uint32_t from, uint32_t to, struct rng *rng,
                       struct route_state *state)
{
    const struct route_algorithm *algorithm = router->algorithm;
    if (algorithm->draw) {
        algorithm->draw(router, from, to, rng, state);
        return;
    }
    uint32_t count = algorithm->start_count(router, from, to);
    assert(count > 0);
    double left = rng_unit(rng);
    for (uint32_t i = 0; i < count; i++) {
        left -= algorithm->start(router, from, to, i, state);
        if (left < 0)
            return; /* rounding may leave a little more than 0: then the last one is taken */
    }
}

static const struct route_move *draw_move(const struct route_move *moves, uint32_t count,
                                          struct rng *rng)
{
    if (count == 1)
        return moves; /* no draw: a deterministic way uses no randomness */
    double left = rng_unit(rng);
    for (uint32_t i = 0; i + 1 < count; i++) {
        left -= moves[i].share;
        if (left < 0)
            return &moves[i];
    }
    return &moves[count - 1];
}

enum err route_walk(const struct router *router, uint32_t from, uint32_t to, struct rng *rng,
                    uint32_t *channels, uint32_t capacity, uint32_t *hops, struct why *why)
{
    const struct graph *graph = &router->topology->graph;
    struct route_move *moves = array_new(router->move_max, sizeof *moves);
    if (!moves)
        return why_memory(why);
    struct route_state state = {0};
    draw_start(router, from, to, rng, &state);
    uint32_t at = from, count;
    *hops = 0;
    while ((count = router->algorithm->moves(router, at, to, &state, moves)) > 0) {
        assert(count <= router->move_max && *hops < ROUTE_HOP_MAX);
        const struct route_move *move = draw_move(moves, count, rng);
        assert(graph_channel_from(graph, move->channel) == at);
        if (*hops < capacity)
            channels[*hops] = move->channel;
        ++*hops;
        at = graph_channel_to(graph, move->channel);
        state = move->next;
    }
    assert(at == to);
    free(moves);
    return OK;
}
