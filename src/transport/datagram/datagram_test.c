/* datagram: tests one end of a pipe; the test plays the carrier and the other end. It checks each
 * datagram that the end sends; udp_test.c has both ends and a bad network. The test supplies the
 * moments for which the end waits (late), so that it need not wait. */
#include "transport/datagram/datagram.h"

#include <errno.h>
#include <malloc.h>
#include <string.h>

#include "base/test.h"
#include "transport/wake/doorbell.h"

enum { WINDOW = 8, SENT_MAX = 64, PEER = 4711 };

struct sent {
    struct pipe_datagram datagram;
    uint8_t bytes[PIPE_DATAGRAM_MAX];
};

static struct {
    struct lock lock;
    struct poller *poller;
    struct datagram_core core;
    struct datagram_link link;
    struct transport_ops ops;
    struct doorbell bell;
    struct sent sent[SENT_MAX];
    unsigned sent_count, batches;
    int arrivals; /* how many datagrams the carrier reports */
    unsigned watches, lates;
    bool watched;
} scene;

static void scene_send(struct datagram_batch *batch)
{
    assert_true(batch->count <= DATAGRAM_BATCH);
    scene.batches++;
    for (unsigned i = 0; i < batch->count; i++) {
        struct sent *sent = &scene.sent[scene.sent_count++];
        size_t size = 0;
        assert_true(scene.sent_count <= SENT_MAX);
        for (unsigned piece = 0; piece < 2; piece++) {
            const struct iovec *bytes = &batch->pieces[i][piece];
            if (bytes->iov_len)
                memcpy(sent->bytes + size, bytes->iov_base, bytes->iov_len);
            size += bytes->iov_len;
        }
        assert_int_equal(pipe_datagram_read(&sent->datagram, sent->bytes, size), 0);
        assert_int_equal(sent->datagram.pipe, PEER);
        assert_ptr_equal(batch->pipe->link, &scene.link);
    }
}

static int scene_receive(struct datagram_core *core)
{
    return scene.arrivals;
}

static void scene_watch(struct datagram_core *core, bool on)
{
    scene.watches++;
    scene.watched = on;
}

static const struct datagram_carrier carrier = {scene_send, scene_receive, scene_watch};

static void scene_open(void)
{
    memset(&scene, 0, sizeof scene);
    assert_int_equal(poller_open(&scene.poller, &scene.lock), 0);
    assert_int_equal(doorbell_open(&scene.bell), 0);
    struct transport_config config = {.poller = scene.poller};
    scene.ops.pipes = &datagram_pipe_ops;
    assert_int_equal(datagram_core_open(&scene.core, &scene.ops, &carrier, &config), 0);
    scene.core.window = WINDOW;
    scene.link = (struct datagram_link){.link.ops = &scene.ops, .core = &scene.core};
}

static void scene_close(void)
{
    datagram_core_close(&scene.core);
    assert_int_equal(scene.core.timer.slot, 0);
    doorbell_close(&scene.bell);
    poller_close(scene.poller);
}

static struct datagram_pipe *pipe_only(void)
{
    return container_of(scene.core.all.next, struct datagram_pipe, node);
}

static void hear(const struct pipe_datagram *datagram)
{
    pipe_only()->heard(pipe_only(), datagram);
}

static void late_at(nsec now)
{
    pipe_only()->due = NSEC_NEVER; /* as the timer does */
    pipe_only()->late(pipe_only(), now);
}

/* Calls the pipe so late that everything is due, including what the last call postponed. */
static void late(void)
{
    late_at(clock_after(++scene.lates * 60 * NSEC_PER_SEC));
}

/* Returns the last datagram that was sent, and forgets all of them. */
static struct pipe_datagram *said(enum pipe_datagram_kind kind)
{
    assert_true(scene.sent_count > 0);
    struct pipe_datagram *last = &scene.sent[scene.sent_count - 1].datagram;
    assert_int_equal(last->kind, kind);
    scene.sent_count = 0;
    return last;
}

static bool is_rung(void)
{
    bool rung = !doorbell_is_slept_on(&scene.bell);
    doorbell_clear(&scene.bell);
    doorbell_arm(&scene.bell); /* for the next check */
    return rung;
}

/* ---- the receiver's end ---- */

