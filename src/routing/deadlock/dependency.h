#pragma once
/* dependency: who can wait for whom: the channel dependency graph, over
 * (channel, lane), of everything packets can do.
 *
 * A packet that holds one virtual channel waits for others. Under oblivious
 * routing it has chosen one, whatever the load, so each thing it may choose is
 * a wait of its own. Under adaptive routing it waits for all it may take at
 * once and goes on with whichever is free first: that is one wait with
 * alternatives. The edges of the graph are all (held, waited for). */

#include <stdint.h>

#include "base/err.h"
#include "base/intern.h"
#include "base/observer.h"
#include "routing/deadlock/explore.h"

struct virtual_channel {
    uint32_t channel;
    uint32_t lane;
};

/* A packet that waits so, the one with the fewest hops behind it. */
struct waiting_packet {
    uint32_t from, to;
    uint32_t hops;
};

struct dependency {
    struct intern channels;          /* of struct virtual_channel: those that packets hold */
    uint32_t width;                  /* numbers in one wait */
    struct intern waits;             /* of uint32_t[width]: the one held, then those that will
                                      * do, in rising order, then INTERN_NONE to the end */
    struct waiting_packet *examples; /* owned; one for each wait */
    size_t example_capacity;
    uint64_t states; /* of packets under way, each counted with its destination */
    bool oblivious;
    uint32_t escape_lanes; /* as the router names them; 0 where lanes are not its own */
};

void dependency_fini(struct dependency *dependency);

/* Lanes for what starts: only under LANE_KEPT. NULL: lane 0. */
struct lane_choice {
    uint32_t (*lane)(const void *context, uint32_t from, uint32_t to, uint32_t start);
    const void *context;
};

/* From every source to every destination. On failure nothing is kept. */
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

/* Different lanes that some packet takes. */
MUST_CHECK enum err dependency_lanes(const struct dependency *dependency, uint32_t *lanes,
                                     struct why *why);
