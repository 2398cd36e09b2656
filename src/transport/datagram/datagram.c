/* datagram: the timer of all pipes of a transport, and the dispatch of received datagrams.
 *
 * Each end of a pipe has a random number, and the two ends exchange these numbers over the
 * lifeline. A datagram carries the number of the end that it is for. If the number is unknown, or
 * the sender is not the peer of the pipe, the datagram is counted and dropped.
 *
 *   DATAGRAM_FRAME   outlet -> inlet   a numbered frame
 *   DATAGRAM_RETURN  inlet -> outlet   which frames arrived, how many were released,
 *                                      and numbered acknowledgements
 *   DATAGRAM_ASK     outlet -> inlet   which acknowledgements arrived; may ask for a RETURN
 *
 * The network may lose, duplicate and reorder datagrams. A report covers everything up to now, so
 * the next report makes up for a lost one. Each side repeats what was not confirmed, at growing
 * intervals, until the lifeline breaks. So frames arrive in order and once, and none is lost while
 * both processes run. Credit protects the receiver: at most one window of frames is sent and not
 * yet released.
 *
 * By default the poller watches the carrier and receives. While threads call progress(), they
 * receive, and the poller does not watch. It watches again when a thread calls arm(), or when
 * progress() was not called for a while. */
#include "transport/datagram/datagram.h"

#include <errno.h>

#include "base/check.h"

#define IDLE_NSEC (1000 * 1000LL) /* without progress() for so long, the poller watches again */

/* ---- the timer ---- */

static void core_wake(struct datagram_core *core, nsec at)
{
    if (at >= core->timer.at)
        return;
    int result = poller_set(core->poller, &core->timer, at);
    assert(result == 0); /* setting a timer that is set cannot fail */
}

void datagram_pipe_wake(struct datagram_pipe *pipe, nsec at)
{
    if (at >= pipe->due)
        return;
    pipe->due = at;
    core_wake(pipe->link->core, at);
}

static void core_watch(struct datagram_core *core, bool on)
{
    core->carrier->watch(core, on);
    core->polled = !on;
}

static void core_fired(void *owner)
{
    struct datagram_core *core = owner;
    nsec now = clock_now(), next = NSEC_FAR;
    int result = poller_set(core->poller, &core->timer, NSEC_FAR);
    assert(result == 0); /* the slot that the timer had is still free */
    if (core->polled && now >= core->idle_at) {
        if (!core->polled_lately)
            core_watch(core, true);
        core->polled_lately = false;
        core->idle_at = now + IDLE_NSEC;
    }
    if (core->polled)
        next = core->idle_at;
    list_each(&core->all, node)
    {
        struct datagram_pipe *pipe = container_of(node, struct datagram_pipe, node);
        if (pipe->due <= now) {
            pipe->due = NSEC_NEVER;
            pipe->late(pipe, now);
        }
        next = pipe->due < next ? pipe->due : next;
    }
    core_wake(core, next);
}

/* ---- pipes ---- */

int datagram_pipe_open(struct datagram_pipe *pipe, struct datagram_link *link,
                       struct doorbell *bell)
{
    struct datagram_core *core = link->core;
    if (link->lost)
        return -EPIPE;
    do
        pipe->id = entropy_u64();
    while (id_map_get(&core->pipes, pipe->id));
    if (!id_map_put(&core->pipes, pipe->id, pipe))
        return -ENOMEM;
    pipe->link = link;
    pipe->bell = bell;
    pipe->due = NSEC_NEVER;
    list_append(&core->all, &pipe->node);
    return 0;
}

int datagram_pipe_renumber(struct datagram_pipe *pipe, uint64_t id)
{
    struct id_map *pipes = &pipe->link->core->pipes;
    if (id_map_get(pipes, id))
        return -EEXIST;
    if (!id_map_put(pipes, id, pipe))
        return -ENOMEM;
    id_map_take(pipes, pipe->id);
    pipe->id = id;
    return 0;
}

void datagram_pipe_close(struct datagram_pipe *pipe)
{
    void *was = id_map_take(&pipe->link->core->pipes, pipe->id);
    assert(was == pipe);
    list_remove(&pipe->node);
}