static struct inlet *inlet_open(void)
{
    struct inlet *inlet;
    struct parcel offer = {0}, answer = {0};
    struct datagram_end own;
    scene_open();
    datagram_end_write(&(struct datagram_end){PEER, WINDOW}, &offer);
    assert_int_equal(datagram_inlet_open(&scene.link.link, &scene.bell, &offer, &answer, &inlet),
                     0);
    assert_int_equal(datagram_end_read(&own, &answer), 0);
    assert_int_equal(own.pipe, pipe_only()->id);
    assert_int_equal(own.window, WINDOW);
    (void)is_rung();
    return inlet;
}

static void inlet_close(struct inlet *inlet)
{
    datagram_inlet_close(inlet);
    scene_close();
}

static void hear_frame(uint64_t sequence)
{
    uint8_t body[300];
    memset(body, (int)sequence, sizeof body);
    hear(&(struct pipe_datagram){.kind = DATAGRAM_FRAME,
                                 .frame = {.sequence = sequence,
                                           .head.token = sequence,
                                           .size = sequence % 2 ? sizeof body : 10,
                                           .body = body}});
}

static void hear_ask(uint64_t confirmed, bool answer)
{
    hear(&(struct pipe_datagram){.kind = DATAGRAM_ASK,
                                 .ask = {.confirmed = confirmed, .answer = answer}});
}

static struct datagram_return asked(void)
{
    hear_ask(0, true);
    late(); /* sent at once, or soon */
    return said(DATAGRAM_RETURN)->back;
}

static void a_receiver_reports_which_frames_it_has(void **state)
{
    struct inlet *inlet = inlet_open();
    struct frame frames[WINDOW];
    hear_ask(0, true); /* no report for long: it answers at once */
    assert_int_equal(said(DATAGRAM_RETURN)->back.selected, 0);
    assert_int_equal(pipe_only()->due, NSEC_NEVER);
    hear_frame(0);
    assert_true(is_rung());
    assert_int_equal(scene.sent_count, 0); /* it waits for more news ... */
    nsec due = pipe_only()->due;
    assert_true(due < NSEC_NEVER);
    late_at(due - 1); /* ... until it is due */
    assert_int_equal(scene.sent_count, 0);
    assert_int_equal(pipe_only()->due, due);
    late_at(due);
    assert_int_equal(said(DATAGRAM_RETURN)->back.received, 1);
    hear_frame(2);
    hear_frame(3);
    hear_frame(5);
    assert_false(is_rung()); /* the next frame has not arrived */
    struct datagram_return back = asked();
    assert_int_equal(back.received, 1);
    assert_int_equal(back.selected, 0xb); /* 2, 3 and 5 */
    assert_int_equal(back.released, 0);
    hear_frame(7); /* the last frame that it has room for */
    assert_int_equal(asked().selected, 0x2b);
    hear_frame(8);
    hear_frame(3);
    hear_frame(0);
    assert_int_equal(scene.core.counts.garbage, 1);
    assert_int_equal(scene.core.counts.doubles, 2);
    assert_int_equal(asked().selected, 0x2b);
    assert_int_equal(pipe_only()->due, NSEC_NEVER); /* everything was reported and confirmed */

    hear_frame(1);
    assert_true(is_rung());
    assert_int_equal(asked().received, 4);
    assert_true(datagram_waits(inlet));
    assert_int_equal(datagram_pull(inlet, frames, 0), 0);
    assert_int_equal(datagram_pull(inlet, frames, 3), 3);
    assert_int_equal(datagram_pull(inlet, frames + 3, WINDOW), 1);
    assert_false(datagram_waits(inlet));
    for (uint64_t i = 0; i < 4; i++) {
        assert_int_equal(frames[i].head.token, i);
        assert_int_equal(frames[i].size, i % 2 ? 300 : 10);
        assert_int_equal(frames[i].body[frames[i].size - 1], i);
    }
    scene.sent_count = 0;
    clock_nap(DATAGRAM_DELAY_NSEC);
    datagram_release(inlet, &frames[2]);
    assert_int_equal(scene.sent_count, 0); /* it waits for more news */
    assert_true(pipe_only()->due < NSEC_NEVER);
    datagram_release(inlet, &frames[0]); /* a quarter of the window */
    assert_int_equal(said(DATAGRAM_RETURN)->back.released, 2);
    hear_frame(9); /* two frames were released */
    hear_frame(10);
    assert_int_equal(scene.core.counts.garbage, 2);
    assert_int_equal(asked().selected, 0x15); /* 5, 7 and 9, behind 4 */
    datagram_release(inlet, &frames[1]);
    datagram_release(inlet, &frames[3]);
    inlet_close(inlet);
}

