#pragma once
/* port: a node's end of a link in a real process. One interface: cables to other processes (shm and
 * udp, cable_port.c) and links within one (local_link.c) implement it; later raw Ethernet and
 * libfabric will.
 *
 * Called by the one thread that steps the nodes. Nothing waits.
 *
 * Packets that arrived in place are on loan from a ring (packets.h): settle() ends that for those
 * that the node still holds, so that a full node cannot stop its neighbours. */

#include "node/packet.h"
#include "os/host/shaper.h"
#include "transport/clock.h"

struct port;

enum port_news {
    PORT_SILENT, /* nothing to receive */
    PORT_LAZY,   /* only what its sender would not wake anybody for */
    PORT_NEWS,
};

struct port_ops {
    enum port_news (*poll)(struct port *port); /* is there something to receive? */
    /* Could poll() find something? Cheap; of cables alone. */
    bool (*waiting)(const struct port *port);
    unsigned (*receive)(struct port *port, struct packet **out, unsigned most);
    /* Bytes of the next frame: 0 (busy) or PACKET_SIZE_MAX. A link with nobody at its other end
     * has room: what is sent there is refused. */
    uint32_t (*room)(struct port *port);
    /* Sends them as one frame, and is done with them. False: there is nobody; they are still the
     * caller's. */
    bool (*transmit)(struct port *port, struct packet **packets, unsigned count, bool lazy);
    void (*settle)(struct port *port); /* or NULL: nothing is ever on loan */
    void (*close)(struct port *port);  /* gives back what it holds */
};

struct port {
    const struct port_ops *ops;
    uint32_t server; /* whose port it is ... */
    uint32_t number; /* ... and which */
    struct shaper shaper;
};

/* What a port tells whoever steps its node. */
struct port_events {
    void (*carrier)(void *owner, uint32_t server, uint32_t number, bool on);
    /* Something happened that a person may want to read. */
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
