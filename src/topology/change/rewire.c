#include "topology/change/rewire.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"

/* A file may name port 4000000000; memory for every smaller port number would be a waste. */
#define SLOTS_PER_CABLE 16
#define SLOTS_SPARE     (UINT64_C(1) << 24)

void rewire_plan_fini(struct rewire_plan *plan)
{
    free(plan->actions);
    *plan = (struct rewire_plan){0};
}

static void slot_cover(uint32_t *slots, uint32_t port)
{
    if (*slots <= port)
        *slots = port < UINT32_MAX ? port + 1 : port;
}

void rewire_cover(uint32_t *slots, const struct graph *graph, const uint32_t *at)
{
    for (uint32_t e = 0; e < graph->link_count; e++) {
        const struct link *link = &graph->links[e];
        slot_cover(&slots[at ? at[link->a] : link->a], link->a_port);
        slot_cover(&slots[at ? at[link->b] : link->b], link->b_port);
    }
}

static enum err slots_validate(const uint32_t *slots, uint32_t node_count, uint32_t link_count,
                               struct why *why)
{
    uint64_t total = 0;
    uint32_t most = 0;
    for (uint32_t v = 0; v < node_count; v++) {
        total += slots[v];
        most = slots[v] > most ? slots[v] : most;
    }
    if (total > SLOTS_SPARE + SLOTS_PER_CABLE * ((uint64_t)link_count + node_count))
        return why_fail(why, ERR_INPUT,
                        "port numbers up to %u are too large for a network of %u cables", most - 1,
                        link_count);
    return OK;
}

enum err rewire_init(struct rewire *rewire, uint32_t node_count, const uint32_t *limit,
                     const uint32_t *slots, const uint8_t *leaving, const struct link *links,
                     uint32_t link_count, struct why *why)
{
    *rewire = (struct rewire){0};
    enum err err = slots_validate(slots, node_count, link_count, why);
    if (err)
        return err;
    err = wiring_init(&rewire->wiring, node_count, slots, why);
    if (err)
        return err;
    rewire->limit = array_copy(limit, node_count, sizeof *limit);
    rewire->attached = array_new(node_count, 1);
    rewire->leaving = leaving ? array_copy(leaving, node_count, 1) : array_new(node_count, 1);
    struct bfs bfs;
    bool room = bfs_init(&bfs, node_count);
    uint32_t *label = array_new(node_count, sizeof *label);
    if (!rewire->limit || !rewire->attached || !rewire->leaving || !room || !label) {
        free(label);
        bfs_fini(&bfs);
        rewire_fini(rewire);
        return why_memory(why);
    }
    for (uint32_t e = 0; e < link_count; e++) {
        const struct link *link = &links[e];
        wiring_plug(&rewire->wiring, link->a, link->a_port, link->b, link->b_port);
        rewire->attached[link->a] = rewire->attached[link->b] = 1;
    }
    for (uint32_t v = 0; v < node_count; v++)
        assert(rewire_used(rewire, v) <= limit[v] && limit[v] <= slots[v]);
    rewire->parts = rewire_label(rewire, label, &bfs);
    free(label);
    bfs_fini(&bfs);
    return OK;
}

void rewire_fini(struct rewire *rewire)
{
    wiring_fini(&rewire->wiring);
    free(rewire->limit);
    free(rewire->leaving);
    free(rewire->attached);
    rewire_plan_fini(&rewire->plan);
    *rewire = (struct rewire){0};
}

static bool node_counts(const struct rewire *rewire, uint32_t node)
{
    return rewire->attached[node] && (rewire_used(rewire, node) || !rewire->leaving[node]);
}

static enum err action_add(struct rewire *rewire, struct rewire_action action, struct why *why)
{
    struct rewire_plan *plan = &rewire->plan;
    if (!array_reserve(&plan->actions, &plan->capacity, plan->count + 1, sizeof *plan->actions))
        return why_memory(why);
    plan->actions[plan->count++] = action;
    return OK;
}

/* The port itself if it is free, else any. */
static uint32_t port_choose(const struct rewire *rewire, uint32_t node, uint32_t port)
{
    const struct wiring *wiring = &rewire->wiring;
    bool had = port < wiring_ports(wiring, node) &&
               wiring->cable_at[wiring->first[node] + port] == CABLE_NONE;
    return had ? port : PORT_ANY;
}

