#pragma once
/* council_wire: what members of a table say to each other, byte by byte
 * (docs/protocol.md, "sst"). Pure; whatever a stranger sends is either a message whose
 * fields are possible, or nothing. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "sst/council/introduction.h"
#include "sst/table/view.h"

#define COUNCIL_MAGIC    0x5373 /* "Ss"; every message of a table begins with it and its kind */
#define COUNCIL_TEXT_MAX 200    /* bytes of a reason, with its end */

/* Bytes of any message: head, ballot, a few numbers, and a view of all rows. */
#define COUNCIL_WIRE_MAX (32 + 16 + 32 + SST_ROWS_MAX / 8 + SST_ROWS_MAX * 25)

enum council_kind {
    COUNCIL_JOIN = 1, /* to all: let us in */
    COUNCIL_REFUSED,  /* to one who joins: no */
    COUNCIL_PREPARE,  /* the next view, if all are ready for it */
    COUNCIL_READY,    /* we have met everybody in it */
    COUNCIL_UNREADY,  /* we cannot meet one of it */
    COUNCIL_CANCEL,   /* there will be no next view for now */
    COUNCIL_COMMIT,   /* this is the view */
    COUNCIL_ASK,      /* the leader died: what have you installed? */
    COUNCIL_STATE,    /* that */
    COUNCIL_LEAVE,    /* we want to go */
    COUNCIL_LEFT,     /* you are no member */
    COUNCIL_MEET,     /* an introduction, from member to member */
    COUNCIL_OBSERVE,  /* of an observer, who is no member; its body is in observer_wire.h */
    COUNCIL_KIND_END,
};

/* Who proposes, and how often it did. A leader follows another only after that died, so
 * the younger one's word counts more. */
struct ballot {
    uint64_t since; /* of the leader */
    uint32_t row;
    uint32_t round;
};

/* Fields that a kind does not carry are 0. */
struct council_message {
    enum council_kind kind;
    uint64_t table;       /* its founding; 0 of those who do not know it yet */
    uint64_t sender;      /* nonce */
    uint64_t to;          /* REFUSED, LEFT, MEET: nonce */
    struct ballot ballot; /* PREPARE, READY, UNREADY, CANCEL, COMMIT, ASK, STATE */
    uint64_t base;        /* PREPARE: the epoch that the view follows */
    uint64_t epoch;       /* READY, UNREADY: of the view; CANCEL: of the view that stays;
                             STATE: of the view last prepared, or 0 */
    uint32_t row;         /* UNREADY: whom we cannot meet; MEET: the sender's */
    uint32_t row_to;      /* MEET: the receiver's */
    int status;           /* REFUSED, UNREADY: negative errno */
    uint64_t hash;        /* JOIN: of the layout */
    uint32_t design;      /* JOIN */
    uint32_t rows_max;    /* JOIN */
    bool drop;            /* JOIN */
    ripc_id id;           /* JOIN: the sender's */
    uint64_t encounter;   /* MEET: random, the sender's name for this meeting; not 0 */
    uint64_t heard;       /* MEET: the receiver's encounter whose introduction it took, or 0 */
    bool done;            /* MEET: the sender knows that both have taken each other's */
    uint64_t incarnation; /* MEET: of the sender's binding of its id */
    char text[COUNCIL_TEXT_MAX];      /* REFUSED: one line */
    struct introduction introduction; /* MEET */
    struct view view;                 /* PREPARE, COMMIT; STATE, where epoch 0 is none */
};

/* Returns the size. `out` has COUNCIL_WIRE_MAX bytes. */
size_t council_write(const struct council_message *message, uint8_t *out);

/* -EPROTO: it is none. Of a COUNCIL_OBSERVE only the kind is read. */
MUST_CHECK int council_read(struct council_message *message, const uint8_t *bytes, size_t size);
