#pragma once
/* relay: what a program says to its node to reach programs of other servers, what the node says to
 * it, and what the nodes' ripc services say to each other. One form for all three; docs/protocol.md
 * has it in a table. Pure.
 *
 * A relay carries datagrams: they may be lost, doubled and overtake each other. Whoever needs more
 * builds it at the two ends (transport/routed/stream.h, transport/udp/udp.c). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define RELAY_SERVICE   5 /* of the node */
#define RELAY_HEAD_SIZE 36
#define RELAY_BODY_MAX  8864 /* with the head a packet's whole payload */
#define RELAY_SIZE_MAX  (RELAY_HEAD_SIZE + RELAY_BODY_MAX)

/* Where a program is. Of no other program, ever: a number is used again, a life is not. */
struct relay_address {
    uint32_t server;
    uint32_t program; /* from 1 */
    uint64_t life;    /* random, not 0 */
};

static inline bool relay_address_equal(const struct relay_address *one,
                                       const struct relay_address *other)
{
    return one->server == other->server && one->program == other->program &&
           one->life == other->life;
}

enum relay_operation {
    RELAY_ATTACH = 1, /* program to node: give me an address */
    RELAY_ATTACHED,   /* node to program: `to` is yours */
    RELAY_DATA,       /* on all three ways: from one program to another */
    RELAY_ABSENT,     /* there is nobody at `from`. To a program, or (to.program 0) to all there */
    RELAY_DOWN,       /* node to program: from.server can no longer be reached */
    RELAY_UP,         /* ... and now it can */
    RELAY_OPERATION_END,
};

/* What a datagram is to the programs; the relay does not care but for lines, whose ends are told
 * when the other is gone. */
enum relay_kind {
    RELAY_KIND_LINE = 1,
    RELAY_KIND_FRAME,
};

struct relay_message {
    enum relay_operation operation;
    uint8_t kind;
    struct relay_address from;
    struct relay_address to;
    const uint8_t *body; /* behind the head, in place */
    size_t size;
};

/* The head only. */
void relay_write(const struct relay_message *message, uint8_t out[RELAY_HEAD_SIZE]);
MUST_CHECK int relay_read(struct relay_message *message, const void *bytes,
                          size_t size); /* -EPROTO */

void relay_address_write(const struct relay_address *address, uint8_t out[16]);
void relay_address_read(struct relay_address *address, const uint8_t in[16]);
