#pragma once
/* port: a node's end of a link in a real process. Cables to other processes (shm and udp,
 * cable_port.c) and links within one process (local_link.c) implement this interface; later raw
 * Ethernet and libfabric will.
 *
 * Only the thread that steps the nodes calls it. No function waits.
 *
 * Packets that arrived in place are on loan from a ring (packets.h): settle() ends the loans of
 * packets that the node still holds, so that a full node cannot stop its neighbours. */

#include "node/packet.h"
#include "os/host/shaper.h"
#include "transport/clock.h"

struct port;

enum port_news {
    PORT_SILENT, /* nothing to receive */
    PORT_LAZY,   /* only frames that do not wake a sleeping receiver */
    PORT_NEWS,
};

struct port_ops {
    enum port_news (*poll)(struct port *port); /* are there packets to receive? */
    /* Could poll() find packets? Cheap; cables only. */
    bool (*waiting)(const struct port *port);
    unsigned (*receive)(struct port *port, struct packet **out, unsigned most);
    /* Returns how many frames of up to PACKET_SIZE_MAX bytes certainly fit; 0: the link is busy. A
     * link without a neighbour has room; transmit() then refuses the packets. */
    unsigned (*room)(struct port *port);
    /* Sends the packets as one frame and releases them. False: no neighbour; the caller still owns
     * them. */
    bool (*transmit)(struct port *port, struct packet **packets, unsigned count, bool lazy);
    void (*settle)(struct port *port); /* or NULL: the port makes no loans */
    void (*close)(struct port *port);  /* releases all that it holds */
};

struct port {
    const struct port_ops *ops;
    uint32_t server; /* the server of this port ... */
    uint32_t number; /* ... and its number there */
    unsigned frames; /* how many certainly fit, as room() said last; 0: not known */
    struct shaper shaper;
};

/* Is there room for a frame? Asks the port itself only if it is not known. */
static inline bool port_room(struct port *port)
{
    if (!port->frames)
        port->frames = port->ops->room(port);
    return port->frames > 0;
}

/* As transmit() of the table; the port has room. */
static inline bool port_transmit(struct port *port, struct packet **packets, unsigned count,
                                 bool lazy)
{
    port->frames -= port->frames > 0;
    return port->ops->transmit(port, packets, count, lazy);
}

/* Events that a port reports to the code that steps its node. */
struct port_events {
    void (*carrier)(void *owner, uint32_t server, uint32_t number, bool on);
    /* Reports an event for the log. */
    void (*said)(void *owner, uint32_t server, const char *text);
    void *owner;
};

static inline uint32_t packets_bytes(struct packet *const *packets, unsigned count)
{
    uint32_t bytes = 0;
    for (unsigned i = 0; i < count; i++)
        bytes += packets[i]->size;
    return bytes;
}
