/* transition_books: which cables are to be plugged and unplugged, and which of these are done. Both
 * single steps (transition.c) and joint steps (joint_step.c) change the wiring through this file.
 *
 * Invariants: want_left and going_left count the cables that are not done; going[] is set at both
 * ports of a going cable until it is unplugged, and never at a port whose cable was plugged
 * here. */
#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"
#include "topology/change/transition_impl.h"

uint32_t want_blocked(const struct transition *transition, const struct want *want)
{
    return transition_node_blocked(transition, want->cable.a) +
           transition_node_blocked(transition, want->cable.b);
}

uint32_t want_blocked_end(const struct transition *transition, const struct want *want)
{
    assert(want_blocked(transition, want) > 0);
    return transition_node_blocked(transition, want->cable.a) ? want->cable.a : want->cable.b;
}

void want_push(struct transition *transition, uint32_t index)
{
    struct want *want = &transition->wants[index];
    uint32_t blocked = want->done ? 2 : want_blocked(transition, want);
    if (blocked == 0 && !want->in_ready) {
        want->in_ready = true;
        transition->ready.items[transition->ready.count++] = index;
    } else if (blocked == 1 && !want->in_near) {
        want->in_near = true;
        transition->near.items[transition->near.count++] = index;
    }
}

static void wants_of_node_push(struct transition *transition, uint32_t node)
{
    /* Backwards, so that the stack yields them in order. */
    for (uint32_t i = transition->wants_first[node + 1]; i-- > transition->wants_first[node];)
        want_push(transition, transition->wants_of[i]);
}

enum err transition_plug(struct transition *transition, uint32_t index, struct why *why)
{
    struct want *want = &transition->wants[index];
    const struct link *cable = &want->cable;
    assert(!want->done);
    enum err err =
        rewire_plug(transition->rewire, cable->a, cable->a_port, cable->b, cable->b_port, why);
    if (err)
        return err;
    want->done = true;
    transition->want_left--;
    transition->plugged[transition->plugged_count++] = index;
    return OK;
}

static void going_set(struct transition *transition, const struct link *cable, bool going)
{
    const uint64_t *first = transition->rewire->wiring.first;
    transition->going[first[cable->a] + cable->a_port] = going;
    transition->going[first[cable->b] + cable->b_port] = going;
    transition->going_left += going ? 1 : UINT32_MAX; /* minus one, modulo */
}

static uint32_t cable_of(const struct transition *transition, uint64_t port)
{
    assert(transition->going[port]);
    return transition->rewire->wiring.cable_at[port];
}

enum err transition_unplug(struct transition *transition, uint64_t port, struct why *why)
{
    uint32_t cable = cable_of(transition, port);
    const struct link link = transition->rewire->wiring.cables[cable];
    enum err err = rewire_unplug(transition->rewire, cable, why);
    if (!err)
        going_set(transition, &link, false);
    return err;
}

enum err transition_unplug_safely(struct transition *transition, uint64_t port, bool *done,
                                  struct why *why)
{
    uint32_t cable = cable_of(transition, port);
    const struct link link = transition->rewire->wiring.cables[cable];
    enum err err = rewire_unplug_safely(transition->rewire, cable, done, why);
    if (!err && *done)
        going_set(transition, &link, false);
    return err;
}

void transition_commit(struct transition *transition)
{
    struct rewire *rewire = transition->rewire;
    size_t first = rewire->committed;
    rewire_commit(rewire);
    transition->plugged_count = 0;
    for (size_t i = first; i < rewire->committed; i++) {
        const struct rewire_action *action = &rewire->plan.actions[i];
        if (action->kind == REWIRE_UNPLUG || action->b_fresh)
            wants_of_node_push(transition, action->cable.b);
        if (action->kind == REWIRE_UNPLUG || action->a_fresh)
            wants_of_node_push(transition, action->cable.a);
    }
}

void transition_undo(struct transition *transition, size_t count)
{
    struct rewire_plan *plan = &transition->rewire->plan;
    while (plan->count > count) {
        const struct rewire_action *action = &plan->actions[plan->count - 1];
        const struct link cable = action->cable;
        bool unplugged = action->kind == REWIRE_UNPLUG;
        rewire_undo(transition->rewire);
        if (unplugged) {
            going_set(transition, &cable, true);
        } else {
            transition->wants[transition->plugged[--transition->plugged_count]].done = false;
            transition->want_left++;
        }
    }
}

/* Start: which cables stay, which are unplugged, which are plugged. */

static struct link link_upwards(const struct link *link)
{
    if (link->a < link->b)
        return *link;
    return (struct link){link->b, link->a, link->b_port, link->a_port};
}

