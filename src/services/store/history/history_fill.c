/* history_fill: goes through the states of a line, and keeps all *ways* in which unknown operations
 * can have led there.
 *
 * Unknown operations that are alike but for their beginning are a *sort*; a way says how many of
 * each it has used, the first ones first. A way to the next state is, mostly, its maker. Between
 * two states, unknown operations may make others that no answer reports (*hidden* ones). They are
 * tried only where they can be needed:
 *
 * - an absence is due and has no place yet;
 * - the maker of the next state is an unknown operation, or does not fit the state before;
 * - the value of the next state follows from the one before, no answer shows it, and it matters.
 *
 * The store itself may make a hidden state, too, by removing a key that has expired. An expiry can
 * come from an unknown operation; so, if there is one that sets it, hidden states are also tried
 * before a maker that keeps the expiry.
 *
 * A value matters if the next maker needs it, and if it is not larger than the one that must come
 * of it. Otherwise it is forgotten, so that ways that differ only in it become one.
 *
 * Where a value matters, any sequence of unknown operations may have led to it. So the hidden
 * states between two states whose values are known are first limited in number. If the history is
 * fine with that, it is fine; if it is wrong and no way was left out, it is wrong; else the limit
 * rises.
 *
 * An unknown operation that began after an absence was answered comes after it, so that absence
 * must have its place before. The same is true of every operation. Hence the limits that use
 * absences[].answered_min. */

#include "services/store/history/history_fill_impl.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "base/compare.h"

/* More ways than that, or more work, are not tried. Work is about one per number compared or
 * copied: some seconds. */
#define WAYS_MAX  4096
#define WORK_MAX  UINT64_C(1000000000)
#define DEPTH_ANY UINT32_MAX

/* A value that some state has of which the maker is not known. */
struct wanted {
    struct history_value value;
    uint32_t demand; /* so many states have it */
    uint32_t supply; /* so many unknown puts write it */
};

struct unknown {
    const struct history_op *op;
    /* What makes operations different; void fields are 0. */
    struct history_value value;
    uint64_t delta, if_version;
    enum history_condition condition;
    bool is_wanted; /* it writes a value of which some state lacks the maker */
    bool is_spare;  /* there are more puts of that value than such states */
};

/* Sorts that do the same under different conditions stand together, the strictest first. */
struct sort {
    uint32_t first, count; /* part of fill.unknown, by beginning */
    bool is_alike;         /* it does the same as the sort before it */
    uint64_t version_max;  /* after this version it can have no effect */
};

struct way {
    struct history_state state;
    uint32_t placed; /* so many absences, the first ones, have their place */
    uint64_t hidden; /* hidden states since the last state of the line */
    uint32_t depth;  /* those that count for fill.depth_max */
    uint32_t *used;  /* owned: of each sort */
};

struct ways {
    struct way *items; /* owned */
    size_t count, capacity;
    uint64_t version; /* of the last state of the line on these ways */
};

struct fill {
    const struct line *line;
    struct unknown *unknown;
    uint32_t unknown_count;
    struct sort *sorts;
    uint32_t sort_count;
    struct wanted *wanted;
    uint32_t wanted_count;
    bool has_rewrites, has_unknown_rewrites, has_unknown_counts;
    bool has_expiry, has_unknown_expiry;
    bool *matters;   /* does the value of that state matter to the maker of the next one? */
    uint64_t *sizes; /* then values above this size do not */
    uint32_t depth_max;
    bool was_cut; /* a way was left out because depth_max is not DEPTH_ANY */
    struct ways here, open, next;
    uint64_t work;
    bool gave_up;
};

/* Stands for all values that do not matter. */
static const struct history_value no_value = {.size = UINT64_MAX};

static const struct history_op *op_of(const struct fill *fill, uint32_t op)
{
    return history_op_of(fill->line->key, op);
}

/* ---- values that are wanted ---- */

static int value_compare(const struct history_value *a, const struct history_value *b)
{
    int order = compare_u64(a->hash, b->hash);
    return order ? order : compare_u64(a->size, b->size);
}

static int wanted_compare(const void *left, const void *right)
{
    const struct wanted *a = left, *b = right;
    return value_compare(&a->value, &b->value);
}

