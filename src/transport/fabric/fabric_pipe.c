/* fabric_pipe: frames in one direction, credit and acknowledgements in the other.
 *
 * What a peer sends is checked against what it may send: frames within the window, credit within
 * the window, no more acknowledgements than frames, everything in sequence. A peer that violates
 * one of these is cut off. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/check.h"
#include "transport/fabric/fabric_impl.h"

enum { ACKS_FIRST = 64 }; /* initial room of an outlet's ring */

static int pipe_open(struct fabric_pipe *pipe, struct fabric_link *link, struct doorbell *bell,
                     bool is_inlet)
{
    struct fabric *fabric = link->fabric;
    pipe->link = link;
    pipe->bell = bell;
    pipe->is_inlet = is_inlet;
    list_init(&pipe->ring_node);
    do
        pipe->id = entropy_u64();
    while (id_map_get(&fabric->pipes, pipe->id));
    if (!id_map_put(&fabric->pipes, pipe->id, pipe))
        return -ENOMEM;
    link->pipe_count++;
    return 0;
}

static void pipe_close(struct fabric_pipe *pipe)
{
    list_remove(&pipe->ring_node);
    id_map_take(&pipe->link->fabric->pipes, pipe->id);
    pipe->link->pipe_count--;
}

/* The pipe has something for its service: its bell is rung at the end of the step. */
static void pipe_ring(struct fabric_pipe *pipe)
{
    list_remove(&pipe->ring_node);
    list_append(&pipe->link->fabric->ringing, &pipe->ring_node);
}

/* ---- outlets ---- */

static int fabric_outlet_open(struct transport_link *base, struct doorbell *bell,
                              struct parcel *offer, struct outlet **out)
{
    struct fabric_link *link = container_of(base, struct fabric_link, link);
    if (link->broken)
        return -EPIPE;
    int result = fabric_link_prove(link);
    if (result)
        return result;
    struct fabric_outlet *outlet = array_new(1, sizeof *outlet);
    if (!outlet)
        return -ENOMEM;
    outlet->outlet.ops = &fabric_pipe_ops;
    outlet->window = outlet->credit = FABRIC_WINDOW_MIN;
    list_init(&outlet->unanswered);
    result = fabric_receives_grow(link->fabric, FABRIC_RECEIVES_EXTRA);
    if (result)
        goto failed;
    result = pipe_open(&outlet->pipe, link, bell, false);
    if (result)
        goto shrink;
    struct writer writer = writer_make(offer->bytes, sizeof offer->bytes);
    write_u64(&writer, outlet->pipe.id);
    offer->size = (uint16_t)(sizeof offer->bytes - writer.left);
    offer->fd_count = 0;
    *out = &outlet->outlet;
    return 0;

shrink:
    fabric_receives_shrink(link->fabric, FABRIC_RECEIVES_EXTRA);
failed:
    free(outlet);
    return result;
}

static void frame_set_pipe(struct fabric_buffer *buffer, uint64_t pipe)
{
    struct writer writer = writer_make(buffer->bytes, FABRIC_HEADER_SIZE);
    write_u64(&writer, pipe); /* the header's first field */
}

static int fabric_outlet_answer(struct outlet *base, struct parcel *answer)
{
    struct fabric_outlet *outlet = container_of(base, struct fabric_outlet, outlet);
    struct reader in = reader_make(answer->bytes, answer->size);
    uint64_t peer_id = read_u64(&in);
    uint32_t window = read_u32(&in);
    if (in.failed || in.left || outlet->answered || window < FABRIC_WINDOW_MIN ||
        window > FABRIC_WINDOW_MAX)
        return -EPROTO;
    outlet->answered = true;
    outlet->pipe.peer_id = peer_id;
    outlet->credit += window - outlet->window;
    outlet->window = window;
    struct list *node;
    if (!list_is_empty(&outlet->unanswered) && !outlet->pipe.link->unsure)
        fabric_link_unsure(outlet->pipe.link);
    while ((node = list_take(&outlet->unanswered))) {
        struct fabric_buffer *buffer = container_of(node, struct fabric_buffer, node);
        frame_set_pipe(buffer, peer_id);
        fabric_link_send(outlet->pipe.link, buffer);
    }
    if (outlet->starved && outlet->credit) {
        outlet->starved = false;
        doorbell_ring(outlet->pipe.bell);
    }
    return 0;
}

