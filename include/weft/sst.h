#pragma once
/* sst: a table of state that the members of a group share, with predicates.
 *
 * Every member owns one row and alone writes it; everybody reads all rows from
 * its own memory. Predicates are pure functions of the table; when one holds,
 * its triggers run.
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
 * Rules that hold for every call:
 *  - it returns >= 0, or a negative errno (ripc_strerror explains it); nothing
 *    prints, asserts or exits because of what another member did;
 *  - deadlines are ripc's: absolute, RIPC_NOW, RIPC_FOREVER;
 *  - all calls may come from any thread, from triggers too, except where it says
 *    otherwise; a thread that only reads waits for nobody;
 *  - a row number is the same member's as long as that is a member; rows of
 *    members that left are given to new ones under a later epoch.
 *
 * Order: what a member puts becomes visible at each other member in the order of
 * its puts. A reader that sees a value of one column sees what was put before it
 * in the others: data first and its guard after, by sst_publish or by two calls. Over a
 * fabric a member that cannot keep up gets several puts at once, and then only a column
 * marked SST_GUARD is sure to come after everything that was put before it.
 * A column of one element is read and written whole; wider ones are read whole
 * by sst_get, sst_row and sst_snapshot. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/ripc.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SST_ROWS_MAX    256
#define SST_COLUMNS_MAX 128
#define SST_NAME_MAX    32 /* bytes of a column's name, with its end */

struct sst;

/* ---- rows ---- */

enum sst_type {
    SST_BOOL = 1,
    SST_U8,
    SST_I8,
    SST_BYTES, /* no number: only sst_get and sst_put */
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
    SST_GUARD = 1, /* says that other columns are ready: one element, on a cache line of its own */
    SST_GROWS = 2, /* never falls: a smaller value is refused with -ERANGE; one number */
};

struct sst_column {
    const char *name;
    enum sst_type type;
    uint32_t count;  /* elements */
    uint32_t offset; /* in the struct */
    uint32_t flags;  /* of enum sst_column_flag */
};

/* The column for a field of a struct, an array or not. */
#define SST_COLUMN(row, field, type, flags)                                                        \
    {                                                                                              \
#field, (type), (uint32_t)(sizeof(((row *)0)->field) / SST_SIZE(type)),                    \
            (uint32_t)offsetof(row, field), (flags)                                                \
    }

/* ---- opening ---- */

enum sst_design {
    SST_WRITES, /* a put writes the row into every member's copy */
    SST_READS,  /* a put changes the own row; the others fetch it */
};

enum sst_flag {
    SST_MANUAL = 1, /* no thread: the caller's sst_step evaluates, fires and keeps the members */
    SST_DROP = 2,   /* who failed is dropped under a new epoch at once; else its row stays, frozen,
                     * until somebody joins or leaves; the same for all members */
};

enum sst_news_kind {
    SST_FAILED = 1, /* row, member: it died and its row is frozen; once per row and epoch */
    SST_EPOCH,      /* the members changed; called after the change */
    SST_STUCK,      /* name, nsec: a trigger of that predicate runs for so long already */
    SST_EXPELLED,   /* the others went on without us: the table is frozen */
};

struct sst_news {
    enum sst_news_kind kind;
    uint32_t row;
    ripc_id member;
    uint64_t epoch;
    const char *name;
    int64_t nsec;
};

/* Called where triggers run, but SST_STUCK, which a thread of the library tells. */
typedef void sst_upcall(struct sst *table, const struct sst_news *news, void *argument);

/* Zero or NULL anywhere means the default. */
struct sst_config {
    uint64_t table;                   /* its name: whoever opens the same meets in it; not 0 */
    const struct sst_column *columns; /* copied */
    uint32_t column_count;
    uint32_t row_size;      /* of the struct */
    ripc_id member;         /* our name; 0: a random one */
    enum sst_design design; /* the same for all members */
    uint32_t flags;         /* of enum sst_flag */
    uint32_t rows_max;      /* 64; at most SST_ROWS_MAX; the same for all */
    uint32_t rows_wanted;   /* 1: opening waits until so many members live */
    int64_t deadline;       /* for opening; 0: ten seconds */
    int64_t spin_nsec;      /* how long the detector polls before it yields; < 0: at once */
    int64_t yield_nsec;     /* how long it yields before it blocks; < 0: at once */
    int64_t refresh_nsec;   /* 1 ms: SST_READS over a fabric, between fetches of a resting table */
    int64_t trigger_nsec;   /* 1 s: a trigger that runs longer is reported */
    sst_upcall *upcall;     /* or NULL */
    void *argument;         /* of the upcall */
    char *reason;           /* RIPC_REASON_MAX bytes where a failing open says why, or NULL */
};

