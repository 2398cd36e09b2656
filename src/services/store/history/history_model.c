#include "services/store/history/history_model.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"
#include "base/compare.h"

static bool condition_holds(const struct history_op *op, const struct history_state *state)
{
    switch (op->condition) {
    case HISTORY_ALWAYS:
        return state->present || op->kind == HISTORY_PUT;
    case HISTORY_IF_PRESENT:
        return state->present;
    case HISTORY_IF_ABSENT:
        return !state->present;
    case HISTORY_IF_VERSION:
        return state->present && state->version == op->if_version && op->if_version;
    }
    assert_unreachable();
}

static bool counts(enum history_kind kind)
{
    return kind == HISTORY_INCR || kind == HISTORY_DECR;
}

static bool is_possible(const struct history_op *op, const struct history_state *state)
{
    return condition_holds(op, state) && (!counts(op->kind) || history_is_number(state->value));
}

static struct history_value value_after(const struct history_op *op, struct history_value before)
{
    switch (op->kind) {
    case HISTORY_PUT:
        return op->value;
    case HISTORY_APPEND:
        return history_concat(before, op->value);
    case HISTORY_PREPEND:
        return history_concat(op->value, before);
    case HISTORY_INCR:
        return history_number(before.number + op->delta);
    case HISTORY_DECR:
        return history_number(before.number - least_u64(before.number, op->delta));
    case HISTORY_TOUCH:
        return before;
    case HISTORY_GET:
    case HISTORY_DELETE:
        return (struct history_value){0};
    }
    assert_unreachable();
}

bool history_takes_effect(const struct history_op *op, const struct history_state *before,
                          struct history_state *after)
{
    assert(op->kind != HISTORY_GET);
    if (!is_possible(op, before))
        return false;
    *after = (struct history_state){
        .present = op->kind != HISTORY_DELETE,
        .value = value_after(op, before->value),
        .expires = history_keeps_expiry(op->kind) ? before->expires : op->expires,
    };
    return !op->has_result || history_same_value(after->value, op->result);
}

bool history_answer_fits(const struct history_op *op, const struct history_state *state)
{
    bool is_get = op->kind == HISTORY_GET;
    switch (op->outcome) {
    case HISTORY_DONE:
        return is_get && state->present && state->version == op->version &&
               history_same_value(state->value, op->result);
    case HISTORY_ABSENT:
        return !state->present && (is_get || !condition_holds(op, state));
    case HISTORY_CONFLICT:
        return !is_get && state->present && state->version == op->version &&
               !is_possible(op, state);
    case HISTORY_UNKNOWN:
    case HISTORY_REFUSED:
        return true;
    }
    assert_unreachable();
}

uint64_t *history_versions(const struct history_key *key, uint32_t *count)
{
    uint64_t *versions = array_new(key->count, 2 * sizeof *versions);
    if (!versions)
        return NULL;
    size_t found = 0;
    for (uint32_t i = 0; i < key->count; i++) {
        const struct history_op *op = history_op_of(key, i);
        if (op->outcome == HISTORY_DONE || op->outcome == HISTORY_CONFLICT)
            versions[found++] = op->version;
        if (op->outcome == HISTORY_DONE && op->condition == HISTORY_IF_VERSION)
            versions[found++] = op->if_version;
    }
    qsort(versions, found, sizeof *versions, compare_u64_items);
    *count = 0;
    for (size_t i = 0; i < found; i++) {
        if (i == 0 || versions[i] != versions[i - 1])
            versions[(*count)++] = versions[i];
    }
    return versions;
}

uint32_t history_version_index(const uint64_t *versions, uint32_t count, uint64_t version)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (versions[middle] < version)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && versions[low] == version ? low : count;
}

bool history_may_happen(const struct history_op *op, const uint64_t *versions, uint32_t count)
{
    if (op->outcome != HISTORY_UNKNOWN || op->kind == HISTORY_GET)
        return false;
    return op->condition != HISTORY_IF_VERSION ||
           history_version_index(versions, count, op->if_version) < count;
}
