#pragma once
/* packets: the packet buffers of one process, and packets that stay where a link received them.
 *
 * All nodes of a process share them, so that a packet passes from one node to the next by pointer.
 * Each packet has its own buffer of the maximum size; a packet on *loan* leaves it empty and points
 * into a frame of a ring instead. When the last packet of a frame is released, the frame is
 * returned to its ring. Code that cannot wait for this calls loan_settle: packets that are still
 * held then move into their own buffers, and the ring can continue.
 *
 * The buffers are mapped at the start, but a page is touched only when a packet first uses it. The
 * packet that was freed last is used first, so few pages are touched as long as few packets are in
 * use. Only one thread uses the packets. */

#include "base/err.h"
#include "node/packet.h"

/* The most packets of one frame; the last may be a remainder that is too short for a packet. */
#define LOAN_PACKETS_MAX (PACKET_SIZE_MAX / PACKET_HEADER_SIZE + 1)

struct packets;

/* A frame whose packets are used in place. */
struct loan {
    uint32_t live;  /* packets not yet released */
    uint32_t count; /* entries of `held` */
    bool whole;     /* closed: the frame is returned when its last packet is released */
    void (*released)(struct loan *loan);
    /* Packets made from the frame; those whose owned_packet.loan is this loan still use it. */
    struct owned_packet *held[LOAN_PACKETS_MAX];
};

struct owned_packet {
    struct packet packet;
    struct loan *loan; /* NULL: the bytes are in `own` */
    uint8_t *own;      /* PACKET_SIZE_MAX bytes */
};

MUST_CHECK enum err packets_open(struct packets **packets, uint32_t count, struct why *why);
/* Asserts that all packets are back, except abandoned ones (packet.h). NULL is allowed. */
void packets_close(struct packets *packets);
struct packet_pool *packets_pool(struct packets *packets);
uint32_t packets_free(const struct packets *packets);

/* Makes a packet of `size` bytes of a frame, in place. Returns NULL if no packet is free. */
struct packet *packets_lend(struct packets *packets, struct loan *loan, uint8_t *bytes,
                            uint32_t size);

void loan_start(struct loan *loan);
/* To be called when all packets of the frame were made. If none of them is in use, the frame goes
 * back to its ring at once. */
void loan_close(struct loan *loan);
/* Moves the packets that are still held into their own buffers. If the loan is closed, the frame
 * then goes back to its ring. */
void loan_settle(struct loan *loan);
