#pragma once
/* port: a node's end of a link in a real process. One interface; shm and udp (both over
 * transport/transport.h), in-process links, and later raw Ethernet and libfabric, implement it.
 *
 * Called by the one thread that steps the node. Nothing waits. */

#include "node/packet.h"
#include "transport/clock.h"

struct port;

struct port_ops {
    unsigned (*receive)(struct port *port, struct packet **out, unsigned most);
    uint32_t (*room)(struct port *port); /* 0: busy; the host is told when it no longer is */
    void (*transmit)(struct port *port, struct packet **packets, unsigned count, bool lazy);
    void (*close)(struct port *port);
};

/* Frames that came in place in a ring are packets that borrow the ring's memory: host.c copies
 * those that the node still holds after a step into the pool and lets the ring go on. */

struct port {
    const struct port_ops *ops;
    struct host *host; /* who steps the node */
    uint32_t node;     /* of the host */
    uint32_t number;   /* of the node */
};