/* Orders by the later node first, so that the cables of one new node are consecutive. */
static int link_order(const void *left, const void *right)
{
    const struct link *one = left, *other = right;
    if (one->b != other->b)
        return one->b < other->b ? -1 : 1;
    if (one->a != other->a)
        return one->a < other->a ? -1 : 1;
    if (one->a_port != other->a_port)
        return one->a_port < other->a_port ? -1 : 1;
    return one->b_port < other->b_port ? -1 : one->b_port > other->b_port;
}

static int link_order_pair(const struct link *one, const struct link *other)
{
    if (one->b != other->b)
        return one->b < other->b ? -1 : 1;
    return one->a < other->a ? -1 : one->a > other->a;
}

static struct link *links_sorted(const struct link *links, uint32_t count)
{
    struct link *sorted = array_new(count, sizeof *sorted);
    if (!sorted)
        return NULL;
    for (uint32_t e = 0; e < count; e++)
        sorted[e] = link_upwards(&links[e]);
    qsort(sorted, count, sizeof *sorted, link_order);
    return sorted;
}

static void going_add(struct transition *transition, const struct link *cable)
{
    uint64_t port = transition->rewire->wiring.first[cable->a] + cable->a_port;
    going_set(transition, cable, true);
    transition->going_ports[transition->going_count++] = port;
}

static enum err links_compare(struct transition *transition, const struct link *wanted,
                              uint32_t wanted_count, struct why *why)
{
    const struct wiring *wiring = &transition->rewire->wiring;
    struct link *before = links_sorted(wiring->cables, wiring->cable_count);
    struct link *after = links_sorted(wanted, wanted_count);
    if (!before || !after) {
        free(before);
        free(after);
        return why_memory(why);
    }
    uint32_t i = 0, j = 0;
    while (i < wiring->cable_count || j < wanted_count) {
        int order = i == wiring->cable_count ? 1
                    : j == wanted_count      ? -1
                                             : link_order_pair(&before[i], &after[j]);
        if (order < 0)
            going_add(transition, &before[i]);
        else if (order > 0)
            transition->wants[transition->want_count++].cable = after[j];
        i += order <= 0;
        j += order >= 0;
    }
    free(before);
    free(after);
    transition->want_left = transition->want_count;
    return OK;
}

static void wants_index(struct transition *transition)
{
    uint32_t *first = transition->wants_first;
    uint32_t nodes = transition->rewire->wiring.node_count;
    for (uint32_t i = 0; i < transition->want_count; i++) {
        first[transition->wants[i].cable.a + 1]++;
        first[transition->wants[i].cable.b + 1]++;
    }
    for (uint32_t v = 0; v < nodes; v++)
        first[v + 1] += first[v];
    for (uint32_t i = transition->want_count; i-- > 0;) {
        /* Each range is filled from its end; first[v + 1] is then the start of v, and is moved to
         * first[v] below. */
        transition->wants_of[--first[transition->wants[i].cable.a + 1]] = i;
        transition->wants_of[--first[transition->wants[i].cable.b + 1]] = i;
    }
    for (uint32_t v = 0; v < nodes; v++)
        first[v] = first[v + 1];
    first[nodes] = 2 * transition->want_count;
    for (uint32_t i = transition->want_count; i-- > 0;)
        want_push(transition, i);
}

void transition_fini(struct transition *transition)
{
    free(transition->wants);
    free(transition->wants_first);
    free(transition->wants_of);
    free(transition->ready.items);
    free(transition->near.items);
    free(transition->going);
    free(transition->going_ports);
    free(transition->plugged);
    bridges_fini(&transition->bridges);
}

enum err transition_init(struct transition *transition, struct rewire *rewire,
                         const struct link *wanted, uint32_t wanted_count, struct why *why)
{
    const struct wiring *wiring = &rewire->wiring;
    size_t nodes = wiring->node_count, wants = wanted_count;
    *transition = (struct transition){
        .rewire = rewire,
        .wants = array_new(wants, sizeof *transition->wants),
        .wants_first = array_new(nodes + 1, sizeof *transition->wants_first),
        .wants_of = array_new(2 * wants, sizeof *transition->wants_of),
        .ready.items = array_new(wants, sizeof *transition->ready.items),
        .near.items = array_new(wants, sizeof *transition->near.items),
        .going = array_new(wiring->first[nodes], 1),
        .going_ports = array_new(wiring->cable_count, sizeof *transition->going_ports),
        .plugged = array_new(wants, sizeof *transition->plugged),
    };
    enum err err = bridges_init(&transition->bridges, wiring, why);
    if (err)
        return err;
    if (!transition->wants || !transition->wants_first || !transition->wants_of ||
        !transition->ready.items || !transition->near.items || !transition->going ||
        !transition->going_ports || !transition->plugged)
        return why_memory(why);
    err = links_compare(transition, wanted, wanted_count, why);
    if (!err)
        wants_index(transition);
    return err;
}
