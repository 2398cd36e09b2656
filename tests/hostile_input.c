/* Mistakes of a program, and tricks of a peer, that each have one correct answer: a specific error,
 * or no effect at all. hostile.c tries random tricks. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/forbid_test.h"
#include "hostile_pair.h"
#include "ripc/message/arrival.h"
#include "ripc/message/message.h"

static int64_t send_long(struct hostile_pair *pair, const struct iovec *items, uint16_t count)
{
    struct ripc_send send = {
        .to = 42, .longs = items, .long_count = count, .deadline = scene_deadline()};
    return ripc_send_message(pair->client, &send);
}

/* ---- mistakes ---- */

static void every_mistake_has_its_own_error(void **state)
{
    struct hostile_pair pair = pair_open(0, 0);
    static uint8_t large[RIPC_SHORT_MAX + 1];
    uint8_t *data = ripc_alloc(pair.here, 5000);
    struct iovec half = {large, RIPC_SHORT_MAX / 2 + 1};
    struct iovec halves[2] = {half, half};
    struct iovec beside = {large, RIPC_SHORT_MAX - 10}, item = {data, 5000}, outside = {large, 10};
    struct ripc_send two = {.to = 42, .shorts = halves, .short_count = 2};
    struct ripc_send both = {
        .to = 42, .shorts = &beside, .short_count = 1, .longs = &item, .long_count = 1};

    struct ripc_message none;
    assert_int_equal(ripc_receive(pair.client, &none, 0, RIPC_NOW), -EINVAL);
    assert_int_equal(ripc_join(pair.client, 41), -EINVAL); /* itself */
    assert_int_equal(ripc_send(pair.client, 4711, "x", 1, scene_deadline()), -ENOENT);
    assert_int_equal(ripc_send(pair.client, 42, large, sizeof large, scene_deadline()), -EMSGSIZE);
    assert_int_equal(ripc_send(pair.client, 42, large, SIZE_MAX, scene_deadline()), -EMSGSIZE);
    assert_int_equal(ripc_send_message(pair.client, &two), -EMSGSIZE);
    /* The description of the long item does not fit into the message beside the short item. */
    assert_int_equal(ripc_send_message(pair.client, &both), -EMSGSIZE);
    assert_int_equal(send_long(&pair, &outside, 1), -EFAULT);
    item.iov_len = 1 << 30;
    assert_int_equal(send_long(&pair, &item, 1), -EFAULT);

    assert_int_equal(ripc_free(pair.here, data), 0);
    assert_int_equal(ripc_free(pair.here, data), -EALREADY);
    assert_int_equal(ripc_free(pair.here, data + 1), -EINVAL);
    assert_int_equal(ripc_free(pair.here, large), -EINVAL);
    assert_int_equal(send_long(&pair, &(struct iovec){data, 10}, 1), -EFAULT);

    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *hole =
        mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(hole, MAP_FAILED);
    munmap(hole + page, page);
    assert_int_equal(ripc_register(pair.here, hole, 2 * page), -EFAULT);
    assert_int_equal(ripc_register(pair.here, hole, page), 0);
    assert_int_equal(ripc_register(pair.here, hole + 1, 1), -EEXIST);
    assert_int_equal(ripc_unregister(pair.here, hole), 0);
    assert_int_equal(ripc_unregister(pair.here, hole), -ENOENT);
    munmap(hole, page);
    /* None of it has broken the connection. */
    assert_int_equal(ripc_send(pair.client, 42, large, RIPC_SHORT_MAX, scene_deadline()), 0);
    struct ripc_message message = scene_receive(pair.server);
    assert_int_equal(message.size, RIPC_SHORT_MAX);
    ripc_release(&message);
    pair_close(&pair);
}

static void a_window_too_small_leaves_the_item_pending(void **state)
{
    struct hostile_pair pair = pair_open(0, 0);
    uint8_t *data = ripc_alloc(pair.here, 5000);
    static uint8_t window[4999], to[5000];
    struct ripc_stats stats;
    memset(data, 'p', 5000);
    assert_int_equal(ripc_window_add(pair.there, NULL, window, sizeof window), 0);
    int64_t operation = send_long(&pair, &(struct iovec){data, 5000}, 1);
    struct ripc_message message = scene_receive(pair.server);
    assert_int_equal(message.longs[0].status, -EINPROGRESS);
    assert_int_equal(message.longs[0].size, 5000);
    assert_int_equal(ripc_stats(pair.there, &stats), 0);
    assert_int_equal(stats.pending, 1);
    assert_int_equal(ripc_fetch(&message, 0, to, sizeof to, scene_deadline()), 0);
    assert_memory_equal(to, data, 5000);
    ripc_release(&message);
    assert_int_equal(ripc_wait(pair.client, operation, scene_deadline()), 0);
    assert_int_equal(ripc_window_remove(pair.there, NULL, window), 0); /* it was not used */
    pair_close(&pair);
}

