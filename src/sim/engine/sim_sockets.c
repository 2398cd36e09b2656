/* sim_sockets: the calls of services, and the turns of all sockets. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "sim/engine/sim_socket_impl.h"

#define TURN       (1000 * PSEC_PER_NSEC) /* between two turns of a descriptor */
#define PORT_FIRST 49152                  /* port 0 stands for ports from here on */

/* ---- the calls of services ---- */

static struct sim_socket *socket_of(const struct env_descriptor *descriptor)
{
    return descriptor->world;
}

/* Has the text the form of an address? A simulation checks no more than that. */
static bool is_address(const char *text)
{
    size_t size = strlen(text);
    if (strchr(text, ':'))
        return strspn(text, "0123456789abcdefABCDEF:.") == size;
    unsigned dots = 0;
    for (size_t i = 0; i < size; i++)
        dots += text[i] == '.';
    return dots == 3 && strspn(text, "0123456789.") == size;
}

static bool is_loopback(const char *text)
{
    return strncmp(text, "127.", 4) == 0 || strcmp(text, "::1") == 0;
}

static void bind_to(struct sim_socket *socket, struct env_descriptor *descriptor)
{
    socket->env = descriptor;
    descriptor->world = socket;
}

static uint16_t port_free(struct sim_sockets *all, node_id server)
{
    do
        all->next_port = all->next_port < UINT16_MAX ? all->next_port + 1 : PORT_FIRST;
    while (sockets_find(all, server, all->next_port));
    return all->next_port;
}

int sim_socket_listen(struct sim_sockets *all, node_id server, struct env_descriptor *descriptor,
                      const struct env_address *address)
{
    if (!is_address(address->text))
        return -EINVAL;
    if (address->port && sockets_find(all, server, address->port))
        return -EADDRINUSE;
    struct sim_socket *listener = socket_new(all, LISTENS, server);
    listener->port = address->port ? address->port : port_free(all, server);
    bind_to(listener, descriptor);
    return 0;
}

int sim_socket_connect(struct sim_sockets *all, node_id server, struct env_descriptor *descriptor,
                       const struct env_address *address)
{
    if (!is_address(address->text))
        return -EINVAL;
    struct sim_socket *socket = socket_new(all, CONNECTS, server);
    socket->port = port_free(all, server);
    bind_to(socket, descriptor);
    const struct sim_outside *outside = all->outside;
    while (outside &&
           (outside->port != address->port || strcmp(outside->address, address->text) != 0))
        outside = outside->next;
    if (is_loopback(address->text) || !outside) {
        bool own = is_loopback(address->text);
        socket_connect(socket, own ? sockets_find(all, server, address->port) : NULL);
        return 0;
    }
    struct sim_socket *client = socket_new(all, CONNECTS, OUTSIDE);
    client->events = outside->events;
    client->context = outside->context;
    socket_join(socket, client);
    client->room_at = sockets_later(all);
    socket->room_at = client->room_at + all->settings.delay;
    socket_settle(client);
    return 0;
}

int sim_socket_result(const struct env_descriptor *descriptor)
{
    struct sim_socket *socket = socket_of(descriptor);
    if (socket_is_broken(socket))
        return socket->failure;
    if (socket->room_at > sockets_now(socket->all))
        return -EAGAIN;
    socket->state = CONNECTED;
    return 0;
}

int sim_socket_accept(struct env_descriptor *listener, struct env_descriptor *descriptor)
{
    struct sim_socket *listens = socket_of(listener);
    if (socket_read_at(listens) > sockets_now(listens->all))
        return -EAGAIN;
    struct sim_socket *socket =
        container_of(list_take(&listens->backlog), struct sim_socket, pending);
    if (descriptor)
        bind_to(socket, descriptor);
    else
        socket_end(socket, false);
    return 0;
}

int64_t sim_socket_read(struct env_descriptor *descriptor, void *bytes, uint32_t size)
{
    return socket_get(socket_of(descriptor), bytes, size);
}

