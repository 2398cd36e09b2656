/* refine: the buckets, the choice of the next move, and the passes.
 *
 * Each (class, side) has a list of buckets by gain. So, after a move has unbalanced the sides, the
 * best node that restores the balance exactly is at the head of some list: with one class this is a
 * swap of two nodes; with several classes one node may compensate two lighter ones.
 *
 * Invariant: between moves every node that is not locked is in the bucket of its class, side and
 * gain; excess and cut describe the current sides. */
#include "flow/bisection/refine.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"

enum err refine_init(struct refine *refine, const struct graph *graph,
                     const struct halving *halving, struct why *why)
{
    uint32_t nodes = graph->node_count, degree_max = 0;
    for (uint32_t v = 0; v < nodes; v++)
        if (graph_degree(graph, v) > degree_max)
            degree_max = graph_degree(graph, v);
    *refine = (struct refine){.graph = graph, .halving = halving, .span = 2 * degree_max + 1};
    uint32_t classes =
        halving->class_count < REFINE_CLASS_MAX ? halving->class_count : REFINE_CLASS_MAX;
    refine->lists = 2 * classes;
    refine->patience = nodes < 4096 ? nodes : 4096 + nodes / 16;
    refine->head = array_new((size_t)refine->lists * refine->span, sizeof *refine->head);
    refine->top = array_new(refine->lists, sizeof *refine->top);
    refine->next = array_new(nodes, sizeof *refine->next);
    refine->before = array_new(nodes, sizeof *refine->before);
    refine->gain = array_new(nodes, sizeof *refine->gain);
    refine->moved = array_new(nodes, sizeof *refine->moved);
    refine->locked = array_new(nodes, sizeof *refine->locked);
    if (!refine->head || !refine->top || !refine->next || !refine->before || !refine->gain ||
        !refine->moved || !refine->locked) {
        refine_fini(refine);
        return why_memory(why);
    }
    return OK;
}

void refine_fini(struct refine *refine)
{
    free(refine->head);
    free(refine->top);
    free(refine->next);
    free(refine->before);
    free(refine->gain);
    free(refine->moved);
    free(refine->locked);
    *refine = (struct refine){0};
}

static uint32_t list_of(const struct refine *refine, uint32_t node, uint8_t side)
{
    uint32_t class = refine->halving->class_of[node];
    return 2 * (class < REFINE_CLASS_MAX ? class : REFINE_CLASS_MAX - 1) + side;
}

static uint32_t bucket_of(const struct refine *refine, uint32_t node)
{
    return (uint32_t)(refine->gain[node] + (int32_t)(refine->span / 2));
}

static void bucket_insert(struct refine *refine, uint32_t node, uint8_t side)
{
    uint32_t list = list_of(refine, node, side), bucket = bucket_of(refine, node);
    uint32_t *head = &refine->head[(size_t)list * refine->span + bucket];
    refine->next[node] = *head;
    refine->before[node] = NODE_NONE;
    if (*head != NODE_NONE)
        refine->before[*head] = node;
    *head = node;
    if (bucket > refine->top[list])
        refine->top[list] = bucket;
}

static void bucket_remove(struct refine *refine, uint32_t node, uint8_t side)
{
    uint32_t next = refine->next[node], before = refine->before[node];
    if (next != NODE_NONE)
        refine->before[next] = before;
    if (before != NODE_NONE) {
        refine->next[before] = next;
        return;
    }
    size_t list = list_of(refine, node, side);
    refine->head[list * refine->span + bucket_of(refine, node)] = next;
}

/* The node of greatest gain in a list, or NODE_NONE. */
static uint32_t list_best(struct refine *refine, uint32_t list)
{
    const uint32_t *head = &refine->head[(size_t)list * refine->span];
    while (refine->top[list] > 0 && head[refine->top[list]] == NODE_NONE)
        refine->top[list]--;
    return head[refine->top[list]];
}

/* Computes gains, cut and excess of the current sides and unlocks all nodes. */
static void pass_begin(struct refine *refine, const uint8_t *side)
{
    const struct graph *graph = refine->graph;
    for (size_t i = 0; i < (size_t)refine->lists * refine->span; i++)
        refine->head[i] = NODE_NONE;
    for (uint32_t list = 0; list < refine->lists; list++)
        refine->top[list] = 0;
    uint64_t ends = 0;
    for (uint32_t v = 0; v < graph->node_count; v++) {
        int32_t gain = 0;
        for (uint32_t slot = graph->first[v]; slot < graph->first[v + 1]; slot++) {
            bool across = side[graph->to[slot]] != side[v];
            gain += across ? 1 : -1;
            ends += across;
        }
        refine->gain[v] = gain;
        refine->locked[v] = 0;
        bucket_insert(refine, v, side[v]);
    }
    refine->cut = ends / 2;
    refine->excess = halving_excess(refine->halving, side);
}

