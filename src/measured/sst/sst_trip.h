#pragma once
/* trip: the times of an operation that is repeated, each time after a random pause, so that
 * it starts at any phase of a polling loop or of a periodic fetch. The log is written by the
 * measuring process and read by its parent afterwards. */

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"
#include "transport/clock.h"

#define TRIP_MAX 20000

struct trip_log {
    uint32_t wanted; /* at most TRIP_MAX */
    uint32_t warm;   /* warm-up trips before the wanted ones; they are not logged */
    uint32_t count;  /* trips logged so far */
    double usec[TRIP_MAX];
};

struct trip {
    struct trip_log *log; /* borrowed; shared with the parent */
    struct rng rng;
    nsec pause_max;
    nsec since;     /* when the current trip began */
    double cost;    /* time to read the clock, in us, which is subtracted */
    uint32_t warms; /* warm-up trips that are still to come */
};

/* Returns the default number of warm-up trips: a tenth, at most 50. */
static inline uint32_t trip_warm(uint32_t wanted)
{
    return wanted < 500 ? wanted / 10 : 50;
}

static inline uint32_t trip_total(const struct trip_log *log)
{
    return log->wanted + log->warm;
}

void trip_open(struct trip *trip, struct trip_log *log, uint64_t seed, nsec pause_max);

/* Pauses without giving up the core, and starts the clock. */
void trip_start(struct trip *trip);

/* Stops the clock and logs the trip. Returns true after the last trip. */
bool trip_end(struct trip *trip);
