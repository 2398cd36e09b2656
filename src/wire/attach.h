#pragma once
/* attach: how a program asks its node to talk through shared memory instead of the node's socket
 * (transport/ring/channel.h; docs/protocol.md has it in a table). Pure. */

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define ATTACH_SERVICE     0xffff /* in place of a service's number; no service has it */
#define ATTACH_VERSION     1
#define ATTACH_ASK_SIZE    12
#define ATTACH_ANSWER_SIZE 4

/* What the memory that comes with it holds: two rings of that shape (transport/ring/ring.h). */
struct attach_ask {
    uint32_t slots;
    uint32_t bytes;
};

/* With the service's number. */
void attach_ask_write(const struct attach_ask *ask, uint8_t out[ATTACH_ASK_SIZE]);
/* -EPROTO; -EOPNOTSUPP: of another version. Shapes are the reader's to judge. */
MUST_CHECK int attach_ask_read(struct attach_ask *ask, const void *bytes, size_t size);

/* The answer, by the socket: 0, or the errno why everything stays with the socket. */
void attach_answer_write(uint16_t status, uint8_t out[ATTACH_ANSWER_SIZE]);
MUST_CHECK int attach_answer_read(uint16_t *status, const void *bytes, size_t size); /* -EPROTO */
