#include "measured/sst/sst_trip.h"

#include "base/check.h"

#define CLOCK_TRIES 200

/* Returns the shortest time between two consecutive readings of the clock, in us. */
static double clock_cost(void)
{
    nsec least = NSEC_PER_SEC;
    for (int i = 0; i < CLOCK_TRIES; i++) {
        nsec since = clock_now(), elapsed = clock_now() - since;
        least = elapsed < least ? elapsed : least;
    }
    return (double)least * 1e-3;
}

void trip_open(struct trip *trip, struct trip_log *log, uint64_t seed, nsec pause_max)
{
    assert(log->wanted <= TRIP_MAX && pause_max > 0);
    *trip = (struct trip){
        .log = log,
        .rng = rng_make(seed, 0),
        .pause_max = pause_max,
        .cost = clock_cost(),
        .warms = log->warm,
    };
    log->count = 0;
}

void trip_start(struct trip *trip)
{
    nsec until = clock_now() + (nsec)rng_below(&trip->rng, (uint64_t)trip->pause_max);
    while ((trip->since = clock_now()) < until)
        ;
}

bool trip_end(struct trip *trip)
{
    struct trip_log *log = trip->log;
    double usec = (double)(clock_now() - trip->since) * 1e-3 - trip->cost;
    if (trip->warms > 0)
        trip->warms--;
    else if (log->count < log->wanted)
        log->usec[log->count++] = usec > 0 ? usec : 0;
    return log->count == log->wanted;
}
