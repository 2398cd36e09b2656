#include "transport/udp/udp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/rng.h"
#include "base/test.h"
#include "transport/datagram/datagram_wire.h"
#include "transport/socket.h"

#define OPS      (&transport_udp)
#define PATIENCE (20 * NSEC_PER_SEC) /* how long a failing test waits */

/* Two contexts in one process, and between them a wire that a test can disturb: each context takes
 * the wire's socket for its peer. */
struct end {
    struct lock lock;
    struct poller *poller;
    struct transport *transport;
    struct transport_link *link;
    struct doorbell bell;
    uint8_t card[64];
    int wire_fd; /* the wire's end on this side */
    struct socket_address wire;
};

struct pair {
    struct end ends[2];
    struct outlet *outlet;
    struct inlet *inlet;
    struct rng rng;
    unsigned lose, twice, late; /* percentages */
    struct {
        size_t size;
        int to;
        uint8_t bytes[PIPE_DATAGRAM_MAX];
    } held; /* a datagram that others overtake */
};

static void wire_open(struct end *end)
{
    end->wire_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(end->wire_fd >= 0);
    assert_int_equal(socket_parse("127.0.0.1", &end->wire), 0);
    assert_int_equal(bind(end->wire_fd, (struct sockaddr *)&end->wire.storage, end->wire.size), 0);
    assert_int_equal(socket_local(end->wire_fd, &end->wire), 0);
    struct context_address address = {0};
    struct writer out = writer_make(end->card, sizeof end->card);
    socket_to_address(&end->wire, &address);
    write_u8(&out, 4);
    write_bytes(&out, address.address, sizeof address.address);
    write_u16(&out, address.port);
}

static void end_open(struct end *end)
{
    struct why why = {""};
    assert_int_equal(poller_open(&end->poller, &end->lock), 0);
    assert_int_equal(doorbell_open(&end->bell), 0);
    struct transport_config config = {
        .poller = end->poller, .address = "127.0.0.1", .ring_slots = 64};
    if (OPS->open(&end->transport, &config, &why))
        fail_msg("%s", why.text);
}

static void end_close(struct end *end)
{
    OPS->link_close(end->link);
    OPS->close(end->transport);
    doorbell_close(&end->bell);
    poller_close(end->poller);
    if (end->wire_fd >= 0)
        close(end->wire_fd);
}

/* `spoilt`: the datagrams pass through the wire. */
static struct pair *pair_open(bool spoilt, bool answered)
{
    struct pair *pair = calloc(1, sizeof *pair);
    struct parcel offer = {0}, answer = {0};
    assert_non_null(pair);
    for (int i = 0; i < 2; i++) {
        end_open(&pair->ends[i]);
        pair->ends[i].wire_fd = -1;
        if (spoilt)
            wire_open(&pair->ends[i]);
    }
    for (int i = 0; i < 2; i++) {
        struct end *end = &pair->ends[i], *other = &pair->ends[1 - i];
        int size = 19;
        if (!spoilt)
            size = OPS->describe(other->transport, end->card, sizeof end->card);
        assert_int_equal(size, 19);
        assert_int_equal(
            OPS->link_open(end->transport, NULL, NULL, end->card, (size_t)size, &end->link), 0);
    }
    assert_int_equal(
        OPS->pipes->outlet_open(pair->ends[0].link, &pair->ends[0].bell, &offer, &pair->outlet), 0);
    assert_int_equal(OPS->pipes->inlet_open(pair->ends[1].link, &pair->ends[1].bell, &offer,
                                            &answer, &pair->inlet),
                     0);
    if (answered)
        assert_int_equal(OPS->pipes->outlet_answer(pair->outlet, &answer), 0);
    return pair;
}

static void pair_close(struct pair *pair)
{
    OPS->pipes->outlet_close(pair->outlet);
    OPS->pipes->inlet_close(pair->inlet);
    end_close(&pair->ends[0]);
    end_close(&pair->ends[1]);
    free(pair);
}

