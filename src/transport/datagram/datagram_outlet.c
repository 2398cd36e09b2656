/* datagram_outlet: the sender's end of a pipe.
 *
 * A frame (of `frames`, see resend.h) keeps its slot (number % window) from push until the peer has
 * it, so that it can be sent again. It is sent when the peer has answered and there is credit.
 * Invariants: base <= sent <= next <= base + window; once the peer has answered, sent <= limit, the
 * total number of frames for which the peer has had room. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "transport/datagram/datagram.h"

enum { ACKS_MAX = 1024 }; /* uncollected acknowledgements; further ones stay at the peer */

struct outlet_slot {
    struct frame_head head;
    uint32_t size;
    struct datagram_body body;
};

struct datagram_outlet {
    struct outlet outlet;
    struct datagram_pipe pipe;
    uint32_t window;
    uint32_t peer_window; /* 0 until the answer */
    struct resend frames;
    uint64_t released; /* frames that the peer has released in total */
    uint64_t selected; /* bit i: the peer has frame base + 1 + i */
    bool starved;      /* a push was refused: ring the bell when there is room */
    nsec ask_at;       /* when to ask for credit */
    nsec confirm_at;   /* when to confirm acknowledgements */
    nsec gap_at;       /* when missing frames were last sent again */
    uint64_t ack_next; /* the number of the next acknowledgement */
    uint32_t ack_count;
    uint32_t ack_first;
    struct acknowledgement acks[ACKS_MAX]; /* a ring */
    struct outlet_slot slots[];
};

static struct datagram_outlet *outlet_of(struct outlet *outlet)
{
    return container_of(outlet, struct datagram_outlet, outlet);
}

/* Returns how many frames fit into our window and the peer's. */
static unsigned outlet_room(const struct datagram_outlet *outlet)
{
    uint64_t end = outlet->frames.base + outlet->window;
    if (outlet->peer_window && outlet->released + outlet->peer_window < end)
        end = outlet->released + outlet->peer_window;
    return outlet->frames.next < end ? (unsigned)(end - outlet->frames.next) : 0;
}

static void outlet_wake(struct datagram_outlet *outlet)
{
    nsec at = outlet->frames.at < outlet->ask_at ? outlet->frames.at : outlet->ask_at;
    datagram_pipe_wake(&outlet->pipe, at < outlet->confirm_at ? at : outlet->confirm_at);
}

/* ---- sending ---- */

static void frame_add(struct datagram_outlet *outlet, struct datagram_batch *batch,
                      uint64_t sequence)
{
    const struct outlet_slot *slot = &outlet->slots[sequence % outlet->window];
    struct pipe_datagram datagram = {.kind = DATAGRAM_FRAME,
                                     .pipe = outlet->pipe.peer,
                                     .frame = {.sequence = sequence,
                                               .confirmed = outlet->ack_next,
                                               .head = slot->head,
                                               .size = slot->size}};
    datagram_batch_add(batch, &datagram, datagram_body_data(&slot->body));
}

/* Sends the frames that were not sent yet and have credit. */
static void outlet_transmit(struct datagram_outlet *outlet, nsec now)
{
    uint64_t limit = outlet->released + outlet->peer_window;
    uint64_t end = outlet->frames.next < limit ? outlet->frames.next : limit;
    struct datagram_batch batch;
    if (!outlet->pipe.peer || outlet->frames.sent >= end)
        return;
    datagram_batch_start(&batch, &outlet->pipe);
    while (outlet->frames.sent < end)
        frame_add(outlet, &batch, outlet->frames.sent++);
    datagram_batch_send(&batch);
    outlet->confirm_at = NSEC_NEVER; /* the frames carry the confirmation */
    resend_started(&outlet->frames, now);
    outlet_wake(outlet);
}

/* Sends again the first frames in flight below `end` that the peer is not known to have. */
static void outlet_resend(struct datagram_outlet *outlet, uint64_t end)
{
    struct datagram_batch batch;
    if (end > outlet->frames.base + DATAGRAM_SELECTED)
        end = outlet->frames.base + DATAGRAM_SELECTED;
    datagram_batch_start(&batch, &outlet->pipe);
    for (uint64_t sequence = outlet->frames.base; sequence < end; sequence++) {
        uint64_t bit = sequence - outlet->frames.base;
        if (bit && (outlet->selected >> (bit - 1) & 1))
            continue;
        frame_add(outlet, &batch, sequence);
        outlet->pipe.link->core->counts.resent++;
    }
    datagram_batch_send(&batch);
}

