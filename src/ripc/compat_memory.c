/* compat_memory: buffers, registered memory and windows of the interface of 2013.
 *
 * LibRIPC looked every address up in one list of memory that it knew, allocated or registered, and
 * found the piece that contained the address. Therefore any address inside a buffer stands for the
 * buffer here, too (buffers_whole).
 *
 * The difficult part is memory that a program frees while it is still being sent: sends of 2013 had
 * no completion, so programs free a buffer at any time after sending it. ripc refuses that while a
 * peer reads the buffer. Such buffers wait in `unfreed`, and such registrations in `unregistered`,
 * until a completion, which only this file takes, tells that it is worth trying again. */
#include "ripc/compat_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "ripc/memory/buffers.h"

#define COMPAT_EVENTS 16

/* ---- memory that waits for the end of its use ---- */

static struct compat_unregistered *unregistered_find(const void *base)
{
    for (size_t i = 0; i < compat.unregistered_count; i++)
        if (compat.unregistered[i].base == base)
            return &compat.unregistered[i];
    return NULL;
}

static void unregistered_drop(struct compat_unregistered *entry)
{
    *entry = compat.unregistered[--compat.unregistered_count];
}

/* False if memory is short. */
static bool unregistered_add(void *base, bool pending)
{
    if (!array_reserve(&compat.unregistered, &compat.unregistered_capacity,
                       compat.unregistered_count + 1, sizeof *compat.unregistered))
        return false;
    compat.unregistered[compat.unregistered_count++] = (struct compat_unregistered){base, pending};
    return true;
}

void compat_retry(void)
{
    size_t left = 0;
    for (size_t i = 0; i < compat.unfreed_count; i++)
        if (ripc_free(compat.ripc, compat.unfreed[i]) == -EBUSY)
            compat.unfreed[left++] = compat.unfreed[i];
    compat.unfreed_count = left;
    for (size_t i = compat.unregistered_count; i-- > 0;) {
        struct compat_unregistered *entry = &compat.unregistered[i];
        if (entry->pending && ripc_unregister(compat.ripc, entry->base) != -EBUSY)
            unregistered_drop(entry);
    }
}

void compat_reap(void)
{
    struct ripc_event events[COMPAT_EVENTS];
    bool completed = false;
    for (size_t i = 0; i < compat.id_count; i++) {
        struct ripc_service *service = compat.services[compat.ids[i]]->service;
        int count;
        do {
            count = ripc_poll(service, events, COMPAT_EVENTS, RIPC_NOW);
            completed |= count > 0;
        } while (count == COMPAT_EVENTS);
    }
    if (completed)
        compat_retry();
}

void compat_free(void *data)
{
    struct compat_unregistered *entry = unregistered_find(data);
    if (entry && !entry->pending)
        unregistered_drop(entry);
    if (ripc_free(compat.ripc, data) != -EBUSY)
        return; /* as in 2013, pointers that are not buffers are ignored */
    for (size_t i = 0; i < compat.unfreed_count; i++)
        if (compat.unfreed[i] == data)
            return; /* freed twice: a second entry would free a later buffer at that address */
    if (array_reserve(&compat.unfreed, &compat.unfreed_capacity, compat.unfreed_count + 1,
                      sizeof *compat.unfreed))
        compat.unfreed[compat.unfreed_count++] = data;
    /* else it leaks: better than memory that changes while a peer reads it */
}

/* ---- buffers ---- */

void *ripc_buf_alloc(size_t size)
{
    if (!size || compat_enter() < 0)
        return NULL;
    compat_reap();
    void *data = buffers_alloc_zeroed(compat.ripc, size);
    compat_leave();
    return data;
}

/* Resizes the buffer at `base`, which has `held` bytes; what it gains is zero. A buffer that a peer
 * still reads is copied and freed later. */
static void *compat_resize(void *base, size_t held, size_t size)
{
    if (size <= held)
        return base;
    void *moved = buffers_alloc_zeroed(compat.ripc, size);
    if (!moved)
        return NULL;
    memcpy(moved, base, held);
    compat_free(base);
    return moved;
}

