/* revival: the node to which two programs are attached dies and returns. */
#include <errno.h>
#include <string.h>

#include "ripc/core/context.h"
#include "ripc/scene/scene.h"
#include "transport/routed/relay_scene.h"

#define SERVER 42
#define BEFORE 20 /* messages while everything works ... */
#define LOST   5  /* ... and messages just before the node dies, which the relay drops */

struct stage {
    const char *folder;
    struct relay relay;
    struct ripc *here, *there;
    struct ripc_service *client, *server;
};

static void stage_open(struct stage *stage, const char *folder, const char *ways)
{
    stage->folder = folder;
    relay_open(&stage->relay, folder);
    struct ripc_config config = {.transports = ways, .names = "host", .node = stage->relay.path};
    stage->here = scene_open(&config);
    stage->there = scene_open(&config);
    stage->client = scene_bind(stage->here, 7);
    stage->server = scene_bind(stage->there, SERVER);
}

static void stage_close(struct stage *stage)
{
    scene_close(stage->here);
    scene_close(stage->there);
    relay_end(&stage->relay);
}

static struct ripc_stats stats_of(struct ripc *ripc)
{
    struct ripc_stats stats;
    assert_int_equal(ripc_stats(ripc, &stats), 0);
    return stats;
}

/* Ends the node and waits until both contexts have noticed that they lost each other. */
static void node_dies(struct stage *stage)
{
    uint64_t here = stats_of(stage->here).peers_lost, there = stats_of(stage->there).peers_lost;
    relay_end(&stage->relay);
    int64_t deadline = scene_deadline();
    while (stats_of(stage->here).peers_lost == here || stats_of(stage->there).peers_lost == there)
        assert_true(ripc_now() < deadline);
}

static void node_revives(struct stage *stage)
{
    relay_open(&stage->relay, stage->folder);
}

static void say(struct stage *stage, uint32_t number)
{
    assert_int_equal(ripc_send(stage->client, SERVER, &number, sizeof number, scene_deadline()), 0);
}

/* Sends as soon as there is a path again. The context that reconnects first may find that the other
 * one is not back yet. */
static void say_at_last(struct stage *stage, uint32_t number)
{
    int64_t deadline = scene_deadline();
    int result = -EPIPE;
    while (result == -EPIPE || result == -ECONNREFUSED || result == -ENOENT)
        result = ripc_send(stage->client, SERVER, &number, sizeof number, deadline);
    assert_int_equal(result, 0);
}

static void hear(struct stage *stage, uint32_t number)
{
    struct ripc_message message = scene_receive(stage->server);
    assert_int_equal(message.from, 7);
    assert_int_equal(message.size, sizeof number);
    assert_memory_equal(message.data, &number, sizeof number);
    assert_int_equal(ripc_send(stage->server, 7, &number, sizeof number, scene_deadline()), 0);
    ripc_release(&message);
    message = scene_receive(stage->client);
    assert_memory_equal(message.data, &number, sizeof number);
    ripc_release(&message);
}

static void a_conversation_continues_after_the_node_returns(void **state)
{
    static struct stage stage;
    struct ripc_message message;
    stage_open(&stage, *state, "routed");
    uint32_t number = 0;
    for (unsigned round = 0; round < 2; round++) {
        say_at_last(&stage, number);
        hear(&stage, number++);
        for (uint32_t i = 0; i < BEFORE; i++) {
            say(&stage, number);
            hear(&stage, number++);
        }
        stage.relay.lose = 100;
        uint64_t doubtful = stats_of(stage.here).doubtful;
        for (uint32_t i = 0; i < LOST; i++)
            say(&stage, number++); /* these are lost */
        node_dies(&stage);
        assert_true(stats_of(stage.here).doubtful >= doubtful + LOST);
        assert_int_equal(ripc_send(stage.client, SERVER, "x", 1, RIPC_NOW), -EAGAIN);
        assert_int_equal(ripc_send(stage.client, SERVER, "x", 1, ripc_after(1000 * 1000)),
                         -ETIMEDOUT);
        node_revives(&stage);
    }
    say_at_last(&stage, number);
    hear(&stage, number); /* the next message that arrives: none is late or duplicated */
    assert_int_equal(ripc_receive(stage.server, &message, 1, RIPC_NOW), -EAGAIN);
    assert_string_equal(ripc_transport(stage.client, SERVER), "routed");
    stage_close(&stage);
}

/* A send that waits when the node dies continues when the node is back. */
static void a_waiting_send_continues_after_the_node_returns(void **state)
{
    static struct stage stage;
    stage_open(&stage, *state, "routed");
    say(&stage, 1);
    hear(&stage, 1);
    node_dies(&stage);
    struct ripc_config config = {.transports = "routed", .names = "host", .node = stage.relay.path};
    char reason[RIPC_REASON_MAX];
    struct ripc *late;
    config.reason = reason;
    assert_int_equal(ripc_open(&config, &late), -ENOENT); /* opening a context fails while the node
                                                           * is dead */
    assert_non_null(strstr(reason, stage.relay.path));
    assert_int_equal(ripc_send(stage.client, SERVER, "x", 1, RIPC_NOW), -EAGAIN);
    node_revives(&stage);
    struct ripc_event event = {0};
    while (event.kind != RIPC_CREDIT) /* the send can be retried */
        assert_int_equal(ripc_poll(stage.client, &event, 1, scene_deadline()), 1);
    assert_int_equal(event.id, SERVER);
    say_at_last(&stage, 2);
    hear(&stage, 2);
    stage_close(&stage);
}

