/* joint_step: steps of several actions, for the case that no single action keeps the network
 * connected.
 *
 * A want is a cable to be plugged, a going cable is one to be unplugged. There are three attempts,
 * from the smallest step up. (1) One cable out, one in: the new cable closes the gap that the old
 * one leaves. (2) A search of increasing depth, up to a few new cables, within a budget. (3)
 * Greedy: start with some want and close gaps until none is left; try several starts, and the
 * shortest step wins. If the wanted network is connected, (3) always ends: two parts of the network
 * are finally joined by cables that stay or are wanted. */
#include "topology/change/joint_step.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"

#define DEPTH_NARROW  64
#define DEPTH_WIDE    3
#define GREEDY_STARTS 8
#define BUDGET_WORK   4000000u /* nodes and cables visited in one search, roughly */
#define BUDGET_MIN    64u
#define BUDGET_MAX    2000u

/* A step in progress, and memory for its searches. */
struct joint {
    struct transition *transition;
    uint32_t parts;  /* the number of parts now; a step must not leave more */
    uint32_t budget; /* searches through the network that are still allowed */
    bool wide;       /* also use wants without room at both ends, if they close a gap */
    uint32_t *labels[DEPTH_WIDE + 1];
    struct bfs bfs;
    uint32_t *stays; /* per part; there are at most as many parts as nodes */
};

static bool joint_whole(const struct joint *joint)
{
    return joint->transition->rewire->parts <= joint->parts;
}

/* Attempt (1): one cable out, one in. */
static enum err pair_try(struct joint *joint, uint32_t index, bool *done, struct why *why)
{
    struct transition *transition = joint->transition;
    const struct wiring *wiring = &transition->rewire->wiring;
    const struct want *want = &transition->wants[index];
    uint32_t node = want_blocked_end(transition, want);
    for (uint64_t port = wiring->first[node]; port < wiring->first[node + 1]; port++) {
        if (!transition->going[port] || !bridges_part(&transition->bridges, wiring->cable_at[port],
                                                      want->cable.a, want->cable.b))
            continue;
        size_t count = transition->rewire->plan.count;
        enum err err = transition_unplug(transition, port, why);
        if (!err)
            err = transition_plug(transition, index, why);
        *done = !err && joint_whole(joint);
        if (err || *done)
            return err;
        transition_undo(transition, count);
        bridges_find(&transition->bridges, wiring); /* the indexes of cables have changed */
    }
    return OK;
}

static enum err pairs_try(struct joint *joint, bool *done, struct why *why)
{
    const struct transition *transition = joint->transition;
    for (uint32_t i = transition->want_cursor; i < transition->want_count && !*done; i++) {
        const struct want *want = &transition->wants[i];
        if (want->done || want_blocked(transition, want) != 1 ||
            !transition->rewire->attached[want->cable.a] ||
            !transition->rewire->attached[want->cable.b])
            continue;
        enum err err = pair_try(joint, i, done, why);
        if (err)
            return err;
    }
    return OK;
}

/* Does the want close a gap, or lead to a node that has no cable yet? */
static bool want_closes(const struct want *want, const uint32_t *label)
{
    assert(label); /* a wide search has labelled the parts */
    return label[want->cable.a] != label[want->cable.b];
}

/* Attempt (2): mend and want_force call each other; every pair of calls decreases `depth`, or
 * returns. */
static enum err mend(struct joint *joint, uint32_t depth, bool *done, struct why *why);

/* Plugs the want. Tries every way of unplugging the cables that block it, and calls mend to
 * reconnect the network. */
static enum err want_force(struct joint *joint, uint32_t index, uint32_t depth, bool *done,
                           struct why *why)
{
    struct transition *transition = joint->transition;
    const struct want *want = &transition->wants[index];
    size_t count = transition->rewire->plan.count;
    enum err err;
    if (want_blocked(transition, want) == 0) {
        err = transition_plug(transition, index, why);
        if (!err)
            err = mend(joint, depth - 1, done, why);
        if (!err && !*done)
            transition_undo(transition, count);
        return err;
    }
    uint32_t node = want_blocked_end(transition, want);
    const uint64_t *first = transition->rewire->wiring.first;
    for (uint64_t port = first[node]; port < first[node + 1] && joint->budget; port++) {
        if (!transition->going[port])
            continue;
        joint->budget--;
        err = transition_unplug(transition, port, why);
        if (!err)
            err = want_force(joint, index, depth, done, why);
        if (err || *done)
            return err;
        transition_undo(transition, count);
    }
    return OK;
}

