/* attachment: see attachment.h. What goes to the node is a message of wire/relay.h, what comes back
 * is such a message: through shared memory (transport/ring/channel.h), or where the two cannot
 * share any by the socket, behind the service's number.
 *
 * With a channel the socket only rings. Invariant while `watched`: the bell is armed and the
 * channel was empty after that, or a ring waits in the socket, or `again` is set. */
#include "transport/routed/attachment.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/check.h"
#include "transport/routed/attachment_impl.h"

enum { MESSAGES_MAX = 512 /* taken at once: a channel full of them */ };

/* ---- out ---- */

static bool socket_say(struct attachment *attachment, struct iovec *pieces, unsigned count)
{
    static const uint8_t service[] = {RELAY_SERVICE >> 8, RELAY_SERVICE & 0xff};
    pieces[0] = (struct iovec){(void *)(uintptr_t)service, sizeof service};
    struct msghdr message = {.msg_iov = pieces, .msg_iovlen = count};
    return sendmsg(attachment->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

static void look_again(struct attachment *attachment)
{
    int result = poller_set(attachment->poller, &attachment->again, clock_now());
    assert(result == 0); /* it is always set */
}

static bool memory_say(struct attachment *attachment, const struct iovec *pieces, unsigned count)
{
    int result = channel_say(attachment->channel, RELAY_SERVICE, pieces, count);
    if (result == -EPROTO) { /* whoever says something does not expect all to end meanwhile */
        attachment->broken = true;
        look_again(attachment);
    }
    return !result;
}

bool attachment_say(struct attachment *attachment, const struct relay_address *to, uint8_t kind,
                    const struct iovec *pieces, unsigned count)
{
    uint8_t head[RELAY_HEAD_SIZE];
    struct iovec all[2 + ATTACHMENT_PIECES_MAX]; /* the first is the service's number */
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

/* ---- in ---- */

static void message_handle(struct attachment *attachment, const uint8_t *bytes, size_t size)
{
    struct relay_message message;
    attachment->counts.received++;
    if (relay_read(&message, bytes, size)) {
        attachment->counts.garbage++;
        return;
    }
    switch (message.operation) {
    case RELAY_DATA:
        if (message.kind == RELAY_KIND_LINE)
            lines_heard(attachment, &message);
        else if (message.kind == RELAY_KIND_FRAME && attachment->frame)
            attachment->frame(attachment->frame_owner, &message.from, message.body, message.size);
        return;
    case RELAY_ABSENT:
        lines_absent(attachment, &message.from);
        return;
    case RELAY_DOWN:
    case RELAY_UP:
        lines_server(attachment, message.from.server, message.operation == RELAY_UP);
        return;
    case RELAY_ATTACH:
    case RELAY_ATTACHED:
    case RELAY_OPERATION_END:
        attachment->counts.garbage++;
        return;
    }
}

/* At most so many messages of the channel; returns how many, or an error. */
static int memory_take(struct attachment *attachment, unsigned most)
{
    struct channel_message message;
    for (unsigned i = 0; i < most; i++) {
        int result = channel_take(attachment->channel, &message, attachment->buffers);
        if (result <= 0)
            return result ? result : (int)i;
        message_handle(attachment, attachment->buffers, message.size);
    }
    return (int)most;
}

/* The node is gone, and with it every way to others until it is back. */
static void attachment_lose(struct attachment *attachment)
{
    if (attachment->channel && !attachment->broken)
        (void)memory_take(attachment, MESSAGES_MAX); /* what it said before */
    attachment->lost = true;
    attachment_call_again(attachment);
    lines_lost(attachment);
    if (attachment->turned)
        attachment->turned(attachment->turned_owner, false);
}

/* Nobody rings for what is here already: while the poller has the channel, all is taken. */
static int memory_receive(struct attachment *attachment)
{
    unsigned most = attachment->watched ? MESSAGES_MAX : ATTACHMENT_BATCH;
    int count = attachment->broken ? -EPROTO : memory_take(attachment, most);
    if (count < 0) {
        attachment->broken = true;
        (void)shutdown(attachment->fd, SHUT_RDWR); /* so that it knows, too */
        attachment_lose(attachment);
        return 0;
    }
    if (attachment->watched && count == MESSAGES_MAX)
        look_again(attachment);
    return count;
}

/* With a channel there are only rings, of one byte, and the end. */
static int socket_receive(struct attachment *attachment)
{
    struct mmsghdr messages[ATTACHMENT_BATCH];
    struct iovec pieces[ATTACHMENT_BATCH];
    for (unsigned i = 0; i < ATTACHMENT_BATCH; i++) {
        pieces[i] = (struct iovec){attachment->buffers + i * RELAY_SIZE_MAX, RELAY_SIZE_MAX};
        messages[i] = (struct mmsghdr){.msg_hdr = {.msg_iov = &pieces[i], .msg_iovlen = 1}};
    }
    int count = recvmmsg(attachment->fd, messages, ATTACHMENT_BATCH, MSG_DONTWAIT, NULL);
    if (count < 0) {
        if (errno != EAGAIN && errno != EINTR)
            attachment_lose(attachment);
        return 0;
    }
    for (int i = 0; i < count; i++) {
        if (messages[i].msg_len == 0) { /* no message is that short: the end */
            attachment_lose(attachment);
            return count;
        }
        if (attachment->channel && messages[i].msg_len == 1)
            continue;
        if (messages[i].msg_hdr.msg_flags & MSG_TRUNC)
            attachment->counts.garbage++;
        else
            message_handle(attachment, pieces[i].iov_base, messages[i].msg_len);
    }
    return count;
}

int attachment_receive(struct attachment *attachment)
{
    if (attachment->lost)
        return 0;
    return attachment->channel ? memory_receive(attachment) : socket_receive(attachment);
}

static void memory_arm(struct attachment *attachment)
{
    channel_arm(attachment->channel);
    channel_fence(attachment->channel);
}

void attachment_ready(void *owner, uint32_t events)
{
    struct attachment *attachment = owner;
    if (attachment->lost) {
        attachment_attempt(attachment);
        return;
    }
    socket_receive(attachment);
    if (attachment->lost || !attachment->channel)
        return;
    if (attachment->watched)
        memory_arm(attachment); /* behind the ring that was taken, before the look */
    memory_receive(attachment);
}

void attachment_again(void *owner)
{
    struct attachment *attachment = owner;
    int result = poller_set(attachment->poller, &attachment->again, ATTACHMENT_FAR);
    assert(result == 0); /* its place is free still */
    if (!attachment->lost && attachment->channel)
        memory_receive(attachment);
}

static void memory_watch(struct attachment *attachment, bool on)
{
    if (!on) {
        channel_disarm(attachment->channel);
        return;
    }
    memory_arm(attachment);
    if (channel_waiting(attachment->channel))
        look_again(attachment);
}

void attachment_watch(struct attachment *attachment, bool on)
{
    if (attachment->watched == on)
        return;
    attachment->watched = on;
    if (attachment->lost)
        return; /* until it is back */
    if (attachment->channel) {
        memory_watch(attachment, on); /* the socket is quiet, and its end concerns the poller */
        return;
    }
    int result = poller_change(attachment->poller, attachment->watch, on ? EPOLLIN : 0);
    assert(result == 0); /* it is in the set */
}

/* ---- the rest ---- */

void attachment_on_frame(struct attachment *attachment, attachment_frame *frame, void *owner)
{
    attachment->frame = frame;
    attachment->frame_owner = owner;
}

void attachment_on_line(struct attachment *attachment, attachment_accepted *accepted, void *owner)
{
    attachment->accepted = accepted;
    attachment->accepted_owner = owner;
}

void attachment_on_turn(struct attachment *attachment, attachment_turned *turned, void *owner)
{
    attachment->turned = turned;
    attachment->turned_owner = owner;
}

bool attachment_is_up(const struct attachment *attachment)
{
    return !attachment->lost;
}

struct relay_address attachment_address(const struct attachment *attachment)
{
    return attachment->address;
}

void attachment_count(const struct attachment *attachment, struct attachment_counts *counts)
{
    *counts = attachment->counts;
    counts->memory = attachment->channel;
}