/* Without pulls, arrived frames fill the window, and no further frame is accepted. */
static void a_receiver_is_full_after_a_window(void **state)
{
    struct inlet *inlet = inlet_open();
    struct frame frame;
    for (uint64_t i = 0; i < WINDOW; i++) {
        hear_frame(i);
        if (i % 2) /* a quarter of the window: reported at once */
            assert_int_equal(said(DATAGRAM_RETURN)->back.received, i + 1);
        assert_int_equal(scene.sent_count, 0);
    }
    hear_frame(WINDOW);
    assert_int_equal(scene.core.counts.garbage, 1);
    struct datagram_return back = asked();
    assert_int_equal(back.received, WINDOW);
    assert_int_equal(back.selected, 0);
    assert_int_equal(datagram_pull(inlet, &frame, 1), 1);
    hear_frame(WINDOW); /* pulled is not released */
    assert_int_equal(scene.core.counts.garbage, 2);
    datagram_release(inlet, &frame);
    hear_frame(WINDOW);
    assert_int_equal(asked().received, WINDOW + 1);
    inlet_close(inlet);
}

static void a_receiver_repeats_acknowledgements_until_they_are_confirmed(void **state)
{
    enum { ON_WAY = 512, ALL = 600 };
    struct inlet *inlet = inlet_open();
    for (uint64_t i = 0; i < ALL; i++) {
        assert_int_equal(datagram_acknowledge(inlet, i, -(int64_t)i), 0);
        assert_int_equal(datagram_inlet_owes(inlet), i + 1);
        assert_int_equal(scene.sent_count, i < ON_WAY); /* the rest waits */
        if (i < ON_WAY) {
            struct datagram_return back = said(DATAGRAM_RETURN)->back;
            assert_int_equal(back.first, i);
            assert_int_equal(back.count, 1);
            assert_int_equal(back.acks[0].token, i);
            assert_int_equal(back.acks[0].status, -(int64_t)i);
        }
    }
    assert_true(pipe_only()->due < NSEC_NEVER);
    hear_ask(ALL + 1, false);
    assert_int_equal(scene.core.counts.garbage, 1);
    late(); /* sends all again */
    assert_int_equal(scene.sent_count, ON_WAY / DATAGRAM_ACKS_MAX);
    for (unsigned i = 0; i < scene.sent_count; i++) {
        assert_int_equal(scene.sent[i].datagram.back.first, i * DATAGRAM_ACKS_MAX);
        assert_int_equal(scene.sent[i].datagram.back.count, DATAGRAM_ACKS_MAX);
    }
    scene.sent_count = 0;
    assert_true(pipe_only()->due < NSEC_NEVER);
    hear_ask(ALL - ON_WAY, false); /* makes room for the waiting ones */
    assert_int_equal(datagram_inlet_owes(inlet), ON_WAY);
    assert_int_equal(scene.sent_count, 2);
    assert_int_equal(scene.sent[0].datagram.back.first, ON_WAY);
    struct datagram_return back = said(DATAGRAM_RETURN)->back;
    assert_int_equal(back.first + back.count, ALL);
    hear_ask(ALL - ON_WAY + 1, false); /* none waited */
    assert_int_equal(scene.sent_count, 0);
    hear(&(struct pipe_datagram){.kind = DATAGRAM_FRAME, /* frames confirm, too */
                                 .frame = {.sequence = WINDOW, .confirmed = ALL}});
    assert_int_equal(scene.core.counts.garbage, 2); /* the frame is beyond its credit */
    assert_int_equal(datagram_inlet_owes(inlet), 0);
    late();
    assert_int_equal(scene.sent_count, 0);
    assert_int_equal(pipe_only()->due, NSEC_NEVER);
    hear(&(struct pipe_datagram){.kind = DATAGRAM_RETURN});
    assert_int_equal(scene.core.counts.garbage, 3);
    inlet_close(inlet);
}

