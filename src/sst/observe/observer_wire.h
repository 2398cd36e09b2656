#pragma once
/* observer_wire: what observers and members say to each other, byte by byte
 * (docs/protocol.md, "sst"). Pure; whatever a stranger sends is either a message whose
 * fields are possible, or nothing.
 *
 * Both begin as every message of a table does: with the magic, and the kind. */

#include "sst/council/council_wire.h"
#include "sst/table/schema.h"

/* The kind of an answer; it is never sent to a member, so it is none of the council's. The question
 * is a COUNCIL_OBSERVE. */
#define OBSERVER_ANSWER 64

#define OBSERVER_QUESTION_SIZE 13
/* An answer's head, the members and the schema. */
#define OBSERVER_ANSWER_MAX (64 + SST_ROWS_MAX * 10 + SCHEMA_WIRE_MAX)

/* Who are you, and may I look? */
struct observer_question {
    uint64_t hash; /* of the schema that the observer has already; 0: none */
};

struct observer_answer {
    int status;              /* 0, or -EBUSY: enough others look, there is no grant */
    uint64_t hash;           /* of the schema */
    uint64_t epoch;          /* from 1 */
    uint32_t own;            /* the row of who answers */
    struct ripc_grant grant; /* to read that row */
    uint32_t row_count;
    ripc_id members[SST_ROWS_MAX]; /* 0: nobody's */
    bool live[SST_ROWS_MAX];
    bool has_schema; /* else the observer has it */
    struct schema schema;
};

void observer_question_write(const struct observer_question *question,
                             uint8_t out[OBSERVER_QUESTION_SIZE]);
MUST_CHECK int observer_question_read(struct observer_question *question, const uint8_t *bytes,
                                      size_t size); /* -EPROTO */

/* Returns the size. */
size_t observer_answer_write(const struct observer_answer *answer,
                             uint8_t out[OBSERVER_ANSWER_MAX]);

/* -EPROTO also where `from` does not stand in the row it says, or grants another's
 * memory. */
MUST_CHECK int observer_answer_read(struct observer_answer *answer, ripc_id from,
                                    const uint8_t *bytes, size_t size);
