/* retiring: a service moves from one context to another, by every transport and by names that
 * answer at once or later; and peers that break the protocol of retiring. tests/moves.c does the
 * first with processes under load. */
#include "ripc/message/retiring.h"

#include <errno.h>
#include <poll.h>

#include "ripc/core/remote.h"
#include "ripc/scene/scene.h"
#include "transport/routed/relay_scene.h"

#define MOVER 42
#define FEW   8 /* less than any window */

static int send_number(struct ripc_service *from, uint32_t number, int64_t deadline)
{
    return ripc_send(from, MOVER, &number, sizeof number, deadline);
}

static void take_numbers(struct ripc_service *to, uint32_t begin, uint32_t end)
{
    for (uint32_t i = begin; i < end; i++) {
        struct ripc_message message = scene_receive(to);
        assert_int_equal(message.size, sizeof i);
        assert_memory_equal(message.data, &i, sizeof i);
        ripc_release(&message);
    }
}

static struct ripc_stats stats_of(struct ripc *ripc)
{
    struct ripc_stats stats;
    assert_int_equal(ripc_stats(ripc, &stats), 0);
    return stats;
}

/* Waits for the event of that kind; there must be no other. */
static struct ripc_event event_of(struct ripc_service *service, enum ripc_event_kind kind)
{
    struct ripc_event event = {0};
    assert_int_equal(ripc_poll(service, &event, 1, scene_deadline()), 1);
    assert_int_equal(event.kind, kind);
    assert_int_equal(event.id, MOVER);
    return event;
}

static void service_moves(const struct ripc_config *config)
{
    struct ripc *here = scene_open(config);
    struct ripc *homes[2] = {scene_open(config), scene_open(config)};
    struct ripc_service *client = scene_bind(here, 0);
    uint32_t number = 0;
    for (unsigned move = 0; move < 4; move++) {
        struct ripc *home = homes[move % 2];
        struct ripc_service *server = scene_bind(home, MOVER);
        struct ripc_message none;
        if (move) /* the send below got -EAGAIN */
            event_of(client, RIPC_CREDIT);
        for (unsigned i = 0; i < FEW; i++)
            assert_int_equal(send_number(client, number + i, scene_deadline()), 0);
        assert_int_equal(ripc_retire(server, RIPC_MOVES), 0);
        take_numbers(server, number, number + FEW);
        number += FEW;
        assert_int_equal(ripc_receive(server, &none, 1, scene_deadline()), -ESHUTDOWN);
        assert_int_equal(send_number(client, number, RIPC_NOW), -EAGAIN);
        assert_int_equal(ripc_unbind(server), 0);
        assert_int_equal(send_number(client, number, RIPC_NOW), -EAGAIN);
        assert_int_equal(send_number(client, number, ripc_after(1000)), -ETIMEDOUT);
    }
    struct ripc_stats stats = stats_of(here);
    assert_int_equal(stats.sent, number);
    assert_int_equal(stats.lost + stats.doubtful, 0);
    scene_close(here);
    scene_close(homes[0]);
    scene_close(homes[1]);
}

static void a_service_moves_over_shm(void **state)
{
    service_moves(&(struct ripc_config){.transports = "shm"});
}

static void a_service_moves_over_udp(void **state)
{
    service_moves(&(struct ripc_config){.transports = "udp", .address = "127.0.0.1"});
}

/* The old claim may be remembered longer than it is valid. */
static void a_service_moves_by_multicast_names(void **state)
{
    char names[64];
    snprintf(names, sizeof names, "multicast:239.255.%u.%u:%u", (unsigned)getpid() % 250 + 1,
             (unsigned)getpid() / 250 % 250 + 1, 20000 + (unsigned)getpid() % 20000);
    service_moves(
        &(struct ripc_config){.transports = "shm,udp", .names = names, .address = "127.0.0.1"});
}

static void a_service_moves_over_libfabric(void **state)
{
    const struct ripc_config config = {.transports = "fabric", .address = "127.0.0.1"};
    struct ripc *ripc;
    if (ripc_open(&config, &ripc)) {
        print_message("# libfabric or its provider tcp is not installed\n");
        skip();
    }
    scene_close(ripc);
    service_moves(&config);
}

/* The relay loses and duplicates 15 percent of the datagrams. */
static void a_service_moves_over_a_node(void **state)
{
    static struct relay relay;
    relay_open(&relay, *state);
    relay.lose = relay.twice = 15;
    service_moves(
        &(struct ripc_config){.transports = "routed", .names = "host", .node = relay.path});
    relay_end(&relay);
}

/* ---- reports ---- */

struct stage {
    struct ripc *here, *there;
    struct ripc_service *client, *server;
};