/* A get that saw the state, or HISTORY_NONE. */
static uint32_t get_of(const struct fill *fill, const struct line_state *state)
{
    for (uint32_t i = 0; i < state->watcher_count; i++) {
        uint32_t watcher = fill->line->watchers[state->watchers + i];
        if (op_of(fill, watcher)->kind == HISTORY_GET)
            return watcher;
    }
    return HISTORY_NONE;
}

static void wanted_find(struct fill *fill)
{
    uint32_t found = 0, count = 0;
    for (uint32_t i = 1; i < fill->line->state_count; i++) {
        const struct line_state *state = &fill->line->states[i];
        uint32_t get = get_of(fill, state);
        if (state->maker == HISTORY_NONE && get != HISTORY_NONE)
            fill->wanted[found++] = (struct wanted){.value = op_of(fill, get)->result, .demand = 1};
    }
    qsort(fill->wanted, found, sizeof *fill->wanted, wanted_compare);
    for (uint32_t i = 0; i < found; i++) {
        if (count && wanted_compare(&fill->wanted[count - 1], &fill->wanted[i]) == 0)
            fill->wanted[count - 1].demand++;
        else
            fill->wanted[count++] = fill->wanted[i];
    }
    fill->wanted_count = count;
}

static struct wanted *wanted_get(const struct fill *fill, struct history_value value)
{
    const struct wanted key = {.value = value};
    return bsearch(&key, fill->wanted, fill->wanted_count, sizeof key, wanted_compare);
}

/* ---- sorts ---- */

/* Do they the same, if their conditions hold? */
static int effect_compare(const struct unknown *a, const struct unknown *b)
{
    int order = compare_u64(a->op->kind, b->op->kind);
    order = order ? order : value_compare(&a->value, &b->value);
    order = order ? order : compare_u64(a->op->expires, b->op->expires);
    return order ? order : compare_u64(a->delta, b->delta);
}

static int sort_compare(const struct unknown *a, const struct unknown *b)
{
    int order = effect_compare(a, b);
    order = order ? order : compare_u64(b->condition, a->condition); /* strict ones first */
    return order ? order : compare_u64(a->if_version, b->if_version);
}

static int unknown_compare(const void *left, const void *right)
{
    const struct unknown *a = left, *b = right;
    int order = sort_compare(a, b);
    return order ? order : compare_u64(a->op->begun, b->op->begun);
}

static bool counts(const struct history_op *op)
{
    return op->kind == HISTORY_INCR || op->kind == HISTORY_DECR;
}

static struct unknown unknown_make(const struct fill *fill, const struct history_op *op)
{
    struct unknown unknown = {.op = op};
    if (counts(op))
        unknown.delta = op->delta;
    else if (op->kind == HISTORY_APPEND || op->kind == HISTORY_PREPEND)
        unknown.value = op->value;
    if (op->condition == HISTORY_IF_VERSION)
        unknown.if_version = op->if_version;
    if (op->condition != HISTORY_IF_PRESENT || op->kind == HISTORY_PUT)
        unknown.condition = op->condition; /* other kinds have that condition always */
    const struct wanted *wanted = op->kind == HISTORY_PUT ? wanted_get(fill, op->value) : NULL;
    if (op->kind == HISTORY_PUT)
        unknown.value = wanted || fill->has_rewrites ? op->value : no_value;
    unknown.is_wanted = wanted;
    unknown.is_spare = !wanted || fill->has_unknown_rewrites || wanted->supply > wanted->demand;
    return unknown;
}

static void unknown_find(struct fill *fill)
{
    const struct line *line = fill->line;
    for (uint32_t i = 0; i < line->key->count; i++) {
        const struct history_op *op = op_of(fill, i);
        bool may = history_may_happen(op, line->versions, line->state_count - 1);
        bool rewrites = history_rewrites(op->kind);
        fill->has_unknown_rewrites = fill->has_unknown_rewrites || (may && rewrites);
        fill->has_unknown_counts = fill->has_unknown_counts || (may && counts(op));
        fill->has_rewrites = fill->has_rewrites || (rewrites && (may || history_is_answered(op)));
        fill->has_expiry = fill->has_expiry || op->expires;
        fill->has_unknown_expiry = fill->has_unknown_expiry || (may && op->expires);
        struct wanted *wanted = may && op->kind == HISTORY_PUT ? wanted_get(fill, op->value) : NULL;
        if (wanted)
            wanted->supply++;
    }
    for (uint32_t i = 0; i < line->key->count; i++) {
        const struct history_op *op = op_of(fill, i);
        if (history_may_happen(op, line->versions, line->state_count - 1))
            fill->unknown[fill->unknown_count++] = unknown_make(fill, op);
    }
}

