/* first_ports: a node's set is the union of the sets of its neighbours one
 * level nearer to the start, which are complete before the first node of its
 * own level is taken from the queue. */
#include "routing/paths/first_ports.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"

#define LEVEL_NONE UINT32_MAX

void first_ports_fini(struct first_ports *ports)
{
    free(ports->sets);
    *ports = (struct first_ports){0};
}

/* To each neighbour first by the link itself, then on as others have come. */
static void join_sets(struct first_ports *ports, const uint32_t *level, const struct graph *graph,
                      uint32_t from, uint32_t slot, bool is_start)
{
    uint32_t to = graph->to[slot], index = slot - graph->first[from];
    if (level[to] != level[from] + 1)
        return;
    uint64_t *into = ports->sets + (size_t)to * ports->word_count;
    if (is_start) {
        into[index / 64] |= UINT64_C(1) << index % 64;
        return;
    }
    const uint64_t *set = first_ports_set(ports, from);
    for (uint32_t word = 0; word < ports->word_count; word++)
        into[word] |= set[word];
}

static void search(struct first_ports *ports, const struct graph *graph, uint32_t node,
                   uint32_t *level, uint32_t *queue)
{
    for (uint32_t v = 0; v < graph->node_count; v++)
        level[v] = LEVEL_NONE;
    level[node] = 0;
    queue[0] = node;
    uint32_t tail = 1;
    for (uint32_t head = 0; head < tail; head++) {
        uint32_t v = queue[head];
        for (uint32_t slot = graph->first[v]; slot < graph->first[v + 1]; slot++) {
            uint32_t w = graph->to[slot];
            if (level[w] == LEVEL_NONE) {
                level[w] = level[v] + 1;
                queue[tail++] = w;
            }
            join_sets(ports, level, graph, v, slot, v == node);
        }
    }
}

enum err first_ports_find(struct first_ports *ports, const struct graph *graph, uint32_t node,
                          struct why *why)
{
    assert(node < graph->node_count);
    *ports = (struct first_ports){.word_count = first_ports_words(graph, node)};
    uint32_t *level = array_new(graph->node_count, sizeof *level);
    uint32_t *queue = array_new(graph->node_count, sizeof *queue);
    ports->sets = array_new((size_t)graph->node_count * ports->word_count, sizeof *ports->sets);
    enum err err = OK;
    if (level && queue && ports->sets) {
        search(ports, graph, node, level, queue);
    } else {
        first_ports_fini(ports);
        err = why_memory(why);
    }
    free(level);
    free(queue);
    return err;
}
