#pragma once
/* The state of a transition in progress. transition_books.c keeps it; transition.c (single steps)
 * and joint_step.c (steps of several actions) share it. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topology/change/bridges.h"
#include "topology/change/rewire.h"

/* A cable to be plugged. */
struct want {
    struct link cable;
    bool done;
    bool in_ready, in_near;
};

/* Wants to look at next; each is on the stack at most once. */
struct want_stack {
    uint32_t *items;
    uint32_t count;
};

struct transition {
    struct rewire *rewire; /* borrowed */
    struct want *wants;
    uint32_t want_count;
    uint32_t want_left;
    uint32_t want_cursor;  /* all wants before this one are done */
    uint32_t *wants_first; /* node_count + 1: wants of node v are wants_of[first[v] ..] */
    uint32_t *wants_of;
    struct want_stack ready; /* wants that may have room at both ends */
    struct want_stack near;  /* wants that may lack room at one end only */

    uint8_t *going;        /* per port of the wiring: its cable is to be unplugged */
    uint64_t *going_ports; /* one port of each such cable, whether unplugged yet or not */
    uint32_t going_count;
    uint32_t going_left;

    uint32_t *plugged; /* wants plugged since the last commit, in order */
    uint32_t plugged_count;

    struct bridges bridges;
};

/* Compares the wiring with the wanted cables. transition_fini must be called also on failure. */
MUST_CHECK enum err transition_init(struct transition *transition, struct rewire *rewire,
                                    const struct link *wanted, uint32_t wanted_count,
                                    struct why *why);
void transition_fini(struct transition *transition);

/* Has the node no room for another cable? */
static inline bool transition_node_blocked(const struct transition *transition, uint32_t node)
{
    return rewire_room(transition->rewire, node) == 0;
}

/* The number of ends of the want that have no room. */
uint32_t want_blocked(const struct transition *transition, const struct want *want);

/* The first end of the want that has no room; asserts that there is one. */
uint32_t want_blocked_end(const struct transition *transition, const struct want *want);

/* Puts the want on the stack `ready` or `near` if no end, or one end, has no room. */
void want_push(struct transition *transition, uint32_t index);

/* Actions on the wiring that also update the transition's own state. */
MUST_CHECK enum err transition_plug(struct transition *transition, uint32_t want, struct why *why);
MUST_CHECK enum err transition_unplug(struct transition *transition, uint64_t port,
                                      struct why *why);
MUST_CHECK enum err transition_unplug_safely(struct transition *transition, uint64_t port,
                                             bool *done, struct why *why);

/* Makes one step of the actions since the last commit. */
void transition_commit(struct transition *transition);

/* Undoes uncommitted actions until the plan has `count` actions. */
void transition_undo(struct transition *transition, size_t count);
