#pragma once
/* route: how a packet finds its way, as data.
 *
 * An algorithm is two functions: how a packet may start at its source (which middle node, which
 * directions, which path), and which channels it may take next from any state, each with its
 * probability. One packet's walk, the expected load of every channel, the mean path and the channel
 * dependencies all follow from the same two functions, so they cannot disagree.
 *
 * Everything is a pure function of topology, source, destination and random draw. A router is an
 * algorithm prepared for one topology; it is constant once open, so that threads may share it. */

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/rng.h"
#include "topology/topology.h"

/* The state that a packet carries. No padding: states are compared as bytes. Each algorithm's file
 * says which members it uses; the others are 0. */
struct route_state {
    uint32_t target;    /* node that it is heading for, or the number of its path */
    uint16_t downwards; /* bit a: it travels down axis a */
    uint16_t wrapped;   /* bit a: it has passed the end of axis a since it entered that axis */
    uint16_t hops;      /* hops so far, if an algorithm counts them */
    uint8_t phase;      /* the part of its way */
    uint8_t order;      /* the order of axes */
};
static_assert(sizeof(struct route_state) == 12, "no padding");

struct route_move {
    double share; /* probability; the shares of one state sum to 1. 0: an escape, taken only if the
                     others are blocked */
    uint32_t channel; /* the channel that it leaves on */
    uint32_t lane;    /* the virtual channel that it takes there, from 0 */
    struct route_state next;
};

/* Paths per pair, for algorithms with a limited number of paths. */
#define ROUTE_WAYS_DEFAULT 8u
#define ROUTE_WAYS_MAX     4096u

struct route_options {
    uint32_t ways; /* of ecmp and k-shortest; 0: ROUTE_WAYS_DEFAULT */
    uint64_t seed; /* breaks ties between paths of equal length */
};

struct router {
    const struct route_algorithm *algorithm;
    const struct topology *topology; /* borrowed */
    struct route_options options;
    uint32_t move_max;     /* largest number of moves of one state */
    uint32_t lane_count;   /* virtual channels that its moves use: lanes 0 to lane_count - 1 */
    uint32_t escape_lanes; /* > 0: lanes below it are an escape, offered in every state and never
                              left again (Duato); 0: all lanes together must be free of deadlock */
    bool symmetric;        /* translating source and destination translates all its paths */
    void *tables;          /* data that the algorithm has prepared; owned */
};

struct route_algorithm {
    const char *name;    /* "dor" */
    const char *summary; /* one line, no full stop */
    bool oblivious;      /* probabilities do not depend on load; else each has an equal share */
    bool roams; /* `start_count`, `start`, and `moves` in phase 0, ignore the destination */

    /* Refuses a topology that the algorithm does not support; sets all members after `options`. On
     * failure nothing is kept. */
    enum err (*open)(struct router *router, struct why *why);
    void (*close)(struct router *router); /* NULL: nothing to free */

    /* The states in which a packet may start, from 0, and the probability of each; these sum to 1.
     * A packet from a node to itself has one starting state, in which it has arrived, unless the
     * algorithm sends such packets through the network as well. */
    uint32_t (*start_count)(const struct router *router, uint32_t from, uint32_t to);
    double (*start)(const struct router *router, uint32_t from, uint32_t to, uint32_t index,
                    struct route_state *state);

    /* Draws one of the starts at random without listing all; NULL: all are listed. */
    void (*draw)(const struct router *router, uint32_t from, uint32_t to, struct rng *rng,
                 struct route_state *state);

    /* Writes the moves from a state at node `at`, at most move_max, and returns their number; 0 if
     * the packet has arrived. */
    uint32_t (*moves)(const struct router *router, uint32_t at, uint32_t to,
                      const struct route_state *state, struct route_move *moves);
};

extern const struct route_algorithm *const route_algorithms[]; /* ends with NULL */

/* The algorithm with that name, or NULL. */
const struct route_algorithm *route_find(const char *name);

/* The topology is borrowed until router_close. */
MUST_CHECK enum err router_open(struct router *router, const char *algorithm,
                                const struct topology *topology,
                                const struct route_options *options, struct why *why);
void router_close(struct router *router);

/* No algorithm here needs more hops; a longer walk is a bug. */
#define ROUTE_HOP_MAX 65535u

/* Walks the way of one packet by random draws. `channels` has room for `capacity`; returns the
 * number of hops, also if they do not all fit. */
MUST_CHECK enum err route_walk(const struct router *router, uint32_t from, uint32_t to,
                               struct rng *rng, uint32_t *channels, uint32_t capacity,
                               uint32_t *hops, struct why *why);
