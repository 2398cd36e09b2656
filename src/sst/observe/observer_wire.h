#pragma once
/* observer_wire: the messages between observers and members, byte by byte (docs/protocol.md,
 * "sst"). Pure. Reading arbitrary bytes yields either a message with possible fields, or an error.
 *
 * Both messages begin with the magic and the kind, like every message of a table. */

#include "sst/council/council_wire.h"
#include "sst/table/schema.h"

/* The kind of an answer. It is never sent to a member, so the council has no such kind. The
 * question is a COUNCIL_OBSERVE. */
#define OBSERVER_ANSWER 64

#define OBSERVER_QUESTION_SIZE 13
/* An answer's head, the members and the schema. */
#define OBSERVER_ANSWER_MAX (64 + SST_ROWS_MAX * 10 + SCHEMA_WIRE_MAX)

/* Asks a member for the view and for a grant to read its row. */
struct observer_question {
    uint64_t hash; /* of the schema that the observer already has; 0: none */
};

struct observer_answer {
    int status;     /* 0, or -EBUSY: the member has enough observers, and there is no grant */
    uint64_t hash;  /* of the schema */
    uint64_t epoch; /* from 1 */
    uint32_t own;   /* the row of the answering member */
    struct ripc_grant grant; /* to read that row */
    uint32_t row_count;
    ripc_id members[SST_ROWS_MAX]; /* 0: no member */
    bool live[SST_ROWS_MAX];
    bool has_schema; /* otherwise the observer has it */
    struct schema schema;
};

void observer_question_write(const struct observer_question *question,
                             uint8_t out[OBSERVER_QUESTION_SIZE]);
MUST_CHECK int observer_question_read(struct observer_question *question, const uint8_t *bytes,
                                      size_t size); /* -EPROTO */

/* Returns the size. */
size_t observer_answer_write(const struct observer_answer *answer,
                             uint8_t out[OBSERVER_ANSWER_MAX]);

/* Returns -EPROTO also if `from` is not the member of the row that the answer names, or if it
 * grants the memory of another process. */
MUST_CHECK int observer_answer_read(struct observer_answer *answer, ripc_id from,
                                    const uint8_t *bytes, size_t size);
