#include "sst/table/predicate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitset.h"
#include "base/check.h"
#include "sst/table/row.h"

struct trigger {
    struct trigger *next;
    sst_fire *fire;
    void *argument;
};

struct predicate {
    uint64_t handle;
    enum sst_kind kind;
    sst_holds *holds;
    void *argument;
    struct trigger *triggers;          /* in the order in which they were added */
    uint64_t columns[PREDICATE_WORDS]; /* the columns that it names, a bit each */
    bool eager;                        /* it names no column */
    bool fresh;                        /* not evaluated yet */
    bool held;                         /* when it was last evaluated */
    bool removed;
    union {
        char name[SST_NAME_MAX];
        uint64_t name_words[SST_NAME_MAX / 8];
    };
};

/* A word that a pass compares in every live row. */
struct column_watch {
    uint32_t column;
    uint32_t offset;
    bool wide; /* a sequence word: odd while its elements change */
    uint32_t users;
    uint64_t *seen; /* the previous values, by index in live_rows; allocated on first use, and kept
                       for the next watch in this slot */
};

int predicates_init(struct predicates *predicates, const struct table *table)
{
    *predicates = (struct predicates){.table = table};
    predicates->watches = calloc(table->schema.column_count + 1, sizeof *predicates->watches);
    predicates->live_rows = calloc(table->rows_max, sizeof *predicates->live_rows);
    predicates->live_index = calloc(table->rows_max, sizeof *predicates->live_index);
    if (!predicates->watches || !predicates->live_rows || !predicates->live_index) {
        predicates_fini(predicates);
        return -ENOMEM;
    }
    memset(predicates->live_index, 0xff, table->rows_max * sizeof *predicates->live_index);
    return 0;
}

static void predicate_free(struct predicate *predicate)
{
    struct trigger *next;
    for (struct trigger *trigger = predicate->triggers; trigger; trigger = next) {
        next = trigger->next;
        free(trigger);
    }
    free(predicate);
}

void predicates_fini(struct predicates *predicates)
{
    assert(!predicates->in_pass);
    for (uint32_t i = 0; i < predicates->count; i++)
        predicate_free(predicates->order[i]);
    free(predicates->order);
    for (uint32_t i = 0; predicates->watches && i <= predicates->table->schema.column_count; i++)
        free(predicates->watches[i].seen);
    free(predicates->watches);
    free(predicates->live_rows);
    free(predicates->live_index);
    *predicates = (struct predicates){0};
}

/* ---- watches ---- */

static void watch_reset(struct predicates *predicates, struct column_watch *watch)
{
    for (uint32_t i = 0; i < predicates->live_count; i++)
        watch->seen[i] = row_load(predicates->live_rows[i], watch->offset);
}

/* -ENOMEM */
static int watch_use(struct predicates *predicates, uint32_t column)
{
    for (uint32_t i = 0; i < predicates->watch_count; i++)
        if (predicates->watches[i].column == column) {
            predicates->watches[i].users++;
            return 0;
        }
    struct column_watch *watch = &predicates->watches[predicates->watch_count];
    if (!watch->seen)
        watch->seen = calloc(predicates->table->rows_max, sizeof *watch->seen);
    if (!watch->seen)
        return -ENOMEM;
    predicates->watch_count++;
    const struct schema_column *of = &predicates->table->schema.columns[column];
    watch->column = column;
    watch->users = 1;
    watch->offset = column == PREDICATE_BARRIER ? (uint32_t)ROW_BARRIER : of->watch;
    watch->wide = column != PREDICATE_BARRIER && !schema_is_number(of);
    watch_reset(predicates, watch);
    return 0;
}

static void watch_unuse(struct predicates *predicates, uint32_t column)
{
    uint32_t i = 0;
    while (predicates->watches[i].column != column)
        i++;
    assert(i < predicates->watch_count);
    if (--predicates->watches[i].users > 0)
        return;
    struct column_watch gone = predicates->watches[i];
    predicates->watches[i] = predicates->watches[--predicates->watch_count];
    predicates->watches[predicates->watch_count] = gone; /* keeps its `seen` array for reuse */
}

