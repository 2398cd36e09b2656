#pragma once
/* history_model: what one operation does to one key, if operations came one after the other. All
 * that the checkers know of the meaning of operations is here. Pure. */

#include "services/store/history/history.h"

struct history_state {
    bool present;
    uint64_t version;           /* present: 0 if no answer has reported it */
    struct history_value value; /* present: the value */
    uint64_t expires;           /* present: it may be removed from then on; 0: never */
};

/* Does the kind need the value before, and leave another one that follows from it? */
static inline bool history_rewrites(enum history_kind kind)
{
    return kind >= HISTORY_APPEND;
}

/* Is the first expiry at least as early as the second one? */
static inline bool history_expires_first(uint64_t one, uint64_t other)
{
    return one - 1 <= other - 1; /* 0, never, comes last */
}

/* May the store itself remove the key until then? */
static inline bool history_may_vanish(const struct history_state *state, uint64_t until)
{
    return state->present && state->expires && state->expires <= until;
}

/* Does the operation keep the expiry that the key had? */
static inline bool history_keeps_expiry(enum history_kind kind)
{
    return history_rewrites(kind) && kind != HISTORY_TOUCH;
}

/* Can a change that is done or unknown take effect in that state? If so, `after` is the state that
 * it leaves; the caller gives it its version. */
bool history_takes_effect(const struct history_op *op, const struct history_state *before,
                          struct history_state *after);
/* Does the answer of a get, or of a change that was not done, fit the state? */
bool history_answer_fits(const struct history_op *op, const struct history_state *state);

/* Has the operation an outcome that must be explained? Not if it was refused or is unknown. */
static inline bool history_is_answered(const struct history_op *op)
{
    return op->outcome != HISTORY_UNKNOWN && op->outcome != HISTORY_REFUSED;
}

/* Has the operation made a version? */
static inline bool history_is_change(const struct history_op *op)
{
    return op->outcome == HISTORY_DONE && op->kind != HISTORY_GET;
}

/* The versions that the answers of one key report, rising, each once: those that a change has made,
 * an answer has shown, or a change that is done had as its condition. NULL: no memory. The caller
 * frees it. */
uint64_t *history_versions(const struct history_key *key, uint32_t *count);
/* The place of a version in them; `count` if they do not contain it. */
uint32_t history_version_index(const uint64_t *versions, uint32_t count, uint64_t version);

/* The unknown changes of a key that can have an effect: all but those on the condition of a version
 * that was never reported. */
bool history_may_happen(const struct history_op *op, const uint64_t *versions, uint32_t count);
