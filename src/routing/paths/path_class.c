/* path_class: a depth-first search that enters a node only if a walk of the right length leads from
 * there to the target, and random walks of the right length.
 *
 * A random walk takes each hop with the share of all walks that continue there, so all walks are
 * equally likely; discarding those that are not loopless leaves all paths equally likely. */
#include "routing/paths/path_class.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"

enum err path_class_init(struct path_class *class, const struct graph *graph, struct why *why)
{
    *class = (struct path_class){0};
    class->nodes = array_new(graph->node_count, sizeof *class->nodes);
    class->next = array_new(graph->node_count, sizeof *class->next);
    class->slacks = array_new(graph->node_count, sizeof *class->slacks);
    class->passed = array_new(graph->node_count, sizeof *class->passed);
    if (class->nodes && class->next && class->slacks && class->passed)
        return OK;
    path_class_fini(class);
    return why_memory(why);
}

void path_class_fini(struct path_class *class)
{
    free(class->channels);
    free(class->nodes);
    free(class->next);
    free(class->slacks);
    free(class->passed);
    free(class->seen);
    *class = (struct path_class){0};
}

static void class_begin(struct path_class *class, const struct walk_table *table, uint32_t from,
                        uint32_t slack)
{
    assert(from != table->target && table->bfs.level[from] != BFS_UNSEEN);
    assert(slack < table->level_count);
    class->count = 0;
    class->hops = table->bfs.level[from] + slack;
    assert(class->hops < table->graph->node_count);
}

/* Adds the current walk: next[] of a node is one after the hop that it took. */
static enum err class_add(struct path_class *class, const struct walk_table *table, struct why *why)
{
    size_t size = class->count * class->hops;
    if (!array_reserve(&class->channels, &class->channel_capacity, size + class->hops,
                       sizeof *class->channels))
        return why_memory(why);
    for (uint32_t i = 0; i < class->hops; i++)
        class->channels[size + i] = table->channel[class->next[i] - 1];
    class->count++;
    return OK;
}

/* Enters a node as number `depth` of the walk. */
static void walk_enter(struct path_class *class, const struct graph *graph, uint32_t depth,
                       uint32_t node, uint32_t slack)
{
    class->nodes[depth] = node;
    class->next[depth] = graph->first[node];
    class->slacks[depth] = slack;
    class->passed[node] = true;
}

/* Leaves all `depth` nodes of the walk. */
static void walk_leave(struct path_class *class, uint32_t depth)
{
    for (uint32_t i = 0; i < depth; i++)
        class->passed[class->nodes[i]] = false;
}

/* Finds the next hop that the walk's last node may take, and advances next[depth] past it; false if
 * there is none. */
static bool walk_next(struct path_class *class, const struct walk_table *table, uint32_t depth,
                      uint32_t *to, uint32_t *left)
{
    uint32_t node = class->nodes[depth], slack = class->slacks[depth];
    uint32_t end = walk_table_end(table, node, slack);
    for (uint32_t hop = class->next[depth]; hop < end; hop++) {
        uint32_t w = table->to[hop], after = walk_table_left(table, node, hop, slack);
        if (!class->passed[w] && table->walks[after][w] > 0) {
            class->next[depth] = hop + 1;
            *to = w;
            *left = after;
            return true;
        }
    }
    return false;
}

enum err path_class_list(struct path_class *class, const struct walk_table *table, uint32_t from,
                         uint32_t slack, size_t path_max, uint64_t work_max, bool *complete,
                         struct why *why)
{
    const struct graph *graph = table->graph;
    class_begin(class, table, from, slack);
    uint64_t work = 0;
    uint32_t depth = 0, to = 0, left = 0;
    enum err err = OK;
    walk_enter(class, graph, 0, from, slack);
    *complete = true;
    while (*complete) {
        if (!walk_next(class, table, depth, &to, &left)) {
            uint32_t node = class->nodes[depth];
            class->passed[node] = false;
            work += graph_degree(graph, node);
            *complete = work <= work_max;
            if (depth-- == 0)
                return OK;
        } else if (to != table->target) {
            walk_enter(class, graph, ++depth, to, left);
        } else {
            *complete = class->count < path_max;
            if (*complete && (err = class_add(class, table, why)))
                break;
        }
    }
    walk_leave(class, depth + 1);
    return err;
}

