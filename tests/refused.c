/* refused: long items in foreign memory where the kernel does not let one process read another's,
 * as in containers and under hardened kernels. The receiver then asks the sender for a copy that it
 * can map. The linker redirects process_vm_readv to this file. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/uio.h>

#include "ripc/scene/scene.h"

#define SIZE ((size_t)3 << 20)

static unsigned refusals;

ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *local, unsigned long local_count,
                                const struct iovec *remote, unsigned long remote_count,
                                unsigned long flags);

ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *local, unsigned long local_count,
                                const struct iovec *remote, unsigned long remote_count,
                                unsigned long flags)
{
    refusals++;
    errno = EPERM;
    return -1;
}

struct pair {
    struct ripc *here, *there;
    struct ripc_service *client, *server; /* client in here, server (42) in there */
    uint8_t *data, *window;               /* not allocated by ripc; SIZE bytes each */
    int64_t operation;
};

static struct pair pair_send(uint32_t flags, bool post)
{
    struct ripc_config config = {.flags = flags};
    struct pair pair = {.here = scene_open(&config), .there = scene_open(NULL)};
    pair.client = scene_bind(pair.here, 0);
    pair.server = scene_bind(pair.there, 42);
    pair.data = malloc(SIZE);
    pair.window = malloc(SIZE);
    for (size_t i = 0; i < SIZE; i++)
        pair.data[i] = (uint8_t)(i * 29 + (i >> 11));
    assert_int_equal(ripc_register(pair.here, pair.data, SIZE), 0);
    if (post)
        assert_int_equal(ripc_window_add(pair.there, pair.server, pair.window, SIZE), 0);
    struct iovec items[2] = {{pair.data, SIZE}, {pair.data + 1, 100}};
    struct ripc_send send = {
        .to = 42, .longs = items, .long_count = 2, .deadline = scene_deadline()};
    refusals = 0;
    pair.operation = ripc_send_message(pair.client, &send);
    assert_true(pair.operation > 0);
    return pair;
}

static void pair_free(struct pair *pair)
{
    free(pair->data);
    free(pair->window);
}

static void a_receiver_that_may_not_read_the_sender_gets_a_copy(void **state)
{
    struct pair pair = pair_send(0, true);
    uint8_t few[100];
    struct ripc_message message = scene_receive(pair.server);
    assert_true(refusals > 0);
    assert_int_equal(message.longs[0].status, 0);
    assert_ptr_equal(message.longs[0].data, pair.window);
    assert_memory_equal(pair.window, pair.data, SIZE);
    assert_int_equal(message.longs[1].status, -EINPROGRESS);
    assert_int_equal(ripc_fetch(&message, 1, few, 100, scene_deadline()), 0);
    assert_memory_equal(few, pair.data + 1, 100);
    ripc_release(&message);
    assert_int_equal(ripc_wait(pair.client, pair.operation, scene_deadline()), 0);
    struct ripc_stats stats;
    assert_int_equal(ripc_stats(pair.here, &stats), 0);
    assert_int_equal(stats.buffers, 0); /* the copies were freed */
    assert_int_equal(ripc_unregister(pair.here, pair.data), 0);
    scene_close(pair.here);
    scene_close(pair.there);
    pair_free(&pair);
}

/* The sender has no thread, so it never answers the request for a copy. */
static void a_receiver_stops_waiting_for_a_copy_when_its_sender_goes(void **state)
{
    for (unsigned dies = 0; dies < 2; dies++) {
        struct pair pair = pair_send(RIPC_MANUAL, true);
        struct ripc_message message;
        assert_int_equal(ripc_receive(pair.server, &message, 1, ripc_after(20000000)), -ETIMEDOUT);
        if (dies)
            assert_int_equal(ripc_close(pair.here, RIPC_NOW), -ETIMEDOUT);
        else
            assert_int_equal(ripc_unbind(pair.client), 0);
        message = scene_receive(pair.server);
        assert_true(message.longs[0].status == -ECANCELED || message.longs[0].status == -EPIPE);
        assert_null(message.longs[0].data);
        ripc_release(&message);
        assert_int_equal(ripc_window_remove(pair.there, pair.server, pair.window), 0);
        if (!dies)
            scene_close(pair.here);
        scene_close(pair.there);
        pair_free(&pair);
    }
}

static void *unbind(void *argument)
{
    return ripc_unbind(argument) == 0 ? NULL : argument;
}

static void a_service_that_waits_for_a_copy_closes_when_the_sender_dies(void **state)
{
    struct pair pair = pair_send(RIPC_MANUAL, true);
    struct ripc_message message;
    assert_int_equal(ripc_receive(pair.server, &message, 1, ripc_after(20000000)), -ETIMEDOUT);
    pthread_t thread;
    void *failed;
    assert_int_equal(pthread_create(&thread, NULL, unbind, pair.server), 0);
    for (int64_t end = ripc_after(20000000); ripc_now() < end;)
        sched_yield();
    assert_int_equal(ripc_close(pair.here, RIPC_NOW), -ETIMEDOUT);
    assert_int_equal(pthread_join(thread, &failed), 0);
    assert_null(failed);
    scene_close(pair.there);
    pair_free(&pair);
}

TEST_MAIN(SCENE(a_receiver_that_may_not_read_the_sender_gets_a_copy),
          SCENE(a_receiver_stops_waiting_for_a_copy_when_its_sender_goes),
          SCENE(a_service_that_waits_for_a_copy_closes_when_the_sender_dies))