static void wire_pass(struct pair *pair, int to, const uint8_t *bytes, size_t size)
{
    struct socket_address end;
    struct context_address address = {.family = AF_INET};
    uint8_t card[19];
    assert_int_equal(OPS->describe(pair->ends[to].transport, card, sizeof card), 19);
    struct reader in = reader_make(card + 1, 18);
    read_copy(&in, address.address, sizeof address.address);
    address.port = read_u16(&in);
    assert_int_equal(socket_of_address(&address, &end), 0);
    (void)!sendto(pair->ends[to].wire_fd, bytes, size, 0, (struct sockaddr *)&end.storage,
                  end.size);
}

/* Carries what has arrived, and loses, duplicates or delays some. */
static void wire_carry(struct pair *pair)
{
    uint8_t bytes[PIPE_DATAGRAM_MAX];
    for (int from = 0; from < 2 && pair->ends[from].wire_fd >= 0; from++) {
        for (int i = 0; i < 64; i++) {
            ssize_t size = recv(pair->ends[from].wire_fd, bytes, sizeof bytes, 0);
            if (size < 0)
                break;
            uint64_t fate = rng_below(&pair->rng, 100);
            if (fate < pair->lose)
                continue;
            if (fate < pair->lose + pair->late && !pair->held.size) {
                memcpy(pair->held.bytes, bytes, (size_t)size);
                pair->held.size = (size_t)size;
                pair->held.to = 1 - from;
                continue;
            }
            wire_pass(pair, 1 - from, bytes, (size_t)size);
            if (fate >= 100 - pair->twice)
                wire_pass(pair, 1 - from, bytes, (size_t)size);
            if (pair->held.size && rng_below(&pair->rng, 4) == 0) {
                wire_pass(pair, pair->held.to, pair->held.bytes, pair->held.size);
                pair->held.size = 0;
            }
        }
    }
}

static void step(struct pair *pair)
{
    wire_carry(pair);
    for (int i = 0; i < 2; i++)
        poller_step(pair->ends[i].poller, 0);
}

static int push_number(struct pair *pair, uint64_t number, size_t size)
{
    static const uint8_t zeros[FRAME_BODY_MAX + 1];
    struct frame_head head = {
        .user = ~number, .token = number, .kind = (uint16_t)number, .user_bytes = {1, 7}};
    struct iovec pieces[2] = {{&number, sizeof number}, {(void *)zeros, size - sizeof number}};
    return OPS->pipes->push(pair->outlet, &head, pieces, 2);
}

static uint64_t frame_number(const struct frame *frame)
{
    uint64_t number;
    assert_true(frame->size >= sizeof number);
    memcpy(&number, frame->body, sizeof number);
    assert_int_equal(frame->head.token, number);
    assert_int_equal(frame->head.user, ~number);
    assert_int_equal(frame->head.kind, (uint16_t)number);
    assert_int_equal(frame->head.user_bytes[1], 7);
    return number;
}

/* Sends frames of random sizes through the wire, acknowledges each with its number, and releases
 * them in another order. All of them must arrive, once and in order. */
