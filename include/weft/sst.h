#pragma once
/* sst: a table of state that the members of a group share, with predicates.
 *
 * Every member owns one row, which only this member writes. Every member reads all rows from its
 * own memory. A predicate is a pure function of the table; when it holds, its triggers run.
 *
 *     struct row { uint64_t step; double load[4]; };
 *     enum { STEP, LOAD };
 *     static const struct sst_column columns[] = {
 *         [STEP] = SST_COLUMN(struct row, step, SST_U64, SST_GROWS),
 *         [LOAD] = SST_COLUMN(struct row, load, SST_F64, 0),
 *     };
 *     struct sst *table;
 *
 *     sst_open(ripc, &(struct sst_config){.table = 7, .columns = columns, .column_count = 2,
 *              .row_size = sizeof(struct row), .rows_wanted = 3}, &table);
 *     sst_predicate_add(table, &(struct sst_predicate){.name = "next step", .kind = SST_RECURRENT,
 *                       .holds = all_arrived, .fire = work, .columns = (uint32_t[]){STEP},
 *                       .column_count = 1}, NULL);
 *     sst_set_u64(table, STEP, 1);
 *
 * Rules for every call:
 *  - A call returns >= 0 or a negative errno, which ripc_strerror explains. Nothing that another
 *    member does makes the library print, assert or exit.
 *  - Deadlines are as in ripc: absolute, RIPC_NOW or RIPC_FOREVER.
 *  - All calls may be made from any thread and from triggers, unless stated otherwise. Reading
 *    never blocks.
 *  - A child of fork() cannot use its parent's tables: every call that returns a status returns
 *    -ECHILD there and changes nothing. The parent stays a member; its end is noticed at once, even
 *    if the child lives on.
 *  - A row number belongs to one member for as long as it is a member. The row of a member that
 *    left may be given to a new member in a later epoch.
 *
 * If the network is divided, at most one part of the members goes on; see "A divided network" in
 * weft-sst(7).
 *
 * Order: each member sees the puts of another member in the order in which they were made. A reader
 * that sees a value of one column also sees what was put before it in other columns. So put the
 * data first and its guard after, with sst_publish or with two calls. Between hosts, a member that
 * cannot keep up receives several puts at once; then only a column marked SST_GUARD is sure to
 * arrive after everything that was put before it. A column of one element is read and written
 * atomically. Wider columns are read consistently by sst_get, sst_row and sst_snapshot_take. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/ripc.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SST_ROWS_MAX    256
#define SST_COLUMNS_MAX 128
#define SST_NAME_MAX    32 /* bytes of a column's name, with its terminating 0 */

struct sst;

/* ---- rows ---- */

enum sst_type {
    SST_BOOL = 1,
    SST_U8,
    SST_I8,
    SST_BYTES, /* not a number: only for sst_get and sst_put */
    SST_U16,
    SST_I16,
    SST_U32,
    SST_I32,
    SST_F32,
    SST_U64,
    SST_I64,
    SST_F64,
};

#define SST_SIZE(type)                                                                             \
    ((type) <= SST_BYTES ? 1u : (type) <= SST_I16 ? 2u : (type) <= SST_F32 ? 4u : 8u)

enum sst_column_flag {
    SST_GUARD = 1, /* tells that other columns are ready; one element, on its own cache line */
    SST_GROWS = 2, /* never decreases: a smaller value is refused with -ERANGE; one number */
};

struct sst_column {
    const char *name;
    enum sst_type type;
    uint32_t count;  /* number of elements */
    uint32_t offset; /* of the field in the struct */
    uint32_t flags;  /* of enum sst_column_flag */
};

/* The column for a field of a struct. The field may be an array. */
#define SST_COLUMN(row, field, type, flags)                                                        \
    {                                                                                              \
#field, (type), (uint32_t)(sizeof(((row *)0)->field) / SST_SIZE(type)),                    \
            (uint32_t)offsetof(row, field), (flags)                                                \
    }

/* ---- opening ---- */

enum sst_design {
    SST_WRITES, /* a put writes the row into the copy of every member */
    SST_READS,  /* a put changes only the member's own row; the other members fetch it */
};

