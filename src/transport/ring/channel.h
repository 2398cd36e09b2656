#pragma once
/* channel: messages in both directions between a program and the node of its server, through one
 * memory file: a ring and a doorbell for each direction. It never blocks, and makes a system call
 * only to wake a sleeping peer.
 *
 * The Unix socket on which the memory was handed over stays open: it breaks when the peer dies, and
 * a bell is rung by a packet of one byte on it. So a sleeping thread watches one descriptor, which
 * becomes readable when the peer rings or ends.
 *
 * The memory is not trusted. -EPROTO: the peer wrote invalid data; from then on all calls fail. A
 * peer that writes into our bell harms only its own wake-ups. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/err.h"
#include "wire/attach.h"

#define CHANNEL_MESSAGE_MAX 8940 /* FRAME_BODY_MAX */
#define CHANNEL_SLOTS       512  /* messages that fit in each direction */

struct channel;

/* Opens the program's end and allocates the memory. The socket is borrowed, and must outlive the
 * channel. */
MUST_CHECK int channel_open(struct channel **channel, int socket);
/* Offers the channel to the node at the other end of the socket; the answer arrives on the socket
 * (wire/attach.h). After a positive answer call channel_agree, and send no message before that. */
MUST_CHECK int channel_offer(const struct channel *channel);
void channel_agree(struct channel *channel);

/* Opens the node's end. Takes over the memory's descriptor, even on failure. -EINVAL: the shape is
 * invalid or larger than a node accepts. */
MUST_CHECK int channel_map(struct channel **channel, int file, const struct attach_ask *ask,
                           int socket);
void channel_close(struct channel *channel); /* NULL is allowed */

/* Like recv() without waiting, but also takes a descriptor that came along; else sets *file to
 * -1. */
ssize_t channel_recv(int socket, void *bytes, size_t size, int *file);

/* Sends one message. Returns 0, -EAGAIN (no room now), -EMSGSIZE or -EPROTO. */
MUST_CHECK int channel_say(struct channel *channel, uint16_t kind, const struct iovec *pieces,
                           unsigned count);

struct channel_message {
    uint16_t kind;
    uint32_t size;
};

/* Copies the next message into CHANNEL_MESSAGE_MAX bytes, where no peer can change it. Returns 1, 0
 * (no message) or -EPROTO. */
MUST_CHECK int channel_take(struct channel *channel, struct channel_message *out, void *bytes);
bool channel_waiting(const struct channel *channel); /* is there a message? */

/* Like doorbell_arm and the others: arm, fence, look for messages, then wait for the socket. After
 * a wake-up the thread receives the byte from the socket before it arms again. */
void channel_arm(struct channel *channel);
void channel_fence(const struct channel *channel);
void channel_disarm(struct channel *channel);
