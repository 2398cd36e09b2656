#pragma once
/* queue_impl: the structs of a queue, and how a packet leaves it: egress does that for every
 * packet, so these functions are inlined there. queue.c explains the design. */

#include "base/check.h"
#include "node/core/queue.h"

#define HINTS          128 /* a power of two */
#define PRIORITIES     (PACKET_PRIORITY_MAX + 1)
#define PRIORITY_SHIFT 61 /* there are fewer arrivals than 2 to the power of this */
#define NO_LANE        QUEUE_LANES

struct lane {
    struct packet *first;
    struct packet *last;
    uint64_t rank;   /* of the first, while there is one */
    port_set ports;  /* 0: no set assigned yet */
    uint32_t levels; /* QUEUE_PRIORITY: a bit for each priority that it holds */
};

/* Used by QUEUE_PRIORITY only. */
struct level_lane {
    struct packet *last[PRIORITIES]; /* of each priority whose bit is set in the lane's levels */
};

struct level {
    uint32_t packets;
    uint32_t bytes;
};

struct queue {
    uint64_t busy; /* a bit for each lane that holds packets */
    port_set ports;
    uint32_t packets;
    uint32_t bytes;
    uint8_t kind;
    uint8_t port_count;
    uint8_t lane_count; /* for which there is memory */
    uint8_t lanes_used; /* have had a set of ports */
    uint8_t hand;       /* where the search for an empty lane continues */
    uint8_t peeked;     /* lane of the packet that queue_peek returned last */
    uint32_t packets_max;
    uint32_t bytes_max;
    uint64_t arrivals;
    struct lane *lanes;
    struct level_lane *level_lanes; /* QUEUE_PRIORITY: one per lane, else NULL */
    struct level *levels;           /* QUEUE_PRIORITY: one per priority */
    uint64_t *members;              /* lanes of each port */
    uint8_t hints[HINTS];
};

static inline uint64_t queue_rank(enum queue_kind kind, const struct packet *packet)
{
    switch (kind) {
    case QUEUE_FIFO:
        return packet->order;
    case QUEUE_PRIORITY:
        return (uint64_t)(PACKET_PRIORITY_MAX - packet->priority) << PRIORITY_SHIFT | packet->order;
    case QUEUE_NEWEST:
        return ~packet->order;
    }
    assert_unreachable();
}

/* The lane whose head is next for that port; NO_LANE: none. */
static inline unsigned queue_next_lane(const struct queue *queue, unsigned port)
{
    uint64_t left = queue->busy & queue->members[port];
    if (!left)
        return NO_LANE;
    unsigned best = (unsigned)__builtin_ctzll(left);
    for (left &= left - 1; left; left &= left - 1) {
        unsigned index = (unsigned)__builtin_ctzll(left);
        if (queue->lanes[index].rank < queue->lanes[best].rank)
            best = index;
    }
    return best;
}

/* A lane became empty: clears those of its ports that are in no other busy lane. */
static inline void queue_lane_emptied(struct queue *queue, unsigned index)
{
    queue->busy &= ~(1ull << index);
    for (port_set left = queue->lanes[index].ports; left; left &= left - 1)
        if (!(queue->busy & queue->members[__builtin_ctz(left)]))
            queue->ports &= ~(left & -left);
}

void queue_level_leave(struct queue *queue, unsigned index, const struct packet *packet);

/* Removes the first packet of a lane. */
static inline void queue_take_first(struct queue *queue, unsigned index)
{
    struct lane *lane = &queue->lanes[index];
    struct packet *packet = lane->first;
    struct packet *next = packet->next;
    if (queue->kind == QUEUE_PRIORITY)
        queue_level_leave(queue, index, packet);
    queue->packets--;
    queue->bytes -= packet->size;
    lane->first = next;
    if (next) {
        next->previous = NULL;
        lane->rank = queue_rank((enum queue_kind)queue->kind, next);
    } else {
        lane->last = NULL;
        queue_lane_emptied(queue, index);
    }
}