static void story(struct pair *pair, uint64_t count)
{
    uint64_t pushed = 0, pulled = 0, acked = 0, seed = entropy_u64();
    struct frame kept[8];
    unsigned kept_count = 0;
    bool refused = false;
    nsec deadline = clock_after(PATIENCE);
    printf("# seed %llu\n", (unsigned long long)seed);
    pair->rng = rng_make(seed, 0);
    while (pulled < count || acked < count) {
        struct frame frames[16];
        struct acknowledgement acks[16];
        if (clock_now() > deadline)
            fail_msg("pushed %d pulled %d acknowledged %d", (int)pushed, (int)pulled, (int)acked);
        for (int i = 0; i < 16 && pushed < count; i++) {
            size_t size = rng_below(&pair->rng, 8) ? 8 + rng_below(&pair->rng, 100)
                                                   : 8 + rng_below(&pair->rng, FRAME_BODY_MAX - 7);
            int result = push_number(pair, pushed, size);
            refused |= result == -EAGAIN;
            if (result == -EAGAIN)
                break;
            assert_int_equal(result, 0);
            pushed++;
        }
        step(pair);
        int got = OPS->pipes->pull(pair->inlet, frames, 16);
        for (int i = 0; i < got; i++) {
            assert_int_equal(frame_number(&frames[i]), pulled);
            assert_int_equal(OPS->pipes->acknowledge(pair->inlet, pulled, -(int64_t)pulled), 0);
            pulled++;
            if (kept_count == 8) {
                uint64_t which = rng_below(&pair->rng, 8);
                OPS->pipes->release(pair->inlet, &kept[which]);
                kept[which] = kept[--kept_count];
            }
            kept[kept_count++] = frames[i];
        }
        got = OPS->pipes->collect(pair->outlet, acks, 16);
        for (int i = 0; i < got; i++) {
            assert_int_equal(acks[i].token, acked);
            assert_int_equal(acks[i].status, -(int64_t)acked);
            acked++;
        }
    }
    while (kept_count)
        OPS->pipes->release(pair->inlet, &kept[--kept_count]);
    assert_true(refused || count < DATAGRAM_WINDOW_MAX);
}

static void frames_and_acknowledgements_arrive(void **state)
{
    struct pair *pair = pair_open(false, true);
    struct datagram_counts counts;
    story(pair, 5000);
    udp_count(pair->ends[1].transport, &counts);
    assert_int_equal(counts.garbage + counts.stray, 0);
    pair_close(pair);
}

static void frames_survive_loss_duplication_and_reordering(void **state)
{
    struct pair *pair = pair_open(true, true);
    struct datagram_counts out, in;
    pair->lose = 10;
    pair->twice = 10;
    pair->late = 10;
    story(pair, 1000);
    udp_count(pair->ends[0].transport, &out);
    udp_count(pair->ends[1].transport, &in);
    assert_true(out.resent > 0 && in.doubles > 0);
    assert_int_equal(out.garbage + in.garbage, 0);
    pair_close(pair);
}

static void frames_pushed_before_the_answer_wait_for_it(void **state)
{
    struct pair *pair = pair_open(false, false);
    struct parcel offer = {0}, answer = {0};
    struct frame frames[DATAGRAM_WINDOW_MAX];
    uint64_t pushed = 0;
    OPS->pipes->inlet_close(pair->inlet);
    OPS->pipes->outlet_close(pair->outlet);
    assert_int_equal(
        OPS->pipes->outlet_open(pair->ends[0].link, &pair->ends[0].bell, &offer, &pair->outlet), 0);
    while (push_number(pair, pushed, 8) == 0)
        pushed++;
    assert_true(pushed >= 8);
    assert_int_equal(OPS->pipes->inlet_open(pair->ends[1].link, &pair->ends[1].bell, &offer,
                                            &answer, &pair->inlet),
                     0);
    step(pair);
    assert_int_equal(OPS->pipes->pull(pair->inlet, frames, DATAGRAM_WINDOW_MAX), 0);
    assert_int_equal(OPS->pipes->outlet_answer(pair->outlet, &answer), 0);
    assert_int_equal(OPS->pipes->outlet_answer(pair->outlet, &answer), -EPROTO);
    for (uint64_t pulled = 0; pulled < pushed;) {
        step(pair);
        int got = OPS->pipes->pull(pair->inlet, frames, DATAGRAM_WINDOW_MAX);
        for (int i = 0; i < got; i++)
            assert_int_equal(frame_number(&frames[i]), pulled++);
    }
    pair_close(pair);
}

