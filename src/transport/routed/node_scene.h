#pragma once
/* node_scene: a node for tests that is controlled step by step. The node of relay_scene.h acts by
 * itself and has no shared memory; this one accepts the memory, refuses it, writes invalid data
 * into it, or hangs up, as the test requires.
 *
 * A program waits inside attachment_open, and while the poller reconnects to its node. Meanwhile a
 * thread plays the node, following a list of acts (node_play); afterwards the test itself does. The
 * thread asserts with base/check.h: a failure ends the test program. */

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/check.h"
#include "transport/ring/channel.h"
#include "transport/ring/ring.h"
#include "transport/routed/attachment_impl.h"
#include "transport/scratch.h"
#include "transport/wake/thread.h"

#define NODE_PATIENCE_MSEC 20000 /* how long a failing test waits */
#define NODE_SERVER        3
#define NODE_PROGRAM       7

enum node_act {
    NODE_END,        /* end of the list */
    NODE_ACCEPTS,    /* a program connects */
    NODE_TAKES,      /* accepts the memory that the program offers */
    NODE_REFUSES,    /* refuses that memory, but not the program */
    NODE_BABBLES,    /* sends invalid data instead of a welcome, and hangs up */
    NODE_GREETS,     /* welcomes a program that offers no memory */
    NODE_IS_CROWDED, /* refuses the program, and hangs up */
    NODE_IS_OLD,     /* answers as a node of version 1 does */
    NODE_ASKED,      /* the program asks for an address ... */
    NODE_CHATS,      /* ... and first receives something else */
    NODE_RINGS,      /* ... and the bell is rung without a message */
    NODE_GRANTS,     /* ... and gets one */
    NODE_IS_FULL,    /* ... and does not get one */
    NODE_MUMBLES,    /* ... and gets something that is no valid message */
    NODE_IS_CALLED,  /* the program sends something, which is not read */
    NODE_HANGS_UP,   /* closes without a message */
    NODE_IS_SILENT,  /* sends nothing until the program hangs up */
};

struct scripted_node {
    struct scratch scratch;
    char path[DOMAIN_PATH_MAX + 16];
    int listener;
    int fd; /* to the program; -1: none */
    struct channel *channel;
    uint8_t *memory; /* the channel's memory, mapped a second time to write invalid data into it */
    size_t memory_size;
    struct relay_address address; /* the program's; each attachment has its own life */
    const enum node_act *acts;
    struct thread thread;
};

static inline void node_listen(struct scripted_node *node)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    scratch_open(&node->scratch);
    snprintf(node->path, sizeof node->path, "%s/node.socket", node->scratch.folder);
    assert_true(strlen(node->path) < sizeof address.sun_path);
    strcpy(address.sun_path, node->path);
    node->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_true(node->listener >= 0);
    assert_int_equal(bind(node->listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(node->listener, 8), 0);
    node->address = (struct relay_address){.server = NODE_SERVER, .program = NODE_PROGRAM};
    node->fd = -1;
}

static inline void node_hang_up(struct scripted_node *node)
{
    channel_close(node->channel);
    node->channel = NULL;
    if (node->memory)
        munmap(node->memory, node->memory_size);
    node->memory = NULL;
    if (node->fd >= 0)
        close(node->fd);
    node->fd = -1;
}

/* Asserts that both ends have unmapped the channel's memory. */
static inline void node_assert_no_memory(void)
{
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "re");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps))
        assert_null(strstr(line, "weft-channel"));
    fclose(maps);
}

/* Call it after the program has closed its end. */
static inline void node_fini(struct scripted_node *node)
{
    node_hang_up(node);
    node_assert_no_memory();
    close(node->listener);
    unlink(node->path);
    scratch_close(&node->scratch);
}

static inline void node_await(int fd)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    int count = poll(&ready, 1, NODE_PATIENCE_MSEC);
    assert(count == 1);
}

/* Receives the next packet of the socket that is not a ring of the bell; 0: the program hung up. */
static inline size_t node_packet(struct scripted_node *node, uint8_t *bytes, size_t most, int *file)
{
    ssize_t size;
    do {
        node_await(node->fd);
        size = channel_recv(node->fd, bytes, most, file);
    } while (size == 1);
    assert(size >= 0 || errno == ECONNRESET);
    return size > 0 ? (size_t)size : 0;
}

static inline void node_welcome(struct scripted_node *node, const struct attach_answer *answer,
                                size_t size)
{
    uint8_t bytes[ATTACH_ANSWER_SIZE + 1] = {0};
    attach_answer_write(answer, bytes);
    assert(send(node->fd, bytes, size, MSG_NOSIGNAL) == (ssize_t)size);
}

