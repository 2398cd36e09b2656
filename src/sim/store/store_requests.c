#include "sim/store/store_requests.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/hash.h"

#define BUSY_KEYS 4 /* the last slots: the keys of most requests, if they are busy */

/* ---- values ---- */

static uint32_t flags_of(unsigned client, uint32_t number)
{
    return (uint32_t)hash_mix((uint64_t)client << 32 | number);
}

/* The name of a put is in <>, so that the flags of a value can be told after something was appended
 * to it. */
static uint32_t value_make(const struct request_maker *maker, char *value, uint32_t size, bool puts)
{
    int head = snprintf(value, 40, puts ? "<%u.%u>" : "(%u.%u)", maker->client, maker->number);
    for (uint32_t i = (uint32_t)head; i < size; i++)
        value[i] = (char)('a' + (maker->number + i) % 23);
    return size;
}

static uint32_t number_make(const struct request_maker *maker, char *value)
{
    uint64_t number = (maker->client + 1) * UINT64_C(1000000000000) + maker->number * 100000ull;
    return (uint32_t)snprintf(value, 40, "%" PRIu64, number);
}

/* In one message, just not, or in many; in one letter of a server, just not, or in several pieces.
 */
static uint32_t large_draw(struct rng *rng)
{
    static const uint32_t sizes[] = {STORE_SINGLE_MAX, STORE_SINGLE_MAX + 1, 128u << 10, 300u << 10,
                                     REQUEST_LARGE_MAX};
    uint32_t most = sizes[rng_below(rng, sizeof sizes / sizeof *sizes)];
    return rng_below(rng, 2) ? most : most - (uint32_t)rng_below(rng, 1000);
}

static uint32_t size_draw(const struct request_maker *maker)
{
    struct rng *rng = maker->rng;
    if (maker->large && rng_below(rng, 25) == 0)
        return large_draw(rng);
    if (maker->busy)
        return 1000 + (uint32_t)rng_below(rng, 1000);
    uint64_t draw = rng_below(rng, 100);
    return draw == 0  ? 0
           : draw < 4 ? REQUEST_VALUE_MAX - (uint32_t)rng_below(rng, 1000)
                      : 40 + (uint32_t)rng_below(rng, 160);
}

/* The flags that the value must have; false: nothing says. */
static bool flags_expected(const struct store_answer *answer, uint32_t *flags)
{
    const char *bytes = answer->value;
    const char *open = answer->value_size ? memchr(bytes, '<', answer->value_size) : NULL;
    char head[40] = "", *end;
    if (!open)
        return false;
    size_t left = answer->value_size - (size_t)(open - bytes);
    memcpy(head, open, left < sizeof head ? left : sizeof head - 1);
    unsigned long client = strtoul(head + 1, &end, 10);
    if (*end != '.')
        return false;
    unsigned long number = strtoul(end + 1, &end, 10);
    if (*end != '>')
        return false;
    *flags = flags_of((unsigned)client, (uint32_t)number);
    return true;
}

/* ---- requests ---- */

static void target(const struct request_maker *maker, unsigned key, struct store_request *request,
                   struct history_op *op)
{
    *request = (struct store_request){.number = maker->number,
                                      .key = maker->keys->keys[key].bytes,
                                      .key_size = maker->keys->keys[key].size};
    *op = (struct history_op){.key = key};
}

static void conditional(struct store_request *request, struct history_op *op,
                        enum store_condition condition, uint64_t version)
{
    static const enum history_condition conditions[] = {
        [STORE_ALWAYS] = HISTORY_ALWAYS,
        [STORE_IF_ABSENT] = HISTORY_IF_ABSENT,
        [STORE_IF_PRESENT] = HISTORY_IF_PRESENT,
        [STORE_IF_VERSION] = HISTORY_IF_VERSION,
    };
    request->condition = condition;
    request->version = version;
    op->condition = conditions[condition];
    op->if_version = version;
}

static void make_get(struct store_request *request, struct history_op *op)
{
    request->op = STORE_GET;
    op->kind = HISTORY_GET;
}

static void make_put(const struct request_maker *maker, struct store_request *request, char *value,
                     struct history_op *op)
{
    request->op = STORE_PUT;
    op->kind = HISTORY_PUT;
    request->flags = flags_of(maker->client, maker->number);
    request->value = value;
    request->value_size = store_key_counts(maker->keys, (unsigned)op->key)
                              ? number_make(maker, value)
                              : value_make(maker, value, size_draw(maker), true);
    op->value = history_value(value, request->value_size);
}

static void make_addition(const struct request_maker *maker, struct store_request *request,
                          char *value, struct history_op *op)
{
    bool before = rng_below(maker->rng, 3) == 0;
    request->op = before ? STORE_PREPEND : STORE_APPEND;
    op->kind = before ? HISTORY_PREPEND : HISTORY_APPEND;
    request->value = value;
    bool large = maker->large && rng_below(maker->rng, 8) == 0;
    uint32_t size = large ? 50000 + (uint32_t)rng_below(maker->rng, 100000)
                          : 30 + (uint32_t)rng_below(maker->rng, 20);
    request->value_size = value_make(maker, value, size, false);
    op->value = history_value(value, request->value_size);
}

