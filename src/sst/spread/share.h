#pragma once
/* share: our own row, the rows of the other members, and the ways between them: both designs over
 * memory that members share.
 *
 * The lock (the put lock) is over the own row and the list of targets. It is taken after the
 * detect lock of the table, and before ripc's own, which whatever calls ripc takes. */

#include <stdatomic.h>

#include "ripc/memory/own_file.h"
#include "ripc/memory/reach.h"
#include "sst/council/introduction.h"
#include "sst/spread/bell.h"
#include "sst/table/own.h"
#include "sst/table/table.h"
#include "transport/clock.h"
#include "transport/wake/lock.h"

struct courier;

/* Another member, as our puts and fetches see it. Under the put lock. */
struct row_target {
    bool used;
    uint32_t row;
    ripc_id member;
    struct reach *reach;      /* SST_WRITES: our row at it; SST_READS: its row */
    struct reach *bell_reach; /* of its detector */
    uint8_t *mapped;          /* what the reach maps, or NULL: then ... */
    struct courier *courier;  /* ... the words are carried */
    struct ringer ringer;     /* where its bell can be mapped */
    bool has_ringer;
    struct ripc_handle wake;   /* elsewhere */
    struct introduction given; /* our grants to it */
    uint64_t fetched;          /* SST_READS: the sequence of the row that we have */
};

/* The place of a row. Between two members it has no member for at least one view. */
struct seat {
    struct row_target target;
    struct own_file
        memory;    /* SST_WRITES: the row, written by its owner; opened when first needed */
    uint8_t *copy; /* SST_READS: the row as it was fetched last */
    uint8_t *row;  /* in one of them */
};

struct share {
    struct row_spread spread; /* first: operations get this */
    struct ripc *ripc;
    /* The targets that are mapped and those that are not, close together. Under the put lock. */
    struct row_target *mapped[SST_ROWS_MAX];
    uint32_t mapped_count;
    struct row_target *carried[SST_ROWS_MAX];
    uint32_t carried_count;
    /* For the detector to look at without the lock, written under it, relaxed: how many are
     * carried, and by hardware that their processors do not see. */
    _Atomic uint32_t carries;
    _Atomic uint32_t unseen;
    /* SST_READS: odd while a fetched row is taken over, for threads that look at many rows. As the
     * sequence of a row. */
    _Atomic uint64_t taking;
    struct ripc_service *service; /* owns all grants and reaches */
    struct table *table;          /* borrowed */

    struct lock put_lock;
    struct own own;
    struct own_file own_memory; /* the own row */
    uint8_t *scratch;           /* a row on its way in */
    enum sst_design design;
    struct wake_bell bell;
    _Atomic uint64_t fetches, wakes; /* counters, relaxed: written under the put lock */
    struct seat seats[SST_ROWS_MAX];
    /* The thread that runs a pass of the detector, or 0. Written by it, relaxed: only that thread
     * itself takes it for more than a hint. */
    _Atomic uintptr_t detecting;
};

/* Does this thread run a pass? Then it has the detect lock. */
static inline bool share_in_pass(const struct share *share)
{
    return atomic_load_explicit(&share->detecting, memory_order_relaxed) == lock_self();
}

/* Counters have one writer at a time, under a lock, and readers everywhere. */
static inline void counter_add(_Atomic uint64_t *counter, uint64_t more)
{
    uint64_t before = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, before + more, memory_order_relaxed);
}

/* ---- share.c ---- */

/* Of a share that is all zeroes: the own row and the bell. The table is borrowed. On failure
 * share_close frees what was opened. */
MUST_CHECK int share_open(struct share *share, struct ripc *ripc, struct table *table,
                          enum sst_design design);

/* After targets_close. */
void share_close(struct share *share);

/* Has all that was put arrived? Moves what can be moved towards that. Takes the put lock. */
bool share_flush(struct share *share);

/* Would moving find something to do? Takes the put lock. */
bool share_is_due(struct share *share);

/* ---- target.c: one member ---- */

/* Makes memory for the row of a member that we are about to meet, and grants it: `out` is what
 * the member must know. -ENOMEM, or as ripc_grant. */
MUST_CHECK int target_offer(struct share *share, uint32_t row, ripc_id member,
                            struct introduction *out);

/* Opens the ways to it and adds it; our row is there when it returns 0. -EPIPE, -ENOENT,
 * -ETIMEDOUT: it is gone or not reachable; -EPROTO: what it offers is too small. */
MUST_CHECK int target_open(struct share *share, uint32_t row, const struct introduction *from,
                           int64_t deadline);

/* Forgets it and what it was granted. Without the put lock. */
void target_close(struct share *share, uint32_t row);

/* As target_close; and nobody writes its row any more, which stays as it is. */
void target_freeze(struct share *share, uint32_t row);

/* All of them, and the memory of all rows but the own one; no other thread runs. */
void targets_close(struct share *share);
