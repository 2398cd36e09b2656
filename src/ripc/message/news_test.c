/* Notifications, watches and event loops. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>

#include "ripc/group/watch.h"
#include "ripc/message/poll.h"
#include "ripc/scene/scene.h"
#include "transport/wake/sleeper_scene.h"

struct seen {
    _Atomic uint64_t count; /* written by the library's thread; release carries the value */
    _Atomic uint64_t value;
};

static void on_notice(void *argument, uint64_t count, uint64_t value)
{
    struct seen *seen = argument;
    atomic_store_explicit(&seen->value, value, memory_order_relaxed);
    atomic_fetch_add_explicit(&seen->count, count, memory_order_release);
}

static void every_notification_reaches_the_callback(void **state)
{
    struct ripc *here = scene_open(NULL);
    struct ripc *there = scene_open(NULL);
    struct ripc_service *sender = scene_bind(here, 0);
    struct ripc_notice *notice;
    struct ripc_handle handle;
    struct seen seen = {0};
    assert_int_equal(ripc_notice_open(there, on_notice, &seen, &notice, &handle), 0);
    for (uint64_t i = 1; i <= 1000; i++)
        assert_int_equal(ripc_notify(sender, &handle, i, scene_deadline()), 0);
    int64_t deadline = scene_deadline();
    while (atomic_load_explicit(&seen.count, memory_order_acquire) < 1000)
        assert_true(ripc_now() < deadline);
    assert_int_equal(seen.count, 1000);
    assert_int_equal(seen.value, 1000);
    assert_int_equal(ripc_notice_fd(notice), -EINVAL);
    assert_int_equal(ripc_notice_close(notice), 0);
    assert_int_equal(ripc_notify(sender, &handle, 1, scene_deadline()), 0); /* no notice is left to
                                                                             * receive it */
    scene_close(here);
    scene_close(there);
}

static void a_notice_counts_and_its_descriptor_becomes_readable(void **state)
{
    struct ripc *here = scene_open(NULL);
    struct ripc *there = scene_open(NULL);
    struct ripc_service *sender = scene_bind(here, 0);
    struct ripc_notice *notice;
    struct ripc_handle handle;
    uint64_t value = 0;
    assert_int_equal(ripc_notice_open(there, NULL, NULL, &notice, &handle), 0);
    assert_int_equal(ripc_notice_wait(notice, &value, RIPC_NOW), -EAGAIN);
    for (uint64_t i = 1; i <= 3; i++)
        assert_int_equal(ripc_notify(sender, &handle, 10 * i, scene_deadline()), 0);
    struct pollfd pollfd = {.fd = ripc_notice_fd(notice), .events = POLLIN};
    assert_int_equal(poll(&pollfd, 1, 20000), 1);
    int heard = 0;
    while (heard < 3) {
        int count = ripc_notice_wait(notice, &value, scene_deadline());
        assert_true(count > 0);
        heard += count;
    }
    assert_int_equal(heard, 3);
    assert_int_equal(value, 30);
    assert_int_equal(poll(&pollfd, 1, 0), 0);
    struct ripc_handle guess = {handle.service, handle.token ^ 1};
    assert_int_equal(ripc_notify(sender, &guess, 1, scene_deadline()), -ENOENT);
    assert_int_equal(ripc_notice_wait(notice, &value, ripc_after(SCENE_SECOND / 50)), -ETIMEDOUT);
    assert_int_equal(ripc_notice_close(notice), 0);
    scene_close(here);
    scene_close(there);
}

/* Programs send only to services that programs have bound. A message to the hidden service of the
 * notices is dropped, and its sender gets an error. */
static void a_message_to_the_hidden_service_of_notices_is_dropped(void **state)
{
    struct ripc *here = scene_open(NULL);
    struct ripc *there = scene_open(NULL);
    struct ripc_service *sender = scene_bind(here, 0);
    struct ripc_notice *notice;
    struct ripc_handle handle;
    assert_int_equal(ripc_notice_open(there, NULL, NULL, &notice, &handle), 0);
    struct iovec item = {ripc_alloc(here, 1000), 1000};
    struct ripc_send send = {
        .to = handle.service, .longs = &item, .long_count = 1, .deadline = scene_deadline()};
    int64_t operation = ripc_send_message(sender, &send);
    assert_true(operation > 0);
    assert_int_equal(ripc_wait(sender, operation, scene_deadline()), -ENOBUFS);
    assert_int_equal(ripc_notice_wait(notice, NULL, RIPC_NOW), -EAGAIN);
    scene_close(here);
    scene_close(there);
}

