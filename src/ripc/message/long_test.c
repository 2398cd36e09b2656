#include <errno.h>
#include <string.h>

#include "ripc/core/dying_scene.h"
#include "ripc/core/peer.h"
#include "ripc/core/waiting.h"
#include "ripc/scene/scene.h"
#include "transport/wake/sleeper_scene.h"

struct pair {
    struct ripc *here, *there;
    struct ripc_service *client, *server; /* client in here, server (42) in there */
};

static struct pair pair_open(void)
{
    struct pair pair = {.here = scene_open(NULL), .there = scene_open(NULL)};
    pair.client = scene_bind(pair.here, 0);
    pair.server = scene_bind(pair.there, 42);
    return pair;
}

static void pair_close(struct pair *pair)
{
    scene_close(pair->here);
    scene_close(pair->there);
}

static void fill(uint8_t *data, size_t size, unsigned seed)
{
    for (size_t i = 0; i < size; i++)
        data[i] = (uint8_t)(i * 31 + i / 255 + seed);
}

static int64_t send_long(struct pair *pair, void *data, size_t size)
{
    struct iovec item = {data, size};
    struct ripc_send send = {
        .to = 42,
        .longs = &item,
        .long_count = 1,
        .user = 99,
        .deadline = scene_deadline(),
    };
    return ripc_send_message(pair->client, &send);
}

static void an_item_arrives_in_the_smallest_window_that_holds_it(void **state)
{
    struct pair pair = pair_open();
    const size_t sizes[] = {1, 4096, 100000, 5 << 20};
    for (unsigned i = 0; i < 4; i++) {
        uint8_t *data = ripc_alloc(pair.here, sizes[i]);
        uint8_t *window = malloc(sizes[i]);
        uint8_t *large = malloc(sizes[i] + 1);
        fill(data, sizes[i], i);
        assert_int_equal(ripc_window_add(pair.there, NULL, large, sizes[i] + 1), 0);
        assert_int_equal(ripc_window_add(pair.there, pair.server, window, sizes[i]), 0);
        int64_t operation = send_long(&pair, data, sizes[i]);
        assert_true(operation > 0);
        assert_int_equal(ripc_free(pair.here, data), -EBUSY);
        struct ripc_message message = scene_receive(pair.server);
        assert_int_equal(message.long_count, 1);
        assert_int_equal(message.longs[0].status, 0);
        assert_ptr_equal(message.longs[0].data, window);
        assert_int_equal(message.longs[0].size, sizes[i]);
        assert_memory_equal(window, data, sizes[i]);
        ripc_release(&message);
        struct ripc_event event;
        assert_int_equal(ripc_poll(pair.client, &event, 1, scene_deadline()), 1);
        assert_int_equal(event.kind, RIPC_DONE);
        assert_int_equal(event.operation, operation);
        assert_int_equal(event.user, 99);
        assert_int_equal(event.status, 0);
        assert_int_equal(ripc_free(pair.here, data), 0);
        assert_int_equal(ripc_free(pair.here, data), -EALREADY);
        assert_int_equal(ripc_window_remove(pair.there, pair.server, window), -ENOENT);
        assert_int_equal(ripc_window_remove(pair.there, NULL, large), 0);
        free(window);
        free(large);
    }
    pair_close(&pair);
}

static void the_memory_of_a_window_is_used_until_it_is_filled_or_removed(void **state)
{
    struct pair pair = pair_open();
    uint8_t *data = ripc_alloc(pair.here, 5000);
    uint8_t *window = ripc_alloc(pair.there, 5000);
    uint8_t foreign[100];
    assert_int_equal(ripc_window_add(pair.there, pair.server, window, 5000), 0);
    assert_int_equal(ripc_free(pair.there, window), -EBUSY);
    assert_int_equal(ripc_window_remove(pair.there, pair.server, window), 0);
    assert_int_equal(ripc_window_add(pair.there, NULL, window, 5000), 0);
    assert_int_equal(ripc_free(pair.there, window), -EBUSY);
    int64_t operation = send_long(&pair, data, 5000);
    struct ripc_message message = scene_receive(pair.server);
    assert_ptr_equal(message.longs[0].data, window);
    assert_int_equal(ripc_free(pair.there, window), 0);
    ripc_release(&message);
    assert_int_equal(ripc_wait(pair.client, operation, scene_deadline()), 0);

    /* Memory that is registered after it was posted as a window is not used by that window. */
    assert_int_equal(ripc_window_add(pair.there, pair.server, foreign, 100), 0);
    assert_int_equal(ripc_register(pair.there, foreign, 100), 0);
    assert_int_equal(ripc_unregister(pair.there, foreign), 0);
    assert_int_equal(ripc_register(pair.there, foreign, 100), 0);
    assert_int_equal(ripc_window_remove(pair.there, pair.server, foreign), 0);
    assert_int_equal(ripc_unregister(pair.there, foreign), 0);

    /* A service that closes releases its windows. */
    window = ripc_alloc(pair.there, 5000);
    assert_int_equal(ripc_window_add(pair.there, pair.server, window, 5000), 0);
    assert_int_equal(ripc_unbind(pair.server), 0);
    assert_int_equal(ripc_free(pair.there, window), 0);
    window = ripc_alloc(pair.there, 5000);
    assert_int_equal(ripc_window_add(pair.there, NULL, window, 5000), 0);
    pair_close(&pair);
}