static void without_credit_the_sender_has_to_wait(void **state)
{
    struct pair *pair = pair_open(true, true);
    struct frame frames[DATAGRAM_WINDOW_MAX];
    uint64_t pushed = 0;
    int got = 0;
    nsec deadline = clock_after(PATIENCE);
    assert_true(OPS->pipes->room(pair->outlet, FRAME_BODY_MAX));
    assert_false(OPS->pipes->room(pair->outlet, FRAME_BODY_MAX + 1));
    assert_int_equal(push_number(pair, 0, FRAME_BODY_MAX + 1), -EMSGSIZE);
    while (push_number(pair, pushed, 8) == 0)
        pushed++;
    while (got < (int)pushed) {
        step(pair);
        got += OPS->pipes->pull(pair->inlet, frames + got, DATAGRAM_WINDOW_MAX - (unsigned)got);
    }
    for (int i = 0; i < 20; i++)
        step(pair);
    assert_false(OPS->pipes->room(pair->outlet, 8)); /* the frames arrived, and were not released */
    pair->lose = 100;                                /* the report of new credit is lost, ... */
    for (int i = 0; i < got; i++)
        OPS->pipes->release(pair->inlet, &frames[i]);
    for (int i = 0; i < 20; i++)
        step(pair);
    assert_int_equal(push_number(pair, pushed, 8), -EAGAIN);
    pair->lose = 0; /* ... but the sender asks */
    doorbell_prepare(&pair->ends[0].bell, DOORBELL_FUTEX);
    while (!OPS->pipes->room(pair->outlet, 8)) {
        assert_true(clock_now() < deadline);
        step(pair);
    }
    doorbell_wait(&pair->ends[0].bell, NSEC_NEVER); /* was rung */
    assert_int_equal(push_number(pair, pushed, 8), 0);
    pair_close(pair);
}

static void many_acknowledgements_wait_for_the_collector(void **state)
{
    enum { COUNT = 5000 };
    struct pair *pair = pair_open(false, true);
    struct acknowledgement acks[100];
    uint64_t collected = 0;
    nsec deadline = clock_after(PATIENCE);
    for (uint64_t i = 0; i < COUNT; i++) {
        assert_int_equal(OPS->pipes->acknowledge(pair->inlet, i, (int64_t)i + 1), 0);
        if (i % 16 == 0)
            step(pair);
    }
    while (collected < COUNT) {
        assert_true(clock_now() < deadline);
        step(pair);
        int got = OPS->pipes->collect(pair->outlet, acks, 100);
        for (int i = 0; i < got; i++) {
            assert_int_equal(acks[i].token, collected);
            assert_int_equal(acks[i].status, ++collected);
        }
    }
    pair_close(pair);
}

static void polling_threads_and_the_poller_take_turns(void **state)
{
    struct pair *pair = pair_open(false, true);
    struct end *end = &pair->ends[1];
    struct frame frame;
    nsec deadline = clock_after(PATIENCE);
    assert_int_equal(OPS->progress(end->transport), 0);
    assert_int_equal(push_number(pair, 0, 8), 0);
    while (OPS->pipes->pull(pair->inlet, &frame, 1) == 0) {
        assert_true(clock_now() < deadline);
        OPS->progress(end->transport);
    }
    OPS->pipes->release(pair->inlet, &frame);
    assert_int_equal(OPS->arm(end->transport), 0);
    assert_int_equal(push_number(pair, 1, 8), 0);
    while (OPS->pipes->pull(pair->inlet, &frame, 1) == 0) {
        assert_true(clock_now() < deadline);
        poller_step(end->poller, clock_after(NSEC_PER_SEC));
    }
    OPS->pipes->release(pair->inlet, &frame);
    /* A thread that polled and never armed does not block what arrives. */
    OPS->progress(end->transport);
    assert_int_equal(push_number(pair, 2, 8), 0);
    while (OPS->pipes->pull(pair->inlet, &frame, 1) == 0) {
        assert_true(clock_now() < deadline);
        poller_step(end->poller, clock_after(NSEC_PER_SEC));
    }
    OPS->pipes->release(pair->inlet, &frame);
    pair_close(pair);
}