/* Is the want worth trying while the network is disconnected? A narrow search follows the free
 * ports from want to want: it takes any want that lacks room at one end, and a want with room at
 * both ends if it closes a gap. A wide search takes any want that closes a gap according to the
 * labels. */
static enum err want_worth(const struct joint *joint, const struct want *want,
                           const uint32_t *label, uint32_t blocked, bool *worth, struct why *why)
{
    const struct rewire *rewire = joint->transition->rewire;
    bool reaches = false;
    *worth = false;
    if (want->done || want_blocked(joint->transition, want) != blocked)
        return OK;
    if (joint->wide)
        *worth = want_closes(want, label);
    else if (blocked == 1)
        *worth = true;
    else if (blocked == 0) {
        enum err err = wiring_reaches(&rewire->wiring, want->cable.a, want->cable.b, CABLE_NONE,
                                      &reaches, why);
        *worth = !err && !reaches && rewire_joins(rewire, want->cable.a, want->cable.b);
        return err;
    }
    return OK;
}

static enum err mend(struct joint *joint, uint32_t depth, bool *done, struct why *why)
{
    struct transition *transition = joint->transition;
    *done = joint_whole(joint);
    if (*done || joint->budget == 0 || transition->rewire->parts - joint->parts > depth)
        return OK;
    uint32_t *label = joint->wide ? joint->labels[depth] : NULL;
    joint->budget--;
    if (label)
        rewire_label(transition->rewire, label, &joint->bfs);
    for (uint32_t blocked = 0; blocked <= (joint->wide ? 2 : 1); blocked++) {
        for (uint32_t i = transition->want_cursor; i < transition->want_count; i++) {
            bool worth;
            enum err err = want_worth(joint, &transition->wants[i], label, blocked, &worth, why);
            if (!err && worth)
                err = want_force(joint, i, depth, done, why);
            if (err || *done || joint->budget == 0)
                return err;
        }
    }
    return OK;
}

/* Tries all starts; wants without room at one end come before those without room at both. */
static enum err search_try(struct joint *joint, uint32_t depth, bool *done, struct why *why)
{
    struct transition *transition = joint->transition;
    const struct wiring *wiring = &transition->rewire->wiring;
    joint->budget = BUDGET_WORK / (wiring->node_count + wiring->cable_count + 1);
    if (joint->budget > BUDGET_MAX)
        joint->budget = BUDGET_MAX;
    if (joint->budget < BUDGET_MIN)
        joint->budget = BUDGET_MIN;
    for (uint32_t blocked = 1; blocked <= 2; blocked++) {
        for (uint32_t i = transition->want_cursor; i < transition->want_count; i++) {
            const struct want *want = &transition->wants[i];
            if (want->done || want_blocked(transition, want) != blocked)
                continue;
            enum err err = want_force(joint, i, depth, done, why);
            if (err || *done || joint->budget == 0)
                return err;
        }
    }
    return OK;
}

static enum err searches_try(struct joint *joint, bool *done, struct why *why)
{
    for (int wide = 0; wide < 2; wide++) {
        joint->wide = wide;
        for (uint32_t depth = 2; depth <= (wide ? DEPTH_WIDE : DEPTH_NARROW);
             depth += 1 + depth / 4) {
            enum err err = search_try(joint, depth, done, why);
            if (err || *done)
                return err;
        }
    }
    return OK;
}

/* Part of attempt (3): plugs the want after unplugging going cables until it has room. */
static enum err want_push_in(struct joint *joint, uint32_t index, struct why *why)
{
    struct transition *transition = joint->transition;
    const struct want *want = &transition->wants[index];
    const uint64_t *first = transition->rewire->wiring.first;
    while (want_blocked(transition, want)) {
        uint32_t node = want_blocked_end(transition, want);
        uint64_t any = UINT64_MAX;
        bool gone = false;
        for (uint64_t port = first[node]; port < first[node + 1] && !gone; port++) {
            if (!transition->going[port])
                continue;
            any = port;
            enum err err = transition_unplug_safely(transition, port, &gone, why);
            if (err)
                return err;
        }
        enum err err = gone ? OK : transition_unplug(transition, any, why);
        if (err)
            return err;
    }
    return transition_plug(transition, index, why);
}

/* Would making room at this node disconnect the network further? */
static bool relief_tears(const struct transition *transition, uint32_t node)
{
    const struct wiring *wiring = &transition->rewire->wiring;
    if (rewire_room(transition->rewire, node))
        return false;
    for (uint64_t port = wiring->first[node]; port < wiring->first[node + 1]; port++)
        if (transition->going[port] && !bridges_has(&transition->bridges, wiring->cable_at[port]))
            return false;
    return true;
}

