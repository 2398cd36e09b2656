#include "os/data/workers.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/check.h"
#include "transport/wake/thread.h"

struct workers {
    const char *name;
    unsigned count;   /* threads wanted */
    unsigned started; /* threads that run; used by the host's thread only */
    int event_fd;
    pthread_mutex_t lock; /* protects the four members that follow */
    pthread_cond_t work;
    struct disk_job *first, **end; /* jobs that wait, in order */
    bool ending;
    struct thread threads[WORKERS_MAX];
    /* Jobs that have ended, the latest first. A worker pushes with release order, which carries the
     * job's result; the host's thread takes the whole list with acquire order. */
    struct disk_job *_Atomic ended;
};

enum err workers_open(struct workers **out, unsigned count, const char *name, int event_fd,
                      struct why *why)
{
    assert(count > 0 && count <= WORKERS_MAX);
    struct workers *workers = calloc(1, sizeof *workers);
    if (!workers)
        return why_memory(why);
    workers->name = name;
    workers->count = count;
    workers->event_fd = event_fd;
    workers->end = &workers->first;
    pthread_mutex_init(&workers->lock, NULL);
    pthread_cond_init(&workers->work, NULL);
    *out = workers;
    return OK;
}

void workers_close(struct workers *workers)
{
    if (!workers)
        return;
    pthread_mutex_lock(&workers->lock);
    assert(!workers->first);
    workers->ending = true;
    pthread_cond_broadcast(&workers->work);
    pthread_mutex_unlock(&workers->lock);
    for (unsigned i = 0; i < workers->started; i++)
        thread_join(&workers->threads[i]);
    assert(!atomic_load_explicit(&workers->ended, memory_order_relaxed)); /* all were reaped */
    pthread_cond_destroy(&workers->work);
    pthread_mutex_destroy(&workers->lock);
    free(workers);
}

/* ---- the threads ---- */

static void job_run(struct disk_job *job)
{
    switch (job->kind) {
    case JOB_READ:
        job->result = preadv(job->fd, job->vector, (int)job->count, (off_t)job->offset);
        break;
    case JOB_WRITE:
        job->result = pwritev(job->fd, job->vector, (int)job->count, (off_t)job->offset);
        break;
    case JOB_SYNC:
        job->result = fdatasync(job->fd);
        break;
    case JOB_CALL:
        job->call(job);
        return;
    }
    if (job->result < 0)
        job->result = -errno;
}

/* Only the push onto an empty list makes the descriptor readable: the host takes all jobs at once.
 */
static void job_end(struct workers *workers, struct disk_job *job)
{
    struct disk_job *last = atomic_load_explicit(&workers->ended, memory_order_relaxed);
    do
        job->next = last;
    while (!atomic_compare_exchange_weak_explicit(&workers->ended, &last, job, memory_order_release,
                                                  memory_order_relaxed));
    if (!last)
        (void)!eventfd_write(workers->event_fd, 1);
}

static void *worker_run(void *argument)
{
    struct workers *workers = argument;
    pthread_mutex_lock(&workers->lock);
    for (;;) {
        while (!workers->first && !workers->ending)
            pthread_cond_wait(&workers->work, &workers->lock);
        struct disk_job *job = workers->first;
        if (!job)
            break;
        workers->first = job->next;
        if (!workers->first)
            workers->end = &workers->first;
        pthread_mutex_unlock(&workers->lock);
        for (bool runs = true; job;) {
            struct disk_job *then = job->then;
            if (runs)
                job_run(job);
            else
                job->result = -ECANCELED;
            runs = runs && job->result == (int64_t)disk_job_bytes(job);
            job_end(workers, job); /* from here on it may be used for something else */
            job = then;
        }
        pthread_mutex_lock(&workers->lock);
    }
    pthread_mutex_unlock(&workers->lock);
    return NULL;
}

/* ---- the host's thread ---- */

void workers_add(struct workers *workers, struct disk_job *job)
{
    while (workers->started < workers->count &&
           !thread_start(&workers->threads[workers->started], workers->name, worker_run, workers))
        workers->started++;
    if (!workers->started) {
        int result = -EAGAIN;
        for (struct disk_job *then; job; job = then, result = -ECANCELED) {
            then = job->then;
            job->result = result;
            job_end(workers, job);
        }
        return;
    }
    job->next = NULL;
    pthread_mutex_lock(&workers->lock);
    *workers->end = job;
    workers->end = &job->next;
    pthread_cond_signal(&workers->work);
    pthread_mutex_unlock(&workers->lock);
}

bool workers_has_ended(const struct workers *workers)
{
    return atomic_load_explicit(&workers->ended, memory_order_relaxed) != NULL;
}

unsigned workers_reap(struct workers *workers)
{
    unsigned count = 0;
    struct disk_job *latest, *next, *first = NULL;
    if (!workers_has_ended(workers))
        return 0;
    latest = atomic_exchange_explicit(&workers->ended, NULL, memory_order_acquire);
    for (; latest; latest = next) { /* turns the list round */
        next = latest->next;
        latest->next = first;
        first = latest;
    }
    for (; first; first = next, count++) {
        next = first->next;
        first->done(first);
    }
    return count;
}
