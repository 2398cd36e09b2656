/* connect: joins two parts by crossing a cable that its part does not need.
 *
 * A breadth-first forest separates the cables that a part needs (its tree) from the spare ones. Let
 * e = (a, b) be spare in one part and f = (c, d) any cable of another part. Replacing them by (a,
 * c) and (b, d) joins the two parts: the first part is connected without e, and nodes that f
 * connected are now connected through the first part. If f was spare too, one of the new cables is
 * spare. So each join costs exactly one spare cable, and there are enough if there are at least
 * nodes - 1 cables in total and every node has a port. Parts with spare cables come first, because
 * they bring the spare cable for their own join. */
#include "topology/generate/connect.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/bfs.h"
#include "base/check.h"

struct parts {
    struct wiring *wiring; /* borrowed */
    const uint32_t *group; /* borrowed, or NULL */
    struct rng *rng;       /* borrowed */
    uint32_t count;
    uint32_t *part;        /* per node */
    uint32_t *root;        /* per part: a node of it */
    uint8_t *tree;         /* per cable: its part needs it */
    uint32_t *first;       /* count + 1: the cables of part i are own[first[i]] .. */
    uint32_t *own;         /* the cables by part, spare ones first */
    uint32_t *spare_count; /* per part */
    uint32_t *stock;       /* spare cables of the parts joined so far */
    uint32_t stock_count;
};

static void parts_fini(struct parts *parts)
{
    free(parts->part);
    free(parts->root);
    free(parts->tree);
    free(parts->first);
    free(parts->own);
    free(parts->spare_count);
    free(parts->stock);
}

/* Marks the part of `root` and its tree. */
static void part_search(struct parts *parts, uint32_t root, struct bfs *bfs)
{
    const struct wiring *wiring = parts->wiring;
    bfs_start(bfs, root);
    for (uint32_t node; bfs_take(bfs, &node);) {
        parts->part[node] = parts->count;
        for (uint64_t at = wiring->first[node]; at < wiring->first[node + 1]; at++)
            if (wiring->peer_at[at] != NODE_NONE && bfs_visit(bfs, node, wiring->peer_at[at]))
                parts->tree[wiring->cable_at[at]] = 1;
    }
}

static enum err parts_find(struct parts *parts, struct why *why)
{
    const struct wiring *wiring = parts->wiring;
    uint32_t nodes = wiring->node_count;
    struct bfs bfs;
    bool room = bfs_init(&bfs, nodes);
    parts->part = array_new(nodes, sizeof *parts->part);
    parts->root = array_new(nodes, sizeof *parts->root);
    parts->tree = array_new(wiring->cable_count, 1);
    if (!room || !parts->part || !parts->root || !parts->tree) {
        bfs_fini(&bfs);
        return why_memory(why);
    }
    for (uint32_t v = 0; v < nodes && bfs.count < nodes; v++) {
        if (bfs_seen(&bfs, v))
            continue;
        part_search(parts, v, &bfs);
        parts->root[parts->count++] = v;
    }
    bfs_fini(&bfs);
    return OK;
}

/* Lists the cables of every part, the spare ones first. */
static enum err parts_sort_cables(struct parts *parts, struct why *why)
{
    const struct wiring *wiring = parts->wiring;
    uint32_t cables = wiring->cable_count;
    parts->first = array_new((size_t)parts->count + 1, sizeof *parts->first);
    parts->own = array_new(cables, sizeof *parts->own);
    parts->spare_count = array_new(parts->count, sizeof *parts->spare_count);
    parts->stock = array_new(cables, sizeof *parts->stock);
    uint32_t *next = array_new(parts->count, sizeof *next);
    if (!parts->first || !parts->own || !parts->spare_count || !parts->stock || !next) {
        free(next);
        return why_memory(why);
    }
    for (uint32_t e = 0; e < cables; e++) {
        uint32_t part = parts->part[wiring->cables[e].a];
        parts->first[part + 1]++;
        parts->spare_count[part] += !parts->tree[e];
    }
    for (uint32_t i = 0; i < parts->count; i++) {
        next[i] = parts->first[i];
        parts->first[i + 1] += parts->first[i];
    }
    for (uint8_t tree = 0; tree <= 1; tree++)
        for (uint32_t e = 0; e < cables; e++)
            if (parts->tree[e] == tree)
                parts->own[next[parts->part[wiring->cables[e].a]]++] = e;
    free(next);
    return OK;
}

static bool between(const uint32_t *group, uint32_t a, uint32_t b)
{
    return group[a] != group[b];
}

