#pragma once
/* council: how the members of a table agree on who they are. A state machine: no clock,
 * no memory of its own, no input or output but what its caller carries.
 *
 * The eldest live member leads. It gathers those who join, leave or died into the next
 * view and sends it to everybody concerned (PREPARE); every pair that is new to each
 * other meets; who has met all says READY; when everybody has, the view is
 * installed everywhere (COMMIT). When the leader dies the next eldest first asks everybody what
 * they installed (ASK, STATE) and brings them to the same view.
 *
 * What it relies on: processes fail by stopping, and everybody who lives hears of
 * it (council_failed) some time; between two processes messages keep their order. They
 * may be lost: council_tick repeats what was not answered. A member that is taken for
 * dead and is not finds itself outside of the next view: it is expelled.
 *
 * What it guarantees: one view for each epoch of a table, also among those that died;
 * everybody in an installed view had met everybody else; a member keeps its row; a row
 * is nobody's for at least one view before it is somebody else's; epochs grow, not
 * always by one. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sst/council/council_wire.h"

#define COUNCIL_RETRY_NSEC (100 * 1000 * 1000LL)
#define COUNCIL_DEAD_MAX   1024 /* of the dead, how many are remembered */

/* Called from inside the functions below; none of them may be called from these. */
struct council_ops {
    void (*send)(void *argument, ripc_id to, const uint8_t *bytes, size_t size); /* 0: to all */
    /* Meet it, and say so with council_met; council_row is our row in that. */
    void (*meet)(void *argument, uint32_t row, ripc_id id, uint64_t nonce);
    /* Undo the meeting, done or not. */
    void (*part)(void *argument, uint32_t row, uint64_t nonce);
    /* The view counts; the first one says that we have joined. */
    void (*install)(void *argument, const struct view *view);
    void (*refused)(void *argument, int status, const char *reason); /* of those who join */
    void (*left)(void *argument);
    void (*expelled)(void *argument);
};

struct council_config {
    uint64_t hash; /* of the layout */
    enum sst_design design;
    uint32_t rows_max;
    bool drop; /* the dead are dropped at once, else when somebody comes or goes */
    ripc_id id;
    uint64_t nonce; /* random, of this membership */
};

enum council_phase {
    COUNCIL_UNJOINED, /* not yet, or refused */
    COUNCIL_JOINING,
    COUNCIL_MEMBER,
    COUNCIL_LEAVING, /* a member that wants to go */
    COUNCIL_OVER,    /* left or expelled */
};

enum council_lead {
    LEAD_FOLLOWS,  /* another one leads */
    LEAD_ASKS,     /* it died: what do the others know? */
    LEAD_RESTS,    /* we lead, and nothing is to be changed */
    LEAD_PROPOSES, /* a proposal is out */
};

struct council_meeting {
    ripc_id id; /* 0: none */
    uint64_t nonce;
    int status;   /* -EINPROGRESS, 0 met, or why not */
    unsigned age; /* ticks since it failed */
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
    uint64_t table;        /* its founding, once we know it */
    struct view installed; /* epoch 0: none */
    int64_t retry_at;      /* 0: not set */

    /* following */
    struct ballot promised; /* nothing older counts any more */
    uint64_t promised_to;   /* nonce */
    bool prepared_is;
    bool ready; /* we have met everybody of it */
    struct ballot prepared_ballot;
    struct view prepared;      /* what may be the next view; also after it is void, for its rows */
    struct view_member leader; /* who prepares it */
    uint32_t row;              /* ours in `prepared`, or SST_ROWS_MAX */
    struct council_meeting meetings[SST_ROWS_MAX]; /* with those who are not installed yet */

    /* leading */
    enum council_lead lead;
    bool loose; /* somebody may have prepared what will not be */
    struct ballot ballot;
    struct view proposal;       /* LEAD_ASKS: the latest view that somebody installed */
    bool uneven;                /* LEAD_ASKS: not everybody has installed that */
    uint64_t epoch_max;         /* of views that somebody has prepared */
    bool awaited[SST_ROWS_MAX]; /* whose answer is missing */
    bool leaving[SST_ROWS_MAX]; /* who goes; also what the leader before had heard */
    struct council_joiner joiners[SST_ROWS_MAX];
    uint32_t joiner_count;

    uint64_t dead[COUNCIL_DEAD_MAX]; /* nonces; the oldest are overwritten */
    uint64_t dead_count;
    uint64_t refused; /* counted: refusals to let one in */
    uint64_t strange; /* messages that were nobody's to send */
};

void council_init(struct council *council, const struct council_ops *ops, void *argument,
                  const struct council_config *config);

/* Alone in row 0, under epoch 1, of a table with that random number. */
void council_found(struct council *council, uint64_t table);

/* Asks to be let in, until installed or refused; again after that, too. */
void council_join(struct council *council);

/* Goes: left is called when the others have agreed, at once if there are none. One who
 * only joins is unjoined at once. */
void council_leave(struct council *council);

/* What came from the process with that id. Never trusted. */
void council_receive(struct council *council, ripc_id from, const uint8_t *bytes, size_t size);

/* That process is dead; whatever else comes from it is ignored. */
void council_failed(struct council *council, ripc_id id, uint64_t nonce);

/* The outcome of a meeting: 0 or a negative errno; -EPIPE: it died. */
void council_met(struct council *council, uint32_t row, uint64_t nonce, int status);

/* Repeats what is due. Returns when to call it next: NSEC_NEVER while all is settled. */
int64_t council_tick(struct council *council, int64_t now);

/* We are in the table, and may be about to leave it. */
static inline bool council_is_member(const struct council *council)
{
    return council->phase == COUNCIL_MEMBER || council->phase == COUNCIL_LEAVING;
}

/* Our row, in the view installed or about to be; SST_ROWS_MAX: none. */
uint32_t council_row(const struct council *council);
bool council_is_dead(const struct council *council, uint64_t nonce);
