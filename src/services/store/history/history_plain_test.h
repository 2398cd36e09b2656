#pragma once
/* Histories of one key with the bytes of all values, and a register that works on these. It shares
 * nothing with history_model.c, so it is an oracle of what each operation does. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/test.h"
#include "services/store/history/history.h"

#define PLAIN_OPS_MAX   200
#define PLAIN_BYTES_MAX 63

struct plain_op {
    struct history_op op; /* without value and result; those are here, as text */
    char value[24];
    char result[PLAIN_BYTES_MAX + 1];
};

/* All operations are on one key. */
struct plain_history {
    struct plain_op ops[PLAIN_OPS_MAX];
    uint32_t count;
};

struct plain {
    bool present;
    uint64_t version, expires;
    char value[PLAIN_BYTES_MAX + 1];
};

static inline bool plain_is_number(const char *value)
{
    size_t size = strlen(value);
    if (size == 0 || size > 20 || strspn(value, "0123456789") != size)
        return false;
    return size < 20 || strcmp(value, "18446744073709551615") <= 0;
}

/* Can the operation make a value that is too long for the register? */
static inline bool plain_is_full(const struct plain *plain, const struct plain_op *op)
{
    return strlen(plain->value) + strlen(op->value) > PLAIN_BYTES_MAX;
}

static inline enum history_outcome plain_count(struct plain *plain, const struct plain_op *op)
{
    uint64_t number = strtoull(plain->value, NULL, 10), delta = op->op.delta;
    if (!plain_is_number(plain->value))
        return HISTORY_CONFLICT;
    if (op->op.kind == HISTORY_INCR)
        number += delta;
    else
        number = number < delta ? 0 : number - delta;
    snprintf(plain->value, sizeof plain->value, "%" PRIu64, number);
    return HISTORY_DONE;
}

static inline enum history_outcome plain_refusal(const struct plain *plain,
                                                 const struct history_op *op)
{
    enum history_condition condition = op->condition;
    if (!plain->present && op->kind != HISTORY_PUT)
        return HISTORY_ABSENT;
    if (!plain->present && (condition == HISTORY_IF_PRESENT || condition == HISTORY_IF_VERSION))
        return HISTORY_ABSENT;
    if (plain->present && condition == HISTORY_IF_ABSENT)
        return HISTORY_CONFLICT;
    if (condition == HISTORY_IF_VERSION && plain->version != op->if_version)
        return HISTORY_CONFLICT;
    return HISTORY_DONE;
}

/* Does the operation, and returns its outcome. The caller gives a change its version. */
static inline enum history_outcome plain_apply(struct plain *plain, const struct plain_op *op)
{
    char before[sizeof plain->value];
    enum history_outcome outcome = plain_refusal(plain, &op->op);
    if (outcome != HISTORY_DONE)
        return outcome;
    strcpy(before, plain->value);
    switch (op->op.kind) {
    case HISTORY_GET:
        return HISTORY_DONE;
    case HISTORY_TOUCH:
        plain->expires = op->op.expires;
        return HISTORY_DONE;
    case HISTORY_INCR:
    case HISTORY_DECR:
        return plain_count(plain, op);
    case HISTORY_DELETE:
        *plain = (struct plain){0};
        return HISTORY_DONE;
    case HISTORY_PUT:
        plain->present = true;
        plain->expires = op->op.expires;
        strcpy(plain->value, op->value);
        return HISTORY_DONE;
    case HISTORY_APPEND:
        strcpy(stpcpy(plain->value, before), op->value);
        return HISTORY_DONE;
    case HISTORY_PREPEND:
        strcpy(stpcpy(plain->value, op->value), before);
        return HISTORY_DONE;
    }
    fail_msg("no kind %d", op->op.kind);
    return HISTORY_DONE;
}

/* The same as a history, which the caller ends. */
static inline struct history plain_history(const struct plain_history *plain)
{
    struct history history = {0};
    for (uint32_t i = 0; i < plain->count; i++) {
        const struct plain_op *from = &plain->ops[i];
        struct history_op op = from->op;
        op.value = history_value(from->value, strlen(from->value));
        struct history_value result = history_value(from->result, strlen(from->result));
        assert_int_equal(history_begin(&history, &op), i);
        if (op.outcome != HISTORY_UNKNOWN)
            history_answer(&history, i, op.answered, op.outcome, op.version,
                           op.has_result ? &result : NULL);
    }
    return history;
}
