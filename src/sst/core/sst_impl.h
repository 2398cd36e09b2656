#pragma once
/* sst_impl: a table with everything around it: the rows, the own row, the ways to the members,
 * the detector. Each file calls only those above it in this list; the header does not leave the
 * folder.
 *
 *   reading.c     the public calls that only look
 *   membership.c  views, deaths, and how the table takes them over
 *   detector.c    the loop that notices
 *   keeper.c      the thread that keeps the members
 *   waiting.c     the public calls that wait
 *   sst.c         opening, closing, and the public calls that change the table
 *
 * Three locks, taken in this order and never the other way round:
 *   detect   passes, predicates, and with them triggers and upcalls
 *   put      the own row and the list of targets (share.h)
 *   ripc's   inside of whatever calls ripc
 * The membership events have one of their own, held for a moment and around nothing. */

#include <stdatomic.h>

#include "sst/members/members.h"
#include "sst/observe/observer.h"
#include "sst/spread/share.h"
#include "sst/table/predicate.h"
#include "sst/table/table.h"
#include "transport/wake/lock.h"
#include "transport/wake/monitor.h"
#include "transport/wake/thread.h"

/* What the detector is told of the members, in order. */
struct membership_event {
    struct membership_event *next;
    enum { MEMBERSHIP_VIEW, MEMBERSHIP_FAILED, MEMBERSHIP_EXPELLED } kind;
    uint32_t row;
    ripc_id member; /* MEMBERSHIP_FAILED: the member that failed, or 0: whichever has the row */
    struct view view;
};

struct sst {
    struct ripc *ripc;
    struct sst_config config; /* with the defaults filled in; columns and reason are not ours */
    struct table table;
    struct share share;
    /* Right behind share.detecting, which a pass writes, too. */
    struct lock detect_lock;
    struct predicates predicates;
    struct view view;        /* installed; under the detect lock */
    bool gone[SST_ROWS_MAX]; /* its rows that were frozen; as well */

    struct members *members;
    struct observer_server *observers; /* answers observers, who are no members */
    bool barrier_open;                 /* counted, and not everybody came yet; under the put lock */

    struct monitor events_lock;      /* nobody waits with it */
    struct membership_event *events; /* under its lock */
    /* Set under the lock, relaxed, when something was added: the lock carries that to the
     * detector. Cleared by the detector with release when it has taken all of it over: the
     * keeper, which acquires, sees what it did. */
    _Atomic bool events_wait;

    struct thread detector;
    struct thread keeper;
    _Atomic bool stopping;     /* set once, relaxed, before both threads are woken */
    _Atomic bool expelled;     /* set once by the detector, relaxed: it says no more than itself */
    _Atomic uint32_t stepping; /* somebody is in sst_step */
    uint32_t steps;            /* of that one */
    uint64_t stuck_seen;       /* the keeper's: the run it looks at ... */
    nsec stuck_since;          /* ... since when, and ... */
    bool stuck_told;           /* ... whether it told of it */
    /* Counters, relaxed: under the put lock, and the last two the detector's. */
    _Atomic uint64_t puts, put_bytes, blocks, failures;
};

/* SST_READS: fetches change columns in another order than they were put in, and a thread that
 * does not run the pass may look in the middle of one. */
static inline bool sst_may_tear(const struct sst *sst)
{
    return sst->config.design == SST_READS && !share_in_pass(&sst->share);
}

/* ---- membership.c ---- */

/* From any thread: the detector takes these over, in this order, at its next pass. */
void membership_install(struct sst *sst, const struct view *view);
void membership_fail(struct sst *sst, uint32_t row);
void membership_expelled(struct sst *sst);

/* As membership_fail: nothing, if the row is another member's by then. */
void membership_fail_member(struct sst *sst, uint32_t row, ripc_id member);

/* Takes over what was told; with the detect lock. Returns how many things. */
int membership_take_over(struct sst *sst);
void membership_fini(struct sst *sst); /* no other thread runs */

/* ---- detector.c ---- */

/* One pass with everything that belongs to it. Returns how many things happened. */
int detector_pass(struct sst *sst);

/* Sleeps until something may have happened. One thread at a time. bell_ring wakes it. */
void detector_sleep(struct sst *sst, nsec until);
void *detector_run(void *argument);

/* Whoever adds or removes predicates: from outside of a pass and from inside. */
void detector_enter(struct sst *sst);
void detector_leave(struct sst *sst);

/* ---- keeper.c ---- */

extern const struct meeting_ops keeper_meetings; /* for the members of the table */
void *keeper_run(void *argument);
