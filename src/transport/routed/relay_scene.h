#pragma once
/* relay_scene: a node for tests, instead of a cluster: a thread that gives programs addresses and
 * carries their messages, losing and duplicating some. It offers no shared memory, accepts every
 * claim of a name, and answers every query as if the name were unclaimed. */

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/rng.h"
#include "base/test.h"
#include "transport/wake/thread.h"
#include "wire/attach.h"
#include "wire/directory.h"
#include "wire/relay.h"

#define RELAY_PROGRAMS 3
#define RELAY_SOCKET   "node-0.socket"

struct relay {
    char path[128];
    int fd;
    int programs[RELAY_PROGRAMS];
    uint64_t lives[RELAY_PROGRAMS];
    uint64_t life;
    struct rng rng;
    struct thread thread;
    atomic_uint lose, twice; /* percentages; set by the test, relaxed: any moment will do */
    atomic_bool mute;        /* likewise: no query for a name is answered */
    atomic_bool stop;        /* likewise; the thread checks it every few milliseconds */
};

static inline struct relay_address relay_address(const struct relay *relay, unsigned i)
{
    return (struct relay_address){.server = i, .program = 1, .life = relay->lives[i]};
}

static inline void relay_say(struct relay *relay, unsigned to, const struct relay_message *message)
{
    uint8_t packet[ATTACH_HEAD_SIZE + RELAY_SIZE_MAX], *bytes = packet + ATTACH_HEAD_SIZE;
    attach_head_write(&(struct attach_head){.service = RELAY_SERVICE}, packet);
    relay_write(message, bytes);
    if (message->size)
        memcpy(bytes + RELAY_HEAD_SIZE, message->body, message->size);
    (void)!send(relay->programs[to], packet, ATTACH_HEAD_SIZE + RELAY_HEAD_SIZE + message->size,
                MSG_DONTWAIT | MSG_NOSIGNAL);
}

static inline void relay_gone(struct relay *relay, unsigned i)
{
    struct relay_address absent = relay_address(relay, i);
    close(relay->programs[i]);
    relay->programs[i] = -1;
    for (unsigned other = 0; other < RELAY_PROGRAMS; other++)
        if (relay->programs[other] >= 0)
            relay_say(relay, other,
                      &(struct relay_message){.operation = RELAY_ABSENT, .from = absent});
}

static inline void relay_carry(struct relay *relay, unsigned from, struct relay_message *message)
{
    unsigned to = message->to.server;
    message->from = relay_address(relay, from);
    if (to >= RELAY_PROGRAMS || relay->programs[to] < 0 || relay->lives[to] != message->to.life) {
        relay_say(relay, from,
                  &(struct relay_message){.operation = RELAY_ABSENT, .from = message->to});
        return;
    }
    if (rng_below(&relay->rng, 100) >= relay->lose)
        relay_say(relay, to, message);
    if (rng_below(&relay->rng, 100) < relay->twice)
        relay_say(relay, to, message);
}

static inline void relay_name(struct relay *relay, unsigned from, const uint8_t *bytes, size_t size)
{
    static struct directory_message message; /* used only by the thread */
    uint8_t answer[ATTACH_HEAD_SIZE + DIRECTORY_MESSAGE_MAX];
    if (directory_read(&message, bytes, size) ||
        (message.operation == DIRECTORY_ASK && relay->mute))
        return;
    message.operation = message.operation == DIRECTORY_ASK ? DIRECTORY_ANSWER : DIRECTORY_CLAIMED;
    attach_head_write(&(struct attach_head){.service = DIRECTORY_SERVICE}, answer);
    size = ATTACH_HEAD_SIZE + directory_write(&message, answer + ATTACH_HEAD_SIZE);
    (void)!send(relay->programs[from], answer, size, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* The hello: the memory of the program, if it offered any, is not used. */
static inline void relay_greet(struct relay *relay, unsigned from)
{
    uint8_t bytes[ATTACH_ANSWER_SIZE];
    attach_answer_write(&(struct attach_answer){.version = ATTACH_VERSION, .memory = EOPNOTSUPP},
                        bytes);
    (void)!send(relay->programs[from], bytes, sizeof bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static inline void relay_hear(struct relay *relay, unsigned from)
{
    uint8_t bytes[ATTACH_HEAD_SIZE + RELAY_SIZE_MAX], *body = bytes + ATTACH_HEAD_SIZE;
    struct relay_message message;
    struct attach_head head;
    ssize_t size = recv(relay->programs[from], bytes, sizeof bytes, MSG_DONTWAIT);
    if (size < 0 && errno == EAGAIN)
        return;
    bool valid = size > 0 && !attach_head_read(&head, bytes, (size_t)size);
    if (valid && head.service == ATTACH_SERVICE)
        relay_greet(relay, from);
    else if (valid && head.service == DIRECTORY_SERVICE)
        relay_name(relay, from, body, (size_t)size - ATTACH_HEAD_SIZE);
    else if (!valid || relay_read(&message, body, (size_t)size - ATTACH_HEAD_SIZE)) {
        relay_gone(relay, from);
    } else if (message.operation == RELAY_ATTACH) {
        relay->lives[from] = ++relay->life;
        relay_say(
            relay, from,
            &(struct relay_message){.operation = RELAY_ATTACHED, .to = relay_address(relay, from)});
    } else if (message.operation == RELAY_DATA) {
        relay_carry(relay, from, &message);
    }
}

static inline void relay_accept(struct relay *relay)
{
    int fd = accept4(relay->fd, NULL, NULL, SOCK_CLOEXEC);
    for (unsigned i = 0; i < RELAY_PROGRAMS && fd >= 0; i++)
        if (relay->programs[i] < 0) {
            relay->programs[i] = fd;
            return;
        }
}

static inline void *relay_run(void *argument)
{
    struct relay *relay = argument;
    while (!relay->stop) {
        struct pollfd polled[1 + RELAY_PROGRAMS] = {{.fd = relay->fd, .events = POLLIN}};
        for (unsigned i = 0; i < RELAY_PROGRAMS; i++)
            polled[1 + i] = (struct pollfd){.fd = relay->programs[i], .events = POLLIN};
        if (poll(polled, 1 + RELAY_PROGRAMS, 5) <= 0)
            continue;
        for (unsigned i = 0; i < RELAY_PROGRAMS; i++)
            if (polled[1 + i].revents && relay->programs[i] >= 0)
                relay_hear(relay, i);
        if (polled[0].revents)
            relay_accept(relay);
    }
    for (unsigned i = 0; i < RELAY_PROGRAMS; i++)
        if (relay->programs[i] >= 0)
            close(relay->programs[i]);
    close(relay->fd);
    return NULL;
}

static inline void relay_open(struct relay *relay, const char *folder)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    *relay = (struct relay){.rng = rng_make(1, 0), .life = relay->life}; /* never reused */
    print_message("# seed 1\n");
    for (unsigned i = 0; i < RELAY_PROGRAMS; i++)
        relay->programs[i] = -1;
    snprintf(relay->path, sizeof relay->path, "%s/" RELAY_SOCKET, folder);
    assert_true(strlen(relay->path) < sizeof address.sun_path);
    strcpy(address.sun_path, relay->path);
    relay->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_true(relay->fd >= 0);
    assert_int_equal(bind(relay->fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(relay->fd, 8), 0);
    assert_int_equal(thread_start(&relay->thread, "relay", relay_run, relay), 0);
}

static inline void relay_end(struct relay *relay)
{
    relay->stop = true;
    thread_join(&relay->thread);
    (void)unlink(relay->path);
}
