/* compat: LibRIPC's calls of 2013, implemented with ripc.h. include/weft/ripc_compat.h defines what
 * they mean. Services and messages are here, memory is in compat_memory.c, and the state of the
 * process in compat_state.c.
 *
 * Two things differ from ripc.h. A send to an id that no process has yet waits until one has it. A
 * signal ends a wait for a message: programs of 2013 use alarm() as a timeout. The signal must not
 * be missed, however late before the sleep it comes, because it may be the only one. So
 * ripc_receive blocks signals before it does anything else, and the system call that sleeps
 * unblocks them. */
#include "ripc/compat_impl.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "ripc/memory/buffers.h"
#include "ripc/message/receive.h"

#define COMPAT_RANDOM_MAX 1000                 /* attempts to find a free id */
#define COMPAT_STRANGER   UINT16_MAX           /* a sender whose id has more than 16 bits */
#define COMPAT_RETRY_MIN  (1000 * 1000LL)      /* between two attempts to send to an absent id, */
#define COMPAT_RETRY_MAX  (32 * 1000 * 1000LL) /* growing from one to the other */

/* Statuses of ripc_receive that LibRIPC did not tell apart. */
#define COMPAT_LOST        1 /* a long item found no window */
#define COMPAT_INTERRUPTED 1 /* by a signal */

/* ---- services ---- */

static ripc_id compat_id(uint16_t id)
{
    return id ? id : COMPAT_ZERO;
}

static uint16_t compat_sender(ripc_id id)
{
    return id == COMPAT_ZERO ? 0 : id < COMPAT_IDS ? (uint16_t)id : COMPAT_STRANGER;
}

/* For a group, the service itself gets a random id. */
static int compat_bind_service(uint16_t id, bool group, struct ripc_service **service)
{
    int result = ripc_bind(compat.ripc, group ? 0 : compat_id(id), 0, service);
    if (result < 0 || !group)
        return result;
    result = ripc_join(*service, compat_id(id));
    if (result < 0)
        ripc_unbind(*service);
    return result;
}

/* Binds, with the mutex held. */
static int compat_bind(uint16_t id, bool group)
{
    if (compat.services[id])
        return -EADDRINUSE;
    struct compat_service *entry = array_new(1, sizeof *entry);
    if (!entry ||
        !array_reserve(&compat.ids, &compat.id_capacity, compat.id_count + 1, sizeof *compat.ids)) {
        free(entry);
        return -ENOMEM;
    }
    int result = compat_bind_service(id, group, &entry->service);
    if (result < 0) {
        free(entry);
        return result;
    }
    entry->shown.number = id;
    compat.services[id] = entry;
    compat.ids[compat.id_count++] = id;
    compat_show(&entry->shown);
    return 0;
}

static uint8_t compat_register(int id, bool group)
{
    if (id < 0 || id >= COMPAT_IDS || compat_enter() < 0)
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
        id = (uint16_t)(1 + entropy_u64() % (COMPAT_STRANGER - 1)); /* not 0: that means failure */
        result = compat_bind(id, false);
    }
    compat_leave();
    return result == 0 ? id : 0;
}

/* ---- waiting ---- */

/* Returns a bound id to wait with, or NULL. Call compat_done after the wait. */
static struct compat_service *compat_begin(uint16_t id)
{
    if (compat_enter() < 0)
        return NULL;
    struct compat_service *bound = compat.services[id];
    compat.waiters += bound != NULL;
    compat_leave();
    return bound;
}

