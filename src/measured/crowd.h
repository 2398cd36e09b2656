#pragma once
/* crowd: n processes that do one thing together, as the n nodes of a cluster would.
 * All run the same function; each knows its number and a folder that is theirs
 * alone. What they find out they leave in memory that was shared before they were
 * started. The parent waits for them; as soon as one fails or time is up it ends
 * all of them, by their ids.
 *
 * There are more nodes than cores, so who waits for the others sleeps. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "process/child.h"

#define CROWD_MAX         CHILDREN_MAX
#define CROWD_REASON_SIZE 200

struct crowd_shared;

/* What a process sees of its crowd. */
struct crowd {
    uint32_t index; /* from 0 */
    uint32_t count;
    uint32_t cores;     /* that all of it may use, pinned or not */
    const char *folder; /* empty at first; removed afterwards */
    struct crowd_shared *shared;
};

struct crowd_play {
    const char *name; /* for errors */
    uint32_t count;   /* of processes, at most CROWD_MAX */
    void (*run)(struct crowd *crowd, const void *argument);
    const void *argument; /* each process has a copy; what it points to may be shared */
};

struct crowd_end {
    bool missing; /* what it needs is not on this machine; `reason` says what */
    char reason[CROWD_REASON_SIZE];
};

/* Zeroed memory that processes started later share with us; NULL: there is none. */
void *crowd_memory(size_t size);
void crowd_memory_free(void *memory, size_t size);

/* Fails if the system refuses or a process did. A crowd whose needs are missing is
 * no failure. */
MUST_CHECK enum err crowd_run(const struct crowd_play *play, struct crowd_end *end,
                              struct why *why);

/* How many cores this process may use. */
int crowd_cores(void);

/* Why a claim about two processes that poll is not run on one core: there they would measure the
 * scheduler. */
#define CROWD_NEEDS_CORES "this needs two cores, and only one is available"

/* --- for the processes; they end themselves where they cannot go on --- */

__attribute__((noreturn, format(printf, 2, 3))) void crowd_fail(struct crowd *crowd,
                                                                const char *format, ...);
__attribute__((noreturn, format(printf, 2, 3))) void crowd_missing(struct crowd *crowd,
                                                                   const char *format, ...);

/* This process and what it starts later run on that core, of those it may use,
 * counted round and round. */
void crowd_pin(uint32_t core);

/* Waits, asleep, until all have come here. */
void crowd_meet(struct crowd *crowd);

/* For who has something else to do than to sleep: says that we are here, once for
 * each meeting, and whether all are. Not to be mixed with crowd_meet. */
void crowd_arrive(struct crowd *crowd);
bool crowd_is_full(struct crowd *crowd, uint32_t meetings);
