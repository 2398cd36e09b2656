/* Many threads in one context, each using the same services in its own way, for a while. The test
 * looks for races, and for operations that complete twice or never. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "ripc/scene/scene.h"

#define RUN_NSEC  (700 * 1000 * 1000LL)
#define ITEM_SIZE ((size_t)3 << 20) /* several pieces: the copy releases the lock in between */
#define SERVER    1
#define CLIENT    2
#define GROUP     3

struct crowd {
    struct ripc *ripc;  /* context of the threads */
    struct ripc *other; /* the context to which they also send */
    struct ripc_service *server, *client;
    struct ripc_service *far; /* service in the other context */
    int64_t end;
    atomic_uint failed;   /* line of the first failed check */
    atomic_uint accepted; /* operations */
    atomic_uint done;
    atomic_uint received;
};

/* The checks of cmocka work only in the thread of the test. */
#define EXPECT(crowd, condition)                                                                   \
    do {                                                                                           \
        unsigned none = 0;                                                                         \
        if (!(condition))                                                                          \
            atomic_compare_exchange_strong_explicit(&(crowd)->failed, &none, __LINE__,             \
                                                    memory_order_relaxed, memory_order_relaxed);   \
    } while (0)

static bool crowd_goes_on(const struct crowd *crowd)
{
    return ripc_now() < crowd->end && !crowd->failed;
}

static int64_t soon(void)
{
    return ripc_after(5 * 1000 * 1000);
}

static void *sends_short(void *argument)
{
    struct crowd *crowd = argument;
    for (unsigned i = 0; crowd_goes_on(crowd); i++) {
        int result = ripc_send(crowd->client, i % 2 ? SERVER : 77, &i, sizeof i, soon());
        EXPECT(crowd, result == 0 || result == -ETIMEDOUT);
    }
    return NULL;
}

static void *sends_long(void *argument)
{
    struct crowd *crowd = argument;
    uint8_t *data = ripc_alloc(crowd->ripc, ITEM_SIZE);
    EXPECT(crowd, data);
    memset(data, 7, ITEM_SIZE);
    for (unsigned i = 0; crowd_goes_on(crowd); i++) {
        struct iovec items[2] = {{data, ITEM_SIZE}, {data, 100}};
        struct ripc_send send = {
            .to = i % 3 ? SERVER : 77, .longs = items, .long_count = 2, .deadline = soon()};
        int64_t number = ripc_send_message(crowd->client, &send);
        EXPECT(crowd, number > 0 || number == -ETIMEDOUT);
        if (number <= 0)
            continue;
        crowd->accepted++;
        if (i % 4 == 0)
            ripc_cancel(crowd->client, number, soon());
        int result = ripc_wait(crowd->client, number, scene_deadline());
        EXPECT(crowd, result == 0 || result == -ECANCELED || result == -ENOBUFS);
        crowd->done++;
        EXPECT(crowd, ripc_wait(crowd->client, number, RIPC_NOW) == -EINVAL);
    }
    EXPECT(crowd, ripc_free(crowd->ripc, data) == 0);
    return NULL;
}

static void takes(struct crowd *crowd, struct ripc_service *service, uint8_t *memory)
{
    struct ripc_message message;
    int result = ripc_receive(service, &message, 1, soon());
    EXPECT(crowd, result == 1 || result == -ETIMEDOUT);
    if (result != 1)
        return;
    for (unsigned i = 0; i < message.long_count; i++) {
        result = ripc_fetch(&message, i, memory, ITEM_SIZE, scene_deadline());
        EXPECT(crowd, result == 0 || result == -ECANCELED);
        EXPECT(crowd, result || (memory[0] == 7 && memory[message.longs[i].size - 1] == 7));
    }
    crowd->received++;
    ripc_release(&message);
}

static void *receives(void *argument)
{
    struct crowd *crowd = argument;
    uint8_t *memory = malloc(ITEM_SIZE);
    while (crowd_goes_on(crowd))
        takes(crowd, crowd->server, memory);
    free(memory);
    return NULL;
}

static void *receives_far(void *argument)
{
    struct crowd *crowd = argument;
    uint8_t *memory = malloc(ITEM_SIZE);
    while (crowd_goes_on(crowd))
        takes(crowd, crowd->far, memory);
    free(memory);
    return NULL;
}