/* The client has sent FEW messages, which the server has not received. */
static struct stage stage_open(void)
{
    struct stage stage = {.here = scene_open(NULL), .there = scene_open(NULL)};
    stage.client = scene_bind(stage.here, 0);
    stage.server = scene_bind(stage.there, MOVER);
    for (uint32_t i = 0; i < FEW; i++)
        assert_int_equal(send_number(stage.client, i, scene_deadline()), 0);
    return stage;
}

static void stage_close(struct stage *stage)
{
    scene_close(stage->here);
    scene_close(stage->there);
}

/* The lost messages are those before the ones that were sent since. */
static void an_event_tells_which_messages_are_lost(void **state)
{
    struct stage stage = stage_open();
    take_numbers(stage.server, 0, 3);
    assert_int_equal(ripc_unbind(stage.server), 0);
    assert_int_equal(stats_of(stage.there).dropped_unread, FEW - 3);
    for (int64_t end = scene_deadline(); stats_of(stage.here).lost == 0;)
        assert_true(ripc_now() < end);
    stage.server = scene_bind(stage.there, MOVER);
    assert_int_equal(send_number(stage.client, FEW, scene_deadline()), 0);
    assert_int_equal(send_number(stage.client, FEW + 1, scene_deadline()), 0);
    struct ripc_event event = event_of(stage.client, RIPC_LOST);
    assert_int_equal(event.status, 0);
    assert_int_equal(event.count, FEW - 3);
    assert_int_equal(event.since, 2);
    assert_int_equal(stats_of(stage.here).lost, FEW - 3);
    take_numbers(stage.server, FEW, FEW + 2);
    stage_close(&stage);
}

/* A message that the program has is delivered, even if the program never releases it. */
static void an_unreleased_message_is_not_lost(void **state)
{
    struct stage stage = stage_open();
    for (unsigned i = 0; i < FEW; i++)
        scene_receive(stage.server);
    assert_int_equal(ripc_unbind(stage.server), 0);
    for (int64_t end = scene_deadline(); ripc_transport(stage.client, MOVER);)
        assert_true(ripc_now() < end);
    assert_int_equal(send_number(stage.client, FEW, scene_deadline()), -ENOENT);
    assert_int_equal(stats_of(stage.here).lost, 0);
    assert_int_equal(stats_of(stage.here).doubtful, 0);
    assert_int_equal(stats_of(stage.there).dropped_unread, 0);
    stage_close(&stage);
}

static void closing_a_context_reports_unread_messages(void **state)
{
    struct stage stage = stage_open();
    take_numbers(stage.server, 0, 1);
    scene_close(stage.there);
    struct ripc_event event = event_of(stage.client, RIPC_LOST);
    assert_int_equal(event.status, 0);
    assert_int_equal(event.count, FEW - 1);
    scene_close(stage.here);
}

/* A program that only receives would otherwise be woken again and again. */
static void a_loss_does_not_wake_a_program_that_never_polls(void **state)
{
    struct stage stage = stage_open();
    assert_int_equal(ripc_unbind(stage.server), 0);
    for (int64_t end = scene_deadline(); stats_of(stage.here).lost == 0;)
        assert_true(ripc_now() < end);
    assert_int_equal(ripc_arm(stage.client), 0);
    event_of(stage.client, RIPC_LOST);
    stage.server = scene_bind(stage.there, MOVER);
    assert_int_equal(send_number(stage.client, 0, scene_deadline()), 0);
    assert_int_equal(ripc_unbind(stage.server), 0);
    for (int64_t end = scene_deadline(); stats_of(stage.here).lost <= FEW;)
        assert_true(ripc_now() < end);
    assert_int_equal(ripc_arm(stage.client), -EAGAIN);
    stage_close(&stage);
}

/* An event loop learns that everything was received, even if nothing was sent. */
static void the_descriptor_announces_the_end(void **state)
{
    struct ripc *ripc = scene_open(NULL);
    struct ripc_service *server = scene_bind(ripc, MOVER);
    struct ripc_message none;
    struct pollfd bell = {.fd = ripc_fd(server), .events = POLLIN};
    assert_int_equal(ripc_arm(server), 0);
    assert_int_equal(ripc_retire(server, 2), -EINVAL);
    assert_int_equal(ripc_retire(server, 0), 0);
    assert_int_equal(poll(&bell, 1, 20000), 1);
    assert_int_equal(ripc_receive(server, &none, 1, RIPC_NOW), -ESHUTDOWN);
    assert_int_equal(ripc_arm(server), -EAGAIN);
    assert_int_equal(ripc_unbind(server), 0);
    scene_close(ripc);
}