/* ---- adding and removing ---- */

static int columns_check(const struct predicates *predicates, const struct sst_predicate *predicate)
{
    for (uint32_t i = 0; i < predicate->column_count; i++)
        if (predicate->columns[i] >= predicates->table->schema.column_count &&
            predicate->columns[i] != PREDICATE_BARRIER)
            return -EINVAL;
    return 0;
}

static bool order_has_room(struct predicates *predicates)
{
    if (predicates->count < predicates->capacity)
        return true;
    uint32_t capacity = predicates->capacity ? 2 * predicates->capacity : 16;
    struct predicate **order = realloc(predicates->order, capacity * sizeof *order);
    if (!order)
        return false;
    predicates->order = order;
    predicates->capacity = capacity;
    return true;
}

static int trigger_append(struct predicate *predicate, sst_fire *fire, void *argument)
{
    struct trigger *trigger = calloc(1, sizeof *trigger);
    if (!trigger)
        return -ENOMEM;
    *trigger = (struct trigger){.fire = fire, .argument = argument};
    struct trigger **end = &predicate->triggers;
    while (*end)
        end = &(*end)->next;
    *end = trigger;
    return 0;
}

static void columns_unuse(struct predicates *predicates, const struct predicate *predicate)
{
    for (uint32_t column = 0; column <= PREDICATE_BARRIER; column++)
        if (bitset_has(predicate->columns, column))
            watch_unuse(predicates, column);
}

/* Watches all columns that `from` names, or none. */
static int columns_use(struct predicates *predicates, struct predicate *predicate,
                       const struct sst_predicate *from)
{
    for (uint32_t i = 0; i < from->column_count; i++) {
        uint32_t column = from->columns[i];
        if (bitset_has(predicate->columns, column))
            continue; /* named twice */
        if (watch_use(predicates, column)) {
            columns_unuse(predicates, predicate);
            return -ENOMEM;
        }
        bitset_add(predicate->columns, column);
    }
    return 0;
}

int predicates_add(struct predicates *predicates, const struct sst_predicate *from,
                   uint64_t *handle)
{
    if (!from->holds || from->kind < SST_ONCE || from->kind > SST_TRANSITION ||
        (from->column_count && !from->columns) || columns_check(predicates, from))
        return -EINVAL;
    struct predicate *predicate = calloc(1, sizeof *predicate);
    if (!predicate || !order_has_room(predicates) ||
        (from->fire && trigger_append(predicate, from->fire, from->argument)) ||
        columns_use(predicates, predicate, from)) {
        if (predicate)
            predicate_free(predicate);
        return -ENOMEM;
    }
    predicate->handle = ++predicates->handle_last;
    predicate->kind = from->kind;
    predicate->holds = from->holds;
    predicate->argument = from->argument;
    predicate->eager = from->column_count == 0;
    predicate->fresh = true;
    const char *name = from->name ? from->name : "predicate";
    strncpy(predicate->name, name, sizeof predicate->name - 1);
    predicates->order[predicates->count++] = predicate;
    predicates->eager += predicate->eager;
    predicates->fresh = true;
    if (handle)
        *handle = predicate->handle;
    return 0;
}

static struct predicate *predicate_find(struct predicates *predicates, uint64_t handle)
{
    for (uint32_t i = 0; i < predicates->count; i++)
        if (predicates->order[i]->handle == handle && !predicates->order[i]->removed)
            return predicates->order[i];
    return NULL;
}

int predicates_trigger(struct predicates *predicates, uint64_t handle, sst_fire *fire,
                       void *argument)
{
    struct predicate *predicate = predicate_find(predicates, handle);
    if (!predicate)
        return -ENOENT;
    return fire ? trigger_append(predicate, fire, argument) : -EINVAL;
}

static void predicate_remove(struct predicates *predicates, struct predicate *predicate)
{
    predicate->removed = true;
    predicates->removed++;
    predicates->eager -= predicate->eager;
    columns_unuse(predicates, predicate);
}

