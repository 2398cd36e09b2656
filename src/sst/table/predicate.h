#pragma once
/* predicate: conditions on the table, and the triggers that run when they hold.
 *
 * A pass reads one word of each column that some predicate names, in each live row, and compares it
 * with its previous value. It evaluates only predicates that name a changed column; while nothing
 * changes, a pass is only that loop. A caller that knows which rows changed can have just those
 * rows compared, so that the cost does not grow with the number of rows.
 *
 * Triggers may add and remove predicates, even their own. A removed predicate is never called again
 * and is freed at the end of the pass; an added one is first evaluated in the next pass. One call
 * at a time, except calls from triggers. Pure. */

#include "sst/table/table.h"

/* A predicate may name this like a column: it stands for the barrier in the head of the rows. */
#define PREDICATE_BARRIER SST_COLUMNS_MAX
#define PREDICATE_WORDS   (SST_COLUMNS_MAX / 64 + 1)

#define PREDICATE_NO_INDEX UINT32_MAX

struct predicate;
struct column_watch;

struct predicates {
    const struct table *table; /* borrowed */
    struct predicate **order;  /* in the order in which they were added */
    uint32_t count;            /* of `order`, including removed predicates */
    uint32_t capacity;
    uint32_t removed; /* of `order`: removed predicates */
    uint32_t eager;   /* of `order`: predicates that every pass evaluates */
    uint64_t handle_last;
    uint64_t fired_last;          /* the handle of the predicate whose name is in running_name */
    struct column_watch *watches; /* the columns that predicates name */
    uint32_t watch_count;
    const uint8_t **live_rows; /* addresses of the live rows of the table */
    uint32_t live_count;
    uint32_t *live_index; /* of each row in live_rows, or PREDICATE_NO_INDEX */
    bool in_pass;
    bool refresh; /* evaluate all predicates: the set of live rows changed */
    bool fresh;   /* there are predicates that were never evaluated */
    uint64_t passes, evaluations, fires;
    /* Shows the running trigger to a thread that supervises it. Only the pass writes it: it adds 1
     * before and after the triggers of a predicate run, so the number is odd while they run. The
     * store of the odd number releases the name, which was stored before. */
    _Atomic uint64_t running;
    _Atomic uint64_t running_name[SST_NAME_MAX / 8];
};

MUST_CHECK int predicates_init(struct predicates *predicates, const struct table *table);
void predicates_fini(struct predicates *predicates);

/* Returns -EINVAL for an unknown column or an invalid predicate, or -ENOMEM. */
MUST_CHECK int predicates_add(struct predicates *predicates, const struct sst_predicate *predicate,
                              uint64_t *handle);
int predicates_trigger(struct predicates *predicates, uint64_t handle, sst_fire *fire,
                       void *argument);
int predicates_remove(struct predicates *predicates, uint64_t handle); /* -ENOENT */

/* To be called when the set of live rows changed; only between two passes. */
void predicates_rows_changed(struct predicates *predicates);

/* Runs one pass and passes `sst` to the callbacks. Returns how many predicates were evaluated. */
int predicates_pass(struct predicates *predicates, struct sst *sst);

/* Like predicates_pass, for a caller that knows that no other row has changed since the last pass.
 * A row may be named twice, in any order; rows that are not live are ignored. A column that is
 * being written does not count as changed yet: its row must be named again once the write is
 * complete. */
int predicates_pass_rows(struct predicates *predicates, struct sst *sst, const uint32_t *rows,
                         uint32_t count);

/* From any thread: stores the name of the predicate whose triggers run, and returns a number that
 * identifies this run; 0: no trigger runs. */
uint64_t predicates_running(const struct predicates *predicates, char name[SST_NAME_MAX]);

/* Would a pass evaluate a predicate? */
bool predicates_are_due(struct predicates *predicates);
