#pragma once
/* camcube_trip: round trips of the ping service, forwarded by every server on the way, in real
 * processes and in the simulator. */

#include <stddef.h>

#include "measured/hosts.h"

#define TRIP_SIZES 2

/* Sizes of payloads; with weft's header the packets have 1,500 and 8,940 bytes. */
extern const uint16_t trip_sizes[TRIP_SIZES];
extern const char *const trip_size_words[TRIP_SIZES];

/* Pings from server 0 to server `to`. */
struct trip_job {
    const char *spec;
    node_id to;
    unsigned hops;  /* how many each ping must take in each direction */
    uint32_t count; /* pings of each size, one after another */
    /* For real processes only, as in hosts.h. */
    uint32_t process_count;
    const char *transport;
    uint64_t rate;
    bool polling, sleeping;
};

/* Measures the mean round trip of each size, in microseconds. */
MUST_CHECK enum err trip_measure(const struct trip_job *job, double usec[TRIP_SIZES],
                                 struct why *why);
/* The same in the simulator: 1 Gb/s, store and forward, 1 us for each cable; computing takes no
 * time. */
MUST_CHECK enum err trip_simulate(const struct trip_job *job, double usec[TRIP_SIZES],
                                  struct why *why);
