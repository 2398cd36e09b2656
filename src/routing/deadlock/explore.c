#include "routing/deadlock/explore.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"

enum err explore_open(struct explore *explore, const struct router *router, struct lane_rule rule,
                      struct why *why)
{
    assert(rule.kind != LANE_FOLDED || rule.count > 0);
    *explore = (struct explore){
        .router = router,
        .rule = rule,
        .met.size = sizeof(struct held),
        .moves = array_new(router->move_max, sizeof *explore->moves),
    };
    return explore->moves ? OK : why_memory(why);
}

void explore_close(struct explore *explore)
{
    intern_fini(&explore->met);
    free(explore->holders);
    free(explore->moves);
    *explore = (struct explore){0};
}

void explore_begin(struct explore *explore, uint32_t to)
{
    intern_clear(&explore->met);
    explore->done = 0;
    explore->to = to;
}

/* The lane of the next hop of a packet that has made `hops` hops. */
static uint32_t lane_of(const struct explore *explore, uint32_t own, uint32_t kept, uint32_t hops)
{
    switch (explore->rule.kind) {
    case LANE_OWN:
        return own;
    case LANE_FOLDED:
        return own % explore->rule.count;
    case LANE_HOPS:
        return hops;
    case LANE_KEPT:
        return kept;
    }
    assert_unreachable();
}

enum err explore_meet(struct explore *explore, const struct held *held, struct held_by by,
                      struct why *why)
{
    uint32_t number;
    bool new;
    if (!intern_add(&explore->met, held, &number, &new) ||
        !array_reserve(&explore->holders, &explore->holder_capacity, explore->met.count,
                       sizeof *explore->holders))
        return why_memory(why);
    if (new)
        explore->holders[number] = by;
    return OK;
}

/* Lists the moves from a state and adds the states that they lead to. */
static enum err follow(struct explore *explore, uint32_t at, const struct route_state *state,
                       struct held_by by, uint32_t kept, struct why *why)
{
    const struct router *router = explore->router;
    explore->move_count = router->algorithm->moves(router, at, explore->to, state, explore->moves);
    assert(explore->move_count <= router->move_max && by.hops < ROUTE_HOP_MAX);
    for (uint32_t i = 0; i < explore->move_count; i++) {
        struct route_move *move = &explore->moves[i];
        assert(graph_channel_from(&router->topology->graph, move->channel) == at);
        move->lane = lane_of(explore, move->lane, kept, by.hops);
        struct held held = {.channel = move->channel, .lane = move->lane, .state = move->next};
        struct held_by next = {.from = by.from, .hops = by.hops + 1};
        enum err err = explore_meet(explore, &held, next, why);
        if (err)
            return err;
    }
    return OK;
}

enum err explore_start(struct explore *explore, uint32_t from, uint32_t start, uint32_t lane,
                       struct why *why)
{
    const struct router *router = explore->router;
    struct route_state state = {0};
    router->algorithm->start(router, from, explore->to, start, &state);
    return follow(explore, from, &state, (struct held_by){.from = from}, lane, why);
}

enum err explore_next(struct explore *explore, bool *more, struct why *why)
{
    *more = explore->done < explore->met.count;
    if (!*more)
        return OK;
    explore->held = *(const struct held *)intern_record(&explore->met, explore->done);
    explore->holder = explore->holders[explore->done++];
    uint32_t at = graph_channel_to(&explore->router->topology->graph, explore->held.channel);
    return follow(explore, at, &explore->held.state, explore->holder, explore->held.lane, why);
}
