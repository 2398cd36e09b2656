#pragma once
/* attachment: a program's connection to the node of its server, and through it to programs of other
 * servers (wire/relay.h).
 *
 * It carries two things: frames, which are datagrams that may get lost, and lines, which are
 * streams of bytes in order. The end of a line is a descriptor like that of a TCP connection: it
 * closes when the other program ends, however it ends, when its server can no longer be reached, or
 * when our own node dies. Who has the other end of that descriptor is this file.
 *
 * A node that dies is called again, by the poller, until it is back: after 50 ms, then ever later
 * up to a second. Lines do not outlive it and frames on their way are lost, but everything can be
 * begun anew, at the address that we have from then on, which is another.
 *
 * All calls and callbacks run under the poller's lock. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/err.h"
#include "transport/wake/poller.h"
#include "wire/relay.h"

#define ATTACHMENT_PIECES_MAX 4

/* A connection to the node whose socket that is, on which its services can be asked
 * (os/host/desk.h): a descriptor of sequenced packets, or a negative errno. -EAGAIN: many call it
 * just now, unless we may wait for it. */
MUST_CHECK int node_connect(const char *path, bool wait);

/* When to call a node again that has gone; `wait`, 0 at first, is how long that is, and grows. */
nsec node_again(nsec *wait);

struct attachment;

struct attachment_counts {
    uint64_t received; /* messages from the node */
    uint64_t garbage;  /* of those, that did not parse */
    uint64_t refused;  /* datagrams that the node had no room for */
    uint64_t lines;    /* that were opened, in either direction */
    bool memory;       /* it is shared with the node; else all goes by the socket */
};

/* A frame for us: the bytes are valid until it returns. */
typedef void attachment_frame(void *owner, const struct relay_address *from, const uint8_t *bytes,
                              size_t size);
/* Somebody opened a line to us: the descriptor is the callee's. */
typedef void attachment_accepted(void *owner, int fd);

/* The node has gone (false), or is back (true): the address is another. */
typedef void attachment_turned(void *owner, bool up);

/* `path` is the node's socket; it must answer within a few seconds. */
MUST_CHECK int attachment_open(struct attachment **attachment, struct poller *poller,
                               const char *path, struct why *why);
void attachment_close(struct attachment *attachment); /* NULL is allowed */

void attachment_on_frame(struct attachment *attachment, attachment_frame *frame, void *owner);
/* NULL: lines to us are refused, from now on. */
void attachment_on_line(struct attachment *attachment, attachment_accepted *accepted, void *owner);

void attachment_on_turn(struct attachment *attachment, attachment_turned *turned, void *owner);
bool attachment_is_up(const struct attachment *attachment);

/* The last one, if the node is gone. */
struct relay_address attachment_address(const struct attachment *attachment);

/* One frame in pieces, at most ATTACHMENT_PIECES_MAX. What the node has no room for is lost. */
void attachment_send(struct attachment *attachment, const struct relay_address *to,
                     const struct iovec *pieces, unsigned count);

/* A line to that program: -EPIPE our node is gone, or no descriptors. Whether anybody is there
 * shows when the descriptor closes. */
MUST_CHECK int attachment_connect(struct attachment *attachment, const struct relay_address *to,
                                  int *fd);

/* Handles what has come, without waiting, at most one batch; returns how many messages. */
int attachment_receive(struct attachment *attachment);
/* While threads poll by attachment_receive the poller need not watch the descriptor. */
void attachment_watch(struct attachment *attachment, bool on);

void attachment_count(const struct attachment *attachment, struct attachment_counts *counts);
