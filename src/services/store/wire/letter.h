#pragma once
/* letter: what the stores of two servers tell each other, as messages of a stream, which are whole
 * and in order. Pure. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "services/store/index/index.h"
#include "services/store/log/record.h"
#include "services/store/replica/replica.h"

#define LETTER_PAGE_KEYS 64 /* of a page; at most */

enum letter_kind {
    LETTER_REPLICA = 1, /* `message`, any but WRITE */
    LETTER_WRITE,       /* `message`, a WRITE, and `record`; or no record: its key was changed
                         * again by a later write */
    LETTER_ASK_PAGE,    /* which versions of keys after `after` has the learner? `first`: of all
                         * keys */
    LETTER_PAGE,        /* these, in the order of the index; `last`: there are no more */
    LETTER_COPY,        /* a record that the learner lacks */
    LETTER_CONFIRM,     /* are you still in my view? The question's number is `round` */
    LETTER_CONFIRMED,   /* yes; and `lease` nanoseconds long it does nothing for a later view */
    LETTER_REQUEST,     /* bytes of a request (request.h), of the client at the sender whose
                         * `ticket` this is */
    LETTER_ANSWER,      /* bytes of an answer to that ticket */
    LETTER_RETRY,       /* to that ticket: ask `server`; WEFT_NOBODY: again later */
    LETTER_INQUIRY,    /* bytes of what an operator asks (wire/care.h), with the asker's `ticket` */
    LETTER_REPORT,     /* bytes of the report to that ticket */
    LETTER_ASK_KEYS,   /* bytes of a listing (listing.h), of the scan whose `ticket` this is */
    LETTER_PAGE_TOLD,  /* bytes of the answer to that ticket */
    LETTER_FETCH,      /* does the receiver have the key `after` with its version? */
    LETTER_MEND,       /* the record, if so; or one that a leader sends to a server that lacks it */
    LETTER_COMPARE,    /* are the receiver's keys the same? `round` is the leader's position, 0 if
                        * something is under way; `ticket` the digest of its index */
    LETTER_COMPARED,   /* `last`: they are */
    LETTER_ASK_VALUES, /* as ASK_PAGE and PAGE, about keys that have values; the question's number
                        * is `round` */
    LETTER_VALUES,
};

struct letter_key {
    uint8_t size;
    uint8_t bytes[INDEX_KEY_SIZE_MAX];
    uint64_t version;
};

struct letter {
    enum letter_kind kind;
    uint32_t epoch; /* the view of the sender. Of `message`, too */
    uint32_t group;
    struct replica_message message;
    struct record record; /* kind, flags, request, client, version, expiry of a value, sizes, key,
                           * value and digest; kind 0: none. What it points to is borrowed. The
                           * group is the letter's, the version of a WRITE is that of `message` */
    bool first;
    struct letter_key after; /* without a version. Empty if `first`: there can be an empty key */
    bool last;
    uint32_t key_count;
    uint64_t round;
    int64_t lease; /* LETTER_CONFIRMED: not below 0 */
    uint64_t ticket;
    uint32_t server;
    const void *bytes; /* borrowed */
    uint32_t size;
    /* To write REQUEST and ANSWER: what follows the bytes, borrowed. It is NULL after reading. */
    const void *tail;
    uint32_t tail_size;
    /* At the end, because letter_read clears all but these. */
    struct letter_key keys[LETTER_PAGE_KEYS];
};

/* How many bytes the letter has; `out` has room for them. Of a message they contain what its kind
 * needs: the custody of a REPORT and of all answers but STORED, the peers that replica.h names. */
size_t letter_size(const struct letter *letter);
void letter_write(const struct letter *letter, void *out);
/* Reads a letter from that server. False: nonsense. The digest of a record's value is compared. */
bool letter_read(struct letter *letter, uint32_t from, const void *bytes, size_t size);

/* ---- letters with large values, which are at their end ---- */

/* The value at the end, NULL: there is none, or it has no bytes; and the letter without it. */
const void *letter_value(const struct letter *letter, uint32_t *size);
void letter_write_head(const struct letter *letter, void *out);
/* Where the value begins in a letter of `size` bytes of which `there` have come; `digested`: its
 * digest is needed. 0: it has none, or more bytes must come first, LETTER_HEAD_MAX at most. */
#define LETTER_HEAD_MAX  512
#define LETTER_TICKET_AT 9 /* of a REQUEST and an ANSWER */
size_t letter_value_at(const void *bytes, size_t there, size_t size, bool *digested);
/* The same as letter_read, with the digest of the value from there. */
bool letter_read_digested(struct letter *letter, uint32_t from, const void *bytes, size_t size,
                          uint64_t digest);
