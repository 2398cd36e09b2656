#include "topology/measure/parts.h"

#include <stdlib.h>

#include "base/array.h"

enum err parts_label(const struct graph *graph, uint32_t **labels, struct why *why)
{
    struct bfs bfs;
    *labels = NULL;
    if (!bfs_init(&bfs, graph->node_count))
        return why_memory(why);
    uint32_t *label = array_new(graph->node_count, sizeof *label);
    for (uint32_t v = 0; label && v < graph->node_count; v++) {
        if (bfs_seen(&bfs, v))
            continue;
        uint32_t first = bfs.count;
        bfs_start(&bfs, v);
        graph_search(graph, &bfs);
        for (uint32_t i = first; i < bfs.count; i++)
            label[bfs.order[i]] = v;
    }
    bfs_fini(&bfs);
    *labels = label;
    return label ? OK : why_memory(why);
}
