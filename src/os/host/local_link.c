#include "os/host/local_link.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"
#include "base/list.h"
#include "node/core/egress.h"
#include "node/stream/piece.h"

#define INBOX_MASK (LOCAL_LINK_PACKETS_MAX - 1)
static_assert((LOCAL_LINK_PACKETS_MAX & INBOX_MASK) == 0, "positions can be masked");
static_assert(LOCAL_LINK_PACKETS_MAX >= 2 * EGRESS_FRAME_MAX,
              "one frame can be sent while another is received");

struct local_link {
    struct port port;
    struct local_link *other; /* NULL: the other end is closed */
    local_link_arrived *arrived;
    void *owner;
    bool lazy; /* all waiting packets are lazy */
    uint32_t head, tail;
    struct packet *inbox[LOCAL_LINK_PACKETS_MAX];
};

static struct local_link *local_link_of(struct port *port)
{
    return container_of(port, struct local_link, port);
}

static enum port_news local_link_poll(struct port *port)
{
    const struct local_link *link = local_link_of(port);
    if (link->head == link->tail)
        return PORT_SILENT;
    return link->lazy ? PORT_LAZY : PORT_NEWS;
}

static unsigned local_link_receive(struct port *port, struct packet **out, unsigned most)
{
    struct local_link *link = local_link_of(port);
    unsigned count = 0;
    while (count < most && link->head != link->tail)
        out[count++] = link->inbox[link->head++ & INBOX_MASK];
    return count;
}

static unsigned local_link_room(struct port *port)
{
    const struct local_link *other = local_link_of(port)->other;
    return other ? (LOCAL_LINK_PACKETS_MAX - (other->tail - other->head)) / EGRESS_FRAME_MAX : 1;
}

static bool local_link_transmit(struct port *port, struct packet **packets, unsigned count,
                                bool lazy)
{
    struct local_link *link = local_link_of(port);
    struct local_link *other = link->other;
    if (!other)
        return false;
    assert(other->tail - other->head + count <= LOCAL_LINK_PACKETS_MAX);
    bool was_empty = other->head == other->tail;
    bool told = !was_empty && (lazy || !other->lazy);
    other->lazy = lazy && (was_empty || other->lazy);
    for (unsigned i = 0; i < count; i++) {
        piece_gather(packets[i]); /* the buffers of packets.h have room for a whole packet */
        other->inbox[other->tail++ & INBOX_MASK] = packets[i];
    }
    if (!told)
        other->arrived(other->owner, other->port.server, other->port.number, lazy);
    return true;
}

static void local_link_close(struct port *port)
{
    struct local_link *link = local_link_of(port);
    while (link->head != link->tail)
        packet_done(link->inbox[link->head++ & INBOX_MASK]);
    if (link->other)
        link->other->other = NULL;
    free(link);
}

static const struct port_ops local_link_ops = {
    .poll = local_link_poll,
    .receive = local_link_receive,
    .room = local_link_room,
    .transmit = local_link_transmit,
    .close = local_link_close,
};

enum err local_link_open(const struct local_link_end ends[2], local_link_arrived *arrived,
                         void *owner, struct port *ports[2], struct why *why)
{
    struct local_link *both[2] = {array_new(1, sizeof *both[0]), array_new(1, sizeof *both[1])};
    if (!both[0] || !both[1]) {
        free(both[0]);
        free(both[1]);
        return why_memory(why);
    }
    for (unsigned i = 0; i < 2; i++) {
        both[i]->port = (struct port){
            .ops = &local_link_ops, .server = ends[i].server, .number = ends[i].number};
        both[i]->other = both[1 - i];
        both[i]->arrived = arrived;
        both[i]->owner = owner;
        ports[i] = &both[i]->port;
    }
    return OK;
}