static void sorts_find(struct fill *fill)
{
    qsort(fill->unknown, fill->unknown_count, sizeof *fill->unknown, unknown_compare);
    for (uint32_t i = 0; i < fill->unknown_count; i++) {
        const struct unknown *now = &fill->unknown[i];
        if (i == 0 || sort_compare(now - 1, now) != 0) {
            bool is_alike = i && effect_compare(now - 1, now) == 0;
            bool is_bound = now->condition == HISTORY_IF_VERSION;
            fill->sorts[fill->sort_count++] =
                (struct sort){i, 0, is_alike, is_bound ? now->if_version : UINT64_MAX};
        }
        fill->sorts[fill->sort_count - 1].count++;
    }
}

/* Does an answer that saw the state depend on whether its value is a number? */
static bool watched_for_number(const struct fill *fill, const struct line_state *state)
{
    for (uint32_t i = 0; i < state->watcher_count; i++) {
        const struct history_op *op = op_of(fill, fill->line->watchers[state->watchers + i]);
        if (counts(op))
            return true;
    }
    return false;
}

/* Is the value of the state known whatever was before? */
static bool is_pinned(const struct fill *fill, const struct line_state *state)
{
    const struct history_op *maker = op_of(fill, state->maker);
    return !history_rewrites(maker->kind) || maker->has_result ||
           get_of(fill, state) != HISTORY_NONE;
}

/* The largest size of the value of state `index` that can matter. */
static uint64_t size_max(const struct fill *fill, uint32_t index)
{
    const struct line_state *state = &fill->line->states[index];
    uint32_t get = get_of(fill, state);
    if (get != HISTORY_NONE)
        return op_of(fill, get)->result.size;
    if (state->maker != HISTORY_NONE && op_of(fill, state->maker)->has_result)
        return op_of(fill, state->maker)->result.size;
    if (watched_for_number(fill, state))
        return UINT64_MAX;
    return fill->matters[index] ? fill->sizes[index] : 0;
}

static void matters_find(struct fill *fill)
{
    /* A number can become shorter. */
    uint64_t least = fill->has_unknown_counts ? HISTORY_DIGITS_MAX : 0;
    for (uint32_t i = fill->line->state_count - 1; i-- > 0;) {
        const struct line_state *next = &fill->line->states[i + 1];
        uint64_t size = size_max(fill, i + 1);
        fill->sizes[i] = most_u64(size, least);
        if (next->maker == HISTORY_NONE) {
            fill->matters[i] = fill->has_unknown_rewrites;
            continue;
        }
        const struct history_op *maker = op_of(fill, next->maker);
        fill->matters[i] = history_rewrites(maker->kind) &&
                           (counts(maker) || is_pinned(fill, next) || fill->matters[i + 1] ||
                            watched_for_number(fill, next));
        if (counts(maker))
            fill->sizes[i] = HISTORY_DIGITS_MAX;
        else if (maker->kind != HISTORY_TOUCH && size < UINT64_MAX)
            fill->sizes[i] = most_u64(size - least_u64(size, maker->value.size), least);
    }
}

static struct history_value value_kept(const struct fill *fill, uint32_t index,
                                       struct history_value value)
{
    return fill->matters[index] && value.size <= fill->sizes[index] ? value : no_value;
}

/* ---- ways ---- */

static void ways_clear(struct ways *ways)
{
    for (size_t i = 0; i < ways->count; i++)
        free(ways->items[i].used);
    ways->count = 0;
}

