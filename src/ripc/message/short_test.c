#include <errno.h>
#include <poll.h>
#include <string.h>

#include "ripc/scene/scene.h"

static void a_message_arrives_and_gets_a_reply(void **state)
{
    struct ripc *here = scene_open(NULL);
    struct ripc *there = scene_open(NULL);
    struct ripc_service *client = scene_bind(here, 0);
    struct ripc_service *server = scene_bind(there, 42);

    assert_null(ripc_transport(client, 42));
    assert_int_equal(ripc_send(client, 42, "hello", 6, scene_deadline()), 0);
    assert_string_equal(ripc_transport(client, 42), "shm");
    struct ripc_message message = scene_receive(server);
    assert_int_equal(message.from, ripc_service_id(client));
    assert_int_equal(message.to, 42);
    assert_int_equal(message.size, 6);
    assert_string_equal(message.data, "hello");
    assert_int_equal(ripc_send(server, message.from, message.data, 6, scene_deadline()), 0);
    ripc_release(&message);
    ripc_release(&message); /* has no effect */

    message = scene_receive(client);
    assert_string_equal(message.data, "hello");
    ripc_release(&message);
    scene_close(here);
    scene_close(there);
}

static void a_message_of_several_pieces_arrives_as_these_pieces(void **state)
{
    struct ripc *ripc = scene_open(NULL);
    struct ripc_service *client = scene_bind(ripc, 0);
    struct ripc_service *server = scene_bind(ripc, 42); /* in the same context */
    struct iovec pieces[] = {{"ab", 2}, {"", 0}, {"cdefg", 5}};
    struct ripc_send send = {
        .to = 42,
        .shorts = pieces,
        .short_count = 3,
        .deadline = scene_deadline(),
    };
    assert_int_equal(ripc_send_message(client, &send), 0);
    struct ripc_message message = scene_receive(server);
    assert_int_equal(message.size, 7);
    assert_memory_equal(message.data, "abcdefg", 7);
    assert_int_equal(message.short_count, 3);
    size_t size = 0;
    assert_memory_equal(ripc_short(&message, 2, &size), "cdefg", 5);
    assert_int_equal(size, 5);
    assert_non_null(ripc_short(&message, 1, &size));
    assert_int_equal(size, 0);
    assert_null(ripc_short(&message, 3, &size));
    for (unsigned i = 0; i < 3; i++) /* a program may know the size */
        assert_ptr_equal(ripc_short(&message, i, NULL), ripc_short(&message, i, &size));
    assert_null(ripc_short(&message, 3, NULL));
    ripc_release(&message);
    scene_close(ripc);
}

static void messages_of_every_size_arrive_complete(void **state)
{
    struct ripc *here = scene_open(NULL);
    struct ripc *there = scene_open(NULL);
    struct ripc_service *client = scene_bind(here, 0);
    struct ripc_service *server = scene_bind(there, 42);
    static uint8_t data[RIPC_SHORT_MAX + 1];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 7 + i / 251);
    for (size_t size = 0; size <= RIPC_SHORT_MAX; size += size < 300 ? 1 : 257) {
        assert_int_equal(ripc_send(client, 42, data, size, scene_deadline()), 0);
        struct ripc_message message = scene_receive(server);
        assert_int_equal(message.size, size);
        assert_memory_equal(message.data, data, size);
        ripc_release(&message);
    }
    assert_int_equal(ripc_send(client, 42, data, RIPC_SHORT_MAX, scene_deadline()), 0);
    assert_int_equal(ripc_send(client, 42, data, RIPC_SHORT_MAX + 1, scene_deadline()), -EMSGSIZE);
    scene_close(here);
    scene_close(there);
}

static void pieces_send(struct ripc_service *client)
{
    struct iovec pieces[2] = {{"a", 1}, {"b", 1}};
    struct ripc_send send = {
        .to = 42,
        .shorts = pieces,
        .short_count = 2,
        .deadline = scene_deadline(),
    };
    assert_int_equal(ripc_send_message(client, &send), 0);
}

