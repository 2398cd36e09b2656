#pragma once
/* attachment_impl: what the two files of the attachment share.
 *   attachment.c        the socket to the node, frames
 *   attachment_lines.c  lines: streams between descriptors of ours and programs elsewhere */

#include "base/list.h"
#include "transport/attachment.h"

#define ATTACHMENT_BATCH 16

struct attachment {
    struct poller *poller;
    int fd;
    bool lost; /* the node hung up */
    bool watched;
    struct poller_watch *watch;
    struct relay_address address;
    attachment_frame *frame;
    void *frame_owner;
    attachment_accepted *accepted;
    void *accepted_owner;
    struct list lines; /* struct line */
    uint32_t line_count;
    struct poller_timer timer; /* of the lines; always set */
    uint8_t *buffers;          /* ATTACHMENT_BATCH messages */
    struct attachment_counts counts;
};

/* Sends; false: the socket did not take it. */
bool attachment_say(struct attachment *attachment, const struct relay_address *to, uint8_t kind,
                    const struct iovec *pieces, unsigned count);

/* attachment_lines.c */
MUST_CHECK int lines_open(struct attachment *attachment);
void lines_close(struct attachment *attachment);
void lines_heard(struct attachment *attachment, const struct relay_message *message);
void lines_absent(struct attachment *attachment, const struct relay_address *address);
void lines_server(struct attachment *attachment, uint32_t server, bool up);
void lines_lost(struct attachment *attachment); /* all of them */