/* ---- sending ---- */

void datagram_batch_start(struct datagram_batch *batch, struct datagram_pipe *pipe)
{
    batch->pipe = pipe;
    batch->count = 0;
}

void datagram_batch_add(struct datagram_batch *batch, const struct pipe_datagram *frame,
                        const uint8_t *body)
{
    assert(frame->kind == DATAGRAM_FRAME);
    if (batch->count == DATAGRAM_BATCH)
        datagram_batch_send(batch);
    unsigned at = batch->count++;
    struct iovec *pieces = batch->pieces[at];
    pieces[0].iov_base = batch->heads[at];
    pieces[0].iov_len = pipe_datagram_write(frame, batch->heads[at], sizeof batch->heads[at]);
    pieces[1] = (struct iovec){(void *)body, frame->frame.size};
}

void datagram_batch_send(struct datagram_batch *batch)
{
    batch->pipe->link->core->carrier->send(batch);
    batch->count = 0;
}

void datagram_send(struct datagram_pipe *pipe, const struct pipe_datagram *datagram)
{
    uint8_t bytes[DATAGRAM_RETURN_SIZE + DATAGRAM_ACKS_MAX * sizeof(struct acknowledgement)];
    struct datagram_batch batch;
    datagram_batch_start(&batch, pipe);
    batch.count = 1;
    batch.pieces[0][1] = (struct iovec){NULL, 0};
    batch.pieces[0][0] = (struct iovec){bytes, pipe_datagram_write(datagram, bytes, sizeof bytes)};
    pipe->link->core->carrier->send(&batch);
}

/* ---- receiving ---- */

struct datagram_pipe *datagram_pipe_of(struct datagram_core *core, const uint8_t *bytes,
                                       size_t size, struct pipe_datagram *datagram)
{
    core->counts.datagrams++;
    if (pipe_datagram_read(datagram, bytes, size)) {
        core->counts.garbage++;
        return NULL;
    }
    struct datagram_pipe *pipe = id_map_get(&core->pipes, datagram->pipe);
    if (!pipe || pipe->link->lost) {
        core->counts.stray++;
        return NULL;
    }
    return pipe;
}

int datagram_progress(struct transport *transport)
{
    struct datagram_core *core = container_of(transport, struct datagram_core, transport);
    core->polled_lately = true;
    if (!core->polled) {
        core_watch(core, false);
        core->idle_at = clock_now() + IDLE_NSEC;
        core_wake(core, core->idle_at);
    }
    return core->carrier->receive(core);
}

int datagram_arm(struct transport *transport)
{
    struct datagram_core *core = container_of(transport, struct datagram_core, transport);
    if (core->polled)
        core_watch(core, true);
    return core->carrier->receive(core);
}

/* ---- the core and its links ---- */

int datagram_core_open(struct datagram_core *core, const struct transport_ops *ops,
                       const struct datagram_carrier *carrier,
                       const struct transport_config *config)
{
    core->transport.ops = ops;
    core->carrier = carrier;
    core->poller = config->poller;
    core->timer = (struct poller_timer){.fired = core_fired, .owner = core};
    core->transport.bells = config->bells;
    list_init(&core->all);
    return poller_set(core->poller, &core->timer, NSEC_FAR);
}

void datagram_core_close(struct datagram_core *core)
{
    assert(list_is_empty(&core->all));
    poller_unset(core->poller, &core->timer);
    id_map_fini(&core->pipes);
}

void datagram_link_lost(struct transport_link *base)
{
    struct datagram_link *link = container_of(base, struct datagram_link, link);
    link->lost = true;
    list_each(&link->core->all, node)
    {
        struct datagram_pipe *pipe = container_of(node, struct datagram_pipe, node);
        if (pipe->link == link)
            pipe->due = NSEC_NEVER;
    }
}

/* These transports send no control messages, so any that arrives is invalid. */
int datagram_link_control(struct transport_link *link, struct control *control)
{
    return -EPROTO;
}