/* Joins the table of that name, or founds it. The context must outlive it.
 *   -EPROTO     the members' rows are laid out otherwise, or their design is another
 *   -ENOSPC     the table has no row left
 *   -EADDRINUSE a member of that name lives
 *   -ENOMEM     it is larger than the memory that is free
 *   -EINVAL     the columns or the config are wrong; `reason` says how
 *   -ETIMEDOUT  not everybody was there until the deadline */
RIPC_API int sst_open(struct ripc *ripc, const struct sst_config *config, struct sst **table);

/* Waits for a trigger that runs, leaves under a new epoch and frees the table. Always
 * closes; -ETIMEDOUT: the others will see it as a failure. Not from a trigger (-EDEADLK). */
RIPC_API int sst_close(struct sst *table, int64_t deadline);

/* ---- members ---- */

RIPC_API uint64_t sst_epoch(const struct sst *table);
RIPC_API uint32_t sst_row_own(const struct sst *table);
RIPC_API uint32_t sst_row_count(const struct sst *table); /* the highest row of a member, and one */
RIPC_API uint32_t sst_live_count(const struct sst *table);
RIPC_API bool sst_is_live(const struct sst *table, uint32_t row);
RIPC_API ripc_id sst_member(const struct sst *table, uint32_t row); /* 0: nobody's */
RIPC_API int sst_row_of(const struct sst *table, ripc_id member);   /* -ENOENT */

/* For programs that know better: the member is dead. Its row is frozen here. */
RIPC_API int sst_freeze(struct sst *table, uint32_t row);

/* ---- the own row ---- */

/* A private image of the own row, of row_size bytes: change it at will, then put
 * the columns that changed. */
RIPC_API void *sst_own(struct sst *table);

/* Sets a number of the own row (in the image too) and puts it. -EINVAL: no such
 * column, or it has more than one element; -ERANGE: it does not fit, or falls. */
RIPC_API int sst_set_u64(struct sst *table, uint32_t column, uint64_t value);
RIPC_API int sst_set_i64(struct sst *table, uint32_t column, int64_t value);
RIPC_API int sst_set_f64(struct sst *table, uint32_t column, double value);

/* Part of a column; count 0: all of it from `first` on. */
struct sst_range {
    uint32_t column;
    uint32_t first;
    uint32_t count;
};

/* A set of rows. */
struct sst_rows {
    uint64_t bits[SST_ROWS_MAX / 64];
};

/* Puts parts of the image to all members, or (SST_WRITES only, else -EOPNOTSUPP) to
 * some, whose copies then differ from the others' until the next put. It never
 * waits. */
RIPC_API int sst_put(struct sst *table, const struct sst_range *ranges, unsigned count,
                     const struct sst_rows *to);

/* The same, and then the guard, which it sets to `value`. */
RIPC_API int sst_publish(struct sst *table, const struct sst_range *ranges, unsigned count,
                         uint32_t guard, uint64_t value, const struct sst_rows *to);

/* Waits until all that was put before is in the memory of every live member
 * (SST_READS: of this one, where they fetch it). */
RIPC_API int sst_flush(struct sst *table, int64_t deadline);

/* Waits until every live member has called it as often as this one. Not from a
 * trigger (-EDEADLK). */
RIPC_API int sst_barrier(struct sst *table, int64_t deadline);

/* ---- reading ---- */

/* One number, of the first element: whatever was put before it is visible. The row
 * and the column must exist; of rows without a member it is 0. */
RIPC_API uint64_t sst_get_u64(const struct sst *table, uint32_t row, uint32_t column);
RIPC_API int64_t sst_get_i64(const struct sst *table, uint32_t row, uint32_t column);
RIPC_API double sst_get_f64(const struct sst *table, uint32_t row, uint32_t column);

/* Elements in place, for data whose guard was read: they may change under the
 * reader as soon as their owner puts them again. */
RIPC_API const void *sst_cells(const struct sst *table, uint32_t row, uint32_t column);

/* Elements of a column as one put left them.
 *   -EAGAIN  its owner put again and again, or stays in the middle of a put
 *   -EIO     its owner died in the middle of a put; what it left is in `to` */
