#pragma once
/* explore: every state that packets to one destination can be in.
 *
 * A packet under way holds a channel, in one lane of it, and is in a state of
 * its algorithm. What it may do next follows from these and its destination,
 * not from its source, so packets from all sources are explored together and
 * each state once. They are met in order of hops, so that the packet kept as
 * an example of each has the fewest behind it. */

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/intern.h"
#include "routing/route.h"

/* Which virtual channel a packet takes. */
enum lane_kind {
    LANE_OWN,    /* what the algorithm says */
    LANE_FOLDED, /* that, modulo a number of lanes */
    LANE_HOPS,   /* as many as it has hops behind it */
    LANE_KEPT,   /* the one it was given at its source */
};

struct lane_rule {
    enum lane_kind kind;
    uint32_t count; /* LANE_FOLDED: the modulus, at least 1 */
};

/* What a packet holds while it waits. */
struct held {
    uint32_t channel;
    uint32_t lane;
    struct route_state state;
};
static_assert(sizeof(struct held) == 20, "no padding");

/* A packet that can come to hold it. */
struct held_by {
    uint32_t from;
    uint32_t hops; /* taken, the one over the channel held included */
};

struct explore {
    const struct router *router; /* borrowed */
    struct lane_rule rule;
    uint32_t to;             /* destination */
    struct intern met;       /* of struct held, in the order met */
    struct held_by *holders; /* owned; one for each of them */
    size_t holder_capacity;
    uint32_t done; /* of met, that explore_next has gone on from */

    /* What explore_next gives: */
    struct held held;
    struct held_by holder;
    struct route_move *moves; /* owned; where it may go next, lanes as the rule has them */
    uint32_t move_count;      /* 0: it has arrived */
};

MUST_CHECK enum err explore_open(struct explore *explore, const struct router *router,
                                 struct lane_rule rule, struct why *why);
void explore_close(struct explore *explore);

/* Forgets all packets; those that start now are for `to`. */
void explore_begin(struct explore *explore, uint32_t to);

/* A packet starts in one of its starting states. `lane` is the one it keeps
 * under LANE_KEPT. */
MUST_CHECK enum err explore_start(struct explore *explore, uint32_t from, uint32_t start,
                                  uint32_t lane, struct why *why);

/* A packet is met that already holds something, while explore_awaits it. */
MUST_CHECK enum err explore_meet(struct explore *explore, const struct held *held,
                                 struct held_by by, struct why *why);

/* Whether a packet with so many hops behind it would be met in order. Those with
 * as many as the next state has must come before explore_next goes on from it. */
static inline bool explore_awaits(const struct explore *explore, uint32_t hops)
{
    return explore->done == explore->met.count || hops <= explore->holders[explore->done].hops;
}

/* Goes on from the next state met; *more is false when there is none. */
MUST_CHECK enum err explore_next(struct explore *explore, bool *more, struct why *why);

/* Packets start and end at nodes that have servers; where none has, at all. A
 * packet may end where it starts: some algorithms send it round. */
static inline bool explore_is_end(const struct topology *topology, uint32_t node)
{
    return topology->server_count == 0 || topology->sites[node].servers > 0;
}