/* The sender breaks its promise: the receiver gets an error, and gets its window back. */
static void memory_unmapped_in_flight_fails_the_item(void **state)
{
    struct hostile_pair pair = pair_open(0, 0);
    static uint8_t window[5000];
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *data = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(data, MAP_FAILED);
    assert_int_equal(ripc_register(pair.here, data, page), 0);
    int64_t operation = send_long(&pair, &(struct iovec){data, page}, 1);
    assert_true(operation > 0);
    assert_int_equal(mprotect(data, page, PROT_NONE), 0);
    assert_int_equal(ripc_window_add(pair.there, NULL, window, sizeof window), 0);
    struct ripc_message message = scene_receive(pair.server);
    assert_int_equal(message.longs[0].status, -EFAULT);
    assert_null(message.longs[0].data);
    ripc_release(&message);
    assert_int_equal(ripc_wait(pair.client, operation, scene_deadline()), -EFAULT);
    assert_int_equal(ripc_window_remove(pair.there, NULL, window), 0);
    assert_int_equal(ripc_unregister(pair.here, data), 0);
    munmap(data, page);
    pair_close(&pair);
}

/* The receiver learns of the items' memory and of the cancellation at the same time, while it is
 * about to copy the first item. */
static void a_message_cancelled_while_it_is_received_ends_once(void **state)
{
    struct hostile_pair pair = pair_open(0, RIPC_MANUAL);
    static uint8_t windows[2][5000];
    uint8_t *data = ripc_alloc(pair.here, 10000);
    assert_int_equal(ripc_window_add(pair.there, NULL, windows[0], 5000), 0);
    assert_int_equal(ripc_window_add(pair.there, NULL, windows[1], 5000), 0);
    const struct iovec items[2] = {{data, 5000}, {data + 5000, 5000}};
    int64_t operation = send_long(&pair, items, 2);
    assert_true(operation > 0);
    assert_int_equal(ripc_cancel(pair.client, operation, RIPC_NOW), -EAGAIN);
    struct ripc_message message;
    int64_t deadline = scene_deadline();
    while (ripc_receive(pair.server, &message, 1, RIPC_NOW) != 1)
        assert_true(ripc_now() < deadline);
    assert_int_equal(message.long_count, 2);
    assert_int_equal(message.longs[0].status, 0); /* it was being copied */
    assert_int_equal(message.longs[1].status, -ECANCELED);
    assert_int_equal(message.longs[1].size, 5000);
    ripc_release(&message);
    assert_int_equal(ripc_wait(pair.client, operation, scene_deadline()), -ECANCELED);
    assert_int_equal(ripc_free(pair.here, data), 0);
    pair_close(&pair);
}

/* A dead sender's message can still be received, but its return buffer is gone. */
static void the_return_buffer_of_a_dead_context_is_dropped(void **state)
{
    struct hostile_pair pair = pair_open(0, 0);
    const struct iovec buffer = {NULL, 5000};
    struct ripc_send send = {
        .to = 42, .returns = &buffer, .return_count = 1, .deadline = scene_deadline()};
    struct ripc_stats stats = {0};
    assert_int_equal(ripc_send_message(pair.client, &send), 0);
    scene_close(pair.here);
    for (int64_t deadline = scene_deadline(); stats.peers_lost == 0; ripc_stats(pair.there, &stats))
        assert_true(ripc_now() < deadline);
    struct ripc_message message = scene_receive(pair.server);
    assert_int_equal(message.return_count, 1);
    ripc_release(&message);
    /* A new context with that id has offered no buffer. */
    pair.here = scene_open(NULL);
    pair.client = scene_bind(pair.here, 41);
    uint8_t *data = ripc_alloc(pair.there, 5000);
    struct iovec item = {data, 5000};
    struct ripc_send reply = {
        .to = 41, .longs = &item, .long_count = 1, .deadline = scene_deadline()};
    int64_t operation = ripc_send_message(pair.server, &reply);
    assert_true(operation > 0);
    message = scene_receive(pair.client);
    assert_int_equal(message.longs[0].status, -EINPROGRESS);
    ripc_release(&message);
    assert_int_equal(ripc_wait(pair.server, operation, scene_deadline()), -ENOBUFS);
    pair_close(&pair);
}