/* Frees the removed predicates. */
static void order_compact(struct predicates *predicates)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < predicates->count; i++) {
        if (predicates->order[i]->removed)
            predicate_free(predicates->order[i]);
        else
            predicates->order[kept++] = predicates->order[i];
    }
    predicates->count = kept;
    predicates->removed = 0;
}

int predicates_remove(struct predicates *predicates, uint64_t handle)
{
    struct predicate *predicate = predicate_find(predicates, handle);
    if (!predicate)
        return -ENOENT;
    predicate_remove(predicates, predicate);
    if (!predicates->in_pass)
        order_compact(predicates);
    return 0;
}

/* ---- a pass ---- */

void predicates_rows_changed(struct predicates *predicates)
{
    assert(!predicates->in_pass);
    const struct table *table = predicates->table;
    predicates->live_count = 0;
    memset(predicates->live_index, 0xff, table->rows_max * sizeof *predicates->live_index);
    for (uint32_t row = 0; table_next_live(table, &row); row++) {
        predicates->live_index[row] = predicates->live_count;
        predicates->live_rows[predicates->live_count++] = table_row(table, row);
    }
    for (uint32_t i = 0; i < predicates->watch_count; i++)
        watch_reset(predicates, &predicates->watches[i]);
    predicates->refresh = true;
}

/* Did the word change in one of `count` rows? A column that is being written counts as unchanged;
 * the next pass looks at it again. */
static inline __attribute__((always_inline)) bool
watch_has_changed(const struct column_watch *watch, const uint8_t *const *rows, uint32_t first,
                  uint32_t count)
{
    bool changed = false;
    bool wide = watch->wide;
    uint32_t offset = watch->offset;
    uint64_t *seen = watch->seen;
    for (uint32_t i = first; i < first + count; i++) {
        uint64_t word = row_load(rows[i], offset);
        if (word == seen[i] || (wide && (word & 1)))
            continue;
        seen[i] = word;
        changed = true;
    }
    return changed;
}

static void changed_set(uint64_t changed[PREDICATE_WORDS], const struct column_watch *watch)
{
    bitset_add(changed, watch->column);
}

/* Collects the columns that changed in some live row, a bit each. */
static bool watches_check(struct predicates *predicates, uint64_t changed[PREDICATE_WORDS])
{
    bool any = false;
    for (uint32_t i = 0; i < predicates->watch_count; i++) {
        struct column_watch *watch = &predicates->watches[i];
        if (!watch_has_changed(watch, predicates->live_rows, 0, predicates->live_count))
            continue;
        changed_set(changed, watch);
        any = true;
    }
    return any;
}

/* Like watches_check, for one row. */
static bool watches_check_row(struct predicates *predicates, uint32_t row,
                              uint64_t changed[PREDICATE_WORDS])
{
    bool any = false;
    uint32_t index = predicates->live_index[row];
    if (index == PREDICATE_NO_INDEX)
        return false;
    for (uint32_t i = 0; i < predicates->watch_count; i++) {
        struct column_watch *watch = &predicates->watches[i];
        if (!watch_has_changed(watch, predicates->live_rows, index, 1))
            continue;
        changed_set(changed, watch);
        any = true;
    }
    return any;
}

/* Runs the triggers in order. Predicates that a trigger removes are freed only after the pass. */
static void predicate_fire(struct predicates *predicates, struct predicate *predicate,
                           struct sst *sst)
{
    uint64_t running = atomic_load_explicit(&predicates->running, memory_order_relaxed);
    row_fence_store(); /* a thread that sees the new name also sees that the previous run is over */
    for (unsigned i = 0; i < SST_NAME_MAX / 8 && predicates->fired_last != predicate->handle; i++)
        atomic_store_explicit(&predicates->running_name[i], predicate->name_words[i], ROW_STORE);
    predicates->fired_last = predicate->handle;
    atomic_store_explicit(&predicates->running, running + 1, memory_order_release);
    for (struct trigger *trigger = predicate->triggers; trigger; trigger = trigger->next) {
        predicates->fires++;
        trigger->fire(sst, trigger->argument);
        if (predicate->removed && predicate->kind != SST_ONCE)
            break;
    }
    atomic_store_explicit(&predicates->running, running + 2, ROW_STORE);
}