RIPC_API int sst_get(const struct sst *table, uint32_t row, const struct sst_range *range,
                     void *to);

/* A whole row as one put left it, as the struct. As sst_get. */
RIPC_API int sst_row(const struct sst *table, uint32_t row, void *to);

/* A copy of the table. Each row is as one put left it (or as its owner left it when it
 * died in the middle of one). Returns 0 if moreover no row changed while it was taken, 1 if
 * they never rested for that long, and -EAGAIN as sst_get. */
struct sst_snapshot;
RIPC_API int sst_snapshot_take(const struct sst *table, struct sst_snapshot **snapshot);
RIPC_API void sst_snapshot_free(struct sst_snapshot *snapshot);
RIPC_API uint64_t sst_snapshot_epoch(const struct sst_snapshot *snapshot);
RIPC_API bool sst_snapshot_is_live(const struct sst_snapshot *snapshot, uint32_t row);
RIPC_API const void *sst_snapshot_row(const struct sst_snapshot *snapshot, uint32_t row);

/* ---- aggregates over the live rows, of columns of one number ---- */

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
/* How many rows have at least that. */
RIPC_API uint32_t sst_count_u64(const struct sst *table, uint32_t column, uint64_t value);
RIPC_API uint32_t sst_count_i64(const struct sst *table, uint32_t column, int64_t value);
RIPC_API uint32_t sst_count_f64(const struct sst *table, uint32_t column, double value);
RIPC_API bool sst_all_equal(const struct sst *table, uint32_t column);

/* ---- predicates ---- */

enum sst_kind {
    SST_ONCE = 1,   /* fires the first time it holds, and is removed */
    SST_RECURRENT,  /* fires whenever it is evaluated and holds */
    SST_TRANSITION, /* fires when it holds and did not when it was last evaluated */
};

/* Pure: it reads the table and its argument, and changes nothing. */
typedef bool sst_holds(const struct sst *table, void *argument);

/* May set the own row, add and remove predicates (this one too), and whatever else
 * does not wait for a trigger. */
typedef void sst_fire(struct sst *table, void *argument);

/* It is evaluated when it was added, and again when a column it names (of any row,
 * our own too) or the set of live rows changed; one that names none is evaluated
 * on every pass, and keeps the detector awake. */
struct sst_predicate {
    const char *name; /* for reports; copied; NULL: "predicate" */
    enum sst_kind kind;
    sst_holds *holds;
    sst_fire *fire; /* the first trigger, or NULL */
    void *argument; /* of both */
    const uint32_t *columns;
    uint32_t column_count;
};

/* The handle may be NULL. */
RIPC_API int sst_predicate_add(struct sst *table, const struct sst_predicate *predicate,
                               uint64_t *handle);

/* One more trigger, after those it has. -ENOENT: no such predicate (any more). */
RIPC_API int sst_trigger_add(struct sst *table, uint64_t handle, sst_fire *fire, void *argument);

/* When it returns the predicate is not evaluated any more and none of its triggers
 * runs, but the one that calls this. -ENOENT as above. */
RIPC_API int sst_predicate_remove(struct sst *table, uint64_t handle);

/* Waits until it holds; evaluated by this thread for a while, and then where predicates are. Not
 * from a trigger (-EDEADLK). */
RIPC_API int sst_wait(struct sst *table, sst_holds *holds, void *argument, const uint32_t *columns,
                      uint32_t column_count, int64_t deadline);

/* For SST_MANUAL: takes what came, evaluates and fires; with a deadline it waits until
 * there was something to do. Returns how many triggers it fired, or -EAGAIN or -ETIMEDOUT. One
 * thread at a time (-EBUSY). */
RIPC_API int sst_step(struct sst *table, int64_t deadline);

/* ---- looking inside ---- */

struct sst_stats {
    uint64_t passes;      /* of the detector */
    uint64_t evaluations; /* of predicates */
    uint64_t fires;       /* of triggers */
    uint64_t puts, put_bytes;
    uint64_t fetches;  /* of rows, SST_READS */
    uint64_t retries;  /* reads that met a put */
    uint64_t blocks;   /* times the detector went to sleep */
    uint64_t wakes;    /* members that slept and were woken */
    uint64_t failures; /* members that died */
    uint64_t refused;  /* refusals to let one in; who asks again is counted again */
    uint64_t strange;  /* messages and claims that were no member's to make */
};
RIPC_API int sst_stats(struct sst *table, struct sst_stats *stats);

#ifdef __cplusplus
}
#endif
