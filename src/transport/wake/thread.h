#pragma once
/* thread: starts and joins a named thread. */

#include <pthread.h>

#include "base/err.h"

struct thread {
    pthread_t handle;
    int running;
};

/* Blocks all signals in the new thread, because signals are for the program to handle. */
MUST_CHECK int thread_start(struct thread *thread, const char *name, void *(*run)(void *),
                            void *argument);
void thread_join(struct thread *thread); /* does nothing if the thread was not started */

/* Turns off a service that the C library requested when this thread began: at each switch to the
 * thread the kernel records on which processor it runs (rseq). For a thread that yields all the
 * time this costs a twelfth of every switch. From then on sched_getcpu is a system call. */
void thread_switch_lightly(void);
