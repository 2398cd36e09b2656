#pragma once
/* multicast_impl: what the files of a multicast share. Each calls only those above it in this
 * list; the header does not leave the folder.
 *
 *   multicast_messages.c  slots, sending, receiving, delivering, while a view runs
 *   multicast_view.c      from one view to the next
 *   multicast.c           opening, closing, the calls of the program
 *
 * Two threads meet here: where triggers run (the detector), and whoever sends. What the lock
 * protects is written by the detector only, but for the slots and their counters; so the
 * detector reads the rest without it. */

#include <stdatomic.h>

#include <weft/sst_multicast.h>

#include "sst/multicast/order.h"
#include "transport/wake/monitor.h"

struct multicast_row {
    uint64_t sent;     /* turns filled or passed, ever */
    uint64_t received; /* the first number not received */
    uint64_t joined, promised, started;
    uint64_t start_slot, start_round; /* where the view begins that was started last */
    uint64_t vote[4];
    uint8_t slots[]; /* slot_count of slot_stride */
};

enum { SENT, RECEIVED, JOINED, PROMISED, STARTED, START_SLOT, START_ROUND, VOTE, SLOTS, COLUMNS };

enum phase {
    PHASE_CHANGING, /* no view runs: nothing is sent or received */
    PHASE_RUNNING,
    PHASE_EXPELLED, /* for good */
};

/* Counted by whoever does it, read at any time; relaxed. */
struct counters {
    _Atomic uint64_t sent, sent_batches, delivered, delivered_batches, nulls, waits, views, again;
};

struct sst_multicast {
    struct sst *table;
    sst_multicast_deliver *deliver;
    sst_multicast_change *change;
    sst_upcall *upcall;
    void *argument;
    uint32_t slot_size, slot_count, stride;
    uint32_t members_wanted;
    bool manual;
    /* `table` is known where passes run: set by the opener, relaxed, after it has added a
     * predicate. A pass that reads it began after that, and the lock of passes carries the table.
     */
    _Atomic bool ready;
    _Atomic uintptr_t calling; /* the thread inside a callback, or 0; compared with oneself only */
    struct counters counters;

    struct monitor lock; /* woken when slots became free, or the phase is another */
    unsigned waiters;
    enum phase phase;
    bool reached;   /* so many members as were wanted ran a view */
    uint64_t epoch; /* of the view that runs or ran last, and its members */
    uint64_t base;
    uint32_t rows[SST_ROWS_MAX];
    uint32_t row_count;
    uint32_t own;            /* our index of them */
    uint64_t head, tail;     /* of our slots: the next to fill, the first that is not free */
    uint64_t sent;           /* turns, as in our row */
    uint64_t start;          /* that many when the view began */
    uint64_t *last;          /* by slot: the number of its last turn */
    struct slot_head *heads; /* by slot: as they were put */

    /* The detector's own. */
    struct order order;
    uint64_t starts[SST_ROWS_MAX]; /* by index: start_round */
    uint64_t received, stable;
    uint64_t start_slot;
    bool is_open; /* a view has run and was not closed */
};

static inline void count(_Atomic uint64_t *counter, uint64_t more)
{
    atomic_fetch_add_explicit(counter, more, memory_order_relaxed);
}

/* ---- multicast_messages.c ---- */

/* How many slots are free; asks the table if those known to be free are fewer than wanted. With
 * the lock. */
uint32_t slots_free(struct sst_multicast *multicast, uint32_t wanted);

/* Sends as many messages as there is room for, and returns how many: 0 while no view runs. -ESTALE,
 * or as sst_publish. With the lock. */
int slots_send(struct sst_multicast *multicast, const struct iovec *messages,
               unsigned message_count);

/* Notes which turns the slots take, when the first of them comes after so many rounds. With the
 * lock. */
void slots_number(struct sst_multicast *multicast, uint64_t from, uint64_t to, uint64_t rounds);

/* Where triggers run: delivers the messages below that number; receives, passes turns and
 * delivers whatever there is. */
void multicast_deliver(struct sst_multicast *multicast, uint64_t below);
void multicast_move(struct sst_multicast *multicast);

/* A predicate and its trigger: there is something to receive or to deliver. */
bool multicast_messages_moved(const struct sst *table, void *argument);
void multicast_messages_fire(struct sst *table, void *argument);

/* A callback begins, or is over: it must not wait. */
static inline void multicast_calls(struct sst_multicast *multicast, bool begins)
{
    atomic_store_explicit(&multicast->calling, begins ? (uintptr_t)pthread_self() : 0,
                          memory_order_relaxed);
}

/* ---- multicast_view.c ---- */

/* A predicate and its trigger: there is something to do to bring all members into the view of
 * the table's epoch. */
bool multicast_view_moved(const struct sst *table, void *argument);
void multicast_view_fire(struct sst *table, void *argument);

/* The others went on without us. */
void multicast_expelled(struct sst_multicast *multicast);
