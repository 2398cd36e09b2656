#include "base/bfs.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define SCATTERED 8 /* one scattered write costs about as much as this many consecutive ones */

static void levels_clear(struct bfs *bfs)
{
    memset(bfs->level, 0xff, bfs->node_count * sizeof *bfs->level); /* all BFS_UNSEEN */
}

bool bfs_init(struct bfs *bfs, uint32_t node_count)
{
    *bfs = (struct bfs){
        .level = array_new(node_count, sizeof *bfs->level),
        .order = array_new(node_count, sizeof *bfs->order),
        .node_count = node_count,
    };
    if (!bfs->level || !bfs->order) {
        bfs_fini(bfs);
        return false;
    }
    levels_clear(bfs);
    return true;
}

void bfs_fini(struct bfs *bfs)
{
    free(bfs->level);
    free(bfs->order);
    *bfs = (struct bfs){0};
}

void bfs_clear(struct bfs *bfs)
{
    if (bfs->count > bfs->node_count / SCATTERED) {
        levels_clear(bfs);
    } else {
        for (uint32_t i = 0; i < bfs->count; i++)
            bfs->level[bfs->order[i]] = BFS_UNSEEN;
    }
    bfs->count = bfs->taken = 0;
}