/* With at most this many walks, one random number for the first hop also decides all following
 * hops: its position within the hop's share is equally random. */
#define ONE_DRAW_WALKS 0x1p32

/* The hop that `draw` falls on when the walks from a node are numbered in order, and the slack
 * after it. `draw` becomes the number within that hop's walks. */
static uint32_t hop_draw(const struct walk_table *table, uint32_t node, uint32_t slack,
                         double *draw, uint32_t *left)
{
    uint32_t end = walk_table_end(table, node, slack), last = end;
    for (uint32_t hop = table->graph->first[node]; hop < end; hop++) {
        uint32_t after = walk_table_left(table, node, hop, slack);
        double walks = table->walks[after][table->to[hop]];
        if (walks <= 0)
            continue;
        last = hop;
        *left = after;
        if (*draw < walks)
            return hop;
        *draw -= walks;
    }
    assert(last < end); /* rounding may lead past the last hop */
    *draw = 0;
    return last;
}

/* Draws one random walk of the class's length into next; false if it visits a node twice. */
static bool walk_draw(struct path_class *class, const struct walk_table *table, uint32_t from,
                      uint32_t slack, struct rng *rng)
{
    uint32_t depth = 0, node = from;
    double draw = 0;
    while (node != table->target && !class->passed[node]) {
        if (depth == 0 || table->walks[slack][node] > ONE_DRAW_WALKS)
            draw = rng_unit(rng) * table->walks[slack][node];
        uint32_t hop = hop_draw(table, node, slack, &draw, &slack);
        class->nodes[depth] = node;
        class->next[depth] = hop + 1;
        class->passed[node] = true;
        depth++;
        node = table->to[hop];
    }
    walk_leave(class, depth);
    assert(node != table->target || depth == class->hops);
    return node == table->target;
}

static uint64_t path_hash(const uint32_t *channels, uint32_t hops)
{
    uint64_t hash = 0x9E3779B97F4A7C15u; /* the golden ratio */
    for (uint32_t i = 0; i < hops; i++)
        hash = (hash ^ channels[i]) * 0xD6E8FEB86659FD93u; /* odd, with bits in all places */
    return hash ^ hash >> 32;
}

/* Removes the last path if the class already contains it. `mask` is the size of the table minus
 * one; the table is never full. */
static void drop_known(struct path_class *class, size_t mask)
{
    const uint32_t *last = path_class_path(class, class->count - 1);
    size_t slot = path_hash(last, class->hops) & mask;
    while (class->seen[slot]) {
        const uint32_t *other = path_class_path(class, class->seen[slot] - 1);
        if (!memcmp(last, other, class->hops * sizeof *last)) {
            class->count--;
            return;
        }
        slot = (slot + 1) & mask;
    }
    class->seen[slot] = (uint32_t) class->count;
}

enum err path_class_draw(struct path_class *class, const struct walk_table *table, uint32_t from,
                         uint32_t slack, size_t count, uint64_t first_max, uint64_t try_max,
                         struct rng *rng, bool *complete, struct why *why)
{
    class_begin(class, table, from, slack);
    if (count >= UINT32_MAX / 2)
        return why_memory(why);
    size_t size = 16;
    while (size < 2 * count)
        size *= 2;
    if (!array_reserve(&class->seen, &class->seen_capacity, size, sizeof *class->seen))
        return why_memory(why);
    memset(class->seen, 0, size * sizeof *class->seen);
    *complete = false;
    for (uint64_t i = 0; i < (class->count ? try_max : first_max) && class->count < count; i++) {
        if (!walk_draw(class, table, from, slack, rng))
            continue;
        enum err err = class_add(class, table, why);
        if (err)
            return err;
        drop_known(class, size - 1);
    }
    *complete = class->count == count;
    return OK;
}
