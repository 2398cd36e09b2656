#pragma once
/* workers: a few threads that run jobs in the order in which they were added. With one thread the
 * jobs also end in that order.
 *
 * All functions are called by the host's thread. The threads start with the first job. */

#include <stdbool.h>

#include "base/err.h"
#include "os/data/disk_job.h"

#define WORKERS_MAX 8

struct workers;

/* `event_fd` (borrowed) is an eventfd that becomes readable when a job has ended. */
MUST_CHECK enum err workers_open(struct workers **workers, unsigned count, const char *name,
                                 int event_fd, struct why *why);
/* No job may be waiting or running. NULL is allowed. */
void workers_close(struct workers *workers);

/* If no thread can be started, the job ends with -EAGAIN. */
void workers_add(struct workers *workers, struct disk_job *job);

/* Calls done() of the jobs that have ended, in the order in which they ended. Returns how many. */
unsigned workers_reap(struct workers *workers);
bool workers_has_ended(const struct workers *workers); /* is there something to reap? */