static void a_lost_link_delivers_arrived_frames_and_then_fails(void **state)
{
    struct pair *pair = pair_open(false, true);
    struct frame frames[8];
    struct acknowledgement ack;
    for (uint64_t i = 0; i < 3; i++)
        assert_int_equal(push_number(pair, i, 8), 0);
    for (int i = 0; i < 10; i++)
        step(pair);
    OPS->link_lost(pair->ends[1].link);
    OPS->link_lost(pair->ends[0].link);
    assert_int_equal(OPS->pipes->pull(pair->inlet, frames, 8), 3);
    OPS->pipes->release(pair->inlet, &frames[1]);
    assert_int_equal(OPS->pipes->pull(pair->inlet, frames, 8), -EPIPE);
    assert_int_equal(OPS->pipes->acknowledge(pair->inlet, 1, 0), -EPIPE);
    assert_int_equal(push_number(pair, 3, 8), -EPIPE);
    assert_int_equal(OPS->pipes->collect(pair->outlet, &ack, 1), -EPIPE);
    assert_false(OPS->pipes->room(pair->outlet, 8));
    pair_close(pair);
}

static void wire_say(struct pair *pair, int to, const struct pipe_datagram *datagram)
{
    uint8_t bytes[PIPE_DATAGRAM_MAX];
    wire_pass(pair, to, bytes, pipe_datagram_write(datagram, bytes, sizeof bytes));
    poller_step(pair->ends[to].poller, 0);
}

/* Reads the two numbers of the pipe from passing datagrams. */
static void ids_learn(struct pair *pair, uint64_t *outlet_id, uint64_t *inlet_id)
{
    uint8_t bytes[PIPE_DATAGRAM_MAX];
    struct pipe_datagram datagram;
    struct frame frame;
    assert_int_equal(push_number(pair, 0, 8), 0);
    ssize_t size = recv(pair->ends[0].wire_fd, bytes, sizeof bytes, 0);
    assert_int_equal(pipe_datagram_read(&datagram, bytes, (size_t)size), 0);
    *inlet_id = datagram.pipe;
    wire_pass(pair, 1, bytes, (size_t)size);
    poller_step(pair->ends[1].poller, clock_after(NSEC_PER_SEC));
    assert_int_equal(OPS->pipes->pull(pair->inlet, &frame, 1), 1);
    assert_int_equal(OPS->pipes->acknowledge(pair->inlet, 0, 0), 0);
    size = recv(pair->ends[1].wire_fd, bytes, sizeof bytes, 0);
    assert_int_equal(pipe_datagram_read(&datagram, bytes, (size_t)size), 0);
    *outlet_id = datagram.pipe;
}

static void impossible_datagrams_are_counted_and_dropped(void **state)
{
    struct pair *pair = pair_open(true, true);
    struct datagram_counts counts;
    struct frame frame;
    uint64_t outlet_id, inlet_id;
    ids_learn(pair, &outlet_id, &inlet_id);
    struct pipe_datagram lies[] = {
        {.kind = DATAGRAM_FRAME, .pipe = inlet_id, .frame = {.sequence = DATAGRAM_WINDOW_MAX + 1}},
        {.kind = DATAGRAM_FRAME, .pipe = inlet_id, .frame = {.sequence = UINT64_MAX}},
        {.kind = DATAGRAM_RETURN, .pipe = inlet_id},
        {.kind = DATAGRAM_ASK, .pipe = inlet_id, .ask = {.confirmed = 9}},
        {.kind = DATAGRAM_ASK, .pipe = inlet_id, .ask = {.confirmed = UINT64_MAX}},
    };
    for (unsigned i = 0; i < sizeof lies / sizeof *lies; i++) {
        wire_say(pair, 1, &lies[i]);
        udp_count(pair->ends[1].transport, &counts);
        assert_int_equal(counts.garbage, i + 1);
    }
    struct pipe_datagram more[] = {
        {.kind = DATAGRAM_FRAME, .pipe = outlet_id},
        {.kind = DATAGRAM_ASK, .pipe = outlet_id},
        {.kind = DATAGRAM_RETURN, .pipe = outlet_id, .back = {.received = 2}},
        {.kind = DATAGRAM_RETURN, .pipe = outlet_id, .back = {.received = 1, .released = 2}},
        {.kind = DATAGRAM_RETURN, .pipe = outlet_id, .back = {.received = UINT64_MAX}},
    };
    for (unsigned i = 0; i < sizeof more / sizeof *more; i++) {
        wire_say(pair, 0, &more[i]);
        udp_count(pair->ends[0].transport, &counts);
        assert_int_equal(counts.garbage, i + 1);
    }
    /* Well-formed, but the bits are beyond everything that was sent. */
    struct pipe_datagram bits = {.kind = DATAGRAM_RETURN,
                                 .pipe = outlet_id,
                                 .back = {.received = 0, .selected = UINT64_MAX, .first = 7}};
    wire_say(pair, 0, &bits);
    assert_int_equal(OPS->pipes->pull(pair->inlet, &frame, 1), 0);
    pair_close(pair);
}

