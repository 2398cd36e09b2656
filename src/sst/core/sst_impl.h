#pragma once
/* sst_impl: a table with everything around it: the rows, the own row, the connections to the
 * members, the detector. Each file calls only those above it in this list; the header does not
 * leave the folder.
 *
 *   reading.c     the public calls that only read
 *   membership.c  new views and failed members, and what they change in the table
 *   detector.c    the loop that notices changes
 *   keeper.c      the thread that maintains the membership
 *   waiting.c     the public calls that wait
 *   sst.c         opening, closing, and the public calls that change the table
 *
 * There are three locks. They are always taken in this order:
 *   detect   protects passes and predicates, and so triggers and upcalls
 *   put      protects the own row and the list of targets (share.h)
 *   ripc's   taken inside every call of ripc
 * The membership events have a separate lock; no other lock is taken while it is held. */

#include <stdatomic.h>

#include "sst/members/members.h"
#include "sst/observe/observer.h"
#include "sst/spread/share.h"
#include "sst/table/predicate.h"
#include "sst/table/table.h"
#include "transport/fork/owner.h"
#include "transport/wake/lock.h"
#include "transport/wake/monitor.h"
#include "transport/wake/thread.h"

/* A change of the membership for the detector; changes are handled in order. */
struct membership_event {
    struct membership_event *next;
    enum { MEMBERSHIP_VIEW, MEMBERSHIP_FAILED, MEMBERSHIP_EXPELLED } kind;
    uint32_t row;
    ripc_id member; /* MEMBERSHIP_FAILED: the member that failed; 0: the member that has the row */
    struct view view;
};

struct sst {
    struct owner owner; /* the process that opened the table; constant */
    struct ripc *ripc;
    struct sst_config config; /* with the defaults filled in; columns and reason are NULL */
    struct table table;
    struct share share;
    /* Directly after share.detecting, because a pass writes both. */
    struct lock detect_lock;
    struct predicates predicates;
    struct view view;        /* the installed view; protected by the detect lock */
    bool gone[SST_ROWS_MAX]; /* rows of `view` that are frozen; protected by the detect lock */

    struct members *members;
    struct observer_server *observers; /* answers observers, which are not members */
    bool barrier_open; /* we have announced a barrier that others have not reached yet; protected by
                          the put lock */

    struct monitor events_lock;      /* used as a lock only: no thread waits on it */
    struct membership_event *events; /* protected by events_lock */
    /* Set under events_lock, relaxed, when an event was added: the lock makes the event visible to
     * the detector. The detector clears it with release after it has handled all events: the
     * keeper, which acquires, sees the effects. */
    _Atomic bool events_wait;

    struct thread detector;
    struct thread keeper;
    _Atomic bool stopping;     /* set once, relaxed, before both threads are woken */
    _Atomic bool expelled;     /* set once by the detector, relaxed: it orders nothing else */
    _Atomic uint32_t stepping; /* a thread is inside sst_step */
    uint32_t steps;            /* busy passes of that thread; only it counts them */
    uint64_t stuck_seen;       /* keeper only: the run of a trigger that it watches, ... */
    nsec stuck_since;          /* ... since when this trigger runs, ... */
    bool stuck_told;           /* ... and whether the keeper has reported it as stuck */
    /* Counters, relaxed. The put lock protects the first two; the detector writes the last two. */
    _Atomic uint64_t puts, put_bytes, blocks, failures;
};

/* May a reader see an inconsistent row? With SST_READS it may: a fetch does not change columns in
 * the order of the puts, and a thread outside the pass can read in the middle of a fetch. */
static inline bool sst_may_tear(const struct sst *sst)
{
    return sst->config.design == SST_READS && !share_in_pass(&sst->share);
}

/* ---- membership.c ---- */

/* From any thread: add an event. The detector handles events in order at its next pass. */
void membership_install(struct sst *sst, const struct view *view);
void membership_fail(struct sst *sst, uint32_t row);
void membership_expelled(struct sst *sst);

/* Like membership_fail, but does nothing if another member has the row by then. */
void membership_fail_member(struct sst *sst, uint32_t row, ripc_id member);

/* Handles all events; with the detect lock. Returns their number. */
int membership_take_over(struct sst *sst);
void membership_fini(struct sst *sst); /* no other thread runs */

/* ---- detector.c ---- */

/* Runs one complete pass. Returns how many events were handled, rows were moved and predicates were
 * evaluated; 0 means that nothing has changed. */
int detector_pass(struct sst *sst);

/* Sleeps until there may be work for a pass, or until bell_ring. Only one thread at a time may call
 * it. */
void detector_sleep(struct sst *sst, nsec until);
void *detector_run(void *argument);

/* To be called around adding or removing predicates, inside or outside of a pass. */
void detector_enter(struct sst *sst);
void detector_leave(struct sst *sst);

/* ---- keeper.c ---- */

extern const struct meeting_ops keeper_meetings; /* the table's side of meetings */
void *keeper_run(void *argument);
