/* path_class: a search in depth that enters a node only if a walk of the right
 * length leads from there to the target, and random walks of the right length.
 *
 * A walk that is drawn takes each hop with the share of all walks that
 * continue there, so that all walks are alike likely; throwing away those that
 * are not loopless leaves all paths alike likely. */
#include "routing/paths/path_class.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"

enum err path_class_init(struct path_class *class, const struct graph *graph, struct why *why)
{
    *class = (struct path_class){0};
    class->nodes = array_new(graph->node_count, sizeof *class->nodes);
    class->slots = array_new(graph->node_count, sizeof *class->slots);
    class->slacks = array_new(graph->node_count, sizeof *class->slacks);
    class->passed = array_new(graph->node_count, sizeof *class->passed);
    if (class->nodes && class->slots && class->slacks && class->passed)
        return OK;
    path_class_fini(class);
    return why_memory(why);
}

void path_class_fini(struct path_class *class)
{
    free(class->channels);
    free(class->nodes);
    free(class->slots);
    free(class->slacks);
    free(class->passed);
    free(class->seen);
    *class = (struct path_class){0};
}

static void class_begin(struct path_class *class, const struct walk_table *table, uint32_t from,
                        uint32_t slack)
{
    assert(from != table->target && table->distance[from] != WALK_FAR);
    assert(slack < table->level_count);
    class->count = 0;
    class->hops = table->distance[from] + slack;
    assert(class->hops < table->graph->node_count);
}

/* Adds the path whose hops leave from slots[i] - 1: the search has moved on
 * from each slot it has taken. */
static enum err class_add(struct path_class *class, const struct graph *graph, struct why *why)
{
    size_t size = class->count * class->hops;
    if (!array_reserve(&class->channels, &class->channel_capacity, size + class->hops,
                       sizeof *class->channels))
        return why_memory(why);
    for (uint32_t i = 0; i < class->hops; i++)
        class->channels[size + i] = graph->channel[class->slots[i] - 1];
    class->count++;
    return OK;
}

/* Enters a node as number `depth` of the walk. */
static void walk_enter(struct path_class *class, const struct graph *graph, uint32_t depth,
                       uint32_t node, uint32_t slack)
{
    class->nodes[depth] = node;
    class->slots[depth] = graph->first[node];
    class->slacks[depth] = slack;
    class->passed[node] = true;
}

/* Leaves all `depth` nodes of the walk. */
static void walk_leave(struct path_class *class, uint32_t depth)
{
    for (uint32_t i = 0; i < depth; i++)
        class->passed[class->nodes[i]] = false;
}

/* The next slot of the walk's last node that may be taken, which slots[depth]
 * has then passed; false if there is none. */
static bool walk_next(struct path_class *class, const struct walk_table *table, uint32_t depth,
                      uint32_t *to, uint32_t *left)
{
    const struct graph *graph = table->graph;
    uint32_t from = class->nodes[depth], slack = class->slacks[depth];
    while (class->slots[depth] < graph->first[from + 1]) {
        *to = graph->to[class->slots[depth]++];
        *left = walk_table_left(table, from, *to, slack);
        if (*left <= slack && !class->passed[*to] && table->walks[*left][*to] > 0)
            return true;
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
            if (*complete && (err = class_add(class, graph, why)))
                break;
        }
    }
    walk_leave(class, depth + 1);
    return err;
}

/* One random walk of the class's length into slots; false if it meets itself. */
static bool walk_draw(struct path_class *class, const struct walk_table *table, uint32_t from,
                      uint32_t slack, struct rng *rng)
{
    const struct graph *graph = table->graph;
    uint32_t depth = 0, node = from;
    while (node != table->target && !class->passed[node]) {
        double draw = rng_unit(rng) * table->walks[slack][node];
        uint32_t to = NODE_NONE, left = 0;
        walk_enter(class, graph, depth, node, slack);
        for (uint32_t slot = graph->first[node]; slot < graph->first[node + 1] && draw >= 0;
             slot++) {
            uint32_t w = graph->to[slot], after = walk_table_left(table, node, w, slack);
            if (after > slack || table->walks[after][w] <= 0)
                continue;
            draw -= table->walks[after][w];
            class->slots[depth] = slot + 1; /* rounding may leave a little: then the last one */
            to = w;
            left = after;
        }
        assert(to != NODE_NONE);
        depth++;
        node = to;
        slack = left;
    }
    walk_leave(class, depth);
    assert(node != table->target || depth == class->hops);
    return node == table->target;
}

static uint64_t path_hash(const uint32_t *channels, uint32_t hops)
{
    uint64_t hash = 0x9E3779B97F4A7C15u; /* the golden ratio */
    for (uint32_t i = 0; i < hops; i++)
        hash = (hash ^ channels[i]) * 0xD6E8FEB86659FD93u; /* odd, with bits all over */
    return hash ^ hash >> 32;
}

/* Takes the last path away again if the class holds it already. `mask` is the
 * size of the table minus one; it is never full. */
static void drop_known(struct path_class *class, size_t mask)
{
    const uint32_t *last = path_class_path(class, class->count - 1);
    size_t place = path_hash(last, class->hops) & mask;
    while (class->seen[place]) {
        const uint32_t *other = path_class_path(class, class->seen[place] - 1);
        if (!memcmp(last, other, class->hops * sizeof *last)) {
            class->count--;
            return;
        }
        place = (place + 1) & mask;
    }
    class->seen[place] = (uint32_t) class->count;
}

enum err path_class_draw(struct path_class *class, const struct walk_table *table, uint32_t from,
                         uint32_t slack, size_t count, uint64_t try_max, struct rng *rng,
                         bool *complete, struct why *why)
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
    for (uint64_t i = 0; i < try_max && class->count < count; i++) {
        if (!walk_draw(class, table, from, slack, rng))
            continue;
        enum err err = class_add(class, table->graph, why);
        if (err)
            return err;
        drop_known(class, size - 1);
    }
    *complete = class->count == count;
    return OK;
}