enum err rewire_plug(struct rewire *rewire, uint32_t a, uint32_t a_port, uint32_t b,
                     uint32_t b_port, struct why *why)
{
    assert(rewire_room(rewire, a) && rewire_room(rewire, b));
    struct rewire_action action = {.kind = REWIRE_PLUG, .parts_before = rewire->parts};
    bool a_counts = node_counts(rewire, a), b_counts = node_counts(rewire, b);
    bool reaches = true;
    if (a_counts && b_counts && rewire->parts > 1) {
        enum err err = wiring_reaches(&rewire->wiring, a, b, CABLE_NONE, &reaches, why);
        if (err)
            return err;
    }
    action.a_fresh = !rewire->attached[a];
    action.b_fresh = !rewire->attached[b];
    action.cable.a = a; /* the ports are set below, when nothing can fail any more */
    enum err err = action_add(rewire, action, why);
    if (err)
        return err;
    uint32_t cable = wiring_plug(&rewire->wiring, a, port_choose(rewire, a, a_port), b,
                                 port_choose(rewire, b, b_port));
    rewire->plan.actions[rewire->plan.count - 1].cable = rewire->wiring.cables[cable];
    rewire->attached[a] = rewire->attached[b] = 1;
    if (!a_counts && !b_counts)
        rewire->parts++;
    else if (!reaches)
        rewire->parts--;
    return OK;
}

/* The number of parts after this cable is removed. */
static enum err parts_without(const struct rewire *rewire, uint32_t cable, uint32_t *parts,
                              struct why *why)
{
    const struct link *link = &rewire->wiring.cables[cable];
    bool reaches;
    *parts = rewire->parts;
    enum err err = wiring_reaches(&rewire->wiring, link->a, link->b, cable, &reaches, why);
    if (err || reaches)
        return err;
    *parts += 1;
    *parts -= rewire->leaving[link->a] && rewire_used(rewire, link->a) == 1;
    *parts -= rewire->leaving[link->b] && rewire_used(rewire, link->b) == 1;
    return OK;
}

static enum err unplug(struct rewire *rewire, uint32_t cable, uint32_t parts, struct why *why)
{
    struct rewire_action action = {.kind = REWIRE_UNPLUG,
                                   .cable = rewire->wiring.cables[cable],
                                   .parts_before = rewire->parts};
    enum err err = action_add(rewire, action, why);
    if (err)
        return err;
    wiring_unplug(&rewire->wiring, cable);
    rewire->parts = parts;
    return OK;
}

enum err rewire_unplug(struct rewire *rewire, uint32_t cable, struct why *why)
{
    uint32_t parts;
    enum err err = parts_without(rewire, cable, &parts, why);
    return err ? err : unplug(rewire, cable, parts, why);
}

enum err rewire_unplug_safely(struct rewire *rewire, uint32_t cable, bool *done, struct why *why)
{
    uint32_t parts;
    enum err err = parts_without(rewire, cable, &parts, why);
    *done = !err && parts <= rewire->parts;
    return *done ? unplug(rewire, cable, parts, why) : err;
}

bool rewire_joins(const struct rewire *rewire, uint32_t a, uint32_t b)
{
    return rewire->parts == 0 || node_counts(rewire, a) || node_counts(rewire, b);
}

void rewire_commit(struct rewire *rewire)
{
    struct rewire_plan *plan = &rewire->plan;
    assert(plan->count > rewire->committed);
    plan->step_count++;
    plan->together_count += plan->count - rewire->committed > 1;
    plan->apart_count += rewire->parts > 1;
    for (; rewire->committed < plan->count; rewire->committed++) {
        struct rewire_action *action = &plan->actions[rewire->committed];
        action->step = plan->step_count;
        action->apart = rewire->parts > 1;
        *(action->kind == REWIRE_PLUG ? &plan->plug_count : &plan->unplug_count) += 1;
    }
}

void rewire_undo(struct rewire *rewire)
{
    struct wiring *wiring = &rewire->wiring;
    assert(rewire->plan.count > rewire->committed);
    const struct rewire_action *action = &rewire->plan.actions[--rewire->plan.count];
    const struct link *link = &action->cable;
    if (action->kind == REWIRE_PLUG) {
        wiring_unplug(wiring, wiring->cable_at[wiring->first[link->a] + link->a_port]);
        rewire->attached[link->a] = !action->a_fresh;
        rewire->attached[link->b] = !action->b_fresh;
    } else {
        wiring_plug(wiring, link->a, link->a_port, link->b, link->b_port);
    }
    rewire->parts = action->parts_before;
}

uint32_t rewire_label(const struct rewire *rewire, uint32_t *label, struct bfs *bfs)
{
    const struct wiring *wiring = &rewire->wiring;
    uint32_t parts = 0;
    bfs_clear(bfs);
    for (uint32_t v = 0; v < wiring->node_count; v++)
        label[v] = NODE_NONE;
    for (uint32_t v = 0; v < wiring->node_count; v++) {
        if (bfs_seen(bfs, v) || !node_counts(rewire, v))
            continue;
        bfs_start(bfs, v);
        for (uint32_t node; bfs_take(bfs, &node);) {
            label[node] = parts;
            for (uint64_t at = wiring->first[node]; at < wiring->first[node + 1]; at++)
                if (wiring->peer_at[at] != NODE_NONE)
                    bfs_visit(bfs, node, wiring->peer_at[at]);
        }
        parts++;
    }
    return parts;
}