static bool way_covers(struct fill *fill, uint64_t version, const struct way *one,
                       const struct way *other)
{
    const struct history_state *a = &one->state, *b = &other->state;
    fill->work++;
    if (a->present != b->present || one->placed < other->placed || one->hidden > other->hidden ||
        one->depth > other->depth)
        return false;
    if (a->present && a->version != b->version && b->version != 0)
        return false;
    if (a->present && !history_expires_first(a->expires, b->expires))
        return false;
    if (a->present && !history_same_value(a->value, b->value) &&
        !history_same_value(b->value, no_value))
        return false;
    fill->work += fill->sort_count;
    for (uint32_t i = 0; i < fill->sort_count; i++) {
        if (one->used[i] > other->used[i] && version <= fill->sorts[i].version_max)
            return false;
    }
    return true;
}

/* Takes over the way, and frees it if it is needless. */
static void ways_add(struct fill *fill, struct ways *ways, const struct way *way)
{
    bool is_needless = fill->gave_up;
    for (size_t i = 0; i < ways->count && !is_needless; i++)
        is_needless = way_covers(fill, ways->version, &ways->items[i], way);
    if (!is_needless) {
        fill->gave_up = ways->count >= WAYS_MAX || fill->work > WORK_MAX ||
                        !array_reserve(&ways->items, &ways->capacity, ways->count + 1, sizeof *way);
        is_needless = fill->gave_up;
    }
    if (is_needless)
        free(way->used);
    else
        ways->items[ways->count++] = *way;
}

/* Removes the ways that are needless because of a later one. */
static void ways_thin(struct fill *fill, struct ways *ways)
{
    size_t kept = 0;
    for (size_t i = 0; i < ways->count; i++) {
        bool is_needless = false;
        for (size_t j = i + 1; j < ways->count && !is_needless; j++)
            is_needless = way_covers(fill, ways->version, &ways->items[j], &ways->items[i]);
        if (is_needless)
            free(ways->items[i].used);
        else
            ways->items[kept++] = ways->items[i];
    }
    ways->count = kept;
}

/* Before that, a state after those of the way must come, whose answers end at the deadline. */
static uint64_t limit_of(const struct fill *fill, const struct way *way, uint64_t deadline)
{
    return least_u64(deadline, fill->line->absences[way->placed].answered_min);
}

/* The next unused operation of a sort, if it takes effect on the way, and began early enough to
 * come before the deadline and after all absences that have no place. */
static bool sort_takes_effect(struct fill *fill, const struct way *way, uint32_t sort,
                              uint64_t deadline, struct history_state *after)
{
    const struct sort *now = &fill->sorts[sort];
    fill->work++;
    if (way->used[sort] == now->count)
        return false;
    const struct history_op *op = fill->unknown[now->first + way->used[sort]].op;
    return op->begun <= limit_of(fill, way, deadline) &&
           history_takes_effect(op, &way->state, after);
}

static bool way_copy(struct fill *fill, const struct way *way, struct way *result)
{
    *result = *way;
    result->used = array_copy(way->used, fill->sort_count, sizeof *way->used);
    fill->work += fill->sort_count;
    fill->gave_up = fill->gave_up || !result->used;
    return result->used;
}

/* The same way, with one more operation of a sort. */
static bool way_use(struct fill *fill, const struct way *way, uint32_t sort, struct way *result)
{
    if (!way_copy(fill, way, result))
        return false;
    result->used[sort]++;
    return true;
}

/* ---- hidden states ---- */

static bool is_worth_hiding(const struct fill *fill, const struct way *way, uint32_t sort,
                            bool matters)
{
    const struct unknown *unknown = &fill->unknown[fill->sorts[sort].first];
    if (!unknown->is_spare)
        return false;
    /* A value in place of another one, though it does not matter which. */
    return matters || !way->state.present || unknown->op->kind == HISTORY_DELETE ||
           !history_expires_first(way->state.expires, unknown->op->expires);
}

/* Is it one more put of a value that does not matter, which is left out for now? */
static bool is_left_out(struct fill *fill, uint32_t sort, const struct history_state *after,
                        bool *has_put)
{
    const struct unknown *unknown = &fill->unknown[fill->sorts[sort].first];
    if (fill->depth_max == DEPTH_ANY || !fill->has_rewrites || unknown->op->kind != HISTORY_PUT ||
        !history_same_value(after->value, no_value))
        return false;
    bool result = *has_put || unknown->is_wanted;
    fill->was_cut = fill->was_cut || result;
    *has_put = *has_put || !result;
    return result;
}