/* Moves a node to the other side and locks it. */
static void node_move(struct refine *refine, uint32_t node, uint8_t *side)
{
    const struct graph *graph = refine->graph;
    uint8_t from = side[node];
    int64_t weight = halving_weight(refine->halving, node);
    bucket_remove(refine, node, from);
    refine->locked[node] = 1;
    side[node] = !from;
    refine->excess += from ? 2 * weight : -2 * weight;
    refine->cut = (uint64_t)((int64_t)refine->cut - refine->gain[node]);
    refine->gain[node] = -refine->gain[node];
    for (uint32_t slot = graph->first[node]; slot < graph->first[node + 1]; slot++) {
        uint32_t other = graph->to[slot];
        int32_t change = side[other] == from ? 2 : -2;
        if (refine->locked[other]) {
            refine->gain[other] += change;
            continue;
        }
        bucket_remove(refine, other, side[other]);
        refine->gain[other] += change;
        bucket_insert(refine, other, side[other]);
    }
}

/* The next move, or NODE_NONE. In balance, any move is allowed. Out of balance: a move that
 * restores it, else one that comes nearer to it. A node without weight goes first if its gain is
 * greater. */
static uint32_t node_choose(struct refine *refine)
{
    int64_t gap = (int64_t)halving_gap(refine->halving), now = llabs(refine->excess);
    uint32_t best = NODE_NONE, weightless = NODE_NONE;
    int best_rank = 0;
    int64_t best_excess = 0;
    for (uint32_t list = 0; list < refine->lists; list++) {
        uint32_t node = list_best(refine, list);
        if (node == NODE_NONE)
            continue;
        int64_t weight = halving_weight(refine->halving, node);
        if (weight == 0) {
            if (weightless == NODE_NONE || refine->gain[node] > refine->gain[weightless])
                weightless = node;
            continue;
        }
        int64_t excess = llabs(refine->excess + (list & 1 ? 2 * weight : -2 * weight));
        int rank = now == gap || excess == gap ? 2 : excess < now;
        if (rank == 0 || rank < best_rank)
            continue;
        if (best == NODE_NONE || rank > best_rank || refine->gain[node] > refine->gain[best] ||
            (refine->gain[node] == refine->gain[best] && excess < best_excess)) {
            best = node;
            best_rank = rank;
            best_excess = excess;
        }
    }
    if (weightless != NODE_NONE &&
        (best == NODE_NONE ? now == gap : refine->gain[weightless] > refine->gain[best]))
        return weightless;
    return best;
}

/* Changes the sides to a composition that is known to be a halving, close to the current one. */
static void side_recompose(const struct halving *halving, uint8_t *side)
{
    uint8_t light = halving_excess(halving, side) > 0;
    for (uint32_t c = 0; c < halving->class_count; c++) {
        uint32_t on = 0, wanted = halving->classes[c].light;
        if (halving->classes[c].weight == 0)
            continue;
        for (uint32_t v = 0; v < halving->node_count; v++)
            on += halving->class_of[v] == c && side[v] == light;
        for (uint32_t v = 0; v < halving->node_count && on != wanted; v++) {
            if (halving->class_of[v] != c || (side[v] == light) != (on > wanted))
                continue;
            side[v] = !side[v];
            on = on > wanted ? on - 1 : on + 1;
        }
    }
}

/* Turns the sides into halves by the moves that cost least. */
static void side_balance(struct refine *refine, uint8_t *side)
{
    uint64_t gap = halving_gap(refine->halving);
    pass_begin(refine, side);
    while ((uint64_t)llabs(refine->excess) != gap) {
        int64_t before = llabs(refine->excess);
        uint32_t node = node_choose(refine);
        if (node == NODE_NONE)
            break;
        node_move(refine, node, side);
        assert(llabs(refine->excess) <= before);
    }
    if ((uint64_t)llabs(refine->excess) != gap)
        side_recompose(refine->halving, side);
    assert(halving_holds(refine->halving, side));
}

/* One pass; true if it found a better halving. */
static bool pass_run(struct refine *refine, uint8_t *side)
{
    pass_begin(refine, side);
    uint64_t gap = halving_gap(refine->halving), best_cut = refine->cut;
    uint32_t count = 0, best_count = 0;
    uint32_t node;
    while (count - best_count <= refine->patience && (node = node_choose(refine)) != NODE_NONE) {
        node_move(refine, node, side);
        refine->moved[count++] = node;
        if ((uint64_t)llabs(refine->excess) == gap && refine->cut < best_cut) {
            best_cut = refine->cut;
            best_count = count;
        }
    }
    while (count > best_count)
        side[refine->moved[--count]] ^= 1;
    refine->cut = best_cut;
    return best_count > 0;
}

uint64_t refine_run(struct refine *refine, uint8_t *side)
{
    if (!halving_holds(refine->halving, side))
        side_balance(refine, side);
    while (pass_run(refine, side))
        continue; /* the cut decreases each time, so this ends */
    return refine->cut;
}
