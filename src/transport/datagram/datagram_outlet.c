/* udp_outlet: the sender's end of a pipe.
 *
 *      base        sent        next
 *   ....|-----------|-----------|
 *    had  on the way   waits for the answer or for credit
 *
 * A frame keeps its slot (number % window) from push until the peer has it, to
 * be sent again. Invariants: base <= sent <= next <= base + window; once the
 * peer has answered sent <= limit, the number of frames it has room for, all
 * told. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "transport/datagram/datagram.h"

enum { ACKS_MAX = 1024 }; /* uncollected ones; the rest stays at the peer */

struct outlet_slot {
    struct frame_head head;
    uint32_t size;
    struct udp_body body;
};

struct udp_outlet {
    struct outlet outlet;
    struct udp_pipe pipe;
    uint32_t window;
    uint32_t peer_window; /* 0 until the answer */
    uint64_t base;
    uint64_t sent;
    uint64_t next;
    uint64_t released; /* by the peer, all told */
    uint64_t selected; /* bit i: it has frame base + 1 + i */
    bool starved;      /* a push was refused: ring when there is room */
    nsec resend_at;    /* what is on the way; NSEC_NEVER: nothing is */
    nsec ask_at;       /* for credit */
    nsec confirm_at;   /* acknowledgements that came */
    nsec gap_at;       /* when a gap was last filled */
    uint64_t ack_next; /* the number of the acknowledgement that comes next */
    uint32_t ack_count;
    uint32_t ack_first;
    struct acknowledgement acks[ACKS_MAX]; /* a ring */
    struct outlet_slot slots[];
};

static struct udp_outlet *outlet_of(struct outlet *outlet)
{
    return container_of(outlet, struct udp_outlet, outlet);
}

static bool outlet_has_room(const struct udp_outlet *outlet)
{
    return outlet->next - outlet->base < outlet->window &&
           (!outlet->peer_window || outlet->next < outlet->released + outlet->peer_window);
}

static void outlet_wake(struct udp_outlet *outlet)
{
    nsec at = outlet->resend_at < outlet->ask_at ? outlet->resend_at : outlet->ask_at;
    udp_pipe_wake(&outlet->pipe, at < outlet->confirm_at ? at : outlet->confirm_at);
}

/* ---- sending ---- */

static void frame_add(struct udp_outlet *outlet, struct udp_batch *batch, uint64_t sequence)
{
    const struct outlet_slot *slot = &outlet->slots[sequence % outlet->window];
    struct udp_datagram datagram = {.kind = UDP_FRAME,
                                    .pipe = outlet->pipe.peer,
                                    .frame = {.sequence = sequence,
                                              .confirmed = outlet->ack_next,
                                              .head = slot->head,
                                              .size = slot->size}};
    udp_batch_add(batch, &datagram, udp_body_data(&slot->body));
}

/* What was not sent yet and has credit. */
static void outlet_transmit(struct udp_outlet *outlet, nsec now)
{
    uint64_t limit = outlet->released + outlet->peer_window;
    uint64_t end = outlet->next < limit ? outlet->next : limit;
    struct udp_batch batch;
    if (!outlet->pipe.peer || outlet->sent >= end)
        return;
    udp_batch_start(&batch, &outlet->pipe);
    while (outlet->sent < end)
        frame_add(outlet, &batch, outlet->sent++);
    udp_batch_send(&batch);
    outlet->confirm_at = NSEC_NEVER; /* the frames did it */
    if (outlet->resend_at == NSEC_NEVER)
        outlet->resend_at = udp_pipe_again(&outlet->pipe, now);
    outlet_wake(outlet);
}

/* Frames on the way below `end` that the peer is not known to have; the first of them. */
static void outlet_resend(struct udp_outlet *outlet, uint64_t end)
{
    struct udp_batch batch;
    if (end > outlet->base + UDP_SELECTED)
        end = outlet->base + UDP_SELECTED;
    udp_batch_start(&batch, &outlet->pipe);
    for (uint64_t sequence = outlet->base; sequence < end; sequence++) {
        uint64_t bit = sequence - outlet->base;
        if (bit && (outlet->selected >> (bit - 1) & 1))
            continue;
        frame_add(outlet, &batch, sequence);
        outlet->pipe.link->udp->counts.resent++;
    }
    udp_batch_send(&batch);
}

