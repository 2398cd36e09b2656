#pragma once
/* attachment_impl: what the files of the attachment share, lowest layer first.
 *   attachment_say.c    sending to the node
 *   attachment_lines.c  lines: streams between descriptors of ours and programs elsewhere
 *   attachment_call.c   one attempt to connect to the node
 *   attachment.c        receiving from the node; connecting, disconnecting, reconnecting */

#include "base/list.h"
#include "transport/ring/channel.h"
#include "transport/routed/attachment.h"

#define ATTACHMENT_BATCH  16
#define ATTACHMENT_ABSENT 64
#define ATTACHMENT_PACKET (ATTACH_HEAD_SIZE + RELAY_SIZE_MAX) /* the largest in the socket */

static_assert(ATTACHMENT_BATCH * ATTACHMENT_PACKET >= CHANNEL_MESSAGE_MAX, "one fits the buffers");

/* See attachment.c. */
enum attachment_stage { ATTACHMENT_GONE, ATTACHMENT_OFFERING, ATTACHMENT_ASKING, ATTACHMENT_UP };

struct attachment {
    struct poller *poller;
    char *path; /* the path of the node's socket; owned */
    enum attachment_stage stage;
    bool waits;                /* inside attachment_open; else nothing may block */
    struct poller_timer retry; /* the next attempt, or the timeout of this one; always set */
    nsec retry_wait;           /* the delay before the next attempt; 0: the attachment is up */
    attachment_turned *turned;
    void *turned_owner;
    int fd;
    struct channel *channel; /* NULL: the socket carries everything */
    struct channel *offered; /* one that the node has not accepted yet */
    bool lost;               /* the node closed the connection, and is not back yet */
    bool broken;             /* the node wrote invalid data into the channel */
    bool watched;
    struct poller_timer again; /* for polling the channel; always set, never due without one */
    struct poller_watch *watch;
    poller_ready *ready; /* the callback of the watch */
    struct relay_address address;
    attachment_frame *frame;
    void *frame_owner;
    attachment_accepted *accepted;
    void *accepted_owner;
    struct list lines; /* struct line */
    uint32_t line_count;
    struct relay_address absent[ATTACHMENT_ABSENT]; /* programs with lines whose servers said that
                                                     * they are gone; the oldest are overwritten */
    uint32_t absent_count;
    struct poller_timer timer; /* for the lines; always set */
    uint8_t *buffers;          /* ATTACHMENT_BATCH messages */
    struct attachment_counts counts;
};

/* attachment_say.c */
/* Sends a message; false: the node has no room for it now. */
bool attachment_say(struct attachment *attachment, const struct relay_address *to, uint8_t kind,
                    const struct iovec *pieces, unsigned count);
/* From now on the node rings for what it puts into the channel: look at the channel after this
 * call. */
void attachment_arm(struct attachment *attachment);
void attachment_poll_soon(struct attachment *attachment); /* look at the channel from the poller */

/* Is this the head of a message of the relay? */
static inline bool attachment_is_relay(const struct attach_head *head)
{
    return head->service == RELAY_SERVICE && !head->status;
}

/* attachment_call.c: each returns 0 in progress, 1 done, or an error. */
MUST_CHECK int attachment_call(struct attachment *attachment, bool memory);
MUST_CHECK int attachment_call_step(struct attachment *attachment); /* a message arrived */
MUST_CHECK int attachment_call_late(struct attachment *attachment); /* timeout without an answer */
void attachment_hang_up(struct attachment *attachment);

/* attachment_lines.c */
MUST_CHECK int lines_open(struct attachment *attachment);
void lines_close(struct attachment *attachment);
void lines_heard(struct attachment *attachment, const struct relay_message *message);
void lines_absent(struct attachment *attachment, const struct relay_address *address);
void lines_server(struct attachment *attachment, uint32_t server, bool up);
void lines_lost(struct attachment *attachment); /* all of them */
