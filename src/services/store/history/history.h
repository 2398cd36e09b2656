#pragma once
/* history: what the clients of a store asked, and what they heard. Tests record it, and check
 * whether some order of the operations explains all answers (history_check.h; history_search.h for
 * small histories).
 *
 * Each key is a register with versions. An operation reads or changes one key. A change that is
 * done has made a version: a number that rises along the life of the key, also over a deletion, and
 * is never used again. A deletion makes a version, too.
 *
 * A key that a put or a touch has given an expiry may be removed by the store itself, from that
 * moment on: at any time, or never, because clients do not know its clocks. Such a removal makes
 * a version that no answer reports.
 *
 * A history must have all operations on its keys, from the first one on: in the beginning no key
 * exists. All moments come from one clock, and an operation that began at the moment in which
 * another one was answered counts as one beside it. The best clock is a counter of the recorder
 * that rises with each beginning and each answer.
 *
 * An operation without an answer, or with one that leaves it open, is unknown: it takes effect at
 * one moment after its beginning, however late, or never. A version that a condition names must be
 * one that the store reported; an unknown operation on another one is taken as without effect,
 * because no client can know that number. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text;

/* The digits of the longest number that counts as one: below 2^64. */
#define HISTORY_DIGITS_MAX 20

/* What can be known of a value without keeping its bytes. The value of two values in a row follows
 * from theirs, so that an append can be checked. */
struct history_value {
    uint64_t hash; /* a polynomial of the bytes */
    uint64_t number;
    uint64_t size;
    bool has_digits; /* only digits, at most 20, and `number` is their value; also if empty */
};

enum history_kind {
    HISTORY_GET,
    HISTORY_PUT,
    HISTORY_DELETE,
    /* These change a value that is there, and need the one before. */
    HISTORY_APPEND,
    HISTORY_PREPEND,
    HISTORY_INCR, /* decimal numbers below 2^64; goes on at 0 */
    HISTORY_DECR, /* stops at 0 */
    HISTORY_TOUCH /* the value stays; the expiry is a new one */
};

/* All kinds but get and put also have the condition that the key exists. */
enum history_condition {
    HISTORY_ALWAYS,
    HISTORY_IF_PRESENT,
    HISTORY_IF_ABSENT, /* only with put */
    HISTORY_IF_VERSION /* the key exists, with this version */
};

enum history_outcome {
    HISTORY_UNKNOWN,  /* perhaps it takes effect, perhaps not */
    HISTORY_REFUSED,  /* the store was not available; there is no effect, and never will be */
    HISTORY_DONE,     /* a get has found the key; all others have changed it */
    HISTORY_ABSENT,   /* there is no such key; so nothing was done */
    HISTORY_CONFLICT, /* the condition does not hold, or the value is no number; nothing was done */
};

struct history_op {
    uint64_t key; /* a number that the caller gave it */
    uint32_t client;
    enum history_kind kind;
    enum history_condition condition;
    uint64_t if_version;
    struct history_value value; /* of put: the new one; of append and prepend: what is added */
    uint64_t delta;             /* of incr and decr */
    /* Of put and touch: the moment from which the key may be removed; 0: never. Other changes of a
     * value keep what it had. */
    uint64_t expires;
    uint64_t begun, answered; /* moments; `answered` is void if the outcome is unknown */
    enum history_outcome outcome;
    uint64_t
        version; /* done: that a get has found or a change has made. Conflict: that was there */
    /* Done: the value that a get has found, or that append, prepend, incr, decr and touch have
     * left. An answer to these may lack it; then the checkers compute it from the one before, which
     * takes long in keys with many unknown operations. */
    struct history_value result;
    bool has_result;
};

struct history {
    struct history_op *ops; /* owned */
    size_t count, capacity;
    bool failed; /* there was no memory for an operation: no verdict is possible */
};

enum history_verdict {
    HISTORY_FINE,
    HISTORY_WRONG,
    HISTORY_UNDECIDED, /* too much to try, or no memory */
};

#define HISTORY_NONE UINT32_MAX

/* Why a history is wrong. */
struct history_finding {
    const char *reason; /* a constant */
    uint32_t ops[3];    /* the operations that contradict each other; HISTORY_NONE after the last */
};

struct history_value history_value(const void *bytes, size_t size);
struct history_value history_number(uint64_t number);
struct history_value history_concat(struct history_value first, struct history_value second);
bool history_same_value(struct history_value one, struct history_value other);
bool history_is_number(struct history_value value);

void history_fini(struct history *history);
/* Adds an operation that has begun, with an unknown outcome: all fields before `answered` are
 * given. Returns its number, or HISTORY_NONE if there is no memory. */
uint32_t history_begin(struct history *history, const struct history_op *op);
/* The operation of that number was answered; with HISTORY_NONE this does nothing. The result is
 * given for a get that is done, and may be for other kinds. */
void history_answer(struct history *history, uint32_t number, uint64_t answered,
                    enum history_outcome outcome, uint64_t version,
                    const struct history_value *result);

/* One line: "client 2, 10 to 13: put if version 5, value 7: done, version 9". */
void history_write_op(const struct history_op *op, struct text *text);
/* The reason, and a line for each operation. */
void history_write_finding(const struct history *history, const struct history_finding *finding,
                           struct text *text);

/* The operations of one key. */
struct history_key {
    const struct history *history; /* borrowed, as are the numbers */
    const uint32_t *numbers;
    uint32_t count;
};

typedef enum history_verdict (*history_judge)(const struct history_key *key,
                                              struct history_finding *finding);

/* Judges each key; wrong if one key is, else undecided if one is. */
enum history_verdict history_each_key(const struct history *history, history_judge judge,
                                      struct history_finding *finding);

static inline const struct history_op *history_op_of(const struct history_key *key, uint32_t index)
{
    return &key->history->ops[key->numbers[index]];
}
