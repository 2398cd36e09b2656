#pragma once
/* stage: what a search for a bisection is doing, for those who wait for it. */

#include <stdint.h>

/* Told now and then which stage it is at, "bisection, spectral bound", and how
 * much of that is done; a total of 0 where nobody counts. `done` is NULL for a
 * caller that does not care. The names are constants. */
struct bisection_progress {
    void (*done)(void *context, const char *stage, uint64_t done, uint64_t total);
    void *context;
};

static inline void stage_tell(const struct bisection_progress *progress, const char *stage,
                              uint64_t done, uint64_t total)
{
    if (progress->done)
        progress->done(progress->context, stage, done, total);
}
