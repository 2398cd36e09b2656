#pragma once
/* council: how the members of a table agree on the list of members. A state machine: it has no
 * clock and allocates no memory, and its caller does all input and output.
 *
 * The eldest live member leads. It collects processes that join, leave or died into the next view
 * and sends that view to every process concerned (PREPARE). Members that are new to each other
 * meet. A process that has met all others of the view answers READY. When all have answered, every
 * process installs the view (COMMIT). When the leader dies, the next eldest first asks all others
 * what they installed (ASK, STATE) and brings them to the same view.
 *
 * Assumptions: processes fail by stopping, and every live process eventually learns of a death
 * (council_failed); messages between two processes keep their order. Messages may be lost:
 * council_tick repeats those without an answer. A live member that is wrongly taken for dead finds
 * that the next view does not include it: it is expelled.
 *
 * A member that cannot be reached (council_silent) counts as dead, but it may be alive in another
 * part of a divided network. So while there is a silent member, only a majority goes on: more than
 * half of the members of the view, or exactly half and the eldest is one of them. Members without a
 * majority install no view. If that lasts, they are expelled (outvoted). In this way at most one
 * part goes on, and perhaps none.
 *
 * An outvoted member leads no more and asks to leave. A member that should lead, but wants to leave
 * and does not lead for a while, is passed over: the next eldest takes over, as after a death, but
 * asks the member that it passes over, too. From then on only the younger of the two counts as a
 * leader, for the others have promised to follow it. An outvoted leader withdraws its proposal, so
 * that newcomers of it may join with another leader.
 *
 * A process that finds no member founds the table; in a divided network that may happen twice. When
 * a member hears of a table of the same name that was founded earlier (council_tell), its own table
 * ends: it is expelled.
 *
 * Guarantees: an epoch of a table has at most one view, even if all processes that installed it are
 * dead; all members of an installed view have met each other; a member keeps its row; a row has no
 * member for at least one view before it gets another member; epochs grow, not always by one. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sst/council/council_wire.h"

#define COUNCIL_RETRY_NSEC (100 * 1000 * 1000LL)
#define COUNCIL_DEAD_MAX   1024 /* how many dead members are remembered */

/* Callbacks. The functions below call them; they must not call those functions. */
struct council_ops {
    void (*send)(void *argument, ripc_id to, const uint8_t *bytes,
                 size_t size); /* to 0: to all members */
    /* Meet that process and report the outcome with council_met; council_row is our row in the
     * meeting. */
    void (*meet)(void *argument, uint32_t row, ripc_id id, uint64_t nonce);
    /* Undo the meeting, completed or not. */
    void (*part)(void *argument, uint32_t row, uint64_t nonce);
    /* Use the view from now on; the first view means that we have joined. */
    void (*install)(void *argument, const struct view *view);
    void (*refused)(void *argument, int status, const char *reason); /* only while joining */
    void (*left)(void *argument);
    void (*expelled)(void *argument);
};

struct council_config {
    uint64_t hash; /* of the layout */
    enum sst_design design;
    uint32_t rows_max;
    bool drop; /* drop dead members at once; otherwise with the next join or leave */
    ripc_id id;
    uint64_t nonce; /* random, for this membership */
};

enum council_phase {
    COUNCIL_UNJOINED, /* not joined yet, or refused */
    COUNCIL_JOINING,
    COUNCIL_MEMBER,
    COUNCIL_LEAVING, /* a member that wants to leave */
    COUNCIL_OVER,    /* left or expelled */
};

enum council_lead {
    LEAD_FOLLOWS,  /* another member leads */
    LEAD_ASKS,     /* the leader died; we ask what the others have installed */
    LEAD_RESTS,    /* we lead, and there is nothing to change */
    LEAD_PROPOSES, /* we have sent a proposal */
};

struct council_meeting {
    ripc_id id; /* 0: none */
    uint64_t nonce;
    int status;   /* -EINPROGRESS, 0 after meeting, or a negative errno */
    unsigned age; /* ticks since it failed */
};

struct council_dead {
    uint64_t nonce;
    bool silent; /* it may be alive: it cannot be reached */
};

struct council_joiner {
    ripc_id id;
    uint64_t nonce;
};

struct council {
    const struct council_ops *ops;
    void *argument;
    struct council_config config;
    enum council_phase phase;
    uint64_t table;        /* identifies its founding; 0 until known */
    struct view installed; /* epoch 0: none */
    int64_t retry_at;      /* 0: not set */

