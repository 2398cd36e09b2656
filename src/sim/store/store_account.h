#pragma once
/* store_account: what the clients of a store asked and heard, for the judge (store/history) and for
 * people. Owns the history. */

#include <weft/service.h>

#include "base/text.h"
#include "services/store/history/history.h"

struct store_counts {
    uint64_t requests;
    uint64_t gets, changes;     /* done */
    uint64_t absent, conflicts; /* nothing was done, for sure */
    uint64_t refused, unknown;
    uint64_t again;       /* requests that were sent more than once */
    uint64_t again_known; /* of those: the fate is known */
    uint64_t in_storm;    /* requests whose fate was known before the steady phase */
    uint64_t echoes;      /* answered changes that were sent again, and answered again */
    uint64_t moves;       /* of clients to other servers */
    uint64_t expired;     /* keys that the servers have removed, as far as they remember */
    uint64_t pages, pages_failed;
    uint64_t keys_listed, keys_unlisted; /* keys in the ranges of pages */
    uint64_t keys_unknown;               /* listed, in a version of which nothing else is known */
    uint64_t compared;                   /* copies of groups that servers have compared */
    uint64_t mended;                     /* damaged records that servers have fetched from others */
};

/* When and where; times in nanoseconds. */
struct store_moment {
    int64_t begun, answered;
    weft_server server; /* of the last try */
    unsigned tries;
    int64_t ttl; /* of what it puts or touches; 0: none */
};

struct store_account {
    struct history history;
    uint64_t clock; /* moments of the history */
    int64_t *times; /* of these moments, from 1 on */
    size_t times_room;
    /* By which two wall clocks of servers differ at most; negative: this is not known. */
    int64_t clock_error;
    struct store_moment *moments;
    size_t moments_room;
    struct store_counts counts;
    uint64_t culprit; /* the key with which something is wrong */
    struct text verdict;
};

static inline bool store_fate_is_known(enum history_outcome outcome)
{
    return outcome != HISTORY_UNKNOWN && outcome != HISTORY_REFUSED;
}

void account_fini(struct store_account *account);

/* Returns the number of the request in the history. Sets its moment. */
uint32_t account_begin(struct store_account *account, struct history_op *op, int64_t now);
/* What it puts, or touches, has that time to live. */
void account_expires(struct store_account *account, uint32_t number, int64_t ttl);
void account_sent(struct store_account *account, uint32_t number, weft_server server);
/* The result may be NULL. An unknown outcome may become known later. */
void account_end(struct store_account *account, uint32_t number, enum history_outcome outcome,
                 uint64_t version, const struct history_value *result, int64_t now);
/* A moment of the history. */
uint64_t account_moment(struct store_account *account, int64_t now);
/* An operation that is answered: with its moments, outcome and version. The result may be NULL. */
void account_add(struct store_account *account, const struct history_op *op,
                 const struct history_value *result, const struct store_moment *moment);
/* The client goes on to its next request. */
void account_close(struct store_account *account, uint32_t number, int64_t now);

/* Is there an order that explains all answers? If it is known how much wall clocks differ: was no
 * value read long after its time to live? If not, `verdict` says why. */
bool account_judge(struct store_account *account);
/* Writes the request; notes its key as the culprit. */
void account_blame(struct store_account *account, uint32_t number, struct text *text);
/* Writes all requests for the culprit. */
void account_write(const struct store_account *account, struct text *text);

void store_counts_add(struct store_counts *sum, const struct store_counts *counts);
void store_counts_write(const struct store_counts *counts, struct text *text);
