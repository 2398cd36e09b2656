#pragma once
/* sst_impl: a table with everything around it: the rows, the own row, the ways to the members,
 * the detector. The public calls are in sst.c, reading.c and waiting.c; this header does not
 * leave the folder.
 *
 * Three locks, taken in this order and never the other way round:
 *   detect   passes, predicates, and with them triggers and upcalls
 *   put      the own row and the list of targets
 *   ripc's   inside of whatever calls ripc
 * The tidings have one of their own, held for a moment and around nothing. */

#include <pthread.h>
#include <stdatomic.h>

#include "ripc/memory/own_file.h"
#include "ripc/memory/reach.h"
#include "sst/council/members.h"
#include "sst/observe/observer.h"
#include "sst/table/own.h"
#include "sst/table/predicate.h"
#include "sst/table/table.h"
#include "transport/wake/doorbell.h"
#include "transport/wake/lock.h"
#include "transport/wake/thread.h"

struct courier;

/* Another member, as our puts and fetches see it. Under the put lock. */
struct target {
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

/* A row's place. It is nobody's for at least one view between two members. */
struct seat {
    struct target target;
    struct own_file
        memory;    /* SST_WRITES: the row, written by its owner; opened when first needed */
    uint8_t *copy; /* SST_READS: the row as it was fetched last */
    uint8_t *row;  /* in one of them */
};

/* What the keeper of the members tells the detector, one after the other. */
struct tiding {
    struct tiding *next;
    enum { TIDING_VIEW, TIDING_FAILED, TIDING_EXPELLED } kind;
    uint32_t row;
    ripc_id member; /* TIDING_FAILED: who it was, or 0: whoever has the row */
    struct view view;
};

struct share {
    struct spread spread; /* first: operations get this */
    struct sst *sst;
    /* The targets that are mapped and those that are not, close together. Under the put lock. */
    struct target *mapped[SST_ROWS_MAX];
    uint32_t mapped_count;
    struct target *carried[SST_ROWS_MAX];
    uint32_t carried_count;
    /* For the detector to look at without the lock, written under it, relaxed: how many are
     * carried, and by hardware that their processors do not see. */
    _Atomic uint32_t carries;
    _Atomic uint32_t unseen;
    /* SST_READS: odd while a fetched row is taken over, for threads that look at many rows. As the
     * sequence of a row. */
    _Atomic uint64_t taking;
};

struct sst {
    struct ripc *ripc;
    struct sst_config config; /* with the defaults filled in; columns and reason are not ours */
    struct table table;
    struct share share;
    struct members *members;
    struct observer_server *looks; /* answers those who only look */

    struct lock put_lock;
    struct own own;
    struct own_file own_memory; /* the own row */
    uint8_t *scratch;           /* a row on its way in */
    bool barrier_open;          /* counted, and not everybody came yet; under the put lock */
    struct seat seats[SST_ROWS_MAX];

    struct lock detect_lock;
    /* The thread that runs a pass, or 0. Written by it, relaxed: only that thread itself takes
     * it for more than a hint. */
    _Atomic uintptr_t detecting;
    struct predicates predicates;
    struct view view;        /* installed; under the detect lock */
    bool gone[SST_ROWS_MAX]; /* its rows that were frozen; as well */

    struct own_file bell_memory;
    struct doorbell bell;       /* the detector sleeps on it */
    struct ringer self;         /* the same bell, for other threads of ours */
    struct ripc_notice *notice; /* rings it for those who cannot map it */
    struct ripc_handle wake;

    pthread_mutex_t tidings_lock;
    struct tiding *tidings; /* under its lock */
    /* Set with release after something was added, cleared by the detector when it has taken
     * all of it over. */
    _Atomic bool tidings_wait;

