#include "routing/deadlock/dependency.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"

void dependency_fini(struct dependency *dependency)
{
    intern_fini(&dependency->channels);
    intern_fini(&dependency->waits);
    free(dependency->examples);
    *dependency = (struct dependency){0};
}

static bool vertex_of(struct dependency *dependency, uint32_t channel, uint32_t lane,
                      uint32_t *vertex)
{
    struct virtual_channel at = {.channel = channel, .lane = lane};
    bool new;
    return intern_add(&dependency->channels, &at, vertex, &new);
}

static bool wait_add(struct dependency *dependency, const uint32_t *wait, struct waiting example)
{
    uint32_t number;
    bool new;
    if (!intern_add(&dependency->waits, wait, &number, &new) ||
        !array_reserve(&dependency->examples, &dependency->example_capacity,
                       dependency->waits.count, sizeof *dependency->examples))
        return false;
    if (new || example.hops < dependency->examples[number].hops)
        dependency->examples[number] = example;
    return true;
}

/* Puts a number in its place among `count` in rising order, unless it is there. */
static uint32_t insert_sorted(uint32_t *numbers, uint32_t count, uint32_t number)
{
    uint32_t at = count;
    while (at > 0 && numbers[at - 1] > number)
        at--;
    if (at > 0 && numbers[at - 1] == number)
        return count;
    memmove(numbers + at + 1, numbers + at, (count - at) * sizeof *numbers);
    numbers[at] = number;
    return count + 1;
}

/* The waits of the state that was met last. `wait` has room for one. */
static bool state_add(struct dependency *dependency, const struct explore *explore, uint32_t *wait)
{
    struct waiting example = {
        .from = explore->holder.from, .to = explore->to, .hops = explore->holder.hops};
    bool oblivious = explore->router->algorithm->oblivious;
    uint32_t count = 0;
    dependency->states++;
    if (!vertex_of(dependency, explore->held.channel, explore->held.lane, &wait[0]))
        return false;
    for (uint32_t i = 0; i < explore->move_count; i++) {
        uint32_t next;
        if (!vertex_of(dependency, explore->moves[i].channel, explore->moves[i].lane, &next))
            return false;
        count = insert_sorted(wait + 1, oblivious ? 0 : count, next);
        if (oblivious && !wait_add(dependency, wait, example))
            return false;
    }
    if (oblivious || count == 0)
        return true;
    for (uint32_t i = 1 + count; i < dependency->width; i++)
        wait[i] = INTERN_NONE;
    return wait_add(dependency, wait, example);
}

static enum err destination_add(struct dependency *dependency, struct explore *explore, uint32_t to,
                                const struct lane_choice *choice, uint32_t *wait, struct why *why)
{
    const struct router *router = explore->router;
    const struct topology *topology = router->topology;
    enum err err = OK;
    explore_begin(explore, to);
    for (uint32_t from = 0; from < topology->graph.node_count; from++) {
        if (!explore_is_end(topology, from))
            continue;
        uint32_t starts = router->algorithm->start_count(router, from, to);
        for (uint32_t start = 0; start < starts; start++) {
            uint32_t lane = choice ? choice->lane(choice->context, from, to, start) : 0;
            err = explore_start(explore, from, start, lane, why);
            if (err)
                return err;
        }
    }
    for (bool more = true; more;) {
        err = explore_next(explore, &more, why);
        if (err)
            return err;
        if (more && !state_add(dependency, explore, wait))
            return why_memory(why);
    }
    return OK;
}

enum err dependency_find(struct dependency *dependency, const struct router *router,
                         struct lane_rule rule, const struct lane_choice *choice,
                         struct observer progress, struct why *why)
{
    const struct topology *topology = router->topology;
    uint32_t nodes = topology->graph.node_count;
    uint32_t width = router->algorithm->oblivious ? 2 : 1 + router->move_max;
    *dependency = (struct dependency){
        .channels.size = sizeof(struct virtual_channel),
        .width = width,
        .waits.size = width * sizeof(uint32_t),
        .oblivious = router->algorithm->oblivious,
        .escape_lanes = rule.kind == LANE_OWN ? router->escape_lanes : 0,
    };
    struct explore explore;
    uint32_t *wait = array_new(width, sizeof *wait);
    enum err err = explore_open(&explore, router, rule, why);
    if (!err && !wait)
        err = why_memory(why);
    for (uint32_t to = 0; !err && to < nodes; to++) {
        if (explore_is_end(topology, to))
            err = destination_add(dependency, &explore, to, choice, wait, why);
        observer_tell(&progress, "dependencies", to + 1, nodes);
    }
    explore_close(&explore);
    free(wait);
    if (err)
        dependency_fini(dependency);
    return err;
}

enum err dependency_lanes(const struct dependency *dependency, uint32_t *lanes, struct why *why)
{
    struct intern seen = {.size = sizeof(uint32_t)};
    enum err err = OK;
    for (uint32_t v = 0; !err && v < dependency->channels.count; v++) {
        uint32_t lane = dependency_channel(dependency, v).lane, number;
        bool new;
        if (!intern_add(&seen, &lane, &number, &new))
            err = why_memory(why);
    }
    *lanes = seen.count;
    intern_fini(&seen);
    return err;
}
