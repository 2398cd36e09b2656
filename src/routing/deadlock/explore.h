#pragma once
/* explore: every state that packets to one destination can be in.
 *
 * A packet in flight holds a channel, in one lane of it, and is in a state of its algorithm. Its
 * possible next moves follow from these and its destination, not from its source, so packets from
 * all sources are explored together, and each state once. States are visited in order of hops, so
 * that the packet kept as the example of a state has the fewest hops. */

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/intern.h"
#include "routing/route.h"

/* The rule by which a packet takes a virtual channel. */
enum lane_kind {
    LANE_OWN,    /* the algorithm's own lane */
    LANE_FOLDED, /* the algorithm's lane modulo a number of lanes */
    LANE_HOPS,   /* the number of hops so far */
    LANE_KEPT,   /* the lane that it got at its source */
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

/* An example of a packet that holds it. */
struct held_by {
    uint32_t from;
    uint32_t hops; /* hops so far, including the one over the channel held */
};

struct explore {
    const struct router *router; /* borrowed */
    struct lane_rule rule;
    uint32_t to;             /* destination */
    struct intern met;       /* of struct held, in the order in which the states were found */
    struct held_by *holders; /* owned; one per entry of `met` */
    size_t holder_capacity;
    uint32_t done; /* how many entries of `met` explore_next has processed */

    /* The result of explore_next: */
    struct held held;
    struct held_by holder;
    struct route_move *moves; /* owned; the possible next moves, with lanes by the rule */
    uint32_t move_count;      /* 0: it has arrived */
};

MUST_CHECK enum err explore_open(struct explore *explore, const struct router *router,
                                 struct lane_rule rule, struct why *why);
void explore_close(struct explore *explore);

/* Forgets all packets; packets that start from now on are for `to`. */
void explore_begin(struct explore *explore, uint32_t to);

/* Starts a packet in one of its starting states. `lane` is the lane that it keeps under
 * LANE_KEPT. */
MUST_CHECK enum err explore_start(struct explore *explore, uint32_t from, uint32_t start,
                                  uint32_t lane, struct why *why);

/* Adds a packet that already holds a channel; explore_awaits must allow it. */
MUST_CHECK enum err explore_meet(struct explore *explore, const struct held *held,
                                 struct held_by by, struct why *why);

/* Can a packet with this many hops still be added in order? Packets with as many hops as the next
 * state must be added before explore_next processes that state. */
static inline bool explore_awaits(const struct explore *explore, uint32_t hops)
{
    return explore->done == explore->met.count || hops <= explore->holders[explore->done].hops;
}

/* Processes the next state; *more is false if there is none. */
MUST_CHECK enum err explore_next(struct explore *explore, bool *more, struct why *why);

/* Packets start and end at nodes that have servers; if no node has servers, at all nodes. A packet
 * may end where it starts: some algorithms send it through the network. */
static inline bool explore_is_end(const struct topology *topology, uint32_t node)
{
    return topology->server_count == 0 || topology->sites[node].servers > 0;
}
