#pragma once
/* parallel: work on a range of items, spread over threads.
 *
 * The range is cut into steps; idle threads take the next one. A caller whose
 * steps add up to the same in any order gets the same result from any number
 * of threads. The caller's thread works too. */

#include <stdint.h>

#include "base/err.h"
#include "cli/core/call.h"
#include "topology/measure/distance.h"

#define PARALLEL_THREADS_MAX 256

struct parallel_job {
    const char *title; /* of the progress bar; NULL for none */
    uint32_t total;    /* items ... */
    uint32_t step;     /* ... handed out so many at a time */

    /* Does the items first .. first + count - 1. `thread` is from 0 to the
     * number of threads - 1, so that each can have a place of its own to add
     * up. The first refusal ends the whole run. */
    enum err (*work)(void *context, uint32_t thread, uint32_t first, uint32_t count,
                     struct why *why);
    void *context;
};

MUST_CHECK enum err parallel_run(const struct parallel_job *job, uint32_t threads, struct why *why);

/* A command's --threads N; by default all cores. */
MUST_CHECK enum err parallel_threads(const struct call *call, uint32_t *threads, struct why *why);

/* All pairs of a topology into an empty tally; the title is a job's. */
MUST_CHECK enum err parallel_distances(struct distance_tally *tally,
                                       const struct topology *topology, uint32_t threads,
                                       const char *title, struct why *why);
