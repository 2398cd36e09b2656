/* transition: the single steps.
 *
 * A want is a cable to be plugged. Plugging never does harm (unless it makes a separate part), so
 * every want with room at both ends is plugged at once. Otherwise some want lacks room at a node.
 * That node has a cable to lose: its limit allows all its wanted cables, so a full node holds a
 * cable that is going. The network must stay connected without it: the first few candidates are
 * tried one by one, which is enough in a well-connected network; after that all bridges are found
 * in one search, so that trees stay cheap. */
#include "topology/change/transition.h"

#include "base/check.h"
#include "topology/change/joint_step.h"
#include "topology/change/transition_impl.h"

#define QUICK_TRIES 8

/* Each step function tries to make one step; *done says whether it did. */

static enum err step_plug(struct transition *transition, bool *done, struct why *why)
{
    while (transition->ready.count) {
        uint32_t index = transition->ready.items[--transition->ready.count];
        struct want *want = &transition->wants[index];
        want->in_ready = false;
        if (want->done || !rewire_joins(transition->rewire, want->cable.a, want->cable.b))
            continue; /* a separate part; it is tried again when one of its ends is reached */
        if (want_blocked(transition, want)) {
            want_push(transition, index);
            continue;
        }
        enum err err = transition_plug(transition, index, why);
        if (err)
            return err;
        transition_commit(transition);
        *done = true;
        return OK;
    }
    return OK;
}

/* Unplugs a going cable of this node whose removal does not disconnect the network. */
static enum err node_relieve(struct transition *transition, uint32_t node, bool *done,
                             struct why *why)
{
    const uint64_t *first = transition->rewire->wiring.first;
    for (uint64_t port = first[node]; port < first[node + 1]; port++) {
        if (!transition->going[port])
            continue;
        enum err err = transition_unplug_safely(transition, port, done, why);
        if (err || *done)
            return err;
    }
    return OK;
}

static enum err want_relieve(struct transition *transition, const struct want *want, bool *done,
                             struct why *why)
{
    const uint32_t ends[2] = {want->cable.a, want->cable.b};
    for (int i = 0; i < 2 && !*done; i++) {
        if (!transition_node_blocked(transition, ends[i]))
            continue;
        enum err err = node_relieve(transition, ends[i], done, why);
        if (err)
            return err;
    }
    if (*done)
        transition_commit(transition);
    return OK;
}

static enum err step_unplug_quick(struct transition *transition, bool *done, struct why *why)
{
    int tries = 0;
    while (transition->near.count && tries < QUICK_TRIES && !*done) {
        uint32_t index = transition->near.items[--transition->near.count];
        struct want *want = &transition->wants[index];
        want->in_near = false;
        if (want->done || want_blocked(transition, want) != 1)
            continue;
        enum err err = want_relieve(transition, want, done, why);
        if (err)
            return err;
        tries++;
    }
    while (transition->want_cursor < transition->want_count &&
           transition->wants[transition->want_cursor].done)
        transition->want_cursor++;
    for (uint32_t i = transition->want_cursor;
         i < transition->want_count && tries < QUICK_TRIES && !*done; i++) {
        const struct want *want = &transition->wants[i];
        if (want->done || !want_blocked(transition, want))
            continue;
        enum err err = want_relieve(transition, want, done, why);
        if (err)
            return err;
        tries++;
    }
    return OK;
}

/* May the cable be unplugged, because it is no bridge or is the last cable of a leaving node? */
static bool cable_spare(const struct transition *transition, uint32_t cable)
{
    const struct rewire *rewire = transition->rewire;
    const struct link *link = &rewire->wiring.cables[cable];
    return !bridges_has(&transition->bridges, cable) ||
           (rewire->leaving[link->a] && rewire_used(rewire, link->a) == 1) ||
           (rewire->leaving[link->b] && rewire_used(rewire, link->b) == 1);
}

static bool node_spare_port(const struct transition *transition, uint32_t node, uint64_t *found)
{
    const struct wiring *wiring = &transition->rewire->wiring;
    for (uint64_t port = wiring->first[node]; port < wiring->first[node + 1]; port++) {
        if (transition->going[port] && cable_spare(transition, wiring->cable_at[port])) {
            *found = port;
            return true;
        }
    }
    return false;
}

/* Finds the best cable to unplug when all bridges are known: first a cable that makes room for a
 * want that lacks room at one end, then at both ends, then a cable that a leaving node must lose
 * anyway. */