static inline void node_take_memory(struct scripted_node *node)
{
    uint8_t bytes[64];
    struct attach_ask ask;
    int file;
    size_t size = node_packet(node, bytes, sizeof bytes, &file);
    int result = attach_ask_read(&ask, bytes, size);
    assert(result == 0 && file >= 0);
    node->memory_size = 256 + 2 * ring_size(&(struct ring_shape){ask.slots, ask.bytes});
    node->memory = mmap(NULL, node->memory_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    assert(node->memory != MAP_FAILED);
    result = channel_map(&node->channel, file, &ask, node->fd);
    assert(result == 0);
    node_welcome(node, &(struct attach_answer){.version = ATTACH_VERSION}, ATTACH_ANSWER_SIZE);
}

/* Reads the hello, with memory or without, and does not use the memory. */
static inline void node_greet_without(struct scripted_node *node, bool memory,
                                      const struct attach_answer *answer, size_t size)
{
    uint8_t bytes[64];
    struct attach_ask ask;
    int file;
    int result = attach_ask_read(&ask, bytes, node_packet(node, bytes, sizeof bytes, &file));
    assert(result == 0 && memory == (file >= 0) && memory == (ask.slots > 0));
    if (file >= 0)
        close(file);
    node_welcome(node, answer, size);
}

/* Receives the program's next message, by channel or socket. The body is valid until the next
 * call. */
static inline struct relay_message node_hear(struct scripted_node *node)
{
    static uint8_t bytes[ATTACH_HEAD_SIZE + CHANNEL_MESSAGE_MAX];
    struct relay_message message;
    struct channel_message head;
    int file, result;
    if (!node->channel) {
        size_t size = node_packet(node, bytes, sizeof bytes, &file);
        result = attach_head_read(&head.head, bytes, size);
        assert(result == 0 && attachment_is_relay(&head.head) && !head.head.ticket && file < 0);
        result = relay_read(&message, bytes + ATTACH_HEAD_SIZE, size - ATTACH_HEAD_SIZE);
        assert(result == 0);
        return message;
    }
    for (nsec end = clock_after(NODE_PATIENCE_MSEC * 1000000LL);;) {
        result = channel_take(node->channel, &head, bytes);
        if (result)
            break;
        assert(clock_now() < end);
        clock_nap(100 * 1000);
    }
    assert(result == 1 && attachment_is_relay(&head.head) && !head.head.ticket);
    result = relay_read(&message, bytes, head.size);
    assert(result == 0);
    return message;
}

/* Sends any bytes, by channel as a message of the relay, or by socket as they are. */
static inline void node_say_bytes(struct scripted_node *node, const void *bytes, size_t size)
{
    const struct iovec piece = {(void *)(uintptr_t)bytes, size};
    if (!node->channel) {
        assert(send(node->fd, bytes, size, MSG_NOSIGNAL) == (ssize_t)size);
        return;
    }
    int result =
        channel_say(node->channel, &(struct attach_head){.service = RELAY_SERVICE}, &piece, 1);
    assert(result == 0);
}

static inline void node_say(struct scripted_node *node, const struct relay_message *message)
{
    uint8_t packet[ATTACHMENT_PACKET], *bytes = packet + ATTACH_HEAD_SIZE;
    size_t size = RELAY_HEAD_SIZE + message->size;
    attach_head_write(&(struct attach_head){.service = RELAY_SERVICE}, packet);
    relay_write(message, bytes);
    if (message->size)
        memcpy(bytes + RELAY_HEAD_SIZE, message->body, message->size);
    if (node->channel)
        node_say_bytes(node, bytes, size);
    else
        node_say_bytes(node, packet, ATTACH_HEAD_SIZE + size);
}

static inline void node_act(struct scripted_node *node, enum node_act act)
{
    uint8_t bytes[8] = {0};
    struct relay_message word = {.operation = RELAY_ATTACHED};
    struct attach_answer welcome = {.version = ATTACH_VERSION};
    switch (act) {
    case NODE_END:
        return;
    case NODE_ACCEPTS:
        node_await(node->listener);
        node_hang_up(node); /* the program has closed the last connection */
        node->fd = accept4(node->listener, NULL, NULL, SOCK_CLOEXEC);
        assert(node->fd >= 0);
        return;
    case NODE_TAKES:
        node_take_memory(node);
        return;
    case NODE_REFUSES:
        welcome.memory = EPERM;
        node_greet_without(node, true, &welcome, ATTACH_ANSWER_SIZE);
        return;
    case NODE_BABBLES:
        node_greet_without(node, true, &welcome, ATTACH_ANSWER_SIZE + 1);
        node_hang_up(node);
        return;
    case NODE_GREETS:
        welcome.memory = ENODATA;
        node_greet_without(node, false, &welcome, ATTACH_ANSWER_SIZE);
        return;
    case NODE_IS_CROWDED:
        welcome.status = EUSERS; /* it does not even read the hello */
        node_welcome(node, &welcome, ATTACH_ANSWER_SIZE);
        node_hang_up(node);
        return;
    case NODE_IS_OLD:
        welcome.status = EOPNOTSUPP; /* version 1 answers with the first four bytes */
        node_greet_without(node, true, &welcome, 4);
        return;
    case NODE_ASKED:
        word = node_hear(node);
        assert(word.operation == RELAY_ATTACH);
        return;
    case NODE_CHATS:
        word = (struct relay_message){.operation = RELAY_UP, .from.server = 1};
        break;
    case NODE_RINGS:
        assert(send(node->fd, bytes, 1, MSG_NOSIGNAL) == 1);
        return;
    case NODE_GRANTS:
        node->address.life++;
        word.to = node->address;
        break;
    case NODE_IS_FULL:
        break;
    case NODE_MUMBLES:
        node_say_bytes(node, bytes, sizeof bytes);
        return;
    case NODE_IS_CALLED:
        node_await(node->fd);
        return;
    case NODE_HANGS_UP:
        node_hang_up(node);
        return;
    case NODE_IS_SILENT:
        while (node_packet(node, bytes, sizeof bytes, &(int){0}))
            ;
        node_hang_up(node);
        return;
    }
    node_say(node, &word);
}

static inline void *node_run(void *argument)
{
    struct scripted_node *node = argument;
    for (const enum node_act *act = node->acts; *act != NODE_END; act++)
        node_act(node, *act);
    return NULL;
}

/* A thread plays these acts, until thread_join. */
static inline void node_play(struct scripted_node *node, const enum node_act *acts)
{
    node->acts = acts;
    assert_int_equal(thread_start(&node->thread, "node", node_run, node), 0);
}
#define NODE_PLAY(node, ...) node_play(node, (const enum node_act[]){__VA_ARGS__, NODE_END})

/* ---- a program ---- */

struct attached_program {
    struct lock lock;
    struct poller *poller;
    struct attachment *attachment;
    unsigned frames;
    uint8_t last;                    /* the byte of the last frame */
    unsigned gone, back;             /* how often the node went and came back */
    unsigned lines;                  /* how many were accepted */
    int line;                        /* the last accepted; the next one closes it */
    struct scripted_node *refilling; /* sends another frame for each received one ... */
    unsigned refills;                /* ... this many times */
};

static inline void node_say_frame(struct scripted_node *node, uint8_t byte)
{
    node_say(node, &(struct relay_message){.operation = RELAY_DATA,
                                           .kind = RELAY_KIND_FRAME,
                                           .to = node->address,
                                           .body = &byte,
                                           .size = 1});
}

static inline void program_frame(void *owner, const struct relay_address *from,
                                 const uint8_t *bytes, size_t size)
{
    struct attached_program *program = owner;
    program->frames++;
    program->last = size == 1 ? bytes[0] : 0;
    if (program->refills) {
        program->refills--;
        node_say_frame(program->refilling, 1);
    }
}

static inline void program_line(void *owner, int fd)
{
    struct attached_program *program = owner;
    if (program->line >= 0)
        close(program->line);
    program->line = fd;
    program->lines++;
}

static inline void program_turned(void *owner, bool up)
{
    struct attached_program *program = owner;
    program->gone += !up;
    program->back += up;
}

/* Returns 0, or why there is no attachment. */
static inline int program_open(struct attached_program *program, struct scripted_node *node,
                               struct why *why)
{
    *program = (struct attached_program){.line = -1};
    assert_int_equal(poller_open(&program->poller, &program->lock), 0);
    int result = attachment_open(&program->attachment, program->poller, node->path, why);
    thread_join(&node->thread);
    if (result)
        return result;
    attachment_on_frame(program->attachment, program_frame, program);
    attachment_on_line(program->attachment, program_line, program);
    attachment_on_turn(program->attachment, program_turned, program);
    return 0;
}

static inline void program_nothing(void *owner)
{
}

/* Asserts that the poller is unused: it has no watch, which it asserts itself, and no timer. */
static inline void program_poller_close(struct attached_program *program)
{
    struct poller_timer first = {.fired = program_nothing};
    assert_int_equal(poller_set(program->poller, &first, NSEC_FAR), 0);
    assert_int_equal(first.slot, 1); /* it is the only timer */
    poller_close(program->poller);
}

static inline void program_close(struct attached_program *program)
{
    attachment_close(program->attachment);
    program_poller_close(program);
    if (program->line >= 0)
        close(program->line);
}

/* Makes one step, which some event must end. Without a wake-up the step times out and returns 0. */
static inline int program_step(struct attached_program *program)
{
    return poller_step(program->poller, clock_after(NODE_PATIENCE_MSEC * 1000000LL));
}

/* True if nothing is due and nothing arrives. */
static inline bool program_rests(struct attached_program *program)
{
    return poller_step(program->poller, clock_after(5 * 1000 * 1000)) == 0;
}

#define PROGRAM_AWAIT(program, condition)                                                          \
    do {                                                                                           \
        nsec end_ = clock_after(NODE_PATIENCE_MSEC * 1000000LL);                                   \
        while (!(condition) && clock_now() < end_)                                                 \
            poller_step((program)->poller, end_);                                                  \
        assert_true(condition);                                                                    \
    } while (0)