/* ---- tricks ---- */

/* Runs in a child with limits of its own; a failure there fails the test. */
static void in_a_child(bool may_read, void (*run)(void))
{
    fflush(stdout);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (!may_read && !forbid_call(SYS_process_vm_readv))
            _exit(77); /* a kernel without system call filters */
        run();
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        print_message("# skipped: this kernel has no system call filters\n");
        return;
    }
    assert_int_equal(status, 0);
}

/* cmocka's assertions jump to frames of the parent, so they cannot be used here. */
#define insist(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "# line %d: %s\n", __LINE__, #condition);                              \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

static void copy_on_request(void)
{
    struct hostile_pair pair = pair_open(0, 0);
    static uint8_t data[300000], window[300000];
    memset(data, 'c', sizeof data);
    insist(ripc_register(pair.here, data, sizeof data) == 0);
    insist(ripc_window_add(pair.there, NULL, window, sizeof window) == 0);
    int64_t operation = send_long(&pair, &(struct iovec){data, sizeof data}, 1);
    struct ripc_message message;
    insist(operation > 0);
    insist(ripc_receive(pair.server, &message, 1, scene_deadline()) == 1);
    insist(message.longs[0].status == 0 && memcmp(window, data, sizeof data) == 0);
    ripc_release(&message);
    insist(ripc_wait(pair.client, operation, scene_deadline()) == 0);
    struct ripc_stats stats;
    insist(ripc_stats(pair.here, &stats) == 0 && stats.buffers == 0); /* the copy was freed */
    pair_close(&pair);
}

static void unreadable_memory_is_copied_by_its_owner(void **state)
{
    in_a_child(false, copy_on_request);
}

/* A frame with one item that waits for the sender's copy is overwritten with invalid data, and a
 * frame with many items follows: the two must not be confused. */
static void change_after_the_check(void)
{
    struct hostile_pair pair = pair_open(RIPC_MANUAL, 0); /* here never answers */
    static uint8_t data[5000], window[5000];
    struct ripc_message message;
    insist(ripc_register(pair.here, data, sizeof data) == 0);
    insist(ripc_window_add(pair.there, NULL, window, sizeof window) == 0);
    insist(send_long(&pair, &(struct iovec){data, sizeof data}, 1) > 0);
    insist(ripc_receive(pair.server, &message, 1, RIPC_NOW) == -EAGAIN); /* item requested */

    struct ring_sender *ring = ring_to(pair.client, 42);
    memset(ring_last_body(ring), 0xff, RING_INLINE_MAX);
    struct message_head head = {.kind = FRAME_MESSAGE, .long_count = 64, .token = 99};
    struct message_table table;
    uint8_t bytes[MESSAGE_TABLE_MAX];
    for (unsigned i = 0; i < 64; i++)
        table.items[i] = (struct message_item){.way = ITEM_RETURNED, .size = i, .number = i};
    struct iovec piece = {bytes, message_table_write(&head, &table, bytes)};
    struct frame_head frame = message_head_write(&head);
    insist(ring_push(ring, &frame, &piece, 1) == 0);

    insist(ripc_receive(pair.server, &message, 1, scene_deadline()) == 1);
    insist(message.long_count == 64);
    for (unsigned i = 0; i < 64; i++)
        insist(message.longs[i].status == -ESTALE && message.longs[i].size == i);
    ripc_release(&message);
    struct ripc_stats stats;
    insist(ripc_stats(pair.there, &stats) == 0 && stats.protocol_errors == 1);
    scene_close(pair.there);
    scene_close(pair.here);
}

static void a_frame_changed_after_its_check_is_dropped(void **state)
{
    in_a_child(false, change_after_the_check);
}

static void ring_break(struct ripc_service *receiver)
{
    list_each(&receiver->arrivals, node)
    {
        struct arrival *arrival = container_of(node, struct arrival, service_node);
        uint64_t head = 1000000; /* beyond everything that was sent */
        memcpy(((struct shm_inlet *)arrival->inlet)->file.base, &head, sizeof head);
    }
}

/* A receiver that breaks its ring is cut off by the next message that is sent to it: a plain one,
 * one to a group, or a notification. Then everything is set up again. */
