/* fabric_progress: completions, and which thread polls for them.
 *
 * Nothing moves unless a thread reads the completion queue: a thread of the program that waits by
 * polling, or the keeper, which sleeps on the queue's descriptor. They must not both wake up for
 * each message. So once a thread polls repeatedly, the descriptor is not watched any more, and the
 * keeper polls on a timer until the polling has ended. A thread that is about to sleep calls arm().
 *
 * The keeper also polls on the timer while something waits for the provider to take it, and always
 * if the provider has no descriptor.
 *
 * What a peer writes into our memory is placed by such a poll, too, and no event reports it. So a
 * thread that sleeps until a peer has written (struct transport's bells) is woken after every poll
 * of the keeper, which polls only when there is a reason; and soon after a poll of another thread,
 * which may have placed what it waits for. */
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>

#include "base/check.h"
#include "transport/fabric/fabric_impl.h"
#include "transport/fork/descriptor.h"

enum {
    BATCH_SIZE = 16,
    BATCHES_MAX = 8,         /* per call: the caller has other things to poll */
    POLLS_MAX = 32,          /* by the program, until the keeper rests */
    SETTLES_MAX = 16,        /* consecutive polls of the keeper */
    FALSE_ALARMS_MAX = 256,  /* consecutive; then a sticky descriptor is given up ... */
    FALSE_ALARMS_BUSY = 4096 /* ... and any other is looked at less often */
};

static void bells_ring(struct fabric *fabric)
{
    struct list *node;
    while ((node = list_take(&fabric->ringing)))
        doorbell_ring(container_of(node, struct fabric_pipe, ring_node)->bell);
}

/* ---- threads that wait for what peers write ---- */

/* Does another thread sleep on one of the bells? */
static bool writes_are_awaited(const struct fabric *fabric)
{
    if (!fabric->transport.bells)
        return false;
    list_each(fabric->transport.bells, node)
    {
        if (doorbell_is_slept_on(container_of(node, struct doorbell, polled)))
            return true;
    }
    return false;
}

static void writes_ring(struct fabric *fabric)
{
    if (!fabric->transport.bells)
        return;
    list_each(fabric->transport.bells, node)
        doorbell_ring(container_of(node, struct doorbell, polled));
}

/* Has something arrived that was not polled yet? */
static bool descriptor_is_readable(const struct fabric *fabric)
{
    struct pollfd descriptor = {.fd = fabric->fd, .events = POLLIN};
    return fabric->fd >= 0 && poll(&descriptor, 1, 0) > 0;
}

/* ---- completions ---- */

static void operation_done(struct fabric *fabric, void *context, size_t size, int status)
{
    struct fabric_operation *operation = context;
    switch (operation->kind) {
    case FABRIC_RECEIVE: {
        struct fabric_buffer *buffer = container_of(operation, struct fabric_buffer, operation);
        if (status < 0)
            fabric_receive_again(fabric, buffer);
        else
            fabric_received(fabric, buffer, size);
        return;
    }
    case FABRIC_SEND:
        fabric_link_sent(container_of(operation, struct fabric_buffer, operation), status);
        return;
    case FABRIC_TRANSFER:
        fabric_transferred(container_of(operation, struct fabric_piece, operation), status);
        return;
    }
    assert_unreachable();
}

static int error_take(struct fabric *fabric)
{
    struct fi_cq_err_entry entry = {0};
    if (fi_cq_readerr(fabric->cq, &entry, 0) != 1)
        return 0;
    fabric->error_count++;
    /* Some providers report a failed connection without naming it: operations in flight on it fail
     * by themselves, or with the lifeline. */
    if (entry.op_context) {
        int status = fabric_error(entry.err);
        operation_done(fabric, entry.op_context, 0,
                       status == -EACCES || status == -ENOMEM ? status : -EPIPE);
    }
    return 1;
}

/* Retries what was refused. */
static void stalled_flush(struct fabric *fabric)
{
    fabric->stalled = false;
    fabric_receives_flush(fabric);
    list_each(&fabric->links, node)
    {
        struct fabric_link *link = container_of(node, struct fabric_link, node);
        fabric_link_flush(link);
        fabric_jobs_flush(link);
    }
}

/* Handles what was read; `count` is the result of the read. */
static int batch_take(struct fabric *fabric, const struct fi_cq_msg_entry *entries, ssize_t count)
{
    if (count == -FI_EAVAIL)
        return error_take(fabric);
    for (ssize_t i = 0; i < count; i++)
        operation_done(fabric, entries[i].op_context, entries[i].len, 0);
    return count > 0 ? (int)count : 0;
}

int fabric_poll(struct fabric *fabric)
{
    struct fi_cq_msg_entry entries[BATCH_SIZE];
    int happened = 0;
    fabric->depth++;
    for (unsigned i = 0; i < BATCHES_MAX; i++) {
        ssize_t count = fi_cq_read(fabric->cq, entries, BATCH_SIZE);
        happened += batch_take(fabric, entries, count);
        if (count != BATCH_SIZE && count != -FI_EAVAIL)
            break;
    }
    if (fabric->stalled && !fabric->draining)
        stalled_flush(fabric);
    if (!fabric->draining)
        fabric_jobs_tell(fabric, NULL);
    fabric->depth--;
    bells_ring(fabric);
    return happened;
}

/* ---- the keeper ---- */

static void watch_set(struct fabric *fabric, bool armed)
{
    if (fabric->armed == armed || !fabric->watch)
        return;
    if (!armed)
        poller_ignore(fabric->poller, fabric->watch);
    else if (poller_change(fabric->poller, fabric->watch, EPOLLIN))
        return;
    fabric->armed = armed;
}

