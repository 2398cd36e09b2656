#include "sim/engine/sim_work.h"

#include <errno.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/rng.h"

/* A random time is between 1 us and 2^17 us; short times are as likely as long ones. */
#define TAKES_UNIT    (PSEC_PER_SECOND / 1000000)
#define TAKES_DOUBLED 17

struct pending {
    struct pending *next; /* by `at`, and at one moment in the order of submission */
    struct work_operation *operation;
    psec at;
    bool has_run;
    bool late; /* a child that takes longer than it may */
};

struct sim_work {
    struct rng rng;
    struct pending *first;
};

enum err sim_work_open(struct sim_work **out, uint64_t seed, uint64_t stream, struct why *why)
{
    struct sim_work *work = calloc(1, sizeof *work);
    if (!work)
        return why_memory(why);
    work->rng = rng_make(seed, stream);
    *out = work;
    return OK;
}

void sim_work_end(struct sim_work *work)
{
    for (struct pending *pending = work->first, *next; pending; pending = next) {
        next = pending->next;
        free(pending);
    }
    work->first = NULL;
}

void sim_work_close(struct sim_work *work)
{
    if (!work)
        return;
    sim_work_end(work);
    free(work);
}

static psec takes(struct sim_work *work, const struct work_operation *operation)
{
    if (operation->takes)
        return (psec)operation->takes * PSEC_PER_NSEC;
    uint64_t doubled = rng_below(&work->rng, TAKES_DOUBLED);
    psec least = TAKES_UNIT << doubled;
    return least + rng_below(&work->rng, least);
}

static void insert(struct sim_work *work, struct pending *pending)
{
    struct pending **place = &work->first;
    while (*place && (*place)->at <= pending->at)
        place = &(*place)->next;
    pending->next = *place;
    *place = pending;
}

void sim_work_submit(struct sim_work *work, psec now, struct work_operation *operation)
{
    struct pending *pending = calloc(1, sizeof *pending);
    if (!pending)
        abort(); /* a simulation cannot continue without memory */
    pending->operation = operation;
    psec length = takes(work, operation);
    psec limit = (psec)operation->limit * PSEC_PER_NSEC;
    pending->late = limit && length > limit;
    length = pending->late ? limit : length;
    pending->at = length < PSEC_NEVER - now ? now + length : PSEC_NEVER;
    pending->has_run = rng_below(&work->rng, 2) == 0;
    if (pending->late)
        operation->result = -ETIME;
    else if (pending->has_run)
        operation->result = operation->run(operation);
    pending->has_run |= pending->late;
    insert(work, pending);
}

psec sim_work_next(const struct sim_work *work)
{
    return work->first ? work->first->at : PSEC_NEVER;
}

void sim_work_run(struct sim_work *work, psec now)
{
    while (work->first && work->first->at <= now) {
        struct pending *pending = work->first;
        struct work_operation *operation = pending->operation;
        work->first = pending->next;
        if (!pending->has_run)
            operation->result = atomic_load_explicit(&operation->cancelled, memory_order_relaxed)
                                    ? -ECANCELED
                                    : operation->run(operation);
        free(pending);
        operation->done(operation);
    }
}

void sim_work_cancel(struct sim_work *work, psec now, struct work_operation *operation)
{
    struct pending **place = &work->first;
    while ((*place)->operation != operation)
        place = &(*place)->next;
    struct pending *pending = *place;
    if (operation->child) { /* it is killed */
        pending->has_run = true;
        operation->result = -ECANCELED;
    } else if (pending->has_run) {
        return;
    }
    *place = pending->next;
    pending->at = now;
    insert(work, pending);
}
