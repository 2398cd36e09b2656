#include "sim/store/store_account.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"
#include "services/store/history/history_check.h"

void account_fini(struct store_account *account)
{
    history_fini(&account->history);
    free(account->moments);
    free(account->times);
    text_fini(&account->verdict);
    *account = (struct store_account){0};
}

static uint64_t tick(struct store_account *account, int64_t now)
{
    bool fits = array_reserve(&account->times, &account->times_room, account->clock + 1,
                              sizeof *account->times);
    assert(fits);
    account->times[account->clock++] = now;
    return account->clock;
}

uint32_t account_begin(struct store_account *account, struct history_op *op, int64_t now)
{
    op->begun = tick(account, now);
    uint32_t number = history_begin(&account->history, op);
    bool fits = array_reserve(&account->moments, &account->moments_room, account->history.count,
                              sizeof *account->moments);
    assert(number != HISTORY_NONE && fits);
    account->moments[number] = (struct store_moment){.begun = now};
    return number;
}

void account_expires(struct store_account *account, uint32_t number, int64_t ttl)
{
    account->moments[number].ttl = ttl;
}

uint64_t account_moment(struct store_account *account, int64_t now)
{
    return tick(account, now);
}

void account_add(struct store_account *account, const struct history_op *op,
                 const struct history_value *result, const struct store_moment *moment)
{
    uint32_t number = history_begin(&account->history, op);
    bool fits = array_reserve(&account->moments, &account->moments_room, account->history.count,
                              sizeof *account->moments);
    assert(number != HISTORY_NONE && fits);
    account->moments[number] = *moment;
    history_answer(&account->history, number, op->answered, op->outcome, op->version, result);
}

void account_sent(struct store_account *account, uint32_t number, weft_server server)
{
    account->moments[number].server = server;
    account->moments[number].tries++;
}

void account_end(struct store_account *account, uint32_t number, enum history_outcome outcome,
                 uint64_t version, const struct history_value *result, int64_t now)
{
    if (outcome != HISTORY_UNKNOWN)
        history_answer(&account->history, number, tick(account, now), outcome, version, result);
}

void account_close(struct store_account *account, uint32_t number, int64_t now)
{
    const struct history_op *op = &account->history.ops[number];
    struct store_counts *counts = &account->counts;
    struct store_moment *moment = &account->moments[number];
    bool known = store_fate_is_known(op->outcome);
    moment->answered = now;
    counts->requests++;
    counts->gets += op->outcome == HISTORY_DONE && op->kind == HISTORY_GET;
    counts->changes += op->outcome == HISTORY_DONE && op->kind != HISTORY_GET;
    counts->absent += op->outcome == HISTORY_ABSENT;
    counts->conflicts += op->outcome == HISTORY_CONFLICT;
    counts->refused += op->outcome == HISTORY_REFUSED;
    counts->unknown += op->outcome == HISTORY_UNKNOWN;
    counts->again += moment->tries > 1;
    counts->again_known += moment->tries > 1 && known;
}

/* ---- the end ---- */

/* The first moment of the history at that time or later. */
static uint64_t moment_at(const struct store_account *account, int64_t time)
{
    uint64_t low = 0, high = account->clock;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (account->times[middle] < time)
            low = middle + 1;
        else
            high = middle;
    }
    return low + 1;
}

/* The store may call a key expired as soon as a clock of any server says so. */
static void expiries_set(struct store_account *account)
{
    for (uint32_t i = 0; i < account->history.count; i++) {
        struct history_op *op = &account->history.ops[i];
        const struct store_moment *moment = &account->moments[i];
        int64_t early = account->clock_error < 0 ? moment->ttl : account->clock_error;
        int64_t wait = moment->ttl > early ? moment->ttl - early : 0;
        if (moment->ttl)
            op->expires = moment_at(account, moment->begun + wait);
    }
}