void *ripc_buf_realloc(void *buf, size_t size)
{
    void *base, *data = NULL;
    size_t held;
    if (!buf)
        return ripc_buf_alloc(size);
    if (compat_enter() < 0)
        return NULL;
    compat_reap();
    if (buffers_whole(compat.ripc, buf, &base, &held) == POOL_BUFFER) {
        if (size)
            data = compat_resize(base, held, size);
        else
            compat_free(base);
    }
    compat_leave();
    return data;
}

void ripc_buf_free(void *buf)
{
    void *base;
    size_t size;
    if (!buf || compat_enter() < 0)
        return;
    if (buffers_whole(compat.ripc, buf, &base, &size) == POOL_BUFFER)
        compat_free(base);
    compat_reap();
    compat_leave();
}

/* ---- registered memory ---- */

/* With the mutex held. */
static int compat_register(void *buf, size_t size)
{
    void *base;
    size_t whole;
    if (buffers_whole(compat.ripc, buf, &base, &whole) == POOL_UNKNOWN)
        return compat_is_inherited(buf, size) ? -EFAULT : ripc_register(compat.ripc, buf, size);
    if (size > whole - (size_t)((uint8_t *)buf - (uint8_t *)base))
        return -EEXIST; /* only in part */
    struct compat_unregistered *entry = unregistered_find(base);
    if (entry)
        unregistered_drop(entry);
    return 0;
}

uint8_t ripc_buf_register(void *buf, size_t size)
{
    if (compat_enter() < 0)
        return 1;
    compat_reap();
    int result = compat_register(buf, size);
    compat_leave();
    return result < 0;
}

/* With the mutex held. Returns whether the memory was registered. */
static bool compat_unregister(void *buf)
{
    void *base;
    size_t size;
    enum pool_kind kind = buffers_whole(compat.ripc, buf, &base, &size);
    if ((kind != POOL_BUFFER && kind != POOL_FOREIGN) || unregistered_find(base))
        return false;
    if (kind == POOL_BUFFER)
        unregistered_add(base, false); /* if memory is short, only a later result is wrong */
    else if (ripc_unregister(compat.ripc, base) == -EBUSY)
        unregistered_add(base, true); /* if memory is short, it stays registered */
    return true;
}

uint8_t ripc_buf_unregister(void *buf)
{
    if (compat_enter() < 0)
        return 0;
    compat_reap();
    bool was_registered = compat_unregister(buf);
    compat_leave();
    return was_registered;
}

/* ---- windows ---- */

/* Called with the mutex held. The window's memory is registered, as in 2013. A window that is still
 * unused may be added again; it then has the new size. */
static int compat_window(struct ripc_service *service, void *base, size_t size)
{
    void *own = NULL;
    if (!base)
        base = own = buffers_alloc_zeroed(compat.ripc, size);
    if (!base)
        return -ENOMEM;
    int result = compat_register(base, size);
    if (result < 0 && result != -EEXIST) /* a window may extend beyond registered memory */
        return result;
    result = ripc_window_add(compat.ripc, service, base, size);
    if (result == -EEXIST && ripc_window_remove(compat.ripc, service, base) == 0)
        result = ripc_window_add(compat.ripc, service, base, size);
    if (result < 0 && own)
        ripc_free(compat.ripc, own);
    return result;
}

uint8_t ripc_reg_recv_window(void *base, size_t size)
{
    int result = compat_enter();
    if (result < 0)
        return compat_status(result);
    result = size ? compat_window(NULL, base, size) : -EINVAL;
    compat_leave();
    return compat_status(result);
}

uint8_t ripc_reg_recv_window_for_service(void *base, size_t size, uint16_t service)
{
    int result = compat_enter();
    if (result < 0)
        return compat_status(result);
    const struct compat_service *bound = compat.services[service];
    result = !bound ? -ENOENT : size ? compat_window(bound->service, base, size) : -EINVAL;
    compat_leave();
    return compat_status(result);
}
