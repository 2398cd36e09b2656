#include "program/contact.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/array.h"
#include "base/check.h"
#include "transport/fork/descriptor.h"
#include "transport/routed/attachment.h"

#define BYTES_MAX (ATTACH_HEAD_SIZE + ATTACH_MESSAGE_MAX)

int contact_init(struct contact *contact)
{
    *contact = (struct contact){.fd = -1, .bytes = array_new(BYTES_MAX, 1)};
    return contact->bytes ? 0 : -ENOMEM;
}

void contact_fini(struct contact *contact)
{
    contact_close(contact);
    free(contact->bytes);
    contact->bytes = NULL;
}

int contact_open(struct contact *contact, const char *path, bool memory)
{
    assert(contact->stage == CONTACT_GONE);
    int result = node_connect(path, false);
    if (result < 0)
        return result;
    contact->fd = result;
    contact->stage = CONTACT_GREETING;
    if (memory && !channel_open(&contact->offered, contact->fd) && !channel_offer(contact->offered))
        return 0;
    channel_close(contact->offered);
    contact->offered = NULL;
    result = node_greet(contact->fd);
    /* A server that refused us has hung up; its welcome, which says why, can still be read. */
    return result == -EPIPE || result == -ECONNRESET ? 0 : result;
}

void contact_close(struct contact *contact)
{
    channel_close(contact->offered);
    channel_close(contact->channel);
    contact->offered = contact->channel = NULL;
    if (contact->fd >= 0)
        descriptor_close(contact->fd);
    contact->fd = -1;
    contact->stage = CONTACT_GONE;
}

/* Receives one packet: returns its size, -EAGAIN or another error. */
static ssize_t socket_take(struct contact *contact)
{
    ssize_t size;
    do
        size = recv(contact->fd, contact->bytes, BYTES_MAX, MSG_DONTWAIT);
    while (size == 1 || (size < 0 && errno == EINTR)); /* a packet of one byte is a ring */
    if (size < 0)
        return -errno;
    return size ? size : -ECONNRESET;
}

int contact_greet(struct contact *contact)
{
    struct attach_answer welcome;
    assert(contact->stage == CONTACT_GREETING);
    ssize_t size = socket_take(contact);
    if (size == -ECONNRESET) /* reported once; then what the server said before can be read */
        size = socket_take(contact);
    if (size < 0)
        return size == -EAGAIN ? 0 : (int)size;
    if (attach_answer_read(&welcome, contact->bytes, (size_t)size))
        return -EPROTO;
    if (welcome.status)
        return -welcome.status;
    if (contact->offered && !welcome.memory) {
        channel_agree(contact->offered);
        contact->channel = contact->offered;
        contact->offered = NULL;
    }
    channel_close(contact->offered);
    contact->offered = NULL;
    contact->server = welcome.server;
    contact->stage = CONTACT_UP;
    return 1;
}

static int socket_say(struct contact *contact, const struct attach_head *head, const void *bytes,
                      size_t size)
{
    uint8_t front[ATTACH_HEAD_SIZE];
    struct iovec pieces[] = {{front, sizeof front}, {(void *)(uintptr_t)bytes, size}};
    const struct msghdr message = {.msg_iov = pieces, .msg_iovlen = 2};
    attach_head_write(head, front);
    if (sendmsg(contact->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
        return 0;
    return errno == EAGAIN || errno == ENOBUFS || errno == EINTR ? -EAGAIN : -EPIPE;
}

int contact_say(struct contact *contact, const struct attach_head *head, const void *bytes,
                size_t size)
{
    const struct iovec piece = {(void *)(uintptr_t)bytes, size};
    if (!contact->channel || size > CHANNEL_MESSAGE_MAX)
        return socket_say(contact, head, bytes, size);
    int result = channel_say(contact->channel, head, &piece, 1);
    return result == -EPROTO ? -EPIPE : result;
}

int contact_hear(struct contact *contact, struct contact_message *message, bool thorough)
{
    struct channel_message in;
    if (contact->channel) {
        int result = channel_take(contact->channel, &in, contact->bytes);
        if (result < 0)
            return result;
        if (result > 0) {
            *message = (struct contact_message){in.head, contact->bytes, in.size};
            return 1;
        }
        if (!thorough)
            return 0;
    }
    ssize_t size = socket_take(contact);
    if (size < 0)
        return size == -EAGAIN ? 0 : (int)size;
    if (attach_head_read(&message->head, contact->bytes, (size_t)size))
        return -EPROTO;
    message->bytes = contact->bytes + ATTACH_HEAD_SIZE;
    message->size = (uint32_t)size - ATTACH_HEAD_SIZE;
    return 1;
}

bool contact_arm(struct contact *contact, bool room)
{
    struct channel *channel = contact->channel;
    if (!channel)
        return true; /* the system knows what is in the socket */
    channel_want_room(channel, room);
    channel_arm(channel);
    channel_fence(channel);
    if (!channel_waiting(channel) && !(room && channel_has_room(channel)))
        return true;
    contact_disarm(contact);
    return false;
}

void contact_arm_for_answer(struct contact *contact)
{
    if (contact->channel)
        channel_arm(contact->channel);
}

bool contact_has_message(const struct contact *contact)
{
    return contact->channel && channel_waiting(contact->channel);
}

void contact_disarm(struct contact *contact)
{
    if (!contact->channel)
        return;
    channel_disarm(contact->channel);
    channel_want_room(contact->channel, false);
}