static void registered_memory_is_read_in_place(void **state)
{
    struct pair pair = pair_open();
    const size_t size = 300000;
    uint8_t *data = malloc(size);
    uint8_t *window = malloc(size);
    fill(data, size, 5);
    assert_int_equal(send_long(&pair, data, size), -EFAULT);
    assert_int_equal(ripc_register(pair.here, data, size), 0);
    assert_int_equal(ripc_register(pair.here, data + 10, 5), -EEXIST);
    assert_int_equal(ripc_register(pair.here, (void *)4096, 4096), -EFAULT);
    assert_int_equal(ripc_window_add(pair.there, NULL, window, size), 0);
    int64_t operation = send_long(&pair, data, size);
    assert_true(operation > 0);
    assert_int_equal(ripc_unregister(pair.here, data), -EBUSY);
    struct ripc_message message = scene_receive(pair.server);
    assert_int_equal(message.longs[0].status, 0);
    assert_memory_equal(window, data, size);
    ripc_release(&message);
    assert_int_equal(ripc_wait(pair.client, operation, scene_deadline()), 0);
    assert_int_equal(ripc_unregister(pair.here, data), 0);
    free(data);
    free(window);
    pair_close(&pair);
}

static void an_item_without_a_window_is_pending_until_fetched_or_rejected(void **state)
{
    struct pair pair = pair_open();
    uint8_t *data = ripc_alloc(pair.here, 5000);
    uint8_t to[5000];
    fill(data, 5000, 1);
    struct iovec items[2] = {{data, 5000}, {data, 100}};
    struct ripc_send send = {
        .to = 42, .longs = items, .long_count = 2, .deadline = scene_deadline()};
    int64_t operation = ripc_send_message(pair.client, &send);
    assert_true(operation > 0);
    struct ripc_message message = scene_receive(pair.server);
    assert_int_equal(message.longs[0].status, -EINPROGRESS);
    assert_null(message.longs[0].data);
    assert_int_equal(ripc_wait(pair.client, operation, RIPC_NOW), -EAGAIN);
    assert_int_equal(ripc_fetch(&message, 0, to, 4999, scene_deadline()), -EMSGSIZE);
    assert_int_equal(ripc_fetch(&message, 0, to, 5000, ripc_now() - 1), -ETIMEDOUT);
    assert_int_equal(ripc_fetch(&message, 0, to, 5000, scene_deadline()), 0);
    assert_memory_equal(to, data, 5000);
    assert_int_equal(ripc_fetch(&message, 0, to, 5000, scene_deadline()), -ESTALE);
    assert_int_equal(ripc_fetch(&message, 2, to, 5000, scene_deadline()), -EINVAL);
    assert_int_equal(ripc_reject(&message, 2), -EINVAL);
    assert_int_equal(ripc_reject(&message, 1), 0);
    assert_int_equal(ripc_reject(&message, 1), -ESTALE);
    assert_int_equal(ripc_wait(pair.client, operation, scene_deadline()), -ENOBUFS);
    ripc_release(&message);
    assert_int_equal(ripc_free(pair.here, data), 0);
    pair_close(&pair);
}

static void a_send_from_unregistered_memory_fails_and_leaves_nothing_in_use(void **state)
{
    struct pair pair = pair_open();
    uint8_t *data = ripc_alloc(pair.here, 5000), foreign[10];
    struct iovec items[2] = {{data, 5000}, {foreign, 10}};
    struct ripc_send send = {
        .to = 42, .longs = items, .long_count = 2, .deadline = scene_deadline()};
    assert_int_equal(ripc_send_message(pair.client, &send), -EFAULT);
    assert_int_equal(ripc_free(pair.here, data), 0);
    pair_close(&pair);
}

