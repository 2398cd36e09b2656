/* sim_socket: ends of connections, the bytes between them, and when each end is due.
 *
 * Each end holds the pieces that travel to it or wait to be read. An end is in a heap at the moment
 * when something happens that concerns it: a piece or the end of the stream arrives, the connection
 * breaks, a writer gets room. `due` is computed anew whenever one of these changes
 * (socket_settle). */
#include "sim/engine/sim_socket.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "sim/engine/sim_socket_impl.h"

#define BACKLOG 128

/* A simulation cannot continue without memory. */
void *memory_or_end(void *memory)
{
    if (!memory)
        abort();
    return memory;
}

psec sockets_now(const struct sim_sockets *all)
{
    return all->world.now(all->world.owner);
}

static bool happens(struct sim_sockets *all, uint32_t chance)
{
    return chance && rng_below(&all->rng, SIM_SOCKET_PARTS) < chance;
}

psec sockets_later(struct sim_sockets *all)
{
    psec jitter = all->settings.jitter ? rng_below(&all->rng, all->settings.jitter + 1) : 0;
    return sockets_now(all) + all->settings.delay + jitter;
}

static psec earlier(psec one, psec other)
{
    return one < other ? one : other;
}

/* ---- the heap ---- */

static bool comes_before(const struct sim_socket *one, const struct sim_socket *other)
{
    return one->due != other->due ? one->due < other->due : one->number < other->number;
}

static void heap_put(struct sim_sockets *all, size_t slot, struct sim_socket *socket)
{
    all->heap[slot] = socket;
    socket->slot = slot;
}

/* Moves the socket at that slot up or down to its place. */
static void heap_move(struct sim_sockets *all, size_t slot)
{
    struct sim_socket *socket = all->heap[slot];
    for (; slot > 0 && comes_before(socket, all->heap[(slot - 1) / 2]); slot = (slot - 1) / 2)
        heap_put(all, slot, all->heap[(slot - 1) / 2]);
    for (;;) {
        size_t child = 2 * slot + 1;
        if (child + 1 < all->heap_count && comes_before(all->heap[child + 1], all->heap[child]))
            child++;
        if (child >= all->heap_count || !comes_before(all->heap[child], socket))
            break;
        heap_put(all, slot, all->heap[child]);
        slot = child;
    }
    heap_put(all, slot, socket);
}

void socket_set_due(struct sim_socket *socket, psec due)
{
    struct sim_sockets *all = socket->all;
    bool was_in = socket->due != PSEC_NEVER;
    if (due == socket->due)
        return;
    socket->due = due;
    if (!was_in) {
        if (!array_reserve(&all->heap, &all->heap_room, all->heap_count + 1,
                           sizeof(struct sim_socket *)))
            abort();
        heap_put(all, all->heap_count++, socket);
    } else if (due == PSEC_NEVER) {
        struct sim_socket *last = all->heap[--all->heap_count];
        if (last == socket)
            return;
        heap_put(all, socket->slot, last);
        heap_move(all, last->slot);
        return;
    }
    heap_move(all, socket->slot);
}

psec sim_sockets_next(const struct sim_sockets *all)
{
    return all->heap_count ? all->heap[0]->due : PSEC_NEVER;
}

/* ---- when a socket is due ---- */

/* When there is something to read: bytes, the end, a failure, a client. */
psec socket_read_at(const struct sim_socket *socket)
{
    if (socket->state == LISTENS) {
        const struct list *first = socket->backlog.next;
        return first == &socket->backlog ? PSEC_NEVER
                                         : container_of(first, struct sim_socket, pending)->room_at;
    }
    psec bytes = socket->in.first ? socket->in.first->at : socket->end_at;
    return earlier(bytes, socket->fails_at);
}

psec socket_write_at(const struct sim_socket *socket)
{
    return earlier(socket->room_at, socket->fails_at);
}

static psec descriptor_due(const struct sim_socket *socket)
{
    psec at = PSEC_NEVER;
    if (socket->waits)
        return PSEC_NEVER;
    if (socket->env->wants & ENV_READ)
        at = socket_read_at(socket);
    if (socket->env->wants & ENV_WRITE)
        at = earlier(at, socket_write_at(socket));
    return at == PSEC_NEVER || at > socket->turn_at ? at : socket->turn_at;
}

static psec client_due(const struct sim_socket *socket)
{
    psec at = socket->fails_at;
    if (socket->state == CONNECTS || socket->out.first || socket->finishes)
        at = earlier(at, socket->room_at);
    if (socket->state != CONNECTS && !socket->deaf && (socket->in.first || !socket->told_end))
        at = earlier(at, socket_read_at(socket));
    return at;
}

