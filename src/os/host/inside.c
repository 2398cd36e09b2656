#include "os/host/inside.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"
#include "base/list.h"
#include "node/core/egress.h"

#define INBOX_MASK (INSIDE_PACKETS_MAX - 1)
static_assert((INSIDE_PACKETS_MAX & INBOX_MASK) == 0, "positions are masked");
static_assert(INSIDE_PACKETS_MAX >= 2 * EGRESS_FRAME_MAX, "one frame goes while one is taken");

struct inside {
    struct port port;
    struct inside *other; /* NULL: closed */
    inside_arrived *arrived;
    void *owner;
    bool lazy; /* all that waits may wait */
    uint32_t head, tail;
    struct packet *inbox[INSIDE_PACKETS_MAX];
};

static struct inside *inside_of(struct port *port)
{
    return container_of(port, struct inside, port);
}

static enum port_news inside_look(struct port *port)
{
    const struct inside *inside = inside_of(port);
    if (inside->head == inside->tail)
        return PORT_SILENT;
    return inside->lazy ? PORT_LAZY : PORT_NEWS;
}

static unsigned inside_receive(struct port *port, struct packet **out, unsigned most)
{
    struct inside *inside = inside_of(port);
    unsigned count = 0;
    while (count < most && inside->head != inside->tail)
        out[count++] = inside->inbox[inside->head++ & INBOX_MASK];
    return count;
}

static uint32_t inside_room(struct port *port)
{
    const struct inside *other = inside_of(port)->other;
    bool room = !other || other->tail - other->head <= INSIDE_PACKETS_MAX - EGRESS_FRAME_MAX;
    return room ? PACKET_SIZE_MAX : 0;
}

static bool inside_transmit(struct port *port, struct packet **packets, unsigned count, bool lazy)
{
    struct inside *inside = inside_of(port);
    struct inside *other = inside->other;
    if (!other)
        return false;
    assert(other->tail - other->head + count <= INSIDE_PACKETS_MAX);
    bool was_empty = other->head == other->tail;
    bool told = !was_empty && (lazy || !other->lazy);
    other->lazy = lazy && (was_empty || other->lazy);
    for (unsigned i = 0; i < count; i++)
        other->inbox[other->tail++ & INBOX_MASK] = packets[i];
    if (!told)
        other->arrived(other->owner, other->port.server, other->port.number, lazy);
    return true;
}

static void inside_close(struct port *port)
{
    struct inside *inside = inside_of(port);
    while (inside->head != inside->tail)
        packet_done(inside->inbox[inside->head++ & INBOX_MASK]);
    if (inside->other)
        inside->other->other = NULL;
    free(inside);
}

static const struct port_ops inside_ops = {
    .look = inside_look,
    .receive = inside_receive,
    .room = inside_room,
    .transmit = inside_transmit,
    .close = inside_close,
};

enum err inside_open(const struct inside_end ends[2], inside_arrived *arrived, void *owner,
                     struct port *ports[2], struct why *why)
{
    struct inside *both[2] = {array_new(1, sizeof *both[0]), array_new(1, sizeof *both[1])};
    if (!both[0] || !both[1]) {
        free(both[0]);
        free(both[1]);
        return why_memory(why);
    }
    for (unsigned i = 0; i < 2; i++) {
        both[i]->port =
            (struct port){.ops = &inside_ops, .server = ends[i].server, .number = ends[i].number};
        both[i]->other = both[1 - i];
        both[i]->arrived = arrived;
        both[i]->owner = owner;
        ports[i] = &both[i]->port;
    }
    return OK;
}