static void outlet_ask(struct udp_outlet *outlet, bool answer)
{
    struct udp_datagram datagram = {.kind = UDP_ASK,
                                    .pipe = outlet->pipe.peer,
                                    .ask = {.confirmed = outlet->ack_next, .answer = answer}};
    udp_send(&outlet->pipe, &datagram);
    outlet->confirm_at = NSEC_NEVER;
}

static void outlet_late(struct udp_pipe *pipe, nsec now)
{
    struct udp_outlet *outlet = container_of(pipe, struct udp_outlet, pipe);
    if (now >= outlet->resend_at) {
        pipe->tries++;
        outlet_resend(outlet, outlet->sent);
        outlet->resend_at = udp_pipe_again(pipe, now);
    }
    if (now >= outlet->ask_at) {
        pipe->tries++;
        outlet_ask(outlet, true);
        outlet->ask_at = udp_pipe_again(pipe, now);
    }
    if (now >= outlet->confirm_at)
        outlet_ask(outlet, false);
    outlet_wake(outlet);
}

/* ---- hearing ---- */

/* The peer says which frames it has. */
static void frames_heard(struct udp_outlet *outlet, const struct udp_return *back, nsec now)
{
    if (back->received < outlet->base)
        return; /* overtaken by a newer one */
    bool moved = back->received > outlet->base;
    while (outlet->base < back->received)
        udp_body_free(&outlet->slots[outlet->base++ % outlet->window].body);
    outlet->selected = back->selected;
    if (moved) {
        outlet->pipe.tries = 0;
        outlet->resend_at =
            outlet->base == outlet->sent ? NSEC_NEVER : udp_pipe_again(&outlet->pipe, now);
    }
    /* It has later ones: those between were lost, most likely. */
    if (back->selected && outlet->base < outlet->sent && now - outlet->gap_at > UDP_DELAY_NSEC) {
        unsigned last = 64 - (unsigned)__builtin_clzll(back->selected);
        uint64_t end = outlet->base + last;
        outlet->gap_at = now;
        outlet_resend(outlet, end < outlet->sent ? end : outlet->sent);
    }
}

/* Takes those that come next; others were taken before, or come again. */
static bool acks_heard(struct udp_outlet *outlet, const struct udp_return *back)
{
    bool taken = false;
    for (unsigned i = 0; i < back->count; i++) {
        if (back->first + i != outlet->ack_next || outlet->ack_count == ACKS_MAX)
            continue;
        outlet->acks[(outlet->ack_first + outlet->ack_count++) % ACKS_MAX] = back->acks[i];
        outlet->ack_next++;
        taken = true;
    }
    return taken;
}

static void outlet_heard(struct udp_pipe *pipe, const struct udp_datagram *datagram)
{
    struct udp_outlet *outlet = container_of(pipe, struct udp_outlet, pipe);
    const struct udp_return *back = &datagram->back;
    if (datagram->kind != UDP_RETURN || back->received > outlet->sent ||
        back->released > back->received) {
        pipe->link->udp->counts.garbage++;
        return;
    }
    nsec now = clock_now();
    frames_heard(outlet, back, now);
    if (back->released > outlet->released)
        outlet->released = back->released;
    bool taken = acks_heard(outlet, back);
    if (back->count) {
        nsec at = now + UDP_DELAY_NSEC;
        outlet->confirm_at = outlet->confirm_at < at ? outlet->confirm_at : at;
    }
    bool fed = outlet->starved && outlet_has_room(outlet);
    if (fed) {
        outlet->starved = false;
        outlet->ask_at = NSEC_NEVER;
        pipe->tries = 0;
    }
    outlet_transmit(outlet, now);
    outlet_wake(outlet);
    if (taken || fed)
        doorbell_ring(pipe->bell);
}

/* ---- the calls ---- */