static void a_broken_ring_is_cut_and_replaced(void **state)
{
    static const char *const ways[] = {"message", "group", "notification"};
    for (unsigned way = 0; way < 3; way++) {
        struct hostile_pair pair = pair_open(0, RIPC_MANUAL);
        struct ripc_notice *notice;
        struct ripc_handle handle;
        struct ripc_stats stats = {0};
        struct ripc_message message;
        print_message("# %s\n", ways[way]);
        assert_int_equal(ripc_join(pair.server, 50), 0);
        assert_int_equal(ripc_notice_open(pair.there, NULL, NULL, &notice, &handle), 0);
        bool done = false;
        int64_t deadline = scene_deadline();
        while (!done) {
            assert_true(ripc_now() < deadline);
            int result = way == 2   ? ripc_notify(pair.client, &handle, 1, RIPC_NOW)
                         : way == 1 ? ripc_send(pair.client, 50, "x", 1, RIPC_NOW)
                                    : ripc_send(pair.client, 42, "x", 1, RIPC_NOW);
            assert_true(result == 0 || result == -EAGAIN || result == -EPROTO || result == -EPIPE);
            if (stats.protocol_errors == 0) { /* nothing is received yet */
                ring_break(way == 2 ? pair.there->notices : pair.server);
                if (result == -EAGAIN) /* not connected yet */
                    ripc_progress(pair.there);
            } else if (way == 2) {
                done = ripc_notice_wait(notice, NULL, RIPC_NOW) > 0;
            } else {
                done = ripc_receive(pair.server, &message, 1, RIPC_NOW) == 1;
                if (done)
                    ripc_release(&message);
            }
            assert_int_equal(ripc_stats(pair.here, &stats), 0);
        }
        assert_int_equal(stats.protocol_errors, 1);
        assert_int_equal(ripc_notice_close(notice), 0);
        pair_close(&pair);
    }
}

/* A peer that opens pipes with ever new bells is refused at a quarter of the victim's descriptor
 * limit; another peer still gets in. */
static void open_bells_without_end(void)
{
    struct rlimit limit;
    insist(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = 256;
    insist(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    struct hostile_pair pair = pair_open(RIPC_MANUAL, 0);
    struct peer *peer = ((struct remote *)id_map_get(&pair.client->remotes, 42))->peer;
    struct outlet *outlet;
    struct doorbell bell;
    for (uint64_t pipe = 1000; pipe < 1200; pipe++) {
        struct control_words words = {
            .kind = CONTROL_OPEN, .pipe = pipe, .from = pipe, .to = 42, .transport = "shm"};
        const struct pipe_ops *ops = peer->links[0]->ops->pipes;
        insist(doorbell_open(&bell) == 0);
        insist(ops->outlet_open(peer->links[0], &bell, &words.parcel, &outlet) == 0);
        doorbell_close(&bell); /* the parcel and the victim have descriptors of it */
        int result = peer_say(peer, &words);
        insist(result == 0);
        parcel_fini(&words.parcel);
        ops->outlet_close(outlet); /* the victim has its own mapping */
        for (int64_t deadline = scene_deadline(); lifeline_queued(peer->line);) {
            ripc_progress(pair.here);
            insist(ripc_now() < deadline);
        }
        ripc_progress(pair.here);
    }
    for (int64_t deadline = scene_deadline(); pair.server->arrival_count < 64;)
        insist(ripc_now() < deadline);
    struct ripc *third = scene_open(NULL);
    struct ripc_service *honest = scene_bind(third, 43);
    struct ripc_message message;
    insist(ripc_send(honest, 42, "let me in", 9, scene_deadline()) == 0);
    insist(ripc_receive(pair.server, &message, 1, scene_deadline()) == 1);
    insist(message.from == 43);
    insist(pair.server->arrival_count == 64 + 1);
    ripc_release(&message);
    struct ripc_stats stats;
    insist(ripc_stats(pair.there, &stats) == 0 && stats.protocol_errors == 0);
    scene_close(third);
    pair_close(&pair);
}

static void no_peer_gets_more_pipes_than_its_share(void **state)
{
    in_a_child(true, open_bells_without_end);
}

TEST_MAIN(SCENE(every_mistake_has_its_own_error), SCENE(a_window_too_small_leaves_the_item_pending),
          SCENE(memory_unmapped_in_flight_fails_the_item),
          SCENE(a_message_cancelled_while_it_is_received_ends_once),
          SCENE(the_return_buffer_of_a_dead_context_is_dropped),
          SCENE(unreadable_memory_is_copied_by_its_owner),
          SCENE(a_frame_changed_after_its_check_is_dropped),
          SCENE(a_broken_ring_is_cut_and_replaced), SCENE(no_peer_gets_more_pipes_than_its_share))
