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
/* Sends the hello (wire/attach.h) to the node at the other end of the socket, with the memory; the
 * welcome arrives on the socket. After a positive one call channel_agree, and send no message
 * through the channel before that. */
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
MUST_CHECK int channel_say(struct channel *channel, const struct attach_head *head,
                           const struct iovec *pieces, unsigned count);
/* The same in two steps: puts a message, of which the peer is told by channel_ring. So one ring can
 * serve several messages. */
MUST_CHECK int channel_put(struct channel *channel, const struct attach_head *head,
                           const struct iovec *pieces, unsigned count);
void channel_ring(struct channel *channel);
/* Would a message of the largest size be accepted? True as well if the peer wrote invalid data,
 * which the next call reports. */
bool channel_has_room(struct channel *channel);
/* While it is wanted, the peer rings our bell when it has released enough messages for
 * channel_has_room to become true. Want, arm, fence, look for room, then wait for the socket. */
void channel_want_room(struct channel *channel, bool wanted);

struct channel_message {
    struct attach_head head;
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
