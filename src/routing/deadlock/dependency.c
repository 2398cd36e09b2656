#include "routing/deadlock/dependency.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "routing/deadlock/leg.h"

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

static bool wait_add(struct dependency *dependency, const uint32_t *wait,
                     struct waiting_packet example)
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

/* Inserts a number among `count` numbers in increasing order, unless it is already there. */
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

/* Adds the waits of the state that was processed last. `wait` has room for one. */
static bool state_add(struct dependency *dependency, const struct explore *explore, uint32_t *wait)
{
    struct waiting_packet example = {
        .from = explore->holder.from, .to = explore->to, .hops = explore->holder.hops};
    bool oblivious = explore->router->algorithm->oblivious;
    uint32_t count = 0;
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

/* The data of one exploration of all packets. */
struct search {
    struct dependency *dependency;
    const struct lane_choice *choice;
    struct explore explore;
    bool has_leg;
    struct leg leg;
    uint32_t *wait; /* owned; room for one */
};

/* Adds the first leg, which is the same for packets to all destinations. */
static enum err first_leg_add(struct search *search, const struct router *router,
                              struct lane_rule rule, struct why *why)
{
    const struct topology *topology = router->topology;
    uint32_t end = 0, end_count = 0;
    for (uint32_t node = topology->graph.node_count; node-- > 0;)
        if (explore_is_end(topology, node)) {
            end = node;
            end_count++;
        }
    search->has_leg = true;
    enum err err = leg_open(&search->leg, router, rule, end, why);
    for (bool more = true; !err && more;) {
        err = leg_next(&search->leg, &more, why);
        if (err || !more)
            break;
        search->dependency->states += end_count;
        if (!state_add(search->dependency, &search->leg.explore, search->wait))
            err = why_memory(why);
    }
    return err;
}

/* Starts all packets to the destination of the exploration. */
static enum err start_all(struct explore *explore, const struct lane_choice *choice,
                          struct why *why)
{
    const struct router *router = explore->router;
    enum err err = OK;
    for (uint32_t from = 0; !err && from < router->topology->graph.node_count; from++) {
        if (!explore_is_end(router->topology, from))
            continue;
        uint32_t starts = router->algorithm->start_count(router, from, explore->to);
        for (uint32_t start = 0; !err && start < starts; start++) {
            uint32_t lane = choice ? choice->lane(choice->context, from, explore->to, start) : 0;
            err = explore_start(explore, from, start, lane, why);
        }
    }
    return err;
}

static enum err destination_add(struct search *search, uint32_t to, struct why *why)
{
    struct explore *explore = &search->explore;
    explore_begin(explore, to);
    enum err err = search->has_leg ? leg_begin(&search->leg, explore, why)
                                   : start_all(explore, search->choice, why);
    for (bool more = true; !err && more;) {
        if (search->has_leg)
            err = leg_cross(&search->leg, explore, why);
        if (!err)
            err = explore_next(explore, &more, why);
        if (err || !more)
            break;
        search->dependency->states++;
        if (!state_add(search->dependency, explore, search->wait))
            err = why_memory(why);
    }
    return err;
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
    struct search search = {
        .dependency = dependency,
        .choice = choice,
        .wait = array_new(width, sizeof *search.wait),
    };
    enum err err = explore_open(&search.explore, router, rule, why);
    if (!err && !search.wait)
        err = why_memory(why);
    if (!err && router->algorithm->roams && rule.kind != LANE_KEPT)
        err = first_leg_add(&search, router, rule, why);
    for (uint32_t to = 0; !err && to < nodes; to++) {
        if (explore_is_end(topology, to))
            err = destination_add(&search, to, why);
        observer_tell(&progress, "dependencies", to + 1, nodes);
    }
    explore_close(&search.explore);
    leg_close(&search.leg);
    free(search.wait);
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
