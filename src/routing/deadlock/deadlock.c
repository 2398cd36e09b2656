#include "routing/deadlock/deadlock.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"
#include "routing/deadlock/cycle.h"

void deadlock_fini(struct deadlock *deadlock)
{
    free(deadlock->cycle);
    drain_fini(&deadlock->drain);
    *deadlock = (struct deadlock){0};
}

/* The edges of the graph, each with the wait that it comes from. */
struct edges {
    struct intern arcs; /* of struct arc */
    uint32_t *waits;
    size_t wait_capacity;
};

static void edges_fini(struct edges *edges)
{
    intern_fini(&edges->arcs);
    free(edges->waits);
}

/* Adds the edges of one wait. If several waits have the same edge, the wait with the fewest hops is
 * its example. */
static enum err edges_add(struct edges *edges, const struct dependency *dependency, uint32_t wait,
                          struct why *why)
{
    const uint32_t *numbers = dependency_wait(dependency, wait);
    for (uint32_t i = 1; i < dependency->width && numbers[i] != INTERN_NONE; i++) {
        struct arc arc = {.from = numbers[0], .to = numbers[i]};
        uint32_t number;
        bool new;
        if (!intern_add(&edges->arcs, &arc, &number, &new) ||
            !array_reserve(&edges->waits, &edges->wait_capacity, edges->arcs.count,
                           sizeof *edges->waits))
            return why_memory(why);
        const struct waiting_packet *examples = dependency->examples;
        if (new || examples[wait].hops < examples[edges->waits[number]].hops)
            edges->waits[number] = wait;
    }
    return OK;
}

/* Is a packet in this wait one hop from its source, without an alternative? */
static bool waits_at_once(const struct dependency *dependency, uint32_t wait)
{
    bool single = dependency->width == 2 || dependency_wait(dependency, wait)[2] == INTERN_NONE;
    return single && dependency->examples[wait].hops == 1;
}

/* Finds the edges of all waits or, with `drain`, of those that do not drain. With `at_once`, only
 * of waits that can all happen at the same time. */
static enum err edges_find(struct edges *edges, const struct dependency *dependency,
                           const struct drain *drain, bool at_once, struct why *why)
{
    *edges = (struct edges){.arcs.size = sizeof(struct arc)};
    enum err err = OK;
    for (uint32_t wait = 0; !err && wait < dependency->waits.count; wait++) {
        if (drain && (drain->number[dependency_wait(dependency, wait)[0]] != DRAIN_STUCK ||
                      drain_holds(drain, dependency, wait)))
            continue;
        if (!at_once || waits_at_once(dependency, wait))
            err = edges_add(edges, dependency, wait, why);
    }
    return err;
}

static enum err write_cycle(struct deadlock *deadlock, const struct dependency *dependency,
                            const struct edges *edges, const uint32_t *cycle, uint32_t length,
                            struct why *why)
{
    deadlock->cycle = array_new(length, sizeof *deadlock->cycle);
    if (!deadlock->cycle)
        return why_memory(why);
    deadlock->cycle_length = length;
    deadlock->at_once = true;
    for (uint32_t i = 0; i < length; i++) {
        const struct arc *arc = intern_record(&edges->arcs, cycle[i]);
        struct deadlock_step *step = &deadlock->cycle[i];
        step->held = dependency_channel(dependency, arc->from);
        uint32_t wait = edges->waits[cycle[i]];
        step->packet = dependency->examples[wait];
        deadlock->at_once = deadlock->at_once && waits_at_once(dependency, wait);
    }
    return OK;
}

/* Finds a shortest cycle among some of the edges, if there is one. */
static enum err find_cycle(struct deadlock *deadlock, const struct dependency *dependency,
                           const struct drain *drain, bool at_once, struct why *why)
{
    struct edges edges;
    uint32_t *cycle = NULL, length = 0;
    enum err err = edges_find(&edges, dependency, drain, at_once, why);
    if (!err && edges.arcs.count)
        err = cycle_shortest((const struct arc *)(const void *)edges.arcs.records, edges.arcs.count,
                             dependency->channels.count, &cycle, &length, why);
    if (!err && cycle)
        err = write_cycle(deadlock, dependency, &edges, cycle, length, why);
    free(cycle);
    edges_fini(&edges);
    return err;
}