/* Something about the socket has changed. */
void socket_settle(struct sim_socket *socket)
{
    struct sim_sockets *all = socket->all;
    psec now = sockets_now(all), at = PSEC_NEVER, before = sim_sockets_next(all);
    if (socket == all->current)
        return; /* after its turn */
    if (socket->env)
        at = descriptor_due(socket);
    else if (socket->server == OUTSIDE)
        at = client_due(socket);
    socket_set_due(socket, at == PSEC_NEVER || at > now ? at : now);
    if (sim_sockets_next(all) != before)
        all->world.due(all->world.owner);
}

/* ---- sockets ---- */

struct sim_socket *socket_new(struct sim_sockets *all, enum sim_socket_state state, node_id server)
{
    struct sim_socket *socket = memory_or_end(calloc(1, sizeof *socket));
    socket->all = all;
    socket->state = state;
    socket->server = server;
    socket->in.end = &socket->in.first;
    socket->out.end = &socket->out.first;
    socket->end_at = socket->fails_at = socket->due = PSEC_NEVER;
    socket->number = ++all->number;
    list_init(&socket->backlog);
    list_init(&socket->pending);
    list_append(&all->sockets, &socket->node);
    all->counts.open++;
    return socket;
}

static void pieces_forget(struct sim_pieces *pieces)
{
    for (struct sim_piece *piece = pieces->first, *next; piece; piece = next) {
        next = piece->next;
        free(piece);
    }
    *pieces = (struct sim_pieces){.end = &pieces->first};
}

void socket_free(struct sim_socket *socket)
{
    struct sim_sockets *all = socket->all;
    if (all->current == socket)
        all->current = NULL;
    socket_set_due(socket, PSEC_NEVER);
    list_remove(&socket->node);
    list_remove(&socket->pending);
    pieces_forget(&socket->in);
    pieces_forget(&socket->out);
    all->counts.open--;
    free(socket);
}

/* From that time on, the socket finds its connection broken. */
static void socket_break(struct sim_socket *socket, psec at, int failure)
{
    if (socket->fails_at != PSEC_NEVER)
        return;
    socket->fails_at = at;
    socket->failure = failure;
    socket_settle(socket);
}

/* Ends one end of a connection; the peer finds the end of the stream, or a reset. */
void socket_end(struct sim_socket *socket, bool reset)
{
    struct sim_socket *peer = socket->peer;
    if (peer) {
        peer->peer = NULL;
        if (reset || socket->in.first) {
            socket->all->counts.resets += reset;
            socket_break(peer, sockets_later(socket->all), -ECONNRESET);
        } else if (!socket->finished) {
            psec at = sockets_later(socket->all);
            peer->end_at = at > peer->arrives ? at : peer->arrives;
        }
        if (peer->room_at == PSEC_NEVER)
            peer->room_at = sockets_now(socket->all); /* a write then finds the end */
        socket_settle(peer);
    }
    socket_free(socket);
}

void listener_end(struct sim_socket *listener)
{
    for (struct list *node; (node = list_take(&listener->backlog));)
        socket_end(container_of(node, struct sim_socket, pending), true);
    socket_free(listener);
}

bool socket_is_broken(const struct sim_socket *socket)
{
    return socket->fails_at <= sockets_now(socket->all);
}

/* ---- bytes ---- */

void pieces_add(struct sim_pieces *pieces, psec at, const uint8_t *bytes, uint32_t size)
{
    struct sim_piece *piece = memory_or_end(malloc(sizeof *piece + size));
    *piece = (struct sim_piece){.at = at, .size = size};
    memcpy(piece->bytes, bytes, size);
    *pieces->end = piece;
    pieces->end = &piece->next;
    pieces->held += size;
}

/* Takes bytes that have arrived; returns how many. */
static uint32_t pieces_take(struct sim_pieces *pieces, psec now, uint8_t *bytes, uint32_t size)
{
    uint32_t count = 0;
    while (pieces->first && pieces->first->at <= now && count < size) {
        struct sim_piece *piece = pieces->first;
        uint32_t left = piece->size - piece->taken;
        uint32_t part = left < size - count ? left : size - count;
        memcpy(bytes + count, piece->bytes + piece->taken, part);
        count += part;
        piece->taken += part;
        if (piece->taken < piece->size)
            break;
        pieces->first = piece->next;
        if (!pieces->first)
            pieces->end = &pieces->first;
        free(piece);
    }
    pieces->held -= count;
    return count;
}

