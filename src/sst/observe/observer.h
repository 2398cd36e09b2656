#pragma once
/* observer: looking at a table without being a member of it.
 *
 * An observer asks the members of a table who they are (LOOK). Each answers with the view
 * that it has, the schema, and a grant to read its row; from then on the observer reads
 * the rows by itself, each under its sequence, and costs the members nothing but the
 * question, which it repeats a few times a second to learn of changes. It sees every
 * row as its owner has it, also where other members have not fetched it yet.
 *
 * The first half is for whoever looks, the second for members. */

#include "sst/table/schema.h"
#include "sst/table/table.h"

/* ---- to look ---- */

/* One thread at a time uses it; the context must outlive it. */
struct table_observer;

struct observer_row {
    ripc_id member;    /* 0: nobody's */
    bool live;         /* false: it died, and this is how we saw it last */
    bool known;        /* it was read at least once; else the cells are zeroes */
    bool torn;         /* the last read only ever met puts (maybe it died in one): this is older */
    uint64_t changes;  /* how often it was seen to change */
    uint64_t sequence; /* of the row: grows by 2 with every put */
    const uint8_t *cells; /* schema's row_size bytes as one put left them; until the next refresh */
};

/* Waits for the first answer until the deadline, and for those of the other members a
 * moment longer. The context must outlive it.
 *   -ENOENT     nobody has a table of that name
 *   -ETIMEDOUT  those who have it do not answer
 *   -EBUSY      each of them is looked at by OBSERVERS_MAX others
 *   -ENOMEM, and what ripc_bind says */
MUST_CHECK int observer_open(struct ripc *ripc, uint64_t table, int64_t deadline,
                             struct table_observer **observer, struct why *why);
void observer_close(struct table_observer *observer);

/* Takes in what the members said, asks again when that is due, and reads all live
 * rows, waiting for none of them beyond the deadline. Returns how many rows changed in any
 * way (others have joined, died, left), or
 *   -ENOENT     no member is left; a later call may find some again
 *   -ESTALE     the table was founded anew with other columns: close this one */
int observer_refresh(struct table_observer *observer, int64_t deadline);

/* What it knows since the last refresh. */
const struct schema *observer_schema(const struct table_observer *observer);
uint64_t observer_epoch(const struct table_observer *observer);
uint32_t
observer_row_count(const struct table_observer *observer); /* the highest of a member, and one */
uint32_t observer_live_count(const struct table_observer *observer);
void observer_row(const struct table_observer *observer, uint32_t row, struct observer_row *out);

/* An element of a row as a cell (cell_u64 and others of aggregate.h make a number of it).
 * Not of SST_BYTES. */
uint64_t observer_cell(const struct table_observer *observer, uint32_t row, uint32_t column,
                       uint32_t element);

/* The elements in place, as in the program's struct, but of a number (schema_is_number): that
 * is a cell. */
const void *observer_elements(const struct table_observer *observer, uint32_t row, uint32_t column);

/* The random name under which it asks. */
ripc_id observer_id(const struct table_observer *observer);

/* Messages that were none of a member's, or made no sense. */
uint64_t observer_strange(const struct table_observer *observer);

/* ---- to be looked at ---- */

#define OBSERVERS_MAX 16 /* that a member lets look at a time; more are refused */

struct observer_server;

/* Answers for that table over the service of its member. `row` is the own row, of the
 * schema's row_size bytes, in memory that can be granted; `table` and `row` are
 * borrowed. Nobody is answered while the table's epoch is 0. */
MUST_CHECK int observer_serve(struct ripc_service *service, const struct table *table, void *row,
                              struct observer_server **server);

/* No observer is answered any more. */
void observer_unserve(struct observer_server *server);

/* What members_step brings (members_on_observer, members_on_gone): a message of kind
 * COUNCIL_OBSERVE, whole; an id that is not there any more. One call at a time. `server` is a
 * struct observer_server. */
void observer_asked(void *server, ripc_id from, const uint8_t *bytes, size_t size);
void observer_gone(void *server, ripc_id id);

/* From any thread: how many observers there are, and how many messages were no question. */
uint32_t observer_server_count(const struct observer_server *server);
uint64_t observer_server_strange(const struct observer_server *server);
