#pragma once
/* Random histories of one key: correct ones, which a register has made; those that a store with
 * bugs would make; correct ones in which an answer was changed; and answers that are drawn blindly.
 */

#include <string.h>

#include "base/compare.h"
#include "base/rng.h"
#include "services/store/history/history_plain_test.h"

/* Some conditions name this version; no change makes it. */
#define RANDOM_VERSION_NEVER 1000000

/* ---- operations ---- */

/* What the operations of a history are like. */
struct random_manner {
    const char *kinds; /* letters of random_letters; those that are there twice are drawn more */
    const char *const *values; /* four */
    uint32_t clients;          /* so many operations at a time wait for an answer */
    uint32_t unknown, refused; /* percent */
    uint32_t conditional;      /* percent */
    uint32_t mistakes;         /* percent of the operations that take effect (random_err) */
    uint32_t version_step;     /* a version is higher than the one before by 1 to this */
    uint32_t expiring;         /* percent of puts and touches */
    bool has_results;          /* half of the answers to append, incr and so on have the value */
};

static const char random_letters[] = "gpdabi-t"; /* in the order of enum history_kind */

static inline struct random_manner random_manner_draw(struct rng *rng)
{
    static const char *const kinds[] = {"ggpd", "ggpppd", "gpdabi-t", "gpab", "gpi-",
                                        "gpit", "ggpabt", "gppdabt",  "gpdi", "gpdaai"};
    static const char *const values[][4] = {
        {"a", "b", "c", "d"},
        {"1", "2", "5", "0"},
        {"a", "", "1", "12"},
        {"9", "", "18446744073709551615", "00000000000000000009"},
    };
    static const uint32_t unknown[] = {0, 5, 15, 30, 50, 75};
    return (struct random_manner){
        .kinds = kinds[rng_below(rng, sizeof kinds / sizeof *kinds)],
        .values = values[rng_below(rng, sizeof values / sizeof *values)],
        .clients = 1 + (uint32_t)rng_below(rng, 5),
        .unknown = unknown[rng_below(rng, sizeof unknown / sizeof *unknown)],
        .refused = 4 * (uint32_t)rng_below(rng, 2),
        .conditional = 35 * (uint32_t)rng_below(rng, 3),
        .version_step = 1 + (uint32_t)rng_below(rng, 3),
        .has_results = rng_below(rng, 2),
        .expiring = 30 * (uint32_t)rng_below(rng, 3),
    };
}

/* Draws the condition of an operation; `versions` are those that it may name, rising by time. */
static inline void random_condition(struct history_op *op, struct rng *rng,
                                    const uint64_t *versions, uint32_t count)
{
    if (op->kind == HISTORY_PUT && rng_below(rng, 2)) {
        op->condition = HISTORY_IF_ABSENT;
        return;
    }
    op->condition = rng_below(rng, 3) ? HISTORY_IF_VERSION : HISTORY_IF_PRESENT;
    if (op->condition != HISTORY_IF_VERSION)
        return;
    uint64_t back = rng_below(rng, rng_below(rng, 4) ? 3 : 20); /* mostly one of the last three */
    if (count && rng_below(rng, 8))
        op->if_version = versions[count - 1 - back % count];
    else
        op->if_version = RANDOM_VERSION_NEVER * rng_below(rng, 2);
}

static inline struct plain_op random_question(const struct random_manner *manner, struct rng *rng,
                                              const uint64_t *versions, uint32_t count)
{
    char letter = manner->kinds[rng_below(rng, strlen(manner->kinds))];
    struct plain_op result = {.op = {.key = 1, .answered = UINT64_MAX}};
    result.op.kind = (enum history_kind)(strchr(random_letters, letter) - random_letters);
    result.op.delta = 1 + rng_below(rng, 3) * rng_below(rng, 3);
    const char *value = manner->values[rng_below(rng, 4)];
    if (result.op.kind == HISTORY_PUT)
        strcpy(result.value, value);
    else if (result.op.kind == HISTORY_APPEND || result.op.kind == HISTORY_PREPEND)
        strncat(result.value, value, 2);
    if (result.op.kind != HISTORY_GET && rng_below(rng, 100) < manner->conditional)
        random_condition(&result.op, rng, versions, count);
    bool sets = result.op.kind == HISTORY_PUT || result.op.kind == HISTORY_TOUCH;
    if (sets && rng_below(rng, 100) < manner->expiring)
        result.op.expires = 1 + rng_below(rng, rng_below(rng, 2) ? 4 : 20); /* from the beginning */
    return result;
}

/* Does the answer show the value? */
static inline bool random_shows(const struct plain_op *op, const struct random_manner *manner,
                                struct rng *rng)
{
    if (op->op.outcome != HISTORY_DONE || op->op.kind == HISTORY_PUT ||
        op->op.kind == HISTORY_DELETE)
        return false;
    return op->op.kind == HISTORY_GET || (manner->has_results && rng_below(rng, 2));
}