/* A number that is sometimes valid and sometimes not. */
static uint64_t liar_number(struct rng *rng)
{
    static const uint64_t odd[] = {0,         1, DATAGRAM_WINDOW_MAX, UINT64_MAX, UINT64_MAX / 2,
                                   1ULL << 32};
    return rng_below(rng, 4) ? rng_below(rng, 80) : odd[rng_below(rng, 6)];
}

/* A peer that knows the numbers of the pipe and sends arbitrary reports: both ends keep their
 * invariants (the code asserts them), and frames arrive in order. */
static void a_lying_peer_breaks_nothing(void **state)
{
    struct pair *pair = pair_open(true, true);
    uint64_t outlet_id, inlet_id, pushed = 1, seed = entropy_u64();
    printf("# seed %llu\n", (unsigned long long)seed);
    pair->rng = rng_make(seed, 0);
    struct rng *rng = &pair->rng;
    ids_learn(pair, &outlet_id, &inlet_id);
    for (int i = 0; i < 20000; i++) {
        struct frame frames[4];
        struct acknowledgement acks[4];
        struct pipe_datagram lie = {.kind = (enum pipe_datagram_kind)(1 + rng_below(rng, 3))};
        int to = (int)rng_below(rng, 2);
        lie.pipe = to ? inlet_id : outlet_id;
        if (lie.kind == DATAGRAM_FRAME) {
            lie.frame = (struct datagram_frame){.sequence = liar_number(rng),
                                                .confirmed = liar_number(rng)};
        } else if (lie.kind == DATAGRAM_ASK) {
            lie.ask = (struct datagram_ask){.confirmed = liar_number(rng), .answer = i & 1};
        } else {
            lie.back =
                (struct datagram_return){.received = liar_number(rng),
                                         .selected = rng_below(rng, UINT64_MAX),
                                         .released = liar_number(rng),
                                         .first = liar_number(rng),
                                         .count = (uint16_t)rng_below(rng, DATAGRAM_ACKS_MAX + 1)};
        }
        wire_say(pair, to, &lie);
        pushed += push_number(pair, pushed, 8) == 0;
        int got = OPS->pipes->pull(pair->inlet, frames, 4);
        for (int k = 0; k < got; k++) {
            assert_int_equal(frames[k].size, 0);
            OPS->pipes->release(pair->inlet, &frames[k]);
            assert_int_equal(OPS->pipes->acknowledge(pair->inlet, 1, 2), 0);
        }
        assert_true(OPS->pipes->collect(pair->outlet, acks, 4) >= 0);
    }
    assert_true(pushed > 1); /* the liar gave credit, too */
    pair_close(pair);
}

