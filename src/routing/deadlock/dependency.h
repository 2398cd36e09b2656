#pragma once
/* dependency: the channel dependency graph, over (channel, lane), of everything that packets can
 * do.
 *
 * A packet that holds one virtual channel waits for others. Under oblivious routing it has chosen
 * one, regardless of the load, so each possible choice is a separate wait. Under adaptive routing
 * it waits for all channels that it may take at once, and continues on the first that is free: that
 * is one wait with alternatives. The edges of the graph are all pairs (held, waited for). */

#include <stdint.h>

#include "base/err.h"
#include "base/intern.h"
#include "base/observer.h"
#include "routing/deadlock/explore.h"

struct virtual_channel {
    uint32_t channel;
    uint32_t lane;
};

/* An example of a packet in this wait: the one with the fewest hops so far. */
struct waiting_packet {
    uint32_t from, to;
    uint32_t hops;
};

struct dependency {
    struct intern channels; /* of struct virtual_channel: those that packets hold */
    uint32_t width;         /* number of entries in one wait */
    struct intern waits;    /* of uint32_t[width]: the channel held, then the alternatives in
                               increasing order, then INTERN_NONE to the end */
    struct waiting_packet *examples; /* owned; one per wait */
    size_t example_capacity;
    uint64_t states; /* states of packets in flight, each counted with its destination */
    bool oblivious;
    uint32_t escape_lanes; /* as the router defines them; 0 if the lanes are not the router's own */
};

void dependency_fini(struct dependency *dependency);

/* The lane of each start; only with LANE_KEPT. NULL: lane 0. */
struct lane_choice {
    uint32_t (*lane)(const void *context, uint32_t from, uint32_t to, uint32_t start);
    const void *context;
};

/* Explores all packets from every source to every destination. On failure nothing is kept. */
MUST_CHECK enum err dependency_find(struct dependency *dependency, const struct router *router,
                                    struct lane_rule rule, const struct lane_choice *choice,
                                    struct observer progress, struct why *why);

static inline struct virtual_channel dependency_channel(const struct dependency *dependency,
                                                        uint32_t vertex)
{
    return *(const struct virtual_channel *)intern_record(&dependency->channels, vertex);
}

static inline const uint32_t *dependency_wait(const struct dependency *dependency, uint32_t wait)
{
    return intern_record(&dependency->waits, wait);
}

/* The number of different lanes that packets take. */
MUST_CHECK enum err dependency_lanes(const struct dependency *dependency, uint32_t *lanes,
                                     struct why *why);
