#pragma once
/* council_wire: the messages between members of a table, byte by byte (docs/protocol.md, "sst").
 * Pure. Reading arbitrary bytes yields either a message with possible fields, or an error. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "sst/council/introduction.h"
#include "sst/table/view.h"

#define COUNCIL_MAGIC    0x5373 /* "Ss"; every message of a table begins with it and the kind */
#define COUNCIL_TEXT_MAX 200    /* bytes of a reason, including the terminator */

/* The largest message: head, ballot, a few numbers, and a view with all rows. */
#define COUNCIL_WIRE_MAX (32 + 16 + 32 + SST_ROWS_MAX / 8 + SST_ROWS_MAX * 25)

enum council_kind {
    COUNCIL_JOIN = 1, /* to all: asks to join */
    COUNCIL_REFUSED,  /* to a joining process: refuses it */
    COUNCIL_PREPARE,  /* proposes the next view */
    COUNCIL_READY,    /* the sender has met all members of the proposal */
    COUNCIL_UNREADY,  /* the sender cannot meet a member of the proposal */
    COUNCIL_CANCEL,   /* the proposal is withdrawn */
    COUNCIL_COMMIT,   /* announces the installed view */
    COUNCIL_ASK,      /* from a new leader: asks what the receiver has installed */
    COUNCIL_STATE,    /* answers COUNCIL_ASK */
    COUNCIL_LEAVE,    /* the sender wants to leave */
    COUNCIL_LEFT,     /* the receiver is no longer a member */
    COUNCIL_MEET,     /* an introduction, from member to member */
    COUNCIL_OBSERVE,  /* from an observer, which is no member; its body is in observer_wire.h */
    COUNCIL_KIND_END,
};

/* Identifies a proposal: the leader that makes it, and how many ballots this leader has begun. A
 * leader takes over only after the previous one died, so the ballot of the younger leader counts
 * more. */
struct ballot {
    uint64_t since; /* the epoch in which the leader became a member */
    uint32_t row;
    uint32_t round;
};

/* Fields that a kind does not carry are 0. */
struct council_message {
    enum council_kind kind;
    uint64_t table;       /* identifies its founding; 0 if the sender does not know it yet */
    uint64_t sender;      /* nonce */
    uint64_t to;          /* REFUSED, LEFT, MEET: nonce */
    struct ballot ballot; /* PREPARE, READY, UNREADY, CANCEL, COMMIT, ASK, STATE */
    uint64_t base;        /* PREPARE: the epoch that the view follows */
    uint64_t epoch;  /* READY, UNREADY: of the view; CANCEL: of the view that remains; STATE: of the
                        view prepared last, or 0 */
    uint32_t row;    /* UNREADY: of the member that the sender cannot meet; MEET: the sender's */
    uint32_t row_to; /* MEET: the receiver's */
    int status;      /* REFUSED, UNREADY: negative errno */
    uint64_t hash;   /* JOIN: of the layout */
    uint32_t design; /* JOIN */
    uint32_t rows_max;  /* JOIN */
    bool drop;          /* JOIN */
    ripc_id id;         /* JOIN: the sender's */
    uint64_t encounter; /* MEET: random number of the sender for this meeting; not 0 */
    uint64_t heard; /* MEET: the receiver's encounter whose introduction the sender took, or 0 */
    bool done;      /* MEET: the sender knows that both sides took each other's introduction */
    uint64_t incarnation;             /* MEET: of the sender's binding of its id */
    char text[COUNCIL_TEXT_MAX];      /* REFUSED: one line */
    struct introduction introduction; /* MEET */
    struct view view;                 /* PREPARE, COMMIT; STATE, where epoch 0 means none */
};

/* Writes to `out`, which has COUNCIL_WIRE_MAX bytes, and returns the size. */
size_t council_write(const struct council_message *message, uint8_t *out);

/* Returns -EPROTO for a malformed message. Of a COUNCIL_OBSERVE it reads only the kind. */
MUST_CHECK int council_read(struct council_message *message, const uint8_t *bytes, size_t size);
