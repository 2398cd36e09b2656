#pragma once
/* parallel: processes a range of items with several threads.
 *
 * The range is divided into steps; an idle thread takes the next one. If the
 * result does not depend on the order of the steps, it does not depend on the
 * number of threads either. The calling thread works, too. */

#include <stdint.h>

#include "base/err.h"
#include "cli/core/call.h"
#include "topology/measure/distance.h"

#define PARALLEL_THREADS_MAX 256

struct parallel_job {
    const char *title; /* of the progress bar; NULL for none */
    uint32_t total;    /* number of items */
    uint32_t step;     /* items in a step */

    /* Processes the items first .. first + count - 1. `thread` is from 0 to the
     * number of threads - 1, so that each thread can add up its own results. The
     * first failure ends the whole run. */
    enum err (*work)(void *context, uint32_t thread, uint32_t first, uint32_t count,
                     struct why *why);
    void *context;
};

MUST_CHECK enum err parallel_run(const struct parallel_job *job, uint32_t threads, struct why *why);

/* Reads the option --threads N; the default is all cores. */
MUST_CHECK enum err parallel_threads(const struct call *call, uint32_t *threads, struct why *why);

/* Measures all pairs of a topology into an empty tally; `title` as in parallel_job. */
MUST_CHECK enum err parallel_distances(struct distance_tally *tally,
                                       const struct topology *topology, uint32_t threads,
                                       const char *title, struct why *why);