/* True if the provider promises that its descriptor will become readable. */
static bool may_sleep(struct fabric *fabric)
{
    struct fid *fids[1] = {&fabric->cq->fid};
    return fi_trywait(fabric->fabric, fids, 1) == 0;
}

/* The keeper leaves the queue to the threads that poll it. */
static void watch_rest(struct fabric *fabric)
{
    watch_set(fabric, false);
    fabric_timer_set(fabric, FABRIC_REST_NSEC);
}

/* Polls until there is nothing, then decides what wakes the keeper next. */
static void keeper_drain(struct fabric *fabric)
{
    int happened = fabric_poll(fabric);
    fabric_links_reap(fabric);
    if (!fabric->watch) {
        fabric->nap = happened ? FABRIC_REST_NSEC : 2 * fabric->nap;
        if (fabric->nap > FABRIC_NAP_NSEC_MAX)
            fabric->nap = FABRIC_NAP_NSEC_MAX;
        fabric_timer_set(fabric, fabric->nap);
        return;
    }
    if (clock_now() - fabric->polled_at < FABRIC_REST_NSEC) {
        watch_rest(fabric);
        return;
    }
    for (unsigned i = 0; i < SETTLES_MAX && !may_sleep(fabric); i++)
        fabric_poll(fabric);
    fabric->polls = 0;
    watch_set(fabric, true);
    if (!may_sleep(fabric))
        fabric_timer_set(fabric, 0);
    else if (fabric->stalled)
        fabric_timer_set(fabric, FABRIC_REST_NSEC);
}

static void keeper_poll(struct fabric *fabric)
{
    keeper_drain(fabric);
    writes_ring(fabric);
}

/* Once something has arrived, the net provider's descriptor stays readable for ever: after
 * FALSE_ALARMS_MAX false alarms the timer polls instead.
 *
 * With other providers it is readable without a completion when a stranger connects and closes
 * again. Each poll then accepts one such connection, and those of our peers are behind them in the
 * queue: so we poll on as fast as we can, and only if this does not end, once per millisecond. */
static void watch_ready(void *owner, uint32_t events)
{
    struct fabric *fabric = owner;
    fabric->false_alarms = fabric_poll(fabric) ? 0 : fabric->false_alarms + 1;
    if (fabric->sticky && fabric->false_alarms == FALSE_ALARMS_MAX) {
        poller_remove(fabric->poller, fabric->watch);
        fabric->watch = NULL;
    }
    keeper_poll(fabric);
    if (fabric->watch && fabric->false_alarms >= FALSE_ALARMS_BUSY)
        watch_rest(fabric);
}

static void timer_fired(void *owner)
{
    keeper_poll(owner);
}

int fabric_progress(struct transport *transport)
{
    struct fabric *fabric = container_of(transport, struct fabric, transport);
    if (fabric->polls++ % POLLS_MAX == POLLS_MAX - 1) {
        fabric->polled_at = clock_now();
        if (fabric->armed)
            watch_rest(fabric);
    }
    int happened = fabric_poll(fabric);
    fabric_links_reap(fabric);
    if (writes_are_awaited(fabric))
        /* The timer rings the bells. We do not ring them here, because we may be called again and
         * again. */
        fabric_timer_set_by(fabric, FABRIC_REST_NSEC);
    return happened;
}

int fabric_arm(struct transport *transport)
{
    struct fabric *fabric = container_of(transport, struct fabric, transport);
    int happened = 0;
    fabric->polled_at = 0;
    fabric->polls = 0;
    if (!fabric->watch) { /* only the timer polls: poll often while a thread waits */
        fabric->nap = FABRIC_REST_NSEC;
        fabric_timer_set_by(fabric, FABRIC_REST_NSEC);
        return fabric_poll(fabric);
    }
    /* We ring the bells only if something arrived. With the timer, as in fabric_progress, two
     * threads that wait for writes would wake each other for ever. */
    bool ring = writes_are_awaited(fabric) && descriptor_is_readable(fabric);
    for (unsigned i = 0; i < SETTLES_MAX && !may_sleep(fabric); i++)
        happened += fabric_poll(fabric);
    watch_set(fabric, true);
    /* What arrived while the descriptor was not watched may never make it readable: the keeper
     * polls until the provider promises that it will. */
    if (!may_sleep(fabric))
        fabric_timer_set_by(fabric, 0);
    if (ring)
        writes_ring(fabric);
    return happened;
}

int fabric_watch_open(struct fabric *fabric)
{
    fabric->timer = (struct poller_timer){.at = NSEC_NEVER, .fired = timer_fired, .owner = fabric};
    fabric->nap = FABRIC_REST_NSEC;
    fabric->fd = -1;
    if (fi_control(&fabric->cq->fid, FI_GETWAIT, &fabric->fd) == 0 && fabric->fd >= 0) {
        int result =
            poller_add(fabric->poller, fabric->fd, EPOLLIN, watch_ready, fabric, &fabric->watch);
        if (result)
            return result;
        fabric->armed = true;
        descriptor_adopt(fabric->fd); /* the set of all sockets of the provider */
    }
    return poller_set(fabric->poller, &fabric->timer, clock_after(0)); /* a first poll */
}

void fabric_watch_close(struct fabric *fabric)
{
    if (fabric->timer.fired)
        poller_unset(fabric->poller, &fabric->timer);
    poller_remove(fabric->poller, fabric->watch);
    if (fabric->watch)
        descriptor_forget(fabric->fd);
}
