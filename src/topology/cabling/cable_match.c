/* cable_match: matches exchanges first. Then each surplus cable gets a missing cable that is still
 * free, or else an augmenting path by breadth-first search, until there is none (Berge: the
 * matching is then a largest one). An augmenting path never leaves a matched cable unmatched, so
 * the exchanges only choose among matchings of the same size. The cables that a failed search has
 * seen cannot be part of a later path either and stay marked, so all failed searches together look
 * at each cable once.
 *
 * A matched cable stays matched. So cursors that only move forward find the free cables of a node,
 * and those between two nodes: thousands of cables at one node do not make a step slower. */
#include "topology/cabling/cable_match.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"

#define EXCHANGE_TRIES 1024 /* per surplus cable; limits the work, not the size of the result */

/* A surplus cable, its smaller end first. */
struct sorted {
    struct cable_ends ends;
    uint32_t cable;
};

struct matcher {
    const struct cable_ends *missing, *surplus;
    uint32_t missing_count, surplus_count;
    uint32_t *partner; /* per missing cable; the caller owns it */
    uint32_t *owner;   /* per surplus cable: its missing cable, or MATCH_NONE */

    /* Ends of missing cables, numbered; first[k] .. first[k+1] - 1 in `at` are
     * the missing cables with end k. */
    uint64_t *keys;
    uint32_t key_count;
    uint32_t *first;
    uint32_t *at;
    uint32_t *next; /* per key: no missing cable of this key before this slot is free */

    /* Surplus cables ordered by their ends, to find a cable by both ends. */
    struct sorted *by_ends;
    uint32_t *skip; /* per index in that order: no cable from here to before this index is free */

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
    free(matcher->next);
    free(matcher->by_ends);
    free(matcher->skip);
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
    for (uint32_t k = 0; k < matcher->key_count; k++)
        matcher->next[k] = first[k];
}

static struct cable_ends ends_ordered(struct cable_ends ends)
{
    if (ends.end[0] <= ends.end[1])
        return ends;
    return (struct cable_ends){{ends.end[1], ends.end[0]}};
}

/* Compares two cables whose ends are ordered. */
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

/* The first index from `index` on whose surplus cable is unmatched, or the number of surplus
 * cables. Remembers what it skipped, by path halving. */
static uint32_t index_free(struct matcher *matcher, uint32_t index)
{
    uint32_t *skip = matcher->skip;
    while (index < matcher->surplus_count) {
        if (skip[index] == index) {
            if (matcher->owner[matcher->by_ends[index].cable] == MATCH_NONE)
                return index;
            skip[index] = index + 1;
        }
        if (skip[index] < matcher->surplus_count)
            skip[index] = skip[skip[index]];
        index = skip[index];
    }
    return index;
}

/* An unmatched surplus cable with these ends, other than `except`. */
static uint32_t surplus_find(struct matcher *matcher, struct cable_ends ends, uint32_t except)
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
    low = index_free(matcher, low);
    if (low < matcher->surplus_count && matcher->by_ends[low].cable == except)
        low = index_free(matcher, low + 1);
    if (low == matcher->surplus_count || ends_compare(&matcher->by_ends[low].ends, &ends) != 0)
        return MATCH_NONE;
    return matcher->by_ends[low].cable;
}

static void match_set(struct matcher *matcher, uint32_t missing, uint32_t surplus)
{
    matcher->partner[missing] = surplus;
    matcher->owner[surplus] = missing;
}

/* The first slot of a key whose missing cable is unmatched, or the first slot of the next key. */
static uint32_t slot_free(struct matcher *matcher, uint32_t k)
{
    uint32_t *next = &matcher->next[k];
    while (*next < matcher->first[k + 1] && matcher->partner[matcher->at[*next]] != MATCH_NONE)
        ++*next;
    return *next;
}

/* With surplus s = a-d: is there a missing c-d and a surplus c-b, where a-b is missing cable i? `d`
 * is a key; the other ends are those of the cables. */
