#pragma once
/* egress: which service may send next on a port: deficit round robin by bytes, with weights.
 *
 * Each port has its own round. A service whose turn it is gets its quantum times its weight and
 * sends as long as that lasts; what is left it keeps only while it has something to send. Packets
 * for a port are gathered into one frame as long as they fit (aggregation), in the order of the
 * round, so a frame may hold several services' packets.
 *
 * A source is a queue, or a service's own poll. Nobody is asked for a port without room. */

#include "node/queue.h"

#define EGRESS_SERVICES_MAX 32
#define EGRESS_FRAME_MAX    96 /* packets in one frame */

/* The next packet of a service that keeps its own queue, at most `room` bytes; the port's now. */
typedef struct packet *egress_poll(void *service, unsigned port, uint32_t room);

struct egress_source {
    struct queue *queue; /* NULL: poll */
    egress_poll *poll;
    void *service;
    uint32_t weight; /* at least 1 */
};

struct egress_round {
    uint32_t turn; /* whose turn it is */
    bool credited; /* and it got its quantum */
    int64_t deficit[EGRESS_SERVICES_MAX];
};

struct egress {
    uint32_t source_count;
    uint32_t quantum; /* bytes for weight 1; at least the largest packet */
    bool aggregate;
    struct egress_source sources[EGRESS_SERVICES_MAX];
    struct egress_round rounds[PORT_MAX];
    port_set polled_ports; /* of services with their own queue: egress_wake */
};

void egress_init(struct egress *egress, bool aggregate);
/* Returns its slot. */
unsigned egress_add(struct egress *egress, const struct egress_source *source);

/* A service with its own queue has something for these ports. */
void egress_wake(struct egress *egress, port_set ports);

/* Ports for which somebody has something. */
port_set egress_ports(const struct egress *egress);

/* Fills one frame of at most `room` bytes for that port: packets in order, with their slots' bytes
 * counted against them. Returns how many. 0: nobody has anything that fits. */
unsigned egress_frame(struct egress *egress, unsigned port, uint32_t room,
                      struct packet *out[EGRESS_FRAME_MAX]);
