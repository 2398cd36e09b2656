#pragma once
/* attachment: a program's connection to the node of its server, and through it to programs on other
 * servers (wire/relay.h).
 *
 * It carries two things: frames, which are datagrams that may get lost, and lines, which are
 * ordered byte streams. The end of a line is a descriptor like that of a TCP connection: it closes
 * when the other program ends, however it ends, when its server becomes unreachable, or when our
 * own node dies. The attachment holds the other end of its socket pair.
 *
 * When the node dies, the poller tries to connect to it until it is back: after 50 ms, then ever
 * less often, up to once a second. Lines do not survive that, and frames in flight are lost, but
 * everything can be opened again, from the new address that the node then gives us.
 *
 * All calls and callbacks run under the poller's lock. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/err.h"
#include "transport/wake/poller.h"
#include "wire/relay.h"

#define ATTACHMENT_PIECES_MAX 4

/* Connects to the node that listens on that socket, to send requests to its services
 * (wire/attach.h). The caller sends the hello. Returns a descriptor of sequenced packets, or a
 * negative errno. -EAGAIN: too many programs connect at the moment; does not occur if `wait` is
 * set. */
MUST_CHECK int node_connect(const char *path, bool wait);

/* Sends a hello that offers no memory. */
MUST_CHECK int node_greet(int fd);

/* When to connect again to a node that is gone. `*wait` is the delay, 0 at first; it grows. */
nsec node_again(nsec *wait);

struct attachment;

struct attachment_counts {
    uint64_t received; /* messages from the node */
    uint64_t garbage;  /* messages that did not parse */
    uint64_t refused;  /* datagrams for which the node had no room */
    uint64_t lines;    /* lines opened in either direction */
    bool memory;       /* memory is shared with the node; else the socket carries everything */
};

/* Called for a frame that arrived; the bytes are valid until it returns. */
typedef void attachment_frame(void *owner, const struct relay_address *from, const uint8_t *bytes,
                              size_t size);
/* Called when another program has opened a line to us; the callee owns the descriptor. */
typedef void attachment_accepted(void *owner, int fd);

/* Called when the node is gone (false), or is back (true) and gave us another address. */
typedef void attachment_turned(void *owner, bool up);

/* `path` is the node's socket. Fails if the node does not answer within a few seconds. */
MUST_CHECK int attachment_open(struct attachment **attachment, struct poller *poller,
                               const char *path, struct why *why);
void attachment_close(struct attachment *attachment); /* NULL is allowed */

void attachment_on_frame(struct attachment *attachment, attachment_frame *frame, void *owner);
/* NULL: lines to us are refused from now on. */
void attachment_on_line(struct attachment *attachment, attachment_accepted *accepted, void *owner);

void attachment_on_turn(struct attachment *attachment, attachment_turned *turned, void *owner);
bool attachment_is_up(const struct attachment *attachment);

/* Returns our address; the last one if the node is gone. */
struct relay_address attachment_address(const struct attachment *attachment);

/* Sends one frame in at most ATTACHMENT_PIECES_MAX pieces. It is lost if the node has no room for
 * it. */
void attachment_send(struct attachment *attachment, const struct relay_address *to,
                     const struct iovec *pieces, unsigned count);

/* Opens a line to that program. -EPIPE: our node is gone; or an error for lack of descriptors. If
 * the program does not exist, the descriptor closes later. */
MUST_CHECK int attachment_connect(struct attachment *attachment, const struct relay_address *to,
                                  int *fd);

/* Has a line to that program ended because the program's server said that the program is gone? It
 * has ended, or its server was restarted. (Only the last of those programs are remembered.) */
bool attachment_is_absent(const struct attachment *attachment, const struct relay_address *program);

/* Handles what has arrived, without waiting, at most one batch; returns how many messages. */
int attachment_receive(struct attachment *attachment);
/* While threads poll by attachment_receive the poller need not watch the descriptor. */
void attachment_watch(struct attachment *attachment, bool on);

void attachment_count(const struct attachment *attachment, struct attachment_counts *counts);
