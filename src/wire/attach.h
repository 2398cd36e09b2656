#pragma once
/* attach: the messages between a program and the node of its server, on the node's socket and in
 * shared memory (transport/ring/channel.h). docs/protocol.md has the formats in tables. Pure.
 *
 *   program                                   node
 *     | hello: version, memory or none ------> |    the first message, always
 *     | <------ welcome: version, status       |    status: 0, or why the program is refused
 *     | request: service, ticket, bytes -----> |    may follow the hello at once
 *     | <------- answer: service, ticket, ...  |    ticket 0: an event, which answers no request
 *
 * The program chooses the tickets. An answer with a status other than 0 comes from the node
 * itself, for example because the service does not exist. */

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define ATTACH_SERVICE     0xffff /* instead of a service's number; no service has this number */
#define ATTACH_VERSION     2
#define ATTACH_ASK_SIZE    12
#define ATTACH_ANSWER_SIZE 12
#define ATTACH_HEAD_SIZE   12
#define ATTACH_MESSAGE_MAX 65536 /* bytes of a request or an answer without its head */
#define ATTACH_NAME_MAX    64    /* letters of a service's name */
#define ATTACH_NUMBER_SIZE 2     /* of the answer to a request for a service's number */

/* ---- the first message of each side ---- */

/* The shape of the two rings in the memory that comes with the hello (transport/ring/ring.h);
 * zeroes: the program offers no memory. */
struct attach_ask {
    uint32_t slots;
    uint32_t bytes;
};

/* Writes the hello. */
void attach_ask_write(const struct attach_ask *ask, uint8_t out[ATTACH_ASK_SIZE]);
/* -EPROTO: invalid, or the first message of a program of version 1; -EPROTONOSUPPORT: another
 * version. The caller checks the shape. */
MUST_CHECK int attach_ask_read(struct attach_ask *ask, const void *bytes, size_t size);

/* The welcome, always through the socket. */
struct attach_answer {
    uint16_t status;  /* 0, or the errno for which the node disconnects: EUSERS too many programs,
                       * EMFILE no descriptor left, EPROTONOSUPPORT another version */
    uint16_t version; /* of the node */
    uint16_t memory;  /* 0: the memory is used from now on; else the errno why it is not */
    uint32_t server;  /* the node's */
};

void attach_answer_write(const struct attach_answer *answer, uint8_t out[ATTACH_ANSWER_SIZE]);
/* -EPROTO: invalid. A node of version 1 answers in a shorter format: version is 1 then, and status
 * EPROTONOSUPPORT. */
MUST_CHECK int attach_answer_read(struct attach_answer *answer, const void *bytes, size_t size);

/* ---- requests and answers ---- */

/* Precedes the bytes in the socket; in the channel it is the frame's head. A request to
 * ATTACH_SERVICE has the name of a service as its bytes, and is answered by the service's number
 * (2 bytes), or by the status ENOENT. */
struct attach_head {
    uint16_t service;
    uint16_t status; /* 0 in requests; in answers an errno if the node itself refused the request */
    uint64_t ticket; /* chosen by the program; 0: no answer is expected, or an event */
};

void attach_head_write(const struct attach_head *head, uint8_t out[ATTACH_HEAD_SIZE]);
/* The bytes follow the head. -EPROTO: too short. */
MUST_CHECK int attach_head_read(struct attach_head *head, const void *bytes, size_t size);
