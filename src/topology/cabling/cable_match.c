/* cable_match: exchanges first, then whatever fits, then augmenting paths by
 * breadth-first search until none is left (Berge: then the matching is a
 * largest one). An augmenting path never leaves a matched cable unmatched, so
 * the first two steps only choose among equals. What a failed search has seen
 * can take part in no later path either and stays marked; so all failed
 * searches together look at each cable once. */
#include "topology/cabling/cable_match.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"

#define EXCHANGE_TRIES 4096 /* per missing cable; a limit on work, not on the result's size */

/* A surplus cable, its smaller end first. */
struct sorted {
    struct cable_ends ends;
    uint32_t cable;
};

struct matcher {
    const struct cable_ends *missing, *surplus;
    uint32_t missing_count, surplus_count;
    uint32_t *partner; /* per missing cable, the caller's */
    uint32_t *owner;   /* per surplus cable: its missing cable, or MATCH_NONE */

    /* Ends of missing cables, numbered; first[k] .. first[k+1] - 1 in `at` are
     * the missing cables with end k. */
    uint64_t *keys;
    uint32_t key_count;
    uint32_t *first;
    uint32_t *at;

    /* Surplus cables ordered by their ends, to find one by both. */
    struct sorted *by_ends;

    /* breadth-first search */
    uint32_t *queue; /* surplus cables */
    uint32_t *from;  /* per missing cable: the surplus cable that reached it */
    uint8_t *seen;   /* per key */
    uint32_t *trail; /* keys seen in this search */
};

