/* attachment: see attachment.h. Messages to and from the node have the format of wire/relay.h. They
 * travel through shared memory (transport/ring/channel.h) or, where program and node cannot share
 * any, through the socket, with the heads of wire/attach.h. They have no tickets: none of them is
 * the answer to one request.
 *
 * With a channel the socket only carries rings of the bell. Invariant while `watched`: the bell is
 * armed and the channel was empty after that, or a ring waits in the socket, or `again` is due.
 *
 * How an attachment connects, disconnects, and reconnects:
 *
 *   GONE --connect, hello with memory--> OFFERING --welcome--> ask --> ASKING --address--> UP
 *    ^                                     | ^                                              |
 *    |          hung up, silent: a hello ..+ +.. without memory                             |
 *    +----- refused, silent, hung up: try again after a delay, which doubles ---------------+
 *
 * A program offers its node shared memory; if the welcome does not accept it, the socket carries
 * everything. attachment_open waits until the state is UP. From then on the poller does all of
 * this, and while the node is gone the program runs on without a connection to other programs.
 * `lost` is set in all states but UP. */
#include "transport/routed/attachment.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/array.h"
#include "base/check.h"
#include "transport/routed/attachment_impl.h"

/* ---- receiving ---- */

static void message_handle(struct attachment *attachment, const struct attach_head *head,
                           const uint8_t *bytes, size_t size)
{
    struct relay_message message;
    attachment->counts.received++;
    if (!attachment_is_relay(head) || relay_read(&message, bytes, size)) {
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

/* Handles at most `most` messages of the channel; returns how many, or an error. */
static int memory_take(struct attachment *attachment, unsigned most)
{
    struct channel_message message;
    for (unsigned i = 0; i < most; i++) {
        int result = channel_take(attachment->channel, &message, attachment->buffers);
        if (result <= 0)
            return result ? result : (int)i;
        message_handle(attachment, &message.head, attachment->buffers, message.size);
    }
    return (int)most;
}

/* Hangs up, and tries again after a delay. */
static void attachment_call_again(struct attachment *attachment)
{
    attachment_hang_up(attachment);
    int result = poller_set(attachment->poller, &attachment->again, NSEC_FAR);
    assert(result == 0); /* the timer is set, or is firing now */
    result =
        poller_set(attachment->poller, &attachment->retry, node_again(&attachment->retry_wait));
    assert(result == 0); /* as above */
}

/* The node is gone, and no other program can be reached until it is back. */
static void attachment_lose(struct attachment *attachment)
{
    if (attachment->channel && !attachment->broken)
        (void)memory_take(attachment, CHANNEL_SLOTS); /* what the node sent before */
    attachment->lost = true;
    attachment_call_again(attachment);
    lines_lost(attachment);
    if (attachment->turned)
        attachment->turned(attachment->turned_owner, false);
}

/* No ring announces messages that are in the channel already. Therefore, while the poller serves
 * the channel, this takes as many messages as the channel can hold. Any that remain arrived after
 * the bell was armed, and rang it. */
static int memory_receive(struct attachment *attachment)
{
    unsigned most = attachment->watched ? CHANNEL_SLOTS : ATTACHMENT_BATCH;
    int count = attachment->broken ? -EPROTO : memory_take(attachment, most);
    if (count < 0) {
        attachment->broken = true;
        (void)shutdown(attachment->fd, SHUT_RDWR); /* so that the node notices, too */
        attachment_lose(attachment);
        return 0;
    }
    return count;
}

/* With a channel the socket carries only rings, of one byte, and the end of the connection. */
static int socket_receive(struct attachment *attachment)
{
    struct mmsghdr messages[ATTACHMENT_BATCH];
    struct iovec pieces[ATTACHMENT_BATCH];
    for (unsigned i = 0; i < ATTACHMENT_BATCH; i++) {
        pieces[i] = (struct iovec){attachment->buffers + i * ATTACHMENT_PACKET, ATTACHMENT_PACKET};
        messages[i] = (struct mmsghdr){.msg_hdr = {.msg_iov = &pieces[i], .msg_iovlen = 1}};
    }
    int count = recvmmsg(attachment->fd, messages, ATTACHMENT_BATCH, MSG_DONTWAIT, NULL);
    if (count < 0) {
        if (errno != EAGAIN && errno != EINTR)
            attachment_lose(attachment);
        return 0;
    }
    for (int i = 0; i < count; i++) {
        if (messages[i].msg_len == 0) { /* no message is empty: the node closed */
            attachment_lose(attachment);
            return count;
        }
        if (attachment->channel && messages[i].msg_len == 1)
            continue;
        struct attach_head head;
        if (messages[i].msg_hdr.msg_flags & MSG_TRUNC ||
            attach_head_read(&head, pieces[i].iov_base, messages[i].msg_len))
            attachment->counts.garbage++;
        else
            message_handle(attachment, &head, (uint8_t *)pieces[i].iov_base + ATTACH_HEAD_SIZE,
                           messages[i].msg_len - ATTACH_HEAD_SIZE);
    }
    return count;
}

int attachment_receive(struct attachment *attachment)
{
    if (attachment->lost)
        return 0;
    return attachment->channel ? memory_receive(attachment) : socket_receive(attachment);
}

static void memory_watch(struct attachment *attachment, bool on)
{
    if (!on) {
        channel_disarm(attachment->channel);
        return;
    }
    attachment_arm(attachment);
    if (channel_waiting(attachment->channel))
        attachment_poll_soon(attachment);
}

void attachment_watch(struct attachment *attachment, bool on)
{
    if (attachment->watched == on)
        return;
    attachment->watched = on;
    if (attachment->lost)
        return; /* until the node is back */
    if (attachment->channel) {
        memory_watch(attachment, on); /* the poller keeps watching the socket for the end */
        return;
    }
    int result = poller_change(attachment->poller, attachment->watch, on ? EPOLLIN : 0);
    assert(result == 0); /* the descriptor is in the set */
}

/* ---- reconnecting ---- */

static void attachment_rise(struct attachment *attachment)
{
    int result = poller_set(attachment->poller, &attachment->retry, NSEC_FAR);
    assert(result == 0); /* the timer is set already */
    attachment->stage = ATTACHMENT_UP;
    attachment->retry_wait = 0;
    attachment->lost = attachment->broken = false;
    bool watched = attachment->watched; /* as last requested; the descriptor is new */
    attachment->watched = !watched;
    attachment_watch(attachment, watched);
}

static void attempt_settle(struct attachment *attachment, int result)
{
    if (result < 0)
        attachment_call_again(attachment);
    if (result <= 0)
        return;
    attachment_rise(attachment);
    if (attachment->turned)
        attachment->turned(attachment->turned_owner, true);
}

static void attachment_retry(void *owner)
{
    struct attachment *attachment = owner;
    int result = poller_set(attachment->poller, &attachment->retry, NSEC_FAR);
    assert(result == 0); /* its slot is still free */
    attempt_settle(attachment, attachment->stage == ATTACHMENT_GONE
                                   ? attachment_call(attachment, true)
                                   : attachment_call_late(attachment));
}

static void attachment_ready(void *owner, uint32_t events)
{
    struct attachment *attachment = owner;
    if (attachment->lost) {
        attempt_settle(attachment, attachment_call_step(attachment));
        return;
    }
    socket_receive(attachment);
    if (attachment->lost || !attachment->channel)
        return;
    if (attachment->watched)
        attachment_arm(attachment); /* after taking the ring, before looking */
    memory_receive(attachment);
}

static void attachment_again(void *owner)
{
    struct attachment *attachment = owner;
    int result = poller_set(attachment->poller, &attachment->again, NSEC_FAR);
    assert(result == 0); /* its slot is still free */
    assert(!attachment->lost && attachment->channel);
    memory_receive(attachment);
}

/* ---- opening and closing ---- */

static int attachment_begin(struct attachment *attachment)
{
    attachment->again = (struct poller_timer){.fired = attachment_again, .owner = attachment};
    attachment->retry = (struct poller_timer){.fired = attachment_retry, .owner = attachment};
    int result = poller_set(attachment->poller, &attachment->again, NSEC_FAR);
    if (!result)
        result = poller_set(attachment->poller, &attachment->retry, NSEC_FAR);
    if (!result)
        result = lines_open(attachment);
    if (!result)
        result = attachment_call(attachment, true);
    while (!result) {
        struct pollfd ready = {.fd = attachment->fd, .events = POLLIN};
        (void)poll(&ready, 1, 100);
        result = attachment_call_step(attachment);
        if (!result && clock_now() >= attachment->retry.at)
            result = attachment_call_late(attachment);
    }
    return result;
}

int attachment_open(struct attachment **out, struct poller *poller, const char *path,
                    struct why *why)
{
    struct attachment *attachment = array_new(1, sizeof *attachment);
    if (!attachment)
        return why_fail(why, -ENOMEM, "not enough memory");
    attachment->poller = poller;
    attachment->fd = -1;
    attachment->lost = attachment->watched = attachment->waits = true;
    attachment->ready = attachment_ready;
    list_init(&attachment->lines);
    attachment->path = strdup(path);
    attachment->buffers = array_new(ATTACHMENT_BATCH, ATTACHMENT_PACKET);
    bool room = attachment->path && attachment->buffers;
    int result = room ? attachment_begin(attachment) : -ENOMEM;
    if (result != 1) {
        attachment_close(attachment);
        return why_fail(why, result, "cannot attach to the node at %s: %s", path,
                        result == -EUSERS            ? "too many programs"
                        : result == -EPROTONOSUPPORT ? "it runs another version of weft"
                                                     : strerror(-result));
    }
    attachment->waits = false;
    attachment_rise(attachment);
    *out = attachment;
    return 0;
}

void attachment_close(struct attachment *attachment)
{
    if (!attachment)
        return;
    lines_close(attachment);
    poller_unset(attachment->poller, &attachment->again);
    poller_unset(attachment->poller, &attachment->retry);
    attachment_hang_up(attachment);
    free(attachment->path);
    free(attachment->buffers);
    free(attachment);
}

/* ---- callbacks and queries ---- */

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