static void a_receiver_with_a_lost_link_still_delivers_arrived_frames(void **state)
{
    struct inlet *inlet = inlet_open();
    struct frame frame;
    hear_frame(0);
    datagram_link_lost(&scene.link.link);
    assert_int_equal(pipe_only()->due, NSEC_NEVER);
    assert_int_equal(datagram_pull(inlet, &frame, 1), 1);
    assert_int_equal(datagram_pull(inlet, &frame, 0), 0);
    scene.sent_count = 0;
    datagram_release(inlet, &frame);
    assert_int_equal(datagram_acknowledge(inlet, 1, 0), -EPIPE);
    assert_int_equal(scene.sent_count, 0);
    assert_int_equal(pipe_only()->due, NSEC_NEVER);
    assert_int_equal(datagram_pull(inlet, &frame, 1), -EPIPE);
    inlet_close(inlet);
}

/* ---- the sender's end ---- */

static struct outlet *outlet_open(bool answered)
{
    struct outlet *outlet;
    struct parcel offer = {0}, answer = {0};
    scene_open();
    struct datagram_end own;
    assert_int_equal(datagram_outlet_open(&scene.link.link, &scene.bell, &offer, &outlet), 0);
    assert_int_equal(datagram_end_read(&own, &offer), 0);
    assert_int_equal(own.pipe, pipe_only()->id);
    assert_int_equal(own.window, WINDOW);
    datagram_end_write(&(struct datagram_end){PEER, WINDOW}, &answer);
    if (answered)
        assert_int_equal(datagram_outlet_answer(outlet, &answer), 0);
    (void)is_rung();
    return outlet;
}

static void outlet_close(struct outlet *outlet)
{
    datagram_outlet_close(outlet);
    scene_close();
}

static int push(struct outlet *outlet, uint64_t token, size_t size)
{
    static uint8_t body[FRAME_BODY_MAX + 1];
    memset(body, (int)(token + 1), sizeof body);
    struct frame_head head = {.token = token};
    struct iovec pieces[2] = {{body, size / 2}, {body, size - size / 2}};
    return datagram_push(outlet, &head, pieces, 2);
}

static void hear_return(uint64_t received, uint64_t selected, uint64_t released)
{
    hear(&(struct pipe_datagram){
        .kind = DATAGRAM_RETURN,
        .back = {.received = received, .selected = selected, .released = released}});
}

static void assert_said_frames(unsigned count, const uint64_t *sequences)
{
    assert_int_equal(scene.sent_count, count);
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(scene.sent[i].datagram.kind, DATAGRAM_FRAME);
        assert_int_equal(scene.sent[i].datagram.frame.sequence, sequences[i]);
        const struct datagram_frame *frame = &scene.sent[i].datagram.frame;
        assert_int_equal(frame->head.token, sequences[i]);
        assert_int_equal(frame->body[0], sequences[i] + 1);
        assert_int_equal(frame->body[frame->size - 1], sequences[i] + 1);
    }
    scene.sent_count = 0;
}
#define ASSERT_SAID_FRAMES(...)                                                                    \
    assert_said_frames(sizeof(uint64_t[]){__VA_ARGS__} / 8, (uint64_t[]){__VA_ARGS__})

static void a_sender_resends_missing_frames(void **state)
{
    struct outlet *outlet = outlet_open(false);
    struct parcel answer = {0};
    for (uint64_t i = 0; i < 6; i++)
        assert_int_equal(push(outlet, i, i % 2 ? 200 : DATAGRAM_SMALL), 0);
    assert_int_equal(scene.sent_count, 0); /* the peer is not known yet */
    datagram_end_write(&(struct datagram_end){PEER, WINDOW}, &answer);
    assert_int_equal(datagram_outlet_answer(outlet, &answer), 0);
    assert_int_equal(datagram_outlet_answer(outlet, &answer), -EPROTO); /* only once */
    ASSERT_SAID_FRAMES(0, 1, 2, 3, 4, 5);
    assert_true(pipe_only()->due < NSEC_NEVER);
    hear_return(1, 0x5, 0); /* 2 and 4 have overtaken others */
    ASSERT_SAID_FRAMES(1, 3);
    assert_int_equal(scene.core.counts.resent, 2);
    hear_return(1, 0x5, 0); /* a repeated report does not send them again at once */
    assert_int_equal(scene.sent_count, 0);
    late();
    ASSERT_SAID_FRAMES(1, 3, 5);
    assert_true(pipe_only()->due < NSEC_NEVER);
    hear_return(0, 0, 0); /* overtaken by a newer report */
    late();
    ASSERT_SAID_FRAMES(1, 3, 5);
    hear_return(1, 0xd, 0); /* 5 has arrived, too */
    scene.sent_count = 0;
    late();
    ASSERT_SAID_FRAMES(1, 3);
    assert_int_equal(datagram_outlet_owes(outlet), 5);
    hear_return(7, 0, 0); /* never sent */
    hear_return(6, 0, 7); /* released more than it received */
    hear(&(struct pipe_datagram){.kind = DATAGRAM_ASK});
    assert_int_equal(scene.core.counts.garbage, 3);
    assert_int_equal(datagram_outlet_owes(outlet), 5);
    hear_return(6, 0, 0);
    assert_int_equal(datagram_outlet_owes(outlet), 0);
    late();
    assert_int_equal(scene.sent_count, 0);
    assert_int_equal(pipe_only()->due, NSEC_NEVER);
    assert_false(is_rung()); /* no sender waited */
    outlet_close(outlet);
}