static void wait_for_notice(void *argument)
{
    struct ripc_notice *notice = argument;
    (void)ripc_notice_wait(notice, NULL, RIPC_FOREVER);
}

static void a_notice_on_which_a_thread_waits_cannot_be_closed(void **state)
{
    static struct sleeper sleeper;
    struct ripc *ripc = scene_open(NULL);
    struct ripc_service *sender = scene_bind(ripc, 0);
    struct ripc_notice *notice;
    struct ripc_handle handle;
    assert_int_equal(ripc_notice_open(ripc, NULL, NULL, &notice, &handle), 0);
    sleeper_start(&sleeper, wait_for_notice, notice);
    assert_int_equal(ripc_notice_close(notice), -EBUSY);
    assert_int_equal(ripc_notify(sender, &handle, 1, scene_deadline()), 0);
    sleeper_assert_woken(&sleeper);
    assert_int_equal(ripc_notice_close(notice), 0);
    scene_close(ripc);
}

/* A callback that does not return until the test lets it. */
struct gate {
    _Atomic bool inside; /* the callback stores it with release */
    _Atomic bool open;   /* the test stores it with release */
};

static void on_notice_at_a_gate(void *argument, uint64_t count, uint64_t value)
{
    struct gate *gate = argument;
    atomic_store_explicit(&gate->inside, true, memory_order_release);
    while (!atomic_load_explicit(&gate->open, memory_order_acquire))
        clock_nap(100 * 1000);
}

static void close_notice(void *argument)
{
    struct ripc_notice *notice = argument;
    (void)ripc_notice_close(notice);
}

/* Closing waits for a running callback; meanwhile another thread cannot close the notice too. */
static void a_notice_is_closed_once(void **state)
{
    static struct sleeper sleeper;
    static struct gate gate;
    struct ripc *ripc = scene_open(NULL);
    struct ripc_service *sender = scene_bind(ripc, 0);
    struct ripc_notice *notice;
    struct ripc_handle handle;
    assert_int_equal(ripc_notice_open(ripc, on_notice_at_a_gate, &gate, &notice, &handle), 0);
    assert_int_equal(ripc_notify(sender, &handle, 1, scene_deadline()), 0);
    for (int64_t end = scene_deadline(); !gate.inside;)
        assert_true(ripc_now() < end);
    sleeper_start(&sleeper, close_notice, notice);
    assert_int_equal(ripc_notice_close(notice), -EBUSY);
    assert_false(sleeper_is_done(&sleeper));
    atomic_store_explicit(&gate.open, true, memory_order_release);
    sleeper_assert_woken(&sleeper);
    scene_close(ripc);
}

static void close_itself(void *argument, uint64_t count, uint64_t value)
{
    struct ripc_notice **notice = argument;
    assert_int_equal(ripc_notice_close(*notice), 0);
}

static void a_callback_may_close_its_own_notice(void **state)
{
    static struct ripc_notice *notice;
    struct ripc *ripc = scene_open(NULL);
    struct ripc_service *sender = scene_bind(ripc, 0);
    struct ripc_handle handle;
    assert_int_equal(ripc_notice_open(ripc, close_itself, &notice, &notice, &handle), 0);
    assert_int_equal(ripc_notice_wait(notice, NULL, RIPC_NOW), -EINVAL); /* it has a callback */
    assert_int_equal(ripc_notify(sender, &handle, 1, scene_deadline()), 0);
    size_t count = 1;
    for (int64_t end = scene_deadline(); count;) {
        assert_true(ripc_now() < end);
        lock_take(&ripc->lock);
        count = ripc->notice_map.count;
        lock_drop(&ripc->lock);
    }
    scene_close(ripc);
}

static void wait_until_canceled(void *notice)
{
    assert_int_equal(ripc_notice_wait(notice, NULL, RIPC_FOREVER), -ECANCELED);
}

static void closing_the_context_ends_a_wait_for_a_notice(void **state)
{
    static struct sleeper sleeper;
    struct ripc *ripc = scene_open(NULL);
    struct ripc_notice *notice;
    struct ripc_handle handle;
    assert_int_equal(ripc_notice_open(ripc, NULL, NULL, &notice, &handle), 0);
    atomic_store(&doorbell_nap, NSEC_NEVER);
    sleeper_start(&sleeper, wait_until_canceled, notice);
    scene_close(ripc);
    sleeper_assert_woken(&sleeper);
    atomic_store(&doorbell_nap, DOORBELL_NAP_NSEC);
}

