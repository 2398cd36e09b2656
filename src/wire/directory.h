#pragma once
/* directory: the messages about names between programs and their node, and between the directory
 * services of nodes. All have one format; docs/protocol.md has it in a table. Pure.
 *
 * A claim is a record that only programs understand and that its owner has sealed. The directory
 * uses the fields beside it: domain and id (by which the claim is found), member (which has one
 * claim), incarnation (the higher is newer) and the owner's server. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define DIRECTORY_SERVICE    4 /* number of the node's service */
#define DIRECTORY_RECORD_MAX 96
#define DIRECTORY_CLAIMS_MAX 64 /* in one message */
#define DIRECTORY_PARTS_MAX  64
#define DIRECTORY_HEAD_SIZE  28
#define DIRECTORY_CLAIM_SIZE 22 /* before the record */
#define DIRECTORY_MESSAGE_MAX                                                                      \
    (DIRECTORY_HEAD_SIZE + DIRECTORY_CLAIMS_MAX * (DIRECTORY_CLAIM_SIZE + DIRECTORY_RECORD_MAX))

enum directory_operation {
    DIRECTORY_CLAIM = 1, /* program to node, owner's server to root: claims the id */
    DIRECTORY_CLAIMED,   /* the reply: `status` of the claim. -EAGAIN: the root does not know yet */
    DIRECTORY_WITHDRAW,  /* program to node, owner's server to root: withdraws the claim */
    DIRECTORY_COPY,      /* root to the other replicas */
    DIRECTORY_UNCOPY,
    DIRECTORY_ASK,       /* asks for the claims of `id`; a program gets repeated answers */
    DIRECTORY_ANSWER,    /* `count` claims; part `part` of `parts`. -EAGAIN: there may be more */
    DIRECTORY_WITHDRAWN, /* root to owner's server: confirms. -EAGAIN: the root does not know yet */
    DIRECTORY_OPERATION_END,
};

struct directory_claim {
    uint64_t member;
    uint64_t incarnation;
    uint32_t server; /* the owner's; the node sets it, a program's value is ignored */
    bool group;
    uint8_t size;
    uint8_t record[DIRECTORY_RECORD_MAX];
};

struct directory_message {
    enum directory_operation operation;
    int status; /* 0 or a negative errno; only -EAGAIN, -EADDRINUSE, -ENOSPC and -ESTALE travel */
    uint32_t round; /* the same in all parts of an answer */
    uint8_t part;
    uint8_t parts; /* at least 1 */
    uint16_t count;
    uint64_t domain;
    uint64_t id;
    struct directory_claim claims[DIRECTORY_CLAIMS_MAX];
};

/* Returns the size. */
size_t directory_write(const struct directory_message *message, uint8_t out[DIRECTORY_MESSAGE_MAX]);
MUST_CHECK int directory_read(struct directory_message *message, const void *bytes,
                              size_t size); /* -EPROTO */
