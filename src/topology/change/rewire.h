#pragma once
/* rewire: changing cables in the order in which a person will, while watching
 * that the network stays in one piece.
 *
 * A node counts as part of the network from its first cable on, and until it
 * loses its last one only if it is leaving; any other node without a cable is
 * cut off. `parts` is the number of pieces the counted nodes form. Actions are
 * done on the wiring at once and collected; rewire_commit makes a step of all
 * since the last commit, those not yet committed can be undone.
 *
 * A node has a limit of cables and possibly more port numbers than that: ports
 * are labels, and a torus of size 2 leaves gaps in them. */

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
    bool apart;            /* after that step the network is in pieces */
    bool a_fresh, b_fresh; /* the first cable of that end: it counts from now on */
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
    uint32_t apart_count;    /* steps after which the network is in pieces */
};

struct rewire {
    struct wiring wiring;
    uint32_t *limit;   /* per node: the cables it can hold */
    uint8_t *leaving;  /* per node: may lose its last cable */
    uint8_t *attached; /* per node: has, or had, a cable */
    uint32_t parts;
    size_t committed; /* actions that belong to a step */
    struct rewire_plan plan;
};

void rewire_plan_fini(struct rewire_plan *plan);

/* Raises slots[v], the count of port numbers, to hold all ports the graph
 * names; node v of the graph is node `at[v]` of the slots, or v if NULL. */
void rewire_cover(uint32_t *slots, const struct graph *graph, const uint32_t *at);

/* The network as it is before. `slots[v]` is at least limit[v] and above all
 * ports in use; `leaving` may be NULL: nobody leaves. Everything is copied. */
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

/* Joins two nodes that have room, at the ports named if those are free, else
 * at the lowest free ones. */
MUST_CHECK enum err rewire_plug(struct rewire *rewire, uint32_t a, uint32_t a_port, uint32_t b,
                                uint32_t b_port, struct why *why);
MUST_CHECK enum err rewire_unplug(struct rewire *rewire, uint32_t cable, struct why *why);

/* Unplugs the cable only if that leaves no more parts than there are. */
MUST_CHECK enum err rewire_unplug_safely(struct rewire *rewire, uint32_t cable, bool *done,
                                         struct why *why);

/* Would a cable between the two be no island of its own? */
bool rewire_joins(const struct rewire *rewire, uint32_t a, uint32_t b);

/* Everything since the last commit becomes one step. */
void rewire_commit(struct rewire *rewire);

/* Takes back the last action, which must not have been committed. */
void rewire_undo(struct rewire *rewire);

/* Labels the pieces from 0; a node that does not count gets NODE_NONE.
 * `bfs` is for as many nodes as the wiring has. Returns the number of pieces. */
uint32_t rewire_label(const struct rewire *rewire, uint32_t *label, struct bfs *bfs);