static void strangers_and_noise_are_counted_and_dropped(void **state)
{
    struct pair *pair = pair_open(true, true);
    struct datagram_counts counts;
    uint64_t outlet_id, inlet_id;
    uint8_t noise[PIPE_DATAGRAM_MAX + 100];
    ids_learn(pair, &outlet_id, &inlet_id);
    struct pipe_datagram frame = {
        .kind = DATAGRAM_FRAME, .pipe = inlet_id, .frame = {.sequence = 1}};
    int own = pair->ends[1].wire_fd; /* the right number from the wrong address */
    pair->ends[1].wire_fd = pair->ends[0].wire_fd;
    wire_say(pair, 1, &frame);
    pair->ends[1].wire_fd = own;
    frame.pipe ^= 1; /* the right address with an unknown number */
    wire_say(pair, 1, &frame);
    udp_count(pair->ends[1].transport, &counts);
    assert_int_equal(counts.stray, 2);
    assert_int_equal(counts.garbage, 0);
    uint64_t before = counts.datagrams;
    struct rng rng = rng_make(7, 0);
    for (int i = 0; i < 500; i++) {
        size_t size = rng_below(&rng, sizeof noise + 1);
        for (size_t at = 0; at < size; at++)
            noise[at] = (uint8_t)rng_below(&rng, 256);
        wire_pass(pair, 1, noise, size);
        poller_step(pair->ends[1].poller, 0);
    }
    udp_count(pair->ends[1].transport, &counts);
    assert_int_equal(counts.garbage, 500);
    assert_int_equal(counts.datagrams, before + 500);
    pair_close(pair);
}

static void bad_descriptions_and_parcels_are_refused(void **state)
{
    struct pair *pair = pair_open(false, false);
    struct end *end = &pair->ends[0];
    struct parcel bad = {.size = 3}, answer = {0};
    struct transport_link *link;
    struct inlet *inlet;
    struct why why;
    uint8_t card[19];
    assert_int_equal(OPS->describe(end->transport, card, 18), -ENOBUFS);
    assert_int_equal(OPS->describe(end->transport, card, 19), 19);
    assert_int_equal(OPS->link_open(end->transport, NULL, NULL, card, 18, &link), -EPROTO);
    card[0] = 6;
    assert_int_equal(OPS->link_open(end->transport, NULL, NULL, card, 19, &link), -EHOSTUNREACH);
    card[0] = 5;
    assert_int_equal(OPS->link_open(end->transport, NULL, NULL, card, 19, &link), -EPROTO);
    assert_int_equal(OPS->pipes->inlet_open(end->link, &end->bell, &bad, &answer, &inlet), -EPROTO);
    assert_int_equal(OPS->pipes->outlet_answer(pair->outlet, &bad), -EPROTO);
    static const struct datagram_end invalid[] = {{0, 1}, {1, 0}, {1, DATAGRAM_WINDOW_MAX + 1}};
    for (unsigned i = 0; i < 3; i++) {
        datagram_end_write(&invalid[i], &bad);
        assert_int_equal(OPS->pipes->inlet_open(end->link, &end->bell, &bad, &answer, &inlet),
                         -EPROTO);
    }
    datagram_end_write(&(struct datagram_end){1, DATAGRAM_WINDOW_MAX}, &bad);
    bad.bytes[0]++; /* another version */
    assert_int_equal(OPS->pipes->inlet_open(end->link, &end->bell, &bad, &answer, &inlet), -EPROTO);
    struct transport *transport;
    struct transport_config config = {.poller = end->poller, .address = "0.0.0.0"};
    assert_int_equal(OPS->open(&transport, &config, &why), -EINVAL);
    config.address = "192.0.2.1"; /* reserved for documentation: no host has it */
    assert_int_equal(OPS->open(&transport, &config, &why), -EADDRNOTAVAIL);
    assert_non_null(strstr(why.text, "192.0.2.1"));
    config.address = NULL;
    assert_int_equal(OPS->open(&transport, &config, &why), -EADDRNOTAVAIL);
    pair_close(pair);
}