static void a_sender_stays_within_its_credit_and_asks_for_more(void **state)
{
    struct outlet *outlet = outlet_open(true);
    for (uint64_t i = 0; i < WINDOW; i++) {
        assert_true(datagram_room(outlet, FRAME_BODY_MAX));
        assert_int_equal(push(outlet, i, 10), 0);
    }
    scene.sent_count = 0;
    hear_return(WINDOW, 0, 0); /* all have arrived, and none was released */
    late();
    assert_int_equal(pipe_only()->due, NSEC_NEVER);
    assert_false(datagram_room(outlet, 1));
    assert_int_equal(push(outlet, 8, 10), -EAGAIN);
    assert_true(pipe_only()->due < NSEC_NEVER);
    assert_false(is_rung());
    late_at(pipe_only()->due);
    struct datagram_ask ask = said(DATAGRAM_ASK)->ask;
    assert_int_equal(ask.answer, 1);
    assert_true(pipe_only()->due < NSEC_NEVER); /* it asks again */
    late();
    (void)said(DATAGRAM_ASK);
    hear_return(WINDOW, 0, 1);
    assert_true(is_rung());
    assert_true(datagram_room(outlet, FRAME_BODY_MAX));
    assert_false(datagram_room(outlet, FRAME_BODY_MAX + 1));
    late();
    assert_int_equal(scene.sent_count, 0); /* it knows its credit */
    assert_int_equal(push(outlet, 8, FRAME_BODY_MAX + 1), -EMSGSIZE);
    assert_int_equal(push(outlet, 8, FRAME_BODY_MAX), 0);
    ASSERT_SAID_FRAMES(8);
    assert_int_equal(push(outlet, 9, 1), -EAGAIN);
    hear_return(WINDOW, 0, 0); /* an old report takes no credit back */
    hear_return(WINDOW + 1, 0, 3);
    assert_true(is_rung());
    assert_int_equal(push(outlet, 9, 1), 0);
    assert_int_equal(push(outlet, 10, 1), 0);
    assert_int_equal(push(outlet, 11, 1), -EAGAIN);
    outlet_close(outlet);
}

static struct outlet *outlet_filled(unsigned count)
{
    struct outlet *outlet = outlet_open(false);
    for (uint64_t i = 0; i < count; i++)
        assert_int_equal(push(outlet, i, 10), 0);
    return outlet;
}

/* Frames pushed before the answer are sent as far as the receiver has room; a push is refused when
 * our own window is full. */
static void a_sender_adapts_to_the_window_of_its_receiver(void **state)
{
    struct parcel answer = {0};
    struct outlet *outlet = outlet_filled(WINDOW);
    assert_int_equal(push(outlet, WINDOW, 10), -EAGAIN);
    assert_int_equal(pipe_only()->due, NSEC_NEVER); /* there is no peer to ask yet */
    datagram_end_write(&(struct datagram_end){PEER, 3}, &answer);
    assert_int_equal(datagram_outlet_answer(outlet, &answer), 0);
    ASSERT_SAID_FRAMES(0, 1, 2);
    hear_return(3, 0, 2);
    ASSERT_SAID_FRAMES(3, 4);
    outlet_close(outlet);

    outlet = outlet_filled(WINDOW);
    datagram_end_write(&(struct datagram_end){PEER, 2 * WINDOW}, &answer);
    assert_int_equal(datagram_outlet_answer(outlet, &answer), 0);
    assert_int_equal(scene.sent_count, WINDOW);
    assert_int_equal(push(outlet, WINDOW, 10), -EAGAIN);
    outlet_close(outlet);

    outlet = outlet_filled(1);
    datagram_link_lost(&scene.link.link);
    assert_int_equal(datagram_outlet_answer(outlet, &answer), -EPIPE);
    assert_int_equal(scene.sent_count, 0);
    outlet_close(outlet);
}

