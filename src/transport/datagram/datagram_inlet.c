/* datagram_inlet: the receiver's end of a pipe.
 *
 * Frames wait in a fixed pool of `window` slots. The sender may send `window` frames beyond those
 * released, so there is always a free slot for a frame that has credit. The numbers of the frames
 * not yet pulled span at most a window, so `order`, indexed by number % window, finds them. Frames
 * are released in any order; only how many were released matters.
 *
 * Invariants: pulled <= expected < released + window + 1; all frames below `expected` have arrived;
 * free_count == window - number of frames that arrived and were not released.
 *
 * Acknowledgements are numbered and kept until the sender confirms them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "transport/datagram/datagram.h"

enum {
    ACKS_ON_WAY_MAX = 512, /* unconfirmed acknowledgements in flight; the sender holds 1024 */
    ACKS_START = 64,       /* a power of two; it doubles */
    REPORTS_MAX = 8,       /* datagrams sent at once */
    NO_SLOT = 0xffff,
};

enum slot_state { SLOT_FREE, SLOT_ARRIVED, SLOT_PULLED };

struct inlet_slot {
    struct frame_head head;
    uint32_t size;
    enum slot_state state;
    struct datagram_body body;
};
static_assert(DATAGRAM_WINDOW_MAX < NO_SLOT, "a slot's index has 16 bits");

struct datagram_inlet {
    struct inlet inlet;
    struct datagram_pipe pipe;
    uint32_t window;
    uint32_t free_count;
    uint16_t free_slots[DATAGRAM_WINDOW_MAX];
    uint16_t order[DATAGRAM_WINDOW_MAX]; /* slots of frames not yet pulled, by number % window */
    uint64_t expected;                   /* the first frame that has not arrived */
    uint64_t pulled;                     /* the first frame that was not pulled */
    uint64_t released;                   /* how many were released */
    uint64_t told_expected;
    uint64_t told_released;
    nsec told_at;
    nsec tell_at;       /* NSEC_NEVER: there is no news */
    struct resend made; /* acknowledgements */
    size_t ack_capacity;
    struct acknowledgement *acks; /* a ring, indexed by number */
    struct inlet_slot slots[];
};

static struct datagram_inlet *inlet_of(struct inlet *inlet)
{
    return container_of(inlet, struct datagram_inlet, inlet);
}

static void inlet_wake(struct datagram_inlet *inlet)
{
    datagram_pipe_wake(&inlet->pipe,
                       inlet->tell_at < inlet->made.at ? inlet->tell_at : inlet->made.at);
}

/* ---- reporting to the sender ---- */

static uint64_t frames_selected(const struct datagram_inlet *inlet)
{
    uint64_t bits = 0;
    for (unsigned i = 0; i < DATAGRAM_SELECTED; i++) {
        uint64_t sequence = inlet->expected + 1 + i;
        if (sequence >= inlet->pulled + inlet->window)
            break;
        if (inlet->order[sequence % inlet->window] != NO_SLOT)
            bits |= 1ULL << i;
    }
    return bits;
}

static void inlet_tell(struct datagram_inlet *inlet, nsec now)
{
    struct pipe_datagram datagram = {.kind = DATAGRAM_RETURN, .pipe = inlet->pipe.peer};
    struct datagram_return *back = &datagram.back;
    uint64_t end = inlet->made.base + ACKS_ON_WAY_MAX;
    end = inlet->made.next < end ? inlet->made.next : end;
    back->received = inlet->expected;
    back->selected = frames_selected(inlet);
    back->released = inlet->released;
    for (int i = 0; i < REPORTS_MAX && (i == 0 || inlet->made.sent < end); i++) {
        back->first = inlet->made.sent;
        for (back->count = 0; back->count < DATAGRAM_ACKS_MAX && inlet->made.sent < end;
             back->count++)
            back->acks[back->count] = inlet->acks[inlet->made.sent++ & (inlet->ack_capacity - 1)];
        datagram_send(&inlet->pipe, &datagram);
    }
    inlet->told_expected = inlet->expected;
    inlet->told_released = inlet->released;
    inlet->told_at = now;
    inlet->tell_at = NSEC_NEVER;
    if (inlet->made.base < inlet->made.next && inlet->made.at == NSEC_NEVER) {
        resend_started(&inlet->made, now);
        inlet_wake(inlet);
    }
}

/* Reports soon, together with other news; if urgent, at once, but not too often. */
static void inlet_tell_soon(struct datagram_inlet *inlet, bool urgent)
{
    nsec now = clock_now();
    if (urgent && now - inlet->told_at >= DATAGRAM_DELAY_NSEC / 4) {
        inlet_tell(inlet, now);
        return;
    }
    if (inlet->tell_at == NSEC_NEVER)
        inlet->tell_at = now + DATAGRAM_DELAY_NSEC;
    inlet_wake(inlet);
}

