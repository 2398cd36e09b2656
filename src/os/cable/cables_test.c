/* Checks what a cable refuses: a stranger that knows how lifelines and pipes work connects to
 * server 3, whose port 1 is planned to be connected to port 5 of server 8. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/test.h"
#include "os/cable/cable.h"
#include "os/cable/cable_scene.h"
#include "transport/transport.h"

#define PATIENCE_NSEC (20 * NSEC_PER_SEC)

enum { OPEN = 1, ANSWER };

static struct {
    struct lock lock;
    struct poller *poller;
    struct doorbell bell;
    struct packets *packets;
    struct cables *cables;
    struct port *port;
    bool carrier;
    /* The stranger, as server 8. */
    struct lifelines *lines;
    struct transport *transport;
    uint8_t card[160];
    struct lifeline *line;       /* its call, or NULL */
    struct lifeline *called;     /* the cable's call to it, or NULL */
    struct transport_link *link; /* over its call */
    struct outlet *outlet;
    struct parcel offer;
    struct inlet *inlet; /* of the pipe that the cable offers */
    struct parcel answer;
    unsigned ups, answers, downs;
} scene;

static void on_carrier(void *owner, uint32_t server, uint32_t number, bool on)
{
    scene.carrier = on;
}

static void on_up(void *owner, struct lifeline *line, const struct context_address *peer,
                  const uint8_t *card, size_t card_size)
{
    scene.ups++;
    if (line != scene.line) {
        scene.called = line;
        return;
    }
    assert_int_equal(
        scene.transport->ops->link_open(scene.transport, line, peer, card, card_size, &scene.link),
        0);
    assert_int_equal(
        scene.link->ops->pipes->outlet_open(scene.link, &scene.bell, &scene.offer, &scene.outlet),
        0);
}

/* Accepts the cable's offer, and keeps the answer to send. */
static void offer_take(struct control *control)
{
    struct parcel offer = {.fd_count = control->fd_count};
    struct reader in = reader_make(control->body, control->size);
    (void)read_bytes(&in, 16);
    size_t card_size = read_u8(&in);
    (void)read_bytes(&in, card_size);
    offer.size = read_u16(&in);
    read_copy(&in, offer.bytes, offer.size);
    assert_true(!in.failed && !in.left);
    for (unsigned i = 0; i < control->fd_count; i++) {
        offer.fds[i] = control->fds[i];
        control->fds[i] = -1;
    }
    assert_int_equal(scene.link->ops->pipes->inlet_open(scene.link, &scene.bell, &offer,
                                                        &scene.answer, &scene.inlet),
                     0);
    parcel_fini(&offer);
}

static void on_control(void *owner, struct lifeline *line, struct control *control)
{
    if (line != scene.line)
        return;
    if (control->kind == OPEN)
        offer_take(control);
    scene.answers += control->kind == ANSWER;
}

static void on_down(void *owner, struct lifeline *line, int reason)
{
    scene.downs += line == scene.line;
    if (line == scene.line)
        scene.line = NULL;
    if (line == scene.called)
        scene.called = NULL;
}

static const struct lifeline_events events = {.up = on_up, .control = on_control, .down = on_down};

static void step(void)
{
    cables_arm(scene.cables);
    poller_step(scene.poller, 0);
    scene.port->ops->poll(scene.port);
}

#define UNTIL(condition)                                                                           \
    do {                                                                                           \
        nsec until_ = clock_after(PATIENCE_NSEC);                                                  \
        while (!(condition)) {                                                                     \
            assert_true(clock_now() < until_);                                                     \
            step();                                                                                \
        }                                                                                          \
    } while (0)

static void stage_open(void)
{
    struct why why;
    struct context_address address;
    memset(&scene, 0, sizeof scene);
    assert_int_equal(poller_open(&scene.poller, &scene.lock), 0);
    assert_int_equal(doorbell_open(&scene.bell), 0);
    assert_int_equal(packets_open(&scene.packets, 600, &why), OK);
    const struct cables_config config = {
        .transport = &transport_shm,
        .folder = folder,
        .poller = scene.poller,
        .bell = &scene.bell,
        .packets = scene.packets,
        .events = {.carrier = on_carrier},
    };
    assert_int_equal(cables_open(&scene.cables, &config, &why), 0);
    assert_int_equal(cables_listen(scene.cables, 3, &why), 0);
    assert_int_equal(cables_add(scene.cables, &(struct cable_plan){3, 1, 8, 5}, &scene.port, &why),
                     0);
    const struct transport_config opening = {.poller = scene.poller};
    assert_int_equal(transport_shm.open(&scene.transport, &opening, &why), 0);
    int size = transport_shm.describe(scene.transport, scene.card, sizeof scene.card);
    const struct lifelines_config lines = {
        .poller = scene.poller,
        .folder = folder,
        .context = 8 + 1,
        .card = scene.card,
        .card_size = (size_t)size,
        .events = &events,
    };
    assert_int_equal(lifelines_open(&scene.lines, &lines, &address, &why), 0);
}

static void stage_close(void)
{
    lifelines_close(scene.lines);
    parcel_fini(&scene.offer);
    parcel_fini(&scene.answer);
    if (scene.inlet)
        scene.inlet->ops->inlet_close(scene.inlet);
    if (scene.outlet)
        scene.outlet->ops->outlet_close(scene.outlet);
    if (scene.link)
        scene.link->ops->link_close(scene.link);
    scene.transport->ops->close(scene.transport);
    scene.port->ops->close(scene.port);
    cables_close(scene.cables);
    packets_close(scene.packets);
    doorbell_close(&scene.bell);
    poller_close(scene.poller);
}