static void *binds(void *argument)
{
    struct crowd *crowd = argument;
    for (ripc_id id = 1000; crowd_goes_on(crowd); id++) {
        struct ripc_service *service;
        int result = ripc_bind(crowd->ripc, id % 2 ? id : 0, 0, &service);
        EXPECT(crowd, result == 0);
        if (result)
            break;
        result = ripc_send(service, id % 3 ? SERVER : 77, &id, sizeof id, soon());
        EXPECT(crowd, result == 0 || result == -ETIMEDOUT);
        EXPECT(crowd, ripc_join(service, GROUP) == 0);
        EXPECT(crowd, ripc_watch(service, SERVER) == 0);
        struct ripc_event event;
        EXPECT(crowd, ripc_poll(service, &event, 1, scene_deadline()) == 1);
        EXPECT(crowd, ripc_unbind(service) == 0);
    }
    return NULL;
}

static void *sends_to_group(void *argument)
{
    struct crowd *crowd = argument;
    while (crowd_goes_on(crowd)) {
        int result = ripc_send(crowd->client, GROUP, "all", 3, soon());
        EXPECT(crowd, result == 0 || result == -ETIMEDOUT || result == -ENOENT || result == -EPIPE);
    }
    return NULL;
}

static void count_notices(void *argument, uint64_t count, uint64_t value)
{
    atomic_uint *counter = argument;
    *counter += (unsigned)count;
}

static void *notifies(void *argument)
{
    struct crowd *crowd = argument;
    while (crowd_goes_on(crowd)) {
        atomic_uint counter = 0; /* leaves scope with this turn: no callback may come after
                                  * closing */
        struct ripc_notice *called, *waited;
        struct ripc_handle to_called, to_waited;
        int result = ripc_notice_open(crowd->ripc, count_notices, &counter, &called, &to_called);
        EXPECT(crowd, result == 0);
        result = ripc_notice_open(crowd->ripc, NULL, NULL, &waited, &to_waited);
        EXPECT(crowd, result == 0);
        for (unsigned i = 0; i < 10; i++)
            ripc_notify(crowd->client, &to_called, i, soon());
        EXPECT(crowd, ripc_notify(crowd->client, &to_waited, 5, scene_deadline()) == 0);
        uint64_t value = 0;
        EXPECT(crowd, ripc_notice_wait(waited, &value, scene_deadline()) == 1 && value == 5);
        EXPECT(crowd, ripc_notice_close(called) == 0);
        EXPECT(crowd, ripc_notice_close(waited) == 0);
    }
    return NULL;
}

static void *grants(void *argument)
{
    struct crowd *crowd = argument;
    uint8_t *data = ripc_alloc(crowd->other, ITEM_SIZE);
    uint8_t *copy = malloc(ITEM_SIZE);
    memset(data, 9, ITEM_SIZE);
    while (crowd_goes_on(crowd)) {
        struct ripc_grant grant;
        EXPECT(crowd, ripc_grant(crowd->far, CLIENT, data, ITEM_SIZE, RIPC_READ, &grant) == 0);
        int result = ripc_read(crowd->client, &grant, 0, copy, ITEM_SIZE, scene_deadline());
        EXPECT(crowd, result == 0 && copy[ITEM_SIZE - 1] == 9);
        EXPECT(crowd, ripc_revoke(crowd->far, &grant, scene_deadline()) == 0);
    }
    EXPECT(crowd, ripc_free(crowd->other, data) == 0);
    free(copy);
    return NULL;
}

static void *looks(void *argument)
{
    struct crowd *crowd = argument;
    while (crowd_goes_on(crowd)) {
        struct ripc_stats stats;
        EXPECT(crowd, ripc_stats(crowd->ripc, &stats) == 0);
        ripc_transport(crowd->client, SERVER);
        ripc_progress(crowd->ripc);
        int result = ripc_arm(crowd->server);
        EXPECT(crowd, result == 0 || result == -EAGAIN);
        ripc_free(crowd->ripc, ripc_alloc(crowd->ripc, 100000));
    }
    return NULL;
}