/* Reports news, at once when it amounts to a quarter of the window. */
static void inlet_news(struct datagram_inlet *inlet)
{
    uint64_t quarter = (inlet->window + 3) / 4;
    if (inlet->expected - inlet->told_expected >= quarter ||
        inlet->released - inlet->told_released >= quarter)
        inlet_tell(inlet, clock_now());
    else
        inlet_tell_soon(inlet, false);
}

static void inlet_late(struct datagram_pipe *pipe, nsec now)
{
    struct datagram_inlet *inlet = container_of(pipe, struct datagram_inlet, pipe);
    if (resend_is_due(&inlet->made, now)) {
        inlet->made.sent = inlet->made.base; /* send all again */
        inlet_tell(inlet, now);
    } else if (now >= inlet->tell_at) {
        inlet_tell(inlet, now);
    }
    inlet_wake(inlet);
}

/* ---- receiving ---- */

static void acks_confirmed(struct datagram_inlet *inlet, uint64_t confirmed)
{
    if (confirmed > inlet->made.next) {
        inlet->pipe.link->core->counts.garbage++;
        return;
    }
    if (confirmed == inlet->made.base)
        return; /* the usual case: do not read the clock */
    bool held = inlet->made.next > inlet->made.base + ACKS_ON_WAY_MAX;
    nsec now = clock_now();
    if (resend_confirm(&inlet->made, confirmed, now) && held)
        inlet_tell(inlet, now);
}

static void frame_heard(struct datagram_inlet *inlet, const struct datagram_frame *frame)
{
    struct datagram_counts *counts = &inlet->pipe.link->core->counts;
    uint64_t sequence = frame->sequence;
    if (sequence >= inlet->released + inlet->window) {
        counts->garbage++; /* beyond the sender's credit */
        return;
    }
    if (sequence < inlet->expected || inlet->order[sequence % inlet->window] != NO_SLOT) {
        counts->doubles++;
        inlet_tell_soon(inlet, true); /* our report was lost, or is late */
        return;
    }
    assert(inlet->free_count > 0);
    uint16_t index = inlet->free_slots[inlet->free_count - 1];
    struct inlet_slot *slot = &inlet->slots[index];
    uint8_t *body = datagram_body_room(&slot->body, frame->size);
    if (!body)
        return; /* as if it was lost: the sender sends it again */
    inlet->free_count--;
    slot->head = frame->head;
    slot->size = frame->size;
    slot->state = SLOT_ARRIVED;
    if (frame->size)
        memcpy(body, frame->body, frame->size);
    inlet->order[sequence % inlet->window] = index;
    if (sequence != inlet->expected) {
        inlet_tell_soon(inlet, true); /* frames are missing */
        return;
    }
    while (inlet->expected < inlet->pulled + inlet->window &&
           inlet->order[inlet->expected % inlet->window] != NO_SLOT)
        inlet->expected++;
    inlet_news(inlet);
    doorbell_ring(inlet->pipe.bell);
}

static void inlet_heard(struct datagram_pipe *pipe, const struct pipe_datagram *datagram)
{
    struct datagram_inlet *inlet = container_of(pipe, struct datagram_inlet, pipe);
    switch (datagram->kind) {
    case DATAGRAM_FRAME:
        acks_confirmed(inlet, datagram->frame.confirmed);
        frame_heard(inlet, &datagram->frame);
        break;
    case DATAGRAM_ASK:
        acks_confirmed(inlet, datagram->ask.confirmed);
        if (datagram->ask.answer)
            inlet_tell_soon(inlet, true);
        break;
    case DATAGRAM_RETURN:
        pipe->link->core->counts.garbage++;
        break;
    }
}

/* ---- public calls ---- */

int datagram_inlet_open(struct transport_link *base, struct doorbell *bell, struct parcel *offer,
                        struct parcel *answer, struct inlet **out)
{
    struct datagram_link *link = container_of(base, struct datagram_link, link);
    struct datagram_end peer;
    int result = datagram_end_read(&peer, offer);
    if (result)
        return result;
    uint32_t window = link->core->window;
    struct datagram_inlet *inlet = array_new(1, sizeof *inlet + window * sizeof(struct inlet_slot));
    if (!inlet)
        return -ENOMEM;
    inlet->inlet.ops = base->ops->pipes;
    inlet->window = window;
    inlet->tell_at = NSEC_NEVER;
    resend_init(&inlet->made, DATAGRAM_AGAIN_NSEC, DATAGRAM_AGAIN_NSEC_MAX);
    inlet->pipe.peer = peer.pipe;
    inlet->pipe.heard = inlet_heard;
    inlet->pipe.late = inlet_late;
    memset(inlet->order, 0xff, sizeof inlet->order);
    for (uint32_t i = 0; i < window; i++)
        inlet->free_slots[inlet->free_count++] = (uint16_t)(window - 1 - i);
    result = datagram_pipe_open(&inlet->pipe, link, bell);
    if (result) {
        free(inlet);
        return result;
    }
    datagram_end_write(&(struct datagram_end){inlet->pipe.id, (uint16_t)window}, answer);
    *out = &inlet->inlet;
    return 0;
}

