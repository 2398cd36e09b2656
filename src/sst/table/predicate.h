#pragma once
/* predicate: conditions on the table, and what is done when they hold.
 *
 * A pass looks at one word of each column that some predicate names, in each live row,
 * and compares it with what it was. Only predicates that name a column with a change are
 * evaluated; while nothing changes a pass is that loop and no more. Who knows which rows
 * changed has just those looked at, so that one row of thousands costs no more than one of few.
 *
 * Triggers may add and remove predicates, also the one they belong to: what is removed
 * is never called again and freed when the pass is over; what is added comes up in the next
 * pass. One call at a time, but those made by triggers. Pure. */

#include "sst/table/table.h"

/* What a predicate may name besides columns. */
#define PREDICATE_BARRIER SST_COLUMNS_MAX
#define PREDICATE_WORDS   (SST_COLUMNS_MAX / 64 + 1)

#define PREDICATE_NO_INDEX UINT32_MAX

struct predicate;
struct column_watch;

struct predicates {
    const struct table *table; /* borrowed */
    struct predicate **order;  /* in the order in which they were added */
    uint32_t count;            /* of order, removed ones too */
    uint32_t capacity;         /* of order */
    uint32_t removed;          /* of order */
    uint32_t eager;            /* of order: evaluated on every pass */
    uint64_t handle_last;
    uint64_t fired_last;          /* whose name stands in running_name */
    struct column_watch *watches; /* columns that somebody names */
    uint32_t watch_count;
    const uint8_t **live_rows; /* of the table, one after the other */
    uint32_t live_count;
    uint32_t *live_index; /* of each row in live_rows, or PREDICATE_NO_INDEX */
    bool in_pass;
    bool refresh; /* evaluate all: the live rows changed */
    bool fresh;   /* evaluate those that are new */
    uint64_t passes, evaluations, fires;
    /* The trigger that runs, for a thread that watches over it: counted up before and after
     * each, odd while one runs. It becomes odd with release: the name was stored before. Written by
     * the pass only. */
    _Atomic uint64_t running;
    _Atomic uint64_t running_name[SST_NAME_MAX / 8];
};

MUST_CHECK int predicates_init(struct predicates *predicates, const struct table *table);
void predicates_fini(struct predicates *predicates);

/* Columns are checked: -EINVAL; -ENOMEM. The callbacks get `sst` as their table. */
MUST_CHECK int predicates_add(struct predicates *predicates, const struct sst_predicate *predicate,
                              uint64_t *handle);
int predicates_trigger(struct predicates *predicates, uint64_t handle, sst_fire *fire,
                       void *argument);
int predicates_remove(struct predicates *predicates, uint64_t handle); /* -ENOENT */

/* The live rows are others: between two passes only. */
void predicates_rows_changed(struct predicates *predicates);

/* One pass. Returns how many predicates were evaluated. */
int predicates_pass(struct predicates *predicates, struct sst *sst);

/* The same for who knows that no other row has changed since the last pass. Rows may be named
 * twice, in any order, and those that are not live are passed over. A column that is being
 * written does not count yet: its row is to be named again once it is whole. */
int predicates_pass_rows(struct predicates *predicates, struct sst *sst, const uint32_t *rows,
                         uint32_t count);

/* From any thread: is a trigger running, and of which predicate? The number tells this run from
 * others; 0: none is. */
uint64_t predicates_running(const struct predicates *predicates, char name[SST_NAME_MAX]);

/* Would a pass evaluate something? */
bool predicates_are_due(struct predicates *predicates);
