/* random_graph: the paper's construction, made exact and guaranteed to end.
 *
 * An attempt has three steps. *Draw*: draws uniform pairs of open nodes and redraws pairs that
 * cannot be joined. After many misses in a row, it lists the pairs that can still be joined once
 * and draws from this list, so the choice stays uniform over the possible pairs to the end.
 * *Repair*: the paper's repair, for a node with two ports left or two nodes with one each; if no
 * single cable can be broken for any of them, it breaks two. If that fails too, the next attempt
 * uses another stream. With degrees that hardly any graph has, every attempt may fail; then, if
 * there are no groups, Havel and Hakimi's graph is *shuffled* by random crossings, which keep all
 * degrees.
 *
 * Invariants: cables of this call have indexes from `base` on; open[] holds the nodes with left >
 * 0; total is the sum of left over them. */
#include "topology/generate/random_graph.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"
#include "base/rng.h"
#include "topology/generate/degree_sequence.h"

#define ATTEMPT_MAX         (RANDOM_GRAPH_STREAMS - 1) /* the last stream is for the shuffle */
#define MISS_MAX            64 /* misses in a row before the pairs are listed */
#define CROSSINGS_PER_CABLE 10

struct pair {
    uint32_t a, b;
};

struct attempt {
    struct wiring *wiring;           /* borrowed */
    const struct random_graph *want; /* borrowed */
    uint32_t base;
    uint32_t *left; /* per node of the wiring: ports that are still to be used */
    uint32_t *open;
    uint32_t open_count;
    uint64_t total;
    uint8_t *marks; /* per node of the wiring; see marks_set */
    struct rng rng;
};

static void attempt_begin(struct attempt *attempt, uint64_t number)
{
    const struct random_graph *want = attempt->want;
    while (attempt->wiring->cable_count > attempt->base)
        wiring_unplug(attempt->wiring, attempt->wiring->cable_count - 1);
    attempt->open_count = 0;
    attempt->total = 0;
    for (uint32_t i = 0; i < want->node_count; i++) {
        uint32_t node = want->nodes[i];
        attempt->left[node] = want->ports[node];
        attempt->total += want->ports[node];
        if (want->ports[node])
            attempt->open[attempt->open_count++] = node;
    }
    attempt->rng = rng_make(want->seed, want->stream + number);
}

static bool can_join(const struct attempt *attempt, uint32_t a, uint32_t b)
{
    const uint32_t *group = attempt->want->group;
    return a != b && (!group || group[a] != group[b]) && !wiring_joined(attempt->wiring, a, b);
}

static void join(struct attempt *attempt, uint32_t a, uint32_t b)
{
    assert(attempt->left[a] > 0 && attempt->left[b] > 0);
    wiring_plug(attempt->wiring, a, PORT_ANY, b, PORT_ANY);
    attempt->left[a]--;
    attempt->left[b]--;
    attempt->total -= 2;
}

static void open_close(struct attempt *attempt, uint32_t index)
{
    if (attempt->left[attempt->open[index]] == 0)
        attempt->open[index] = attempt->open[--attempt->open_count];
}

static void open_sift(struct attempt *attempt)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < attempt->open_count; i++)
        if (attempt->left[attempt->open[i]])
            attempt->open[kept++] = attempt->open[i];
    attempt->open_count = kept;
}

/* Joins random pairs until MISS_MAX in a row could not be joined. */
static void draw_freely(struct attempt *attempt)
{
    uint32_t misses = 0;
    while (attempt->open_count > 1 && misses < MISS_MAX) {
        uint32_t i = (uint32_t)rng_below(&attempt->rng, attempt->open_count);
        uint32_t j = (uint32_t)rng_below(&attempt->rng, attempt->open_count - 1);
        j += j >= i;
        uint32_t a = attempt->open[i], b = attempt->open[j];
        if (!can_join(attempt, a, b)) {
            misses++;
            continue;
        }
        misses = 0;
        join(attempt, a, b);
        open_close(attempt, i > j ? i : j); /* the higher index first: closing moves the last */
        open_close(attempt, i > j ? j : i);
    }
}

