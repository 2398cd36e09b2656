#pragma once
/* disk_job: one request to the operating system that may wait for a disk. It runs outside the
 * host's thread: in the kernel (uring.h) or in a thread of ours (workers.h).
 *
 * A job belongs to the host's thread until it is begun, and again when done() is called, which
 * happens in the host's thread. In between it belongs to the code that runs it. */

#include <stdint.h>
#include <sys/uio.h>

enum disk_job_kind {
    JOB_READ,
    JOB_WRITE,
    JOB_SYNC,
    JOB_CALL, /* a function, for calls that only threads make */
};

struct disk_job {
    struct disk_job *next; /* private to the code that runs it */
    enum disk_job_kind kind;
    int fd;
    uint64_t offset;
    struct iovec *vector; /* memory to read into or to write from ... */
    unsigned count;       /* ... in this many pieces */
    int64_t result;       /* as preadv, pwritev and fdatasync return it, or a negative errno */
    void (*call)(struct disk_job *job); /* JOB_CALL: runs in a thread and sets the result */
    void (*done)(struct disk_job *job);
    /* If not NULL: a job that is begun together with this one and runs after it, if this one has
     * moved all its bytes; otherwise it, and what follows it in turn, ends with -ECANCELED. done()
     * of each is called: several steps without a return to the host between them. */
    struct disk_job *then;
    struct disk_job *before; /* private: the job that has this one as `then` */
};

static inline uint64_t disk_job_bytes(const struct disk_job *job)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < job->count; i++)
        bytes += job->vector[i].iov_len;
    return bytes;
}