    /* following */
    struct ballot promised; /* older ballots no longer count */
    uint64_t promised_to;   /* nonce of the leader */
    bool prepared_is;
    bool ready; /* we have met all members of `prepared` */
    struct ballot prepared_ballot;
    struct view prepared;      /* the possible next view; kept after it is void, for its rows */
    struct view_member leader; /* the process that proposed `prepared` */
    uint32_t row;              /* ours in `prepared`, or SST_ROWS_MAX */
    struct council_meeting meetings[SST_ROWS_MAX]; /* with processes not yet installed */

    /* leading */
    enum council_lead lead;
    bool loose; /* some process may have prepared a view that will never be installed */
    struct ballot ballot;
    struct view proposal;       /* LEAD_ASKS: the latest view that any process installed */
    bool uneven;                /* LEAD_ASKS: some process has not installed it */
    uint64_t epoch_max;         /* the highest epoch that any process has prepared */
    bool awaited[SST_ROWS_MAX]; /* rows whose answer is missing */
    unsigned overdue;           /* ticks since we asked or proposed */
    bool leaving[SST_ROWS_MAX]; /* rows whose member leaves; includes requests that the previous
                                   leader received */
    struct council_joiner joiners[SST_ROWS_MAX];
    uint32_t joiner_count;

    struct council_dead dead[COUNCIL_DEAD_MAX]; /* the oldest ones are overwritten */
    uint64_t dead_count;
    unsigned silent_count; /* of those, how many may be alive */
    struct view doubt; /* epoch 0: none. We prepared this view for another leader than the one that
                          we follow now, after `installed`: that leader may have installed it */
    struct ballot doubt_ballot; /* the latest of all views in doubt */
    uint64_t unknown;  /* the highest epoch of a view that may have been installed, too, but whose
                          members we do not know. While a member is silent, and until a later view
                          is installed, we belong to no majority */
    unsigned minority; /* ticks since which we do not belong to a majority */
    bool outvoted;     /* for too many: `expelled` was called */
    unsigned farewell; /* ticks since we were outvoted */
    unsigned idle;     /* ticks since which the member that should lead wants to leave and does not
                          lead */
    bool passed[SST_ROWS_MAX]; /* rows whose member did so for too many, and need not lead */

    uint64_t refused; /* counter: refused joins */
    uint64_t strange; /* counter: messages that no member would send */
};

void council_init(struct council *council, const struct council_ops *ops, void *argument,
                  const struct council_config *config);

/* Founds the table with that random number: we are alone in row 0, under epoch 1. */
void council_found(struct council *council, uint64_t table);

/* Asks to join until installed or refused; may be called again after a refusal. */
void council_join(struct council *council);

/* Leaves: `left` is called when the other members have agreed, or at once if there are none. A
 * process that is still joining becomes unjoined at once. */
void council_leave(struct council *council);

/* Handles a message from the process with that id. The content is never trusted. */
void council_receive(struct council *council, ripc_id from, const uint8_t *bytes, size_t size);

/* That process is dead; later messages from it are ignored. */
void council_failed(struct council *council, ripc_id id, uint64_t nonce);

/* That process cannot be reached. It counts as dead for good, but it may be alive and go on with
 * others. council_failed may follow. */
void council_silent(struct council *council, ripc_id id, uint64_t nonce);

/* Do we belong to the part of the members that may go on? See above. */
bool council_has_majority(const struct council *council);

/* Tells that process our view, in case it was in the table, or is in another table of this name.
 * Without a majority it does nothing: our own table may be about to end. */
void council_tell(struct council *council, ripc_id to);

/* Reports the outcome of a meeting: 0 or a negative errno; -EPIPE: the other process died. */
void council_met(struct council *council, uint32_t row, uint64_t nonce, int status);

/* Repeats what is due. Returns when to call it next: NSEC_NEVER while nothing is pending. */
int64_t council_tick(struct council *council, int64_t now);

/* We are in the table; we may be about to leave it. */
static inline bool council_is_member(const struct council *council)
{
    return council->phase == COUNCIL_MEMBER || council->phase == COUNCIL_LEAVING;
}

/* Our row in the view that is installed or about to be; SST_ROWS_MAX: none. */
uint32_t council_row(const struct council *council);
bool council_is_dead(const struct council *council, uint64_t nonce);
