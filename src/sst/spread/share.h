#pragma once
/* share: our own row, the rows of the other members, and the connections between them; both designs
 * over memory that members share.
 *
 * The put lock protects the own row and the list of targets. It is taken after the table's detect
 * lock and before ripc's lock, which every call of ripc takes. */

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

/* Another member, as our puts and fetches use it. Protected by the put lock. */
struct row_target {
    bool used;
    uint32_t row;
    ripc_id member;
    struct reach *reach;      /* SST_WRITES: our row in its memory; SST_READS: its row */
    struct reach *bell_reach; /* the bell of its detector */
    uint8_t *mapped;          /* the memory of `reach`, if it can be mapped; if NULL ... */
    struct courier *courier;  /* ... the courier transfers the words */
    struct ringer ringer;     /* if its bell can be mapped */
    bool has_ringer;
    struct ripc_handle wake;   /* notifies it if the bell cannot be mapped */
    struct introduction given; /* our grants to it */
    uint64_t fetched;          /* SST_READS: the sequence of the row that we have */
};

/* The memory of a row. Between two members a row has no member for at least one view. */
struct seat {
    struct row_target target;
    struct own_file
        memory;    /* SST_WRITES: the row, written by its owner; opened when first needed */
    uint8_t *copy; /* SST_READS: the row as fetched last */
    uint8_t *row;  /* points into `memory` or `copy` */
};

struct share {
    struct row_spread spread; /* first: the operations receive a pointer to it */
    struct ripc *ripc;
    /* The targets that are mapped and those that are not, without gaps. Protected by the put
     * lock. */
    struct row_target *mapped[SST_ROWS_MAX];
    uint32_t mapped_count;
    struct row_target *carried[SST_ROWS_MAX];
    uint32_t carried_count;
    /* For the detector, which reads them without the lock; written under it, relaxed. `carries`:
     * how many targets need a courier; `unseen`: how many of those are written by hardware without
     * their processor taking part. */
    _Atomic uint32_t carries;
    _Atomic uint32_t unseen;
    /* SST_READS: odd while a fetched row is copied into its seat, for threads that read several
     * rows. Used like the sequence of a row. */
    _Atomic uint64_t taking;
    struct ripc_service *service; /* owns all grants and reaches */
    struct table *table;          /* borrowed */

    struct lock put_lock;
    struct own own;
    struct own_file own_memory; /* the own row */
    uint8_t *scratch;           /* buffer for a row that is being fetched */
    enum sst_design design;
    struct wake_bell bell;
    _Atomic uint64_t fetches, wakes; /* counters, relaxed: written under the put lock */
    struct seat seats[SST_ROWS_MAX];
    /* The thread that runs a pass of the detector, or 0. That thread writes it, relaxed; for all
     * other threads it is only a hint. */
    _Atomic uintptr_t detecting;
};

/* Does this thread run a pass? Then it holds the detect lock. */
static inline bool share_in_pass(const struct share *share)
{
    return atomic_load_explicit(&share->detecting, memory_order_relaxed) == lock_self();
}

/* Counters have one writer at a time, under a lock, and readers in any thread. */
static inline void counter_add(_Atomic uint64_t *counter, uint64_t more)
{
    uint64_t before = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, before + more, memory_order_relaxed);
}

/* ---- share.c ---- */

/* Opens the own row and the bell of a share that is all zeroes. Borrows the table. After a failure
 * share_close frees what was opened. */
MUST_CHECK int share_open(struct share *share, struct ripc *ripc, struct table *table,
                          enum sst_design design);

/* To be called after targets_close. */
void share_close(struct share *share);

/* Returns the sequence of the last put, for share_flush. Takes the put lock. */
uint64_t share_last_put(struct share *share);

/* Has everything arrived that was put up to that sequence? If not, sends what can be sent first.
 * It comes true also while puts go on, of other threads or of our detector, which notes that it
 * falls asleep. Takes the put lock. */
bool share_flush(struct share *share, uint64_t sequence);

/* Would the spread's `move` find something to do? Takes the put lock. */
bool share_is_due(struct share *share);

/* ---- target.c: one member ---- */

/* Makes memory for the row of a member that we are about to meet, and grants it. `out` is what the
 * member must know. -ENOMEM, or as ripc_grant. */
MUST_CHECK int target_offer(struct share *share, uint32_t row, ripc_id member,
                            struct introduction *out);

/* Opens the connections to the member and adds it; when it returns 0, the member has our row.
 * -EPIPE, -ENOENT, -ETIMEDOUT: the member is gone or unreachable; -EPROTO: the memory that it
 * offers is too small. */
MUST_CHECK int target_open(struct share *share, uint32_t row, const struct introduction *from,
                           int64_t deadline);

/* Closes the connections to the member and revokes its grants. Without the put lock. */
void target_close(struct share *share, uint32_t row);

/* Like target_close; after that no process can write the member's row, which keeps its content. */
void target_freeze(struct share *share, uint32_t row);

/* Closes all targets and frees the memory of all rows but the own one; no other thread runs. */
void targets_close(struct share *share);
