#pragma once
/* egress: which service may send next on a port: deficit round robin by bytes, with weights.
 *
 * Each port has its own round. A service whose turn it is gets the quantum times its weight and
 * sends as long as it has some of that left; its last packet may overdraw it, and the debt comes
 * off its next turn. So nobody needs to know how large the next packet of a service will be before
 * it is asked for. A service that has nothing more to send for a port loses what is left there,
 * and keeps its debt. After any number of rounds a service that always had something has sent that
 * many times its quantum, and at most one packet more.
 *
 * Packets for a port are gathered into one frame as long as they fit (aggregation), in the order of
 * the round, so a frame may hold several services' packets. A packet that does not fit any more
 * ends the frame: nobody is overtaken.
 *
 * A source is a queue, where a service's packets wait that are sent or pass; a service that keeps a
 * queue of its own is polled besides, when the other has nothing for the port. Nobody is asked for
 * a port without room. */

#include "node/core/queue.h"

#define EGRESS_SERVICES_MAX 32
#define EGRESS_FRAME_MAX    96 /* packets in one frame */

/* The next packet of a service that keeps its own queue, at most `room` bytes; the port's now.
 * NULL with room for PACKET_SIZE_MAX: it has nothing for that port, and is asked again only after
 * egress_wake. NULL with less: it may have; the frame ends there, and it is asked for the next. */
typedef struct packet *egress_poll(void *service, unsigned port, uint32_t room);

struct egress_source {
    struct queue *queue;
    egress_poll *poll; /* NULL: no queue of its own */
    void *service;
    uint32_t weight; /* 1 to UINT16_MAX */
    port_set ports;  /* for which it has something; egress's own */
    port_set woken;  /* for which it is polled; egress's own */
};

struct egress; /* egress.c */

/* Memory for an egress of so many ports and services, which the caller gives, aligned to 8. */
size_t egress_size(unsigned port_count, unsigned source_max);
struct egress *egress_init(void *memory, unsigned port_count, unsigned source_max, bool aggregate);
/* Returns its slot. The queue is borrowed, empty, and touched by egress only from now on. */
unsigned egress_add(struct egress *egress, const struct egress_source *source);

/* The packet waits in that slot's queue for packet->ports: queue_push, and what it returns. */
struct packet *egress_push(struct egress *egress, unsigned slot, struct packet *packet);
/* A packet will be pushed there soon: brings what that touches into the cache. */
void egress_expect(const struct egress *egress, unsigned slot);
/* queue_empty of that slot. */
struct packet *egress_empty(struct egress *egress, unsigned slot);
/* A service with its own queue has something for these ports. */
void egress_wake(struct egress *egress, unsigned slot, port_set ports);

/* Ports for which somebody has something, also such as are down. */
port_set egress_ports(const struct egress *egress);

/* Fills one frame of at most `room` bytes for that port: packets in order, with their slots' bytes
 * counted against them. Returns how many. 0: nobody has anything, or `room` is less than
 * PACKET_SIZE_MAX and what comes next does not fit. */
unsigned egress_frame(struct egress *egress, unsigned port, uint32_t room,
                      struct packet *out[EGRESS_FRAME_MAX]);

/* NODE_FAULT_UNFAIR, in test builds only: of the services that have something for a port, the last
 * loses every `period`-th turn; 0: nobody does. */
void egress_fault_skips(struct egress *egress, uint32_t period);

void egress_check(const struct egress *egress); /* asserts its invariants, and its queues' */