/* Finds a shortest cycle; if possible, one whose packets can all wait at the same time. */
static enum err find_witness(struct deadlock *deadlock, const struct dependency *dependency,
                             const struct drain *drain, struct why *why)
{
    struct deadlock direct = {0};
    enum err err = find_cycle(deadlock, dependency, drain, false, why);
    if (!err && !deadlock->at_once)
        err = find_cycle(&direct, dependency, drain, true, why);
    if (!err && direct.cycle && direct.cycle_length == deadlock->cycle_length) {
        free(deadlock->cycle);
        deadlock->cycle = direct.cycle;
        deadlock->at_once = true;
        direct.cycle = NULL;
    }
    deadlock_fini(&direct);
    assert(err || deadlock->cycle);
    return err;
}

/* Duato's condition (IEEE TPDS 4(12), 1993) in the form that needs no indirect dependencies: every
 * waiting packet may take an escape lane, no packet leaves the escape lanes again, and there is no
 * cycle among them. */
static enum err find_escape(const struct dependency *dependency, bool *escapes, struct why *why)
{
    struct intern arcs = {.size = sizeof(struct arc)};
    enum err err = OK;
    *escapes = dependency->escape_lanes > 0;
    for (uint32_t wait = 0; !err && *escapes && wait < dependency->waits.count; wait++) {
        const uint32_t *numbers = dependency_wait(dependency, wait);
        bool in_escape = dependency_channel(dependency, numbers[0]).lane < dependency->escape_lanes;
        bool offered = false, left = false;
        for (uint32_t i = 1; !err && i < dependency->width && numbers[i] != INTERN_NONE; i++) {
            struct arc arc = {.from = numbers[0], .to = numbers[i]};
            uint32_t lane = dependency_channel(dependency, numbers[i]).lane, number;
            bool new, escape = lane < dependency->escape_lanes;
            offered = offered || escape;
            left = left || (in_escape && !escape);
            if (in_escape && escape && !intern_add(&arcs, &arc, &number, &new))
                err = why_memory(why);
        }
        *escapes = offered && !left;
    }
    uint32_t *cycle = NULL, length = 0;
    if (!err && *escapes)
        err = cycle_shortest((const struct arc *)(const void *)arcs.records, arcs.count,
                             dependency->channels.count, &cycle, &length, why);
    *escapes = *escapes && length == 0;
    free(cycle);
    intern_fini(&arcs);
    return err;
}

enum err deadlock_judge(struct deadlock *deadlock, const struct dependency *dependency,
                        struct why *why)
{
    struct drain *drain = &deadlock->drain;
    *deadlock = (struct deadlock){
        .channels = dependency->channels.count,
        .states = dependency->states,
    };
    enum err err = drain_find(drain, dependency, why);
    if (err)
        return err;
    struct edges edges;
    err = edges_find(&edges, dependency, NULL, false, why);
    deadlock->dependencies = edges.arcs.count;
    edges_fini(&edges);
    if (!err)
        err = dependency_lanes(dependency, &deadlock->lanes, why);
    deadlock->stuck = deadlock->channels - drain->drained;
    deadlock->free = deadlock->stuck == 0;
    if (!err && !deadlock->free)
        err = find_witness(deadlock, dependency, drain, why);
    else if (!err && dependency->oblivious)
        deadlock->wormhole = true;
    else if (!err)
        err = find_escape(dependency, &deadlock->wormhole, why);
    for (uint32_t wait = 0; deadlock->free && wait < dependency->waits.count; wait++)
        assert(drain_holds(drain, dependency, wait)); /* the certificate, wait by wait */
    if (err)
        deadlock_fini(deadlock);
    return err;
}

enum err deadlock_find(struct deadlock *deadlock, const struct router *router,
                       struct lane_rule rule, struct observer progress, struct why *why)
{
    struct dependency dependency;
    enum err err = dependency_find(&dependency, router, rule, NULL, progress, why);
    if (err)
        return err;
    err = deadlock_judge(deadlock, &dependency, why);
    dependency_fini(&dependency);
    return err;
}