static bool spare_port(const struct transition *transition, uint64_t *port)
{
    for (uint32_t blocked = 1; blocked <= 2; blocked++) {
        for (uint32_t i = transition->want_cursor; i < transition->want_count; i++) {
            const struct want *want = &transition->wants[i];
            if (want->done || want_blocked(transition, want) != blocked)
                continue;
            if ((transition_node_blocked(transition, want->cable.a) &&
                 node_spare_port(transition, want->cable.a, port)) ||
                (transition_node_blocked(transition, want->cable.b) &&
                 node_spare_port(transition, want->cable.b, port)))
                return true;
        }
    }
    const struct wiring *wiring = &transition->rewire->wiring;
    for (uint32_t i = 0; i < transition->going_count; i++) {
        *port = transition->going_ports[i];
        if (!transition->going[*port])
            continue;
        const struct link *link = &wiring->cables[wiring->cable_at[*port]];
        if ((transition->rewire->leaving[link->a] || transition->rewire->leaving[link->b]) &&
            cable_spare(transition, wiring->cable_at[*port]))
            return true;
    }
    return false;
}

static enum err step_unplug_slow(struct transition *transition, bool *done, struct why *why)
{
    uint64_t port;
    bridges_find(&transition->bridges, &transition->rewire->wiring);
    if (!spare_port(transition, &port))
        return OK;
    enum err err = transition_unplug_safely(transition, port, done, why);
    if (err)
        return err;
    assert(*done);
    transition_commit(transition);
    return OK;
}

/* Nothing is left to plug, so the remaining going cables are unplugged. If a leaving node then has
 * only one cable left, that cable is next, so that a chain of leaving nodes is removed from its end
 * in one pass. */
static enum err step_drain(struct transition *transition, bool *done, struct why *why)
{
    const struct wiring *wiring = &transition->rewire->wiring;
    for (uint32_t i = 0; i < transition->going_count; i++) {
        uint64_t port = transition->going_ports[i];
        while (transition->going[port]) {
            const struct link link = wiring->cables[wiring->cable_at[port]];
            bool gone = false;
            enum err err = transition_unplug_safely(transition, port, &gone, why);
            if (err)
                return err;
            if (!gone)
                break;
            *done = true;
            transition_commit(transition);
            const uint32_t ends[2] = {link.a, link.b};
            for (int end = 0; end < 2; end++)
                if (transition->rewire->leaving[ends[end]] &&
                    rewire_used(transition->rewire, ends[end]) == 1)
                    for (port = wiring->first[ends[end]]; wiring->cable_at[port] == CABLE_NONE;)
                        port++;
        }
    }
    return OK;
}

/* The network before or after is disconnected, so some step must leave it disconnected. */
static enum err step_anyhow(struct transition *transition, struct why *why)
{
    enum err err = OK;
    uint32_t index = 0;
    uint64_t port = 0;
    while (index < transition->want_count && transition->wants[index].done)
        index++;
    if (index == transition->want_count) {
        uint32_t i = 0;
        while (!transition->going[transition->going_ports[i]])
            i++;
        err = transition_unplug(transition, transition->going_ports[i], why);
    } else if (!want_blocked(transition, &transition->wants[index])) {
        err = transition_plug(transition, index, why);
    } else {
        uint32_t node = want_blocked_end(transition, &transition->wants[index]);
        for (port = transition->rewire->wiring.first[node]; !transition->going[port];)
            port++;
        err = transition_unplug(transition, port, why);
    }
    if (!err)
        transition_commit(transition);
    return err;
}

static enum err transition_run(struct transition *transition, struct why *why)
{
    while (transition->want_left || transition->going_left) {
        bool done = false;
        enum err err = step_plug(transition, &done, why);
        if (!err && !done && transition->want_left)
            err = step_unplug_quick(transition, &done, why);
        if (!err && !done && transition->want_left)
            err = step_unplug_slow(transition, &done, why);
        if (!err && !done && transition->want_left)
            err = joint_step(transition, &done, why);
        if (!err && !done && !transition->want_left && transition->going_left)
            err = step_drain(transition, &done, why);
        if (!err && !done && (transition->want_left || transition->going_left))
            err = step_anyhow(transition, why);
        if (err)
            return err;
    }
    return OK;
}

enum err transition_plan(struct rewire *rewire, const struct link *wanted, uint32_t wanted_count,
                         struct why *why)
{
    struct transition transition;
    assert(rewire->plan.count == 0);
    enum err err = transition_init(&transition, rewire, wanted, wanted_count, why);
    if (!err)
        err = transition_run(&transition, why);
    transition_fini(&transition);
    return err;
}
