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
};
