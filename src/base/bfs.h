#pragma once
/* bfs: the state of a breadth-first search over nodes numbered from 0. It knows
 * no graph: its user takes the next node and visits the neighbours of it that
 * the search may go to. Nodes come out nearest first.
 *
 *     bfs_start(&bfs, from);
 *     for (uint32_t v; bfs_take(&bfs, &v);)
 *         for (each neighbour w of v)
 *             if (bfs_visit(&bfs, v, w))
 *                 w was met for the first time, from v
 *
 * There may be several starts; one may be added when a search has come to its end
 * to search another part of the graph. */

#include <stdbool.h>
#include <stdint.h>

#include "base/check.h"
#include "base/err.h"

#define BFS_UNSEEN UINT32_MAX

struct bfs {
    uint32_t *level; /* owned; per node: hops from its start; BFS_UNSEEN: not met */
    uint32_t *order; /* owned; the nodes met, in order */
    uint32_t count;  /* how many were met ... */
    uint32_t taken;  /* ... and how many of those were taken */
    uint32_t node_count;
};

/* No node is met. False when memory is short; bfs_fini is allowed even then. */
MUST_CHECK bool bfs_init(struct bfs *bfs, uint32_t node_count);
void bfs_fini(struct bfs *bfs);

/* Ready for another search. A search that met few nodes of many costs little here. */
void bfs_clear(struct bfs *bfs);

static inline bool bfs_seen(const struct bfs *bfs, uint32_t node)
{
    return bfs->level[node] != BFS_UNSEEN;
}

/* The node must not have been met. */
static inline void bfs_start(struct bfs *bfs, uint32_t node)
{
    assert(!bfs_seen(bfs, node));
    bfs->level[node] = 0;
    bfs->order[bfs->count++] = node;
}

/* The next node to look at; false when there is none. */
static inline bool bfs_take(struct bfs *bfs, uint32_t *node)
{
    if (bfs->taken == bfs->count)
        return false;
    *node = bfs->order[bfs->taken++];
    return true;
}

/* True if `to` is met here for the first time, as a neighbour of `from`. */
static inline bool bfs_visit(struct bfs *bfs, uint32_t from, uint32_t to)
{
    if (bfs_seen(bfs, to))
        return false;
    bfs->level[to] = bfs->level[from] + 1;
    bfs->order[bfs->count++] = to;
    return true;
}
