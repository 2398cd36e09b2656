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
    text_fini(&account->verdict);
    *account = (struct store_account){0};
}

uint32_t account_begin(struct store_account *account, struct history_op *op, int64_t now)
{
    op->begun = ++account->clock;
    uint32_t number = history_begin(&account->history, op);
    bool fits = array_reserve(&account->moments, &account->moments_room, account->history.count,
                              sizeof *account->moments);
    assert(number != HISTORY_NONE && fits);
    account->moments[number] = (struct store_moment){.begun = now};
    return number;
}

void account_sent(struct store_account *account, uint32_t number, weft_server server)
{
    account->moments[number].server = server;
    account->moments[number].tries++;
}

void account_end(struct store_account *account, uint32_t number, enum history_outcome outcome,
                 uint64_t version, const struct history_value *result)
{
    if (outcome != HISTORY_UNKNOWN)
        history_answer(&account->history, number, ++account->clock, outcome, version, result);
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

bool account_judge(struct store_account *account)
{
    struct history_finding finding;
    if (history_check(&account->history, &finding) == HISTORY_FINE)
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
                " answered again; %" PRIu64 " moves of clients",
                counts->again, counts->again_known, counts->echoes, counts->moves);
}
