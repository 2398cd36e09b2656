#pragma once
/* shaper: limits the rate of a link. A token bucket, stored as the moment at which the line is free
 * again.
 *
 * Each frame occupies the line for the time of its bytes and of what Ethernet adds to them
 * (preamble, frame header, check, gap). A sender that is late, because its process slept or another
 * process had the processor, may catch up on at most SHAPER_DEPTH_NSEC: otherwise every delay of
 * the scheduler would be lost for good, and a link would never reach its rate. */

#include <stdint.h>

#include "transport/clock.h"

#define SHAPER_FRAME_BYTES 38
#define SHAPER_DEPTH_NSEC  (4 * 1000 * 1000LL)

struct shaper {
    uint64_t bits_per_sec; /* 0: no limit */
    nsec free_at;          /* when the next frame may begin */
    uint64_t rest; /* remainder of the last division: fractions of a nanosecond, times the rate */
};

static inline void shaper_start(struct shaper *shaper, uint64_t bits_per_sec)
{
    *shaper = (struct shaper){.bits_per_sec = bits_per_sec};
}

/* The moment when a frame may begin; 0: at once. */
static inline nsec shaper_busy_until(const struct shaper *shaper, nsec now)
{
    return shaper->free_at > now ? shaper->free_at : 0;
}

/* A frame of that many bytes begins. */
static inline void shaper_take(struct shaper *shaper, nsec now, uint32_t bytes)
{
    if (!shaper->bits_per_sec)
        return;
    if (shaper->free_at < now - SHAPER_DEPTH_NSEC)
        shaper->free_at = now - SHAPER_DEPTH_NSEC;
    uint64_t bits = 8 * ((uint64_t)bytes + SHAPER_FRAME_BYTES);
    uint64_t time = bits * NSEC_PER_SEC + shaper->rest;
    shaper->free_at += (nsec)(time / shaper->bits_per_sec);
    shaper->rest = time % shaper->bits_per_sec;
}