/* Adds the way with a hidden state after state `index`. It takes over `used`. */
static void way_hidden(struct fill *fill, struct ways *ways, struct way *hidden, uint32_t index,
                       const struct history_state *after)
{
    hidden->state = *after;
    hidden->hidden++;
    hidden->depth += fill->matters[index] && fill->depth_max < DEPTH_ANY;
    if (!after->present)
        hidden->placed = most_u32(hidden->placed, fill->line->states[index].due);
    ways_add(fill, ways, hidden);
}

/* Adds the way on which the store itself removes the key after state `index`. */
static void way_vanish(struct fill *fill, struct ways *ways, const struct way *way, uint32_t index)
{
    const struct history_state absent = {0};
    struct way hidden;
    uint64_t limit = limit_of(fill, way, fill->line->states[index + 1].deadline);
    if (history_may_vanish(&way->state, limit) && way_copy(fill, way, &hidden))
        way_hidden(fill, ways, &hidden, index, &absent);
}

/* Adds the ways with one more hidden state after state `index`. */
static void way_hide(struct fill *fill, struct ways *ways, const struct way *way, uint32_t index)
{
    bool is_done = false, has_put = false, matters = fill->matters[index];
    if (matters && way->depth == fill->depth_max) {
        fill->was_cut = true;
        return;
    }
    for (uint32_t i = 0; i < fill->sort_count && !fill->gave_up; i++) {
        struct way hidden;
        struct history_state after;
        is_done = is_done && fill->sorts[i].is_alike;
        if (is_done || !is_worth_hiding(fill, way, i, matters) ||
            !sort_takes_effect(fill, way, i, fill->line->states[index + 1].deadline, &after))
            continue;
        after.version = 0;
        after.value = value_kept(fill, index, after.value);
        is_done = true;
        if (is_left_out(fill, i, &after, &has_put) || !way_use(fill, way, i, &hidden))
            continue;
        way_hidden(fill, ways, &hidden, index, &after);
    }
    way_vanish(fill, ways, way, index);
}

/* Adds all ways that come from these by hidden states after state `index`. */
static void ways_hide(struct fill *fill, struct ways *ways, uint32_t index)
{
    const struct line_state *states = fill->line->states;
    bool is_last = index + 1 == fill->line->state_count;
    uint64_t room = is_last ? UINT64_MAX - states[index].version
                            : states[index + 1].version - states[index].version - 1;
    bool may_hide = fill->sort_count || fill->has_expiry;
    for (size_t i = 0; i < ways->count && may_hide; i++) {
        struct way way = ways->items[i]; /* adding moves the items */
        if (way.hidden < room)
            way_hide(fill, ways, &way, index);
    }
}

/* ---- the next state ---- */

/* Is `way` one to state `index`, if the change before left `after`? */
static bool way_arrives(const struct fill *fill, struct way *way, uint32_t index,
                        const struct history_state *after)
{
    const struct line_state *state = &fill->line->states[index];
    uint64_t absence = fill->line->absences[way->placed].answered_min;
    if (state->last != HISTORY_NONE && op_of(fill, state->last)->begun > absence)
        return false;
    way->state = *after;
    way->state.version = state->version;
    for (uint32_t i = 0; i < state->watcher_count; i++) {
        const struct history_op *op = op_of(fill, fill->line->watchers[state->watchers + i]);
        if (!history_answer_fits(op, &way->state))
            return false;
    }
    way->hidden = 0;
    if (!way->state.present)
        way->placed = most_u32(way->placed, state->due);
    if (!fill->matters[index] || get_of(fill, state) != HISTORY_NONE ||
        (state->maker != HISTORY_NONE && is_pinned(fill, state)))
        way->depth = 0;
    way->state.value = value_kept(fill, index, way->state.value);
    return true;
}

/* Moves the way to state `index` by its maker; false: it cannot, and is unchanged. */
static bool way_made(struct fill *fill, struct way *way, uint32_t index)
{
    struct history_state after;
    struct way made = *way;
    if (!history_takes_effect(op_of(fill, fill->line->states[index].maker), &way->state, &after) ||
        !way_arrives(fill, &made, index, &after))
        return false;
    ways_add(fill, &fill->next, &made);
    way->used = NULL;
    return true;
}