/* Lists the pairs that can be joined and uses them in random order. A pair that cannot be joined
 * never becomes possible again, so the list misses none. The list is short: either few nodes are
 * open, or most of their pairs are cables already. */
static enum err draw_listed(struct attempt *attempt, struct why *why)
{
    struct pair *pairs = NULL;
    size_t capacity = 0, count = 0;
    for (uint32_t i = 0; i < attempt->open_count; i++) {
        for (uint32_t j = i + 1; j < attempt->open_count; j++) {
            uint32_t a = attempt->open[i], b = attempt->open[j];
            if (!can_join(attempt, a, b))
                continue;
            if (!array_reserve(&pairs, &capacity, count + 1, sizeof *pairs)) {
                free(pairs);
                return why_memory(why);
            }
            pairs[count++] = (struct pair){a, b};
        }
    }
    while (count > 0) {
        size_t pick = rng_below(&attempt->rng, count);
        struct pair pair = pairs[pick];
        pairs[pick] = pairs[--count];
        if (attempt->left[pair.a] && attempt->left[pair.b])
            join(attempt, pair.a, pair.b);
    }
    free(pairs);
    open_sift(attempt);
    return OK;
}

/* Replaces the cable (x, y) by (p, x) and (q, y). */
static void cable_break(struct attempt *attempt, uint32_t cable, uint32_t p, uint32_t x, uint32_t q,
                        uint32_t y)
{
    wiring_unplug(attempt->wiring, cable);
    attempt->left[x]++;
    attempt->left[y]++;
    attempt->total += 2;
    join(attempt, p, x);
    join(attempt, q, y);
    open_sift(attempt);
}

static void mark_unjoinable(struct attempt *attempt, uint32_t node, uint8_t bit)
{
    const struct random_graph *want = attempt->want;
    const struct wiring *wiring = attempt->wiring;
    attempt->marks[node] |= bit;
    for (uint64_t at = wiring->first[node]; at < wiring->first[node + 1]; at++)
        if (wiring->peer_at[at] != NODE_NONE)
            attempt->marks[wiring->peer_at[at]] |= bit;
    for (uint32_t i = 0; want->group && i < want->node_count; i++)
        if (want->group[want->nodes[i]] == want->group[node])
            attempt->marks[want->nodes[i]] |= bit;
}

/* Bit 1 of a node's mark: it cannot be joined to p; bit 2: it cannot be joined to q. */
static void marks_set(struct attempt *attempt, uint32_t p, uint32_t q)
{
    for (uint32_t i = 0; i < attempt->want->node_count; i++)
        attempt->marks[attempt->want->nodes[i]] = 0;
    mark_unjoinable(attempt, p, 1);
    mark_unjoinable(attempt, q, 2);
}

/* Visits all cables (x, y) that can be broken for p and q, and breaks the one with this number;
 * returns the number of such cables. */
static uint64_t breakable_visit(struct attempt *attempt, uint32_t p, uint32_t q, uint64_t number)
{
    const struct random_graph *want = attempt->want;
    const struct wiring *wiring = attempt->wiring;
    uint64_t seen = 0;
    for (uint32_t i = 0; i < want->node_count; i++) {
        uint32_t x = want->nodes[i];
        if (attempt->marks[x] & 1)
            continue;
        for (uint64_t at = wiring->first[x]; at < wiring->first[x + 1]; at++) {
            uint32_t y = wiring->peer_at[at], cable = wiring->cable_at[at];
            if (y == NODE_NONE || cable < attempt->base || attempt->marks[y] & 2)
                continue;
            if (seen++ == number) {
                cable_break(attempt, cable, p, x, q, y);
                return seen;
            }
        }
    }
    return seen;
}

/* Uses one port of p and one of q, which may be the same node, by breaking a uniformly random cable
 * among those that allow it; false if there is none. */