static void fabric_outlet_close(struct outlet *base)
{
    struct fabric_outlet *outlet = container_of(base, struct fabric_outlet, outlet);
    struct fabric *fabric = outlet->pipe.link->fabric;
    struct list *node;
    while ((node = list_take(&outlet->unanswered)))
        fabric_buffer_give(fabric, container_of(node, struct fabric_buffer, node));
    pipe_close(&outlet->pipe);
    fabric_receives_shrink(fabric, FABRIC_RECEIVES_EXTRA);
    free(outlet->acks);
    free(outlet);
}

/* Writes the message; the sizes were checked. */
static void frame_write(struct fabric_buffer *buffer, const struct fabric_message *message,
                        const struct frame_head *head, const struct iovec *pieces,
                        unsigned piece_count)
{
    fabric_message_write(message, buffer->bytes);
    fabric_head_write(head, buffer->bytes + FABRIC_HEADER_SIZE);
    uint8_t *at = buffer->bytes + FABRIC_FRAME_SIZE;
    for (unsigned i = 0; i < piece_count; i++) {
        if (pieces[i].iov_len)
            memcpy(at, pieces[i].iov_base, pieces[i].iov_len);
        at += pieces[i].iov_len;
    }
    buffer->size = (uint32_t)(at - buffer->bytes);
}

static int fabric_push(struct outlet *base, const struct frame_head *head,
                       const struct iovec *pieces, unsigned piece_count)
{
    struct fabric_outlet *outlet = container_of(base, struct fabric_outlet, outlet);
    struct fabric_link *link = outlet->pipe.link;
    size_t size = 0;
    for (unsigned i = 0; i < piece_count; i++) {
        if (pieces[i].iov_len > FRAME_BODY_MAX - size)
            return -EMSGSIZE;
        size += pieces[i].iov_len;
    }
    if (link->broken)
        return -EPIPE;
    if (!outlet->credit) {
        outlet->starved = true;
        return -EAGAIN;
    }
    struct fabric_buffer *buffer = fabric_buffer_take(link->fabric);
    if (!buffer)
        return -ENOMEM;
    struct fabric_message message = {
        .pipe = outlet->pipe.peer_id,
        .sequence = outlet->pipe.send_sequence++,
        .kind = FABRIC_FRAME,
        .size = (uint32_t)size,
    };
    frame_write(buffer, &message, head, pieces, piece_count);
    outlet->credit--;
    outlet->pushed_count++;
    if (outlet->answered) {
        if (!link->unsure)
            fabric_link_unsure(link);
        fabric_link_send(link, buffer);
    } else {
        buffer->state = BUFFER_UNSENT;
        list_append(&outlet->unanswered, &buffer->node);
    }
    return 0;
}

static unsigned fabric_room(struct outlet *base, size_t size)
{
    struct fabric_outlet *outlet = container_of(base, struct fabric_outlet, outlet);
    if (!outlet->credit)
        outlet->starved = true;
    return size <= FRAME_BODY_MAX ? outlet->credit : 0;
}

static int fabric_collect(struct outlet *base, struct acknowledgement *out, unsigned max)
{
    struct fabric_outlet *outlet = container_of(base, struct fabric_outlet, outlet);
    unsigned count = 0;
    while (count < max && outlet->ack_count) {
        out[count++] = outlet->acks[outlet->ack_first];
        outlet->ack_first = (outlet->ack_first + 1) & outlet->ack_mask;
        outlet->ack_count--;
    }
    return (int)count;
}

