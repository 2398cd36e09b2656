/* walk_table: a breadth-first search from the target, which also sorts every node's hops, then one
 * pass over the hops for each level.
 *
 * A walk of slack s from v continues at a neighbour one hop nearer with slack s, at the same
 * distance with s - 1, or one hop farther with s - 2. If nodes are processed by increasing
 * distance, all these counts are complete. */
#include "routing/paths/walk_table.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"

enum err walk_table_init(struct walk_table *table, const struct graph *graph, struct why *why)
{
    *table = (struct walk_table){.graph = graph, .target = NODE_NONE};
    table->near_end = array_new(graph->node_count, sizeof *table->near_end);
    table->far_first = array_new(graph->node_count, sizeof *table->far_first);
    table->to = array_new(graph_channel_count(graph), sizeof *table->to);
    table->channel = array_new(graph_channel_count(graph), sizeof *table->channel);
    if (bfs_init(&table->bfs, graph->node_count) && table->near_end && table->far_first &&
        table->to && table->channel)
        return OK;
    walk_table_fini(table);
    return why_memory(why);
}

void walk_table_fini(struct walk_table *table)
{
    bfs_fini(&table->bfs);
    free(table->near_end);
    free(table->far_first);
    free(table->to);
    free(table->channel);
    for (uint32_t slack = 0; slack <= WALK_SLACK_MAX; slack++)
        free(table->walks[slack]);
    *table = (struct walk_table){0};
}

/* Sorts the hops: those that lead nearer first, those that lead away last. */
static void sort_hops(struct walk_table *table, uint32_t node)
{
    const struct graph *graph = table->graph;
    const uint32_t *distance = table->bfs.level;
    uint32_t first = graph->first[node], end = graph->first[node + 1];
    uint32_t near = 0, level = 0;
    for (uint32_t slot = first; slot < end; slot++) {
        near += distance[graph->to[slot]] < distance[node];
        level += distance[graph->to[slot]] == distance[node];
    }
    table->near_end[node] = first + near;
    table->far_first[node] = first + near + level;
    uint32_t next[3] = {first, first + near, first + near + level};
    for (uint32_t slot = first; slot < end; slot++) {
        uint32_t to = graph->to[slot];
        uint32_t *hop = &next[distance[to] + 1 - distance[node]];
        table->to[*hop] = to;
        table->channel[*hop] = graph->channel[slot];
        ++*hop;
    }
}

void walk_table_aim(struct walk_table *table, uint32_t target)
{
    const struct graph *graph = table->graph;
    assert(target < graph->node_count);
    if (target == table->target)
        return;
    table->target = target;
    table->level_count = 0;
    bfs_clear(&table->bfs);
    bfs_start(&table->bfs, target);
    graph_search(graph, &table->bfs);
    for (uint32_t i = 0; i < table->bfs.count; i++)
        sort_hops(table, table->bfs.order[i]);
}

static double sum_walks(const struct walk_table *table, uint32_t first, uint32_t end,
                        const double *walks)
{
    double sum = 0;
    for (uint32_t hop = first; hop < end; hop++)
        sum += walks[table->to[hop]];
    return sum;
}

static void count_level(struct walk_table *table, uint32_t slack)
{
    const uint32_t *first = table->graph->first;
    double *walks = table->walks[slack];
    walks[table->target] = slack == 0; /* no walk passes the target and comes back */
    for (uint32_t i = 1; i < table->bfs.count; i++) {
        uint32_t v = table->bfs.order[i];
        double sum = sum_walks(table, first[v], table->near_end[v], walks);
        if (slack >= 1)
            sum +=
                sum_walks(table, table->near_end[v], table->far_first[v], table->walks[slack - 1]);
        if (slack >= 2)
            sum += sum_walks(table, table->far_first[v], first[v + 1], table->walks[slack - 2]);
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
