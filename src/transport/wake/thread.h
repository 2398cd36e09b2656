#pragma once
/* thread: starting and ending one, by name. */

#include <pthread.h>

#include "base/err.h"

struct thread {
    pthread_t handle;
    int running;
};

/* Signals are blocked in it: they are the program's business. */
MUST_CHECK int thread_start(struct thread *thread, const char *name, void *(*run)(void *),
                            void *argument);
void thread_join(struct thread *thread); /* nothing if it never ran */

/* Ends what the library asked the system for when this thread began: to write down, at each switch
 * to it, which processor it has (rseq). It costs a thread that yields all the time a twelfth of
 * every switch; sched_getcpu is a system call from then on. */
void thread_switch_lightly(void);