static bool repair_by_one(struct attempt *attempt, uint32_t p, uint32_t q)
{
    const struct wiring *wiring = attempt->wiring;
    uint32_t cables = wiring->cable_count - attempt->base;
    for (uint32_t miss = 0; cables > 0 && miss < MISS_MAX; miss++) {
        uint64_t pick = rng_below(&attempt->rng, 2 * (uint64_t)cables);
        uint32_t cable = attempt->base + (uint32_t)(pick / 2);
        const struct link *link = &wiring->cables[cable];
        uint32_t x = pick & 1 ? link->b : link->a, y = pick & 1 ? link->a : link->b;
        if (can_join(attempt, p, x) && can_join(attempt, q, y)) {
            cable_break(attempt, cable, p, x, q, y);
            return true;
        }
    }
    marks_set(attempt, p, q);
    uint64_t count = breakable_visit(attempt, p, q, UINT64_MAX);
    if (count == 0)
        return false;
    breakable_visit(attempt, p, q, rng_below(&attempt->rng, count));
    return true;
}

/* A random node without this bit in its mark, or NODE_NONE. */
static uint32_t unmarked_pick(struct attempt *attempt, uint8_t bit)
{
    const struct random_graph *want = attempt->want;
    uint32_t count = 0;
    for (uint32_t i = 0; i < want->node_count; i++)
        count += !(attempt->marks[want->nodes[i]] & bit);
    if (count == 0)
        return NODE_NONE;
    uint32_t pick = (uint32_t)rng_below(&attempt->rng, count);
    for (uint32_t i = 0;; i++)
        if (!(attempt->marks[want->nodes[i]] & bit) && pick-- == 0)
            return want->nodes[i];
}

/* A random cable of the node that this call has plugged, or CABLE_NONE. */
static uint32_t cable_pick(struct attempt *attempt, uint32_t node)
{
    const struct wiring *wiring = attempt->wiring;
    uint32_t chosen = CABLE_NONE, count = 0;
    for (uint64_t at = wiring->first[node]; at < wiring->first[node + 1]; at++) {
        uint32_t cable = wiring->cable_at[at];
        if (cable != CABLE_NONE && cable >= attempt->base && rng_below(&attempt->rng, ++count) == 0)
            chosen = cable;
    }
    return chosen;
}

/* If no cable joins the nodes that p and q can be joined to, replaces two cables (u, x) and (w, y)
 * by (p, u), (q, w) and (x, y). */
static bool repair_by_two(struct attempt *attempt, uint32_t p, uint32_t q)
{
    struct wiring *wiring = attempt->wiring;
    marks_set(attempt, p, q);
    for (uint32_t miss = 0; miss < MISS_MAX; miss++) {
        uint32_t u = unmarked_pick(attempt, 1), w = unmarked_pick(attempt, 2);
        if (u == NODE_NONE || w == NODE_NONE)
            return false;
        uint32_t one = cable_pick(attempt, u), other = cable_pick(attempt, w);
        if (one == CABLE_NONE || other == CABLE_NONE || one == other || (p == q && u == w))
            continue;
        const struct link left = wiring->cables[one], right = wiring->cables[other];
        uint32_t x = left.a == u ? left.b : left.a, y = right.a == w ? right.b : right.a;
        if (!can_join(attempt, x, y))
            continue;
        /* The higher index first: the last cable takes the index of an unplugged one. */
        wiring_unplug(wiring, one > other ? one : other);
        wiring_unplug(wiring, one > other ? other : one);
        attempt->left[u]++, attempt->left[x]++, attempt->left[w]++, attempt->left[y]++;
        attempt->total += 4;
        join(attempt, x, y);
        join(attempt, p, u);
        join(attempt, q, w);
        open_sift(attempt);
        return true;
    }
    return false;
}

/* Repairs the first pair of open ports, in order, for which that is possible. */
static bool repair_any(struct attempt *attempt,
                       bool (*use)(struct attempt *attempt, uint32_t p, uint32_t q))
{
    for (uint32_t i = 0; i < attempt->open_count; i++) {
        for (uint32_t j = i; j < attempt->open_count; j++) {
            uint32_t p = attempt->open[i], q = attempt->open[j];
            if (p == q && attempt->left[p] < 2)
                continue;
            if (use(attempt, p, q))
                return true;
        }
    }
    return false;
}

/* Reduces the number of ports left to at most one; false if that is impossible from here. Every
 * round uses two ports. */