/* More frames than one call of the carrier takes. */
static void many_frames_go_in_batches(void **state)
{
    enum { MANY = 2 * DATAGRAM_BATCH + 1 };
    struct outlet *outlet;
    struct parcel offer = {0}, answer = {0};
    scene_open();
    scene.core.window = MANY;
    assert_int_equal(datagram_outlet_open(&scene.link.link, &scene.bell, &offer, &outlet), 0);
    for (uint64_t i = 0; i < MANY; i++)
        assert_int_equal(push(outlet, i, 10), 0);
    datagram_end_write(&(struct datagram_end){PEER, MANY}, &answer);
    assert_int_equal(datagram_outlet_answer(outlet, &answer), 0);
    assert_int_equal(scene.sent_count, MANY);
    assert_int_equal(scene.batches, 3);
    for (uint64_t i = 0; i < MANY; i++)
        assert_int_equal(scene.sent[i].datagram.frame.sequence, i);
    outlet_close(outlet);
}

static void hear_acks(uint64_t first, uint16_t count)
{
    static struct pipe_datagram datagram;
    datagram =
        (struct pipe_datagram){.kind = DATAGRAM_RETURN, .back = {.first = first, .count = count}};
    for (unsigned i = 0; i < count; i++)
        datagram.back.acks[i] =
            (struct acknowledgement){.token = first + i, .status = (int64_t)first - i};
    hear(&datagram);
}

static void a_sender_takes_acknowledgements_in_order_and_confirms_them(void **state)
{
    enum { MOST = 1024 };
    struct acknowledgement acks[MOST + 1];
    struct outlet *outlet = outlet_open(true);
    assert_int_equal(datagram_collect(outlet, acks, 1), 0);
    hear_acks(1, 3); /* the one before them is missing */
    assert_false(is_rung());
    assert_int_equal(datagram_collect(outlet, acks, 1), 0);
    hear_acks(0, 2);
    assert_true(is_rung());
    assert_true(pipe_only()->due < NSEC_NEVER); /* in order to confirm them */
    hear_acks(1, 3);                            /* the first of them is already here */
    assert_true(is_rung());
    hear_acks(1, 3);
    assert_false(is_rung());
    late_at(pipe_only()->due);
    assert_int_equal(scene.sent_count, 1);
    struct datagram_ask ask = said(DATAGRAM_ASK)->ask;
    assert_int_equal(ask.confirmed, 4);
    assert_int_equal(ask.answer, 0);
    assert_int_equal(pipe_only()->due, NSEC_NEVER);
    hear_acks(4, 1);
    assert_int_equal(push(outlet, 0, 10), 0);
    assert_int_equal(said(DATAGRAM_FRAME)->frame.confirmed, 5); /* the frame confirms, too */
    hear_return(1, 0, 1);
    late();
    assert_int_equal(scene.sent_count, 0);

    for (uint64_t next = 5; next < MOST + 50; next += 50)
        hear_acks(next, 50);
    assert_int_equal(datagram_collect(outlet, acks, 0), 0);
    assert_int_equal(datagram_collect(outlet, acks, 2), 2);
    assert_int_equal(datagram_collect(outlet, acks + 2, MOST), MOST - 2); /* the rest comes again */
    assert_int_equal(datagram_collect(outlet, acks, 1), 0);
    for (uint64_t i = 0; i < MOST; i++)
        assert_int_equal(acks[i].token, i);
    hear_acks(MOST, 1);
    datagram_link_lost(&scene.link.link);
    assert_int_equal(datagram_collect(outlet, acks, 0), 0);
    assert_int_equal(datagram_collect(outlet, acks, 5), 1); /* what has arrived can be taken */
    assert_int_equal(datagram_collect(outlet, acks, 5), -EPIPE);
    assert_int_equal(push(outlet, 1, 10), -EPIPE);
    assert_false(datagram_room(outlet, 1));
    outlet_close(outlet);
}

/* ---- the transport ---- */