/* Different code receives messages of one piece and of two: both must get their turn. */
static void senders_of_one_piece_and_of_two_take_turns(void **state)
{
    struct ripc *here = scene_open(NULL);
    struct ripc *there = scene_open(NULL);
    struct ripc_service *one = scene_bind(here, 1);
    struct ripc_service *two = scene_bind(here, 2);
    struct ripc_service *server = scene_bind(there, 42);
    for (unsigned i = 0; i < 9; i++) { /* the first message of each sender opens its pipe */
        assert_int_equal(ripc_send(one, 42, "c", 1, scene_deadline()), 0);
        pieces_send(two);
        for (unsigned taken = 0; i == 0 && taken < 2; taken++) {
            struct ripc_message message = scene_receive(server);
            ripc_release(&message);
        }
    }
    for (unsigned i = 0; i < 8; i++) {
        struct ripc_message first = scene_receive(server), second = scene_receive(server);
        assert_int_equal(first.from + second.from, 1 + 2);
        assert_int_equal(first.short_count, first.from);
        assert_int_equal(second.short_count, second.from);
        ripc_release(&first);
        ripc_release(&second);
    }
    scene_close(here);
    scene_close(there);
}

static void a_slow_receiver_uses_up_credit_but_loses_no_messages(void **state)
{
    struct ripc_config config = {.ring_slots = 8};
    struct ripc *here = scene_open(&config);
    struct ripc *there = scene_open(NULL);
    struct ripc_service *client = scene_bind(here, 0);
    struct ripc_service *server = scene_bind(there, 42);
    uint32_t sent = 0;
    assert_int_equal(ripc_send(client, 42, &sent, sizeof sent, scene_deadline()), 0);
    int result = 0;
    while (result == 0) {
        sent++;
        result = ripc_send(client, 42, &sent, sizeof sent, RIPC_NOW);
        assert_true(sent < 1000);
    }
    assert_int_equal(result, -EAGAIN);
    struct ripc_event event;
    assert_int_equal(ripc_poll(client, &event, 1, RIPC_NOW), -EAGAIN);
    for (uint32_t i = 0; i < sent; i++) {
        uint32_t value;
        struct ripc_message message = scene_receive(server);
        memcpy(&value, message.data, sizeof value);
        assert_int_equal(value, i);
        ripc_release(&message);
    }
    assert_int_equal(ripc_poll(client, &event, 1, scene_deadline()), 1);
    assert_int_equal(event.kind, RIPC_CREDIT);
    assert_int_equal(event.id, 42);
    assert_int_equal(ripc_send(client, 42, &sent, sizeof sent, RIPC_NOW), 0);
    struct ripc_stats stats;
    assert_int_equal(ripc_stats(here, &stats), 0);
    assert_int_equal(stats.sent, sent + 1);
    assert_true(stats.no_credit > 0);
    scene_close(here);
    scene_close(there);
}

/* A busy receiver returns credit before it has taken everything. */
static void credit_returns_before_all_messages_are_taken(void **state)
{
    struct ripc *here = scene_open(NULL);
    struct ripc *there = scene_open(NULL);
    struct ripc_service *client = scene_bind(here, 0);
    struct ripc_service *server = scene_bind(there, 42);
    static uint8_t letter[RIPC_SHORT_MAX];
    assert_int_equal(ripc_send(client, 42, letter, sizeof letter, scene_deadline()), 0);
    unsigned sent = 1;
    while (ripc_send(client, 42, letter, sizeof letter, RIPC_NOW) == 0)
        assert_true(++sent < 512); /* bytes run out, not slots */
    for (unsigned i = 0; i < 8; i++) {
        struct ripc_message message = scene_receive(server);
        ripc_release(&message);
    }
    assert_true(sent > 16);
    assert_int_equal(ripc_send(client, 42, letter, sizeof letter, RIPC_NOW), 0);
    scene_close(here);
    scene_close(there);
}

static void held_messages_are_released_in_any_order(void **state)
{
    struct ripc_config config = {.ring_slots = 16};
    struct ripc *here = scene_open(&config);
    struct ripc_service *client = scene_bind(here, 0);
    struct ripc_service *server = scene_bind(here, 42);
    for (unsigned round = 0; round < 50; round++) {
        struct ripc_message messages[8];
        for (uint32_t i = 0; i < 8; i++)
            assert_int_equal(ripc_send(client, 42, &i, sizeof i, scene_deadline()), 0);
        for (unsigned taken = 0; taken < 8;) {
            int count = ripc_receive(server, messages + taken, 8 - taken, scene_deadline());
            assert_true(count > 0);
            taken += (unsigned)count;
        }
        for (unsigned i = 0; i < 8; i++)
            ripc_release(&messages[(i * 5 + round) % 8]);
    }
    scene_close(here);
}

