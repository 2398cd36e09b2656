#pragma once
/* packets: the packet buffers of one process, and packets that stay where a link received them.
 *
 * All nodes of a process share them, so that a packet passes from one node to the next by pointer.
 * Each packet has its own buffer of the maximum size; a packet on *loan* leaves it empty and points
 * into a frame of a ring instead. When the last packet of a frame is released, the frame is
 * returned to its ring. Code that cannot wait for this calls loan_settle: packets that are still
 * held then move into their own buffers, and the ring can continue.
 *
 * All memory is mapped at the start and touched when first used; free packets are reused last in
 * first out, so few are touched as long as few are in use. One thread. */

#include "base/err.h"
#include "node/packet.h"

/* Of one frame; the last may be a rest that is too short for a packet. */
#define LOAN_PACKETS_MAX (PACKET_SIZE_MAX / PACKET_HEADER_SIZE + 1)

struct packets;

/* A frame whose packets are used in place. */
struct loan {
    uint32_t live;  /* packets not yet released */
    uint32_t count; /* of `held` */
    bool whole;     /* all its packets were split off: the last one released returns the frame */
    void (*released)(struct loan *loan);
    /* Packets made from it; owned_packet.loan says which of them still are. */
    struct owned_packet *held[LOAN_PACKETS_MAX];
};

struct owned_packet {
    struct packet packet;
    struct loan *loan; /* NULL: the bytes are in `own` */
    uint8_t *own;      /* PACKET_SIZE_MAX bytes */
};

MUST_CHECK enum err packets_open(struct packets **packets, uint32_t count, struct why *why);
void packets_close(struct packets *packets); /* asserts that all are back; NULL is allowed */
struct packet_pool *packets_pool(struct packets *packets);
uint32_t packets_free(const struct packets *packets);

/* Makes a packet in place: `size` bytes of a frame. NULL: none left. */
struct packet *packets_lend(struct packets *packets, struct loan *loan, uint8_t *bytes,
                            uint32_t size);

void loan_start(struct loan *loan);
/* No more packets will be made from it; this may release it at once. */
void loan_close(struct loan *loan);
/* Copies the packets that are still held. This releases a closed loan. */
void loan_settle(struct loan *loan);