static void datagrams_find_their_pipe_or_are_counted(void **state)
{
    struct outlet *outlet = outlet_open(true);
    struct pipe_datagram read, ask = {.kind = DATAGRAM_ASK, .pipe = pipe_only()->id};
    uint8_t bytes[DATAGRAM_ASK_SIZE];
    size_t size = pipe_datagram_write(&ask, bytes, sizeof bytes);
    assert_ptr_equal(datagram_pipe_of(&scene.core, bytes, size, &read), pipe_only());
    assert_null(datagram_pipe_of(&scene.core, bytes, size - 1, &read));
    ask.pipe++;
    pipe_datagram_write(&ask, bytes, sizeof bytes);
    assert_null(datagram_pipe_of(&scene.core, bytes, size, &read));
    datagram_link_lost(&scene.link.link);
    ask.pipe--;
    pipe_datagram_write(&ask, bytes, sizeof bytes);
    assert_null(datagram_pipe_of(&scene.core, bytes, size, &read));
    assert_int_equal(scene.core.counts.datagrams, 4);
    assert_int_equal(scene.core.counts.garbage, 1);
    assert_int_equal(scene.core.counts.stray, 2);
    struct outlet *more;
    struct parcel offer = {0};
    assert_int_equal(datagram_outlet_open(&scene.link.link, &scene.bell, &offer, &more), -EPIPE);
    assert_int_equal(datagram_link_control(&scene.link.link, NULL), -EPROTO);
    outlet_close(outlet);
}

static void numbers_of_pipes_are_used_once(void **state)
{
    struct outlet *outlet, *other;
    struct inlet *inlet;
    struct datagram_numbers numbers = {.own = 5, .peer = PEER};
    scene_open();
    struct transport_link *link = &scene.link.link;
    assert_int_equal(datagram_outlet_open_numbered(link, &scene.bell, &numbers, &outlet), 0);
    assert_int_equal(pipe_only()->id, 5);
    assert_ptr_equal(id_map_get(&scene.core.pipes, 5), pipe_only());
    assert_int_equal(scene.core.pipes.count, 1);
    assert_int_equal(datagram_outlet_open_numbered(link, &scene.bell, &numbers, &other), -EEXIST);
    assert_int_equal(datagram_inlet_open_numbered(link, &scene.bell, &numbers, &inlet), -EEXIST);
    assert_int_equal(scene.core.pipes.count, 1);
    assert_int_equal(push(outlet, 0, 10), 0); /* without an answer */
    ASSERT_SAID_FRAMES(0);
    numbers.own++;
    assert_int_equal(datagram_inlet_open_numbered(link, &scene.bell, &numbers, &inlet), 0);
    datagram_inlet_close(inlet);
    datagram_link_lost(link);
    assert_int_equal(datagram_outlet_open_numbered(link, &scene.bell, &numbers, &other), -EPIPE);
    assert_int_equal(datagram_inlet_open_numbered(link, &scene.bell, &numbers, &inlet), -EPIPE);
    struct parcel nonsense = {.size = 3}, answer = {0};
    assert_int_equal(datagram_inlet_open(link, &scene.bell, &nonsense, &answer, &inlet), -EPROTO);
    outlet_close(outlet);
}

/* Threads that poll have the carrier to themselves, until they sleep or stop polling. */
static void the_poller_watches_while_no_thread_polls(void **state)
{
    struct transport *transport = &scene.core.transport;
    scene_open();
    scene.arrivals = 3;
    assert_int_equal(datagram_arm(transport), 3);
    assert_int_equal(scene.watches, 0); /* it was watched before */
    assert_int_equal(datagram_progress(transport), 3);
    assert_int_equal(datagram_progress(transport), 3);
    assert_int_equal(scene.watches, 1);
    assert_false(scene.watched);
    assert_int_equal(datagram_arm(transport), 3);
    assert_int_equal(scene.watches, 2);
    assert_true(scene.watched);
    assert_int_equal(datagram_progress(transport), 3);
    nsec end = clock_after(20 * NSEC_PER_SEC);
    while (!scene.watched && clock_now() < end)
        poller_step(scene.poller, end);
    assert_int_equal(scene.watches, 4);
    assert_true(scene.watched);
    assert_int_equal(poller_step(scene.poller, clock_after(5 * 1000 * 1000)), 0);
    scene_close();
}

