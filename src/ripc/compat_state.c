/* compat_state: the one context of the process, its end, and `context`, which shows the state to
 * the program.
 *
 * The context is opened by the first call and is not closed before the process ends. A child of
 * fork opens its own. The program may read `context` at any time, as in 2013, but what it writes
 * there has no effect: the library reads only `compat`. The exception is compat_knows, where a
 * wrong entry makes a send return an error that would otherwise have waited. */
#include "ripc/compat_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "base/check.h"
#include "ripc/pool/pool.h"

#define COMPAT_LINGER_NSEC (5 * NSEC_PER_SEC)

struct compat compat = {.mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP};

struct compat compat_inherited;

/* A bit for each id that may have an entry in `context`. Written under the mutex, before the entry;
 * read in a child by its only thread. So the child need not search all of `context`. */
static uint64_t shown[COMPAT_IDS / 64];

/* Buffers of a parent, in a child that has opened the library. Under the mutex. */
static struct memfile_range *inherited;
static size_t inherited_count;

struct library_context context; /* written under the mutex of `compat`; the program only reads it */

uint8_t compat_status(int64_t result)
{
    if (result >= 0)
        return 0;
    return -result > 1 && -result <= UINT8_MAX ? (uint8_t)-result : EINVAL;
}

void compat_leave(void)
{
    int result = pthread_mutex_unlock(&compat.mutex);
    assert(result == 0); /* else a call left without having entered */
}

/* The program ends: peers that still read what we sent get some more time. If other threads wait in
 * a call, the context is not closed. */
static void compat_end(void)
{
    struct ripc_stats stats;
    if (!compat.ripc)
        return;
    int64_t deadline = ripc_after(COMPAT_LINGER_NSEC);
    while (ripc_stats(compat.ripc, &stats) == 0 && stats.operations && ripc_now() < deadline)
        usleep(500);
    pthread_mutex_lock(&compat.mutex);
    compat.ended = true;
    if (!compat.waiters)
        ripc_close(compat.ripc, deadline);
    compat_leave();
}

/* Removes all entries. Those of services belong to `compat`. */
static void context_clear(void)
{
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        for (; shown[i]; shown[i] &= shown[i] - 1) {
            size_t id = 64 * i + (size_t)__builtin_ctzll(shown[i]);
            free(context.remotes[id]);
            context.remotes[id] = NULL;
            context.services[id] = NULL;
        }
    context.initialized = false;
}

/* In the child of a fork: forgets the parent's context, with its services and buffers, which are
 * not freed. The thread that holds the mutex may not exist here. */
static void compat_forget(void)
{
    if (compat.ripc)
        compat_inherited = compat;
    compat = (struct compat){
        .mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP,
        .handlers = compat.handlers,
        .child = compat.child || compat.ripc,
        .ended = compat.ended,
    };
    context_clear();
}

/* Registers the handlers, once for this process and its children. */
static int compat_handle(void)
{
    if (!compat.handlers && (pthread_atfork(NULL, NULL, compat_forget) || atexit(compat_end)))
        return -ENOMEM;
    compat.handlers = true;
    return 0;
}

/* In a child: finds the buffers that are mapped here and are not ours. Nothing is known where /proc
 * is missing: they then count as memory of the program. */
static int inherited_find(void)
{
    free(inherited);
    inherited_count = 0;
    int result = memfiles_mapped(POOL_LABEL, &inherited);
    if (result > 0)
        inherited_count = (size_t)result;
    return result == -ENOMEM ? result : 0;
}

bool compat_is_inherited(const void *base, size_t size)
{
    uintptr_t begin = (uintptr_t)base, last = begin + (size ? size - 1 : 0);
    for (size_t i = 0; i < inherited_count; i++)
        if (begin < inherited[i].end && last >= inherited[i].begin)
            return true;
    return false;
}

/* Called with the mutex held. */
static int compat_open(void)
{
    if (compat.ended)
        return -ESHUTDOWN;
    if (compat.ripc)
        return 0;
    if (!compat.services)
        compat.services = array_new(COMPAT_IDS, sizeof(struct compat_service *));
    if (!compat.services)
        return -ENOMEM;
    int result = compat.child ? inherited_find() : 0;
    if (result == 0)
        result = ripc_open(NULL, &compat.ripc);
    if (result < 0)
        return result;
    if (compat_handle()) {
        ripc_close(compat.ripc, RIPC_NOW);
        compat.ripc = NULL;
        return -ENOMEM;
    }
    context.initialized = true;
    return 0;
}

uint8_t init(void)
{
    pthread_mutex_lock(&compat.mutex);
    bool was_open = compat.ripc != NULL;
    int result = compat_open();
    compat_leave();
    return result < 0 ? compat_status(result) : was_open;
}

int compat_enter(void)
{
    pthread_mutex_lock(&compat.mutex);
    int result = compat_open();
    if (result < 0)
        compat_leave();
    return result;
}

void compat_enter_again(void)
{
    assert(compat.ripc);
    pthread_mutex_lock(&compat.mutex);
}

void compat_show(struct ripc_compat_service *service)
{
    uint16_t id = service->number;
    if (id == UINT16_MAX) /* as in 2013, `context` has no entry for the last id */
        return;
    shown[id / 64] |= 1ULL << id % 64;
    context.services[id] = service;
}

void compat_know(uint16_t id)
{
    if (id == UINT16_MAX || context.remotes[id])
        return;
    struct ripc_compat_remote *remote = malloc(sizeof *remote);
    if (!remote)
        return;
    remote->number = id;
    shown[id / 64] |= 1ULL << id % 64;
    context.remotes[id] = remote;
}

bool compat_knows(uint16_t id)
{
    return id != UINT16_MAX && context.remotes[id];
}