int datagram_inlet_open_numbered(struct transport_link *link, struct doorbell *bell,
                                 const struct datagram_numbers *numbers, struct inlet **out)
{
    struct parcel offer = {0}, answer = {0};
    struct datagram_link *of = container_of(link, struct datagram_link, link);
    datagram_end_write(&(struct datagram_end){numbers->peer, (uint16_t)of->core->window}, &offer);
    int result = datagram_inlet_open(link, bell, &offer, &answer, out);
    if (result)
        return result;
    result = datagram_pipe_renumber(&inlet_of(*out)->pipe, numbers->own);
    if (result)
        datagram_inlet_close(*out);
    return result;
}

void datagram_inlet_close(struct inlet *base)
{
    struct datagram_inlet *inlet = inlet_of(base);
    datagram_pipe_close(&inlet->pipe);
    for (uint32_t i = 0; i < inlet->window; i++)
        datagram_body_free(&inlet->slots[i].body);
    free(inlet->acks);
    free(inlet);
}

bool datagram_waits(struct inlet *base)
{
    const struct datagram_inlet *inlet = inlet_of(base);
    return inlet->pulled < inlet->expected;
}

int datagram_pull(struct inlet *base, struct frame *out, unsigned max)
{
    struct datagram_inlet *inlet = inlet_of(base);
    unsigned count = 0;
    for (; count < max && inlet->pulled < inlet->expected; count++, inlet->pulled++) {
        uint16_t *slot_index = &inlet->order[inlet->pulled % inlet->window];
        struct inlet_slot *slot = &inlet->slots[*slot_index];
        assert(slot->state == SLOT_ARRIVED);
        slot->state = SLOT_PULLED;
        out[count] = (struct frame){.head = slot->head,
                                    .size = slot->size,
                                    .cookie = *slot_index,
                                    .body = datagram_body_data(&slot->body)};
        *slot_index = NO_SLOT;
    }
    return count || !max || !inlet->pipe.link->lost ? (int)count : -EPIPE;
}

void datagram_release(struct inlet *base, const struct frame *frame)
{
    struct datagram_inlet *inlet = inlet_of(base);
    assert(frame->cookie < inlet->window);
    assert(inlet->slots[frame->cookie].state == SLOT_PULLED);
    inlet->slots[frame->cookie].state = SLOT_FREE;
    datagram_body_free(&inlet->slots[frame->cookie].body);
    inlet->free_slots[inlet->free_count++] = (uint16_t)frame->cookie;
    inlet->released++;
    if (!inlet->pipe.link->lost)
        inlet_news(inlet);
}

/* Makes room for one more acknowledgement. A ring that grows is laid out again. */
static bool acks_reserve(struct datagram_inlet *inlet)
{
    size_t count = (size_t)(inlet->made.next - inlet->made.base);
    if (count < inlet->ack_capacity)
        return true;
    size_t capacity = inlet->ack_capacity ? 2 * inlet->ack_capacity : ACKS_START;
    struct acknowledgement *acks = array_new(capacity, sizeof *acks);
    if (!acks)
        return false;
    for (uint64_t i = inlet->made.base; i < inlet->made.next; i++)
        acks[i & (capacity - 1)] = inlet->acks[i & (inlet->ack_capacity - 1)];
    free(inlet->acks);
    inlet->acks = acks;
    inlet->ack_capacity = capacity;
    return true;
}

int datagram_acknowledge(struct inlet *base, uint64_t token, int64_t status)
{
    struct datagram_inlet *inlet = inlet_of(base);
    if (inlet->pipe.link->lost)
        return -EPIPE;
    if (!acks_reserve(inlet))
        return -ENOMEM;
    inlet->acks[inlet->made.next++ & (inlet->ack_capacity - 1)] =
        (struct acknowledgement){.token = token, .status = status};
    if (inlet->made.next - inlet->made.base <= ACKS_ON_WAY_MAX)
        inlet_tell(inlet, clock_now());
    return 0;
}

size_t datagram_inlet_owes(struct inlet *base)
{
    const struct datagram_inlet *inlet = inlet_of(base);
    return (size_t)(inlet->made.next - inlet->made.base);
}