/* The timer calls exactly the pipes that are due, and is set for the next. */
static void the_timer_calls_the_pipes_that_are_due(void **state)
{
    struct outlet *first = outlet_open(true), *second;
    struct parcel offer = {0}, answer = {0};
    assert_int_equal(datagram_outlet_open(&scene.link.link, &scene.bell, &offer, &second), 0);
    datagram_end_write(&(struct datagram_end){PEER, WINDOW}, &answer);
    assert_int_equal(datagram_outlet_answer(second, &answer), 0);
    assert_true(poller_step(scene.poller, clock_after(1000 * 1000)) == 0);
    assert_int_equal(push(first, 0, 10), 0);
    nsec due = scene.core.timer.at, before = clock_now();
    assert_true(due <= before + DATAGRAM_AGAIN_NSEC);
    assert_int_equal(push(second, 0, 20), 0);
    assert_int_equal(scene.core.timer.at, due); /* the earlier one */
    scene.sent_count = 0;
    nsec end = clock_after(20 * NSEC_PER_SEC);
    while (scene.sent_count < 2 && clock_now() < end)
        poller_step(scene.poller, end);
    assert_true(clock_now() >= due);
    assert_int_equal(scene.core.counts.resent, scene.sent_count);
    nsec dues[2] = {pipe_only()->due,
                    container_of(scene.core.all.previous, struct datagram_pipe, node)->due};
    assert_true(dues[0] < NSEC_FAR && dues[1] < NSEC_FAR);
    assert_int_equal(scene.core.timer.at, dues[0] < dues[1] ? dues[0] : dues[1]);
    assert_int_equal(scene.watches, 0); /* no thread polled: the poller watches as before */
    pipe_only()->due = before + 3600 * NSEC_PER_SEC; /* the earlier one, also if none is due */
    container_of(scene.core.all.previous, struct datagram_pipe, node)->due = NSEC_NEVER;
    assert_int_equal(poller_set(scene.poller, &scene.core.timer, 0), 0);
    assert_int_equal(poller_step(scene.poller, end), 1);
    assert_int_equal(scene.core.timer.at, before + 3600 * NSEC_PER_SEC);
    datagram_pipe_wake(pipe_only(), 200);
    datagram_pipe_wake(pipe_only(), 300);
    assert_int_equal(pipe_only()->due, 200);
    assert_int_equal(scene.core.timer.at, 200);
    datagram_outlet_close(second);
    outlet_close(first);
}

static void closed_pipes_leave_no_memory(void **state)
{
    size_t used = 0;
    for (unsigned i = 0; i < 200; i++) {
        if (i == 100) /* by now the heap holds what it keeps for reuse */
            used = mallinfo2().uordblks;
        struct outlet *outlet = outlet_open(true);
        for (uint64_t frame = 0; frame < WINDOW; frame++)
            assert_int_equal(push(outlet, frame, 1000), 0);
        hear_return(2, 0, 1);
        outlet_close(outlet);
        struct inlet *inlet = inlet_open();
        for (uint64_t frame = 0; frame < 5; frame++) {
            struct frame pulled;
            hear_frame(frame);
            assert_int_equal(datagram_acknowledge(inlet, frame, 0), 0);
            if (frame < 3) { /* small and large ones */
                assert_int_equal(datagram_pull(inlet, &pulled, 1), 1);
                datagram_release(inlet, &pulled);
            }
            scene.sent_count = 0;
        }
        inlet_close(inlet);
    }
    assert_int_equal(mallinfo2().uordblks, used);
}

TEST_MAIN(TEST(a_receiver_reports_which_frames_it_has), TEST(a_receiver_is_full_after_a_window),
          TEST(a_receiver_repeats_acknowledgements_until_they_are_confirmed),
          TEST(a_sender_adapts_to_the_window_of_its_receiver), TEST(many_frames_go_in_batches),
          TEST(a_receiver_with_a_lost_link_still_delivers_arrived_frames),
          TEST(a_sender_resends_missing_frames),
          TEST(a_sender_stays_within_its_credit_and_asks_for_more),
          TEST(a_sender_takes_acknowledgements_in_order_and_confirms_them),
          TEST(datagrams_find_their_pipe_or_are_counted), TEST(numbers_of_pipes_are_used_once),
          TEST(the_poller_watches_while_no_thread_polls),
          TEST(the_timer_calls_the_pipes_that_are_due), TEST(closed_pipes_leave_no_memory))
