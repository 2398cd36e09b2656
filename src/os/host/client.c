/* client: one program at a client socket, and the polling of all channels. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/check.h"
#include "os/host/client_impl.h"
#include "transport/fork/descriptor.h"

enum {
    TURN_REQUESTS = 16,        /* of one client, then the next has its turn ... */
    TURN_BYTES = 64 * 1024,    /* ... or when its requests had so many bytes */
    PASS_REQUESTS = 512,       /* of all channels in a pass, then the links are polled again */
    POLLED_MAX = 16,           /* channels that are polled even if they are silent */
    REST_PASSES = 1024,        /* between two looks for silent channels */
    LAST_TURNS = 64,           /* of a disconnected client's channel: enough to empty it */
    SEND_BUFFER = 1024 * 1024, /* we ask for it: unread answers wait there */
    EVENTS = EPOLLIN | EPOLLRDHUP,
};
static_assert(ATTACH_MESSAGE_MAX >= CHANNEL_MESSAGE_MAX, "a channel's message is a request");

static uint64_t client_number(const struct client *client)
{
    return client_table_number(&client->listener->table, client);
}

/* ---- channels that are polled, and those that rest ---- */

static void channel_poll_again(struct client *client)
{
    struct client_sockets *all = client->listener->all;
    if (!client->rests)
        return;
    channel_disarm(client->channel);
    list_remove(&client->node);
    list_append(&all->channels, &client->node);
    all->channel_count++;
    client->rests = false;
    client->heard = true;
}

/* Takes the client out of the lists of channels. */
static void channel_leave(struct client *client)
{
    if (!client->channel)
        return;
    client->listener->all->channel_count -= !client->rests;
    list_remove(&client->node);
    list_remove(&client->blocked_node);
    list_remove(&client->unheard_node);
    channel_close(client->channel);
    client->channel = NULL;
}

/* Arms the bells of silent channels; their programs ring with the next request. A request that came
 * before the bell was armed is found by the look after the fence. */
static void channels_rest(struct client_sockets *all)
{
    struct list silent;
    const struct channel *last = NULL;
    list_init(&silent);
    list_each(&all->channels, node)
    {
        struct client *client = container_of(node, struct client, node);
        bool heard = client->heard || client->broken;
        client->heard = false;
        if (heard)
            continue;
        channel_arm(client->channel);
        last = client->channel;
        list_remove(&client->node);
        list_append(&silent, &client->node);
    }
    if (last)
        channel_fence(last);
    for (struct list *node; (node = list_take(&silent));) {
        struct client *client = container_of(node, struct client, node);
        client->rests = true;
        all->channel_count--;
        list_append(&all->resting, &client->node);
        if (channel_waiting(client->channel))
            channel_poll_again(client);
    }
}

/* ---- answers ---- */

/* A service got -EAGAIN: it is told when there is room. */
static void client_block(struct client *client, uint16_t service, unsigned where)
{
    unsigned i = 0;
    while (i < client->waiting_count && client->waiting[i] != service)
        i++;
    if (i == CLIENT_SERVICES_MAX)
        return; /* no server has so many services */
    client->waiting[i] = service;
    client->waiting_count += i == client->waiting_count;
    if (client->blocked & where)
        return;
    client->blocked |= (uint8_t)where;
    if (where == BLOCKED_SOCKET) {
        int result = poller_change(client->listener->poller, client->watch, EVENTS | EPOLLOUT);
        assert(result == 0); /* the descriptor is in the set */
        return;
    }
    channel_want_room(client->channel, true);
    list_append(&client->listener->all->blocked, &client->blocked_node);
}