int udp_outlet_open(struct link *base, struct doorbell *bell, struct parcel *offer,
                    struct outlet **out)
{
    struct udp_link *link = container_of(base, struct udp_link, link);
    uint32_t window = link->udp->window;
    struct udp_outlet *outlet = array_new(1, sizeof *outlet + window * sizeof(struct outlet_slot));
    if (!outlet)
        return -ENOMEM;
    outlet->outlet.ops = base->ops->pipes;
    outlet->window = window;
    outlet->resend_at = outlet->ask_at = outlet->confirm_at = NSEC_NEVER;
    outlet->pipe.heard = outlet_heard;
    outlet->pipe.late = outlet_late;
    int result = udp_pipe_open(&outlet->pipe, link, bell);
    if (result) {
        free(outlet);
        return result;
    }
    udp_end_write(&(struct udp_end){outlet->pipe.id, (uint16_t)window}, offer);
    *out = &outlet->outlet;
    return 0;
}

int udp_outlet_answer(struct outlet *base, struct parcel *answer)
{
    struct udp_outlet *outlet = outlet_of(base);
    struct udp_end peer;
    int result = udp_end_read(&peer, answer);
    if (result || outlet->pipe.peer)
        return -EPROTO;
    if (outlet->pipe.link->lost)
        return -EPIPE;
    outlet->pipe.peer = peer.pipe;
    outlet->peer_window = peer.window;
    outlet_transmit(outlet, clock_now());
    return 0;
}

void udp_outlet_close(struct outlet *base)
{
    struct udp_outlet *outlet = outlet_of(base);
    udp_pipe_close(&outlet->pipe);
    while (outlet->base < outlet->next)
        udp_body_free(&outlet->slots[outlet->base++ % outlet->window].body);
    free(outlet);
}

int udp_outlet_open_numbered(struct link *link, struct doorbell *bell,
                             const struct udp_numbers *numbers, struct outlet **out)
{
    struct parcel offer = {0};
    int result = udp_outlet_open(link, bell, &offer, out);
    if (result)
        return result;
    struct udp_outlet *outlet = outlet_of(*out);
    result = udp_pipe_renumber(&outlet->pipe, numbers->own);
    if (result) {
        udp_outlet_close(*out);
        return result;
    }
    outlet->pipe.peer = numbers->peer;
    outlet->peer_window = outlet->window;
    return 0;
}

bool udp_room(struct outlet *base, size_t size)
{
    struct udp_outlet *outlet = outlet_of(base);
    return size <= FRAME_BODY_MAX && !outlet->pipe.link->lost && outlet_has_room(outlet);
}

int udp_push(struct outlet *base, const struct frame_head *head, const struct iovec *pieces,
             unsigned piece_count)
{
    struct udp_outlet *outlet = outlet_of(base);
    size_t size = 0;
    if (outlet->pipe.link->lost)
        return -EPIPE;
    for (unsigned i = 0; i < piece_count; i++) {
        if (pieces[i].iov_len > FRAME_BODY_MAX - size)
            return -EMSGSIZE;
        size += pieces[i].iov_len;
    }
    nsec now = clock_now();
    if (!outlet_has_room(outlet)) {
        if (!outlet->starved && outlet->pipe.peer) {
            outlet->ask_at = udp_pipe_again(&outlet->pipe, now);
            outlet_wake(outlet);
        }
        outlet->starved = true;
        return -EAGAIN;
    }
    struct outlet_slot *slot = &outlet->slots[outlet->next % outlet->window];
    uint8_t *body = udp_body_room(&slot->body, size);
    if (!body)
        return -ENOMEM;
    slot->head = *head;
    slot->size = (uint32_t)size;
    for (unsigned i = 0; i < piece_count; body += pieces[i++].iov_len) {
        if (pieces[i].iov_len)
            memcpy(body, pieces[i].iov_base, pieces[i].iov_len);
    }
    outlet->next++;
    outlet_transmit(outlet, now);
    return 0;
}

int udp_collect(struct outlet *base, struct acknowledgement *out, unsigned max)
{
    struct udp_outlet *outlet = outlet_of(base);
    unsigned count = 0;
    for (; count < max && outlet->ack_count; count++, outlet->ack_count--) {
        out[count] = outlet->acks[outlet->ack_first];
        outlet->ack_first = (outlet->ack_first + 1) % ACKS_MAX;
    }
    return count || !max || !outlet->pipe.link->lost ? (int)count : -EPIPE;
}

size_t udp_outlet_owes(struct outlet *base)
{
    const struct udp_outlet *outlet = outlet_of(base);
    return (size_t)(outlet->next - outlet->base);
}
