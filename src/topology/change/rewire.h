#pragma once
/* rewire: changes cables in the order in which a person does, and tracks whether the network stays
 * connected.
 *
 * A node counts as part of the network from its first cable on. A leaving node counts until it
 * loses its last cable; any other node that has lost all its cables is cut off and still counts.
 * `parts` is the number of connected components of the counted nodes. Actions change the wiring at
 * once and are collected; rewire_commit makes one step of all actions since the last commit.
 * Actions that are not committed can be undone.
 *
 * A node has a limit of cables and possibly more port numbers than that: ports are labels, and an
 * axis of size 2 in a torus leaves gaps in them. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "topology/wiring.h"

enum rewire_kind {
    REWIRE_UNPLUG,
    REWIRE_PLUG,
};

struct rewire_action {
    enum rewire_kind kind;
    struct link cable;
    uint32_t step;         /* from 1; actions with the same number are done together */
    bool apart;            /* after that step the network is disconnected */
    bool a_fresh, b_fresh; /* it is the first cable of that end, which counts from now on */
    uint32_t parts_before;
};

struct rewire_plan {
    struct rewire_action *actions; /* owned */
    size_t count;
    size_t capacity;
    uint32_t step_count;
    uint32_t unplug_count;
    uint32_t plug_count;
    uint32_t together_count; /* steps of more than one action */
    uint32_t apart_count;    /* steps after which the network is disconnected */
};

struct rewire {
    struct wiring wiring;
    uint32_t *limit;   /* per node: how many cables it can hold */
    uint8_t *leaving;  /* per node: it may lose its last cable */
    uint8_t *attached; /* per node: it has or had a cable */
    uint32_t parts;
    size_t committed; /* actions that belong to a step */
    struct rewire_plan plan;
};

void rewire_plan_fini(struct rewire_plan *plan);

/* Raises slots[v], the number of port numbers, so that it covers all ports in the graph. Node v of
 * the graph is node `at[v]` of the slots, or v if `at` is NULL. */
void rewire_cover(uint32_t *slots, const struct graph *graph, const uint32_t *at);

/* Starts from the network as it is now. `slots[v]` is at least limit[v] and above all ports in use.
 * `leaving` may be NULL if no node leaves. All arguments are copied. */
MUST_CHECK enum err rewire_init(struct rewire *rewire, uint32_t node_count, const uint32_t *limit,
                                const uint32_t *slots, const uint8_t *leaving,
                                const struct link *links, uint32_t link_count, struct why *why);
void rewire_fini(struct rewire *rewire);

/* How many more cables the node can hold. */
static inline uint32_t rewire_room(const struct rewire *rewire, uint32_t node)
{
    uint32_t used = wiring_ports(&rewire->wiring, node) - rewire->wiring.free[node];
    return rewire->limit[node] - used;
}

static inline uint32_t rewire_used(const struct rewire *rewire, uint32_t node)
{
    return wiring_ports(&rewire->wiring, node) - rewire->wiring.free[node];
}

/* Joins two nodes that have room, at the given ports if these are free, else at the lowest free
 * ports. */
MUST_CHECK enum err rewire_plug(struct rewire *rewire, uint32_t a, uint32_t a_port, uint32_t b,
                                uint32_t b_port, struct why *why);
MUST_CHECK enum err rewire_unplug(struct rewire *rewire, uint32_t cable, struct why *why);

/* Unplugs the cable only if that does not increase the number of parts. */
MUST_CHECK enum err rewire_unplug_safely(struct rewire *rewire, uint32_t cable, bool *done,
                                         struct why *why);

/* Would a cable between the two nodes join the network, instead of being a separate part? */
bool rewire_joins(const struct rewire *rewire, uint32_t a, uint32_t b);

/* Makes one step of all actions since the last commit. */
void rewire_commit(struct rewire *rewire);

/* Undoes the last action, which must not be committed. */
void rewire_undo(struct rewire *rewire);

/* Labels the parts from 0; a node that does not count gets NODE_NONE. `bfs` has room for as many
 * nodes as the wiring has. Returns the number of parts. */
uint32_t rewire_label(const struct rewire *rewire, uint32_t *label, struct bfs *bfs);
