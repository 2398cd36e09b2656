#include "transport/wake/thread.h"

#include <signal.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "transport/fork/descriptor.h"

int thread_start(struct thread *thread, const char *name, void *(*run)(void *), void *argument)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* the new thread inherits it */
    int result = pthread_create(&thread->handle, NULL, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (result)
        return -result;
    descriptor_begin(); /* the C library opens a file of /proc for a moment */
    pthread_setname_np(thread->handle, name);
    descriptor_end(-1);
    thread->running = 1;
    return 0;
}

void thread_join(struct thread *thread)
{
    if (thread->running)
        pthread_join(thread->handle, NULL);
    thread->running = 0;
}

void thread_switch_lightly(void)
{
    void *area = (char *)__builtin_thread_pointer() + __rseq_offset;
    if (__rseq_size)
        (void)!syscall(SYS_rseq, area, sizeof(struct rseq), RSEQ_FLAG_UNREGISTER, RSEQ_SIG);
}