/* A read that has found what was put or touched long after all clocks said that it had expired. */
static bool outlived_find(const struct store_account *account, uint32_t put,
                          struct history_finding *finding)
{
    const struct history_op *ops = account->history.ops;
    if (ops[put].outcome != HISTORY_DONE)
        return false;
    int64_t end =
        account->times[ops[put].answered - 1] + account->moments[put].ttl + account->clock_error;
    for (uint32_t i = put + 1; i < account->history.count; i++) {
        if (ops[i].kind != HISTORY_GET || ops[i].outcome != HISTORY_DONE ||
            ops[i].key != ops[put].key || ops[i].version != ops[put].version ||
            account->moments[i].begun <= end)
            continue;
        *finding = (struct history_finding){"the second has found what had expired",
                                            {put, i, HISTORY_NONE}};
        return true;
    }
    return false;
}

static bool has_outlived(const struct store_account *account, struct history_finding *finding)
{
    bool found = false;
    for (uint32_t i = 0; i < account->history.count && account->clock_error >= 0 && !found; i++)
        found = account->moments[i].ttl && outlived_find(account, i, finding);
    return found;
}

bool account_judge(struct store_account *account)
{
    struct history_finding finding;
    expiries_set(account);
    if (history_check(&account->history, &finding) == HISTORY_FINE &&
        !has_outlived(account, &finding))
        return true;
    history_write_finding(&account->history, &finding, &account->verdict);
    assert(text_ok(&account->verdict));
    if (finding.ops[0] != HISTORY_NONE)
        account->culprit = account->history.ops[finding.ops[0]].key;
    return false;
}

void account_blame(struct store_account *account, uint32_t number, struct text *text)
{
    const struct history_op *op = &account->history.ops[number];
    account->culprit = op->key;
    text_printf(text, "key %" PRIu64 ": ", op->key);
    history_write_op(op, text);
    assert(text_ok(text));
}

void account_write(const struct store_account *account, struct text *text)
{
    for (uint32_t i = 0; i < account->history.count; i++) {
        const struct history_op *op = &account->history.ops[i];
        const struct store_moment *moment = &account->moments[i];
        if (op->key != account->culprit)
            continue;
        text_printf(text, "%10.3f to %10.3f ms, server %u, %u tries: ", (double)moment->begun / 1e6,
                    (double)moment->answered / 1e6, moment->server, moment->tries);
        history_write_op(op, text);
    }
}

void store_counts_add(struct store_counts *sum, const struct store_counts *counts)
{
    sum->requests += counts->requests;
    sum->gets += counts->gets;
    sum->changes += counts->changes;
    sum->absent += counts->absent;
    sum->conflicts += counts->conflicts;
    sum->refused += counts->refused;
    sum->unknown += counts->unknown;
    sum->again += counts->again;
    sum->again_known += counts->again_known;
    sum->in_storm += counts->in_storm;
    sum->echoes += counts->echoes;
    sum->moves += counts->moves;
    sum->expired += counts->expired;
    sum->pages += counts->pages;
    sum->pages_failed += counts->pages_failed;
    sum->keys_listed += counts->keys_listed;
    sum->keys_unlisted += counts->keys_unlisted;
    sum->keys_unknown += counts->keys_unknown;
    sum->compared += counts->compared;
    sum->mended += counts->mended;
}

void store_counts_write(const struct store_counts *counts, struct text *text)
{
    text_printf(text,
                "%" PRIu64 " requests, %" PRIu64 " of them answered before the steady phase: "
                "%" PRIu64 " values read, %" PRIu64 " changes, %" PRIu64 " absent, %" PRIu64
                " conflicts, %" PRIu64 " refused, %" PRIu64 " unknown; ",
                counts->requests, counts->in_storm, counts->gets, counts->changes, counts->absent,
                counts->conflicts, counts->refused, counts->unknown);
    text_printf(text,
                "%" PRIu64 " sent again, %" PRIu64 " of them with a known fate; %" PRIu64
                " answered again; %" PRIu64 " moves of clients; %" PRIu64 " keys expired; ",
                counts->again, counts->again_known, counts->echoes, counts->moves, counts->expired);
    text_printf(text,
                "%" PRIu64 " pages, %" PRIu64 " failed, with %" PRIu64 " keys, %" PRIu64
                " of unknown changes, and without %" PRIu64,
                counts->pages, counts->pages_failed, counts->keys_listed, counts->keys_unknown,
                counts->keys_unlisted);
    text_printf(text, "; %" PRIu64 " copies of groups compared, %" PRIu64 " records mended",
                counts->compared, counts->mended);
}
