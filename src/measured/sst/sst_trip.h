#pragma once
/* trip: times of one thing that is done again and again, each time after a random
 * pause, so that it meets whatever turns round in the meantime (a poller, a fetch) at
 * any phase. Written by the process that counts, read by its parent afterwards. */

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"
#include "transport/clock.h"

#define TRIP_MAX 20000

struct trip_log {
    uint32_t wanted; /* at most TRIP_MAX */
    uint32_t warm;   /* trips before those that count */
    uint32_t count;
    double usec[TRIP_MAX];
};

struct trip {
    struct trip_log *log; /* borrowed; shared with the parent */
    struct rng rng;
    nsec pause_max;
    nsec since;     /* when the trip under way began */
    double cost;    /* of looking at the clock, in us: it is taken off */
    uint32_t warms; /* trips that do not count and are still to come */
};

/* Before how many trips they are warm, where nothing else is said: a tenth, 50 at most. */
static inline uint32_t trip_warm(uint32_t wanted)
{
    return wanted < 500 ? wanted / 10 : 50;
}

static inline uint32_t trip_total(const struct trip_log *log)
{
    return log->wanted + log->warm;
}

void trip_open(struct trip *trip, struct trip_log *log, uint64_t seed, nsec pause_max);

/* Pauses, without giving up the processor, and starts the clock. */
void trip_start(struct trip *trip);

/* Stops it. True: that was the last. */
bool trip_end(struct trip *trip);
