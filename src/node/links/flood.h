#pragma once
/* flood: spreads rows of the link state over every link to neighbours that do not have them yet.
 *
 * Each port has the set of rows that are still to be sent to its neighbour. Only one message is in
 * flight on a link; the next waits for its acknowledgement. Rows that are not acknowledged in time
 * are sent again, together with all rows that changed since. So rows arrive in causal order: once
 * the receiver has handled the last message of a batch (`more` is false), it knows everything that
 * the sender knew when it wrote that message. The admission of links (link_state.h) depends on this
 * order.
 *
 * A batch can take several messages (beyond about 300 servers). Then rows whose links are coming up
 * are sent last, and a receiver in the middle of a batch holds such rows, and its own, back until
 * the batch ends. So servers that are farther away also learn of a coming link only after
 * everything that the end of this link knew when it announced the link.
 *
 * A row is passed on only if it was new, so flooding ends by itself. Pure.
 *
 * The commissioning pass floods, too (commission/bootstrap.c), but shares only this last rule. Its
 * rows belong to serial numbers that have no server number yet, so it cannot use sets of servers.
 * It needs no order, so it acknowledges nothing: it sends a row once, and hellos with a digest
 * repair losses. */

#include "node/links/hello.h"
#include "sst/table/spread.h"

#define FLOOD_RESEND_NSEC (20 * 1000 * 1000LL) /* doubles with every attempt, up to 160 ms */

struct flood_port {
    uint64_t *pending; /* rows to send */
    uint64_t *told;    /* rows in the message in flight */
    uint64_t *held; /* rows from an unfinished batch, passed on to the other ports when it ends */
    bool is_held;
    bool linked; /* both ends receive each other's hellos: rows flow */
    bool is_pending;
    bool is_under_way;
    bool owes;          /* an acknowledgement must be sent */
    bool in_batch;      /* the last message received said that more follow */
    bool synced_out;    /* the neighbour has received all our rows once ... */
    bool synced_in;     /* ... and we have received all of the neighbour's */
    uint8_t attempts;   /* to send the message in flight */
    uint32_t sequence;  /* of the last message sent */
    uint32_t received;  /* of the last message received */
    env_nsec resend_at; /* if a message is in flight */
};

struct flood {
    struct row_spread spread; /* through which the own row is put */
    struct link_state *state;
    size_t words;
    struct flood_port ports[PORT_MAX];
    uint64_t *owed; /* servers whose links wait for our "seen" */
    bool owes_seen;
    bool own_held;   /* our own row is held back until all batches have ended */
    uint64_t faults; /* of PLANTED_BIT (planted.h); 0 except in tests */
    /* NULL, or called for each row that was new. */
    void (*news)(void *context, const struct link_report *report);
    void *context;
};

MUST_CHECK bool flood_init(struct flood *flood, struct link_state *state, struct arena *arena);

/* The link on that port starts, with a neighbour that knows no rows (flood_link); or it is gone
 * (flood_unlink). */
void flood_link(struct flood *flood, unsigned port);
void flood_unlink(struct flood *flood, unsigned port);

/* Handles a message's rows and acknowledgement; hello_rows_read has accepted the message. */
void flood_take(struct flood *flood, unsigned port, const struct hello_rows *rows,
                const uint8_t *bytes);

/* Returns the message to send on that port now: the head without its sessions, and the reports.
 * False: nothing to send. */
bool flood_next(struct flood *flood, unsigned port, env_nsec now, struct hello_rows *rows,
                struct link_report reports[HELLO_ROWS_MAX]);
/* When flood_next must be called again because an acknowledgement is missing; ENV_NEVER. */
env_nsec flood_due(const struct flood *flood, unsigned port);

/* The next server to which we have to send "seen" for its row; NODE_NONE. None while a batch is
 * incomplete. */
node_id flood_owed(struct flood *flood);
