#pragma once
/* packets: the packet buffers of one process, and packets that lie where a link received them.
 *
 * All nodes of a process share them, so that a packet goes from one to the next by pointer. Each
 * packet has a buffer of its own for the largest there is; a packet on *loan* leaves that empty and
 * points into a frame of a ring instead. When its owner is done with the last packet of a frame the
 * frame is given back to its ring. Whoever cannot wait for that calls loan_settle: what is still
 * held then moves into the packets' own buffers, and the ring goes on.
 *
 * All memory is mapped at the start and touched when first used; free packets are used again last
 * in first out, so few are touched as long as few are in use. One thread. */

#include "base/err.h"
#include "node/packet.h"

/* Of one frame, the last of which may be a rest that is none. */
#define LOAN_PACKETS_MAX (PACKET_SIZE_MAX / PACKET_HEADER_SIZE + 1)

struct packets;

/* A frame whose packets lie in place. */
struct loan {
    uint32_t live;  /* packets that were not given back yet */
    uint32_t count; /* of `held` */
    bool whole;     /* all its packets were taken out: the last to be done releases it */
    void (*released)(struct loan *loan);
    /* Packets that were made of it. Which of them still are, they know. */
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

/* A packet in place: `size` bytes of a frame. NULL: none left. */
struct packet *packets_lend(struct packets *packets, struct loan *loan, uint8_t *bytes,
                            uint32_t size);

void loan_start(struct loan *loan);
/* No more packets will be made of it; it may be released here and now. */
void loan_close(struct loan *loan);
/* Copies what is still held. Of a closed loan that releases it. */
void loan_settle(struct loan *loan);