static void predicate_evaluate(struct predicates *predicates, struct predicate *predicate,
                               struct sst *sst)
{
    bool before = predicate->held;
    predicate->fresh = false;
    predicates->evaluations++;
    predicate->held = predicate->holds(sst, predicate->argument);
    if (!predicate->held || (predicate->kind == SST_TRANSITION && before))
        return;
    if (predicate->kind == SST_ONCE)
        predicate_remove(predicates, predicate);
    predicate_fire(predicates, predicate, sst);
}

static bool predicate_is_due(const struct predicate *predicate,
                             const uint64_t changed[PREDICATE_WORDS])
{
    uint64_t common = 0;
    for (unsigned i = 0; i < PREDICATE_WORDS; i++)
        common |= predicate->columns[i] & changed[i];
    return !predicate->removed && (common || predicate->eager || predicate->fresh);
}

/* Evaluates what is due after the comparison of the rows. Inlined, because an idle pass consists of
 * little else. */
static inline __attribute__((always_inline)) int predicates_run(struct predicates *predicates,
                                                                struct sst *sst, bool any,
                                                                uint64_t changed[PREDICATE_WORDS])
{
    if (predicates->refresh)
        memset(changed, 0xff, PREDICATE_WORDS * sizeof *changed);
    else if (!any && !predicates->eager && !predicates->fresh)
        return 0;
    predicates->refresh = false;
    predicates->fresh = false;
    row_fence_load(); /* everything put before the changed words is visible */
    predicates->in_pass = true;
    uint64_t before = predicates->evaluations;
    uint32_t count =
        predicates->count; /* predicates added meanwhile are evaluated in the next pass */
    for (uint32_t i = 0; i < count; i++)
        if (predicate_is_due(predicates->order[i], changed))
            predicate_evaluate(predicates, predicates->order[i], sst);
    predicates->in_pass = false;
    if (predicates->removed)
        order_compact(predicates);
    return (int)(predicates->evaluations - before);
}

int predicates_pass(struct predicates *predicates, struct sst *sst)
{
    uint64_t changed[PREDICATE_WORDS] = {0};
    predicates->passes++;
    bool any = watches_check(predicates, changed);
    return predicates_run(predicates, sst, any, changed);
}

int predicates_pass_rows(struct predicates *predicates, struct sst *sst, const uint32_t *rows,
                         uint32_t count)
{
    uint64_t changed[PREDICATE_WORDS] = {0};
    bool any = false;
    predicates->passes++;
    for (uint32_t i = 0; i < count; i++) {
        assert(rows[i] < predicates->table->rows_max);
        any |= watches_check_row(predicates, rows[i], changed);
    }
    return predicates_run(predicates, sst, any, changed);
}

uint64_t predicates_running(const struct predicates *predicates, char name[SST_NAME_MAX])
{
    uint64_t words[SST_NAME_MAX / 8];
    uint64_t running = atomic_load_explicit(&predicates->running, memory_order_acquire);
    for (unsigned i = 0; i < SST_NAME_MAX / 8; i++)
        words[i] = atomic_load_explicit(&predicates->running_name[i], ROW_LOAD);
    row_fence_load();
    memcpy(name, words, sizeof words);
    bool same = atomic_load_explicit(&predicates->running, memory_order_relaxed) == running;
    return same && (running & 1) ? running : 0;
}

bool predicates_are_due(struct predicates *predicates)
{
    if (predicates->refresh || predicates->fresh || predicates->eager)
        return true;
    for (uint32_t i = 0; i < predicates->watch_count; i++) {
        const struct column_watch *watch = &predicates->watches[i];
        for (uint32_t j = 0; j < predicates->live_count; j++) {
            uint64_t word = row_load(predicates->live_rows[j], watch->offset);
            if (word != watch->seen[j] && !(watch->wide && (word & 1)))
                return true;
        }
    }
    return false;
}
