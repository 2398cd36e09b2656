#include "cli/core/parallel.h"

#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/check.h"
#include "cli/core/progress.h"

struct run {
    const struct parallel_job *job; /* borrowed */
    pthread_mutex_t lock;           /* guards all fields below */
    uint32_t next;                  /* first item that no thread has taken */
    uint32_t done;
    enum err err; /* the first failure; ends the run */
    struct why why;
};

struct worker {
    struct run *run;
    uint32_t index;
    pthread_t thread;
};

static uint32_t run_take(struct run *run, uint32_t *first)
{
    pthread_mutex_lock(&run->lock);
    uint32_t left = run->err ? 0 : run->job->total - run->next;
    uint32_t count = left < run->job->step ? left : run->job->step;
    *first = run->next;
    run->next += count;
    pthread_mutex_unlock(&run->lock);
    return count;
}

static void run_report(struct run *run, uint32_t count, enum err err, const struct why *why)
{
    pthread_mutex_lock(&run->lock);
    run->done += count;
    uint32_t done = run->done;
    if (err && !run->err) {
        run->err = err;
        run->why = *why;
    }
    pthread_mutex_unlock(&run->lock);
    if (run->job->title)
        progress_show(run->job->title, done, run->job->total);
}

static void *worker_main(void *context)
{
    struct worker *worker = context;
    struct run *run = worker->run;
    uint32_t first, count;
    while ((count = run_take(run, &first)) > 0) {
        struct why why = {""};
        enum err err = run->job->work(run->job->context, worker->index, first, count, &why);
        run_report(run, count, err, &why);
    }
    return NULL;
}

enum err parallel_run(const struct parallel_job *job, uint32_t threads, struct why *why)
{
    assert(threads > 0 && threads <= PARALLEL_THREADS_MAX && job->step > 0);
    struct run run = {.job = job, .lock = PTHREAD_MUTEX_INITIALIZER};
    struct worker workers[PARALLEL_THREADS_MAX] = {{0}};
    uint32_t started = 1;
    if (job->title)
        progress_show(job->title, 0, job->total);
    for (uint32_t i = 0; i < threads; i++)
        workers[i] = (struct worker){.run = &run, .index = i};
    /* It is no failure if a thread cannot be started: the others do its work. */
    while (started < threads &&
           pthread_create(&workers[started].thread, NULL, worker_main, &workers[started]) == 0)
        started++;
    worker_main(&workers[0]);
    for (uint32_t i = 1; i < started; i++)
        pthread_join(workers[i].thread, NULL);
    pthread_mutex_destroy(&run.lock);
    if (run.err && why)
        *why = run.why;
    return run.err;
}

enum err parallel_threads(const struct call *call, uint32_t *threads, struct why *why)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t count = cores < 1                      ? 1
                     : cores > PARALLEL_THREADS_MAX ? PARALLEL_THREADS_MAX
                                                    : (uint64_t)cores;
    enum err err = call_uint(call, "threads", 1, PARALLEL_THREADS_MAX, &count, why);
    *threads = (uint32_t)count;
    return err;
}

struct distances {
    const struct topology *topology;
    struct distance_tally tallies[PARALLEL_THREADS_MAX]; /* one for each thread */
};

static enum err distances_work(void *context, uint32_t thread, uint32_t first, uint32_t count,
                               struct why *why)
{
    struct distances *all = context;
    return distance_tally_add(&all->tallies[thread], all->topology, first, count, why);
}

enum err parallel_distances(struct distance_tally *tally, const struct topology *topology,
                            uint32_t threads, const char *title, struct why *why)
{
    struct distances all = {.topology = topology};
    uint32_t sources = distance_sources(topology);
    /* A step is short enough for a smooth progress bar and an even finish, and long enough that
     * allocating its arrays does not matter. */
    uint32_t batches = sources / DISTANCE_BATCH / (16 * threads);
    const struct parallel_job job = {
        .title = title,
        .total = sources,
        .step = DISTANCE_BATCH * (batches ? batches : 1),
        .work = distances_work,
        .context = &all,
    };
    enum err err = parallel_run(&job, threads, why);
    for (uint32_t i = 0; i < threads; i++) {
        if (!err)
            err = distance_tally_merge(tally, &all.tallies[i], why);
        distance_tally_fini(&all.tallies[i]);
    }
    if (sources)
        distance_tally_multiply(tally, topology->graph.node_count / sources);
    return err;
}