/* `peer`: the other service of the message; `reached`: there was a message. */
static void compat_done(uint16_t peer, bool reached)
{
    compat_enter_again();
    if (reached)
        compat_know(peer);
    compat_reap();
    compat_retry(); /* a window may have been used: no event reports that */
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

/* An item at NULL. LibRIPC would have read it there; programs with an array of return buffers that
 * has no element write NULL over their items, if they are compiled without optimisation. */
static const uint8_t zeros[RIPC_SHORT_MAX + 1];

/* As in 2013, a return buffer of no bytes is ignored. A short item at NULL becomes zeros; its size
 * is limited to what is still too large for a message. A long one is left to item_adopt. */
static int pieces_make(struct pieces *pieces, void **items, const uint32_t *lengths, uint16_t count,
                       void **returns, const uint32_t *return_lengths, uint16_t return_count,
                       bool longs)
{
    if (count > RIPC_ITEM_MAX || return_count > RIPC_ITEM_MAX)
        return -EMSGSIZE;
    for (uint16_t i = 0; i < count; i++) {
        pieces->items[i] = (struct iovec){items[i], lengths[i]};
        if (!items[i] && !longs)
            pieces->items[i] = (struct iovec){
                (void *)zeros, lengths[i] < sizeof zeros ? lengths[i] : sizeof zeros};
    }
    pieces->item_count = count;
    pieces->return_count = 0;
    for (uint16_t i = 0; i < return_count; i++)
        if (return_lengths[i])
            pieces->returns[pieces->return_count++] =
                (struct iovec){returns ? returns[i] : NULL, return_lengths[i]};
    return 0;
}

/* Can the return buffer be used, now that its memory is registered if that is possible? */
static bool return_adopt(const struct iovec *piece)
{
    void *base;
    size_t whole;
    if (!piece->iov_base)
        return true;
    if (buffers_whole(compat.ripc, piece->iov_base, &base, &whole) == POOL_UNKNOWN)
        return !compat_is_inherited(piece->iov_base, piece->iov_len) &&
               ripc_register(compat.ripc, piece->iov_base, piece->iov_len) == 0;
    return piece->iov_len <= whole - (size_t)((uint8_t *)piece->iov_base - (uint8_t *)base);
}

/* Replaces a long item that is not registered by a copy in a buffer of ours, because the program
 * may reuse its memory at any time. Registering it first shows whether it can be read at all. */
static int item_adopt(struct iovec *piece, bool *copied)
{
    if (!piece->iov_base) {
        piece->iov_base = buffers_alloc_zeroed(compat.ripc, piece->iov_len);
        *copied = piece->iov_base;
        return *copied ? 0 : -ENOMEM;
    }
    int result = compat_is_inherited(piece->iov_base, piece->iov_len)
                     ? -EFAULT
                     : ripc_register(compat.ripc, piece->iov_base, piece->iov_len);
    if (result < 0) /* already registered, or in part: the second try will tell */
        return result == -EEXIST ? 0 : result;
    ripc_unregister(compat.ripc, piece->iov_base);
    void *copy = ripc_alloc(compat.ripc, piece->iov_len);
    if (!copy)
        return -ENOMEM;
    piece->iov_base = memcpy(copy, piece->iov_base, piece->iov_len);
    *copied = true;
    return 0;
}

/* A send failed because it used memory that is not registered: prepares the pieces for a second
 * try. Return buffers are registered for ever, as in 2013; those that cannot be are dropped. Sets a
 * bit in `copies` for each item that is now a buffer of ours. */
static int pieces_adopt(struct pieces *pieces, bool longs, uint64_t *copies)
{
    uint16_t kept = 0;
    int result = 0;
    compat_enter_again();
    for (uint16_t i = 0; i < pieces->return_count; i++)
        if (return_adopt(&pieces->returns[i]))
            pieces->returns[kept++] = pieces->returns[i];
    pieces->return_count = kept;
    for (uint16_t i = 0; longs && i < pieces->item_count && result >= 0; i++) {
        bool copied = false;
        result = item_adopt(&pieces->items[i], &copied);
        if (copied)
            *copies |= UINT64_C(1) << i;
    }
    compat_leave();
    return result;
}

/* Frees copies once the send no longer needs them. */
static void pieces_free_copies(const struct pieces *pieces, uint64_t copies)
{
    compat_enter_again();
    for (uint16_t i = 0; i < pieces->item_count; i++)
        if (copies >> i & 1)
            compat_free(pieces->items[i].iov_base);
    compat_leave();
}

/* Is it worth waiting for the receiver? Not if it was there before: a service whose clients come
 * and go must not wait for one that has gone. */
static bool is_awaited(uint16_t dest, int64_t result)
{
    if (result != -ENOENT && result != -ECONNREFUSED && result != -EPIPE)
        return false;
    compat_enter_again();
    bool awaited = !compat_knows(dest) && !compat.ended;
    compat_leave();
    return awaited;
}

static int64_t compat_deliver(struct ripc_service *service, uint16_t dest, struct pieces *pieces,
                              bool longs)
{
    const struct ripc_send send = {
        .to = compat_id(dest),
        .shorts = longs ? NULL : pieces->items,
        .longs = longs ? pieces->items : NULL,
        .returns = pieces->returns,
        .short_count = longs ? 0 : pieces->item_count,
        .long_count = longs ? pieces->item_count : 0,
        .return_count = pieces->return_count,
        .deadline = RIPC_FOREVER,
    };
    for (nsec pause = COMPAT_RETRY_MIN;;) {
        int64_t result = ripc_send_message(service, &send);
        if (!is_awaited(dest, result))
            return result;
        clock_nap(pause);
        pause = pause < COMPAT_RETRY_MAX ? 2 * pause : pause;
    }
}

static uint8_t compat_send(uint16_t src, uint16_t dest, struct pieces *pieces, bool longs)
{
    static_assert(RIPC_ITEM_MAX <= 64, "a bit for each item");
    const struct compat_service *bound = compat_begin(src);
    uint64_t copies = 0;
    if (!bound)
        return ENOENT;
    int64_t result = compat_deliver(bound->service, dest, pieces, longs);
    if (result == -EFAULT) {
        result = pieces_adopt(pieces, longs, &copies);
        if (result >= 0)
            result = compat_deliver(bound->service, dest, pieces, longs);
        pieces_free_copies(pieces, copies);
    }
    compat_done(dest, result >= 0);
    return compat_status(result);
}

uint8_t ripc_send_short(uint16_t src, uint16_t dest, void **buf, uint32_t *length,
                        uint16_t num_items, void **return_bufs, uint32_t *return_buf_lengths,
                        uint16_t num_return_bufs)
{
    struct pieces pieces;
    int result = pieces_make(&pieces, buf, length, num_items, return_bufs, return_buf_lengths,
                             num_return_bufs, false);
    return result < 0 ? compat_status(result) : compat_send(src, dest, &pieces, false);
}

uint8_t ripc_send_long(uint16_t src, uint16_t dest, void **buf, uint32_t *length,
                       uint16_t num_items, void **return_bufs, uint32_t *return_buf_lengths,
                       uint16_t num_return_bufs)
{
    struct pieces pieces;
    int result = pieces_make(&pieces, buf, length, num_items, return_bufs, return_buf_lengths,
                             num_return_bufs, true);
    return result < 0 ? compat_status(result) : compat_send(src, dest, &pieces, true);
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

/* Copies the short items into one buffer that starts with the first item. As in 2013 it has at
 * least RECV_BUF_SIZE bytes, and those after the last item are zero: programs send texts without
 * their terminating 0. */
static bool shorts_take(struct items *shorts, const struct ripc_message *message)
{
    if (!message->short_count)
        return true;
    size_t size = message->size < RECV_BUF_SIZE ? RECV_BUF_SIZE : message->size + 1;
    uint8_t *copy = ripc_alloc(compat.ripc, size);
    if (!copy)
        return false;
    if (message->size)
        memcpy(copy, message->data, message->size);
    memset(copy + message->size, 0, size - message->size);
    for (uint16_t i = 0; i < message->short_count; i++) {
        size_t item_size = 0;
        const uint8_t *item = ripc_short(message, i, &item_size);
        shorts->data[i] = item ? copy + (item - (const uint8_t *)message->data) : copy;
        shorts->sizes[i] = size_clipped(item_size);
    }
    return true;
}

/* Items that have not arrived stay NULL; releasing the message rejects them. Returns whether all
 * have arrived. */
static bool longs_take(struct items *longs, const struct ripc_message *message)
{
    bool all = true;
    for (uint16_t i = 0; i < message->long_count; i++) {
        const struct ripc_item *item = &message->longs[i];
        if (item->status != 0) {
            all = false;
            continue;
        }
        longs->data[i] = item->data;
        longs->sizes[i] = size_clipped(item->size);
    }
    return all;
}

/* Called if memory is too short to return the message. Frees the buffers that the library allocated
 * for it, since the program cannot. */
static void longs_drop(const struct ripc_message *message)
{
    for (uint16_t i = 0; i < message->long_count; i++)
        if (message->longs[i].status == 0 && message->longs[i].owned)
            ripc_buf_free(message->longs[i].data);
}

/* Returns the status of 2013. */
static uint8_t compat_take(const struct ripc_message *message, struct items *shorts,
                           struct items *longs)
{
    *longs = (struct items){0};
    if (items_make(shorts, message->short_count) && items_make(longs, message->long_count) &&
        shorts_take(shorts, message))
        return longs_take(longs, message) ? 0 : COMPAT_LOST;
    longs_drop(message);
    free(shorts->data);
    free(longs->data);
    return ENOMEM;
}

/* Blocks all signals but those that an instruction causes: they cannot wait. */
static void signals_block(sigset_t *before)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
    sigset_t set;
    sigfillset(&set);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        sigdelset(&set, own[i]);
    pthread_sigmask(SIG_BLOCK, &set, before);
}

/* Only one thread at a time may wait for an id in the way that misses no signal. */
static bool receiving_begin(struct compat_service *bound)
{
    compat_enter_again();
    bool alone = !bound->receiving;
    bound->receiving = true;
    compat_leave();
    return alone;
}

static void receiving_end(struct compat_service *bound)
{
    compat_enter_again();
    bound->receiving = false;
    compat_leave();
}

/* Waits for a message with signals blocked. -EINTR: a signal was handled; its handler ran during
 * the sleep, which has the mask `before`. */
static int compat_await(struct compat_service *bound, const sigset_t *before,
                        struct ripc_message *message)
{
    int result = ripc_receive(bound->service, message, 1, RIPC_NOW);
    if (result != -EAGAIN)
        return result;
    struct waiting_signals signals = {.mask = before, .alone = receiving_begin(bound)};
    result = receive_interruptibly(bound->service, message, &signals);
    if (signals.alone)
        receiving_end(bound);
    return result;
}

/* A message in the form of 2013. */
struct received {
    bool arrived; /* there is a message, perhaps without its long items */
    uint16_t from, short_count, long_count;
    struct items shorts, longs;
};

/* Called with signals blocked; `before` is the mask of the program. Returns the status of 2013. */
static uint8_t compat_receive(uint16_t id, const sigset_t *before, struct received *received)
{
    struct ripc_message message;
    struct compat_service *bound = compat_begin(id);
    if (!bound)
        return ENOENT;
    int result = compat_await(bound, before, &message);
    if (result != 1) {
        compat_done(COMPAT_STRANGER, false);
        return result == -EINTR ? COMPAT_INTERRUPTED : compat_status(result ? result : -ECANCELED);
    }
    uint8_t status = compat_take(&message, &received->shorts, &received->longs);
    received->arrived = status == 0 || status == COMPAT_LOST;
    received->from = compat_sender(message.from);
    received->short_count = message.short_count;
    received->long_count = message.long_count;
    ripc_release(&message);
    compat_done(received->from, true);
    return status;
}

uint8_t ripc_compat_receive(uint16_t service_id, uint16_t *from_service_id, void ***short_items,
                            uint32_t **short_item_sizes, uint16_t *num_short_items,
                            void ***long_items, uint32_t **long_item_sizes,
                            uint16_t *num_long_items)
{
    sigset_t before;
    signals_block(&before); /* first of all: a signal that comes from here on ends the wait */
    struct received received = {.arrived = false};
    uint8_t status = compat_receive(service_id, &before, &received);
    if (received.arrived) {
        *from_service_id = received.from;
        *short_items = received.shorts.data;
        *short_item_sizes = received.shorts.sizes;
        *num_short_items = received.short_count;
        *long_items = received.longs.data;
        *long_item_sizes = received.longs.sizes;
        *num_long_items = received.long_count;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status;
}
