#include "services/store/history/history.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"
#include "base/compare.h"
#include "base/text.h"
#include "base/wide.h"

/* ---- values ---- */

/* Hashes are numbers below this prime; each byte multiplies the ones before it by the base. */
#define PRIME ((UINT64_C(1) << 61) - 1)
#define BASE  UINT64_C(0x12b9a3f5c7d1e867)

static uint64_t multiply(uint64_t a, uint64_t b)
{
    return (uint64_t)((uint128)a * b % PRIME);
}

static uint64_t power(uint64_t base, uint64_t exponent)
{
    uint64_t result = 1;
    for (; exponent; exponent >>= 1, base = multiply(base, base)) {
        if (exponent & 1)
            result = multiply(result, base);
    }
    return result;
}

struct history_value history_value(const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    struct history_value value = {.size = size, .has_digits = size <= HISTORY_DIGITS_MAX};
    for (size_t i = 0; i < size; i++) {
        value.hash = (multiply(value.hash, BASE) + at[i] + 1) % PRIME;
        uint64_t digit = at[i] - (uint64_t)'0';
        value.has_digits =
            value.has_digits && digit <= 9 && (uint128)value.number * 10 + digit <= UINT64_MAX;
        value.number = value.has_digits ? value.number * 10 + digit : 0;
    }
    return value;
}

struct history_value history_number(uint64_t number)
{
    char digits[HISTORY_DIGITS_MAX + 1];
    int size = snprintf(digits, sizeof digits, "%" PRIu64, number);
    return history_value(digits, (size_t)size);
}

struct history_value history_concat(struct history_value first, struct history_value second)
{
    struct history_value both = {.size = first.size + least_u64(second.size, ~first.size)};
    both.hash = (multiply(first.hash, power(BASE, second.size)) + second.hash) % PRIME;
    if (first.has_digits && second.has_digits && both.size <= HISTORY_DIGITS_MAX) {
        uint128 number = first.number;
        for (uint64_t i = 0; i < second.size; i++)
            number *= 10;
        number += second.number;
        both.has_digits = number <= UINT64_MAX;
        both.number = both.has_digits ? (uint64_t)number : 0;
    }
    return both;
}

bool history_same_value(struct history_value one, struct history_value other)
{
    return one.hash == other.hash && one.size == other.size;
}

bool history_is_number(struct history_value value)
{
    return value.has_digits && value.size;
}

/* ---- recording ---- */

void history_fini(struct history *history)
{
    free(history->ops);
    *history = (struct history){0};
}

uint32_t history_begin(struct history *history, const struct history_op *op)
{
    assert(op->condition != HISTORY_IF_ABSENT || op->kind == HISTORY_PUT);
    assert(op->condition == HISTORY_ALWAYS || op->kind != HISTORY_GET);
    if (history->count >= HISTORY_NONE ||
        !array_reserve(&history->ops, &history->capacity, history->count + 1, sizeof *op)) {
        history->failed = true;
        return HISTORY_NONE;
    }
    struct history_op *added = &history->ops[history->count];
    *added = *op;
    added->outcome = HISTORY_UNKNOWN;
    added->answered = UINT64_MAX;
    added->has_result = false;
    return (uint32_t)history->count++;
}

void history_answer(struct history *history, uint32_t number, uint64_t answered,
                    enum history_outcome outcome, uint64_t version,
                    const struct history_value *result)
{
    if (number == HISTORY_NONE)
        return;
    assert(number < history->count);
    struct history_op *op = &history->ops[number];
    assert(answered >= op->begun && answered < UINT64_MAX && op->outcome == HISTORY_UNKNOWN);
    assert(result || op->kind != HISTORY_GET || outcome != HISTORY_DONE);
    op->outcome = outcome;
    op->answered = outcome == HISTORY_UNKNOWN ? UINT64_MAX : answered;
    op->version = version;
    op->has_result = outcome == HISTORY_DONE && result;
    if (op->has_result)
        op->result = *result;
}

/* ---- printing ---- */

static void value_write(struct history_value value, struct text *text)
{
    if (history_is_number(value))
        text_printf(text, "%" PRIu64, value.number);
    else
        text_printf(text, "%016" PRIx64 " (%" PRIu64 " bytes)", value.hash, value.size);
}

