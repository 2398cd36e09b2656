/* Wake-ups of threads that sleep in a call of ripc. Bells of this program have no safety timeout,
 * and the calls have no deadline: each test fails if the wake-up that it tests is removed. */
#include <errno.h>
#include <stdlib.h>

#include "ripc/message/poll.h"
#include "ripc/scene/scene.h"
#include "transport/wake/sleeper_scene.h"

#define HERE  1
#define THERE 2

/* Two contexts with a service each; the sleeper sleeps in the first. Allocated on the heap, because
 * a sleeper that is not woken continues to use it. */
struct stage {
    struct ripc *here, *there;
    struct ripc_service *service, *peer;
    struct sleeper sleeper;
    _Atomic bool woken; /* flag of service_await */
    struct ripc_notice *notice;
    int64_t operation;
    int result;              /* of the sleeper's call */
    struct ripc_event event; /* what the sleeper got ... */
    struct ripc_message message;
};

static struct stage *stage_open(const struct ripc_config *config)
{
    struct stage *stage = calloc(1, sizeof *stage);
    assert_non_null(stage);
    stage->here = scene_open(config);
    stage->there = scene_open(NULL);
    stage->service = scene_bind(stage->here, HERE);
    stage->peer = scene_bind(stage->there, THERE);
    return stage;
}

static void stage_close(struct stage *stage)
{
    scene_close(stage->here);
    scene_close(stage->there);
    free(stage);
}

static void await_word(void *argument)
{
    struct stage *stage = argument;
    stage->result = service_await(stage->service, &stage->woken, RIPC_FOREVER);
}

static void service_wake_wakes_a_sleeping_thread(void **state)
{
    struct stage *stage = stage_open(NULL);
    sleeper_start(&stage->sleeper, await_word, stage);
    service_wake(stage->service, &stage->woken);
    sleeper_assert_woken(&stage->sleeper);
    assert_int_equal(stage->result, SERVICE_WOKEN);
    stage_close(stage);
}

static void receive(void *argument)
{
    struct stage *stage = argument;
    stage->result = ripc_receive(stage->service, &stage->message, 1, RIPC_FOREVER);
}

/* The first message opens the pipe; the second uses the open pipe. */
static void a_message_wakes_a_sleeping_receiver(void **state)
{
    struct stage *stage = stage_open(NULL);
    for (unsigned i = 0; i < 2; i++) {
        sleeper_start(&stage->sleeper, receive, stage);
        assert_int_equal(ripc_send(stage->peer, HERE, "x", 1, scene_deadline()), 0);
        sleeper_assert_woken(&stage->sleeper);
        assert_int_equal(stage->result, 1);
        ripc_release(&stage->message);
    }
    stage_close(stage);
}

static void take_event(void *argument)
{
    struct stage *stage = argument;
    stage->result = ripc_poll(stage->service, &stage->event, 1, RIPC_FOREVER);
}

static void an_event_of_a_watched_id_wakes_a_sleeping_thread(void **state)
{
    struct stage *stage = stage_open(NULL);
    assert_int_equal(ripc_watch(stage->service, THERE), 0);
    take_event(stage);
    assert_int_equal(stage->event.kind, RIPC_UP);
    sleeper_start(&stage->sleeper, take_event, stage);
    ripc_unbind(stage->peer);
    sleeper_assert_woken(&stage->sleeper);
    assert_int_equal(stage->event.kind, RIPC_DOWN);
    stage_close(stage);
}

static void unbind(void *argument)
{
    ripc_unbind(argument); /* waits until no thread waits any more, so it runs in its own thread */
}

static void unbinding_wakes_a_thread_that_waits_for_a_message(void **state)
{
    struct stage *stage = stage_open(NULL);
    static struct sleeper unbinder;
    sleeper_start(&stage->sleeper, receive, stage);
    sleeper_begin(&unbinder, unbind, stage->service);
    sleeper_assert_woken(&stage->sleeper);
    sleeper_assert_woken(&unbinder);
    assert_true(stage->result < 0);
    stage_close(stage);
}

static void await_notice(void *argument)
{
    struct stage *stage = argument;
    uint64_t value;
    stage->result = ripc_notice_wait(stage->notice, &value, RIPC_FOREVER);
}

/* A context without threads of its own waits for a notification in a different way. */
static void a_notification_wakes_a_waiting_thread(void **state)
{
    for (unsigned manual = 0; manual < 2; manual++) {
        const struct ripc_config config = {.flags = manual ? RIPC_MANUAL : 0};
        struct stage *stage = stage_open(&config);
        struct ripc_handle handle;
        assert_int_equal(ripc_notice_open(stage->here, NULL, NULL, &stage->notice, &handle), 0);
        sleeper_start(&stage->sleeper, await_notice, stage);
        assert_int_equal(ripc_notify(stage->peer, &handle, 7, scene_deadline()), 0);
        sleeper_assert_woken(&stage->sleeper);
        assert_int_equal(stage->result, 1);
        assert_int_equal(ripc_notice_close(stage->notice), 0);
        stage_close(stage);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE(service_wake_wakes_a_sleeping_thread),
        SCENE(a_message_wakes_a_sleeping_receiver),
        SCENE(an_event_of_a_watched_id_wakes_a_sleeping_thread),
        SCENE(unbinding_wakes_a_thread_that_waits_for_a_message),
        SCENE(a_notification_wakes_a_waiting_thread),
    };
    atomic_store(&doorbell_nap, NSEC_NEVER);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