static void client_unblock(struct client *client, unsigned where)
{
    const struct client_socket_events *events = &client->listener->events;
    uint16_t services[CLIENT_SERVICES_MAX];
    unsigned count = client->waiting_count;
    if (!(client->blocked & where))
        return;
    client->blocked &= (uint8_t)~where;
    if (where == BLOCKED_SOCKET) {
        int result = poller_change(client->listener->poller, client->watch, EVENTS);
        assert(result == 0); /* as above */
    } else {
        channel_want_room(client->channel, false);
        list_remove(&client->blocked_node);
    }
    if (client->blocked)
        return;
    memcpy(services, client->waiting, sizeof services);
    client->waiting_count = 0; /* a service that is told may be refused again */
    for (unsigned i = 0; events->writable && i < count; i++)
        events->writable(events->owner, client_number(client), services[i]);
}

/* Several answers of a step cost one ring. */
static int memory_say(struct client *client, const struct attach_head *head, const void *bytes,
                      uint32_t size)
{
    const struct iovec piece = {(void *)(uintptr_t)bytes, size};
    int result = channel_put(client->channel, head, &piece, 1);
    if (!result && list_is_empty(&client->unheard_node))
        list_append(&client->listener->all->unheard, &client->unheard_node);
    return result;
}

void client_sockets_ring(struct client_sockets *all)
{
    for (struct list *node; (node = list_take(&all->unheard));)
        channel_ring(container_of(node, struct client, unheard_node)->channel);
}

