/* sim_client: the ends of connections that tests and load generators play. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/engine/sim_socket_impl.h"

#define CLIENT_READ 4096 /* bytes that a client gets at once */

struct sim_socket *sim_client_connect(struct sim_sockets *all, node_id server, uint16_t port,
                                      const struct sim_client_events *events, void *context)
{
    struct sim_socket *client = socket_new(all, CONNECTS, OUTSIDE);
    client->events = events;
    client->context = context;
    client->room_at = PSEC_NEVER;
    socket_connect(client, sockets_find(all, server, port));
    return client;
}

void sim_client_listen(struct sim_sockets *all, const char *address, uint16_t port,
                       const struct sim_client_events *events, void *context)
{
    struct sim_outside *outside = memory_or_end(malloc(sizeof *outside));
    *outside =
        (struct sim_outside){all->outside, memory_or_end(strdup(address)), port, events, context};
    all->outside = outside;
}

/* ---- clients ---- */

/* Writes what fits, and then the end. */
static void client_flush(struct sim_socket *client)
{
    while (client->out.first) {
        struct sim_piece *piece = client->out.first;
        int64_t count = socket_put(client, piece->bytes + piece->taken, piece->size - piece->taken);
        if (count <= 0)
            return;
        piece->taken += (uint32_t)count;
        if (piece->taken < piece->size)
            return;
        client->out.first = piece->next;
        if (!client->out.first)
            client->out.end = &client->out.first;
        free(piece);
    }
    if (client->finishes)
        socket_finish(client);
    client->finishes = false;
}

void sim_client_send(struct sim_socket *client, const void *bytes, uint32_t size)
{
    if (size)
        pieces_add(&client->out, 0, bytes, size);
    if (client->state == CONNECTED)
        client_flush(client);
    socket_settle(client);
}

void sim_client_reads(struct sim_socket *client, bool reads)
{
    client->deaf = !reads;
    socket_settle(client);
}

void sim_client_finish(struct sim_socket *client)
{
    client->finishes = true;
    sim_client_send(client, "", 0);
}

void sim_client_close(struct sim_socket *client)
{
    socket_end(client, false);
}

void sim_client_reset(struct sim_socket *client)
{
    socket_end(client, true);
}

/* The client may be gone afterwards: then all->current is NULL. */
static void client_fail(struct sim_socket *client)
{
    struct sim_sockets *all = client->all;
    const struct sim_client_events *events = client->events;
    if (client->state == CONNECTS && events->connected)
        events->connected(client->context, client, client->failure);
    else if (client->state == CONNECTED && events->ended)
        events->ended(client->context, client, client->failure);
    if (all->current)
        socket_end(all->current, false);
}

static void client_read(struct sim_socket *client)
{
    struct sim_sockets *all = client->all;
    const struct sim_client_events *events = client->events;
    uint8_t bytes[CLIENT_READ];
    int64_t count;
    while (all->current && !client->deaf &&
           (count = socket_get(client, bytes, sizeof bytes)) >= 0) {
        if (count > 0 && events->received)
            events->received(client->context, client, bytes, (uint32_t)count);
        if (count > 0)
            continue;
        bool told = client->told_end;
        client->told_end = true;
        if (!told && events->ended)
            events->ended(client->context, client, 0);
        return;
    }
}

void client_step(struct sim_socket *client)
{
    struct sim_sockets *all = client->all;
    const struct sim_client_events *events = client->events;
    if (socket_is_broken(client)) {
        client_fail(client);
        return;
    }
    if (client->state == CONNECTS && client->room_at <= sockets_now(all)) {
        client->state = CONNECTED;
        if (events->connected)
            events->connected(client->context, client, 0);
        if (!all->current)
            return;
    }
    if (client->state != CONNECTED)
        return;
    client_flush(client);
    client_read(client);
}