static void outlet_ask(struct datagram_outlet *outlet, bool answer)
{
    struct pipe_datagram datagram = {.kind = DATAGRAM_ASK,
                                     .pipe = outlet->pipe.peer,
                                     .ask = {.confirmed = outlet->ack_next, .answer = answer}};
    datagram_send(&outlet->pipe, &datagram);
    outlet->confirm_at = NSEC_NEVER;
}

static void outlet_late(struct datagram_pipe *pipe, nsec now)
{
    struct datagram_outlet *outlet = container_of(pipe, struct datagram_outlet, pipe);
    if (resend_is_due(&outlet->frames, now)) {
        outlet_resend(outlet, outlet->frames.sent);
        resend_started(&outlet->frames, now);
    }
    if (now >= outlet->ask_at) {
        outlet->frames.tries++;
        outlet_ask(outlet, true);
        outlet->ask_at = resend_again(&outlet->frames, now);
    }
    if (now >= outlet->confirm_at)
        outlet_ask(outlet, false);
    outlet_wake(outlet);
}

/* ---- receiving ---- */

/* Handles the peer's report of the frames that it has. */
static void frames_heard(struct datagram_outlet *outlet, const struct datagram_return *back,
                         nsec now)
{
    if (back->received < outlet->frames.base)
        return; /* a newer report has overtaken this one */
    for (uint64_t sequence = outlet->frames.base; sequence < back->received; sequence++)
        datagram_body_free(&outlet->slots[sequence % outlet->window].body);
    outlet->selected = back->selected;
    (void)resend_confirm(&outlet->frames, back->received, now);
    /* The peer has later frames, so those in between were probably lost. */
    if (back->selected && outlet->frames.base < outlet->frames.sent &&
        now - outlet->gap_at > DATAGRAM_DELAY_NSEC) {
        unsigned last = 64 - (unsigned)__builtin_clzll(back->selected);
        uint64_t end = outlet->frames.base + last;
        outlet->gap_at = now;
        outlet_resend(outlet, end < outlet->frames.sent ? end : outlet->frames.sent);
    }
}

/* Takes the acknowledgements that come next; others were taken before, or will be sent again. */
static bool acks_heard(struct datagram_outlet *outlet, const struct datagram_return *back)
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

static void outlet_heard(struct datagram_pipe *pipe, const struct pipe_datagram *datagram)
{
    struct datagram_outlet *outlet = container_of(pipe, struct datagram_outlet, pipe);
    const struct datagram_return *back = &datagram->back;
    if (datagram->kind != DATAGRAM_RETURN || back->received > outlet->frames.sent ||
        back->released > back->received) {
        pipe->link->core->counts.garbage++;
        return;
    }
    nsec now = clock_now();
    frames_heard(outlet, back, now);
    if (back->released > outlet->released)
        outlet->released = back->released;
    bool taken = acks_heard(outlet, back);
    if (back->count) {
        nsec at = now + DATAGRAM_DELAY_NSEC;
        outlet->confirm_at = outlet->confirm_at < at ? outlet->confirm_at : at;
    }
    bool fed = outlet->starved && outlet_room(outlet);
    if (fed) {
        outlet->starved = false;
        outlet->ask_at = NSEC_NEVER;
        outlet->frames.tries = 0;
    }
    outlet_transmit(outlet, now);
    outlet_wake(outlet);
    if (taken || fed)
        doorbell_ring(pipe->bell);
}

/* ---- public calls ---- */

int datagram_outlet_open(struct transport_link *base, struct doorbell *bell, struct parcel *offer,
                         struct outlet **out)
{
    struct datagram_link *link = container_of(base, struct datagram_link, link);
    uint32_t window = link->core->window;
    struct datagram_outlet *outlet =
        array_new(1, sizeof *outlet + window * sizeof(struct outlet_slot));
    if (!outlet)
        return -ENOMEM;
    outlet->outlet.ops = base->ops->pipes;
    outlet->window = window;
    resend_init(&outlet->frames, DATAGRAM_AGAIN_NSEC, DATAGRAM_AGAIN_NSEC_MAX);
    outlet->ask_at = outlet->confirm_at = NSEC_NEVER;
    outlet->pipe.heard = outlet_heard;
    outlet->pipe.late = outlet_late;
    int result = datagram_pipe_open(&outlet->pipe, link, bell);
    if (result) {
        free(outlet);
        return result;
    }
    datagram_end_write(&(struct datagram_end){outlet->pipe.id, (uint16_t)window}, offer);
    *out = &outlet->outlet;
    return 0;
}

