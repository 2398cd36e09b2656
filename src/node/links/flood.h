#pragma once
/* flood: how rows of the link state spread: over every link, to whoever does not have them yet.
 *
 * Each port has the set of rows that its neighbour is still to be told. One message at a time is
 * under way on a link; the next waits for its acknowledgement, and what was not acknowledged in
 * time is told again, with whatever changed since. So rows arrive in causal order: when the last
 * message of a batch (`more` is false) was taken, the receiver knows everything that the sender
 * knew when it wrote it. The admission of links (link_state.h) rests on that.
 *
 * Where a batch takes several messages (beyond some 300 servers), rows whose links are coming up
 * are told last, and whoever is in the middle of a batch keeps them, and its own, to itself until
 * the batch ends. So also those behind it learn of a link that comes only after everything that its
 * end knew when it said so.
 *
 * A row is passed on only if it was news, so flooding ends by itself. Pure.
 *
 * The commissioning pass floods, too (commission/bootstrap.c), and shares nothing with this but
 * that rule. Its rows belong to serial numbers that nobody has counted yet, so it has no sets of
 * servers; and it needs no order, so nothing is acknowledged: it sends a row once, and hellos with
 * a digest make good what was lost. */

#include "node/links/hello.h"
#include "sst/table/spread.h"

#define FLOOD_RESEND_NSEC (20 * 1000 * 1000LL) /* grows with every time, up to 8 of it */

struct flood_port {
    uint64_t *pending; /* rows to be told */
    uint64_t *told;    /* rows in the message under way */
    uint64_t *held;    /* rows of a batch that has not ended, for the others to be told then */
    bool is_held;
    bool linked; /* both ends hear each other: rows flow */
    bool is_pending;
    bool is_under_way;
    bool owes;          /* an acknowledgement */
    bool in_batch;      /* the last message taken said that more follows */
    bool synced_out;    /* the neighbour has had everything once ... */
    bool synced_in;     /* ... and so have we */
    uint8_t attempts;   /* of the message under way */
    uint32_t sequence;  /* of the last message sent */
    uint32_t received;  /* of the last message taken */
    env_nsec resend_at; /* while one is under way */
};

struct flood {
    struct row_spread spread; /* what the own row is put with */
    struct link_state *state;
    size_t words;
    struct flood_port ports[PORT_MAX];
    uint64_t *owed; /* whose links wait for us to say "seen" */
    bool owes_seen;
    bool own_held;    /* our own row is kept until all batches have ended */
    bool takes_stale; /* NODE_FAULT_STALE_FLOOD: only a test build looks at it */
    /* NULL, or who is told of each row that was news. */
    void (*news)(void *context, const struct link_report *report);
    void *context;
};

MUST_CHECK bool flood_init(struct flood *flood, struct link_state *state, struct arena *arena);

/* A link is there, and its neighbour knows nothing; or it is gone. */
void flood_link(struct flood *flood, unsigned port);
void flood_unlink(struct flood *flood, unsigned port);

/* Takes a message's rows and acknowledgement; counts on hello_rows_read having accepted it. */
void flood_take(struct flood *flood, unsigned port, const struct hello_rows *rows,
                const uint8_t *bytes);

/* What is to be sent on that port now: fills the head but the sessions, and the reports; false:
 * nothing. */
bool flood_next(struct flood *flood, unsigned port, env_nsec now, struct hello_rows *rows,
                struct link_report reports[HELLO_ROWS_MAX]);
/* When flood_next is to be asked again because nobody acknowledged; ENV_NEVER. */
env_nsec flood_due(const struct flood *flood, unsigned port);

/* The next server that is to be told that we saw its row; NODE_NONE. None while a batch is only
 * half taken. */
node_id flood_owed(struct flood *flood);
