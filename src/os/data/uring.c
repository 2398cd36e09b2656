#include "os/data/uring.h"

#include <errno.h>
#include <stdlib.h>

#include "base/check.h"

#ifdef WEFT_HAS_URING
#include <liburing.h>

#define ENTRIES 256 /* that one system call submits at most */
/* The kernel copies at once what it can without waiting. More than this would delay the node for
 * longer than a packet may wait, so it is left to a thread of the kernel. */
#define COPY_MAX 32768

struct uring {
    struct io_uring ring;
    bool skips;                              /* a chain of jobs reports once */
    unsigned added;                          /* to the ring; not yet submitted */
    struct disk_job *waiting, **waiting_end; /* jobs for which the ring has no entry, in order */
};

static bool has_all(struct io_uring *ring)
{
    static const int wanted[] = {IORING_OP_READV, IORING_OP_WRITEV, IORING_OP_FSYNC};
    struct io_uring_probe *probe = io_uring_get_probe_ring(ring);
    bool all = probe && ring->features & IORING_FEAT_NODROP; /* no result is lost if many arrive */
    for (unsigned i = 0; all && i < sizeof wanted / sizeof *wanted; i++)
        all = io_uring_opcode_supported(probe, wanted[i]);
    io_uring_free_probe(probe);
    return all;
}

int uring_open(struct uring **out)
{
    struct uring *uring = calloc(1, sizeof *uring);
    if (!uring)
        return -ENOMEM;
    int result = io_uring_queue_init(ENTRIES, &uring->ring, 0);
    if (!result && !has_all(&uring->ring)) {
        io_uring_queue_exit(&uring->ring);
        result = -EOPNOTSUPP;
    }
    if (result) {
        free(uring);
        return result;
    }
    uring->skips = uring->ring.features & IORING_FEAT_CQE_SKIP;
    uring->waiting_end = &uring->waiting;
    *out = uring;
    return 0;
}

void uring_close(struct uring *uring)
{
    if (!uring)
        return;
    io_uring_queue_exit(&uring->ring);
    free(uring);
}

static void entry_fill(struct uring *uring, struct disk_job *job)
{
    struct io_uring_sqe *entry = io_uring_get_sqe(&uring->ring);
    unsigned flags = 0;
    switch (job->kind) {
    case JOB_READ:
        io_uring_prep_readv(entry, job->fd, job->vector, job->count, job->offset);
        break;
    case JOB_WRITE:
        io_uring_prep_writev(entry, job->fd, job->vector, job->count, job->offset);
        break;
    case JOB_SYNC:
        io_uring_prep_fsync(entry, job->fd, IORING_FSYNC_DATASYNC);
        break;
    case JOB_CALL:
        assert_unreachable();
    }
    if (job->kind != JOB_SYNC && disk_job_bytes(job) > COPY_MAX)
        flags |= IOSQE_ASYNC;
    if (job->then)
        flags |= IOSQE_IO_LINK | (uring->skips ? IOSQE_CQE_SKIP_SUCCESS : 0);
    io_uring_sqe_set_flags(entry, flags);
    io_uring_sqe_set_data(entry, job);
    uring->added++;
}

/* Puts a job, and those that follow it, into the ring. False: there is no room. */
static bool job_put(struct uring *uring, struct disk_job *job)
{
    unsigned count = 0;
    for (const struct disk_job *each = job; each; each = each->then)
        count++;
    assert(count <= ENTRIES);
    if (io_uring_sq_space_left(&uring->ring) < count)
        return false;
    for (; job; job = job->then) {
        if (job->then)
            job->then->before = job;
        entry_fill(uring, job);
    }
    return true;
}

void uring_add(struct uring *uring, struct disk_job *job)
{
    job->before = NULL;
    if (!uring->waiting && job_put(uring, job))
        return;
    job->next = NULL;
    *uring->waiting_end = job;
    uring->waiting_end = &job->next;
}

/* If the kernel is short of memory now, the jobs stay; the next pass of the host tries again. */
void uring_flush(struct uring *uring)
{
    int result = 1;
    while (uring->added && result > 0) {
        result = io_uring_submit(&uring->ring);
        if (result == -EINTR)
            result = 1;
        else if (result > 0)
            uring->added -= (unsigned)result;
        for (struct disk_job *job; result > 0 && (job = uring->waiting);) {
            struct disk_job *next = job->next;
            if (!job_put(uring, job))
                break;
            uring->waiting = next;
            if (!next)
                uring->waiting_end = &uring->waiting;
        }
    }
}

bool uring_has_ended(const struct uring *uring)
{
    return io_uring_cq_ready(&uring->ring) > 0;
}

static struct disk_job **ended_put(struct disk_job *job, int64_t result, struct disk_job **end)
{
    job->result = result;
    *end = job;
    return &job->next;
}

/* A chain reports once: its last job, or the first that failed. Those before that one have
 * succeeded, and those behind it did not run. */
static struct disk_job **chain_put(struct disk_job *job, int64_t result, struct disk_job **end)
{
    struct disk_job *first = job;
    while (first->before)
        first = first->before;
    for (; first != job; first = first->then)
        end = ended_put(first, (int64_t)disk_job_bytes(first), end);
    end = ended_put(job, result, end);
    while ((job = job->then))
        end = ended_put(job, -ECANCELED, end);
    return end;
}

/* done() may add jobs, so the results are taken off the ring before the first call. */
unsigned uring_reap(struct uring *uring)
{
    struct io_uring_cqe *entry;
    struct disk_job *first = NULL, **end = &first;
    unsigned head, count = 0;
    if (!uring_has_ended(uring))
        return 0;
    io_uring_for_each_cqe(&uring->ring, head, entry)
    {
        struct disk_job *job = io_uring_cqe_get_data(entry);
        end = uring->skips ? chain_put(job, entry->res, end) : ended_put(job, entry->res, end);
        count++;
    }
    *end = NULL;
    io_uring_cq_advance(&uring->ring, count);
    for (struct disk_job *next; first; first = next) {
        next = first->next;
        first->done(first);
    }
    return count;
}

int uring_fd(const struct uring *uring)
{
    return uring->ring.ring_fd;
}

#else /* weft was built without liburing */

int uring_open(struct uring **uring)
{
    return -ENOSYS;
}

void uring_close(struct uring *uring)
{
    assert(!uring);
}

void uring_add(struct uring *uring, struct disk_job *job)
{
    assert_unreachable();
}

void uring_flush(struct uring *uring)
{
    assert_unreachable();
}

unsigned uring_reap(struct uring *uring)
{
    assert_unreachable();
}

bool uring_has_ended(const struct uring *uring)
{
    assert_unreachable();
}

int uring_fd(const struct uring *uring)
{
    assert_unreachable();
}

#endif