/* The same if its maker is unknown: adds the ways with each sort. */
static void way_explained(struct fill *fill, const struct way *way, uint32_t index)
{
    bool is_done = false;
    for (uint32_t i = 0; i < fill->sort_count && !fill->gave_up; i++) {
        struct way made = *way, owner;
        struct history_state after;
        is_done = is_done && fill->sorts[i].is_alike;
        if (is_done ||
            !sort_takes_effect(fill, way, i, fill->line->states[index].deadline, &after) ||
            !way_arrives(fill, &made, index, &after))
            continue;
        is_done = true;
        if (!way_use(fill, &made, i, &owner))
            return;
        ways_add(fill, &fill->next, &owner);
    }
}

/* Goes from state index - 1 to state `index`. */
static void fill_step(struct fill *fill, uint32_t index)
{
    const struct line_state *before = &fill->line->states[index - 1], *state = before + 1;
    bool is_made = state->maker != HISTORY_NONE;
    fill->here.version = fill->open.version = before->version;
    fill->next.version = state->version;
    bool is_open =
        !is_made || (fill->matters[index] && !is_pinned(fill, state)) ||
        (fill->has_unknown_expiry && history_keeps_expiry(op_of(fill, state->maker)->kind));
    for (size_t i = 0; i < fill->here.count; i++) {
        struct way *way = &fill->here.items[i];
        if (!is_open && before->due <= way->placed && way_made(fill, way, index))
            continue;
        ways_add(fill, &fill->open, way);
        way->used = NULL;
    }
    ways_clear(&fill->here);
    ways_hide(fill, &fill->open, index - 1);
    for (size_t i = 0; i < fill->open.count && !fill->gave_up; i++) {
        if (is_made)
            way_made(fill, &fill->open.items[i], index);
        else
            way_explained(fill, &fill->open.items[i], index);
    }
    ways_clear(&fill->open);
    ways_thin(fill, &fill->next);
    struct ways empty = fill->here;
    fill->here = fill->next;
    fill->next = empty;
}

/* ---- verdicts ---- */

static enum history_verdict absence_wrong(const struct fill *fill, struct history_finding *finding,
                                          uint32_t placed, uint32_t later)
{
    const struct line_absence *absences = fill->line->absences;
    uint32_t op = absences[placed].first, at = placed;
    while (absences[at].op != op)
        at++;
    return line_wrong(
        fill->line, finding,
        later == HISTORY_NONE
            ? "the second found nothing, and nothing has removed the key after the first"
            : "the second found nothing, and nothing has removed the key between the "
              "first and the third",
        (uint32_t[]){absences[at].why, op, later});
}

/* No unknown operation can have made state `index`. */
static enum history_verdict unexplained(const struct fill *fill, struct history_finding *finding,
                                        uint32_t index)
{
    const struct line_state *state = &fill->line->states[index];
    uint32_t get = get_of(fill, state);
    for (uint32_t i = 0; i < state->watcher_count; i++) {
        uint32_t watcher = fill->line->watchers[state->watchers + i];
        const struct history_op *op = op_of(fill, watcher);
        if (op->kind == HISTORY_GET && !history_same_value(op->result, op_of(fill, get)->result))
            return line_wrong(fill->line, finding, "one version has two values",
                              (uint32_t[]){get, watcher, HISTORY_NONE});
    }
    return line_wrong(
        fill->line, finding, "no operation that began in time explains the version of the first",
        (uint32_t[]){state->witness, fill->line->states[index - 1].witness, HISTORY_NONE});
}

