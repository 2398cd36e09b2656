/* lifeline_end: what the end of a line tells about the peer's context. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/test.h"
#include "transport/lifeline/lifeline_impl.h"
#include "transport/scratch.h"
#include "transport/socket.h"

#define PATIENCE (10 * NSEC_PER_SEC) /* how long a failing test waits */

/* A context of a test; it records its events. */
struct hub {
    struct lock lock;
    struct poller *poller;
    struct lifelines *lines;
    struct context_address address;
    struct lifeline *line; /* the line that is up */
    int ups;
    int downs;
    int reason; /* of the last down ... */
    bool ended; /* ... and whether it was the end of the peer's context */
};

static struct scratch here;

static int begin(void **state)
{
    scratch_open(&here);
    return 0;
}

static int end(void **state)
{
    scratch_close(&here);
    return 0;
}

static void on_up(void *owner, struct lifeline *line, const struct context_address *peer,
                  const uint8_t *card, size_t card_size)
{
    struct hub *hub = owner;
    hub->ups++;
    hub->line = line;
}

static void on_control(void *owner, struct lifeline *line, struct control *control)
{
}

static void on_down(void *owner, struct lifeline *line, int reason)
{
    struct hub *hub = owner;
    hub->downs++;
    hub->reason = reason;
    hub->ended = lifeline_ended(line);
    hub->line = NULL;
}

static const struct lifeline_events events = {.up = on_up, .control = on_control, .down = on_down};

static struct hub *hub_open_with(nsec hello_nsec)
{
    struct hub *hub = calloc(1, sizeof *hub);
    struct why why = {""};
    assert_non_null(hub);
    assert_int_equal(poller_open(&hub->poller, &hub->lock), 0);
    struct lifelines_config config = {
        .poller = hub->poller,
        .folder = here.folder,
        .address = "127.0.0.1",
        .context = entropy_u64(),
        .card = (const uint8_t *)"card",
        .card_size = 4,
        .events = &events,
        .owner = hub,
        .hello_nsec = hello_nsec,
    };
    if (lifelines_open(&hub->lines, &config, &hub->address, &why))
        fail_msg("%s", why.text);
    return hub;
}

static struct hub *hub_open(void)
{
    return hub_open_with(0);
}

static void hub_close(struct hub *hub)
{
    lifelines_close(hub->lines);
    poller_close(hub->poller);
    free(hub);
}

/* ---- a wire: listens in place of a context, and passes bytes on to it ---- */

struct wire {
    const struct hub *to; /* the context behind it */
    struct context_address address;
    int listener;
    int closing;   /* how many of the next connections it accepts and ends at once */
    int closed[2]; /* these connections */
    int ends[2];   /* towards the connecting context, and towards the other; or -1 */
};

static void wire_open(struct wire *wire, const struct hub *to, int closing)
{
    struct socket_address address;
    *wire = (struct wire){.to = to, .closing = closing, .closed = {-1, -1}, .ends = {-1, -1}};
    assert_int_equal(socket_parse("127.0.0.1", &address), 0);
    wire->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_true(wire->listener >= 0);
    assert_int_equal(bind(wire->listener, (struct sockaddr *)&address.storage, address.size), 0);
    assert_int_equal(listen(wire->listener, 8), 0);
    assert_int_equal(socket_local(wire->listener, &address), 0);
    wire->address = to->address;
    socket_to_address(&address, &wire->address);
    memset(wire->address.host, 0xee, sizeof wire->address.host); /* looks like another host */
}

