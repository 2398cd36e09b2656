#pragma once
/* directory: what programs say to their node about names, what it answers, and what the nodes'
 * directory services say to each other. One form for all; docs/protocol.md has it in a table. Pure.
 *
 * A claim is a record that only programs understand, which its owner has sealed; the directory
 * knows of it what stands beside it: domain and id (by which it is found), member (of which there
 * is one), incarnation (the higher is newer) and the owner's server. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define DIRECTORY_SERVICE    4 /* of the node */
#define DIRECTORY_RECORD_MAX 96
#define DIRECTORY_CLAIMS_MAX 64 /* of one message */
#define DIRECTORY_PARTS_MAX  64
#define DIRECTORY_HEAD_SIZE  28
#define DIRECTORY_CLAIM_SIZE 22 /* before its record */
#define DIRECTORY_MESSAGE_MAX                                                                      \
    (DIRECTORY_HEAD_SIZE + DIRECTORY_CLAIMS_MAX * (DIRECTORY_CLAIM_SIZE + DIRECTORY_RECORD_MAX))

enum directory_operation {
    DIRECTORY_CLAIM = 1, /* program to node, owner's server to the root: this is mine */
    DIRECTORY_CLAIMED,   /* back: `status`, of the one claim. -EAGAIN: the root does not know yet */
    DIRECTORY_WITHDRAW,  /* program to node, owner's server to the root: it is no more */
    DIRECTORY_COPY,      /* root to those who come next */
    DIRECTORY_UNCOPY,
    DIRECTORY_ASK,    /* who has `id`? A program is answered again and again for a while */
    DIRECTORY_ANSWER, /* `count` claims; part `part` of `parts`. -EAGAIN: there may be others */
    DIRECTORY_OPERATION_END,
};

struct directory_claim {
    uint64_t member;
    uint64_t incarnation;
    uint32_t server; /* of the owner; a program's own word for it is not asked */
    bool group;
    uint8_t size;
    uint8_t record[DIRECTORY_RECORD_MAX];
};

struct directory_message {
    enum directory_operation operation;
    int status; /* 0 or a negative errno; only -EAGAIN, -EADDRINUSE, -ENOSPC and -ESTALE travel */
    uint32_t round; /* of an answer: its parts have the same */
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