static void an_item_of_a_sender_that_left_is_cancelled(void **state)
{
    struct pair pair = pair_open();
    uint8_t *data = ripc_alloc(pair.here, 5000), window[5000];
    assert_int_equal(ripc_send(pair.client, 42, "x", 1, scene_deadline()), 0);
    struct ripc_message message = scene_receive(pair.server);
    ripc_release(&message);
    assert_true(send_long(&pair, data, 5000) > 0);
    assert_int_equal(ripc_window_add(pair.there, pair.server, window, 5000), 0);
    assert_int_equal(ripc_unbind(pair.client), 0);
    assert_int_equal(ripc_free(pair.here, data), 0);
    struct ripc_service *second = scene_bind(pair.here, 0);
    assert_int_equal(ripc_send(second, 42, "y", 1, scene_deadline()), 0);
    unsigned canceled = 0;
    do { /* the opening of another pipe arrives after the end of the first */
        message = scene_receive(pair.server);
        canceled += message.long_count && message.longs[0].status == -ECANCELED;
        ripc_release(&message);
    } while (message.from != ripc_service_id(second));
    assert_int_equal(canceled, 1);
    assert_int_equal(ripc_window_remove(pair.there, pair.server, window), 0); /* it was not used */
    pair_close(&pair);
}

static void long_items_and_return_buffers_travel_over_udp_alone(void **state)
{
    struct ripc_config config = {.transports = "udp", .address = "127.0.0.1"};
    struct pair pair = {.here = scene_open(&config), .there = scene_open(&config)};
    enum { SIZE = 300000 };
    pair.client = scene_bind(pair.here, 0);
    pair.server = scene_bind(pair.there, 42);
    uint8_t *data = ripc_alloc(pair.here, SIZE), *back = ripc_alloc(pair.here, SIZE);
    uint8_t *copy = ripc_alloc(pair.there, SIZE);
    for (size_t i = 0; i < SIZE; i++)
        data[i] = (uint8_t)(i % 251);
    struct ripc_send send = {
        .to = 42,
        .longs = &(struct iovec){data, SIZE},
        .long_count = 1,
        .returns = &(struct iovec){back, SIZE},
        .return_count = 1,
        .deadline = scene_deadline(),
    };
    int64_t there = ripc_send_message(pair.client, &send);
    assert_true(there > 0);
    struct ripc_message message = scene_receive(pair.server);
    assert_int_equal(ripc_fetch(&message, 0, copy, SIZE, scene_deadline()), 0);
    assert_memory_equal(copy, data, SIZE);
    assert_int_equal(ripc_wait(pair.client, there, scene_deadline()), 0);
    struct ripc_send reply = {
        .to = message.from,
        .longs = &(struct iovec){copy, SIZE},
        .long_count = 1,
        .deadline = scene_deadline(),
    };
    ripc_release(&message);
    assert_int_equal(ripc_send_message(pair.server, &reply), 0); /* it is in the buffer already */
    message = scene_receive(pair.client);
    assert_true(message.longs[0].returned);
    assert_ptr_equal(message.longs[0].data, back);
    assert_memory_equal(back, data, SIZE);
    ripc_release(&message);
    pair_close(&pair);
}

struct waiter {
    struct ripc_service *service;
    int64_t operation;
};

static void wait_for_operation(void *argument)
{
    struct waiter *waiter = argument;
    assert_int_equal(ripc_wait(waiter->service, waiter->operation, RIPC_FOREVER), -ENOBUFS);
}

static void only_one_thread_may_wait_for_an_operation(void **state)
{
    static struct sleeper sleeper;
    static struct waiter waiter;
    struct pair pair = pair_open();
    struct ripc_event event;
    uint8_t *data = ripc_alloc(pair.here, 5000);
    waiter = (struct waiter){pair.client, send_long(&pair, data, 5000)};
    assert_true(waiter.operation > 0);
    sleeper_start(&sleeper, wait_for_operation, &waiter);
    assert_int_equal(ripc_wait(pair.client, waiter.operation, RIPC_NOW), -EBUSY);
    struct ripc_message message = scene_receive(pair.server);
    ripc_release(&message);
    sleeper_assert_woken(&sleeper);
    assert_int_equal(ripc_poll(pair.client, &event, 1, RIPC_NOW), -EAGAIN);
    assert_int_equal(ripc_poll(pair.client, &event, 0, RIPC_NOW), -EINVAL);
    pair_close(&pair);
}