static void fabric_outlet_count(struct outlet *base, struct outlet_counts *counts)
{
    const struct fabric_outlet *outlet = container_of(base, struct fabric_outlet, outlet);
    uint32_t unreleased = outlet->window - outlet->credit;
    *counts = (struct outlet_counts){outlet->pushed_count, outlet->pushed_count - unreleased};
}

static size_t fabric_outlet_owes(struct outlet *base)
{
    const struct fabric_outlet *outlet = container_of(base, struct fabric_outlet, outlet);
    size_t owed = fabric_link_owes(outlet->pipe.link);
    list_each(&outlet->unanswered, node) owed++;
    return outlet->pipe.link->broken ? 0 : owed;
}

static bool acks_grow(struct fabric_outlet *outlet)
{
    assert(outlet->acks || !outlet->ack_count);
    size_t capacity = outlet->acks ? 2 * (outlet->ack_mask + 1) : ACKS_FIRST;
    struct acknowledgement *acks = array_new(capacity, sizeof *acks);
    if (!acks)
        return false;
    for (size_t i = 0; i < outlet->ack_count; i++)
        acks[i] = outlet->acks[(outlet->ack_first + i) & outlet->ack_mask];
    free(outlet->acks);
    outlet->acks = acks;
    outlet->ack_first = 0;
    outlet->ack_mask = capacity - 1;
    return true;
}

static bool ack_keep(struct fabric_outlet *outlet, const uint8_t *bytes)
{
    if ((!outlet->acks || outlet->ack_count > outlet->ack_mask) && !acks_grow(outlet))
        return false;
    fabric_ack_read(&outlet->acks[(outlet->ack_first + outlet->ack_count) & outlet->ack_mask],
                    bytes);
    outlet->ack_count++;
    return true;
}

/* Negative: the caller cuts the link. */
static int return_received(struct fabric_outlet *outlet, const struct fabric_message *message,
                           const uint8_t *acks)
{
    if (!outlet->answered || message->credit > outlet->window - outlet->credit ||
        message->count > outlet->pushed_count - outlet->acknowledged_count)
        return -EPROTO;
    outlet->acknowledged_count += message->count;
    outlet->credit += message->credit;
    for (unsigned i = 0; i < message->count; i++)
        if (!ack_keep(outlet, acks + (size_t)i * FABRIC_ACK_SIZE))
            return -ENOMEM;
    if (message->count || (outlet->starved && outlet->credit)) {
        outlet->starved = false;
        pipe_ring(&outlet->pipe);
    }
    return 0;
}

/* ---- inlets ---- */

static int fabric_inlet_open(struct transport_link *base, struct doorbell *bell,
                             struct parcel *offer, struct parcel *answer, struct inlet **out)
{
    struct fabric_link *link = container_of(base, struct fabric_link, link);
    struct fabric *fabric = link->fabric;
    struct reader in = reader_make(offer->bytes, offer->size);
    uint64_t peer_id = read_u64(&in);
    if (in.failed || in.left)
        return -EPROTO;
    if (link->broken)
        return -EPIPE;
    struct fabric_inlet *inlet = array_new(1, sizeof *inlet);
    if (!inlet)
        return -ENOMEM;
    inlet->inlet.ops = &fabric_pipe_ops;
    inlet->window = fabric->window;
    list_init(&inlet->queue);
    int result = fabric_receives_grow(fabric, inlet->window);
    if (result)
        goto failed;
    result = pipe_open(&inlet->pipe, link, bell, true);
    if (result)
        goto shrink;
    inlet->pipe.peer_id = peer_id;
    struct writer writer = writer_make(answer->bytes, sizeof answer->bytes);
    write_u64(&writer, inlet->pipe.id);
    write_u32(&writer, inlet->window);
    answer->size = (uint16_t)(sizeof answer->bytes - writer.left);
    answer->fd_count = 0;
    *out = &inlet->inlet;
    return 0;

shrink:
    fabric_receives_shrink(fabric, inlet->window);
failed:
    free(inlet);
    return result;
}