static void unknown_ids_and_invalid_arguments_have_different_errors(void **state)
{
    struct ripc *ripc = scene_open(NULL);
    struct ripc_service *client = scene_bind(ripc, 7);
    struct ripc_service *second = NULL;
    struct ripc_message message;
    struct iovec piece = {"x", 1};
    struct ripc_send many = {.to = 7, .shorts = &piece, .short_count = RIPC_ITEM_MAX + 1};
    assert_int_equal(ripc_send(client, 4711, "x", 1, scene_deadline()), -ENOENT);
    assert_int_equal(ripc_send(client, 0, "x", 1, scene_deadline()), -EINVAL);
    assert_int_equal(ripc_send_message(client, &many), -EMSGSIZE);
    assert_int_equal(ripc_bind(ripc, 7, 0, &second), -EADDRINUSE);
    assert_int_equal(ripc_bind(ripc, 8, 99, &second), -EINVAL);
    assert_int_equal(ripc_receive(client, &message, 1, RIPC_NOW), -EAGAIN);
    assert_int_equal(ripc_receive(client, &message, 1, ripc_after(1000)), -ETIMEDOUT);
    assert_int_equal(ripc_receive(client, &message, 0, RIPC_NOW), -EINVAL);
    assert_int_equal(ripc_wait(client, 5, RIPC_NOW), -EINVAL);
    assert_int_equal(ripc_cancel(client, 5, RIPC_NOW), -EINVAL);
    struct ripc *other = scene_open(NULL);
    assert_int_equal(ripc_bind(other, 7, 0, &second), -EADDRINUSE);
    scene_close(other);
    scene_close(ripc);
}

static void contexts_without_a_common_transport_do_not_reach_each_other(void **state)
{
    const struct ripc_config near = {.transports = "shm"};
    const struct ripc_config far = {.transports = "udp", .address = "127.0.0.1"};
    struct ripc *here = scene_open(&near), *there = scene_open(&far);
    struct ripc_service *client = scene_bind(here, 0);
    scene_bind(there, 42);
    assert_int_equal(ripc_send(client, 42, "x", 1, scene_deadline()), -EHOSTUNREACH);
    scene_close(here);
    scene_close(there);
}

static void a_restarted_service_is_found_again(void **state)
{
    struct ripc *here = scene_open(NULL);
    struct ripc_service *client = scene_bind(here, 0);
    for (uint32_t life = 0; life < 5; life++) {
        struct ripc *there = scene_open(NULL);
        struct ripc_service *server = scene_bind(there, 42);
        /* The first message may still go to the dead service: short messages may be lost then. */
        struct ripc_message message;
        int result = -ETIMEDOUT;
        for (unsigned try = 0; try < 100 && result != 1; try++) {
            assert_int_equal(ripc_send(client, 42, &life, sizeof life, scene_deadline()), 0);
            result = ripc_receive(server, &message, 1, ripc_after(SCENE_SECOND / 5));
        }
        assert_int_equal(result, 1);
        assert_memory_equal(message.data, &life, sizeof life);
        ripc_release(&message);
        scene_close(there);
    }
    scene_close(here);
}

static void messages_arrive_after_their_sender_has_closed(void **state)
{
    struct ripc *here = scene_open(NULL);
    struct ripc *there = scene_open(NULL);
    struct ripc_service *server = scene_bind(here, 42);
    struct ripc_service *client = scene_bind(there, 0);
    for (uint32_t i = 0; i < 100; i++)
        assert_int_equal(ripc_send(client, 42, &i, sizeof i, scene_deadline()), 0);
    scene_close(there);
    for (uint32_t i = 0; i < 100; i++) {
        struct ripc_message message = scene_receive(server);
        assert_memory_equal(message.data, &i, sizeof i);
        ripc_release(&message);
    }
    scene_close(here);
}