static void question_write(const struct history_op *op, struct text *text)
{
    static const char *const kinds[] = {"get",     "put",  "delete", "append",
                                        "prepend", "incr", "decr",   "touch"};
    text_puts(text, kinds[op->kind]);
    if (op->condition == HISTORY_IF_VERSION)
        text_printf(text, " if version %" PRIu64, op->if_version);
    else if (op->condition == HISTORY_IF_ABSENT)
        text_puts(text, " if absent");
    else if (op->condition == HISTORY_IF_PRESENT)
        text_puts(text, " if present");
    if (op->kind == HISTORY_PUT || op->kind == HISTORY_APPEND || op->kind == HISTORY_PREPEND) {
        text_puts(text, ", value ");
        value_write(op->value, text);
    } else if (op->kind == HISTORY_INCR || op->kind == HISTORY_DECR) {
        text_printf(text, " by %" PRIu64, op->delta);
    }
    if (op->expires)
        text_printf(text, ", may expire from %" PRIu64, op->expires);
}

static void answer_write(const struct history_op *op, struct text *text)
{
    switch (op->outcome) {
    case HISTORY_UNKNOWN:
        text_puts(text, "unknown");
        break;
    case HISTORY_REFUSED:
        text_puts(text, "refused");
        break;
    case HISTORY_DONE:
        text_printf(text, "%s, version %" PRIu64, op->kind == HISTORY_GET ? "found" : "done",
                    op->version);
        break;
    case HISTORY_ABSENT:
        text_puts(text, "not found");
        break;
    case HISTORY_CONFLICT:
        text_printf(text, "not done, version %" PRIu64 " is there", op->version);
        break;
    }
    if (op->has_result) {
        text_puts(text, ", value ");
        value_write(op->result, text);
    }
}

void history_write_op(const struct history_op *op, struct text *text)
{
    text_printf(text, "client %" PRIu32 ", %" PRIu64 " to ", op->client, op->begun);
    if (op->outcome == HISTORY_UNKNOWN)
        text_puts(text, "?: ");
    else
        text_printf(text, "%" PRIu64 ": ", op->answered);
    question_write(op, text);
    text_puts(text, ": ");
    answer_write(op, text);
    text_puts(text, "\n");
}

void history_write_finding(const struct history *history, const struct history_finding *finding,
                           struct text *text)
{
    if (finding->ops[0] != HISTORY_NONE)
        text_printf(text, "key %" PRIu64 ": ", history->ops[finding->ops[0]].key);
    text_printf(text, "%s\n", finding->reason);
    for (unsigned i = 0; i < 3 && finding->ops[i] != HISTORY_NONE; i++) {
        text_puts(text, "  ");
        history_write_op(&history->ops[finding->ops[i]], text);
    }
}

/* ---- keys ---- */

struct numbered {
    uint64_t key;
    uint32_t number;
};

static int numbered_compare(const void *left, const void *right)
{
    const struct numbered *a = left, *b = right;
    int order = compare_u64(a->key, b->key);
    return order ? order : compare_u64(a->number, b->number);
}

static enum history_verdict keys_judge(const struct history *history, const struct numbered *sorted,
                                       const uint32_t *numbers, history_judge judge,
                                       struct history_finding *finding)
{
    enum history_verdict verdict = HISTORY_FINE;
    size_t end;
    for (size_t at = 0; at < history->count; at = end) {
        for (end = at; end < history->count && sorted[end].key == sorted[at].key;)
            end++;
        struct history_key key = {history, numbers + at, (uint32_t)(end - at)};
        struct history_finding found = {"", {HISTORY_NONE, HISTORY_NONE, HISTORY_NONE}};
        enum history_verdict one = judge(&key, &found);
        if (one == HISTORY_FINE)
            continue;
        *finding = found;
        verdict = one;
        if (one == HISTORY_WRONG)
            break;
    }
    return verdict;
}

enum history_verdict history_each_key(const struct history *history, history_judge judge,
                                      struct history_finding *finding)
{
    *finding =
        (struct history_finding){"there is no memory", {HISTORY_NONE, HISTORY_NONE, HISTORY_NONE}};
    enum history_verdict verdict = HISTORY_UNDECIDED;
    struct numbered *sorted = array_new(history->count, sizeof *sorted);
    uint32_t *numbers = array_new(history->count, sizeof *numbers);
    if (sorted && numbers && !history->failed) {
        for (uint32_t i = 0; i < history->count; i++)
            sorted[i] = (struct numbered){history->ops[i].key, i};
        qsort(sorted, history->count, sizeof *sorted, numbered_compare);
        for (size_t i = 0; i < history->count; i++)
            numbers[i] = sorted[i].number;
        verdict = keys_judge(history, sorted, numbers, judge, finding);
    }
    free(sorted);
    free(numbers);
    return verdict;
}