/* May (a, b) and (c, d) become (a, c) and (b, d)? They belong to different parts, so only the
 * groups can forbid it. */
static bool crossing_allowed(const struct parts *parts, const struct link *one,
                             const struct link *other)
{
    const uint32_t *group = parts->group;
    if (!group)
        return true;
    if (between(group, one->a, one->b))
        return between(group, other->a, other->b) && between(group, one->a, other->a) &&
               between(group, one->b, other->b);
    return !between(group, other->a, other->b) && !between(group, one->a, other->a);
}

/* Crosses f with some cable of the stock; if f was spare, it replaces that cable in the stock.
 * Returns false if the groups allow no crossing. */
static bool part_cross(struct parts *parts, uint32_t f, bool spare)
{
    struct wiring *wiring = parts->wiring;
    if (rng_next(parts->rng) & 1)
        wiring_turn(wiring, f);
    uint32_t start = (uint32_t)rng_below(parts->rng, parts->stock_count);
    for (uint32_t i = 0; i < 2 * (uint64_t)parts->stock_count; i++) {
        uint32_t at = (uint32_t)(((uint64_t)start + i) % parts->stock_count);
        uint32_t e = parts->stock[at];
        if (i == parts->stock_count)
            wiring_turn(wiring, f); /* after one round, try the other direction */
        if (!crossing_allowed(parts, &wiring->cables[e], &wiring->cables[f]))
            continue;
        wiring_cross(wiring, e, f);
        parts->stock[at] = spare ? f : parts->stock[--parts->stock_count];
        return true;
    }
    return false;
}

/* Attaches a node without cables: one end of a spare cable moves to its free port. */
static bool node_attach(struct parts *parts, uint32_t node)
{
    struct wiring *wiring = parts->wiring;
    if (wiring->free[node] == 0)
        return false;
    uint32_t start = (uint32_t)rng_below(parts->rng, parts->stock_count);
    for (uint32_t i = 0; i < parts->stock_count; i++) {
        uint32_t at = (uint32_t)(((uint64_t)start + i) % parts->stock_count);
        uint32_t e = parts->stock[at];
        const struct link *link = &wiring->cables[e];
        if (parts->group &&
            (!between(parts->group, link->a, link->b) || !between(parts->group, link->a, node)))
            continue; /* the free port is always one for cables between groups */
        wiring_move(wiring, e, link->b, node);
        parts->stock[at] = parts->stock[--parts->stock_count];
        return true;
    }
    return false;
}

/* Joins part i to the parts joined so far. */
static bool part_join(struct parts *parts, uint32_t i)
{
    uint32_t cables = parts->first[i + 1] - parts->first[i], spares = parts->spare_count[i];
    uint32_t *own = parts->own + parts->first[i];
    if (parts->stock_count == 0)
        return false;
    if (cables == 0)
        return node_attach(parts, parts->root[i]);
    uint32_t among = spares ? spares : cables;
    uint32_t start = (uint32_t)rng_below(parts->rng, among);
    for (uint32_t k = 0; k < among; k++) {
        uint32_t at = (uint32_t)(((uint64_t)start + k) % among);
        if (!part_cross(parts, own[at], spares > 0))
            continue;
        for (uint32_t s = 0; s < spares; s++)
            if (s != at)
                parts->stock[parts->stock_count++] = own[s];
        return true;
    }
    return false;
}

static bool parts_join(struct parts *parts)
{
    uint32_t main = 0;
    while (main < parts->count && parts->spare_count[main] == 0)
        main++;
    if (main == parts->count)
        return false;
    for (uint32_t s = 0; s < parts->spare_count[main]; s++)
        parts->stock[parts->stock_count++] = parts->own[parts->first[main] + s];
    for (uint32_t with_spares = 2; with_spares-- > 0;)
        for (uint32_t i = 0; i < parts->count; i++)
            if (i != main && (parts->spare_count[i] > 0) == with_spares && !part_join(parts, i))
                return false;
    return true;
}

enum err connect_parts(struct wiring *wiring, const uint32_t *group, struct rng *rng,
                       bool *connected, struct why *why)
{
    struct parts parts = {.wiring = wiring, .group = group, .rng = rng};
    enum err err = parts_find(&parts, why);
    *connected = !err && parts.count <= 1;
    if (!err && !*connected)
        err = parts_sort_cables(&parts, why);
    if (!err && !*connected)
        *connected = parts_join(&parts);
    parts_fini(&parts);
    return err;
}
