#pragma once
/* attach: the request of a program to exchange messages with its node through shared memory instead
 * of the node's socket (transport/ring/channel.h). docs/protocol.md has the format in a table.
 * Pure. */

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define ATTACH_SERVICE     0xffff /* instead of a service's number; no service has this number */
#define ATTACH_VERSION     1
#define ATTACH_ASK_SIZE    12
#define ATTACH_ANSWER_SIZE 4

/* The shape of the two rings in the memory that comes with the request (transport/ring/ring.h). */
struct attach_ask {
    uint32_t slots;
    uint32_t bytes;
};

/* Writes the request, with ATTACH_SERVICE. */
void attach_ask_write(const struct attach_ask *ask, uint8_t out[ATTACH_ASK_SIZE]);
/* -EPROTO: invalid; -EOPNOTSUPP: another version. The caller checks the shape. */
MUST_CHECK int attach_ask_read(struct attach_ask *ask, const void *bytes, size_t size);

/* The answer, through the socket: 0, or the errno why the socket carries everything. */
void attach_answer_write(uint16_t status, uint8_t out[ATTACH_ANSWER_SIZE]);
MUST_CHECK int attach_answer_read(uint16_t *status, const void *bytes, size_t size); /* -EPROTO */
