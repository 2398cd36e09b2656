/* attachment_say: sends messages to the node, through shared memory or the socket. */
#include <errno.h>
#include <sys/socket.h>

#include "base/check.h"
#include "transport/routed/attachment_impl.h"

static bool socket_say(struct attachment *attachment, struct iovec *pieces, unsigned count)
{
    uint8_t head[ATTACH_HEAD_SIZE];
    attach_head_write(&(struct attach_head){.service = RELAY_SERVICE}, head);
    pieces[0] = (struct iovec){head, sizeof head};
    struct msghdr message = {.msg_iov = pieces, .msg_iovlen = count};
    return sendmsg(attachment->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

void attachment_poll_soon(struct attachment *attachment)
{
    int result = poller_set(attachment->poller, &attachment->again, clock_now());
    assert(result == 0); /* the timer is always set */
}

void attachment_arm(struct attachment *attachment)
{
    channel_arm(attachment->channel);
    channel_fence(attachment->channel);
}

static bool memory_say(struct attachment *attachment, const struct iovec *pieces, unsigned count)
{
    const struct attach_head head = {.service = RELAY_SERVICE};
    int result = channel_say(attachment->channel, &head, pieces, count);
    if (result == -EPROTO) { /* the poller ends the attachment: our caller does not expect that */
        attachment->broken = true;
        attachment_poll_soon(attachment);
    }
    return !result;
}

bool attachment_say(struct attachment *attachment, const struct relay_address *to, uint8_t kind,
                    const struct iovec *pieces, unsigned count)
{
    uint8_t head[RELAY_HEAD_SIZE];
    struct iovec all[2 + ATTACHMENT_PIECES_MAX]; /* the first is the head */
    assert(count <= ATTACHMENT_PIECES_MAX);
    if (attachment->lost)
        return false;
    relay_write(&(struct relay_message){.operation = RELAY_DATA, .kind = kind, .to = *to}, head);
    all[1] = (struct iovec){head, sizeof head};
    for (unsigned i = 0; i < count; i++)
        all[2 + i] = pieces[i];
    if (attachment->channel ? memory_say(attachment, all + 1, 1 + count)
                            : socket_say(attachment, all, 2 + count))
        return true;
    attachment->counts.refused++;
    return false;
}

void attachment_send(struct attachment *attachment, const struct relay_address *to,
                     const struct iovec *pieces, unsigned count)
{
    (void)attachment_say(attachment, to, RELAY_KIND_FRAME, pieces, count); /* counted */
}