static void a_failed_ripc_fd_leaks_nothing(void **state)
{
    const struct ripc_config manual = {.flags = RIPC_MANUAL};
    struct ripc *ripc = scene_open(&manual);
    struct ripc_service *service = scene_bind(ripc, 0);
    unsigned before = scratch_descriptors();
    int bell = service->bell.event_fd;
    service->bell.event_fd = -1;
    assert_int_equal(ripc_fd(service), -EBADF);
    assert_int_equal(scratch_descriptors(), before);
    service->bell.event_fd = bell;

    struct rlimit limit, none;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = limit;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int result = ripc_fd(service);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(result, -EMFILE);
    assert_true(ripc_fd(service) > STDERR_FILENO);
    scene_close(ripc);
}

static void notifications_arrive_without_library_threads(void **state)
{
    struct ripc_config config = {.flags = RIPC_MANUAL};
    struct ripc *here = scene_open(NULL);
    struct ripc *there = scene_open(&config);
    struct ripc_service *sender = scene_bind(here, 0);
    struct ripc_notice *notice;
    struct ripc_handle handle;
    struct seen seen = {0};
    assert_int_equal(ripc_notice_open(there, on_notice, &seen, &notice, &handle), 0);
    int64_t deadline = scene_deadline();
    int result;
    while ((result = ripc_notify(sender, &handle, 5, RIPC_NOW)) == -EAGAIN)
        ripc_progress(there);
    assert_int_equal(result, 0);
    while (seen.count == 0 && ripc_now() < deadline)
        ripc_progress(there);
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.value, 5);
    scene_close(here);
    scene_close(there);
}

static void next_event_is(struct ripc_service *service, enum ripc_event_kind kind, ripc_id id)
{
    struct ripc_event event;
    assert_int_equal(ripc_poll(service, &event, 1, scene_deadline()), 1);
    assert_int_equal(event.kind, kind);
    assert_int_equal(event.id, id);
}

static void a_watch_reports_up_and_down(void **state)
{
    struct ripc *here = scene_open(NULL);
    struct ripc_service *watcher = scene_bind(here, 0);
    assert_int_equal(ripc_watch(watcher, 42), 0);
    assert_int_equal(ripc_watch(watcher, 42), -EALREADY);
    assert_int_equal(ripc_watch(watcher, 0), -EINVAL);
    assert_int_equal(ripc_unwatch(watcher, 0), -ENOENT);
    for (unsigned life = 0; life < 2; life++) {
        struct ripc *there = scene_open(NULL);
        scene_bind(there, 42);
        next_event_is(watcher, RIPC_UP, 42);
        scene_close(there);
        next_event_is(watcher, RIPC_DOWN, 42);
    }
    assert_int_equal(ripc_unwatch(watcher, 42), 0);
    assert_int_equal(ripc_unwatch(watcher, 42), -ENOENT);
    scene_close(here);
}

static void a_watch_reports_an_id_that_is_already_known(void **state)
{
    struct ripc *here = scene_open(NULL), *there = scene_open(NULL);
    struct ripc_service *first = scene_bind(here, 0), *second = scene_bind(here, 0);
    scene_bind(there, 42);
    assert_int_equal(ripc_watch(first, 42), 0);
    next_event_is(first, RIPC_UP, 42);
    assert_int_equal(ripc_watch(second, 42), 0); /* no new claim is found */
    next_event_is(second, RIPC_UP, 42);
    scene_close(there);
    next_event_is(first, RIPC_DOWN, 42);
    next_event_is(second, RIPC_DOWN, 42);
    scene_close(here);
}

/* A daemon may run without standard input: descriptor 0 is then like any other. */
static void descriptor_0_works_for_an_event_loop(void **state)
{
    const struct ripc_config manual = {.flags = RIPC_MANUAL};
    struct ripc *ripc = scene_open(&manual);
    struct ripc_service *service = scene_bind(ripc, 42);
    int input = dup(STDIN_FILENO);
    close(STDIN_FILENO);
    assert_int_equal(ripc_fd(service), 0);
    assert_int_equal(ripc_fd(service), 0); /* and not another one each time */
    assert_int_equal(ripc_unbind(service), 0);
    assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
    if (input >= 0) {
        assert_int_equal(dup2(input, STDIN_FILENO), STDIN_FILENO);
        close(input);
    }
    scene_close(ripc);
}

/* Only the event loop accepts the connection. */
static void an_event_loop_is_woken_by_a_new_connection(void **state)
{
    const struct ripc_config manual = {.flags = RIPC_MANUAL};
    struct ripc *here = scene_open(NULL), *there = scene_open(&manual);
    struct ripc_service *client = scene_bind(here, 0), *server = scene_bind(there, 42);
    struct pollfd pollfd = {.fd = ripc_fd(server), .events = POLLIN};
    assert_int_equal(ripc_arm(server), 0);
    assert_int_equal(ripc_send(client, 42, "x", 1, RIPC_NOW), -EAGAIN);
    assert_int_equal(poll(&pollfd, 1, 20000), 1);
    scene_close(there);
    scene_close(here);
}