/* Finds the want that closes a gap and opens the fewest new gaps; of these, the one with room at
 * the most ends. A want that only leads to a new node comes last. */
static bool closing_want(struct joint *joint, uint32_t *found)
{
    struct transition *transition = joint->transition;
    uint32_t *label = joint->labels[0], best = UINT32_MAX;
    rewire_label(transition->rewire, label, &joint->bfs);
    bridges_find(&transition->bridges, &transition->rewire->wiring);
    for (uint32_t i = transition->want_cursor; i < transition->want_count; i++) {
        const struct want *want = &transition->wants[i];
        if (want->done || !want_closes(want, label))
            continue;
        uint32_t tears =
            relief_tears(transition, want->cable.a) + relief_tears(transition, want->cable.b);
        uint32_t cost = 3 * tears + want_blocked(transition, want);
        if (label[want->cable.a] == NODE_NONE || label[want->cable.b] == NODE_NONE)
            cost += 9;
        if (cost < best) {
            best = cost;
            *found = i;
        }
    }
    return best != UINT32_MAX;
}

/* Finds a cable of a part in which all nodes are leaving: nothing will join this part to the rest
 * again, so it is removed in the same step. The labels are those of closing_want. */
static bool stranded_port(struct joint *joint, uint64_t *port)
{
    const struct transition *transition = joint->transition;
    const struct wiring *wiring = &transition->rewire->wiring;
    const uint32_t *label = joint->labels[0];
    uint32_t *stays = joint->stays;
    for (uint32_t v = 0; v < wiring->node_count; v++)
        stays[v] = 0;
    for (uint32_t v = 0; v < wiring->node_count; v++)
        if (label[v] != NODE_NONE && !transition->rewire->leaving[v])
            stays[label[v]] = 1;
    for (uint32_t i = 0; i < transition->going_count; i++) {
        *port = transition->going_ports[i];
        if (transition->going[*port] && !stays[label[wiring->cables[wiring->cable_at[*port]].a]])
            return true;
    }
    return false;
}

static enum err greedy_run(struct joint *joint, uint32_t start, bool *done, struct why *why)
{
    uint32_t index = start;
    uint64_t port;
    enum err err = want_push_in(joint, index, why);
    while (!err && !joint_whole(joint)) {
        if (closing_want(joint, &index))
            err = want_push_in(joint, index, why);
        else if (stranded_port(joint, &port))
            err = transition_unplug(joint->transition, port, why);
        else
            break;
    }
    *done = !err && joint_whole(joint);
    return err;
}

static enum err greedy_try(struct joint *joint, bool *done, struct why *why)
{
    struct transition *transition = joint->transition;
    size_t count = transition->rewire->plan.count, shortest = SIZE_MAX;
    uint32_t best = 0;
    int starts = 0;
    for (uint32_t i = transition->want_cursor; i < transition->want_count && starts < GREEDY_STARTS;
         i++) {
        if (transition->wants[i].done || !want_blocked(transition, &transition->wants[i]))
            continue;
        bool whole;
        enum err err = greedy_run(joint, i, &whole, why);
        if (err)
            return err;
        if (whole && transition->rewire->plan.count - count < shortest) {
            shortest = transition->rewire->plan.count - count;
            best = i;
        }
        transition_undo(transition, count);
        starts++;
    }
    return shortest == SIZE_MAX ? OK : greedy_run(joint, best, done, why);
}

enum err joint_step(struct transition *transition, bool *done, struct why *why)
{
    struct joint joint = {.transition = transition, .parts = transition->rewire->parts};
    size_t nodes = transition->rewire->wiring.node_count;
    uint32_t *scratch = array_new((DEPTH_WIDE + 2) * nodes, sizeof *scratch);
    if (!bfs_init(&joint.bfs, transition->rewire->wiring.node_count) || !scratch) {
        bfs_fini(&joint.bfs);
        free(scratch);
        return why_memory(why);
    }
    for (size_t level = 0; level <= DEPTH_WIDE; level++)
        joint.labels[level] = scratch + level * nodes;
    joint.stays = scratch + (DEPTH_WIDE + 1) * nodes;
    enum err err = pairs_try(&joint, done, why);
    if (!err && !*done)
        err = searches_try(&joint, done, why);
    if (!err && !*done)
        err = greedy_try(&joint, done, why);
    free(scratch);
    bfs_fini(&joint.bfs);
    if (!err && *done)
        transition_commit(transition);
    return err;
}