/* ---- memory ---- */

struct access {
    struct transfer transfer;
    bool done;
    int status;
};

static void access_done(struct transfer *transfer, int status)
{
    struct access *access = container_of(transfer, struct access, transfer);
    access->done = true;
    access->status = status;
}

static int access_wait(struct pair *pair, struct access *access)
{
    for (nsec deadline = clock_after(PATIENCE); !access->done; step(pair))
        assert_true(clock_now() < deadline);
    return access->status;
}

static void memory_of_a_peer_is_read_and_written(void **state)
{
    enum { SIZE = 300001, AT = 12345 };
    struct pair *pair = pair_open(false, true);
    const struct memory_ops *memory = OPS->memory;
    struct transport_link *here = pair->ends[0].link, *there = pair->ends[1].link;
    uint8_t *theirs = calloc(1, SIZE), *mine = malloc(SIZE), *copy = calloc(1, SIZE);
    assert_true(theirs && mine && copy);
    for (size_t i = 0; i < SIZE; i++)
        mine[i] = (uint8_t)(i * 7 + (i >> 8));
    struct region *region;
    struct remote_memory both, only;
    assert_int_equal(memory->region_open(pair->ends[1].transport, theirs, SIZE, NULL, &region), 0);
    assert_int_equal(memory->share(there, region, theirs, SIZE, MEMORY_READ | MEMORY_WRITE, &both),
                     0);
    assert_int_equal(memory->share(there, region, theirs, SIZE, MEMORY_READ, &only), 0);

    struct access access = {.transfer.done = access_done};
    assert_int_equal(memory->write(here, &both, AT, mine, SIZE - AT, NULL, &access.transfer), 0);
    assert_int_equal(access_wait(pair, &access), 0);
    assert_memory_equal(theirs + AT, mine, SIZE - AT);
    assert_int_equal(theirs[AT - 1], 0);
    access.done = false;
    assert_int_equal(memory->read(here, &only, AT, copy, SIZE - AT, NULL, &access.transfer), 0);
    assert_int_equal(access_wait(pair, &access), 0);
    assert_memory_equal(copy, mine, SIZE - AT);

    access.done = false; /* without the right */
    assert_int_equal(memory->write(here, &only, 0, mine, 8, NULL, &access.transfer), 0);
    assert_int_equal(access_wait(pair, &access), -EACCES);
    assert_int_equal(theirs[0], 0);
    assert_int_equal(memory->read(here, &only, SIZE, copy, 1, NULL, &access.transfer), -ERANGE);
    access.done = false; /* after the end of the region */
    memory->region_close(region);
    assert_int_equal(memory->read(here, &only, 0, copy, 8, NULL, &access.transfer), 0);
    assert_int_equal(access_wait(pair, &access), -EACCES);
    access.done = false; /* the peer dies meanwhile */
    assert_int_equal(memory->read(here, &only, 0, copy, 8, NULL, &access.transfer), 0);
    OPS->link_lost(here);
    assert_true(access.done);
    assert_int_equal(access.status, -EPIPE);
    pair_close(pair);
    free(theirs);
    free(mine);
    free(copy);
}

TEST_MAIN(TEST(frames_and_acknowledgements_arrive),
          TEST(frames_survive_loss_duplication_and_reordering),
          TEST(frames_pushed_before_the_answer_wait_for_it),
          TEST(without_credit_the_sender_has_to_wait),
          TEST(many_acknowledgements_wait_for_the_collector),
          TEST(polling_threads_and_the_poller_take_turns),
          TEST(a_lost_link_delivers_arrived_frames_and_then_fails),
          TEST(impossible_datagrams_are_counted_and_dropped), TEST(a_lying_peer_breaks_nothing),
          TEST(strangers_and_noise_are_counted_and_dropped),
          TEST(bad_descriptions_and_parcels_are_refused),
          TEST(memory_of_a_peer_is_read_and_written))
