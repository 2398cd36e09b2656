#pragma once
/* channel: messages between a program and the node of its server, both ways, through one memory
 * file: a ring and a doorbell for each direction. It never blocks, and makes a system call only to
 * wake a peer that sleeps.
 *
 * The Unix socket on which the memory was handed over stays open: it is the sign of life, and a
 * bell rings by a packet of one byte there. So who sleeps watches one descriptor; what is readable
 * there is the peer's ring, or its end.
 *
 * The memory is not trusted. -EPROTO: the peer wrote nonsense; nothing works from then on. What it
 * writes into our bell costs itself its wake-ups. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/err.h"
#include "wire/attach.h"

#define CHANNEL_MESSAGE_MAX 8940 /* FRAME_BODY_MAX */
#define CHANNEL_SLOTS       512  /* messages in one direction, at most, as a program opens it */

struct channel;

/* The program's end: makes the memory. The socket is borrowed, and has to outlive it. */
MUST_CHECK int channel_open(struct channel **channel, int socket);
/* Asks the node at the other end of the socket to use it; the answer comes there (wire/attach.h).
 * When it is yes, agree, and not before, say something. */
MUST_CHECK int channel_offer(const struct channel *channel);
void channel_agree(struct channel *channel);

/* The node's end: takes over the memory's descriptor, also on failure. -EINVAL: not a shape that
 * the node has room for. */
MUST_CHECK int channel_map(struct channel **channel, int file, const struct attach_ask *ask,
                           int socket);
void channel_close(struct channel *channel); /* NULL is allowed */

/* recv() without waiting, which also takes a descriptor that came along; else *file is -1. */
ssize_t channel_recv(int socket, void *bytes, size_t size, int *file);

/* One message. 0, -EAGAIN no room now, -EMSGSIZE, -EPROTO. */
MUST_CHECK int channel_say(struct channel *channel, uint16_t kind, const struct iovec *pieces,
                           unsigned count);

struct channel_message {
    uint16_t kind;
    uint32_t size;
};

/* Copies the next message into CHANNEL_MESSAGE_MAX bytes: what is looked at there no peer changes.
 * 1, 0 there is none, -EPROTO. */
MUST_CHECK int channel_take(struct channel *channel, struct channel_message *out, void *bytes);
bool channel_waiting(const struct channel *channel); /* would there be one? */

/* As doorbell_arm and the others: arm, fence, look, then wait for the socket. Who was woken takes
 * the byte first, and arms again. */
void channel_arm(struct channel *channel);
void channel_fence(const struct channel *channel);
void channel_disarm(struct channel *channel);
