/* ripc: tests the library between processes over libfabric alone, with the provider of
 * WEFT_TEST_PROVIDER (tcp) at the address WEFT_TEST_ADDRESS (127.0.0.1).
 *
 * This process is the survivor: its context stays open through all tests, whatever happens to its
 * peers (peer.c). No test depends on timing; where a peer is killed, several delays are tried and
 * every outcome that the contract allows is correct: each operation completes once, with 0 if the
 * peer had everything and with -EPIPE if not. */

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/test.h"
#include "process.h"
#include "verbs/peer.h"
#include "weft/ripc.h"

#define SELF    ((ripc_id)1)
#define PEER    ((ripc_id)1000)
#define ANOTHER ((ripc_id)1001)
#define MIB     ((size_t)1 << 20)

static struct ripc *ripc;
static struct ripc_service *self;
static char *program;
static pid_t pids[2]; /* of PEER and ANOTHER; 0: not running */

/* ---- peers ---- */

static void peer_start(ripc_id id)
{
    int ready[2];
    char name[24], descriptor[16], byte;
    char *words[] = {program, name, descriptor, NULL};
    posix_spawn_file_actions_t actions;
    assert_int_equal(pipe(ready), 0);
    snprintf(name, sizeof name, "%llu", (unsigned long long)id);
    snprintf(descriptor, sizeof descriptor, "%d", ready[1]);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addclose(&actions, ready[0]);
    assert_int_equal(posix_spawn(&pids[id - PEER], program, &actions, NULL, words, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1); /* it is bound */
    close(ready[0]);
}

static void peer_kill(ripc_id id)
{
    pid_t pid = pids[id - PEER];
    if (pid <= 0)
        return;
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    pids[id - PEER] = 0;
}

static void sleep_msec(long msec)
{
    nanosleep(&(struct timespec){.tv_sec = msec / 1000, .tv_nsec = msec % 1000 * 1000000}, NULL);
}

/* ---- messages ---- */

static void receive(struct ripc_message *message)
{
    assert_int_equal(ripc_receive(self, message, 1, peer_deadline()), 1);
}

static void answer_expect(ripc_id from, int status, unsigned count)
{
    struct ripc_message message;
    struct answer answer;
    receive(&message);
    assert_int_equal(message.from, from);
    assert_int_equal(message.size, sizeof answer);
    memcpy(&answer, message.data, sizeof answer);
    ripc_release(&message);
    assert_int_equal(answer.status, status);
    assert_int_equal(answer.count, count);
}

static void command_send(ripc_id to, const struct peer_command *command)
{
    assert_int_equal(ripc_send(self, to, command, sizeof *command, peer_deadline()), 0);
}

/* Sends a command with long items; returns the operation's number. */
static int64_t long_send(ripc_id to, const struct peer_command *command, const struct iovec *longs,
                         unsigned count, uint64_t user)
{
    struct iovec first = {(void *)(uintptr_t)command, sizeof *command};
    return ripc_send_message(self, &(struct ripc_send){.to = to,
                                                       .shorts = &first,
                                                       .short_count = 1,
                                                       .longs = longs,
                                                       .long_count = (uint16_t)count,
                                                       .user = user,
                                                       .deadline = peer_deadline()});
}

/* The peer echoes a message of that size, command included. */
static void echo(ripc_id to, size_t size)
{
    static uint8_t bytes[RIPC_SHORT_MAX];
    struct peer_command command = {.kind = COMMAND_ECHO};
    struct ripc_message message;
    pattern_fill(bytes, size, size, 0);
    memcpy(bytes, &command, sizeof command);
    assert_int_equal(ripc_send(self, to, bytes, size, peer_deadline()), 0);
    receive(&message);
    assert_int_equal(message.from, to);
    assert_int_equal(message.short_count, 1);
    assert_int_equal(message.size, size);
    assert_memory_equal(message.data, bytes, size);
    ripc_release(&message);
}

static void *buffer_make(size_t size, uint64_t seed, unsigned item)
{
    void *data = ripc_alloc(ripc, size);
    assert_non_null(data);
    pattern_fill(data, size, seed, item);
    return data;
}

/* Sends one long item through a window of the peer, until it completes. */
static void pull(ripc_id to, size_t size)
{
    struct peer_command command = {.kind = COMMAND_CHECK, .seed = size};
    struct iovec item = {buffer_make(size, size, 0), size};
    int64_t operation = long_send(to, &command, &item, 1, 0);
    assert_true(operation > 0);
    assert_int_equal(ripc_wait(self, operation, peer_deadline()), 0);
    answer_expect(to, 0, 1);
    assert_int_equal(ripc_free(ripc, item.iov_base), 0);
}

static void windows_open(ripc_id at, size_t size, unsigned count)
{
    command_send(at, &(struct peer_command){.kind = COMMAND_WINDOWS, .size = size, .count = count});
    answer_expect(at, 0, count);
}

/* Takes messages until the peer answers this very call: messages that its predecessor sent before
 * it was killed may still arrive. Passes those to `call`. */
static void peer_greet(ripc_id id, void (*call)(const struct ripc_message *message, uint64_t seed),
                       uint64_t seed)
{
    static uint64_t greetings;
    struct peer_command command = {.kind = COMMAND_ECHO, .seed = ++greetings};
    struct ripc_message message;
    bool greeted = false;
    command_send(id, &command);
    while (!greeted) {
        receive(&message);
        greeted = message.from == id && message.size == sizeof command &&
                  memcmp(message.data, &command, sizeof command) == 0;
        if (!greeted && call != NULL)
            call(&message, seed);
        ripc_release(&message);
    }
}

/* A new peer with the id of one that died works at once. */
static void peer_restart(ripc_id id)
{
    peer_kill(id);
    peer_start(id);
    peer_greet(id, NULL, 0);
    windows_open(id, MIB, PEER_WINDOW_MAX);
    pull(id, 70000);
}

/* ---- operations ---- */

#define OPERATION_MAX 32

/* The results of the operations with users 0 to count - 1. */
struct outcome {
    int count;
    int seen[OPERATION_MAX];
    int status[OPERATION_MAX];
};

static void outcome_note(struct outcome *outcome, const struct ripc_event *event)
{
    if (event->kind != RIPC_DONE)
        return;
    assert_true(event->user < (uint64_t)outcome->count);
    outcome->seen[event->user]++;
    outcome->status[event->user] = event->status;
}

static int outcome_missing(const struct outcome *outcome)
{
    int missing = 0;
    for (int i = 0; i < outcome->count; i++)
        missing += outcome->seen[i] == 0;
    return missing;
}

/* Asserts that each completes once, that nothing else does, and that none is left in progress. */
static void outcome_await(struct outcome *outcome)
{
    struct ripc_event events[8];
    struct ripc_stats stats;
    int count;
    while (outcome_missing(outcome) > 0) {
        count = ripc_poll(self, events, 8, peer_deadline());
        if (count <= 0)
            fail_msg("%d operations never complete", outcome_missing(outcome));
        for (int i = 0; i < count; i++)
            outcome_note(outcome, &events[i]);
    }
    while ((count = ripc_poll(self, events, 8, RIPC_NOW)) > 0)
        for (int i = 0; i < count; i++)
            outcome_note(outcome, &events[i]);
    for (int i = 0; i < outcome->count; i++)
        assert_int_equal(outcome->seen[i], 1);
    assert_int_equal(ripc_stats(ripc, &stats), 0);
    assert_int_equal(stats.operations, 0);
}

/* ---- messages and memory ---- */

static void short_messages_of_every_size_arrive(void **state)
{
    static const size_t sizes[] = {
        sizeof(struct peer_command), 100, 1500, 4096, 8899, RIPC_SHORT_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        echo(PEER, sizes[i]);
    static uint8_t large[RIPC_SHORT_MAX + 1];
    assert_int_equal(ripc_send(self, PEER, large, sizeof large, peer_deadline()), -EMSGSIZE);
    assert_int_equal(ripc_send(self, 999999, large, 8, peer_deadline()), -ENOENT);
}

static void pieces_are_gathered_and_separated(void **state)
{
    struct peer_command command = {.kind = COMMAND_ECHO};
    uint8_t bytes[256];
    struct iovec items[RIPC_ITEM_MAX] = {{&command, sizeof command}};
    pattern_fill(bytes, sizeof bytes, 5, 0);
    for (unsigned i = 1; i < RIPC_ITEM_MAX; i++)
        items[i] = (struct iovec){bytes + i, i * 3 % 61}; /* some of them are empty */
    struct ripc_send send = {
        .to = PEER, .shorts = items, .short_count = RIPC_ITEM_MAX, .deadline = peer_deadline()};
    assert_int_equal(ripc_send_message(self, &send), 0);
    memset(&command, 0, sizeof command); /* we may reuse the memory */
    struct ripc_message message;
    receive(&message);
    assert_int_equal(message.short_count, RIPC_ITEM_MAX);
    for (unsigned i = 1; i < RIPC_ITEM_MAX; i++) {
        size_t size;
        const void *data = ripc_short(&message, i, &size);
        assert_non_null(data);
        assert_int_equal(size, items[i].iov_len);
        assert_memory_equal(data, items[i].iov_base, size);
    }
    ripc_release(&message);
}

static void many_messages_keep_their_order(void **state)
{
    enum { COUNT = 1000 };
    struct peer_command command = {.kind = COMMAND_COUNT};
    for (command.seed = 1; command.seed <= COUNT; command.seed++) {
        command.count = command.seed == COUNT;
        command_send(PEER, &command);
    }
    answer_expect(PEER, 0, COUNT);
}

static void long_items_are_pulled_into_windows(void **state)
{
    static const size_t sizes[] = {1, 64, 4095, 4096, 65537, MIB, 4 * MIB};
    windows_open(PEER, 4 * MIB, 4);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        pull(PEER, sizes[i]);

    struct peer_command command = {.kind = COMMAND_CHECK, .seed = 77};
    struct iovec items[4];
    for (unsigned i = 0; i < 4; i++)
        items[i] = (struct iovec){buffer_make(100000 + i, 77, i), 100000 + i};
    int64_t operation = long_send(PEER, &command, items, 4, 0);
    assert_true(operation > 0);
    assert_int_equal(ripc_wait(self, operation, peer_deadline()), 0);
    answer_expect(PEER, 0, 4);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(ripc_free(ripc, items[i].iov_base), 0);
}

static void foreign_memory_is_sent_once_it_is_registered(void **state)
{
    struct peer_command command = {.kind = COMMAND_CHECK, .seed = 3};
    struct iovec item = {malloc(MIB), MIB};
    assert_non_null(item.iov_base);
    pattern_fill(item.iov_base, MIB, 3, 0);
    windows_open(PEER, MIB, 1);
    assert_int_equal(long_send(PEER, &command, &item, 1, 0), -EFAULT);
    assert_int_equal(ripc_register(ripc, item.iov_base, MIB), 0);
    int64_t operation = long_send(PEER, &command, &item, 1, 0);
    assert_true(operation > 0);
    assert_int_equal(ripc_wait(self, operation, peer_deadline()), 0);
    answer_expect(PEER, 0, 1);
    assert_int_equal(ripc_unregister(ripc, item.iov_base), 0);
    free(item.iov_base);
}

static void items_without_a_window_are_fetched_or_rejected(void **state)
{
    struct peer_command command = {.kind = COMMAND_FETCH, .seed = 9};
    struct iovec items[2] = {{buffer_make(MIB, 9, 0), MIB}, {buffer_make(5, 9, 1), 5}};
    windows_open(PEER, 1, 0);
    int64_t operation = long_send(PEER, &command, items, 2, 0);
    assert_true(operation > 0);
    assert_int_equal(ripc_wait(self, operation, peer_deadline()), 0);
    answer_expect(PEER, 0, 2);

    command.kind = COMMAND_REJECT;
    operation = long_send(PEER, &command, items, 2, 0);
    assert_true(operation > 0);
    assert_int_equal(ripc_wait(self, operation, peer_deadline()), -ENOBUFS);
    answer_expect(PEER, 0, 2);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(ripc_free(ripc, items[i].iov_base), 0);
}

static void replies_arrive_in_return_buffers(void **state)
{
    struct peer_command command = {.kind = COMMAND_REPLY, .count = 2, .size = 300000, .seed = 21};
    struct iovec first = {&command, sizeof command};
    struct iovec returns[2] = {{buffer_make(300000, 0, 0), 300000}, {NULL, 400000}};
    struct ripc_send send = {.to = PEER,
                             .shorts = &first,
                             .short_count = 1,
                             .returns = returns,
                             .return_count = 2,
                             .deadline = peer_deadline()};
    assert_int_equal(ripc_send_message(self, &send), 0);
    struct ripc_message message;
    receive(&message);
    assert_int_equal(message.long_count, 2);
    for (unsigned i = 0; i < 2; i++) {
        struct ripc_item *item = &message.longs[i];
        assert_int_equal(item->status, 0);
        assert_true(item->returned);
        assert_int_equal(item->size, 300000);
        assert_true(pattern_right(item->data, item->size, 21, i));
        assert_true(item->owned || item->data == returns[0].iov_base);
        assert_int_equal(ripc_free(ripc, item->data), 0);
    }
    ripc_release(&message);
    answer_expect(PEER, 0, 2); /* the sender of the replies knows that they arrived */
}

static void notifications_are_counted_and_follow_messages(void **state)
{
    struct ripc_notice *notice;
    struct peer_command command = {.kind = COMMAND_NOTIFY, .count = 20, .seed = 500};
    uint64_t value = 0, total = 0;
    assert_int_equal(ripc_notice_open(ripc, NULL, NULL, &notice, &command.handle), 0);
    command_send(PEER, &command);
    while (total < command.count) {
        int count = ripc_notice_wait(notice, &value, peer_deadline());
        assert_true(count > 0);
        total += (uint64_t)count;
    }
    assert_int_equal(total, command.count);
    assert_int_equal(value, 519);
    struct ripc_message message;
    assert_int_equal(ripc_receive(self, &message, 1, RIPC_NOW), 1);
    ripc_release(&message);
    assert_int_equal(ripc_notice_wait(notice, &value, RIPC_NOW), -EAGAIN);
    assert_int_equal(ripc_notice_close(notice), 0);
}

static void granted_memory_is_accessible_until_it_is_revoked(void **state)
{
    struct ripc_notice *notice;
    struct peer_command command = {.kind = COMMAND_REACH, .size = MIB, .seed = 40};
    uint8_t *memory = buffer_make(MIB, 0, 0);
    uint64_t value;
    assert_int_equal(ripc_notice_open(ripc, NULL, NULL, &notice, &command.handle), 0);
    assert_int_equal(ripc_grant(self, PEER, memory, MIB, RIPC_READ | RIPC_WRITE, &command.grant),
                     0);
    command_send(PEER, &command);
    assert_int_equal(ripc_notice_wait(notice, &value, peer_deadline()), 1);
    assert_true(pattern_right(memory, MIB, 40, 0)); /* the write comes before the notification */
    answer_expect(PEER, 0, 1);

    assert_int_equal(ripc_revoke(self, &command.grant, peer_deadline()), 0);
    command.seed = 41;
    command_send(PEER, &command);
    answer_expect(PEER, -EACCES, 0);
    assert_int_equal(ripc_notice_wait(notice, &value, peer_deadline()), 1);
    assert_true(pattern_right(memory, MIB, 40, 0));
    assert_int_equal(ripc_notice_close(notice), 0);
    assert_int_equal(ripc_free(ripc, memory), 0);
    echo(PEER, 100); /* the refusal did not break the connection */
}

/* ---- deaths ---- */

static const long kill_delays_msec[] = {0, 1, 4, 15, 60};

#define DELAY_COUNT (sizeof kill_delays_msec / sizeof *kill_delays_msec)

static void items_held_by_a_killed_peer_complete(void **state)
{
    struct peer_command command = {.kind = COMMAND_HOLD, .seed = 1};
    struct iovec item = {buffer_make(MIB, 1, 0), MIB};
    struct outcome outcome = {.count = 3};
    windows_open(PEER, 1, 0);
    for (uint64_t i = 0; i < 3; i++) {
        assert_true(long_send(PEER, &command, &item, 1, i) > 0);
        answer_expect(PEER, 0, 1);
    }
    assert_int_equal(ripc_free(ripc, item.iov_base), -EBUSY);
    peer_kill(PEER);
    outcome_await(&outcome);
    for (int i = 0; i < 3; i++)
        assert_int_equal(outcome.status[i], -EPIPE);
    assert_int_equal(ripc_free(ripc, item.iov_base), 0);
    peer_restart(PEER);
}

static void all_sends_complete_when_the_receiver_is_killed(void **state)
{
    struct peer_command command = {.kind = COMMAND_CHECK, .seed = 8};
    struct iovec item = {buffer_make(MIB, 8, 0), MIB};
    for (size_t delay = 0; delay < DELAY_COUNT; delay++) {
        struct outcome outcome = {.count = 8};
        for (uint64_t i = 0; i < 8; i++)
            assert_true(long_send(PEER, &command, &item, 1, i) > 0);
        sleep_msec(kill_delays_msec[delay]);
        peer_kill(PEER);
        outcome_await(&outcome);
        for (int i = 0; i < 8; i++)
            assert_true(outcome.status[i] == 0 || outcome.status[i] == -EPIPE);
        peer_restart(PEER);
    }
    assert_int_equal(ripc_free(ripc, item.iov_base), 0);
}

static void items_of_a_killed_sender_cannot_be_fetched(void **state)
{
    struct ripc_message message;
    uint8_t *bytes = malloc(MIB);
    assert_non_null(bytes);
    command_send(PEER,
                 &(struct peer_command){.kind = COMMAND_SEND, .count = 2, .size = MIB, .seed = 6});
    receive(&message);
    assert_int_equal(message.long_count, 2);
    assert_int_equal(message.longs[0].status, -EINPROGRESS);
    assert_int_equal(ripc_fetch(&message, 0, bytes, MIB, peer_deadline()), 0);
    assert_true(pattern_right(bytes, MIB, 6, 0));
    peer_kill(PEER);
    /* If its death was not noticed yet, the fetch itself notices it. */
    assert_int_equal(ripc_fetch(&message, 1, bytes, MIB, peer_deadline()), -EPIPE);
    ripc_release(&message);
    free(bytes);
    peer_restart(PEER);
}

static void items_are_right_or_say_not(const struct ripc_message *message, uint64_t seed)
{
    for (unsigned i = 0; i < message->long_count; i++)
        if (message->longs[i].status == 0)
            assert_true(pattern_right(message->longs[i].data, message->longs[i].size, seed, i));
}

/* The peer sends a long message into our windows and dies meanwhile: the message arrives complete,
 * or not at all, or with items that report the failure. */
static void a_sender_killed_during_a_pull_harms_nothing(void **state)
{
    uint8_t *windows[2] = {malloc(4 * MIB), malloc(4 * MIB)};
    assert_true(windows[0] != NULL && windows[1] != NULL);
    for (size_t delay = 0; delay < DELAY_COUNT; delay++) {
        for (int i = 0; i < 2; i++)
            assert_int_equal(ripc_window_add(ripc, self, windows[i], 4 * MIB), 0);
        struct peer_command command = {
            .kind = COMMAND_SEND, .count = 2, .size = 4 * MIB, .seed = delay};
        command_send(PEER, &command);
        sleep_msec(kill_delays_msec[delay]);
        peer_kill(PEER);
        peer_start(PEER);
        peer_greet(PEER, items_are_right_or_say_not, delay);
        for (int i = 0; i < 2; i++) {
            int removed = ripc_window_remove(ripc, self, windows[i]);
            assert_true(removed == 0 || removed == -ENOENT); /* -ENOENT: it was used */
        }
    }
    free(windows[0]);
    free(windows[1]);
    peer_restart(PEER);
}

/* Return buffers go back to their owner when the peer that was to fill them dies. */
static void return_buffers_survive_the_peer_that_was_to_fill_them(void **state)
{
    struct peer_command command = {.kind = COMMAND_HOLD};
    struct iovec first = {&command, sizeof command};
    struct iovec buffer = {buffer_make(MIB, 0, 0), MIB};
    struct ripc_send send = {.to = PEER,
                             .shorts = &first,
                             .short_count = 1,
                             .returns = &buffer,
                             .return_count = 1,
                             .deadline = peer_deadline()};
    assert_int_equal(ripc_send_message(self, &send), 0);
    answer_expect(PEER, 0, 0);
    peer_kill(PEER);
    peer_restart(PEER);
    assert_int_equal(ripc_free(ripc, buffer.iov_base), 0);
}

static void *kill_soon(void *argument)
{
    sleep_msec(50);
    kill(*(pid_t *)argument, SIGKILL);
    return NULL;
}

static void a_flood_ends_when_its_receiver_is_killed(void **state)
{
    struct peer_command command = {.kind = COMMAND_SLEEP};
    uint8_t bytes[1000] = {0};
    command_send(PEER, &command);
    answer_expect(PEER, 0, 0);
    int sent = 0, result;
    while ((result = ripc_send(self, PEER, bytes, sizeof bytes, RIPC_NOW)) == 0 && sent < 1000000)
        sent++;
    assert_int_equal(result, -EAGAIN); /* credit runs out; nothing is lost silently */
    assert_true(sent > 0);

    pthread_t killer;
    assert_int_equal(pthread_create(&killer, NULL, kill_soon, &pids[0]), 0);
    result = ripc_send(self, PEER, bytes, sizeof bytes, peer_deadline());
    assert_true(result == -EPIPE || result == -ENOENT);
    pthread_join(killer, NULL);
    peer_restart(PEER);
    struct ripc_event event;
    while (ripc_poll(self, &event, 1, RIPC_NOW) == 1)
        assert_true(event.kind == RIPC_CREDIT || event.kind == RIPC_LOST);
}

static void the_death_of_one_peer_does_not_affect_another(void **state)
{
    struct peer_command command = {.kind = COMMAND_CHECK, .seed = 2};
    struct iovec item = {buffer_make(MIB, 2, 0), MIB};
    struct outcome outcome = {.count = 8};
    windows_open(ANOTHER, MIB, 4);
    for (uint64_t i = 0; i < 8; i++)
        assert_true(long_send(i % 2 == 0 ? PEER : ANOTHER, &command, &item, 1, i) > 0);
    peer_kill(PEER);
    outcome_await(&outcome);
    for (int i = 0; i < 8; i++)
        assert_true(outcome.status[i] == 0 || (i % 2 == 0 && outcome.status[i] == -EPIPE));
    unsigned answered = 0;
    while (answered < 4) {
        struct ripc_message message;
        receive(&message);
        answered += message.from == ANOTHER;
        ripc_release(&message);
    }
    assert_int_equal(ripc_free(ripc, item.iov_base), 0);
    peer_restart(PEER);
    pull(ANOTHER, MIB);
}

/* ---- all of it ---- */

static char folder[] = "/tmp/weft-verbs-XXXXXX";

static const char *setting(const char *name, const char *otherwise)
{
    const char *value = getenv(name);
    return value != NULL && *value != '\0' ? value : otherwise;
}

static int group_begin(void **state)
{
    char reason[RIPC_REASON_MAX] = "";
    if (mkdtemp(folder) == NULL)
        return -1;
    setenv("WEFT_FOLDER", folder, 1);
    setenv("WEFT_DOMAIN", "verbs", 1);
    setenv("WEFT_NAMES", "host", 1);
    setenv("WEFT_TRANSPORTS", "fabric", 1);
    setenv("WEFT_ADDRESS", setting("WEFT_TEST_ADDRESS", "127.0.0.1"), 1);
    setenv("WEFT_PROVIDER", setting("WEFT_TEST_PROVIDER", "tcp"), 1);
    int opened = ripc_open(&(struct ripc_config){.reason = reason}, &ripc);
    if (opened < 0) {
        print_message("# ripc_open: %s: %s\n", ripc_strerror(opened), reason);
        return -1;
    }
    if (ripc_bind(ripc, SELF, 0, &self) < 0)
        return -1;
    peer_start(PEER);
    peer_start(ANOTHER);
    return 0;
}

static int group_end(void **state)
{
    pid_t last = pids[0];
    peer_kill(PEER);
    peer_kill(ANOTHER);
    int closed = ripc_close(ripc, peer_deadline());
    int left = ripc_clean(NULL); /* files of killed processes; then the folder is empty */
    char path[64];
    snprintf(path, sizeof path, "%s/verbs", folder);
    rmdir(path);
    bool empty = rmdir(folder) == 0 && !process_fabric_files(last);
    return closed == 0 && left >= 0 && empty ? 0 : -1;
}

int main(int count, char **words)
{
    if (count == 3)
        return peer_run(strtoull(words[1], NULL, 10), atoi(words[2]));
    program = words[0];
    const struct CMUnitTest living[] = {
        TEST(short_messages_of_every_size_arrive),
        TEST(pieces_are_gathered_and_separated),
        TEST(many_messages_keep_their_order),
        TEST(long_items_are_pulled_into_windows),
        TEST(foreign_memory_is_sent_once_it_is_registered),
        TEST(items_without_a_window_are_fetched_or_rejected),
        TEST(replies_arrive_in_return_buffers),
        TEST(notifications_are_counted_and_follow_messages),
        TEST(granted_memory_is_accessible_until_it_is_revoked),
    };
    const struct CMUnitTest dying[] = {
        TEST(items_held_by_a_killed_peer_complete),
        TEST(all_sends_complete_when_the_receiver_is_killed),
        TEST(items_of_a_killed_sender_cannot_be_fetched),
        TEST(a_sender_killed_during_a_pull_harms_nothing),
        TEST(return_buffers_survive_the_peer_that_was_to_fill_them),
        TEST(a_flood_ends_when_its_receiver_is_killed),
        TEST(the_death_of_one_peer_does_not_affect_another),
    };
    enum { LIVING = sizeof living / sizeof *living, DYING = sizeof dying / sizeof *dying };
    struct CMUnitTest tests[LIVING + DYING];
    memcpy(tests, living, sizeof living);
    memcpy(tests + LIVING, dying, sizeof dying);
    /* libfabric's shm provider takes spin locks in shared memory: a process that is killed while it
     * holds one blocks its peers for ever, whatever weft does. */
    size_t chosen = LIVING;
    if (strcmp(setting("WEFT_TEST_PROVIDER", "tcp"), "shm") != 0)
        chosen += DYING;
    return _cmocka_run_group_tests("ripc", tests, chosen, group_begin, group_end);
}