/* The stranger calls, and the call is accepted. */
static void call(void)
{
    struct context_address to = {.context = 3 + 1};
    unsigned ups = scene.ups;
    context_address_host(to.host);
    assert_int_equal(lifeline_connect(scene.lines, &to, &scene.line), 0);
    UNTIL(scene.ups > ups);
}

static void say(const struct control *control)
{
    assert_int_equal(lifeline_send(scene.line, control), 0);
}

/* OPEN as server 8 would send it, followed by `more` bytes. */
static struct control open_make(const struct cable_plan *plan, unsigned more)
{
    struct control control = {.kind = OPEN};
    struct writer out = writer_make(control.body, sizeof control.body);
    write_u32(&out, plan->server);
    write_u32(&out, plan->number);
    write_u32(&out, plan->peer_server);
    write_u32(&out, plan->peer_number);
    write_u8(&out, 4);
    write_bytes(&out, scene.card, 4);
    write_u16(&out, scene.offer.size);
    write_bytes(&out, scene.offer.bytes, scene.offer.size);
    control.size = (uint16_t)(sizeof control.body - out.left + more);
    control.fd_count = scene.offer.fd_count;
    memcpy(control.fds, scene.offer.fds, sizeof control.fds);
    return control;
}

static const struct cable_plan right = {8, 5, 3, 1};

/* The line is cut without an answer. */
static void assert_cut(void)
{
    UNTIL(scene.downs == 1);
    assert_int_equal(scene.answers, 0);
    assert_false(scene.carrier);
}

static void an_open_with_another_plan_is_refused(void **state)
{
    for (unsigned field = 0; field < 4; field++) {
        struct cable_plan wrong = right;
        uint32_t *fields[] = {&wrong.server, &wrong.number, &wrong.peer_server, &wrong.peer_number};
        stage_open();
        call();
        ++*fields[field];
        struct control control = open_make(&wrong, 0);
        say(&control);
        assert_cut();
        stage_close();
    }
}

static void a_malformed_open_is_refused(void **state)
{
    stage_open();
    call();
    struct control control = open_make(&right, 1); /* one byte too many */
    say(&control);
    assert_cut();
    stage_close();

    stage_open();
    call();
    control = open_make(&right, 0);
    control.size--;
    say(&control);
    assert_cut();
    stage_close();

    stage_open();
    call();
    control = open_make(&right, 0);
    memset(control.body + 21, 0xff, 2); /* exceeds the maximum, and its message */
    control.size = sizeof control.body;
    say(&control);
    assert_cut();
    stage_close();
}

static void an_answer_before_open_is_refused(void **state)
{
    stage_open();
    call();
    say(&(struct control){.kind = ANSWER, .size = 2});
    assert_cut();
    stage_close();
}

/* A valid OPEN is answered; a second one is refused, and so is an unknown message. */
static void malformed_messages_cut_an_answered_line(void **state)
{
    for (unsigned i = 0; i < 3; i++) {
        stage_open();
        call();
        struct control control = open_make(&right, 0);
        say(&control);
        UNTIL(scene.answers == 1);
        if (i == 0) {
            say(&control);
        } else if (i == 1) {
            say(&(struct control){.kind = ANSWER, .size = 1}); /* too short for a parcel */
        } else {
            say(&(struct control){.kind = CONTROL_TRANSPORT | 0x7fff});
        }
        UNTIL(scene.downs == 1);
        assert_int_equal(scene.answers, 1);
        stage_close();
    }
}

static void a_second_answer_is_refused(void **state)
{
    stage_open();
    call();
    struct control control = open_make(&right, 0);
    say(&control);
    UNTIL(scene.inlet);
    struct control answer = {.kind = ANSWER, .fd_count = scene.answer.fd_count};
    struct writer out = writer_make(answer.body, sizeof answer.body);
    write_u16(&out, scene.answer.size);
    write_bytes(&out, scene.answer.bytes, scene.answer.size);
    answer.size = (uint16_t)(sizeof answer.body - out.left);
    memcpy(answer.fds, scene.answer.fds, sizeof answer.fds);
    say(&answer);
    UNTIL(scene.carrier); /* this shows that the stranger's messages are valid */
    say(&answer);
    UNTIL(scene.downs == 1);
    stage_close();
}

/* Both servers call at once: the call of the lower one stays if it is connected. */
static void the_call_of_the_lower_server_stays(void **state)
{
    stage_open();
    cables_call(scene.cables);
    UNTIL(scene.called);
    for (unsigned i = 0; i < 100; i++)
        step(); /* so that it is connected at its own end, too */
    call();
    struct control control = open_make(&right, 0);
    say(&control);
    assert_cut();
    assert_non_null(scene.called);
    stage_close();
}

#define SCENE_TEST(name) cmocka_unit_test_setup_teardown(name, scene_begin, scene_end)

TEST_MAIN(SCENE_TEST(an_open_with_another_plan_is_refused), SCENE_TEST(a_malformed_open_is_refused),
          SCENE_TEST(an_answer_before_open_is_refused),
          SCENE_TEST(malformed_messages_cut_an_answered_line),
          SCENE_TEST(a_second_answer_is_refused), SCENE_TEST(the_call_of_the_lower_server_stays))
