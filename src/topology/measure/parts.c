#include "topology/measure/parts.h"

#include <stdlib.h>

#include "base/array.h"

/* Gives a node that has no label yet, and all that it reaches, its own number. */
static void label_from(const struct graph *graph, uint32_t root, uint32_t *label, uint32_t *queue)
{
    uint32_t count = 0;
    label[root] = root;
    queue[count++] = root;
    for (uint32_t done = 0; done < count; done++) {
        uint32_t v = queue[done];
        for (uint32_t slot = graph->first[v]; slot < graph->first[v + 1]; slot++) {
            uint32_t to = graph->to[slot];
            if (label[to] == NODE_NONE) {
                label[to] = root;
                queue[count++] = to;
            }
        }
    }
}

enum err parts_label(const struct graph *graph, uint32_t **labels, struct why *why)
{
    uint32_t *label = array_new(graph->node_count, sizeof *label);
    uint32_t *queue = array_new(graph->node_count, sizeof *queue);
    *labels = NULL;
    if (!label || !queue) {
        free(label);
        free(queue);
        return why_memory(why);
    }
    for (uint32_t v = 0; v < graph->node_count; v++)
        label[v] = NODE_NONE;
    for (uint32_t v = 0; v < graph->node_count; v++)
        if (label[v] == NODE_NONE)
            label_from(graph, v, label, queue);
    free(queue);
    *labels = label;
    return OK;
}