static int socket_say(struct client *client, const struct attach_head *head, const void *bytes,
                      uint32_t size)
{
    uint8_t front[ATTACH_HEAD_SIZE];
    struct iovec pieces[] = {{front, sizeof front}, {(void *)(uintptr_t)bytes, size}};
    const struct msghdr message = {.msg_iov = pieces, .msg_iovlen = 2};
    attach_head_write(head, front);
    return sendmsg(client->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int client_say(struct client *client, const struct attach_head *head, const void *bytes,
               uint32_t size)
{
    unsigned where =
        client->channel && size <= CHANNEL_MESSAGE_MAX ? BLOCKED_CHANNEL : BLOCKED_SOCKET;
    int result = where == BLOCKED_CHANNEL ? memory_say(client, head, bytes, size)
                                          : socket_say(client, head, bytes, size);
    if (!result)
        return 0;
    if (result == -EAGAIN || result == -ENOBUFS) {
        client_block(client, head->service, where);
        return -EAGAIN;
    }
    if (result == -EPROTO) { /* the next poll disconnects the client */
        client->broken = true;
        channel_poll_again(client);
    }
    return -EPIPE;
}

/* ---- the hello ---- */

static int welcome_send(const struct client_socket *listener, int fd,
                        const struct attach_answer *answer)
{
    uint8_t bytes[ATTACH_ANSWER_SIZE];
    struct attach_answer whole = *answer;
    whole.version = ATTACH_VERSION;
    whole.server = listener->server;
    attach_answer_write(&whole, bytes);
    return send(fd, bytes, sizeof bytes, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

void client_refuse(const struct client_socket *listener, int fd, int error)
{
    (void)welcome_send(listener, fd, &(struct attach_answer){.status = (uint16_t)-error});
    if (listener->events.refused)
        listener->events.refused(listener->events.owner, error);
}

/* Returns 0: the client has a channel; -EPROTO: the memory is not as it should be; another error:
 * the client uses the socket. Takes the file. */
static int client_share(struct client *client, const struct attach_ask *ask, int file)
{
    struct client_sockets *all = client->listener->all;
    bool wanted = ask->slots || ask->bytes;
    if (!wanted && file >= 0)
        descriptor_close(file);
    if (!wanted || file < 0)
        return wanted ? -EOPNOTSUPP : -ENODATA; /* descriptors cannot be passed here */
    int result = channel_map(&client->channel, file, ask, client->fd);
    if (result)
        return result;
    client->heard = true;
    list_append(&all->channels, &client->node);
    all->channel_count++;
    return 0;
}

/* The first message. Results as of client_take. */
static int client_greet(struct client *client, size_t size, int file)
{
    const struct client_socket *listener = client->listener;
    const struct client_socket_events *events = &listener->events;
    struct attach_ask ask;
    int result = attach_ask_read(&ask, listener->all->bytes, size);
    if (result) {
        if (file >= 0)
            descriptor_close(file);
        client_refuse(listener, client->fd, -EPROTONOSUPPORT);
        return -EPROTONOSUPPORT;
    }
    int memory = client_share(client, &ask, file);
    if (memory == -EPROTO)
        return memory;
    client->greeted = true;
    if (events->attached)
        events->attached(events->owner, client_number(client), memory);
    result =
        welcome_send(listener, client->fd, &(struct attach_answer){.memory = (uint16_t)-memory});
    return result ? result : 1;
}

/* ---- requests ---- */

/* The program asks for the number of the service with that name. */
static int number_answer(struct client *client, uint64_t ticket, const void *name, uint32_t size)
{
    const struct client_socket_events *events = &client->listener->events;
    int number = size <= ATTACH_NAME_MAX && events->number
                     ? events->number(events->owner, name, size)
                     : -ENOENT;
    const uint8_t bytes[ATTACH_NUMBER_SIZE] = {(uint8_t)(number >> 8), (uint8_t)number};
    const struct attach_head head = {ATTACH_SERVICE, number < 0 ? (uint16_t)-number : 0, ticket};
    (void)!client_say(client, &head, bytes, number < 0 ? 0 : sizeof bytes);
    return 1;
}

/* Handles one request. Returns 1, or a negative errno to disconnect the client. An answer of the
 * node itself for which there is no room is dropped, like any other. */
static int request_handle(struct client *client, const struct attach_head *head, const void *bytes,
                          uint32_t size)
{
    const struct client_socket_events *events = &client->listener->events;
    if (head->status)
        return -EPROTO;
    if (head->service == ATTACH_SERVICE)
        return number_answer(client, head->ticket, bytes, size);
    const struct env_answer from = {client_number(client), head->ticket, head->service};
    int result = events->request(events->owner, &from, bytes, size);
    if (result != -ENOENT)
        return result < 0 ? result : 1;
    const struct attach_head refusal = {head->service, ENOENT, head->ticket};
    (void)!client_say(client, &refusal, NULL, 0);
    return 1;
}

/* Handles one request of the channel. Returns 1 if more may follow, 0 if there was none, negative
 * to disconnect the client. */
static int channel_request(struct client *client, uint32_t *bytes)
{
    struct client_sockets *all = client->listener->all;
    struct channel_message message;
    int result = client->broken ? -EPROTO : channel_take(client->channel, &message, all->bytes);
    if (result <= 0)
        return result;
    *bytes += message.size;
    return request_handle(client, &message.head, all->bytes, message.size);
}

/* One turn of a client; adds to `handled`. Results as of channel_request. */
static int client_poll(struct client *client, unsigned *handled)
{
    uint32_t bytes = 0;
    int result = 1;
    unsigned i = 0;
    for (; i < TURN_REQUESTS && bytes < TURN_BYTES; i++) {
        result = channel_request(client, &bytes);
        if (result <= 0)
            break;
    }
    client->heard |= i > 0;
    *handled += i;
    return result;
}

/* Handles one packet of the socket; results as of channel_request. A packet of one byte is a ring
 * of the channel's bell: it has only woken this process, and client_sockets_poll reads the channel.
 */
static int client_take(struct client *client, uint32_t *bytes)
{
    struct client_sockets *all = client->listener->all;
    struct attach_head head;
    int file;
    ssize_t size =
        channel_recv(client->fd, all->bytes, ATTACH_HEAD_SIZE + ATTACH_MESSAGE_MAX + 1, &file);
    if (size < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -errno;
    if (size && !client->greeted)
        return client_greet(client, (size_t)size, file);
    if (file >= 0)
        descriptor_close(file);
    if (size == 1 && client->channel) {
        all->asked |= client->rests; /* others that rest may ring, too */
        channel_poll_again(client);
        return 0;
    }
    if (!size)
        return -EPIPE;
    if (attach_head_read(&head, all->bytes, (size_t)size) ||
        size > ATTACH_HEAD_SIZE + ATTACH_MESSAGE_MAX)
        return -EPROTO;
    all->asked = true;
    *bytes += (uint32_t)size;
    return request_handle(client, &head, all->bytes + ATTACH_HEAD_SIZE,
                          (uint32_t)size - ATTACH_HEAD_SIZE);
}

static void client_ready(void *owner, uint32_t events)
{
    struct client *client = owner;
    uint32_t bytes = 0;
    int result = 1;
    for (unsigned i = 0; i < TURN_REQUESTS && bytes < TURN_BYTES && result > 0; i++)
        result = client_take(client, &bytes);
    if (result >= 0) {
        if (events & EPOLLOUT && !(events & (EPOLLHUP | EPOLLERR)))
            client_unblock(client, BLOCKED_SOCKET);
        return;
    }
    /* Requests that the client put into its channel before it disconnected are still handled. */
    for (unsigned i = 0, ignored = 0; client->channel && result != -EPROTO && i < LAST_TURNS; i++)
        if (client_poll(client, &ignored) <= 0)
            break;
    client_end(client);
}

/* ---- begin and end ---- */

int client_begin(struct client_socket *listener, int fd, int process)
{
    int bytes = SEND_BUFFER;
    struct client *client = array_new(1, sizeof *client);
    int result = client ? client_table_add(&listener->table, client) : -ENOMEM;
    if (result) {
        free(client);
        return result;
    }
    client->listener = listener;
    client->fd = fd;
    client->process = process;
    list_init(&client->node);
    list_init(&client->blocked_node);
    list_init(&client->unheard_node);
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    result = poller_add(listener->poller, fd, EVENTS, client_ready, client, &client->watch);
    if (result) {
        client_table_remove(&listener->table, client);
        free(client);
        return result;
    }
    listener->all->count++;
    return 0;
}

void client_end(struct client *client)
{
    struct client_socket *listener = client->listener;
    uint64_t number = client_number(client);
    poller_remove(listener->poller, client->watch);
    channel_leave(client);
    close(client->fd);
    client_table_remove(&listener->table, client);
    listener->all->count--;
    free(client);
    listener->events.gone(listener->events.owner, number);
}

/* ---- all channels of a host ---- */

/* The next pass begins with the client after this one. */
static void channels_turn(struct client_sockets *all, struct list *node)
{
    struct list *next = node->next;
    if (next == &all->channels)
        return;
    list_remove(&all->channels);
    list_append(next, &all->channels);
}

/* Each client is looked at once: one that is blocked again at once waits for the next pass. */
static void channels_unblock(struct client_sockets *all)
{
    struct list found;
    list_init(&found);
    for (struct list *node; (node = list_take(&all->blocked));)
        list_append(&found, node);
    for (struct list *node; (node = list_take(&found));) {
        struct client *client = container_of(node, struct client, blocked_node);
        if (channel_has_room(client->channel))
            client_unblock(client, BLOCKED_CHANNEL);
        else
            list_append(&all->blocked, node);
    }
}

void client_sockets_poll(struct client_sockets *all)
{
    unsigned handled = 0;
    if (all->channel_count > POLLED_MAX && ++all->passes >= REST_PASSES) {
        all->passes = 0;
        channels_rest(all);
    }
    if (!list_is_empty(&all->blocked))
        channels_unblock(all);
    list_each(&all->channels, node)
    {
        struct client *client = container_of(node, struct client, node);
        if (handled >= PASS_REQUESTS) {
            channels_turn(all, client->node.previous);
            break;
        }
        if (client_poll(client, &handled) < 0)
            client_end(client);
    }
}

bool client_sockets_waiting(const struct client_sockets *all)
{
    list_each(&all->channels, node)
    {
        const struct client *client = container_of(node, struct client, node);
        if (client->broken || channel_waiting(client->channel))
            return true;
    }
    return false;
}

void client_sockets_arm(struct client_sockets *all)
{
    list_each(&all->channels, node) channel_arm(container_of(node, struct client, node)->channel);
}

void client_sockets_disarm(struct client_sockets *all)
{
    list_each(&all->channels, node)
        channel_disarm(container_of(node, struct client, node)->channel);
}
