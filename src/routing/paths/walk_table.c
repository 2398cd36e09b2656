/* walk_table: a breadth-first search from the target, then one pass over the
 * channels for each level.
 *
 * A walk of slack s from v continues at a neighbour one nearer with slack s,
 * as far with s - 1, or one farther with s - 2. Taken nearest first, a node
 * finds all of these complete. */
#include "routing/paths/walk_table.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"

enum err walk_table_init(struct walk_table *table, const struct graph *graph, struct why *why)
{
    *table = (struct walk_table){.graph = graph, .target = NODE_NONE};
    table->distance = array_new(graph->node_count, sizeof *table->distance);
    table->order = array_new(graph->node_count, sizeof *table->order);
    if (table->distance && table->order)
        return OK;
    walk_table_fini(table);
    return why_memory(why);
}

void walk_table_fini(struct walk_table *table)
{
    free(table->distance);
    free(table->order);
    for (uint32_t slack = 0; slack <= WALK_SLACK_MAX; slack++)
        free(table->walks[slack]);
    *table = (struct walk_table){0};
}

void walk_table_aim(struct walk_table *table, uint32_t target)
{
    const struct graph *graph = table->graph;
    assert(target < graph->node_count);
    if (target == table->target)
        return;
    for (uint32_t v = 0; v < graph->node_count; v++)
        table->distance[v] = WALK_FAR;
    table->target = target;
    table->level_count = 0;
    table->distance[target] = 0;
    table->order[0] = target;
    uint32_t tail = 1;
    for (uint32_t head = 0; head < tail; head++) {
        uint32_t v = table->order[head];
        for (uint32_t slot = graph->first[v]; slot < graph->first[v + 1]; slot++) {
            uint32_t w = graph->to[slot];
            if (table->distance[w] == WALK_FAR) {
                table->distance[w] = table->distance[v] + 1;
                table->order[tail++] = w;
            }
        }
    }
    table->order_count = tail;
}

static void count_level(struct walk_table *table, uint32_t slack)
{
    const struct graph *graph = table->graph;
    double *walks = table->walks[slack];
    walks[table->target] = slack == 0; /* none passes the target and comes back */
    for (uint32_t i = 1; i < table->order_count; i++) {
        uint32_t v = table->order[i];
        double sum = 0;
        for (uint32_t slot = graph->first[v]; slot < graph->first[v + 1]; slot++) {
            uint32_t w = graph->to[slot];
            uint32_t left = walk_table_left(table, v, w, slack);
            if (left <= slack)
                sum += table->walks[left][w];
        }
        walks[v] = sum < WALK_COUNT_MAX ? sum : WALK_COUNT_MAX;
    }
}

enum err walk_table_count(struct walk_table *table, uint32_t slack, struct why *why)
{
    assert(table->target != NODE_NONE && slack <= WALK_SLACK_MAX);
    for (; table->level_count <= slack; table->level_count++) {
        double **walks = &table->walks[table->level_count];
        if (!*walks)
            *walks = array_new(table->graph->node_count, sizeof **walks);
        if (!*walks)
            return why_memory(why);
        count_level(table, table->level_count);
    }
    return OK;
}