/* Between hosts, the message that the service is gone may overtake its last acknowledgement. */
static void an_operation_waits_for_an_acknowledgement_that_is_late(void **state)
{
    struct ripc *here = scene_open(NULL), *there = scene_open(NULL);
    struct ripc_service *client = scene_bind(here, 0), *server = scene_bind(there, MOVER);
    struct iovec item = {ripc_alloc(here, 1000), 1000};
    struct ripc_send send = {
        .to = MOVER, .longs = &item, .long_count = 1, .deadline = scene_deadline()};
    uint8_t bytes[1000];
    int64_t late = ripc_send_message(client, &send), never = ripc_send_message(client, &send);
    assert_true(late > 0 && never > 0);
    struct ripc_message first = scene_receive(server), second = scene_receive(server);
    lock_take(&here->lock);
    struct remote *remote = id_map_get(&client->remotes, MOVER);
    struct control_words gone = {.pipe = remote->pipe, .number = 2, .item = 2};
    remote_gone(remote->peer, &gone);
    assert_int_equal(remote->state, REMOTE_HELD);
    lock_drop(&here->lock);
    assert_int_equal(ripc_wait(client, late, RIPC_NOW), -EAGAIN);
    assert_int_equal(ripc_fetch(&first, 0, bytes, sizeof bytes, scene_deadline()), 0);
    assert_int_equal(ripc_wait(client, late, scene_deadline()), 0);
    assert_int_equal(ripc_wait(client, never, scene_deadline()), -EPIPE);
    ripc_release(&first);
    ripc_release(&second);
    assert_int_equal(stats_of(here).lost, 0);
    scene_close(here);
    scene_close(there);
}

/* ---- peers that break the protocol ---- */

static void condemned_once(struct ripc *ripc)
{
    for (int64_t end = scene_deadline(); stats_of(ripc).peers_lost == 0;)
        assert_true(ripc_now() < end);
    assert_int_equal(stats_of(ripc).protocol_errors, 1);
}

/* Calls the handler of a control message from the other context, about the pipe to the server. */
static void hear(struct stage *stage, struct ripc *ripc, events_control *handler, uint64_t number)
{
    lock_take(&stage->here->lock);
    const struct remote *remote = id_map_get(&stage->client->remotes, MOVER);
    struct control_words words = {.pipe = remote->pipe, .number = number};
    lock_drop(&stage->here->lock);
    lock_take(&ripc->lock);
    list_each(&ripc->peers, node) handler(container_of(node, struct peer, node), &words);
    lock_drop(&ripc->lock);
}

static void a_sender_that_counts_before_it_is_asked_is_condemned(void **state)
{
    struct stage stage = stage_open();
    hear(&stage, stage.there, arrival_counted, FEW);
    condemned_once(stage.there);
    stage_close(&stage);
}

static void a_sender_that_counts_less_than_it_sent_is_condemned(void **state)
{
    struct stage stage = stage_open();
    take_numbers(stage.server, 0, FEW);
    lock_take(&stage.there->lock);
    stage.server->retiring = true; /* without asking the sender, which would answer at once */
    lock_drop(&stage.there->lock);
    hear(&stage, stage.there, arrival_counted, FEW - 1);
    condemned_once(stage.there);
    stage_close(&stage);
}

static void a_receiver_that_retires_twice_is_condemned(void **state)
{
    struct stage stage = stage_open();
    assert_int_equal(ripc_retire(stage.server, 0), 0);
    take_numbers(stage.server, 0, FEW);
    struct ripc_message none;
    assert_int_equal(ripc_receive(stage.server, &none, 1, scene_deadline()), -ESHUTDOWN);
    hear(&stage, stage.here, remote_hold, 0);
    condemned_once(stage.here);
    stage_close(&stage);
}

/* What it took is not known then. */
static void a_receiver_that_took_more_than_was_sent_is_condemned(void **state)
{
    struct stage stage = stage_open();
    hear(&stage, stage.here, remote_gone, FEW + 1);
    condemned_once(stage.here);
    struct ripc_event event = event_of(stage.client, RIPC_LOST);
    assert_int_equal(event.status, -EPIPE);
    assert_int_equal(event.count, FEW);
    assert_int_equal(stats_of(stage.here).doubtful, FEW);
    stage_close(&stage);
}

TEST_MAIN(SCENE(a_service_moves_over_shm), SCENE(a_service_moves_over_udp),
          SCENE(a_service_moves_by_multicast_names),
          SCENE_OF_FABRIC(a_service_moves_over_libfabric), SCENE(a_service_moves_over_a_node),
          SCENE(an_event_tells_which_messages_are_lost), SCENE(an_unreleased_message_is_not_lost),
          SCENE(closing_a_context_reports_unread_messages),
          SCENE(a_loss_does_not_wake_a_program_that_never_polls),
          SCENE(the_descriptor_announces_the_end),
          SCENE(an_operation_waits_for_an_acknowledgement_that_is_late),
          SCENE(a_sender_that_counts_before_it_is_asked_is_condemned),
          SCENE(a_sender_that_counts_less_than_it_sent_is_condemned),
          SCENE(a_receiver_that_retires_twice_is_condemned),
          SCENE(a_receiver_that_took_more_than_was_sent_is_condemned))