/* ---- histories that a register has made ---- */

enum random_stage {
    RANDOM_WAITS, /* to take effect */
    RANDOM_IS_DONE,
    RANDOM_ENDED, /* it was answered */
};

struct random_run {
    const struct random_manner *manner;
    struct rng *rng;
    struct plain_history *history;
    enum random_stage stages[PLAIN_OPS_MAX];
    bool has_client[PLAIN_OPS_MAX]; /* a client still waits for the answer */
    uint64_t versions[PLAIN_OPS_MAX];
    uint32_t version_count; /* that clients have been told */
    uint32_t busy;
    uint64_t now;
    struct plain plain, before; /* before the last change */
    uint64_t version;           /* the last one */
};

static inline void random_begin(struct random_run *run)
{
    uint32_t number = run->history->count++;
    struct plain_op *op = &run->history->ops[number];
    *op = random_question(run->manner, run->rng, run->versions, run->version_count);
    op->op.client = number;
    op->op.begun = run->now;
    if (op->op.expires)
        op->op.expires += run->now;
    run->has_client[number] = true;
    run->busy++;
}

/* Does the operation on the register, and sets its outcome and version. */
static inline void random_apply(struct random_run *run, struct plain_op *op)
{
    struct plain before = run->plain;
    op->op.outcome = plain_apply(&run->plain, op);
    op->op.version = op->op.outcome == HISTORY_ABSENT ? 0 : run->plain.version;
    strcpy(op->result, run->plain.value);
    if (op->op.outcome != HISTORY_DONE || op->op.kind == HISTORY_GET)
        return;
    run->version += 1 + rng_below(run->rng, run->manner->version_step);
    op->op.version = run->version;
    run->plain.version = run->plain.present ? run->version : 0;
    run->before = before;
}

/* The store removes a key that has expired, sooner or later. */
static inline void random_expire(struct random_run *run)
{
    if (!run->plain.present || !run->plain.expires || run->plain.expires > run->now ||
        rng_below(run->rng, 4))
        return;
    run->version += 1 + rng_below(run->rng, run->manner->version_step);
    run->before = run->plain;
    run->plain = (struct plain){0};
}

/* Does it as a store with a bug would. */
static inline void random_err(struct random_run *run, struct plain_op *op)
{
    struct plain now = run->plain;
    switch (rng_below(run->rng, 3)) {
    case 0: { /* twice; the client has the first answer */
        random_apply(run, op);
        struct plain_op again = *op;
        if (!plain_is_full(&run->plain, op))
            random_apply(run, &again);
        break;
    }
    case 1: /* and forgets the change */
        random_apply(run, op);
        run->plain = now;
        break;
    case 2: /* on an old state, which does not stay */
        run->plain = plain_is_full(&run->before, op) ? now : run->before;
        random_apply(run, op);
        run->plain = now;
        break;
    }
}

static inline void random_take_effect(struct random_run *run, uint32_t number)
{
    struct plain_op *op = &run->history->ops[number];
    if (plain_is_full(&run->plain, op))
        return; /* it waits for ever, or until the value is shorter */
    if (rng_below(run->rng, 100) < run->manner->mistakes)
        random_err(run, op);
    else
        random_apply(run, op);
    op->op.has_result = random_shows(op, run->manner, run->rng);
    run->stages[number] = RANDOM_IS_DONE;
}

static inline void random_end(struct random_run *run, uint32_t number)
{
    struct history_op *op = &run->history->ops[number].op;
    op->answered = run->now;
    run->stages[number] = RANDOM_ENDED;
    run->has_client[number] = false;
    run->busy--;
    if (op->outcome == HISTORY_DONE || op->outcome == HISTORY_CONFLICT)
        run->versions[run->version_count++] = op->version;
}

/* The next that happens to an operation: its client gives up, or it is refused, takes effect or is
 * answered. One without a client takes effect late or never. */
static inline void random_proceed(struct random_run *run, uint32_t number)
{
    bool has_client = run->has_client[number];
    uint64_t percent = rng_below(run->rng, 100);
    if (has_client && percent < run->manner->unknown) {
        run->has_client[number] = false;
        run->busy--;
    } else if (run->stages[number] == RANDOM_IS_DONE && has_client) {
        random_end(run, number);
    } else if (run->stages[number] == RANDOM_WAITS && has_client &&
               percent < run->manner->unknown + run->manner->refused) {
        run->history->ops[number].op.outcome = HISTORY_REFUSED;
        random_end(run, number);
    } else if (run->stages[number] == RANDOM_WAITS && (has_client || percent < 40)) {
        random_take_effect(run, number);
    }
}