/* No way leads from that one to state `index`. The reason tells what prevents the direct one. */
static enum history_verdict step_wrong(const struct fill *fill, struct history_finding *finding,
                                       struct way *way, uint32_t index)
{
    const struct line *line = fill->line;
    const struct line_state *before = &line->states[index - 1], *state = before + 1;
    struct history_state after;
    if (state->last != HISTORY_NONE &&
        op_of(fill, state->last)->begun > line->absences[way->placed].answered_min)
        return absence_wrong(fill, finding, way->placed, state->last);
    if (state->maker == HISTORY_NONE)
        return unexplained(fill, finding, index);
    if (!history_takes_effect(op_of(fill, state->maker), &way->state, &after))
        return line_wrong(line, finding,
                          before->witness == HISTORY_NONE
                              ? "this cannot be the first change, and no unknown operation comes "
                                "before it"
                              : "the second cannot be done after the first, and no unknown "
                                "operation comes between them",
                          (uint32_t[]){before->witness, state->maker, HISTORY_NONE});
    way->state = after;
    way->state.version = state->version;
    for (uint32_t i = 0; i < state->watcher_count; i++) {
        uint32_t watcher = line->watchers[state->watchers + i];
        if (!history_answer_fits(op_of(fill, watcher), &way->state))
            return line_wrong(line, finding, "the second does not show what the first has made",
                              (uint32_t[]){state->maker, watcher, HISTORY_NONE});
    }
    return line_wrong(line, finding, "no unknown operation explains what is between these",
                      (uint32_t[]){before->witness, state->witness, HISTORY_NONE});
}

static enum history_verdict fill_run(struct fill *fill, struct history_finding *finding)
{
    const struct line *line = fill->line;
    struct way first = {.placed = line->states[0].due};
    first.used = array_new(fill->sort_count, sizeof *first.used);
    if (!first.used)
        return HISTORY_UNDECIDED;
    ways_add(fill, &fill->here, &first);
    for (uint32_t i = 1; i < line->state_count; i++) {
        struct way before = fill->here.items[0];
        fill_step(fill, i);
        if (fill->gave_up)
            return HISTORY_UNDECIDED;
        before.used = NULL;
        if (!fill->here.count)
            return step_wrong(fill, finding, &before, i);
    }
    uint32_t placed = fill->here.items[0].placed;
    if (placed < line->absence_count)
        ways_hide(fill, &fill->here, line->state_count - 1);
    for (size_t i = 0; i < fill->here.count; i++) {
        if (fill->here.items[i].placed == line->absence_count)
            return HISTORY_FINE;
    }
    return fill->gave_up ? HISTORY_UNDECIDED : absence_wrong(fill, finding, placed, HISTORY_NONE);
}

/* With a limit that rises. */
static enum history_verdict fill_runs(struct fill *fill, struct history_finding *finding)
{
    static const uint32_t depths[] = {0, 1, 2, 4, DEPTH_ANY};
    for (unsigned i = 0; i < sizeof depths / sizeof *depths; i++) {
        fill->depth_max = depths[i];
        fill->was_cut = false;
        fill->work = 0;
        enum history_verdict verdict = fill_run(fill, finding);
        ways_clear(&fill->here);
        ways_clear(&fill->open);
        ways_clear(&fill->next);
        if (verdict == HISTORY_FINE || (verdict == HISTORY_WRONG && !fill->was_cut))
            return verdict;
        if (verdict == HISTORY_UNDECIDED)
            break;
    }
    finding->reason = "unknown operations can have taken effect in too many ways; those found do "
                      "not explain this";
    return HISTORY_UNDECIDED;
}

enum history_verdict fill_judge(const struct line *line, struct history_finding *finding)
{
    uint32_t count = line->key->count;
    struct fill fill = {.line = line};
    enum history_verdict verdict = HISTORY_UNDECIDED;
    finding->reason = "there is no memory";
    fill.unknown = array_new(count, sizeof *fill.unknown);
    fill.sorts = array_new(count, sizeof *fill.sorts);
    fill.wanted = array_new(line->state_count, sizeof *fill.wanted);
    fill.matters = array_new(line->state_count, sizeof *fill.matters);
    fill.sizes = array_new(line->state_count, sizeof *fill.sizes);
    if (fill.unknown && fill.sorts && fill.wanted && fill.matters && fill.sizes) {
        wanted_find(&fill);
        unknown_find(&fill);
        sorts_find(&fill);
        matters_find(&fill);
        verdict = fill_runs(&fill, finding);
    }
    free(fill.here.items);
    free(fill.open.items);
    free(fill.next.items);
    free(fill.unknown);
    free(fill.sorts);
    free(fill.wanted);
    free(fill.matters);
    free(fill.sizes);
    return verdict;
}