static void waking_a_sleeping_receiver_is_counted(void **state)
{
    struct ripc *here = scene_open(NULL);
    struct ripc *there = scene_open(NULL);
    struct ripc_service *client = scene_bind(here, 0);
    struct ripc_service *server = scene_bind(there, 42);
    struct pollfd bell = {.fd = ripc_fd(server), .events = POLLIN};
    struct ripc_stats stats = {0};
    /* The answer to the opening of the pipe also rings the bell, and may use up the first
     * arming. */
    for (unsigned try = 0; try < 100 && stats.wakes == 0; try++) {
        while (ripc_arm(server) != 0)
            ;
        assert_int_equal(ripc_send(client, 42, "b", 1, scene_deadline()), 0);
        assert_int_equal(poll(&bell, 1, 20000), 1);
        struct ripc_message message = scene_receive(server);
        ripc_release(&message);
        assert_int_equal(ripc_stats(here, &stats), 0);
    }
    assert_true(stats.wakes > 0);
    scene_close(here);
    scene_close(there);
}

/* A service keeps a limited number of them; beyond that the oldest are dropped. */
static void messages_of_dead_clients_are_kept_up_to_a_limit(void **state)
{
    enum { KEPT = 1024 };
    struct ripc_config config = {.flags = RIPC_MANUAL};
    struct ripc *there = scene_open(NULL);
    struct ripc_service *server = scene_bind(there, 42);
    struct ripc_stats stats = {0};
    struct ripc *alive = scene_open(NULL);
    assert_int_equal(ripc_send(scene_bind(alive, 0), 42, "alive", 6, scene_deadline()), 0);
    for (unsigned i = 0; i <= KEPT; i++) {
        struct ripc *here = scene_open(&config);
        assert_int_equal(ripc_send(scene_bind(here, 0), 42, &i, sizeof i, scene_deadline()), 0);
        scene_close(here);
        for (int64_t end = scene_deadline(); stats.peers_lost <= i;) {
            assert_true(ripc_now() < end);
            assert_int_equal(ripc_stats(there, &stats), 0);
        }
        assert_int_equal(stats.dropped_unread, i == KEPT);
    }
    struct ripc_message message = scene_receive(server);
    assert_string_equal(message.data, "alive"); /* it is kept although it is older */
    ripc_release(&message);
    for (unsigned i = 1; i <= KEPT; i++) {
        message = scene_receive(server);
        assert_memory_equal(message.data, &i, sizeof i);
        ripc_release(&message);
    }
    scene_close(alive);
    scene_close(there);
}

static void a_context_without_threads_sends_and_receives(void **state)
{
    struct ripc_config config = {.flags = RIPC_MANUAL};
    struct ripc *here = scene_open(&config);
    struct ripc *there = scene_open(NULL);
    struct ripc_service *client = scene_bind(here, 0);
    struct ripc_service *server = scene_bind(there, 42);
    assert_int_equal(ripc_send(client, 42, "a", 2, scene_deadline()), 0);
    struct ripc_message message = scene_receive(server);
    int result;
    /* Only our own progress answers the opening of the pipe back. */
    do {
        result = ripc_send(server, message.from, "b", 2, RIPC_NOW);
        ripc_progress(here);
    } while (result == -EAGAIN);
    assert_int_equal(result, 0);
    ripc_release(&message);
    message = scene_receive(client);
    assert_string_equal(message.data, "b");
    ripc_release(&message);
    scene_close(here);
    scene_close(there);
}

TEST_MAIN(SCENE(waking_a_sleeping_receiver_is_counted), SCENE(a_message_arrives_and_gets_a_reply),
          SCENE(a_message_of_several_pieces_arrives_as_these_pieces),
          SCENE(senders_of_one_piece_and_of_two_take_turns),
          SCENE(messages_of_every_size_arrive_complete),
          SCENE(a_slow_receiver_uses_up_credit_but_loses_no_messages),
          SCENE(credit_returns_before_all_messages_are_taken),
          SCENE(held_messages_are_released_in_any_order),
          SCENE(unknown_ids_and_invalid_arguments_have_different_errors),
          SCENE(contexts_without_a_common_transport_do_not_reach_each_other),
          SCENE(a_restarted_service_is_found_again),
          SCENE(messages_arrive_after_their_sender_has_closed),
          SCENE(messages_of_dead_clients_are_kept_up_to_a_limit),
          SCENE(a_context_without_threads_sends_and_receives))