    struct thread detector;
    struct thread keeper;
    _Atomic bool stopping;     /* set once, with release, before both threads are woken */
    _Atomic bool expelled;     /* set once by the detector, with release */
    _Atomic uint32_t stepping; /* somebody is in sst_step */
    uint32_t steps;            /* of that one */
    uint64_t stuck_seen;       /* the keeper's: the run it looks at ... */
    nsec stuck_since;          /* ... since when, and ... */
    bool stuck_told;           /* ... whether it told of it */
    /* Counters, relaxed: under the put lock, and the last two the detector's. */
    _Atomic uint64_t puts, put_bytes, fetches, wakes, blocks, failures;
};

/* Does this thread run a pass? Then it has the detect lock. */
static inline bool sst_in_pass(const struct sst *sst)
{
    return atomic_load_explicit(&sst->detecting, memory_order_relaxed) == lock_self();
}

/* SST_READS: fetches change columns in another order than they were put in, and a thread that
 * does not run the pass may look in the middle of one. */
static inline bool sst_may_tear(const struct sst *sst)
{
    return sst->config.design == SST_READS && !sst_in_pass(sst);
}

static inline bool rows_has(const struct sst_rows *rows, uint32_t row)
{
    return !rows || (rows->bits[row / 64] >> row % 64 & 1);
}

/* Counters have one writer at a time, under a lock, and readers everywhere. */
static inline void count(_Atomic uint64_t *counter, uint64_t more)
{
    uint64_t before = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, before + more, memory_order_relaxed);
}

/* ---- share.c: the ways to the members ---- */

extern const struct spread_ops share_write_ops;
extern const struct spread_ops share_read_ops;

/* With the put lock: from now on puts (or fetches) include it. */
void share_add(struct share *share, struct target *target);
void share_remove(struct share *share, struct target *target);

/* Tells members (of the set, or all) that sleep, and our own detector, that something was
 * put. With the put lock. */
void share_ring(struct share *share, const struct sst_rows *to);

/* Has all that was put arrived? Moves what can be moved towards that. Takes the put lock. */
bool share_flush(struct share *share);

/* Would moving find something to do? Takes the put lock. */
bool share_is_due(struct share *share);

/* SST_READS, mapped; with the put lock. Takes a row if it is another than the one we have, and
 * whole. Returns how many it took. */
int share_fetch(struct sst *sst, struct target *target);

/* A whole row has come: it is the row of that seat from now on. With the put lock. */
void share_take(struct sst *sst, struct seat *seat, const uint8_t *row);

/* ---- courier.c: puts and fetches where nothing can be mapped ---- */

MUST_CHECK int courier_open(struct sst *sst, struct seat *seat, struct courier **courier);
void courier_close(struct courier *courier); /* after its reach: nothing is under way */

/* SST_WRITES; with the put lock. What does not fit now is sent later, all of it. */
void courier_set(struct courier *courier, uint32_t cell, uint64_t word, uint64_t sequence);
void courier_change(struct courier *courier, const struct change *change);
void courier_send_all(struct courier *courier);

/* Sends what is owed, or (SST_READS) fetches. With the put lock. Returns how many things
 * it did. */
int courier_move(struct courier *courier);

/* SST_WRITES: could it send what is owed, or must it tell a sleeper? With the put lock. */
bool courier_is_due(struct courier *courier);

/* Has all that was put arrived, or a row been fetched? With the put lock. */
bool courier_is_done(struct courier *courier);

/* ---- target.c: one member ---- */

/* Opens the ways to it and adds it; our row is there when it returns 0. */
MUST_CHECK int target_open(struct sst *sst, struct seat *seat, const struct introduction *from,
                           int64_t deadline);

/* Forgets it and what it was granted. Without the put lock. */
void target_close(struct sst *sst, struct seat *seat);

/* ---- meeting.c: who is in the table ---- */

/* Takes over what the keeper told; with the detect lock. Returns how many things. */
int meeting_take_over(struct sst *sst);

/* As meeting_fail, from any thread: nothing, if the row is another's by then. */
void meeting_fail_member(struct sst *sst, uint32_t row, ripc_id member);
void meeting_fini(struct sst *sst); /* all seats; nobody else runs */

/* ---- detector.c ---- */

/* One pass with everything that belongs to it. Returns how many things happened. */
int detector_pass(struct sst *sst);

/* Sleeps until something may have happened. One thread at a time. */
void detector_sleep(struct sst *sst, nsec until);

void *detector_run(void *argument);
void *detector_keep(void *argument); /* the thread that keeps the members */

/* Wakes it, from any thread of ours. */
void detector_wake(struct sst *sst);

/* Whoever adds or removes predicates: from outside of a pass and from inside. */
void detector_enter(struct sst *sst);
void detector_leave(struct sst *sst);
