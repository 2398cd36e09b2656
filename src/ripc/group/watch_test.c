/* watch: a binding that has ended is told from one that can only not be reached. */
#include "ripc/group/watch.h"

#include <errno.h>
#include <string.h>

#include "ripc/core/waiting.h"
#include "ripc/scene/scene.h"

#define ID 42

struct stage {
    struct ripc *here, *there;
    struct ripc_service *client, *server;
    char folder[80]; /* of `there`, if that is not ours */
};

static void stage_bind(struct stage *stage)
{
    stage->client = scene_bind(stage->here, 7);
    stage->server = scene_bind(stage->there, ID);
}

static void event_await(struct stage *stage, enum ripc_event_kind kind)
{
    struct ripc_event event = {0};
    while (event.kind != kind || event.id != ID)
        assert_int_equal(ripc_poll(stage->client, &event, 1, scene_deadline()), 1);
}

static void stage_watch(struct stage *stage)
{
    assert_int_equal(ripc_watch(stage->client, ID), 0);
    event_await(stage, RIPC_UP);
}

/* Two contexts of one host. */
static void stage_open(struct stage *stage)
{
    *stage = (struct stage){.here = scene_open(NULL), .there = scene_open(NULL)};
    stage_bind(stage);
    stage_watch(stage);
}

/* Two contexts that do not share a folder, as on two hosts: the line between them is TCP. */
static void stage_open_apart(struct stage *stage, const char *folder)
{
    char domain[32];
    struct ripc_config config = {.domain = domain,
                                 .names = "multicast:239.255.87.72:27711",
                                 .transports = "udp",
                                 .address = "127.0.0.1"};
    *stage = (struct stage){0};
    snprintf(domain, sizeof domain, "watch-%d", (int)getpid());
    snprintf(stage->folder, sizeof stage->folder, "%s.b", folder);
    assert_int_equal(mkdir(stage->folder, 0700), 0);
    stage->here = scene_open(&config);
    assert_int_equal(setenv("WEFT_FOLDER", stage->folder, 1), 0);
    stage->there = scene_open(&config);
    assert_int_equal(setenv("WEFT_FOLDER", folder, 1), 0);
    stage_bind(stage);
    stage_watch(stage);
}

static void stage_close(struct stage *stage)
{
    if (stage->there)
        scene_close(stage->there);
    scene_close(stage->here);
    if (*stage->folder)
        assert_int_equal(rmdir(stage->folder), 0);
}

static void there_ends(struct stage *stage)
{
    scene_close(stage->there);
    stage->there = NULL;
}

static void say(struct stage *stage)
{
    assert_int_equal(ripc_send(stage->client, ID, "x", 1, scene_deadline()), 0);
    struct ripc_message message = scene_receive(stage->server);
    ripc_release(&message);
}

/* Returns the peer of a context, in that state; NULL if there is none. Called with the lock. */
static struct peer *peer_in(struct ripc *ripc, enum peer_state state)
{
    list_each(&ripc->peers, node)
    {
        struct peer *peer = container_of(node, struct peer, node);
        if (peer->state == state)
            return peer;
    }
    return NULL;
}

static bool peer_is_up(struct ripc *ripc)
{
    lock_take(&ripc->lock);
    bool up = peer_in(ripc, PEER_UP) != NULL;
    lock_drop(&ripc->lock);
    return up;
}

/* Cuts the line for good: this context does not connect again by itself. */
static void line_cut(struct ripc *ripc)
{
    lock_take(&ripc->lock);
    struct peer *peer = peer_in(ripc, PEER_UP);
    assert_non_null(peer);
    peer->users++;
    peer_condemn(peer);
    poller_wake(ripc->poller);
    while (peer->state != PEER_DEAD)
        waiting_pause(ripc);
    peer->users--;
    peer_settle(peer);
    lock_drop(&ripc->lock);
}

static void await_end(struct stage *stage)
{
    int64_t deadline = scene_deadline();
    while (watch_is_silent(stage->client, ID))
        assert_true(ripc_now() < deadline);
}

/* ---- on one host ---- */

static void a_live_context_that_cuts_the_line_is_silent_until_it_ends(void **state)
{
    for (int ours = 0; ours < 2; ours++) {
        struct stage stage;
        stage_open(&stage);
        say(&stage);
        line_cut(ours ? stage.here : stage.there);
        event_await(&stage, RIPC_DOWN);
        assert_true(watch_is_silent(stage.client, ID));
        there_ends(&stage);
        await_end(&stage);
        stage_close(&stage);
    }
}

static void an_end_on_one_host_is_certain_without_a_connection(void **state)
{
    struct stage stage;
    stage_open(&stage);
    assert_false(peer_is_up(stage.here));
    there_ends(&stage);
    event_await(&stage, RIPC_DOWN);
    await_end(&stage);
    stage_close(&stage);
}

static void an_id_that_is_given_up_is_not_silent(void **state)
{
    for (int connected = 0; connected < 2; connected++) {
        struct stage stage;
        stage_open(&stage);
        if (connected)
            say(&stage);
        assert_int_equal(ripc_unbind(stage.server), 0);
        event_await(&stage, RIPC_DOWN);
        assert_false(watch_is_silent(stage.client, ID));
        stage_close(&stage);
    }
}

/* ---- between hosts ---- */

static void an_id_that_is_given_up_elsewhere_is_not_silent(void **state)
{
    struct stage stage;
    stage_open_apart(&stage, *state);
    say(&stage);
    assert_int_equal(ripc_unbind(stage.server), 0);
    event_await(&stage, RIPC_DOWN);
    assert_false(watch_is_silent(stage.client, ID));
    stage_close(&stage);
}

/* The line breaks, and a probe finds that the peer lives. That must not be the last probe. */
static void a_line_that_breaks_again_is_probed_again(void **state)
{
    struct stage stage;
    stage_open_apart(&stage, *state);
    say(&stage);
    for (int turn = 0; turn < 3; turn++) {
        line_cut(stage.there);
        event_await(&stage, RIPC_DOWN);
        int64_t deadline = scene_deadline();
        while (!peer_is_up(stage.here) || !peer_is_up(stage.there))
            assert_true(ripc_now() < deadline);
        say(&stage); /* over the line of the probe */
    }
    stage_close(&stage);
}

TEST_MAIN(SCENE(a_live_context_that_cuts_the_line_is_silent_until_it_ends),
          SCENE(an_end_on_one_host_is_certain_without_a_connection),
          SCENE(an_id_that_is_given_up_is_not_silent),
          SCENE(an_id_that_is_given_up_elsewhere_is_not_silent),
          SCENE(a_line_that_breaks_again_is_probed_again))
