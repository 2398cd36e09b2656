#include "verbs/peer.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

struct peer {
    struct ripc *ripc;
    struct ripc_service *service;
    void *windows[PEER_WINDOW_MAX];
    size_t window_size;
    unsigned window_count;
    uint64_t counted; /* the last seed of COMMAND_COUNT */
    int32_t miscounts;
};

uint8_t pattern_byte(uint64_t seed, unsigned item, size_t index)
{
    return (uint8_t)(index * 31 + index / 253 + seed * 17 + item * 101);
}

void pattern_fill(void *to, size_t size, uint64_t seed, unsigned item)
{
    uint8_t *bytes = to;
    for (size_t i = 0; i < size; i++)
        bytes[i] = pattern_byte(seed, item, i);
}

int pattern_right(const void *data, size_t size, uint64_t seed, unsigned item)
{
    const uint8_t *bytes = data;
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != pattern_byte(seed, item, i))
            return 0;
    return 1;
}

int64_t peer_deadline(void)
{
    return ripc_after(60 * (int64_t)1000000000);
}

/* A peer that cannot continue prints the reason and ends; the test notices its death. */
static void must(int64_t result, const char *what)
{
    if (result < 0) {
        fprintf(stderr, "peer: %s: %s\n", what, ripc_strerror((int)result));
        exit(1);
    }
}

static void *memory(size_t size)
{
    void *data = malloc(size > 0 ? size : 1);
    if (data == NULL)
        must(-ENOMEM, "malloc");
    return data;
}

static void answer(struct peer *peer, ripc_id to, int status, unsigned count)
{
    struct answer answer = {.status = status, .count = count};
    must(ripc_send(peer->service, to, &answer, sizeof answer, peer_deadline()), "answer");
}

static void echo(struct peer *peer, const struct ripc_message *message)
{
    struct iovec items[RIPC_ITEM_MAX];
    for (unsigned i = 0; i < message->short_count; i++)
        items[i].iov_base = (void *)(uintptr_t)ripc_short(message, i, &items[i].iov_len);
    must(ripc_send_message(peer->service, &(struct ripc_send){.to = message->from,
                                                              .shorts = items,
                                                              .short_count = message->short_count,
                                                              .deadline = peer_deadline()}),
         "echo");
}

static void windows(struct peer *peer, const struct peer_command *command, ripc_id from)
{
    for (unsigned i = 0; i < peer->window_count; i++) {
        must(ripc_window_remove(peer->ripc, peer->service, peer->windows[i]), "window_remove");
        free(peer->windows[i]);
    }
    peer->window_count = command->count <= PEER_WINDOW_MAX ? command->count : PEER_WINDOW_MAX;
    peer->window_size = command->size;
    for (unsigned i = 0; i < peer->window_count; i++) {
        peer->windows[i] = memory(peer->window_size);
        must(ripc_window_add(peer->ripc, peer->service, peer->windows[i], peer->window_size),
             "window_add");
    }
    answer(peer, from, 0, peer->window_count);
}

/* Adds a window again after it was used. */
static void check(struct peer *peer, struct ripc_message *message,
                  const struct peer_command *command)
{
    int status = 0;
    unsigned right = 0;
    for (unsigned i = 0; i < message->long_count; i++) {
        const struct ripc_item *item = &message->longs[i];
        if (item->status != 0)
            status = status != 0 ? status : item->status;
        else if (pattern_right(item->data, item->size, command->seed, i))
            right++;
        for (unsigned j = 0; j < peer->window_count && item->data != NULL; j++)
            if (item->data == peer->windows[j])
                must(
                    ripc_window_add(peer->ripc, peer->service, peer->windows[j], peer->window_size),
                    "window_add");
    }
    answer(peer, message->from, status, right);
}

static void fetch(struct peer *peer, struct ripc_message *message,
                  const struct peer_command *command)
{
    int status = 0;
    unsigned right = 0;
    for (unsigned i = 0; i < message->long_count && status == 0; i++) {
        size_t size = message->longs[i].size;
        void *to = memory(size);
        if (message->longs[i].status != -EINPROGRESS)
            status = -ENOTRECOVERABLE;
        else if (ripc_fetch(message, i, to, size - 1, peer_deadline()) != -EMSGSIZE)
            status = -EMSGSIZE;
        else
            status = ripc_fetch(message, i, to, size, peer_deadline());
        if (status == 0 && ripc_fetch(message, i, to, size, peer_deadline()) != -ESTALE)
            status = -ESTALE;
        right += status == 0 && pattern_right(to, size, command->seed, i);
        free(to);
    }
    answer(peer, message->from, status, right);
}

static void reject(struct peer *peer, struct ripc_message *message)
{
    int status = 0;
    for (unsigned i = 0; i < message->long_count && status == 0; i++)
        status = ripc_reject(message, i);
    answer(peer, message->from, status, message->long_count);
}

