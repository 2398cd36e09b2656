/* first_ports: a node's set is the union of the sets of its neighbours one level nearer to the
 * start. These are complete before the first node of its own level is taken from the queue. */
#include "routing/paths/first_ports.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/bitset.h"
#include "base/check.h"

void first_ports_fini(struct first_ports *ports)
{
    free(ports->sets);
    *ports = (struct first_ports){0};
}

/* A neighbour of the start begins with the link itself; any other node gets the set of the node
 * before it. */
static void join_sets(struct first_ports *ports, const uint32_t *level, const struct graph *graph,
                      uint32_t from, uint32_t slot, bool is_start)
{
    uint32_t to = graph->to[slot], index = slot - graph->first[from];
    if (level[to] != level[from] + 1)
        return;
    uint64_t *into = ports->sets + (size_t)to * ports->word_count;
    if (is_start) {
        bitset_add(into, index);
        return;
    }
    const uint64_t *set = first_ports_set(ports, from);
    for (uint32_t word = 0; word < ports->word_count; word++)
        into[word] |= set[word];
}

static void search(struct first_ports *ports, const struct graph *graph, uint32_t node,
                   struct bfs *bfs)
{
    bfs_start(bfs, node);
    for (uint32_t v; bfs_take(bfs, &v);)
        for (uint32_t slot = graph->first[v]; slot < graph->first[v + 1]; slot++) {
            bfs_visit(bfs, v, graph->to[slot]);
            join_sets(ports, bfs->level, graph, v, slot, v == node);
        }
}

enum err first_ports_find(struct first_ports *ports, const struct graph *graph, uint32_t node,
                          struct why *why)
{
    assert(node < graph->node_count);
    *ports = (struct first_ports){.word_count = first_ports_words(graph, node)};
    struct bfs bfs;
    bool room = bfs_init(&bfs, graph->node_count);
    ports->sets = array_new((size_t)graph->node_count * ports->word_count, sizeof *ports->sets);
    enum err err = OK;
    if (room && ports->sets) {
        search(ports, graph, node, &bfs);
    } else {
        first_ports_fini(ports);
        err = why_memory(why);
    }
    bfs_fini(&bfs);
    return err;
}
