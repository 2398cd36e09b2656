#pragma once
/* uring: runs jobs in the kernel, by io_uring. Jobs that are added are submitted together by
 * uring_flush, with one system call; results are read from memory that the kernel writes.
 *
 * All functions are called by the host's thread. */

#include <stdbool.h>

#include "base/err.h"
#include "os/data/disk_job.h"

struct uring;

/* -ENOSYS: weft was built without liburing; another errno: the kernel does not permit it or lacks
 * something. */
MUST_CHECK int uring_open(struct uring **uring);
/* No job may be running. NULL is allowed. */
void uring_close(struct uring *uring);

void uring_add(struct uring *uring, struct disk_job *job); /* JOB_READ, JOB_WRITE or JOB_SYNC */
void uring_flush(struct uring *uring);

/* Calls done() of the jobs that have ended. Returns how many. */
unsigned uring_reap(struct uring *uring);
bool uring_has_ended(const struct uring *uring); /* is there something to reap? */
int uring_fd(const struct uring *uring);         /* readable while there is */