/* The bytes travel to that socket, in one or several pieces. */
static void travel(struct sim_socket *to, const uint8_t *bytes, uint32_t size)
{
    struct sim_sockets *all = to->all;
    bool splits = happens(all, all->settings.split);
    psec at = sockets_later(all);
    while (size) {
        uint32_t part = splits ? 1 + (uint32_t)rng_below(&all->rng, size) : size;
        to->arrives = at > to->arrives ? at : to->arrives;
        pieces_add(&to->in, to->arrives, bytes, part);
        all->counts.pieces++;
        bytes += part;
        size -= part;
        at = to->arrives + 1 + rng_below(&all->rng, all->settings.jitter + 1);
    }
    socket_settle(to);
}

/* Writes as much as there is room for. */
int64_t socket_put(struct sim_socket *socket, const void *bytes, uint32_t size)
{
    struct sim_sockets *all = socket->all;
    struct sim_socket *peer = socket->peer;
    if (socket_is_broken(socket))
        return socket->failure;
    if (socket->finished)
        return -EPIPE;
    if (!peer) { /* the peer has closed, and answers with a reset */
        socket_break(socket, sockets_later(all), -ECONNRESET);
        return size;
    }
    if (happens(all, all->settings.reset)) {
        all->counts.resets++;
        socket_break(socket, sockets_later(all), -ECONNRESET);
        socket_break(peer, sockets_later(all), -ECONNRESET);
    }
    uint32_t buffer = all->settings.buffer;
    uint32_t room = buffer > peer->in.held ? buffer - peer->in.held : 0;
    if (!room || socket->room_at > sockets_now(all)) {
        socket->room_at = room ? socket->room_at : PSEC_NEVER;
        return -EAGAIN;
    }
    uint32_t count = size < room ? size : room;
    if (happens(all, all->settings.shorten)) {
        count = (uint32_t)rng_below(&all->rng, count); /* perhaps none */
        all->counts.shortened++;
    }
    if (count < size) /* a shortened write has room again soon */
        socket->room_at = count < room ? sockets_later(all) : PSEC_NEVER;
    if (!count)
        return -EAGAIN;
    travel(peer, bytes, count);
    return count;
}

/* Reads what has arrived. */
int64_t socket_get(struct sim_socket *socket, void *bytes, uint32_t size)
{
    psec now = sockets_now(socket->all);
    if (socket_is_broken(socket))
        return socket->failure;
    uint32_t count = pieces_take(&socket->in, now, bytes, size);
    struct sim_socket *peer = socket->peer;
    if (count && peer && peer->room_at == PSEC_NEVER) {
        peer->room_at = sockets_later(socket->all);
        socket_settle(peer);
    }
    if (count)
        return count;
    return !socket->in.first && socket->end_at <= now ? 0 : -EAGAIN;
}

void socket_finish(struct sim_socket *socket)
{
    if (socket->finished)
        return;
    socket->finished = true;
    if (!socket->peer)
        return;
    psec at = sockets_later(socket->all);
    socket->peer->end_at = at > socket->peer->arrives ? at : socket->peer->arrives;
    socket_settle(socket->peer);
}

/* ---- connecting ---- */

struct sim_socket *sockets_find(const struct sim_sockets *all, node_id server, uint16_t port)
{
    list_each(&all->sockets, node)
    {
        struct sim_socket *socket = container_of(node, struct sim_socket, node);
        if (socket->state == LISTENS && socket->server == server && socket->port == port)
            return socket;
    }
    return NULL;
}

static size_t backlog_count(const struct sim_socket *listener)
{
    size_t count = 0;
    list_each(&listener->backlog, node) count++;
    return count;
}

void socket_join(struct sim_socket *one, struct sim_socket *other)
{
    one->peer = other;
    other->peer = one;
    one->all->counts.connections++;
}

/* Begins to connect that end to the listener; NULL: there is none. */
void socket_connect(struct sim_socket *socket, struct sim_socket *listener)
{
    struct sim_sockets *all = socket->all;
    if (!listener || backlog_count(listener) >= BACKLOG) {
        all->counts.refused++;
        socket->room_at = PSEC_NEVER;
        socket_break(socket, sockets_later(all), -ECONNREFUSED);
        return;
    }
    struct sim_socket *other = socket_new(all, CONNECTED, listener->server);
    socket_join(socket, other);
    other->port = listener->port;
    other->room_at = sockets_later(all); /* the client can be accepted */
    socket->room_at = other->room_at + all->settings.delay;
    list_append(&listener->backlog, &other->pending);
    socket_settle(listener);
    socket_settle(socket);
}