enum sst_flag {
    SST_MANUAL = 1, /* start no thread: the caller's sst_step evaluates predicates, runs triggers
                     * and maintains the membership */
    SST_DROP = 2,   /* drop failed members at once, in a new epoch; else the row of a failed member
                     * stays, frozen, until a member joins or leaves. The same for all members */
};

enum sst_news_kind {
    SST_FAILED = 1, /* row, member: the member died, or cannot be reached, and its row is frozen;
                     * once per row and epoch */
    SST_EPOCH,      /* the members changed; reported after the change */
    SST_STUCK,      /* name, nsec: a trigger of that predicate has been running for so long */
    SST_EXPELLED,   /* the other members excluded this one, or this one cannot reach the majority of
                     * the members and does not go on without them, or its table was founded anew in
                     * a divided network; the table is frozen and no news follow, except SST_STUCK.
                     * Close it, and open it again */
};

struct sst_news {
    enum sst_news_kind kind;
    uint32_t row;
    ripc_id member;
    uint64_t epoch;
    const char *name;
    int64_t nsec;
};

/* Called on the thread that runs the triggers, except for SST_STUCK, which comes from another
 * thread of the library. */
typedef void sst_upcall(struct sst *table, const struct sst_news *news, void *argument);

/* A field that is 0 or NULL takes the default, which its comment gives first. */
struct sst_config {
    uint64_t table;                   /* the name of the table: members that open the same name
                                       * share it; not 0 */
    const struct sst_column *columns; /* copied */
    uint32_t column_count;
    uint32_t row_size;      /* bytes of the struct */
    ripc_id member;         /* id of this member; 0: a random one */
    enum sst_design design; /* the same for all members */
    uint32_t flags;         /* of enum sst_flag */
    uint32_t rows_max;      /* 64; at most SST_ROWS_MAX; the same for all members */
    uint32_t rows_wanted;   /* 1: opening waits until so many members are live */
    int64_t deadline;       /* ten seconds from now: for opening */
    int64_t spin_nsec;      /* how long the detector polls before it yields; < 0: not at all */
    int64_t yield_nsec;     /* how long it then yields before it blocks; < 0: not at all */
    int64_t refresh_nsec;   /* 1 ms: SST_READS between hosts: interval of fetches while nothing
                             * changes */
    int64_t trigger_nsec;   /* 1 s: a trigger that runs longer is reported as SST_STUCK */
    sst_upcall *upcall;     /* or NULL */
    void *argument;         /* passed to the upcall */
    char *reason;           /* RIPC_REASON_MAX bytes; a failing sst_open writes the reason here. Or
                             * NULL */
};

/* Joins the table of that name, or creates it. The context must stay open as long as the table.
 *   -EPROTO     the members use a different row layout or design
 *   -ENOSPC     the table has no free row
 *   -EADDRINUSE a live member has that id
 *   -ENOMEM     not enough memory for the table
 *   -EINVAL     the columns or the config are invalid; `reason` gives details
 *   -ECONNREFUSED a member and this process cannot connect; `reason` gives the rows and the error
 *   -ETIMEDOUT  fewer than rows_wanted members were there at the deadline, or the only members that
 *               can be reached were cut off from their majority, less than about two seconds ago
 * or an error of ripc_bind or ripc_send_message. */
RIPC_API int sst_open(struct ripc *ripc, const struct sst_config *config, struct sst **table);

/* Waits for a running trigger to return, leaves the table in a new epoch and frees it. Always
 * closes. -ETIMEDOUT: the other members will see this as a failure. Not from a trigger
 * (-EDEADLK). */
RIPC_API int sst_close(struct sst *table, int64_t deadline);

/* ---- members ---- */

RIPC_API uint64_t sst_epoch(const struct sst *table);
RIPC_API uint32_t sst_row_own(const struct sst *table);
RIPC_API uint32_t sst_row_count(const struct sst *table); /* highest row of a member, plus 1 */
RIPC_API uint32_t sst_live_count(const struct sst *table);
RIPC_API bool sst_is_live(const struct sst *table, uint32_t row);
RIPC_API ripc_id sst_member(const struct sst *table, uint32_t row); /* 0: the row has no member */
RIPC_API int sst_row_of(const struct sst *table, ripc_id member);   /* -ENOENT: no such member */

/* Declares the member dead, for programs that know it earlier than the library does. Its row is
 * frozen at this member. */
RIPC_API int sst_freeze(struct sst *table, uint32_t row);

