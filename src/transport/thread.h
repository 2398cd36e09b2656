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
