/* compat: LibRIPC's calls of 2013, implemented with ripc.h. include/weft/ripc_compat.h defines what
 * they mean.
 *
 * There is one context per process, which is not closed before the process ends, and a table of the
 * services by their 16-bit ids. The difficult part is memory that a program frees while it is still
 * being sent: sends of 2013 had no completion, so programs free a buffer at any time after sending
 * it. ripc refuses that while a peer reads the buffer. Such buffers wait in `unfreed` until a
 * completion, which only this file takes, tells that it is worth trying again. */
#include <weft/ripc_compat.h>

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/check.h"
#include "transport/clock.h"

#undef ripc_receive /* from here on, the call of ripc.h */

#define COMPAT_IDS         65536
#define COMPAT_RANDOM_MAX  1000 /* attempts to find a free id */
#define COMPAT_LINGER_NSEC (5 * NSEC_PER_SEC)
#define COMPAT_EVENTS      16

static struct {
    pthread_mutex_t mutex;          /* protects all that follows; never held while a call waits. It
                                     * checks its owner: compat_leave asserts that this thread holds
                                     * it */
    struct ripc *ripc;              /* NULL until opened; then never closed before exit */
    pid_t pid;                      /* process that opened it; a forked child does not use it */
    struct ripc_service **services; /* by id; services stay bound until exit */
    uint16_t *ids;                  /* of the bound services */
    size_t id_count, id_capacity;
    void **unfreed; /* buffers that were in use when they were freed */
    size_t unfreed_count, unfreed_capacity;
    unsigned waiters; /* threads that wait in a call */
    bool ended;       /* the process is about to exit: further calls are refused */
} compat = {.mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP};

static uint8_t status_of(int64_t result)
{
    if (result >= 0)
        return 0;
    return -result > 1 && -result <= UINT8_MAX ? (uint8_t)-result : EINVAL;
}

/* ---- opening and the end ---- */

static void compat_leave(void)
{
    int result = pthread_mutex_unlock(&compat.mutex);
    assert(result == 0); /* else a call left without having entered */
}

/* The program ends: peers that still read what we sent get some more time. If other threads wait in
 * a call, the context is not closed. */