/* ---- this member's row ---- */

/* Returns a private image of this member's row, of row_size bytes. Change it freely, then put the
 * columns that changed. */
RIPC_API void *sst_own(struct sst *table);

/* Sets a number in this member's row and in the image, and puts it. -EINVAL: no such column, or the
 * column has several elements; -ERANGE: the value does not fit, or is smaller than before in an
 * SST_GROWS column. */
RIPC_API int sst_set_u64(struct sst *table, uint32_t column, uint64_t value);
RIPC_API int sst_set_i64(struct sst *table, uint32_t column, int64_t value);
RIPC_API int sst_set_f64(struct sst *table, uint32_t column, double value);

/* Part of a column. count 0 means all elements from `first` on. */
struct sst_range {
    uint32_t column;
    uint32_t first;
    uint32_t count;
};

/* A set of rows. */
struct sst_rows {
    uint64_t bits[SST_ROWS_MAX / 64];
};

/* Puts parts of the image to all members. With `to` (SST_WRITES only, else -EOPNOTSUPP) puts them
 * to these members only, whose copies then differ from the others' until the next put. Never
 * waits. */
RIPC_API int sst_put(struct sst *table, const struct sst_range *ranges, unsigned count,
                     const struct sst_rows *to);

/* The same; afterwards sets the column `guard` to `value` and puts it. */
RIPC_API int sst_publish(struct sst *table, const struct sst_range *ranges, unsigned count,
                         uint32_t guard, uint64_t value, const struct sst_rows *to);

/* Waits until everything put before is in the memory of every live member (with SST_READS: in this
 * member's own row, from which the others fetch it). */
RIPC_API int sst_flush(struct sst *table, int64_t deadline);

/* Waits until every live member has called sst_barrier as often as this one. Not from a trigger
 * (-EDEADLK). */
RIPC_API int sst_barrier(struct sst *table, int64_t deadline);

/* ---- reading ---- */

/* Returns the first element of a cell. What its owner put earlier is then visible too. The row and
 * the column must exist; a row without a member reads as 0. */
RIPC_API uint64_t sst_get_u64(const struct sst *table, uint32_t row, uint32_t column);
RIPC_API int64_t sst_get_i64(const struct sst *table, uint32_t row, uint32_t column);
RIPC_API double sst_get_f64(const struct sst *table, uint32_t row, uint32_t column);

/* Returns the elements in place, for data whose guard was read. They may change while being read if
 * their owner puts them again. */
RIPC_API const void *sst_cells(const struct sst *table, uint32_t row, uint32_t column);

/* Copies elements of a column as one put left them.
 *   -EAGAIN  the owner keeps putting, or is still in the middle of a put
 *   -EIO     the owner died in the middle of a put; `to` contains what it left */
RIPC_API int sst_get(const struct sst *table, uint32_t row, const struct sst_range *range,
                     void *to);

/* Copies a whole row, as one put left it, into the struct. Errors as for sst_get. */
RIPC_API int sst_row(const struct sst *table, uint32_t row, void *to);

/* Takes a copy of the table. Each row is as one put left it, or, if its owner died in the middle of
 * a put, as the owner left it. Returns 0 if no row changed while the copy was taken, 1 if rows kept
 * changing, and -EAGAIN as sst_get does. */
struct sst_snapshot;
RIPC_API int sst_snapshot_take(const struct sst *table, struct sst_snapshot **snapshot);
RIPC_API void sst_snapshot_free(struct sst_snapshot *snapshot);
RIPC_API uint64_t sst_snapshot_epoch(const struct sst_snapshot *snapshot);
RIPC_API bool sst_snapshot_is_live(const struct sst_snapshot *snapshot, uint32_t row);
RIPC_API const void *sst_snapshot_row(const struct sst_snapshot *snapshot, uint32_t row);

/* ---- aggregates over the live rows, for columns of one number ---- */

