#pragma once
/* camcube_trip: round trips of the ping service, which every server on the way touches, in real
 * processes and in the simulator. */

#include <stddef.h>

#include "measured/hosts.h"

#define TRIP_SIZES 2

/* Payloads: with weft's header packets of 1,500 and of 8,940 bytes. */
extern const uint16_t trip_sizes[TRIP_SIZES];
extern const char *const trip_size_words[TRIP_SIZES];

/* From server 0. */
struct trip_job {
    const char *spec;
    node_id to;
    unsigned hops;  /* there; checked */
    uint32_t count; /* of each size, one after another */
    /* Real only, as in hosts.h. */
    uint32_t process_count;
    const char *transport;
    uint64_t rate;
    bool polling, sleeping;
};

/* Mean microseconds there and back, of each size. */
MUST_CHECK enum err trip_measure(const struct trip_job *job, double usec[TRIP_SIZES],
                                 struct why *why);
/* 1 Gb/s, store and forward, 1 us of cable; servers take no time. */
MUST_CHECK enum err trip_simulate(const struct trip_job *job, double usec[TRIP_SIZES],
                                  struct why *why);