static bool repair(struct attempt *attempt)
{
    while (attempt->total > 1) {
        uint32_t i = (uint32_t)rng_below(&attempt->rng, attempt->open_count);
        uint32_t p = attempt->open[i], q = p;
        if (attempt->left[p] < 2) {
            uint32_t j = (uint32_t)rng_below(&attempt->rng, attempt->open_count - 1);
            q = attempt->open[j + (j >= i)];
        }
        if (!repair_by_one(attempt, p, q) && !repair_any(attempt, repair_by_one) &&
            !repair_any(attempt, repair_by_two))
            return false;
    }
    return true;
}

/* Crosses random pairs of cables, which changes neither degrees nor ports. */
static void shuffle(struct attempt *attempt)
{
    struct wiring *wiring = attempt->wiring;
    uint32_t cables = wiring->cable_count - attempt->base;
    for (uint64_t tries = (uint64_t)CROSSINGS_PER_CABLE * cables; tries > 0; tries--) {
        uint32_t one = attempt->base + (uint32_t)rng_below(&attempt->rng, cables);
        uint32_t other = attempt->base + (uint32_t)rng_below(&attempt->rng, cables);
        if (one == other)
            continue;
        if (rng_next(&attempt->rng) & 1)
            wiring_turn(wiring, other);
        const struct link *left = &wiring->cables[one], *right = &wiring->cables[other];
        if (can_join(attempt, left->a, right->a) && can_join(attempt, left->b, right->b))
            wiring_cross(wiring, one, other);
    }
}

/* The method that cannot fail: a known graph of these degrees, shuffled. */
static enum err fall_back(struct attempt *attempt, struct why *why)
{
    const struct random_graph *want = attempt->want;
    attempt_begin(attempt, ATTEMPT_MAX);
    uint32_t *degree = array_new(want->node_count, sizeof *degree), link_count;
    struct link *links = array_new(attempt->total / 2, sizeof *links);
    enum err err = OK;
    if (!degree || !links) {
        err = why_memory(why);
        goto done;
    }
    for (uint32_t i = 0; i < want->node_count; i++)
        degree[i] = want->ports[want->nodes[i]];
    err = degree_sequence_links(degree, want->node_count, links, &link_count, why);
    if (err)
        goto done;
    for (uint32_t e = 0; e < link_count; e++)
        join(attempt, want->nodes[links[e].a], want->nodes[links[e].b]);
    shuffle(attempt);
done:
    free(degree);
    free(links);
    return err;
}

static enum err attempts_run(struct attempt *attempt, bool *done, struct why *why)
{
    for (uint64_t number = 0; number < ATTEMPT_MAX; number++) {
        attempt_begin(attempt, number);
        draw_freely(attempt);
        enum err err = draw_listed(attempt, why);
        if (err)
            return err;
        *done = repair(attempt);
        if (*done)
            return OK;
    }
    attempt_begin(attempt, 0);
    *done = !attempt->want->group;
    return *done ? fall_back(attempt, why) : OK;
}

/* Without groups, finds out beforehand whether such a graph exists. */
static enum err possible(const struct random_graph *want, bool *possible, struct why *why)
{
    uint32_t *degree = array_new(want->node_count, sizeof *degree);
    if (!degree)
        return why_memory(why);
    for (uint32_t i = 0; i < want->node_count; i++)
        degree[i] = want->ports[want->nodes[i]];
    enum err err = degree_sequence_possible(degree, want->node_count, possible, why);
    free(degree);
    return err;
}

enum err random_graph_plug(struct wiring *wiring, const struct random_graph *want, bool *done,
                           struct why *why)
{
    *done = true;
    enum err err = want->group ? OK : possible(want, done, why);
    if (err || !*done)
        return err;
    struct attempt attempt = {
        .wiring = wiring,
        .want = want,
        .base = wiring->cable_count,
        .left = array_new(wiring->node_count, sizeof *attempt.left),
        .open = array_new(want->node_count, sizeof *attempt.open),
        .marks = array_new(wiring->node_count, 1),
    };
    if (attempt.left && attempt.open && attempt.marks)
        err = attempts_run(&attempt, done, why);
    else
        err = why_memory(why);
    free(attempt.left);
    free(attempt.open);
    free(attempt.marks);
    return err;
}
