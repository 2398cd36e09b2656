/* owner: the fork handlers.
 *
 * They are registered when the library is loaded. So they run after all handlers of the program
 * before a fork, and before them in the child: handlers of the program may use the library. */
#include "transport/fork/owner.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/check.h"
#include "transport/fork/descriptor.h"

/* Written under `guard`, or in a child by its only thread. */
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint64_t *current; /* NULL until the first object of this process or an ancestor */
static uint64_t last;             /* the last number of this process or an ancestor */
static bool forgotten;            /* this process is a child without objects, and has closed what it
                                   * inherited */

static void fork_begin(void)
{
    pthread_mutex_lock(&guard);
    descriptors_hold();
}

static void fork_in_parent(void)
{
    descriptors_resume();
    pthread_mutex_unlock(&guard);
}

/* What belongs to the parent is closed here. But a process without objects may share descriptors
 * with its children on purpose. */
static void parent_forget(void)
{
    if (current)
        atomic_store_explicit(current, 0, memory_order_relaxed);
    descriptors_inherit(current != NULL);
    forgotten = true;
}

/* The child's only thread is the copy of the thread that called fork, and so holds both locks. */
static void fork_in_child(void)
{
    parent_forget();
    descriptors_resume();
    pthread_mutex_unlock(&guard);
}

__attribute__((constructor)) static void handlers_register(void)
{
    int result = pthread_atfork(fork_begin, fork_in_parent, fork_in_child);
    assert(result == 0);
}

/* The kernel clears the page in a child, also in one of the bare clone system call, for which no
 * handler runs. Kernels before 4.14 do not; there the handler alone clears it. */
static _Atomic uint64_t *page_map(void)
{
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return NULL;
    (void)madvise(page, size, MADV_WIPEONFORK);
    return page;
}

int owner_make(struct owner *owner)
{
    pthread_mutex_lock(&guard);
    if (!current)
        current = page_map();
    if (!current) {
        pthread_mutex_unlock(&guard);
        return -ENOMEM;
    }
    if (!atomic_load_explicit(current, memory_order_relaxed)) {
        if (last && !forgotten) { /* a child for which no handler ran */
            descriptors_hold_anew();
            parent_forget();
            descriptors_resume();
        }
        forgotten = false;
        atomic_store_explicit(current, ++last, memory_order_relaxed);
    }
    *owner = (struct owner){.current = current, .number = last};
    pthread_mutex_unlock(&guard);
    return 0;
}