int64_t sim_socket_write(struct env_descriptor *descriptor, const void *bytes, uint32_t size)
{
    return socket_put(socket_of(descriptor), bytes, size);
}

int sim_socket_finish(const struct env_descriptor *descriptor)
{
    socket_finish(socket_of(descriptor));
    return 0;
}

int sim_socket_port(const struct env_descriptor *descriptor)
{
    return socket_of(descriptor)->port;
}

void sim_socket_changed(struct env_descriptor *descriptor)
{
    socket_settle(socket_of(descriptor));
}

bool sim_socket_close(struct env_descriptor *descriptor)
{
    struct sim_socket *socket = socket_of(descriptor);
    descriptor->world = NULL;
    if (socket->state == LISTENS)
        listener_end(socket);
    else
        socket_end(socket, false);
    return true; /* a service cannot close it otherwise */
}

/* ---- time ---- */

static void descriptor_step(struct sim_socket *socket)
{
    struct sim_sockets *all = socket->all;
    psec now = sockets_now(all);
    unsigned ready = 0;
    if (socket_read_at(socket) <= now)
        ready |= ENV_READ;
    if (socket_write_at(socket) <= now)
        ready |= ENV_WRITE;
    socket->turn_at = now + TURN;
    if (!(ready & socket->env->wants))
        return;
    bool waits = !all->world.turn(all->world.owner, socket->server, socket->env, ready);
    if (all->current) /* else the socket was closed in its turn, and is gone */
        socket->waits = waits;
}

/* The turn is over. NULL: its socket was closed. */
static struct sim_socket *current_end(struct sim_sockets *all)
{
    struct sim_socket *left = all->current;
    all->current = NULL;
    return left;
}

void sim_sockets_run(struct sim_sockets *all)
{
    while (sim_sockets_next(all) <= sockets_now(all)) {
        struct sim_socket *socket = all->heap[0];
        socket_set_due(socket, PSEC_NEVER);
        all->current = socket;
        if (socket->env)
            descriptor_step(socket);
        else
            client_step(socket);
        struct sim_socket *left = current_end(all);
        if (left)
            socket_settle(left);
    }
    all->world.due(all->world.owner);
}

void sim_sockets_resume(struct sim_sockets *all, node_id server)
{
    list_each(&all->sockets, node)
    {
        struct sim_socket *socket = container_of(node, struct sim_socket, node);
        if (socket->server != server || !socket->waits)
            continue;
        socket->waits = false;
        socket_settle(socket);
    }
}

/* ---- opening and closing ---- */

enum err sim_sockets_open(struct sim_sockets **out, const struct sim_socket_settings *settings,
                          const struct sim_sockets_world *world, uint64_t seed, struct why *why)
{
    struct sim_sockets *all = calloc(1, sizeof *all);
    if (!all)
        return why_memory(why);
    all->settings = *settings;
    if (!settings->delay)
        all->settings.delay = SIM_SOCKET_DELAY;
    if (!settings->buffer)
        all->settings.buffer = SIM_SOCKET_BUFFER;
    all->world = *world;
    all->rng = rng_make(seed, UINT64_C(0x736f636b657473));
    all->next_port = PORT_FIRST - 1;
    list_init(&all->sockets);
    *out = all;
    return OK;
}

void sim_sockets_close(struct sim_sockets *all)
{
    if (!all)
        return;
    for (struct list *node; !list_is_empty(&all->sockets);) {
        node = all->sockets.next;
        struct sim_socket *socket = container_of(node, struct sim_socket, node);
        assert(!socket->env);
        if (socket->peer)
            socket->peer->peer = NULL;
        socket_free(socket);
    }
    for (struct sim_outside *outside = all->outside, *next; outside; outside = next) {
        next = outside->next;
        free(outside->address);
        free(outside);
    }
    free(all->heap);
    free(all);
}

void sim_sockets_count(const struct sim_sockets *all, struct sim_socket_counts *counts)
{
    *counts = all->counts;
}