static void operations_fail_when_the_node_dies(void **state)
{
    static struct stage stage;
    stage_open(&stage, *state, "routed");
    char *item = ripc_alloc(stage.here, 100000);
    assert_non_null(item);
    memset(item, 'i', 100000);
    struct iovec longs = {item, 100000};
    struct ripc_send send = {
        .to = SERVER, .longs = &longs, .long_count = 1, .deadline = scene_deadline()};
    int64_t operation = ripc_send_message(stage.client, &send);
    assert_true(operation > 0);
    struct ripc_message message = scene_receive(stage.server);
    assert_int_equal(message.longs[0].status, -EINPROGRESS);
    node_dies(&stage);
    assert_int_equal(ripc_wait(stage.client, operation, scene_deadline()), -EPIPE);
    assert_int_equal(ripc_fetch(&message, 0, item, 100000, scene_deadline()), -EPIPE);
    ripc_release(&message);
    node_revives(&stage);
    say_at_last(&stage, 2);
    hear(&stage, 2);
    send.deadline = scene_deadline();
    operation = ripc_send_message(stage.client, &send);
    assert_true(operation > 0);
    message = scene_receive(stage.server);
    static char copy[100000];
    assert_int_equal(ripc_fetch(&message, 0, copy, sizeof copy, scene_deadline()), 0);
    assert_memory_equal(copy, item, sizeof copy);
    ripc_release(&message);
    assert_int_equal(ripc_wait(stage.client, operation, scene_deadline()), 0);
    assert_int_equal(ripc_free(stage.here, item), 0);
    stage_close(&stage);
}

/* Leaves out RIPC_LOST: if the node dies before the message that was heard is acknowledged, the
 * client cannot know that it has arrived. */
static struct ripc_event event_next(struct ripc_service *service)
{
    struct ripc_event event = {0};
    do
        assert_int_equal(ripc_poll(service, &event, 1, scene_deadline()), 1);
    while (event.kind == RIPC_LOST);
    return event;
}

static void a_watch_reports_the_loss_and_the_return(void **state)
{
    static struct stage stage;
    stage_open(&stage, *state, "routed");
    assert_int_equal(ripc_watch(stage.client, SERVER), 0);
    assert_int_equal(event_next(stage.client).kind, RIPC_UP);
    say(&stage, 1);
    hear(&stage, 1);
    node_dies(&stage);
    assert_int_equal(event_next(stage.client).kind, RIPC_DOWN);
    node_revives(&stage);
    struct ripc_event event = event_next(stage.client);
    assert_int_equal(event.kind, RIPC_UP);
    assert_int_equal(event.id, SERVER);
    stage_close(&stage);
}

static bool is_adrift(struct ripc *ripc)
{
    lock_take(&ripc->lock);
    bool adrift = ripc->adrift;
    lock_drop(&ripc->lock);
    return adrift;
}

static void adrift_await(const struct stage *stage, bool wanted)
{
    int64_t deadline = scene_deadline();
    while (is_adrift(stage->here) != wanted || is_adrift(stage->there) != wanted)
        assert_true(ripc_now() < deadline);
}

static void a_peer_reached_without_the_node_stays_connected(void **state)
{
    static struct stage stage;
    uint32_t number = 0;
    stage_open(&stage, *state, "shm,routed");
    for (unsigned i = 0; i < 3; i++) {
        say(&stage, number);
        hear(&stage, number++);
        if (i == 0)
            relay_end(&stage.relay);
        if (i == 1)
            node_revives(&stage);
        adrift_await(&stage, i == 0);
    }
    assert_string_equal(ripc_transport(stage.client, SERVER), "shm");
    assert_int_equal(stats_of(stage.here).peers_lost + stats_of(stage.there).peers_lost, 0);
    stage_close(&stage);
}

/* Only the directory can report that an id is unclaimed, and it may be slow. */
static void a_missing_answer_does_not_mean_that_an_id_is_unclaimed(void **state)
{
    static struct relay relay;
    relay_open(&relay, *state);
    struct ripc *ripc = scene_open(
        &(struct ripc_config){.transports = "routed", .names = "directory", .node = relay.path});
    struct ripc_service *client = scene_bind(ripc, 7);
    relay.mute = true;
    assert_int_equal(ripc_send(client, SERVER, "x", 1, ripc_after(SCENE_SECOND)), -ETIMEDOUT);
    relay.mute = false;
    assert_int_equal(ripc_send(client, SERVER, "x", 1, scene_deadline()), -ENOENT);
    scene_close(ripc);
    relay_end(&relay);
}

TEST_MAIN(SCENE(a_conversation_continues_after_the_node_returns),
          SCENE(a_waiting_send_continues_after_the_node_returns),
          SCENE(operations_fail_when_the_node_dies), SCENE(a_watch_reports_the_loss_and_the_return),
          SCENE(a_peer_reached_without_the_node_stays_connected),
          SCENE(a_missing_answer_does_not_mean_that_an_id_is_unclaimed))