static bool exchange_try(struct matcher *matcher, uint32_t s, uint32_t i, uint64_t b, uint32_t d,
                         uint32_t *tries)
{
    for (uint32_t slot = slot_free(matcher, d); slot < matcher->first[d + 1] && *tries; slot++) {
        uint32_t j = matcher->at[slot];
        --*tries;
        if (j == i || matcher->partner[j] != MATCH_NONE)
            continue;
        uint64_t c = matcher->missing[j].end[matcher->missing[j].end[0] == matcher->keys[d]];
        uint32_t other = surplus_find(matcher, (struct cable_ends){{c, b}}, s);
        if (other == MATCH_NONE)
            continue;
        match_set(matcher, i, s);
        match_set(matcher, j, other);
        return true;
    }
    return false;
}

/* Tries the exchanges of surplus cable s; `side` is its end a. */
static void exchanges_of(struct matcher *matcher, uint32_t s, int side, uint32_t *tries)
{
    uint32_t a = key_find(matcher, matcher->surplus[s].end[side]);
    uint32_t d = key_find(matcher, matcher->surplus[s].end[!side]);
    if (a == MATCH_NONE || d == MATCH_NONE)
        return;
    for (uint32_t slot = slot_free(matcher, a); slot < matcher->first[a + 1] && *tries; slot++) {
        uint32_t i = matcher->at[slot];
        const uint64_t *ends = matcher->missing[i].end;
        --*tries;
        if (matcher->partner[i] == MATCH_NONE &&
            exchange_try(matcher, s, i, ends[ends[0] == matcher->keys[a]], d, tries))
            return;
    }
}

static void exchanges_match(struct matcher *matcher)
{
    for (uint32_t s = 0; s < matcher->surplus_count; s++) {
        uint32_t tries = EXCHANGE_TRIES;
        for (int side = 0; side < 2 && matcher->owner[s] == MATCH_NONE; side++)
            exchanges_of(matcher, s, side, &tries);
    }
}

/* Matches s with an unmatched missing cable at one of its ends. */
static bool direct_match(struct matcher *matcher, uint32_t s)
{
    for (int side = 0; side < 2; side++) {
        uint32_t k = key_find(matcher, matcher->surplus[s].end[side]);
        if (k == MATCH_NONE)
            continue;
        uint32_t slot = slot_free(matcher, k);
        if (slot < matcher->first[k + 1]) {
            match_set(matcher, matcher->at[slot], s);
            return true;
        }
    }
    return false;
}

/* Flips the path that ends at this missing cable: each cable on it gets its new partner. */
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
                while (trail > 0) { /* success: clear the marks of this search */
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
        .next = array_new(ends, sizeof(uint32_t)),
        .by_ends = array_new(surplus_count, sizeof(struct sorted)),
        .skip = array_new(surplus_count, sizeof(uint32_t)),
        .queue = array_new((size_t)surplus_count + 1, sizeof(uint32_t)),
        .from = array_new(missing_count, sizeof(uint32_t)),
        .seen = array_new(ends, 1),
        .trail = array_new(ends, sizeof(uint32_t)),
    };
    if (!matcher.owner || !matcher.keys || !matcher.first || !matcher.at || !matcher.next ||
        !matcher.by_ends || !matcher.skip || !matcher.queue || !matcher.from || !matcher.seen ||
        !matcher.trail) {
        matcher_fini(&matcher);
        return why_memory(why);
    }
    keys_collect(&matcher);
    for (uint32_t i = 0; i < missing_count; i++)
        partner[i] = MATCH_NONE;
    for (uint32_t s = 0; s < surplus_count; s++) {
        matcher.owner[s] = MATCH_NONE;
        matcher.skip[s] = s;
        matcher.by_ends[s] = (struct sorted){ends_ordered(surplus[s]), s};
    }
    qsort(matcher.by_ends, surplus_count, sizeof *matcher.by_ends, sorted_compare);
    exchanges_match(&matcher);
    for (uint32_t i = 0; i < missing_count; i++)
        matcher.from[i] = MATCH_NONE;
    for (uint32_t s = 0; s < surplus_count; s++)
        if (matcher.owner[s] == MATCH_NONE && !direct_match(&matcher, s))
            path_search(&matcher, s);
    matcher_fini(&matcher);
    return OK;
}
