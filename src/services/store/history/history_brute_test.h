#pragma once
/* Brute force: tries all orders of the operations of a history of one key, each unknown one with
 * all versions, on a register of bytes. For histories of about six operations. */

#include <string.h>

#include "base/compare.h"
#include "services/store/history/history_plain_test.h"

struct brute {
    const struct plain_history *history;
    uint64_t version_max; /* unknown operations need no higher one */
};

static inline bool brute_is_answered(const struct plain_op *op)
{
    return op->op.outcome != HISTORY_UNKNOWN && op->op.outcome != HISTORY_REFUSED;
}

static inline bool brute_is_reported(const struct brute *brute, uint64_t version)
{
    for (uint32_t i = 0; i < brute->history->count; i++) {
        const struct history_op *op = &brute->history->ops[i].op;
        bool is_done = op->outcome == HISTORY_DONE;
        if ((is_done || op->outcome == HISTORY_CONFLICT) && op->version == version)
            return true;
        if (is_done && op->condition == HISTORY_IF_VERSION && op->if_version == version)
            return true;
    }
    return false;
}

/* Was no operation that is left answered before that one began? */
static inline bool brute_is_next(const struct brute *brute, uint32_t taken, uint32_t number)
{
    for (uint32_t i = 0; i < brute->history->count; i++) {
        const struct plain_op *op = &brute->history->ops[i];
        if (!(taken >> i & 1) && brute_is_answered(op) &&
            op->op.answered < brute->history->ops[number].op.begun)
            return false;
    }
    return true;
}

static inline bool brute_explains(const struct brute *brute, uint32_t taken,
                                  const struct plain *plain, uint64_t floor);

/* The register is now `after`, and has the version unless it is absent. */
static inline bool brute_changes(const struct brute *brute, uint32_t taken,
                                 const struct plain *after, uint64_t version)
{
    struct plain plain = *after;
    plain.version = plain.present ? version : 0;
    return brute_explains(brute, taken, &plain, version);
}

/* Is there an order of the operations that are left, with that one first? */
static inline bool brute_tries(const struct brute *brute, uint32_t taken, const struct plain *plain,
                               uint64_t floor, uint32_t number)
{
    const struct plain_op *op = &brute->history->ops[number];
    struct plain after = *plain;
    taken |= 1u << number;
    enum history_outcome outcome = plain_apply(&after, op);
    bool changes = outcome == HISTORY_DONE && op->op.kind != HISTORY_GET;
    if (op->op.outcome == HISTORY_UNKNOWN) {
        bool may = changes && (op->op.condition != HISTORY_IF_VERSION ||
                               brute_is_reported(brute, op->op.if_version));
        for (uint64_t version = floor + 1; may && version <= brute->version_max; version++) {
            if (brute_changes(brute, taken, &after, version))
                return true;
        }
        return false;
    }
    if (outcome != op->op.outcome || (op->op.has_result && strcmp(op->result, after.value) != 0))
        return false;
    if (changes)
        return op->op.version > floor && brute_changes(brute, taken, &after, op->op.version);
    if (outcome != HISTORY_ABSENT && op->op.version != plain->version)
        return false;
    return brute_explains(brute, taken, plain, floor);
}

/* Is there one if the store itself removes the key now? All that follows is answered later. */
static inline bool brute_vanishes(const struct brute *brute, uint32_t taken,
                                  const struct plain *plain, uint64_t floor)
{
    bool may = plain->present && plain->expires;
    for (uint32_t i = 0; i < brute->history->count; i++) {
        const struct plain_op *op = &brute->history->ops[i];
        may =
            may && (taken >> i & 1 || !brute_is_answered(op) || op->op.answered >= plain->expires);
    }
    for (uint64_t version = floor + 1; may && version <= brute->version_max; version++) {
        if (brute_changes(brute, taken, &(struct plain){0}, version))
            return true;
    }
    return false;
}

/* Is there an order of the operations that are left? All versions from now on are above `floor`. */
static inline bool brute_explains(const struct brute *brute, uint32_t taken,
                                  const struct plain *plain, uint64_t floor)
{
    bool explained = true; /* if all that were answered are taken */
    for (uint32_t i = 0; i < brute->history->count; i++)
        explained = explained && (taken >> i & 1 || !brute_is_answered(&brute->history->ops[i]));
    for (uint32_t i = 0; i < brute->history->count && !explained; i++) {
        if (!(taken >> i & 1) && brute->history->ops[i].op.outcome != HISTORY_REFUSED &&
            brute_is_next(brute, taken, i))
            explained = brute_tries(brute, taken, plain, floor, i);
    }
    return explained || brute_vanishes(brute, taken, plain, floor);
}

/* Fine or wrong. */
static inline enum history_verdict brute_judge(const struct plain_history *history)
{
    struct brute brute = {history, 1};
    for (uint32_t i = 0; i < history->count; i++) {
        if (brute_is_answered(&history->ops[i]))
            brute.version_max = most_u64(brute.version_max, history->ops[i].op.version);
    }
    brute.version_max += 2 * (uint64_t)history->count; /* each key that one makes may expire */
    return brute_explains(&brute, 0, &(struct plain){0}, 0) ? HISTORY_FINE : HISTORY_WRONG;
}
