#pragma once
/* queue: packets of one service that wait for a port, each with the set of ports by which it may
 * leave.
 *
 * A packet leaves by the first of its ports that asks. Packets with the same set are in one lane;
 * there are few different sets (26 in a torus), so a port compares the heads of its lanes and takes
 * the first one in the queue's order. There are at most QUEUE_LANES lanes: beyond that the set of a
 * packet is narrowed to one port, and the lanes for single ports always exist.
 *
 * A queue is bounded by packets and bytes. When it is full, the rule of its kind selects a packet
 * to drop, which is returned to the caller for counting. A queue owns its packets and allocates
 * nothing after queue_init.
 *
 * Nodes call egress_push, not queue_push, because egress keeps track of the queues that have
 * packets. */

#include <stddef.h>

#include "node/packet.h"

enum queue_kind {
    QUEUE_FIFO,     /* first in first out; when full, the new packet is dropped */
    QUEUE_PRIORITY, /* higher packet->priority first, then first in; when full, the last packet
                     * of the lowest priority is dropped, which is the new one if no priority is
                     * lower */
    QUEUE_NEWEST,   /* last in first out; when full, the oldest packet is dropped */
};

#define QUEUE_LANES 64

struct queue;

struct queue_limits {
    enum queue_kind kind;
    uint32_t packets;    /* at least 1 */
    uint32_t bytes;      /* at least PACKET_SIZE_MAX */
    uint32_t port_count; /* port numbers are below it; at most PORT_MAX */
};

size_t queue_size(const struct queue_limits *limits); /* bytes of memory that the caller provides */
/* The memory is aligned to 64 bytes. */
struct queue *queue_init(void *memory, const struct queue_limits *limits);

/* Adds a packet that waits for packet->ports (not empty; narrowed to one port if there are too many
 * lanes). Returns the dropped packets, linked by next (the new one may be among them); NULL:
 * none. */
struct packet *queue_push(struct queue *queue, struct packet *packet);

/* The next packet for that port, still in the queue; NULL: none. */
struct packet *queue_peek(struct queue *queue, unsigned port);
/* Removes the packet that queue_peek of that port just returned. */
void queue_take(struct queue *queue, unsigned port, struct packet *packet);

/* Ports for which packets wait. */
port_set queue_ports(const struct queue *queue);
uint32_t queue_packets(const struct queue *queue);
uint32_t queue_bytes(const struct queue *queue);

/* Removes all packets and returns them linked by next, in order of arrival. For changed routes, and
 * at the end. */
struct packet *queue_empty(struct queue *queue);
void queue_check(const struct queue *queue); /* asserts its invariants */
