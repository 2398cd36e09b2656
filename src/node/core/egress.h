#pragma once
/* egress: chooses the service that may send next on a port: deficit round robin by bytes, with
 * weights.
 *
 * Each port has its own round. In its turn a service gets the quantum times its weight, and sends
 * until this allowance is used up. Its last packet may overdraw the allowance; the debt is
 * subtracted in its next turn. So the size of a service's next packet need not be known in advance.
 * A service with nothing more to send for a port loses the rest of its allowance there, but keeps a
 * debt. After n rounds a service that always had packets has sent n times its allowance, and at
 * most one packet more.
 *
 * Packets for a port are collected into one frame as long as they fit (aggregation), in the order
 * of the round, so a frame may hold packets of several services. A packet that does not fit ends
 * the frame, so no packet overtakes another.
 *
 * A source is the queue in which the packets that a service sends or forwards wait. A service that
 * also keeps a queue of its own is polled when its source has nothing for the port; if the service
 * has streams, in every second turn. No source is asked for a port without room. */

#include "node/core/queue.h"

#define EGRESS_SERVICES_MAX 32
#define EGRESS_FRAME_MAX    96 /* packets in one frame */

/* Returns the next packet of a service that keeps its own queue, at most `room` bytes, and gives it
 * to the port. NULL with room for PACKET_SIZE_MAX: the service has nothing for that port, and is
 * polled again only after egress_wake. NULL with less room: the service may have a larger packet;
 * the frame ends there, and the service is polled for the next frame. */
typedef struct packet *egress_poll(void *service, unsigned port, uint32_t room);

struct egress_source {
    struct queue *queue;
    egress_poll *poll; /* NULL: no queue of its own */
    void *service;
    uint32_t weight; /* 1 to UINT16_MAX */
    bool alternates; /* the queue and the polled packets take turns; else the queue goes first */
    port_set ports;  /* for which it has packets; maintained by egress */
    port_set woken;  /* for which it is polled; maintained by egress */
};

struct egress; /* egress.c */

/* Bytes of memory for an egress with so many ports and services. The caller provides the memory,
 * aligned to 8. */
size_t egress_size(unsigned port_count, unsigned source_max);
struct egress *egress_init(void *memory, unsigned port_count, unsigned source_max, bool aggregate);
/* Returns the slot of the new source. The queue is borrowed and empty; from now on only egress
 * touches it. */
unsigned egress_add(struct egress *egress, const struct egress_source *source);

/* Puts the packet into that slot's queue, to wait for packet->ports; returns what queue_push
 * returns. */
struct packet *egress_push(struct egress *egress, unsigned slot, struct packet *packet);
/* Hint that a packet will soon be pushed there: loads what this touches into the cache. */
void egress_expect(const struct egress *egress, unsigned slot);
/* Calls queue_empty for that slot's queue. */
struct packet *egress_empty(struct egress *egress, unsigned slot);
/* A service with its own queue has packets for these ports. */
void egress_wake(struct egress *egress, unsigned slot, port_set ports);

/* Ports for which some source has packets, including ports that are down. */
/* Many packets wait in the queue of that slot: a quarter of those that it may hold. */
bool egress_is_long(const struct egress *egress, unsigned slot);

port_set egress_ports(const struct egress *egress);

/* Fills one frame of at most `room` bytes for that port with packets in order, and charges their
 * bytes to their slots. Returns how many packets. 0: no source has any, or `room` is less than
 * PACKET_SIZE_MAX and the next packet does not fit. */
unsigned egress_frame(struct egress *egress, unsigned port, uint32_t room,
                      struct packet *out[EGRESS_FRAME_MAX]);

/* PLANTED_BIT(UNFAIR), in test builds only: of the services that have packets for a port, the last
 * loses every `period`-th turn; 0: no service does. */
void egress_fault_skips(struct egress *egress, uint32_t period);

void egress_check(const struct egress *egress); /* asserts its invariants and those of its queues */