/* Also takes back frames that were pulled and not released. */
static void fabric_inlet_close(struct inlet *base)
{
    struct fabric_inlet *inlet = container_of(base, struct fabric_inlet, inlet);
    struct fabric *fabric = inlet->pipe.link->fabric;
    pipe_close(&inlet->pipe);
    fabric_receives_shrink(fabric, inlet->window);
    if (inlet->open_return)
        inlet->open_return->inlet = NULL;
    struct list *node;
    while ((node = list_take(&inlet->queue)))
        fabric_receive_again(fabric, container_of(node, struct fabric_buffer, node));
    uint32_t buffer_count = (uint32_t)fabric->slab_count * FABRIC_SLAB_BUFFERS;
    for (uint32_t i = 0; i < buffer_count; i++) {
        struct fabric_buffer *buffer = fabric_buffer_at(fabric, i);
        if (buffer->state == BUFFER_HELD && buffer->inlet == inlet)
            fabric_receive_again(fabric, buffer);
    }
    free(inlet);
}

static int fabric_pull(struct inlet *base, struct frame *out, unsigned max)
{
    struct fabric_inlet *inlet = container_of(base, struct fabric_inlet, inlet);
    unsigned count = 0;
    struct list *node;
    while (count < max && (node = list_take(&inlet->queue))) {
        struct fabric_buffer *buffer = container_of(node, struct fabric_buffer, node);
        struct frame *frame = &out[count++];
        fabric_head_read(&frame->head, buffer->bytes + FABRIC_HEADER_SIZE);
        frame->size = buffer->size - FABRIC_FRAME_SIZE;
        frame->cookie = buffer->index;
        frame->body = buffer->bytes + FABRIC_FRAME_SIZE;
        buffer->state = BUFFER_HELD;
    }
    return (int)count;
}

/* Begins a return with all credit that is due; it is not sent yet. */
static void return_begin(struct fabric_inlet *inlet, struct fabric_buffer *buffer)
{
    struct fabric_message message = {
        .pipe = inlet->pipe.peer_id,
        .sequence = inlet->pipe.send_sequence++,
        .kind = FABRIC_RETURN,
        .credit = inlet->owed,
    };
    fabric_message_write(&message, buffer->bytes);
    buffer->size = FABRIC_HEADER_SIZE;
    buffer->inlet = inlet;
    inlet->taken -= inlet->owed;
    inlet->owed = 0;
}

/* Adds to a return the credit released since, and an acknowledgement if there is one. */
static void return_add(struct fabric_inlet *inlet, struct fabric_buffer *buffer,
                       const struct acknowledgement *ack)
{
    struct fabric_message message;
    bool good = fabric_message_read(&message, buffer->bytes, buffer->size);
    assert(good && buffer->inlet == inlet);
    message.credit += inlet->owed;
    inlet->taken -= inlet->owed;
    inlet->owed = 0;
    if (ack) {
        fabric_ack_write(ack, buffer->bytes + buffer->size);
        buffer->size += FABRIC_ACK_SIZE;
        message.count++;
    }
    fabric_message_write(&message, buffer->bytes);
}

static void return_send(struct fabric_inlet *inlet, struct fabric_buffer *buffer)
{
    fabric_link_send(inlet->pipe.link, buffer);
    inlet->open_return = buffer->state == BUFFER_UNSENT ? buffer : NULL;
}

static void fabric_release(struct inlet *base, const struct frame *frame)
{
    struct fabric_inlet *inlet = container_of(base, struct fabric_inlet, inlet);
    struct fabric *fabric = inlet->pipe.link->fabric;
    struct fabric_buffer *buffer = fabric_buffer_at(fabric, frame->cookie);
    assert(buffer->state == BUFFER_HELD && buffer->inlet == inlet);
    fabric_receive_again(fabric, buffer); /* before its credit is returned */
    inlet->owed++;
    if (inlet->owed < inlet->window / 4 || inlet->pipe.link->broken)
        return;
    if (inlet->open_return) {
        return_add(inlet, inlet->open_return, NULL);
        return;
    }
    struct fabric_buffer *message = fabric_buffer_take(fabric);
    if (!message)
        return; /* the next release tries again */
    return_begin(inlet, message);
    return_send(inlet, message);
}

