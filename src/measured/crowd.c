/* crowd: all shared memory is mapped before the processes are forked. */
#include "measured/crowd.h"

#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/check.h"
#include "process/child.h"
#include "transport/clock.h"

#define LIMIT_NSEC (180 * NSEC_PER_SEC)
#define EXIT_FAIL  1

struct crowd_shared {
    pthread_barrier_t meeting;
    _Atomic uint64_t arrivals; /* calls of crowd_arrive by all processes; added with release, read
                                  with acquire */
    _Atomic bool spoken;       /* set by the process that writes the reason; relaxed, because the
                                  parent reads the reason after all processes have ended */
    bool missing;              /* the parent reads this and `reason` after that, too */
    char reason[CROWD_REASON_SIZE];
};

void *crowd_memory(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    return memory;
}

void crowd_memory_free(void *memory, size_t size)
{
    if (memory)
        munmap(memory, size);
}

int crowd_cores(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
}

/* ---- the processes ---- */

/* Only the first reason is kept: it is the cause, and later ones follow from it. */
static void crowd_say(struct crowd *crowd, bool missing, const char *format, va_list arguments)
{
    struct crowd_shared *shared = crowd->shared;
    if (atomic_exchange_explicit(&shared->spoken, true, memory_order_relaxed))
        return;
    vsnprintf(shared->reason, sizeof shared->reason, format, arguments);
    shared->missing = missing;
}

void crowd_fail(struct crowd *crowd, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    crowd_say(crowd, false, format, arguments);
    va_end(arguments);
    _exit(EXIT_FAIL);
}

void crowd_missing(struct crowd *crowd, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    crowd_say(crowd, true, format, arguments);
    va_end(arguments);
    _exit(EXIT_FAIL);
}

void crowd_pin(uint32_t core)
{
    cpu_set_t set, one;
    if (sched_getaffinity(0, sizeof set, &set))
        return;
    uint32_t skip = core % (uint32_t)CPU_COUNT(&set);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &set) && skip-- == 0) {
            CPU_SET(i, &one);
            break;
        }
    (void)sched_setaffinity(0, sizeof one, &one); /* a process that is not pinned is only slower */
}

void crowd_meet(struct crowd *crowd)
{
    (void)pthread_barrier_wait(&crowd->shared->meeting);
}

void crowd_arrive(struct crowd *crowd)
{
    atomic_fetch_add_explicit(&crowd->shared->arrivals, 1, memory_order_release);
}

bool crowd_is_full(struct crowd *crowd, uint32_t meetings)
{
    return atomic_load_explicit(&crowd->shared->arrivals, memory_order_acquire) >=
           (uint64_t)meetings * crowd->count;
}

/* The argument of part_run. */
struct part {
    const struct crowd_play *play;
    struct crowd crowd;
};

static void part_run(void *argument)
{
    struct part *part = argument;
    part->play->run(&part->crowd, part->play->argument);
}

/* ---- the parent ---- */

static bool crowd_start(const struct crowd_play *play, const struct crowd *crowd)
{
    struct children children = {0};
    bool done = true;
    for (uint32_t i = 0; i < play->count && done; i++) {
        struct part part = {play, *crowd};
        part.crowd.index = i;
        done = children_add(&children, part_run, &part);
    }
    done = done && children_wait(&children, clock_after(LIMIT_NSEC));
    children_end(&children);
    return done;
}

static bool meeting_init(pthread_barrier_t *meeting, uint32_t count)
{
    pthread_barrierattr_t attributes;
    if (pthread_barrierattr_init(&attributes))
        return false;
    bool made = !pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) &&
                !pthread_barrier_init(meeting, &attributes, count);
    pthread_barrierattr_destroy(&attributes);
    return made;
}

enum err crowd_run(const struct crowd_play *play, struct crowd_end *end, struct why *why)
{
    struct child_folder folder;
    struct crowd crowd = {
        .count = play->count,
        .cores = (uint32_t)crowd_cores(),
        .folder = folder.path,
    };
    enum err err = OK;
    assert(play->count > 0 && play->count <= CROWD_MAX);
    *end = (struct crowd_end){0};
    crowd.shared = crowd_memory(sizeof *crowd.shared);
    if (!crowd.shared || !meeting_init(&crowd.shared->meeting, play->count)) {
        err = why_memory(why);
        goto unmap;
    }
    int error = child_folder_make(&folder);
    if (error < 0) {
        err = why_fail(why, ERR_SYSTEM, "cannot make a folder for the measurement: %s",
                       strerror(-error));
        goto unmap;
    }
    bool done = crowd_start(play, &crowd);
    end->missing = crowd.shared->missing;
    memcpy(end->reason, crowd.shared->reason, sizeof end->reason);
    if (!done && !end->missing)
        err = why_fail(why, ERR_SYSTEM, "%s: %s", play->name,
                       end->reason[0]
                           ? end->reason
                           : "a process ended without a reason, or the time limit was reached");
    child_folder_remove(&folder);
unmap:
    crowd_memory_free(crowd.shared, sizeof *crowd.shared);
    return err;
}