int datagram_outlet_answer(struct outlet *base, struct parcel *answer)
{
    struct datagram_outlet *outlet = outlet_of(base);
    struct datagram_end peer;
    int result = datagram_end_read(&peer, answer);
    if (result || outlet->pipe.peer)
        return -EPROTO;
    if (outlet->pipe.link->lost)
        return -EPIPE;
    outlet->pipe.peer = peer.pipe;
    outlet->peer_window = peer.window;
    outlet_transmit(outlet, clock_now());
    return 0;
}

void datagram_outlet_close(struct outlet *base)
{
    struct datagram_outlet *outlet = outlet_of(base);
    datagram_pipe_close(&outlet->pipe);
    while (outlet->frames.base < outlet->frames.next)
        datagram_body_free(&outlet->slots[outlet->frames.base++ % outlet->window].body);
    free(outlet);
}

int datagram_outlet_open_numbered(struct transport_link *link, struct doorbell *bell,
                                  const struct datagram_numbers *numbers, struct outlet **out)
{
    struct parcel offer = {0};
    int result = datagram_outlet_open(link, bell, &offer, out);
    if (result)
        return result;
    struct datagram_outlet *outlet = outlet_of(*out);
    result = datagram_pipe_renumber(&outlet->pipe, numbers->own);
    if (result) {
        datagram_outlet_close(*out);
        return result;
    }
    outlet->pipe.peer = numbers->peer;
    outlet->peer_window = outlet->window;
    return 0;
}

unsigned datagram_room(struct outlet *base, size_t size)
{
    struct datagram_outlet *outlet = outlet_of(base);
    return size <= FRAME_BODY_MAX && !outlet->pipe.link->lost ? outlet_room(outlet) : 0;
}

int datagram_push(struct outlet *base, const struct frame_head *head, const struct iovec *pieces,
                  unsigned piece_count)
{
    struct datagram_outlet *outlet = outlet_of(base);
    size_t size = 0;
    if (outlet->pipe.link->lost)
        return -EPIPE;
    for (unsigned i = 0; i < piece_count; i++) {
        if (pieces[i].iov_len > FRAME_BODY_MAX - size)
            return -EMSGSIZE;
        size += pieces[i].iov_len;
    }
    nsec now = clock_now();
    if (!outlet_room(outlet)) {
        if (!outlet->starved && outlet->pipe.peer) {
            outlet->ask_at = resend_again(&outlet->frames, now);
            outlet_wake(outlet);
        }
        outlet->starved = true;
        return -EAGAIN;
    }
    struct outlet_slot *slot = &outlet->slots[outlet->frames.next % outlet->window];
    uint8_t *body = datagram_body_room(&slot->body, size);
    if (!body)
        return -ENOMEM;
    slot->head = *head;
    slot->size = (uint32_t)size;
    for (unsigned i = 0; i < piece_count; body += pieces[i++].iov_len) {
        if (pieces[i].iov_len)
            memcpy(body, pieces[i].iov_base, pieces[i].iov_len);
    }
    outlet->frames.next++;
    outlet_transmit(outlet, now);
    return 0;
}

int datagram_collect(struct outlet *base, struct acknowledgement *out, unsigned max)
{
    struct datagram_outlet *outlet = outlet_of(base);
    unsigned count = 0;
    for (; count < max && outlet->ack_count; count++, outlet->ack_count--) {
        out[count] = outlet->acks[outlet->ack_first];
        outlet->ack_first = (outlet->ack_first + 1) % ACKS_MAX;
    }
    return count || !max || !outlet->pipe.link->lost ? (int)count : -EPIPE;
}

void datagram_outlet_count(struct outlet *base, struct outlet_counts *counts)
{
    const struct datagram_outlet *outlet = outlet_of(base);
    *counts = (struct outlet_counts){outlet->frames.next, outlet->released};
}

size_t datagram_outlet_owes(struct outlet *base)
{
    const struct datagram_outlet *outlet = outlet_of(base);
    return (size_t)(outlet->frames.next - outlet->frames.base);
}
