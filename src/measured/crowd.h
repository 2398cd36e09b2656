#pragma once
/* crowd: n processes that run one measurement together, like the n nodes of a cluster.
 * All run the same function; each has a number, and all share a folder that no other
 * process uses. They write their results into memory that was shared before they were
 * started. The parent waits for them. As soon as one fails or the time limit is
 * reached, it ends all of them, by their process ids.
 *
 * There may be more processes than cores, so a process that waits for the others
 * sleeps. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "process/child.h"

#define CROWD_MAX         CHILDREN_MAX
#define CROWD_REASON_SIZE 200

struct crowd_shared;

/* A crowd as one of its processes sees it. */
struct crowd {
    uint32_t index; /* from 0 */
    uint32_t count;
    uint32_t cores;     /* that the whole crowd may use, pinned or not */
    const char *folder; /* empty at first; removed afterwards */
    struct crowd_shared *shared;
};

struct crowd_play {
    const char *name; /* for errors */
    uint32_t count;   /* of processes, at most CROWD_MAX */
    void (*run)(struct crowd *crowd, const void *argument);
    const void *argument; /* each process has a copy; memory it points to may be shared */
};

struct crowd_end {
    bool missing; /* something it needs is not on this machine; `reason` says what */
    char reason[CROWD_REASON_SIZE];
};

/* Allocates zeroed memory that processes started later share with this one. Returns NULL if there
 * is none. */
void *crowd_memory(size_t size);
void crowd_memory_free(void *memory, size_t size);

/* Runs the crowd to its end. Fails if a system call or a process failed. If something the crowd
 * needs is missing, it returns OK and sets end->missing. */
MUST_CHECK enum err crowd_run(const struct crowd_play *play, struct crowd_end *end,
                              struct why *why);

/* Returns how many cores this process may use. */
int crowd_cores(void);

/* Why a claim about two processes that poll is not run on one core: there they would measure the
 * scheduler. */
#define CROWD_NEEDS_CORES "this needs two cores, and only one is available"

/* --- for the processes of a crowd --- */

/* End the process, because of a failure or because something it needs is missing. */
__attribute__((noreturn, format(printf, 2, 3))) void crowd_fail(struct crowd *crowd,
                                                                const char *format, ...);
__attribute__((noreturn, format(printf, 2, 3))) void crowd_missing(struct crowd *crowd,
                                                                   const char *format, ...);

/* Binds this process, and processes it starts later, to one of the cores it may use: number `core`
 * modulo their count. */
void crowd_pin(uint32_t core);

/* Sleeps until all processes have called it. */
void crowd_meet(struct crowd *crowd);

/* The same without sleeping: crowd_arrive announces this process, once for each meeting, and
 * crowd_is_full tells whether all have arrived at that many meetings. Do not mix with crowd_meet.
 */
void crowd_arrive(struct crowd *crowd);
bool crowd_is_full(struct crowd *crowd, uint32_t meetings);