/* Only if the key is there: in a history, numbers are not made of nothing. */
static void make_sum(const struct request_maker *maker, struct store_request *request,
                     struct history_op *op)
{
    bool less = rng_below(maker->rng, 3) == 0;
    request->op = less ? STORE_DECR : STORE_INCR;
    op->kind = less ? HISTORY_DECR : HISTORY_INCR;
    request->delta = op->delta = 1 + rng_below(maker->rng, 100000);
    conditional(request, op, STORE_IF_PRESENT, 0);
}

static void make_delete(struct store_request *request, struct history_op *op)
{
    request->op = STORE_DELETE;
    op->kind = HISTORY_DELETE;
}

/* From 20 ms to 2.5 s. */
static uint64_t ttl_draw(struct rng *rng)
{
    uint64_t ttl = UINT64_C(20000000) << rng_below(rng, 7);
    return ttl + rng_below(rng, ttl);
}

static void make_touch(const struct request_maker *maker, struct store_request *request,
                       struct history_op *op)
{
    uint64_t seen = maker->seen[op->key];
    request->op = STORE_TOUCH;
    op->kind = HISTORY_TOUCH;
    if (rng_below(maker->rng, 4))
        request->ttl = ttl_draw(maker->rng);
    if (seen && rng_below(maker->rng, 5) == 0)
        conditional(request, op, STORE_IF_VERSION, seen);
}

void request_removal_of(const struct request_maker *maker, unsigned key,
                        struct store_request *request, struct history_op *op)
{
    target(maker, key, request, op);
    make_delete(request, op);
}

void request_read_of(const struct request_maker *maker, unsigned key, struct store_request *request,
                     struct history_op *op)
{
    target(maker, key, request, op);
    make_get(request, op);
}

void request_draw(const struct request_maker *maker, struct store_request *request, void *value,
                  struct history_op *op)
{
    struct rng *rng = maker->rng;
    uint64_t draw = rng_below(rng, 100);
    bool adds = draw >= 95, sums = draw >= 90 && !adds;
    bool cold = draw >= 60 && draw < (maker->busy ? 72 : 65);
    uint64_t slot = cold   ? STORE_COLD
                    : sums ? rng_below(rng, STORE_COUNTERS)
                    : adds ? STORE_COUNTERS + rng_below(rng, STORE_SLOTS - STORE_COUNTERS)
                           : rng_below(rng, STORE_SLOTS);
    if (maker->busy && !cold && !sums && rng_below(rng, 4))
        slot = STORE_SLOTS - BUSY_KEYS + rng_below(rng, BUSY_KEYS);
    unsigned key = maker->keys->current[slot];
    uint64_t seen = maker->seen[key];
    target(maker, key, request, op);
    if (maker->expires && rng_below(rng, 10) == 0)
        make_touch(maker, request, op);
    else if (adds)
        make_addition(maker, request, value, op);
    else if (sums)
        make_sum(maker, request, op);
    else if (draw >= 83)
        make_delete(request, op);
    else if (draw < 45 || (draw < 55 && !seen))
        make_get(request, op);
    else
        make_put(maker, request, value, op);
    if (op->kind == HISTORY_PUT && draw < 53)
        conditional(request, op, STORE_IF_VERSION, seen);
    else if (op->kind == HISTORY_PUT && draw < 55)
        conditional(request, op, STORE_IF_PRESENT, 0);
    else if (op->kind == HISTORY_PUT && draw < 60)
        conditional(request, op, STORE_IF_ABSENT, 0);
    else if (((adds && op->kind != HISTORY_TOUCH) || op->kind == HISTORY_DELETE) && seen &&
             rng_below(rng, 5) == 0)
        conditional(request, op, STORE_IF_VERSION, seen);
    if (maker->expires && op->kind == HISTORY_PUT && rng_below(rng, 3) == 0)
        request->ttl = ttl_draw(rng);
}

/* ---- answers ---- */

static const char *done(const struct store_request *request, const struct store_answer *answer,
                        struct history_value *result, bool *has_result)
{
    uint32_t flags;
    bool sums = request->op == STORE_INCR || request->op == STORE_DECR;
    *has_result = sums || request->op == STORE_GET;
    if (*has_result)
        *result = history_value(answer->value, answer->value_size);
    if (!answer->version)
        return "the answer has no version";
    if (request->op != STORE_GET && answer->ttl)
        return "the answer of a change has a time to live";
    if (sums && !history_is_number(*result))
        return "the sum is no number";
    if (request->op == STORE_GET && flags_expected(answer, &flags) && answer->flags != flags)
        return "the value has other flags than it was put with";
    return NULL;
}

const char *request_outcome(const struct store_request *request, const struct store_answer *answer,
                            enum history_outcome *outcome, struct history_value *result,
                            bool *has_result)
{
    *has_result = false;
    *outcome = HISTORY_UNKNOWN;
    switch (answer->status) {
    case STORE_DONE:
        *outcome = HISTORY_DONE;
        return done(request, answer, result, has_result);
    case STORE_ABSENT:
        *outcome = HISTORY_ABSENT;
        return NULL;
    case STORE_CONFLICT:
        *outcome = answer->version ? HISTORY_CONFLICT : HISTORY_ABSENT;
        return NULL;
    case STORE_UNKNOWN:
        return NULL;
    case STORE_UNAVAILABLE:
    case STORE_BUSY:
    case STORE_FULL:
        *outcome = HISTORY_REFUSED;
        return NULL;
    case STORE_TOO_LARGE:
    case STORE_NOT_NUMBER:
    case STORE_MALFORMED:
        break;
    }
    return "the request is refused as a wrong one";
}