static void a_reply_is_written_into_the_return_buffer(void **state)
{
    struct pair pair = pair_open();
    uint8_t *mine = ripc_alloc(pair.here, 10000);
    struct iovec request = {"get", 4};
    struct iovec returns[2] = {{mine, 10000}, {NULL, 20000}};
    struct ripc_send send = {
        .to = 42,
        .shorts = &request,
        .short_count = 1,
        .returns = returns,
        .return_count = 2,
        .deadline = scene_deadline(),
    };
    assert_int_equal(ripc_send_message(pair.client, &send), 0);
    assert_int_equal(ripc_free(pair.here, mine), -EBUSY);
    struct ripc_message message = scene_receive(pair.server);
    assert_int_equal(message.return_count, 2);
    assert_string_equal(message.data, "get");

    uint8_t *data = ripc_alloc(pair.there, 15000);
    fill(data, 15000, 3);
    struct iovec items[2] = {{data, 15000}, {data, 9000}};
    struct ripc_send reply = {
        .to = message.from, .longs = items, .long_count = 2, .deadline = scene_deadline()};
    assert_int_equal(ripc_send_message(pair.server, &reply), 0); /* nothing left to complete */
    assert_int_equal(ripc_free(pair.there, data), 0);
    ripc_release(&message);

    message = scene_receive(pair.client);
    assert_int_equal(message.long_count, 2);
    assert_true(message.longs[0].returned && message.longs[0].owned);
    assert_int_equal(message.longs[0].size, 15000);
    assert_true(message.longs[1].returned && !message.longs[1].owned);
    assert_ptr_equal(message.longs[1].data, mine);
    uint8_t want[15000];
    fill(want, 15000, 3);
    assert_memory_equal(message.longs[0].data, want, 15000);
    assert_memory_equal(mine, want, 9000);
    assert_int_equal(ripc_free(pair.here, message.longs[0].data), 0);
    ripc_release(&message);
    assert_int_equal(ripc_free(pair.here, mine), 0);
    pair_close(&pair);
}

static void a_return_buffer_can_be_withdrawn(void **state)
{
    struct pair pair = pair_open();
    uint8_t *mine = ripc_alloc(pair.here, 10000);
    struct iovec returns = {mine, 10000};
    struct ripc_send send = {
        .to = 42, .returns = &returns, .return_count = 1, .deadline = scene_deadline()};
    assert_int_equal(ripc_send_message(pair.client, &send), 0);
    struct ripc_message message = scene_receive(pair.server);
    assert_int_equal(ripc_withdraw(pair.client, mine + 1, scene_deadline()), -ENOENT);
    assert_int_equal(ripc_withdraw(pair.client, mine, scene_deadline()), 0);
    assert_int_equal(ripc_withdraw(pair.client, mine, scene_deadline()), -ENOENT);
    assert_int_equal(ripc_free(pair.here, mine), 0);
    ripc_release(&message);
    pair_close(&pair);
}

static void a_cancelled_send_completes_once_and_frees_its_memory(void **state)
{
    struct pair pair = pair_open();
    uint8_t *data = ripc_alloc(pair.here, 5000);
    /* One is seen by the receiver, one is not. */
    int64_t first = send_long(&pair, data, 5000);
    struct ripc_message message = scene_receive(pair.server);
    int64_t second = send_long(&pair, data, 5000);
    assert_true(first > 0 && second > first);
    assert_int_equal(ripc_cancel(pair.client, first, scene_deadline()), 0);
    assert_int_equal(message.longs[0].status, -EINPROGRESS); /* does not change by itself */
    assert_int_equal(ripc_fetch(&message, 0, data, 5000, scene_deadline()), -ECANCELED);
    assert_int_equal(message.longs[0].status, -ECANCELED);
    assert_int_equal(ripc_cancel(pair.client, second, RIPC_NOW), -EAGAIN);
    ripc_release(&message);
    /* The opening of another pipe arrives after the cancellation, so that has arrived too. */
    struct ripc_service *other = scene_bind(pair.there, 43);
    assert_int_equal(ripc_send(pair.client, 43, "y", 1, scene_deadline()), 0);
    message = scene_receive(other);
    ripc_release(&message);
    assert_int_equal(ripc_send(pair.client, 42, "x", 1, scene_deadline()), 0);
    message = scene_receive(pair.server); /* the cancelled message is not delivered */
    assert_int_equal(message.long_count, 0);
    ripc_release(&message);
    assert_int_equal(ripc_wait(pair.client, second, scene_deadline()), -ECANCELED);
    assert_int_equal(ripc_cancel(pair.client, second, RIPC_NOW), -EINVAL);
    struct ripc_event event;
    assert_int_equal(ripc_poll(pair.client, &event, 1, scene_deadline()), 1);
    assert_int_equal(event.operation, first);
    assert_int_equal(event.status, -ECANCELED);
    assert_int_equal(ripc_poll(pair.client, &event, 1, RIPC_NOW), -EAGAIN);
    assert_int_equal(ripc_free(pair.here, data), 0);
    pair_close(&pair);
}

