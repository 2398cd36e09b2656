#pragma once
/* queue: packets of one service that wait for a port, each with the set of ports it may take.
 *
 * A packet goes out on whichever of its ports asks first. Packets with the same set stand in one
 * lane; there are few different sets (26 in a torus), so a port looks at the heads of the lanes
 * that it is in and takes the first by the queue's order. Lanes are never more than QUEUE_LANES:
 * beyond that a packet is narrowed to one port, and one-port lanes always have room.
 *
 * Bounded by packets and bytes. What does not fit is dropped by the kind's rule and returned to
 * the caller, who counts it. Owns its packets; allocates nothing after queue_init.
 *
 * A node does not push into a queue itself: egress_push does, and keeps count of who waits. */

#include <stddef.h>

#include "node/packet.h"

enum queue_kind {
    QUEUE_FIFO,     /* first in first out; full: the newcomer is dropped */
    QUEUE_PRIORITY, /* higher packet->priority first, then first in; full: the last of the lowest
                     * priority is dropped, which is the newcomer if nobody's is lower */
    QUEUE_NEWEST,   /* last in first out; full: the oldest is dropped */
};

#define QUEUE_LANES 64

struct queue;

struct queue_limits {
    enum queue_kind kind;
    uint32_t packets;    /* at least 1 */
    uint32_t bytes;      /* at least PACKET_SIZE_MAX */
    uint32_t port_count; /* ports are below it; at most PORT_MAX */
};

size_t queue_size(const struct queue_limits *limits); /* of memory that the caller gives */
/* The memory is aligned to 64 bytes. */
struct queue *queue_init(void *memory, const struct queue_limits *limits);

/* The packet waits for packet->ports (not empty; narrowed to one of them if there are too many
 * lanes). Returns who had to go, linked by next (the newcomer itself perhaps); NULL: nobody. */
struct packet *queue_push(struct queue *queue, struct packet *packet);

/* The next for that port, still in the queue; NULL: none. */
struct packet *queue_peek(struct queue *queue, unsigned port);
/* Takes out the one that queue_peek of that port just returned. */
void queue_take(struct queue *queue, unsigned port, struct packet *packet);

/* Ports for which something waits. */
port_set queue_ports(const struct queue *queue);
uint32_t queue_packets(const struct queue *queue);
uint32_t queue_bytes(const struct queue *queue);

/* Takes out everything, linked by next in order of arrival: the routes changed, or the end. */
struct packet *queue_empty(struct queue *queue);
void queue_check(const struct queue *queue); /* asserts its invariants */
