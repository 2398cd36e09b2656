/* cable_port: packets through a pair of pipes.
 *
 * A pulled frame is staged; receive() splits it into packets on loan. The frame returns to its ring
 * when the node has released all of them, or when settle() copies those that the node still holds.
 * Invariant: a loan is in the free list iff no packet of its frame is out and it is not being
 * read. */
#include <errno.h>
#include <stdlib.h>

#include "base/check.h"
#include "node/core/egress.h"
#include "node/stream/piece.h"
#include "os/cable/cable_impl.h"

#define CABLE_KIND 1 /* kind of our frames: packets */

/* ---- receiving ---- */

/* Stages more frames. False: none arrived. */
static bool cable_pull(struct cable_port *cable)
{
    if (cable->staged_next == cable->staged_count) {
        cable->staged_next = cable->staged_count = 0;
        cable->staged_news = false;
    }
    struct frame *frames = cable->staged + cable->staged_count;
    int count = cable->inlet->ops->pull(cable->inlet, frames, CABLE_BURST - cable->staged_count);
    if (count < 0 && count != -EPIPE)
        cable_condemn(cable);
    for (int i = 0; i < count; i++)
        cable->staged_news |= !(frames[i].head.kind & FRAME_LAZY);
    cable->staged_count += count > 0 ? (unsigned)count : 0;
    return count > 0;
}

/* Must the staged frames be received now? Lazy frames alone may stay staged, unless there is no
 * room for more. */
static bool cable_is_pressing(const struct cable_port *cable)
{
    bool empty = cable->staged_next == cable->staged_count;
    return cable->reading || (!empty && (cable->staged_news || cable->staged_count == CABLE_BURST));
}

static enum port_news cable_poll(struct port *port)
{
    struct cable_port *cable = cable_of(port);
    if (!cable->inlet)
        return PORT_SILENT;
    if (cable_is_pressing(cable))
        return PORT_NEWS;
    bool empty = cable->staged_next == cable->staged_count;
    if (!cable_pull(cable) && empty) {
        if (cable->ending)
            cable_reset(cable);
        return PORT_SILENT;
    }
    return cable->staged_news || cable->ending ? PORT_NEWS : PORT_LAZY;
}

static bool cable_waiting(const struct port *port)
{
    const struct cable_port *cable = container_of(port, const struct cable_port, port);
    const struct inlet *inlet = cable->inlet;
    return inlet && (cable_is_pressing(cable) || cable->ending || !inlet->ops->waiting ||
                     inlet->ops->waiting(inlet));
}

/* Makes the next staged frame the one that is read. */
static bool cable_begin(struct cable_port *cable)
{
    if (cable->staged_next == cable->staged_count && !cable_pull(cable))
        return false;
    struct cable_loan *loan = cable->loans_free;
    if (!loan)
        return false;
    cable->loans_free = loan->next;
    cable->loans_out++;
    loan->frame = cable->staged[cable->staged_next++];
    loan_start(&loan->loan);
    cable->reading = loan;
    cable->read = 0;
    return true;
}

static unsigned cable_receive(struct port *port, struct packet **out, unsigned most)
{
    struct cable_port *cable = cable_of(port);
    unsigned count = 0;
    if (!cable->inlet)
        return 0;
    while (count < most && (cable->reading || cable_begin(cable))) {
        struct cable_loan *loan = cable->reading;
        uint32_t size = loan->frame.size;
        /* The ring is mapped for writing: hop counts and services change packets in place. */
        uint8_t *body = (uint8_t *)loan->frame.body;
        while (count < most && cable->read < size) {
            uint32_t extent = packet_extent(body + cable->read, size - cable->read);
            struct packet *packet = packets_lend(cable->cables->config.packets, &loan->loan,
                                                 body + cable->read, extent);
            if (!packet)
                return count; /* none left: the rest waits in its ring */
            packet->port_in = (uint8_t)port->number;
            cable->read += extent;
            out[count++] = packet;
        }
        if (cable->read < size)
            break;
        cable->reading = NULL;
        loan_close(&loan->loan);
    }
    return count;
}

/* ---- sending ---- */

static unsigned cable_room(struct port *port)
{
    struct cable_port *cable = cable_of(port);
    if (!cable->carrier || cable->ending)
        return 1;
    return cable->outlet->ops->room(cable->outlet, FRAME_BODY_MAX);
}

/* Collects at least one packet. Bytes that are not in memory travel as zeroes; a piece of a service
 * is copied from there. */
static unsigned frame_gather(struct iovec *pieces, struct packet **packets, unsigned count)
{
    static const uint8_t zeroes[PACKET_SIZE_MAX];
    unsigned piece_count = 0, i = 0;
    do {
        struct packet *packet = packets[i];
        packet_seal_hops(packet);
        pieces[piece_count++] = (struct iovec){packet->bytes, packet->stored};
        const uint8_t *rest = packet->piece ? packet->piece : zeroes;
        if (packet->size > packet->stored)
            pieces[piece_count++] = (struct iovec){(void *)rest, packet->size - packet->stored};
    } while (++i < count);
    return piece_count;
}

/* Pushes a frame in which bytes of packets are not in memory or belong to services. Each is read
 * once if the transport says where the frame goes; otherwise the gathered pieces are pushed. */
static int frame_write(struct outlet *outlet, const struct frame_head *head,
                       struct packet **packets, unsigned count, const struct iovec *pieces,
                       unsigned piece_count)
{
    uint32_t size = 0;
    for (unsigned i = 0; i < count; i++)
        size += packets[i]->size;
    uint8_t *body = outlet->ops->place ? outlet->ops->place(outlet, size) : NULL;
    if (!body) {
        for (unsigned i = 0; i < count; i++)
            piece_seal(packets[i]);
        return outlet->ops->push(outlet, head, pieces, piece_count);
    }
    for (unsigned i = 0, at = 0; i < count; at += packets[i++]->size)
        piece_write(packets[i], body + at);
    return outlet->ops->push(outlet, head, &(struct iovec){body, size}, 1);
}

static bool cable_transmit(struct port *port, struct packet **packets, unsigned count, bool lazy)
{
    struct cable_port *cable = cable_of(port);
    struct iovec pieces[2 * EGRESS_FRAME_MAX];
    assert(count > 0 && count <= EGRESS_FRAME_MAX);
    if (!cable->carrier || cable->ending)
        return false;
    const struct frame_head head = {.kind = CABLE_KIND | (lazy ? FRAME_LAZY : 0)};
    struct outlet *outlet = cable->outlet;
    unsigned piece_count = frame_gather(pieces, packets, count);
    int result = piece_count > count
                     ? frame_write(outlet, &head, packets, count, pieces, piece_count)
                     : outlet->ops->push(outlet, &head, pieces, piece_count);
    if (result == -EPROTO)
        cable_condemn(cable);
    for (unsigned i = 0; !result && i < count; i++)
        packet_done(packets[i]);
    return !result;
}

/* ---- closing ---- */

static void cable_close(struct port *port)
{
    struct cable_port *cable = cable_of(port);
    cable_remove(cable);
    free(cable->loans);
    free(cable);
}

const struct port_ops cable_ops = {
    .poll = cable_poll,
    .waiting = cable_waiting,
    .receive = cable_receive,
    .room = cable_room,
    .transmit = cable_transmit,
    .settle = cable_settle,
    .close = cable_close,
};