static void operations_to_a_dead_peer_complete_with_an_error(void **state)
{
    struct pair pair = pair_open();
    uint8_t *data = ripc_alloc(pair.here, 5000);
    int64_t operation = send_long(&pair, data, 5000);
    struct ripc_message message = scene_receive(pair.server);
    (void)message;
    scene_close(pair.there);
    assert_int_equal(ripc_wait(pair.client, operation, scene_deadline()), -EPIPE);
    assert_int_equal(ripc_free(pair.here, data), 0);
    scene_close(pair.here);
}

/* ---- the receiver of a reply dies while the reply is written ---- */

static struct peer *dying;                    /* the receiver of the reply */
static const struct transport_ops *dying_ops; /* of its link, before they were replaced */

static int write_to_the_dying(struct transport_link *link, const struct remote_memory *to,
                              uint64_t offset, const void *from, size_t size, struct region *region,
                              struct transfer *transfer)
{
    link->ops = dying_ops;
    return peer_die(dying);
}

static void a_reply_fails_if_its_receiver_dies_meanwhile(void **state)
{
    struct pair pair = pair_open();
    struct iovec returns = {NULL, 100};
    struct ripc_send send = {
        .to = 42, .returns = &returns, .return_count = 1, .deadline = scene_deadline()};
    assert_int_equal(ripc_send_message(pair.client, &send), 0);
    struct ripc_message message = scene_receive(pair.server);
    ripc_id from = message.from;
    ripc_release(&message);
    assert_int_equal(ripc_send(pair.server, from, "x", 1, scene_deadline()), 0);

    lock_take(&pair.there->lock);
    list_each(&pair.there->peers, node) dying = container_of(node, struct peer, node);
    struct transport_link *link = dying->links[0];
    dying_ops = link->ops;
    struct memory_ops memory = *dying_ops->memory;
    struct transport_ops ops = *dying_ops;
    memory.write = write_to_the_dying;
    ops.memory = &memory;
    link->ops = &ops;
    lock_drop(&pair.there->lock);

    uint8_t *data = ripc_alloc(pair.there, 100);
    struct iovec item = {data, 100};
    struct ripc_send reply = {
        .to = from, .longs = &item, .long_count = 1, .deadline = scene_deadline()};
    assert_int_equal(ripc_send_message(pair.server, &reply), -EPIPE);
    assert_int_equal(peers_dead(pair.there), 0);
    assert_int_equal(ripc_free(pair.there, data), 0);
    pair_close(&pair);
}

TEST_MAIN(SCENE(an_item_arrives_in_the_smallest_window_that_holds_it),
          SCENE(the_memory_of_a_window_is_used_until_it_is_filled_or_removed),
          SCENE(registered_memory_is_read_in_place),
          SCENE(an_item_without_a_window_is_pending_until_fetched_or_rejected),
          SCENE(a_send_from_unregistered_memory_fails_and_leaves_nothing_in_use),
          SCENE(an_item_of_a_sender_that_left_is_cancelled),
          SCENE(long_items_and_return_buffers_travel_over_udp_alone),
          SCENE(only_one_thread_may_wait_for_an_operation),
          SCENE(a_reply_is_written_into_the_return_buffer),
          SCENE(a_reply_fails_if_its_receiver_dies_meanwhile),
          SCENE(a_return_buffer_can_be_withdrawn),
          SCENE(a_cancelled_send_completes_once_and_frees_its_memory),
          SCENE(operations_to_a_dead_peer_complete_with_an_error))