RIPC_API uint64_t sst_minimum_u64(const struct sst *table, uint32_t column);
RIPC_API int64_t sst_minimum_i64(const struct sst *table, uint32_t column);
RIPC_API double sst_minimum_f64(const struct sst *table, uint32_t column);
RIPC_API uint64_t sst_maximum_u64(const struct sst *table, uint32_t column);
RIPC_API int64_t sst_maximum_i64(const struct sst *table, uint32_t column);
RIPC_API double sst_maximum_f64(const struct sst *table, uint32_t column);
RIPC_API uint64_t sst_sum_u64(const struct sst *table, uint32_t column); /* modulo 2^64 */
RIPC_API int64_t sst_sum_i64(const struct sst *table, uint32_t column);
RIPC_API double sst_sum_f64(const struct sst *table, uint32_t column);
RIPC_API bool sst_all_at_least_u64(const struct sst *table, uint32_t column, uint64_t value);
RIPC_API bool sst_all_at_least_i64(const struct sst *table, uint32_t column, int64_t value);
RIPC_API bool sst_all_at_least_f64(const struct sst *table, uint32_t column, double value);
/* Returns the number of rows with at least that value. */
RIPC_API uint32_t sst_count_u64(const struct sst *table, uint32_t column, uint64_t value);
RIPC_API uint32_t sst_count_i64(const struct sst *table, uint32_t column, int64_t value);
RIPC_API uint32_t sst_count_f64(const struct sst *table, uint32_t column, double value);
RIPC_API bool sst_all_equal(const struct sst *table, uint32_t column);

/* ---- predicates ---- */

enum sst_kind {
    SST_ONCE = 1,   /* fires the first time it holds, then is removed */
    SST_RECURRENT,  /* fires each time it is evaluated and holds */
    SST_TRANSITION, /* fires when it holds and did not hold at its previous evaluation */
};

/* Must be pure: reads the table and its argument, and changes nothing. */
typedef bool sst_holds(const struct sst *table, void *argument);

/* May write this member's row, add and remove predicates (also its own), and make any other call
 * that does not wait for a trigger. */
typedef void sst_fire(struct sst *table, void *argument);

/* A predicate is evaluated when it is added, and again whenever one of the columns that it names
 * changes (in any row, this member's too) or the set of live rows changes. A predicate that names
 * no columns is evaluated on every pass and keeps the detector awake. */
struct sst_predicate {
    const char *name; /* for reports; copied; NULL: "predicate" */
    enum sst_kind kind;
    sst_holds *holds;
    sst_fire *fire; /* the first trigger, or NULL */
    void *argument; /* passed to both */
    const uint32_t *columns;
    uint32_t column_count;
};

/* `handle` may be NULL. */
RIPC_API int sst_predicate_add(struct sst *table, const struct sst_predicate *predicate,
                               uint64_t *handle);

/* Adds a trigger, which runs after the existing ones. -ENOENT: no such predicate, or it was
 * removed. */
RIPC_API int sst_trigger_add(struct sst *table, uint64_t handle, sst_fire *fire, void *argument);

/* When this returns, the predicate is no longer evaluated and none of its triggers runs, except the
 * one that made this call. -ENOENT: no such predicate, or it was removed. */
RIPC_API int sst_predicate_remove(struct sst *table, uint64_t handle);

/* Waits until the predicate holds. The calling thread evaluates it for a while, then the detector
 * does. Not from a trigger (-EDEADLK). */
RIPC_API int sst_wait(struct sst *table, sst_holds *holds, void *argument, const uint32_t *columns,
                      uint32_t column_count, int64_t deadline);

/* For SST_MANUAL: handles what has arrived, evaluates predicates and runs triggers. With a deadline
 * it waits until there is something to do. Returns the number of triggers run, -EAGAIN or
 * -ETIMEDOUT. One thread at a time (-EBUSY). */
RIPC_API int sst_step(struct sst *table, int64_t deadline);

/* ---- statistics ---- */

struct sst_stats {
    uint64_t passes;      /* of the detector */
    uint64_t evaluations; /* of predicates */
    uint64_t fires;       /* of triggers */
    uint64_t puts, put_bytes;
    uint64_t fetches;  /* of rows, with SST_READS */
    uint64_t retries;  /* reads that had to be repeated because of a put */
    uint64_t blocks;   /* times the detector went to sleep */
    uint64_t wakes;    /* sleeping members that had to be woken */
    uint64_t failures; /* members that died */
    uint64_t refused;  /* refused requests to join; repeated requests count again */
    uint64_t strange;  /* messages and claims that did not come from a member */
};
RIPC_API int sst_stats(struct sst *table, struct sst_stats *stats);

#ifdef __cplusplus
}
#endif