static void compat_end(void)
{
    struct ripc_stats stats;
    if (!compat.ripc || getpid() != compat.pid)
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

/* Called with the mutex held. */
static int compat_open(void)
{
    if (compat.ended)
        return -ESHUTDOWN;
    if (compat.ripc)
        return 0;
    if (!compat.services)
        compat.services = array_new(COMPAT_IDS, sizeof(struct ripc_service *));
    if (!compat.services)
        return -ENOMEM;
    int result = ripc_open(NULL, &compat.ripc);
    if (result < 0)
        return result;
    compat.pid = getpid();
    if (atexit(compat_end)) {
        ripc_close(compat.ripc, RIPC_NOW);
        compat.ripc = NULL;
        return -ENOMEM;
    }
    return 0;
}

uint8_t ripc_compat_init(void)
{
    pthread_mutex_lock(&compat.mutex);
    bool was_open = compat.ripc != NULL;
    int result = compat_open();
    compat_leave();
    return result < 0 ? status_of(result) : was_open;
}

/* Opens the context if necessary, and takes the mutex. On failure the mutex is not held. */
static int compat_enter(void)
{
    pthread_mutex_lock(&compat.mutex);
    int result = compat_open();
    if (result < 0)
        compat_leave();
    return result;
}

/* ---- services ---- */

/* Binds, with the mutex held. For a group, the service itself gets a random id. */
static int compat_bind(uint16_t id, bool group)
{
    struct ripc_service *service;
    if (compat.services[id])
        return -EADDRINUSE;
    if (!array_reserve(&compat.ids, &compat.id_capacity, compat.id_count + 1, sizeof *compat.ids))
        return -ENOMEM;
    int result = ripc_bind(compat.ripc, group ? 0 : id, 0, &service);
    if (result < 0)
        return result;
    if (group && (result = ripc_join(service, id)) < 0) {
        ripc_unbind(service);
        return result;
    }
    compat.services[id] = service;
    compat.ids[compat.id_count++] = id;
    return 0;
}

static uint8_t compat_register(int id, bool group)
{
    if (id <= 0 || id >= COMPAT_IDS || compat_enter() < 0)
        return 0;
    int result = compat_bind((uint16_t)id, group);
    compat_leave();
    return result == 0;
}

uint8_t ripc_register_service_id(int service_id)
{
    return compat_register(service_id, false);
}

uint8_t ripc_register_multicast_service_id(int service_id)
{
    return compat_register(service_id, true);
}

uint16_t ripc_register_random_service_id(void)
{
    uint16_t id = 0;
    int result = -EADDRINUSE;
    if (compat_enter() < 0)
        return 0;
    for (int i = 0; i < COMPAT_RANDOM_MAX && result == -EADDRINUSE; i++) {
        id = (uint16_t)(1 + entropy_u64() % (COMPAT_IDS - 1));
        result = compat_bind(id, false);
    }
    compat_leave();
    return result == 0 ? id : 0;
}

/* ---- memory ---- */

/* Retries the buffers in `unfreed`; with the mutex held. */
static void compat_free_unfreed(void)
{
    size_t left = 0;
    for (size_t i = 0; i < compat.unfreed_count; i++)
        if (ripc_free(compat.ripc, compat.unfreed[i]) == -EBUSY)
            compat.unfreed[left++] = compat.unfreed[i];
    compat.unfreed_count = left;
}

/* Takes all completions; with the mutex held. */
static void compat_reap(void)
{
    struct ripc_event events[COMPAT_EVENTS];
    bool completed = false;
    for (size_t i = 0; i < compat.id_count; i++) {
        struct ripc_service *service = compat.services[compat.ids[i]];
        int count;
        do {
            count = ripc_poll(service, events, COMPAT_EVENTS, RIPC_NOW);
            completed |= count > 0;
        } while (count == COMPAT_EVENTS);
    }
    if (completed)
        compat_free_unfreed();
}

/* Frees now or later; with the mutex held. */
static void compat_free(void *data)
{
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

void *ripc_buf_alloc(size_t size)
{
    if (compat_enter() < 0)
        return NULL;
    compat_reap();
    void *data = ripc_alloc(compat.ripc, size ? size : 1);
    compat_leave();
    return data;
}

void *ripc_buf_realloc(void *buf, size_t size)
{
    if (compat_enter() < 0)
        return NULL;
    compat_reap();
    void *data = ripc_resize(compat.ripc, buf, size ? size : 1);
    compat_leave();
    return data;
}

void ripc_buf_free(void *buf)
{
    if (!buf || compat_enter() < 0)
        return;
    compat_free(buf);
    compat_reap();
    compat_leave();
}

uint8_t ripc_buf_register(void *buf, size_t size)
{
    int result = compat_enter();
    if (result < 0)
        return status_of(result);
    result = ripc_register(compat.ripc, buf, size);
    compat_leave();
    return status_of(result);
}

uint8_t ripc_buf_unregister(void *buf)
{
    int result = compat_enter();
    if (result < 0)
        return status_of(result);
    compat_reap();
    result = ripc_unregister(compat.ripc, buf);
    compat_leave();
    return status_of(result);
}

/* Called with the mutex held. */
static int compat_window(struct ripc_service *service, void *base, size_t size)
{
    void *own = NULL;
    if (!base)
        base = own = ripc_alloc(compat.ripc, size);
    if (!base)
        return -ENOMEM;
    int result = ripc_window_add(compat.ripc, service, base, size);
    if (result < 0 && own)
        ripc_free(compat.ripc, own);
    return result;
}

uint8_t ripc_reg_recv_window(void *base, size_t size)
{
    int result = compat_enter();
    if (result < 0)
        return status_of(result);
    result = size ? compat_window(NULL, base, size) : -EINVAL;
    compat_leave();
    return status_of(result);
}

uint8_t ripc_reg_recv_window_for_service(void *base, size_t size, uint16_t service)
{
    int result = compat_enter();
    if (result < 0)
        return status_of(result);
    struct ripc_service *bound = compat.services[service];
    result = !bound ? -ENOENT : size ? compat_window(bound, base, size) : -EINVAL;
    compat_leave();
    return status_of(result);
}

/* ---- waiting ---- */

/* Returns a service to wait with, or NULL. Call compat_done after the wait. */
static struct ripc_service *compat_begin(uint16_t id)
{
    if (compat_enter() < 0)
        return NULL;
    struct ripc_service *service = compat.services[id];
    compat.waiters += service != NULL;
    compat_leave();
    return service;
}

/* Takes the mutex again, in a thread that is counted in `waiters`: the context stays open for
 * it. */
static void compat_enter_again(void)
{
    assert(compat.ripc);
    pthread_mutex_lock(&compat.mutex);
}

static void compat_done(void)
{
    compat_enter_again();
    compat_reap();
    compat_free_unfreed(); /* a window may have been used: no event reports that */
    compat.waiters--;
    compat_leave();
}

/* ---- sending ---- */

/* The items in the form that ripc needs. */
struct pieces {
    struct iovec items[RIPC_ITEM_MAX];
    struct iovec returns[RIPC_ITEM_MAX];
    uint16_t item_count, return_count;
};

static int pieces_make(struct pieces *pieces, void **items, const uint32_t *lengths, uint16_t count,
                       void **returns, const uint32_t *return_lengths, uint16_t return_count)
{
    if (count > RIPC_ITEM_MAX || return_count > RIPC_ITEM_MAX)
        return -EMSGSIZE;
    for (uint16_t i = 0; i < count; i++)
        pieces->items[i] = (struct iovec){items[i], lengths[i]};
    for (uint16_t i = 0; i < return_count; i++)
        pieces->returns[i] = (struct iovec){returns ? returns[i] : NULL, return_lengths[i]};
    pieces->item_count = count;
    pieces->return_count = return_count;
    return 0;
}

/* A send failed because it used memory that is not registered: prepares the pieces for a second
 * try. Return buffers are registered for ever, as in 2013. A long item is copied, because the
 * program may reuse its memory at any time; registering it first shows whether it can be read at
 * all. Sets a bit in `copied` for each item that is now a buffer of ours. */
static int pieces_adopt(struct pieces *pieces, bool longs, uint64_t *copied)
{
    int result = 0;
    compat_enter_again();
    for (uint16_t i = 0; i < pieces->return_count && result >= 0; i++) {
        const struct iovec *piece = &pieces->returns[i];
        if (piece->iov_base)
            result = ripc_register(compat.ripc, piece->iov_base, piece->iov_len);
        result = result == -EEXIST ? 0 : result;
    }
    for (uint16_t i = 0; longs && i < pieces->item_count && result >= 0; i++) {
        struct iovec *piece = &pieces->items[i];
        result = ripc_register(compat.ripc, piece->iov_base, piece->iov_len);
        if (result < 0) { /* already registered, or in part: the second try will tell */
            result = result == -EEXIST ? 0 : result;
            continue;
        }
        ripc_unregister(compat.ripc, piece->iov_base);
        void *copy = ripc_alloc(compat.ripc, piece->iov_len);
        if (!copy) {
            result = -ENOMEM;
            break;
        }
        piece->iov_base = memcpy(copy, piece->iov_base, piece->iov_len);
        *copied |= 1ULL << i;
    }
    compat_leave();
    return result;
}

/* Frees copies once the send no longer needs them. */
static void pieces_free_copies(const struct pieces *pieces, uint64_t copied)
{
    compat_enter_again();
    for (uint16_t i = 0; i < pieces->item_count; i++)
        if (copied >> i & 1)
            compat_free(pieces->items[i].iov_base);
    compat_leave();
}

static uint8_t compat_send(uint16_t src, uint16_t dest, struct pieces *pieces, bool longs)
{
    static_assert(RIPC_ITEM_MAX <= 64, "a bit for each item");
    struct ripc_service *service = compat_begin(src);
    uint64_t copied = 0;
    if (!service)
        return ENOENT;
    struct ripc_send send = {
        .to = dest,
        .shorts = longs ? NULL : pieces->items,
        .longs = longs ? pieces->items : NULL,
        .returns = pieces->returns,
        .short_count = longs ? 0 : pieces->item_count,
        .long_count = longs ? pieces->item_count : 0,
        .return_count = pieces->return_count,
        .deadline = RIPC_FOREVER,
    };
    int64_t result = ripc_send_message(service, &send);
    if (result == -EFAULT) {
        result = pieces_adopt(pieces, longs, &copied);
        if (result >= 0)
            result = ripc_send_message(service, &send);
        pieces_free_copies(pieces, copied);
    }
    compat_done();
    return status_of(result);
}

uint8_t ripc_send_short(uint16_t src, uint16_t dest, void **buf, uint32_t *length,
                        uint16_t num_items, void **return_bufs, uint32_t *return_buf_lengths,
                        uint16_t num_return_bufs)
{
    struct pieces pieces;
    int result = pieces_make(&pieces, buf, length, num_items, return_bufs, return_buf_lengths,
                             num_return_bufs);
    return result < 0 ? status_of(result) : compat_send(src, dest, &pieces, false);
}

uint8_t ripc_send_long(uint16_t src, uint16_t dest, void **buf, uint32_t *length,
                       uint16_t num_items, void **return_bufs, uint32_t *return_buf_lengths,
                       uint16_t num_return_bufs)
{
    struct pieces pieces;
    int result = pieces_make(&pieces, buf, length, num_items, return_bufs, return_buf_lengths,
                             num_return_bufs);
    return result < 0 ? status_of(result) : compat_send(src, dest, &pieces, true);
}

/* ---- receiving ---- */

/* Items and their sizes, in one allocation: programs free only the items. */
struct items {
    void **data;
    uint32_t *sizes;
};

static bool items_make(struct items *items, uint16_t count)
{
    *items = (struct items){0};
    if (!count)
        return true;
    items->data = array_new(count, sizeof *items->data + sizeof *items->sizes);
    if (!items->data)
        return false;
    items->sizes = (uint32_t *)(void *)(items->data + count);
    return true;
}

static uint32_t size_clipped(uint64_t size)
{
    return size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
}

/* Copies the short items into one buffer that starts with the first item. */
static bool shorts_take(struct items *shorts, const struct ripc_message *message)
{
    if (!message->short_count)
        return true;
    uint8_t *copy = ripc_buf_alloc(message->size);
    if (!copy)
        return false;
    if (message->size)
        memcpy(copy, message->data, message->size);
    for (uint16_t i = 0; i < message->short_count; i++) {
        size_t size = 0;
        const uint8_t *item = ripc_short(message, i, &size);
        shorts->data[i] = item ? copy + (item - (const uint8_t *)message->data) : copy;
        shorts->sizes[i] = size_clipped(size);
    }
    return true;
}

/* Items that have not arrived stay NULL; releasing the message rejects them. */
static void longs_take(struct items *longs, const struct ripc_message *message)
{
    for (uint16_t i = 0; i < message->long_count; i++) {
        const struct ripc_item *item = &message->longs[i];
        if (item->status != 0)
            continue;
        longs->data[i] = item->data;
        longs->sizes[i] = size_clipped(item->size);
    }
}

/* Called if memory is too short to return the message. Frees the buffers that the library allocated
 * for it, since the program cannot. */
static void longs_drop(const struct ripc_message *message)
{
    for (uint16_t i = 0; i < message->long_count; i++)
        if (message->longs[i].status == 0 && message->longs[i].owned)
            ripc_buf_free(message->longs[i].data);
}

static int compat_take(const struct ripc_message *message, struct items *shorts,
                       struct items *longs)
{
    *longs = (struct items){0};
    if (items_make(shorts, message->short_count) && items_make(longs, message->long_count) &&
        shorts_take(shorts, message)) {
        longs_take(longs, message);
        return 0;
    }
    longs_drop(message);
    free(shorts->data);
    free(longs->data);
    return -ENOMEM;
}

uint8_t ripc_compat_receive(uint16_t service_id, uint16_t *from_service_id, void ***short_items,
                            uint32_t **short_item_sizes, uint16_t *num_short_items,
                            void ***long_items, uint32_t **long_item_sizes,
                            uint16_t *num_long_items)
{
    struct items shorts, longs;
    struct ripc_message message;
    struct ripc_service *service = compat_begin(service_id);
    if (!service)
        return ENOENT;
    int result = ripc_receive(service, &message, 1, RIPC_FOREVER);
    if (result == 1) {
        result = compat_take(&message, &shorts, &longs);
        if (result == 0) {
            *from_service_id = message.from < COMPAT_IDS ? (uint16_t)message.from : 0;
            *short_items = shorts.data;
            *short_item_sizes = shorts.sizes;
            *num_short_items = message.short_count;
            *long_items = longs.data;
            *long_item_sizes = longs.sizes;
            *num_long_items = message.long_count;
        }
        ripc_release(&message);
    } else if (result == 0) {
        result = -ECANCELED;
    }
    compat_done();
    return status_of(result);
}
