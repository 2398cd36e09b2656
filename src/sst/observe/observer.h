#pragma once
/* observer: reading a table without being a member of it.
 *
 * An observer asks the members of a table for the view (LOOK). Each member answers with the view
 * that it has, the schema, and a grant to read its row. From then on the observer reads the rows by
 * itself, each under its sequence, and costs the members nothing but the question, which it repeats
 * a few times a second to learn of changes. It sees every row in its owner's memory, even if other
 * members have not fetched it yet.
 *
 * The first half is for observers, the second for members. */

#include "sst/table/schema.h"
#include "sst/table/table.h"

/* ---- for observers ---- */

/* One thread at a time uses it; the context must outlive it. */
struct table_observer;

struct observer_row {
    ripc_id member;       /* 0: the row has no member */
    bool live;            /* false: the member died, and the cells are as read last */
    bool known;           /* the row was read at least once; otherwise the cells are zeroes */
    bool torn;            /* every read overlapped a put (it may have died in one): older cells */
    uint64_t changes;     /* how often it was seen to change */
    uint64_t sequence;    /* of the row: grows by 2 with every put */
    const uint8_t *cells; /* row_size bytes as one put left them; valid until the next refresh */
};

/* Waits for the first answer until the deadline, and for those of the other members a moment
 * longer. The context must outlive the observer.
 *   -ENOENT     no process has a table of that name
 *   -ETIMEDOUT  the members do not answer
 *   -EBUSY      every member already has OBSERVERS_MAX observers
 *   -ENOMEM, or an error of ripc_bind */
MUST_CHECK int observer_open(struct ripc *ripc, uint64_t table, int64_t deadline,
                             struct table_observer **observer, struct why *why);
void observer_close(struct table_observer *observer);

/* Handles the answers of the members, asks again when that is due, and reads all live rows; it
 * waits for no row beyond the deadline. Returns how many rows changed in any way (including rows
 * whose member joined, died or left), or
 *   -ENOENT     no member is left; a later call may find some again
 *   -ESTALE     the table was founded again with other columns: close this observer */
int observer_refresh(struct table_observer *observer, int64_t deadline);

/* The state after the last refresh. */
const struct schema *observer_schema(const struct table_observer *observer);
uint64_t observer_epoch(const struct table_observer *observer);
uint32_t observer_row_count(const struct table_observer *observer); /* highest row + 1 */
uint32_t observer_live_count(const struct table_observer *observer);
void observer_row(const struct table_observer *observer, uint32_t row, struct observer_row *out);

/* Returns an element of a row as a cell (cell_u64 and others of aggregate.h convert it to a
 * number). Not for SST_BYTES. */
uint64_t observer_cell(const struct table_observer *observer, uint32_t row, uint32_t column,
                       uint32_t element);

/* Returns the elements in place, laid out as in the program's struct; for a number
 * (schema_is_number) its cell. */
const void *observer_elements(const struct table_observer *observer, uint32_t row, uint32_t column);

/* The random id under which it asks. */
ripc_id observer_id(const struct table_observer *observer);

/* Counts messages that no member would send, or that are malformed. */
uint64_t observer_strange(const struct table_observer *observer);

/* ---- for members ---- */

#define OBSERVERS_MAX 16 /* that a member serves at a time; more are refused */

struct observer_server;

/* Answers observers of that table over the service of its member. `row` is the own row, of the
 * schema's row_size bytes, in memory that can be granted; `table` and `row` are borrowed. No
 * observer is answered while the table's epoch is 0. */
MUST_CHECK int observer_serve(struct ripc_service *service, const struct table *table, void *row,
                              struct observer_server **server);

/* Stops answering observers and revokes their grants. */
void observer_unserve(struct observer_server *server);

/* Callbacks for members_on_observer and members_on_gone: handle a complete message of kind
 * COUNCIL_OBSERVE, and an id whose holder is gone. One call at a time. `server` is a struct
 * observer_server. */
void observer_asked(void *server, ripc_id from, const uint8_t *bytes, size_t size);
void observer_gone(void *server, ripc_id id);

/* From any thread: the number of observers, and of malformed questions. */
uint32_t observer_server_count(const struct observer_server *server);
uint64_t observer_server_strange(const struct observer_server *server);
