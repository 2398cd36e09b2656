#pragma once
/* relay: the messages between a program and its node by which programs on different servers
 * communicate, and between the ripc services of nodes. All have one format; docs/protocol.md has it
 * in a table. Pure.
 *
 * A relay carries datagrams: they may be lost, duplicated and reordered. Users that need more add
 * it at the two ends (transport/routed/stream.h, transport/datagram/datagram.h). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define RELAY_SERVICE   5 /* number of the node's service */
#define RELAY_HEAD_SIZE 36
#define RELAY_BODY_MAX  8864 /* fills a packet's payload together with the head */
#define RELAY_SIZE_MAX  (RELAY_HEAD_SIZE + RELAY_BODY_MAX)

/* The address of a program. It is never given to another program: `program` is reused, `life` is
 * not. */
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
    RELAY_ATTACH = 1, /* program to node: requests an address */
    RELAY_ATTACHED,   /* node to program: `to` is the program's address */
    RELAY_DATA,       /* between programs, on all three legs of the way */
    RELAY_ABSENT,     /* `from` is gone; sent to one program, or (to.program 0) to all there */
    RELAY_DOWN,       /* node to program: from.server has become unreachable */
    RELAY_UP,         /* node to program: from.server is reachable again */
    RELAY_OPERATION_END,
};

/* How programs use a datagram. The relay only distinguishes lines: it reports to one end of a line
 * that the other end is gone. */
enum relay_kind {
    RELAY_KIND_LINE = 1,
    RELAY_KIND_FRAME,
};

struct relay_message {
    enum relay_operation operation;
    uint8_t kind;
    struct relay_address from;
    struct relay_address to;
    const uint8_t *body; /* follows the head, in place */
    size_t size;
};

/* Writes only the head. */
void relay_write(const struct relay_message *message, uint8_t out[RELAY_HEAD_SIZE]);
MUST_CHECK int relay_read(struct relay_message *message, const void *bytes,
                          size_t size); /* -EPROTO */

void relay_address_write(const struct relay_address *address, uint8_t out[16]);
void relay_address_read(struct relay_address *address, const uint8_t in[16]);
