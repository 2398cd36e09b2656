#include "routing/deadlock/leg.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"

static enum err start_add(struct leg *leg, uint32_t from, uint32_t start, struct why *why)
{
    const struct router *router = leg->explore.router;
    struct route_state state = {0};
    router->algorithm->start(router, from, leg->explore.to, start, &state);
    if (state.phase == 0)
        return explore_start(&leg->explore, from, start, 0, why);
    if (!array_reserve(&leg->beyond, &leg->beyond_capacity, leg->beyond_count + 1,
                       sizeof *leg->beyond))
        return why_memory(why);
    leg->beyond[leg->beyond_count++] = (struct leg_start){.from = from, .start = start};
    return OK;
}

enum err leg_open(struct leg *leg, const struct router *router, struct lane_rule rule, uint32_t to,
                  struct why *why)
{
    const struct topology *topology = router->topology;
    assert(router->algorithm->roams && rule.kind != LANE_KEPT);
    *leg = (struct leg){0};
    enum err err = explore_open(&leg->explore, router, rule, why);
    explore_begin(&leg->explore, to);
    for (uint32_t from = 0; !err && from < topology->graph.node_count; from++) {
        if (!explore_is_end(topology, from))
            continue;
        uint32_t starts = router->algorithm->start_count(router, from, to);
        for (uint32_t start = 0; !err && start < starts; start++)
            err = start_add(leg, from, start, why);
    }
    return err;
}

void leg_close(struct leg *leg)
{
    explore_close(&leg->explore);
    free(leg->crossings);
    free(leg->beyond);
    *leg = (struct leg){0};
}

static const struct held *held_of(const struct leg *leg, uint32_t state)
{
    return intern_record(&leg->explore.met, state);
}

enum err leg_next(struct leg *leg, bool *more, struct why *why)
{
    struct explore *explore = &leg->explore;
    for (; explore->done < explore->met.count; explore->done++) {
        if (held_of(leg, explore->done)->state.phase == 0)
            break;
        if (!array_reserve(&leg->crossings, &leg->crossing_capacity, leg->crossing_count + 1,
                           sizeof *leg->crossings))
            return why_memory(why);
        leg->crossings[leg->crossing_count++] = explore->done;
    }
    return explore_next(explore, more, why);
}

enum err leg_begin(struct leg *leg, struct explore *explore, struct why *why)
{
    enum err err = OK;
    assert(leg->explore.done == leg->explore.met.count);
    leg->crossed = 0;
    for (size_t i = 0; !err && i < leg->beyond_count; i++)
        err = explore_start(explore, leg->beyond[i].from, leg->beyond[i].start, 0, why);
    return err;
}

enum err leg_cross(struct leg *leg, struct explore *explore, struct why *why)
{
    enum err err = OK;
    for (; !err && leg->crossed < leg->crossing_count; leg->crossed++) {
        uint32_t state = leg->crossings[leg->crossed];
        struct held_by by = leg->explore.holders[state];
        if (!explore_awaits(explore, by.hops))
            break;
        err = explore_meet(explore, held_of(leg, state), by, why);
    }
    return err;
}