static void crowd_run(uint32_t flags)
{
    void *(*const work[])(void *) = {sends_short, sends_short, sends_long, sends_long,
                                     receives,    receives,    binds,      sends_to_group,
                                     notifies,    grants,      looks,      receives_far};
    enum { COUNT = sizeof work / sizeof *work };
    pthread_t threads[COUNT];
    struct ripc_config config = {.flags = flags};
    struct crowd crowd = {.ripc = scene_open(&config), .other = scene_open(NULL)};
    crowd.server = scene_bind(crowd.ripc, SERVER);
    crowd.client = scene_bind(crowd.ripc, CLIENT);
    crowd.far = scene_bind(crowd.other, 77);
    crowd.end = ripc_after(RUN_NSEC);
    for (unsigned i = 0; i < COUNT; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work[i], &crowd), 0);
    /* Receive what is sent last, too. */
    uint8_t *memory = malloc(ITEM_SIZE);
    for (unsigned i = 0; i < COUNT; i++) {
        while (pthread_tryjoin_np(threads[i], NULL) == EBUSY) {
            takes(&crowd, crowd.server, memory);
            takes(&crowd, crowd.far, memory);
        }
    }
    free(memory);
    struct ripc_stats stats;
    assert_int_equal(crowd.failed, 0);
    assert_true(crowd.received > 0 && crowd.accepted > 0);
    assert_int_equal(crowd.accepted, crowd.done);
    assert_int_equal(ripc_stats(crowd.ripc, &stats), 0);
    assert_int_equal(stats.operations, 0);
    assert_int_equal(stats.buffers, 0);
    assert_int_equal(stats.protocol_errors, 0);
    scene_close(crowd.ripc);
    scene_close(crowd.other);
}

static void many_threads_use_one_context_at_once(void **state)
{
    crowd_run(0);
}

static void many_threads_use_one_context_without_a_keeper(void **state)
{
    crowd_run(RIPC_MANUAL);
}

#define LONG_SIZE ((size_t)32 << 20)

/* A call that another thread makes into a service that is about to close. */
struct call {
    struct ripc_service *service;
    struct ripc_grant grant;
    struct ripc_message message; /* the message whose item is fetched, if it has one */
    uint8_t *to;
    int result;
};

static void *calls(void *argument)
{
    struct call *call = argument;
    call->result =
        call->message.long_count
            ? ripc_fetch(&call->message, 0, call->to, LONG_SIZE, scene_deadline())
            : ripc_read(call->service, &call->grant, 0, call->to, LONG_SIZE, scene_deadline());
    return NULL;
}

/* True once the first piece has arrived. Reads while the other thread writes. */
__attribute__((no_sanitize("thread"))) static bool has_begun(const volatile uint8_t *to)
{
    return *to != 0;
}

/* Unbinds as soon as the call has begun: unbinding waits until the call has ended. */
static void call_is_cut_short(struct call *call)
{
    pthread_t thread;
    memset(call->to, 0, LONG_SIZE);
    assert_int_equal(pthread_create(&thread, NULL, calls, call), 0);
    while (!has_begun(call->to))
        sched_yield();
    assert_int_equal(ripc_unbind(call->service), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(call->result == 0 || call->result == -ECANCELED);
}

static void a_service_closes_after_its_running_calls_end(void **state)
{
    struct ripc *here = scene_open(NULL), *there = scene_open(NULL);
    struct ripc_service *owner = scene_bind(there, 7);
    uint8_t *data = ripc_alloc(there, LONG_SIZE);
    struct call call = {.service = scene_bind(here, 8), .to = malloc(LONG_SIZE)};
    memset(data, 5, LONG_SIZE);
    assert_int_equal(ripc_grant(owner, 8, data, LONG_SIZE, RIPC_READ, &call.grant), 0);
    call_is_cut_short(&call);

    struct iovec item = {data, LONG_SIZE};
    struct ripc_send send = {
        .to = 9, .longs = &item, .long_count = 1, .deadline = scene_deadline()};
    call.service = scene_bind(here, 9);
    int64_t number = ripc_send_message(owner, &send);
    assert_true(number > 0);
    call.message = scene_receive(call.service);
    call_is_cut_short(&call);
    assert_int_equal(call.result, 0); /* once begun, a fetch is finished */
    assert_int_equal(call.to[LONG_SIZE - 1], 5);
    assert_int_equal(ripc_wait(owner, number, scene_deadline()), 0);
    scene_close(here);
    scene_close(there);
    free(call.to);
}

TEST_MAIN(SCENE(a_service_closes_after_its_running_calls_end),
          SCENE(many_threads_use_one_context_at_once),
          SCENE(many_threads_use_one_context_without_a_keeper))