static int fabric_acknowledge(struct inlet *base, uint64_t token, int64_t status)
{
    struct fabric_inlet *inlet = container_of(base, struct fabric_inlet, inlet);
    struct acknowledgement ack = {token, status};
    if (inlet->pipe.link->broken)
        return -EPIPE;
    struct fabric_buffer *open = inlet->open_return;
    if (open && open->size < FABRIC_HEADER_SIZE + FABRIC_ACKS_MAX * FABRIC_ACK_SIZE) {
        return_add(inlet, open, &ack);
        return 0;
    }
    struct fabric_buffer *message = fabric_buffer_take(inlet->pipe.link->fabric);
    if (!message)
        return -ENOMEM;
    if (open)
        open->inlet = NULL; /* it is full */
    return_begin(inlet, message);
    return_add(inlet, message, &ack);
    return_send(inlet, message);
    return 0;
}

static size_t fabric_inlet_owes(struct inlet *base)
{
    return fabric_link_owes(container_of(base, struct fabric_inlet, inlet)->pipe.link);
}

/* ---- receiving ---- */

/* Negative: the caller cuts the link. If the buffer's state has changed, the pipe keeps the
 * buffer. */
static int message_take(struct fabric_pipe *pipe, const struct fabric_message *message,
                        struct fabric_buffer *buffer)
{
    if (message->sequence != pipe->receive_sequence)
        return -EPROTO;
    pipe->receive_sequence++;
    if (!pipe->is_inlet)
        return return_received(container_of(pipe, struct fabric_outlet, pipe), message,
                               buffer->bytes + FABRIC_HEADER_SIZE);
    struct fabric_inlet *inlet = container_of(pipe, struct fabric_inlet, pipe);
    if (inlet->taken >= inlet->window)
        return -EPROTO;
    inlet->taken++;
    buffer->state = BUFFER_QUEUED;
    buffer->inlet = inlet;
    list_append(&inlet->queue, &buffer->node);
    pipe_ring(pipe);
    return 0;
}

void fabric_received(struct fabric *fabric, struct fabric_buffer *buffer, size_t size)
{
    struct fabric_message message;
    struct fabric_pipe *pipe = NULL;
    if (size > FABRIC_BUFFER_SIZE || !fabric_message_read(&message, buffer->bytes, size))
        fabric->garbage_count++;
    else if (message.kind == FABRIC_PROBE)
        fabric_probe_received(fabric, message.pipe);
    else if (!(pipe = id_map_get(&fabric->pipes, message.pipe)))
        fabric->stray_count++;
    else if (pipe->is_inlet != (message.kind == FABRIC_FRAME))
        fabric->garbage_count++;
    else if (!pipe->link->broken) {
        buffer->size = (uint32_t)size;
        if (pipe->link->unsure || pipe->link->proof != FABRIC_PROVEN)
            fabric_link_sure(pipe->link);
        int result = message_take(pipe, &message, buffer);
        if (result < 0)
            fabric_link_break(pipe->link, result);
    }
    if (buffer->state == BUFFER_POSTED)
        fabric_receive_again(fabric, buffer);
}

const struct pipe_ops fabric_pipe_ops = {
    .outlet_open = fabric_outlet_open,
    .outlet_answer = fabric_outlet_answer,
    .outlet_close = fabric_outlet_close,
    .inlet_open = fabric_inlet_open,
    .inlet_close = fabric_inlet_close,
    .push = fabric_push,
    .room = fabric_room,
    .collect = fabric_collect,
    .outlet_count = fabric_outlet_count,
    .pull = fabric_pull,
    .release = fabric_release,
    .acknowledge = fabric_acknowledge,
    .outlet_owes = fabric_outlet_owes,
    .inlet_owes = fabric_inlet_owes,
};