static void an_event_loop_is_woken_by_a_message(void **state)
{
    const struct ripc_config configs[] = {{0}, {.flags = RIPC_MANUAL}};
    for (unsigned i = 0; i < 2; i++) {
        struct ripc *here = scene_open(NULL);
        struct ripc *there = scene_open(&configs[i]);
        struct ripc_service *client = scene_bind(here, 0);
        struct ripc_service *server = scene_bind(there, 42);
        int fd = ripc_fd(server);
        assert_true(fd > STDERR_FILENO); /* not a standard descriptor */
        for (unsigned round = 0; round < 20; round++) {
            struct pollfd pollfd = {.fd = fd, .events = POLLIN};
            struct ripc_message message;
            int result = ripc_send(client, 42, "x", 1, RIPC_NOW);
            /* The first message needs a connection: the loop serves that too. */
            for (;;) {
                int armed = ripc_arm(server);
                if (armed == 0)
                    assert_true(poll(&pollfd, 1, result ? 10 : 20000) >= !result);
                else
                    assert_int_equal(armed, -EAGAIN);
                if (result == -EAGAIN)
                    result = ripc_send(client, 42, "x", 1, RIPC_NOW);
                if (ripc_receive(server, &message, 1, RIPC_NOW) == 1)
                    break;
            }
            assert_int_equal(result, 0);
            ripc_release(&message);
        }
        scene_close(here);
        scene_close(there);
    }
}

static void one_wait_ends_for_a_message_an_event_or_a_wake_by_a_thread(void **state)
{
    struct ripc *here = scene_open(NULL), *there = scene_open(NULL);
    struct ripc_service *service = scene_bind(here, 1), *peer = scene_bind(there, 2);
    _Atomic bool woken = false;
    uint64_t first = 0, second = 0;
    bool is_up = false;
    assert_int_equal(service_await(service, &woken, RIPC_NOW), -EAGAIN);
    service_wake(service, &woken);
    assert_int_equal(service_await(service, &woken, scene_deadline()), SERVICE_WOKEN);
    assert_int_equal(service_await(service, &woken, RIPC_NOW), -EAGAIN);

    assert_int_equal(ripc_send(peer, 1, "hello", 6, scene_deadline()), 0);
    assert_int_equal(service_await(service, &woken, scene_deadline()), 1);
    struct ripc_message message = scene_receive(service);
    ripc_release(&message);

    struct ripc_event event;
    assert_int_equal(watch_state(service, 2, &first, &is_up), -ENOENT);
    assert_int_equal(ripc_watch(service, 2), 0);
    assert_int_equal(service_await(service, &woken, scene_deadline()), 1);
    assert_int_equal(ripc_poll(service, &event, 1, scene_deadline()), 1);
    assert_int_equal(watch_state(service, 2, &first, &is_up), 0);
    assert_true(is_up && first == peer->incarnation);
    ripc_unbind(peer);
    assert_int_equal(ripc_poll(service, &event, 1, scene_deadline()), 1);
    assert_int_equal(event.kind, RIPC_DOWN);
    assert_int_equal(watch_state(service, 2, &second, &is_up), 0);
    assert_true(!is_up && second == first);
    scene_close(here);
    scene_close(there);
}

TEST_MAIN(SCENE(every_notification_reaches_the_callback),
          SCENE(a_notice_counts_and_its_descriptor_becomes_readable),
          SCENE(a_notice_on_which_a_thread_waits_cannot_be_closed), SCENE(a_notice_is_closed_once),
          SCENE(a_message_to_the_hidden_service_of_notices_is_dropped),
          SCENE(descriptor_0_works_for_an_event_loop), SCENE(a_callback_may_close_its_own_notice),
          SCENE(closing_the_context_ends_a_wait_for_a_notice),
          SCENE(a_failed_ripc_fd_leaks_nothing),
          SCENE(notifications_arrive_without_library_threads), SCENE(a_watch_reports_up_and_down),
          SCENE(a_watch_reports_an_id_that_is_already_known),
          SCENE(an_event_loop_is_woken_by_a_new_connection),
          SCENE(an_event_loop_is_woken_by_a_message),
          SCENE(one_wait_ends_for_a_message_an_event_or_a_wake_by_a_thread))
