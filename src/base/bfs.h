#pragma once
/* bfs: the state of a breadth-first search over nodes numbered from 0. It contains no graph: the
 * caller takes the next node and visits those of its neighbours to which the search may go. Nodes
 * come out nearest first.
 *
 *     bfs_start(&bfs, from);
 *     for (uint32_t v; bfs_take(&bfs, &v);)
 *         for (each neighbour w of v)
 *             if (bfs_visit(&bfs, v, w))
 *                 w was reached for the first time, from v
 *
 * A search may have several start nodes. A start may also be added when a search has ended, to
 * search another part of the graph. */

#include <stdbool.h>
#include <stdint.h>

#include "base/check.h"
#include "base/err.h"

#define BFS_UNSEEN UINT32_MAX

struct bfs {
    uint32_t *level; /* owned; per node: hops from its start, or BFS_UNSEEN */
    uint32_t *order; /* owned; the nodes reached, in order */
    uint32_t count;  /* how many were reached ... */
    uint32_t taken;  /* ... and how many of those were taken */
    uint32_t node_count;
};

/* No node is reached yet. False if there is no memory; bfs_fini is allowed even then. */
MUST_CHECK bool bfs_init(struct bfs *bfs, uint32_t node_count);
void bfs_fini(struct bfs *bfs);

/* Prepares another search. This is cheap if the last search reached few nodes of many. */
void bfs_clear(struct bfs *bfs);

static inline bool bfs_seen(const struct bfs *bfs, uint32_t node)
{
    return bfs->level[node] != BFS_UNSEEN;
}

/* The node must not have been reached yet. */
static inline void bfs_start(struct bfs *bfs, uint32_t node)
{
    assert(!bfs_seen(bfs, node));
    bfs->level[node] = 0;
    bfs->order[bfs->count++] = node;
}

/* Returns the next node to examine; false if there is none. */
static inline bool bfs_take(struct bfs *bfs, uint32_t *node)
{
    if (bfs->taken == bfs->count)
        return false;
    *node = bfs->order[bfs->taken++];
    return true;
}

/* True if `to` is reached here for the first time, as a neighbour of `from`. */
static inline bool bfs_visit(struct bfs *bfs, uint32_t from, uint32_t to)
{
    if (bfs_seen(bfs, to))
        return false;
    bfs->level[to] = bfs->level[from] + 1;
    bfs->order[bfs->count++] = to;
    return true;
}
