#pragma once
/* multicast_impl: what the files of a multicast share. Each calls only those above it in this list;
 * the header does not leave the folder.
 *
 *   multicast_messages.c  slots, sending, receiving, delivering, while a view runs
 *   multicast_view.c      from one view to the next
 *   multicast.c           opening, closing, the calls of the program
 *
 * Two kinds of threads use this: the detector, which runs triggers, and threads that send. Of the
 * fields that the lock protects, senders write only the slots and their counters; the detector is
 * the only writer of the others, so it reads these others without the lock. */

#include <stdatomic.h>

#include <weft/sst_multicast.h>

#include "sst/multicast/order.h"
#include "transport/fork/owner.h"
#include "transport/wake/monitor.h"

struct multicast_row {
    uint64_t sent;     /* turns filled or passed since the beginning */
    uint64_t received; /* the first number not received */
    uint64_t joined, promised, started;
    uint64_t start_slot, start_round; /* where the view that was started last begins */
    uint64_t vote[4];
    uint8_t slots[]; /* slot_count times slot_stride bytes */
};

enum { SENT, RECEIVED, JOINED, PROMISED, STARTED, START_SLOT, START_ROUND, VOTE, SLOTS, COLUMNS };

enum phase {
    PHASE_CHANGING, /* no view runs: nothing is sent or received */
    PHASE_RUNNING,
    PHASE_EXPELLED, /* permanent */
};

/* Written by the thread that does the work, read at any time; relaxed. */
struct counters {
    _Atomic uint64_t sent, sent_batches, delivered, delivered_batches, nulls, waits, views, again;
};

struct sst_multicast {
    struct owner owner; /* the process that opened it; constant */
    struct sst *table;
    sst_multicast_deliver *deliver;
    sst_multicast_change *change;
    sst_upcall *upcall;
    void *argument;
    uint32_t slot_size, slot_count, stride;
    uint32_t members_wanted;
    bool manual;
    /* Passes may use `table`. The opener sets this flag, relaxed, after it has added a predicate. A
     * pass that sees the flag began after that, and the lock of passes makes `table` visible. */
    _Atomic bool ready;
    _Atomic uintptr_t calling; /* the thread in a callback, or 0; a thread compares its own id */
    struct counters counters;

    struct monitor lock; /* woken when slots become free or the phase changes */
    unsigned waiters;
    enum phase phase;
    bool reached;   /* a view with members_wanted members has run */
    uint64_t epoch; /* of the view that runs or ran last; its rows follow */
    uint64_t base;
    uint32_t rows[SST_ROWS_MAX];
    uint32_t row_count;
    uint32_t own;            /* our index in `rows` */
    uint64_t head, tail;     /* of our slots: the next to fill, the first that is not free */
    uint64_t sent;           /* turns, as in our row */
    uint64_t start;          /* value of `sent` when the view began */
    uint64_t *last;          /* by slot: the number of its last turn */
    struct slot_head *heads; /* by slot: as published */

    /* Used by the detector only. */
    struct order order;
    uint64_t starts[SST_ROWS_MAX]; /* by index: start_round */
    uint64_t received, stable;
    uint64_t start_slot;
    bool is_open; /* a view has run and is not closed yet */
};

static inline void count(_Atomic uint64_t *counter, uint64_t more)
{
    atomic_fetch_add_explicit(counter, more, memory_order_relaxed);
}

/* ---- multicast_messages.c ---- */

/* Returns how many slots are free; reads the table if fewer than `wanted` are known to be free.
 * With the lock. */
uint32_t slots_free(struct sst_multicast *multicast, uint32_t wanted);

/* Sends as many messages as there is room for, and returns their number: 0 while no view runs.
 * -ESTALE, or as sst_publish. With the lock. */
int slots_send(struct sst_multicast *multicast, const struct iovec *messages,
               unsigned message_count);

/* Records which turns the slots from `from` to `to` take; `rounds` are the rounds before the first
 * of them. With the lock. */
void slots_number(struct sst_multicast *multicast, uint64_t from, uint64_t to, uint64_t rounds);

/* By the detector: delivers the messages below that number; receives, passes turns and delivers as
 * much as possible. */
void multicast_deliver(struct sst_multicast *multicast, uint64_t below);
void multicast_move(struct sst_multicast *multicast);

/* Predicate and trigger: there are messages to receive or to deliver. */
bool multicast_messages_moved(const struct sst *table, void *argument);
void multicast_messages_fire(struct sst *table, void *argument);

/* Marks the begin or the end of a callback, in which this thread must not wait. */
static inline void multicast_calls(struct sst_multicast *multicast, bool begins)
{
    atomic_store_explicit(&multicast->calling, begins ? (uintptr_t)pthread_self() : 0,
                          memory_order_relaxed);
}

/* ---- multicast_view.c ---- */

/* Predicate and trigger: a step is due that brings all members into the view of the table's
 * epoch. */
bool multicast_view_moved(const struct sst *table, void *argument);
void multicast_view_fire(struct sst *table, void *argument);

/* The other members went on without us. */
void multicast_expelled(struct sst_multicast *multicast);