/* Mostly one of the last that began; otherwise few of a long history would be answered. */
static inline uint32_t random_pick(struct random_run *run)
{
    uint64_t count = run->history->count;
    uint64_t back = rng_below(run->rng, rng_below(run->rng, 4) ? least_u64(count, 8) : count);
    return (uint32_t)(count - 1 - back);
}

/* Makes a history of at most `count` operations. It is correct if manner->mistakes is 0. */
static inline void random_make(struct plain_history *history, const struct random_manner *manner,
                               struct rng *rng, uint32_t count)
{
    struct random_run run = {.manner = manner, .rng = rng, .history = history};
    history->count = 0;
    for (uint32_t steps = 8 * count; steps > 0; steps--) {
        run.now += rng_below(rng, 4) > 0; /* some moments are equal */
        random_expire(&run);
        if (history->count == 0 ||
            (run.busy < manner->clients && history->count < count && rng_below(rng, 2)))
            random_begin(&run);
        else
            random_proceed(&run, random_pick(&run));
    }
    for (uint32_t i = 0; i < history->count; i++) {
        struct history_op *op = &history->ops[i].op;
        if (run.stages[i] == RANDOM_ENDED)
            continue;
        op->outcome = HISTORY_UNKNOWN; /* nothing has told what it did */
        op->version = 0;
        op->has_result = false;
    }
}

/* ---- histories that are perhaps wrong ---- */

static inline void random_answer(struct plain_op *op, const struct random_manner *manner,
                                 struct rng *rng, uint64_t version_max)
{
    static const enum history_outcome outcomes[] = {
        HISTORY_DONE,   HISTORY_DONE,     HISTORY_DONE,    HISTORY_ABSENT,
        HISTORY_ABSENT, HISTORY_CONFLICT, HISTORY_UNKNOWN, HISTORY_REFUSED};
    op->op.outcome = outcomes[rng_below(rng, sizeof outcomes / sizeof *outcomes)];
    if (rng_below(rng, 100) < manner->unknown)
        op->op.outcome = HISTORY_UNKNOWN;
    if (op->op.kind == HISTORY_GET && op->op.outcome == HISTORY_CONFLICT)
        op->op.outcome = HISTORY_ABSENT; /* a get has no condition */
    op->op.version = 1 + rng_below(rng, version_max);
    op->op.has_result = random_shows(op, manner, rng);
    strcpy(op->result, manner->values[rng_below(rng, 4)]);
}

/* All answers are drawn from the few that are possible at all. */
static inline void random_make_blindly(struct plain_history *history,
                                       const struct random_manner *manner, struct rng *rng,
                                       uint32_t count)
{
    uint64_t versions[PLAIN_OPS_MAX], version_max = 1 + rng_below(rng, count);
    for (uint32_t i = 0; i < version_max; i++)
        versions[i] = i + 1;
    history->count = count;
    for (uint32_t i = 0; i < count; i++) {
        struct plain_op *op = &history->ops[i];
        *op = random_question(manner, rng, versions, (uint32_t)version_max);
        op->op.client = i;
        op->op.begun = rng_below(rng, 2 * count);
        op->op.expires += op->op.expires ? op->op.begun : 0;
        op->op.answered = op->op.begun + rng_below(rng, count);
        random_answer(op, manner, rng, version_max);
    }
}

/* Changes something in one operation. */
static inline void random_mistake(struct plain_history *history, const struct random_manner *manner,
                                  struct rng *rng)
{
    struct plain_op *op = &history->ops[rng_below(rng, history->count)];
    const struct plain_op *other = &history->ops[rng_below(rng, history->count)];
    uint64_t version_max = 1;
    for (uint32_t i = 0; i < history->count; i++)
        version_max = most_u64(version_max, history->ops[i].op.version);
    if (op->op.outcome == HISTORY_UNKNOWN)
        op->op.answered = op->op.begun + rng_below(rng, 20);
    uint64_t duration = op->op.answered - op->op.begun;
    switch (rng_below(rng, 9)) {
    case 8:
        op->op.expires += op->op.expires ? rng_below(rng, 5) : 0;
        break;
    case 0:
        random_answer(op, manner, rng, version_max + 1);
        break;
    case 1:
        op->op.version = other->op.version;
        break;
    case 2:
        op->op.version += 1;
        break;
    case 3:
        op->op.version -= least_u64(op->op.version, 1);
        break;
    case 4:
        memmove(op->result, other->result, sizeof op->result); /* perhaps the same one */
        break;
    case 5:
        op->op.begun -= rng_below(rng, least_u64(op->op.begun, 9) + 1);
        break;
    case 6:
        op->op.begun += rng_below(rng, duration + 1);
        break;
    case 7:
        op->op.answered -= rng_below(rng, duration + 1);
        break;
    }
}