static int key_compare(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

static uint32_t key_find(const struct matcher *matcher, uint64_t end)
{
    const uint64_t *found =
        bsearch(&end, matcher->keys, matcher->key_count, sizeof end, key_compare);
    return found ? (uint32_t)(found - matcher->keys) : MATCH_NONE;
}

static void matcher_fini(struct matcher *matcher)
{
    free(matcher->owner);
    free(matcher->keys);
    free(matcher->first);
    free(matcher->at);
    free(matcher->by_ends);
    free(matcher->queue);
    free(matcher->from);
    free(matcher->seen);
    free(matcher->trail);
}

static void keys_collect(struct matcher *matcher)
{
    uint32_t ends = 0;
    for (uint32_t i = 0; i < matcher->missing_count; i++) {
        matcher->keys[ends++] = matcher->missing[i].end[0];
        matcher->keys[ends++] = matcher->missing[i].end[1];
    }
    qsort(matcher->keys, ends, sizeof *matcher->keys, key_compare);
    for (uint32_t i = 0; i < ends; i++)
        if (i == 0 || matcher->keys[i] != matcher->keys[i - 1])
            matcher->keys[matcher->key_count++] = matcher->keys[i];
    uint32_t *first = matcher->first;
    for (uint32_t i = 0; i < matcher->missing_count; i++)
        for (int side = 0; side < 2; side++)
            first[key_find(matcher, matcher->missing[i].end[side]) + 1]++;
    for (uint32_t k = 0; k < matcher->key_count; k++)
        first[k + 1] += first[k];
    for (uint32_t i = matcher->missing_count; i-- > 0;)
        for (int side = 0; side < 2; side++) {
            /* fills each range from its end; first[k + 1] is then k's start */
            uint32_t k = key_find(matcher, matcher->missing[i].end[side]);
            matcher->at[--first[k + 1]] = i;
        }
    for (uint32_t k = 0; k < matcher->key_count; k++)
        first[k] = first[k + 1];
    first[matcher->key_count] = ends;
}

static struct cable_ends ends_ordered(struct cable_ends ends)
{
    if (ends.end[0] <= ends.end[1])
        return ends;
    return (struct cable_ends){{ends.end[1], ends.end[0]}};
}

/* Of ordered ends. */
static int ends_compare(const struct cable_ends *a, const struct cable_ends *b)
{
    if (a->end[0] != b->end[0])
        return a->end[0] < b->end[0] ? -1 : 1;
    return a->end[1] < b->end[1] ? -1 : a->end[1] > b->end[1];
}

static int sorted_compare(const void *left, const void *right)
{
    const struct sorted *a = left, *b = right;
    int order = ends_compare(&a->ends, &b->ends);
    return order ? order : a->cable < b->cable ? -1 : a->cable > b->cable;
}

/* An unmatched surplus cable with these ends, other than `except`. */
static uint32_t surplus_find(const struct matcher *matcher, struct cable_ends ends, uint32_t except)
{
    uint32_t low = 0, high = matcher->surplus_count;
    ends = ends_ordered(ends);
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (ends_compare(&matcher->by_ends[middle].ends, &ends) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < matcher->surplus_count; low++) {
        uint32_t cable = matcher->by_ends[low].cable;
        if (ends_compare(&matcher->by_ends[low].ends, &ends) != 0)
            break;
        if (cable != except && matcher->owner[cable] == MATCH_NONE)
            return cable;
    }
    return MATCH_NONE;
}

static void match_set(struct matcher *matcher, uint32_t missing, uint32_t surplus)
{
    matcher->partner[missing] = surplus;
    matcher->owner[surplus] = missing;
}

/* With surplus s = a-d: is there a missing c-d and a surplus c-b, where a-b
 * is missing cable i and a its end `side`? */
static bool exchange_try(struct matcher *matcher, uint32_t s, int s_side, uint32_t i, int side,
                         uint32_t *tries)
{
    uint64_t b = matcher->missing[i].end[!side], d = matcher->surplus[s].end[!s_side];
    uint32_t k = key_find(matcher, d);
    if (k == MATCH_NONE)
        return false;
    for (uint32_t slot = matcher->first[k]; slot < matcher->first[k + 1] && *tries; slot++) {
        uint32_t j = matcher->at[slot];
        --*tries;
        if (j == i || matcher->partner[j] != MATCH_NONE)
            continue;
        uint64_t c = matcher->missing[j].end[matcher->missing[j].end[0] == d];
        uint32_t other = surplus_find(matcher, (struct cable_ends){{c, b}}, s);
        if (other == MATCH_NONE)
            continue;
        match_set(matcher, i, s);
        match_set(matcher, j, other);
        return true;
    }
    return false;
}

static void exchanges_match(struct matcher *matcher)
{
    uint32_t *tries = matcher->from; /* free until the searches begin */
    for (uint32_t i = 0; i < matcher->missing_count; i++)
        tries[i] = EXCHANGE_TRIES;
    for (uint32_t s = 0; s < matcher->surplus_count; s++)
        for (int s_side = 0; s_side < 2; s_side++) {
            uint32_t k = key_find(matcher, matcher->surplus[s].end[s_side]);
            if (k == MATCH_NONE)
                continue;
            for (uint32_t slot = matcher->first[k];
                 slot < matcher->first[k + 1] && matcher->owner[s] == MATCH_NONE; slot++) {
                uint32_t i = matcher->at[slot];
                int side = matcher->missing[i].end[1] == matcher->keys[k];
                if (matcher->partner[i] == MATCH_NONE)
                    exchange_try(matcher, s, s_side, i, side, &tries[i]);
            }
        }
}

/* The path that ends at this missing cable changes hands along its length. */
static void path_flip(struct matcher *matcher, uint32_t missing)
{
    while (missing != MATCH_NONE) {
        uint32_t surplus = matcher->from[missing], next = MATCH_NONE;
        if (matcher->owner[surplus] != MATCH_NONE)
            next = matcher->owner[surplus];
        match_set(matcher, missing, surplus);
        missing = next;
    }
}

/* Looks for an augmenting path from an unmatched surplus cable. */
static void path_search(struct matcher *matcher, uint32_t start)
{
    uint32_t head = 0, tail = 0, trail = 0;
    matcher->queue[tail++] = start;
    while (head < tail) {
        uint32_t s = matcher->queue[head++];
        for (int side = 0; side < 2; side++) {
            uint32_t k = key_find(matcher, matcher->surplus[s].end[side]);
            if (k == MATCH_NONE || matcher->seen[k])
                continue;
            matcher->seen[k] = 1;
            matcher->trail[trail++] = k;
            for (uint32_t slot = matcher->first[k]; slot < matcher->first[k + 1]; slot++) {
                uint32_t i = matcher->at[slot];
                if (matcher->from[i] != MATCH_NONE)
                    continue;
                matcher->from[i] = s;
                if (matcher->partner[i] != MATCH_NONE) {
                    matcher->queue[tail++] = matcher->partner[i];
                    continue;
                }
                path_flip(matcher, i);
                while (trail > 0) { /* a success: forget what was seen */
                    uint32_t key = matcher->trail[--trail];
                    matcher->seen[key] = 0;
                    for (slot = matcher->first[key]; slot < matcher->first[key + 1]; slot++)
                        matcher->from[matcher->at[slot]] = MATCH_NONE;
                }
                return;
            }
        }
    }
}

enum err cable_match(const struct cable_ends *missing, uint32_t missing_count,
                     const struct cable_ends *surplus, uint32_t surplus_count, uint32_t *partner,
                     struct why *why)
{
    size_t ends = 2 * (size_t)missing_count;
    struct matcher matcher = {
        .missing = missing,
        .surplus = surplus,
        .missing_count = missing_count,
        .surplus_count = surplus_count,
        .partner = partner,
        .owner = array_new(surplus_count, sizeof(uint32_t)),
        .keys = array_new(ends, sizeof(uint64_t)),
        .first = array_new(ends + 1, sizeof(uint32_t)),
        .at = array_new(ends, sizeof(uint32_t)),
        .by_ends = array_new(surplus_count, sizeof(struct sorted)),
        .queue = array_new((size_t)surplus_count + 1, sizeof(uint32_t)),
        .from = array_new(missing_count, sizeof(uint32_t)),
        .seen = array_new(ends, 1),
        .trail = array_new(ends, sizeof(uint32_t)),
    };
    if (!matcher.owner || !matcher.keys || !matcher.first || !matcher.at || !matcher.by_ends ||
        !matcher.queue || !matcher.from || !matcher.seen || !matcher.trail) {
        matcher_fini(&matcher);
        return why_memory(why);
    }
    keys_collect(&matcher);
    for (uint32_t i = 0; i < missing_count; i++)
        partner[i] = MATCH_NONE;
    for (uint32_t s = 0; s < surplus_count; s++) {
        matcher.owner[s] = MATCH_NONE;
        matcher.by_ends[s] = (struct sorted){ends_ordered(surplus[s]), s};
    }
    qsort(matcher.by_ends, surplus_count, sizeof *matcher.by_ends, sorted_compare);
    exchanges_match(&matcher);
    for (uint32_t i = 0; i < missing_count; i++)
        matcher.from[i] = MATCH_NONE;
    for (uint32_t s = 0; s < surplus_count; s++)
        if (matcher.owner[s] == MATCH_NONE)
            path_search(&matcher, s);
    matcher_fini(&matcher);
    return OK;
}