/* Sends long items of the pattern, all in one message. */
static int64_t send_long(struct peer *peer, ripc_id to, const struct peer_command *command)
{
    struct iovec items[RIPC_ITEM_MAX];
    unsigned count = command->count < RIPC_ITEM_MAX ? command->count : RIPC_ITEM_MAX;
    for (unsigned i = 0; i < count; i++) {
        items[i] = (struct iovec){ripc_alloc(peer->ripc, command->size), command->size};
        if (items[i].iov_base == NULL)
            must(-ENOMEM, "ripc_alloc");
        pattern_fill(items[i].iov_base, items[i].iov_len, command->seed, i);
    }
    int64_t operation = ripc_send_message(
        peer->service,
        &(struct ripc_send){
            .to = to, .longs = items, .long_count = (uint16_t)count, .deadline = peer_deadline()});
    must(operation, "send_message");
    if (command->kind == COMMAND_SEND)
        return operation; /* the memory is never needed again */
    int status = operation > 0 ? ripc_wait(peer->service, operation, peer_deadline()) : 0;
    for (unsigned i = 0; i < count; i++)
        must(ripc_free(peer->ripc, items[i].iov_base), "ripc_free");
    return status;
}

static void count(struct peer *peer, const struct peer_command *command, ripc_id from)
{
    peer->miscounts += command->seed != peer->counted + 1;
    peer->counted = command->seed;
    if (command->count == 0)
        return;
    answer(peer, from, peer->miscounts, (unsigned)peer->counted);
    peer->counted = 0;
    peer->miscounts = 0;
}

static void notify(struct peer *peer, const struct peer_command *command, ripc_id from)
{
    answer(peer, from, 0, command->count);
    for (unsigned i = 0; i < command->count; i++)
        must(ripc_notify(peer->service, &command->handle, command->seed + i, peer_deadline()),
             "notify");
}

static void reach(struct peer *peer, const struct peer_command *command, ripc_id from)
{
    uint8_t *bytes = memory(command->size);
    pattern_fill(bytes, command->size, command->seed, 0);
    int status =
        ripc_write(peer->service, &command->grant, 0, bytes, command->size, peer_deadline());
    memset(bytes, 0, command->size);
    if (status >= 0)
        status =
            ripc_read(peer->service, &command->grant, 0, bytes, command->size, peer_deadline());
    unsigned right = status >= 0 && pattern_right(bytes, command->size, command->seed, 0);
    free(bytes);
    answer(peer, from, status, right);
    must(ripc_notify(peer->service, &command->handle, command->seed, peer_deadline()), "notify");
}

/* Returns whether the caller has to release the message. */
static int obey(struct peer *peer, struct ripc_message *message)
{
    struct peer_command command;
    size_t size;
    const void *data = ripc_short(message, 0, &size);
    if (data == NULL || size < sizeof command)
        return 1;
    memcpy(&command, data, sizeof command);
    switch ((enum command_kind)command.kind) {
    case COMMAND_ECHO:
        echo(peer, message);
        return 1;
    case COMMAND_WINDOWS:
        windows(peer, &command, message->from);
        return 1;
    case COMMAND_CHECK:
        check(peer, message, &command);
        return 1;
    case COMMAND_FETCH:
        fetch(peer, message, &command);
        return 1;
    case COMMAND_REJECT:
        reject(peer, message);
        return 1;
    case COMMAND_HOLD:
        answer(peer, message->from, 0, message->long_count);
        return 0;
    case COMMAND_REPLY:
        answer(peer, message->from, (int)send_long(peer, message->from, &command), command.count);
        return 1;
    case COMMAND_SEND:
        send_long(peer, message->from, &command);
        return 1;
    case COMMAND_COUNT:
        count(peer, &command, message->from);
        return 1;
    case COMMAND_NOTIFY:
        notify(peer, &command, message->from);
        return 1;
    case COMMAND_REACH:
        reach(peer, &command, message->from);
        return 1;
    case COMMAND_SLEEP:
        answer(peer, message->from, 0, 0);
        for (;;)
            pause();
    }
    return 1;
}

int peer_run(ripc_id id, int ready)
{
    struct peer peer = {0};
    struct ripc_message message;
    char reason[RIPC_REASON_MAX] = "";
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test leaves no peer behind */
    /* The test has set the environment, which configures the rest. */
    int opened = ripc_open(&(struct ripc_config){.reason = reason}, &peer.ripc);
    if (opened < 0)
        fprintf(stderr, "peer: %s\n", reason);
    must(opened, "ripc_open");
    must(ripc_bind(peer.ripc, id, 0, &peer.service), "ripc_bind");
    if (write(ready, "r", 1) != 1)
        return 1;
    close(ready);
    for (;;) {
        must(ripc_receive(peer.service, &message, 1, RIPC_FOREVER), "ripc_receive");
        if (obey(&peer, &message))
            ripc_release(&message);
    }
}