static void wire_accept(struct wire *wire)
{
    struct socket_address address;
    int fd = accept4(wire->listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return;
    if (wire->closing) {
        /* An orderly end; closing a socket with unread data would reset it. */
        assert_int_equal(shutdown(fd, SHUT_WR), 0);
        wire->closed[--wire->closing] = fd;
        return;
    }
    wire->ends[0] = fd;
    wire->ends[1] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(socket_of_address(&wire->to->address, &address), 0);
    assert_int_equal(connect(wire->ends[1], (struct sockaddr *)&address.storage, address.size), 0);
}

static void wire_step(struct wire *wire)
{
    char bytes[4096];
    wire_accept(wire);
    for (int i = 0; i < 2 && wire->ends[0] >= 0; i++) {
        ssize_t got = recv(wire->ends[i], bytes, sizeof bytes, MSG_DONTWAIT);
        if (got > 0)
            assert_int_equal(send(wire->ends[1 - i], bytes, (size_t)got, MSG_NOSIGNAL), got);
    }
}

/* The wire is cut: the connecting context gets a reset. */
static void wire_reset(struct wire *wire)
{
    struct linger reset = {.l_onoff = 1};
    assert_int_equal(setsockopt(wire->ends[0], SOL_SOCKET, SO_LINGER, &reset, sizeof reset), 0);
    close(wire->ends[0]);
    close(wire->ends[1]);
    wire->ends[0] = wire->ends[1] = -1;
}

static void wire_close(struct wire *wire)
{
    for (int i = 0; i < 2; i++)
        if (wire->closed[i] >= 0)
            close(wire->closed[i]);
    close(wire->listener);
    assert_int_equal(wire->ends[0], -1);
}

/* Steps both contexts and the wire until the counter reaches the value. */
static void step_until(struct hub *one, struct hub *other, struct wire *wire, const int *counter,
                       int value)
{
    nsec deadline = clock_after(PATIENCE);
    while (*counter < value) {
        assert_true(clock_now() < deadline);
        if (wire)
            wire_step(wire);
        if (other)
            poller_step(other->poller, 0);
        poller_step(one->poller, clock_after(100 * 1000));
    }
}

static void connect_both(struct hub *one, struct hub *other, struct wire *wire)
{
    struct lifeline *line;
    const struct context_address *to = wire ? &wire->address : &other->address;
    int ups = one->ups + 1;
    assert_int_equal(lifeline_connect(one->lines, to, &line), 0);
    step_until(one, other, wire, &one->ups, ups);
    step_until(one, other, wire, &other->ups, ups);
}

/* Waits until the peer's end or a reset has arrived at the socket, without reading it. */
static void line_is_dead(const struct hub *hub)
{
    nsec deadline = clock_after(PATIENCE);
    while (lifeline_alive(hub->line))
        assert_true(clock_now() < deadline);
}

static int send_one(struct lifeline *line)
{
    return lifeline_send(line, &(struct control){.kind = 7, .size = 4});
}

/* ---- between hosts ---- */

static void an_end_before_the_hello_says_nothing_about_a_later_one(void **state)
{
    struct hub *one = hub_open(), *other = hub_open();
    struct wire wire;
    wire_open(&wire, other, 2);
    connect_both(one, other, &wire);
    assert_int_equal(wire.closing, 0);
    wire_reset(&wire);
    step_until(one, NULL, NULL, &one->downs, 1);
    assert_int_equal(one->reason, -EPIPE);
    assert_false(one->ended);
    wire_close(&wire);
    hub_close(one);
    hub_close(other);
}

static void a_reset_that_a_send_notices_is_no_orderly_end(void **state)
{
    struct hub *one = hub_open(), *other = hub_open();
    struct wire wire;
    wire_open(&wire, other, 0);
    for (int sends = 0; sends < 3; sends++) {
        connect_both(one, other, &wire);
        wire_reset(&wire);
        line_is_dead(one);
        for (int i = 0; i < sends; i++)
            assert_int_equal(send_one(one->line), -EPIPE);
        step_until(one, NULL, NULL, &one->downs, sends + 1);
        assert_int_equal(one->reason, -EPIPE);
        assert_false(one->ended);
        step_until(other, NULL, NULL, &other->downs, sends + 1);
    }
    wire_close(&wire);
    hub_close(one);
    hub_close(other);
}

static void a_peer_gives_us_up_only_after_a_silence(void **state)
{
    assert_false(lifeline_was_silent(0, 0));
    assert_false(lifeline_was_silent(TCP_IDLE_SEC * 1000 + 500, NSEC_PER_SEC));
    assert_true(lifeline_was_silent(TCP_TIMEOUT_MSEC, 0));
    assert_true(lifeline_was_silent(TCP_TIMEOUT_MSEC - TCP_IDLE_SEC * 1000, 0));
    assert_true(lifeline_was_silent(UINT32_MAX, 0));
    assert_true(lifeline_was_silent(0, 4 * NSEC_PER_SEC));
}

/* The peer may have given us up and gone on without us. Then its end is not the end of the others
 * with which it went on. */
static void a_reset_after_our_host_was_suspended_is_a_silence(void **state)
{
    struct hub *one = hub_open(), *other = hub_open();
    struct wire wire;
    wire_open(&wire, other, 0);
    for (int turn = 0; turn < 4; turn++) {
        connect_both(one, other, &wire);
        if (turn % 2)
            one->line->suspended -= TCP_TIMEOUT_MSEC * (NSEC_PER_SEC / 1000);
        wire_reset(&wire);
        line_is_dead(one);
        if (turn / 2)
            assert_int_equal(send_one(one->line), -EPIPE);
        step_until(one, NULL, NULL, &one->downs, turn + 1);
        assert_int_equal(one->reason, turn % 2 ? -ETIMEDOUT : -EPIPE);
        assert_false(one->ended);
        step_until(other, NULL, NULL, &other->downs, turn + 1);
    }
    wire_close(&wire);
    hub_close(one);
    hub_close(other);
}

/* What we send after the peer's end is answered with a reset, which a further send notices. */
static void a_reset_after_an_orderly_end_leaves_it_an_end(void **state)
{
    for (int sends = 0; sends < 4; sends++) {
        struct hub *one = hub_open(), *other = hub_open();
        struct wire direct;
        wire_open(&direct, other, 0);
        direct.address.port = other->address.port; /* connects past the wire */
        connect_both(one, other, &direct);
        hub_close(other);
        line_is_dead(one);
        for (int i = 0; i < sends; i++) {
            int result = send_one(one->line);
            assert_true(i ? result == 0 || result == -EPIPE : result == 0);
        }
        step_until(one, NULL, NULL, &one->downs, 1);
        assert_int_equal(one->reason, -EPIPE);
        assert_true(one->ended);
        wire_close(&direct);
        hub_close(one);
    }
}

/* A listener that refuses for another reason than those of the protocol may be too busy. */
static void a_refusal_in_words_is_not_a_refused_connection(void **state)
{
    struct hub *one = hub_open();
    struct wire wire;
    struct lifeline *line;
    uint8_t bytes[CONTROL_HEAD_SIZE + 2] = {[CONTROL_HEAD_SIZE + 1] = REFUSAL_OTHER};
    control_head_write(bytes, &(struct control_head){.kind = HELLO_REFUSAL, .size = 2});
    wire_open(&wire, one, 0);
    assert_int_equal(lifeline_connect(one->lines, &wire.address, &line), 0);
    struct pollfd ready = {.fd = wire.listener, .events = POLLIN};
    assert_int_equal(poll(&ready, 1, 10000), 1);
    int fd = accept4(wire.listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(send(fd, bytes, sizeof bytes, MSG_NOSIGNAL), sizeof bytes);
    step_until(one, NULL, NULL, &one->downs, 1);
    assert_int_equal(one->reason, -EPIPE);
    assert_int_equal(lifelines_garbage(one->lines), 0);
    close(fd);
    wire_close(&wire);
    hub_close(one);
}

/* Connects through the wire until the first context has sent its proof, which stays in the wire:
 * for the first context the line is up, for the other one it is not. */
static void connect_without_proof(struct hub *one, struct hub *other, struct wire *wire)
{
    struct lifeline *line;
    wire_open(wire, other, 0);
    assert_int_equal(lifeline_connect(one->lines, &wire->address, &line), 0);
    step_until(one, other, wire, &one->ups, 1);
    assert_int_equal(other->ups, 0);
}

/* Waits until the other context has ended the line, and returns what the wire reads: 0 for an
 * orderly end, or a negative errno. */
static int end_at_wire(struct hub *other, const struct wire *wire)
{
    char bytes[4096];
    struct pollfd end = {.fd = wire->ends[1], .events = POLLIN};
    nsec deadline = clock_after(PATIENCE);
    while (poll(&end, 1, 0) == 0) {
        assert_true(clock_now() < deadline);
        poller_step(other->poller, clock_after(1000 * 1000));
    }
    assert_int_equal(other->ups, 0);
    return recv(wire->ends[1], bytes, sizeof bytes, MSG_DONTWAIT) < 0 ? -errno : 0;
}

/* If the proof is late, the listening context gives the line up; but it has not ended. */
static void a_late_proof_does_not_look_like_the_end_of_the_listening_context(void **state)
{
    struct hub *one = hub_open(), *other = hub_open_with(20 * 1000 * 1000);
    struct wire wire;
    connect_without_proof(one, other, &wire);
    assert_int_equal(end_at_wire(other, &wire), -ECONNRESET);
    wire_reset(&wire);
    step_until(one, other, NULL, &one->downs, 1);
    assert_false(one->ended);
    wire_close(&wire);
    hub_close(one);
    hub_close(other);
}

/* -EPIPE: our address has changed. After the other reasons the peer is to read our refusal, which a
 * reset would destroy. */
static void a_line_that_is_cut_before_its_proof_ends_with_a_reset_or_a_refusal(void **state)
{
    static const int reasons[] = {-EPIPE, -EPROTO, -EKEYREJECTED, -ENOMEM};
    for (unsigned i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
        struct hub *one = hub_open(), *other = hub_open();
        struct wire wire;
        connect_without_proof(one, other, &wire);
        assert_int_equal(other->lines->live->state, LIFELINE_PROVING);
        lifeline_cut(other->lines->live, reasons[i]);
        assert_int_equal(end_at_wire(other, &wire), reasons[i] == -EPIPE ? -ECONNRESET : 0);
        wire_reset(&wire);
        wire_close(&wire);
        hub_close(one);
        hub_close(other);
    }
}

/* Nor does a line that refuses a greeting end with a reset. */
static void a_line_that_is_cut_before_its_greeting_ends_in_an_orderly_way(void **state)
{
    struct hub *one = hub_open(), *other = hub_open();
    struct wire wire;
    struct lifeline *line;
    wire_open(&wire, other, 0);
    assert_int_equal(lifeline_connect(one->lines, &wire.address, &line), 0);
    nsec deadline = clock_after(PATIENCE);
    while (wire.ends[0] < 0) {
        assert_true(clock_now() < deadline);
        poller_step(one->poller, clock_after(100 * 1000));
        wire_accept(&wire);
    }
    while (!other->lines->live) {
        assert_true(clock_now() < deadline);
        poller_step(other->poller, clock_after(100 * 1000));
    }
    assert_int_equal(other->lines->live->state, LIFELINE_GREETING);
    lifeline_cut(other->lines->live, -EPIPE);
    assert_int_equal(end_at_wire(other, &wire), 0);
    wire_reset(&wire);
    wire_close(&wire);
    hub_close(one);
    hub_close(other);
}

/* ---- on one host ---- */

static void a_live_context_that_cuts_a_line_has_not_ended(void **state)
{
    struct hub *one = hub_open(), *other = hub_open();
    for (int turn = 1; turn <= 2; turn++) {
        connect_both(one, other, NULL);
        assert_true(lifeline_local(one->line));
        lifeline_cut(turn == 1 ? one->line : other->line, -EPROTO);
        step_until(one, other, NULL, &one->downs, turn);
        step_until(one, other, NULL, &other->downs, turn);
        assert_false(one->ended);
        assert_false(other->ended);
        assert_int_equal(lifelines_alive(one->lines, other->address.context), 1);
    }
    /* The one that closes has ended, even if we cut the line ourselves. */
    for (int turn = 3; turn <= 4; turn++) {
        uint64_t context = other->address.context;
        struct lifeline *line;
        assert_int_equal(lifeline_connect(one->lines, &other->address, &line), 0);
        step_until(one, other, NULL, &one->ups, turn);
        hub_close(other);
        if (turn == 4)
            lifeline_cut(one->line, -EPROTO);
        step_until(one, NULL, NULL, &one->downs, turn);
        assert_true(one->ended);
        assert_int_equal(lifelines_alive(one->lines, context), 0);
        other = hub_open();
    }
    hub_close(one);
    hub_close(other);
}

static void a_line_ends_once(void **state)
{
    struct hub *one = hub_open(), *other = hub_open();
    connect_both(one, other, NULL);
    struct lifeline *line = one->line;
    lifeline_cut(line, -EPROTO);
    lifeline_cut(line, -EPIPE);
    step_until(one, other, NULL, &other->downs, 1);
    step_until(one, NULL, NULL, &one->downs, 1);
    assert_int_equal(one->reason, -EPROTO);
    hub_close(one);
    hub_close(other);
}

#define LINE(name) cmocka_unit_test_setup_teardown(name, begin, end)

TEST_MAIN(LINE(an_end_before_the_hello_says_nothing_about_a_later_one),
          LINE(a_reset_that_a_send_notices_is_no_orderly_end),
          LINE(a_peer_gives_us_up_only_after_a_silence),
          LINE(a_reset_after_our_host_was_suspended_is_a_silence),
          LINE(a_reset_after_an_orderly_end_leaves_it_an_end),
          LINE(a_refusal_in_words_is_not_a_refused_connection),
          LINE(a_late_proof_does_not_look_like_the_end_of_the_listening_context),
          LINE(a_line_that_is_cut_before_its_proof_ends_with_a_reset_or_a_refusal),
          LINE(a_line_that_is_cut_before_its_greeting_ends_in_an_orderly_way),
          LINE(a_live_context_that_cuts_a_line_has_not_ended), LINE(a_line_ends_once))
