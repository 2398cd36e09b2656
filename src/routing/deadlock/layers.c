#include "routing/deadlock/layers.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"
#include "routing/deadlock/acyclic.h"
#include "routing/deadlock/explore.h"

void layers_fini(struct layers *layers)
{
    free(layers->first);
    free(layers->layer);
    *layers = (struct layers){0};
}

/* The dependencies of one start, as pairs of channels. */
struct unit {
    uint32_t (*pairs)[2];
    size_t count, capacity;
};

static enum err unit_find(struct unit *unit, struct explore *explore, uint32_t from, uint32_t start,
                          struct why *why)
{
    enum err err = explore_start(explore, from, start, 0, why);
    unit->count = 0;
    for (bool more = true; !err && more;) {
        err = explore_next(explore, &more, why);
        for (uint32_t i = 0; !err && more && i < explore->move_count; i++) {
            if (!array_reserve(&unit->pairs, &unit->capacity, unit->count + 1, sizeof *unit->pairs))
                return why_memory(why);
            unit->pairs[unit->count][0] = explore->held.channel;
            unit->pairs[unit->count++][1] = explore->moves[i].channel;
        }
    }
    return err;
}

/* Layers in the making. */
struct stack {
    struct layers *layers;
    struct explore explore;
    struct unit unit;
    struct acyclic graphs[LAYER_MAX]; /* the first layers->count of them */
};

/* Adds a unit to a layer, or leaves the layer as it was. */
static enum err layer_try(struct acyclic *graph, const struct unit *unit, bool *fits,
                          struct why *why)
{
    uint32_t before = graph->edges.count;
    bool closes = false;
    for (size_t i = 0; !closes && i < unit->count; i++) {
        enum err err = acyclic_add(graph, unit->pairs[i][0], unit->pairs[i][1], &closes, why);
        if (err)
            return err;
    }
    if (closes)
        acyclic_cut(graph, before);
    *fits = !closes;
    return OK;
}

static enum err unit_place(struct stack *stack, uint8_t *layer, bool *found, struct why *why)
{
    struct layers *layers = stack->layers;
    uint32_t channels = 2 * stack->explore.router->topology->graph.link_count;
    for (uint32_t i = 0; i < LAYER_MAX; i++) {
        bool new = i == layers->count, fits;
        enum err err = OK;
        if (new)
            err = acyclic_init(&stack->graphs[layers->count], channels, why);
        if (err)
            return err;
        layers->count += new;
        err = layer_try(&stack->graphs[i], &stack->unit, &fits, why);
        *layer = (uint8_t)i;
        if (err || fits)
            return err;
        if (new)
            break; /* it does not even fit into an empty one */
    }
    *found = false;
    return OK;
}

static enum err pair_place(struct stack *stack, uint32_t from, uint32_t to, size_t *capacity,
                           bool *found, struct why *why)
{
    const struct router *router = stack->explore.router;
    struct layers *layers = stack->layers;
    size_t *first = &layers->first[(size_t)from * layers->node_count + to];
    uint32_t starts = 0;
    if (from != to && explore_is_end(router->topology, from) &&
        explore_is_end(router->topology, to))
        starts = router->algorithm->start_count(router, from, to);
    first[1] = first[0] + starts;
    if (!array_reserve(&layers->layer, capacity, first[1], sizeof *layers->layer))
        return why_memory(why);
    for (uint32_t start = 0; *found && start < starts; start++) {
        explore_begin(&stack->explore, to);
        enum err err = unit_find(&stack->unit, &stack->explore, from, start, why);
        if (!err)
            err = unit_place(stack, &layers->layer[first[0] + start], found, why);
        if (err)
            return err;
    }
    return OK;
}

static void stack_free(struct stack *stack)
{
    for (uint32_t i = 0; i < stack->layers->count; i++)
        acyclic_fini(&stack->graphs[i]);
    explore_close(&stack->explore);
    free(stack->unit.pairs);
    free(stack);
}

enum err layers_find(struct layers *layers, const struct router *router, bool *found,
                     void (*progress)(void *context, uint64_t done, uint64_t total), void *context,
                     struct why *why)
{
    uint32_t nodes = router->topology->graph.node_count;
    struct stack *stack = array_new(1, sizeof *stack);
    *layers = (struct layers){
        .node_count = nodes,
        .first = array_new((size_t)nodes * nodes + 1, sizeof *layers->first),
    };
    if (!stack || !layers->first) {
        free(stack);
        layers_fini(layers);
        return why_memory(why);
    }
    stack->layers = layers;
    enum err err = explore_open(&stack->explore, router, (struct lane_rule){LANE_KEPT, 0}, why);
    size_t capacity = 0;
    *found = true;
    for (uint32_t from = 0; !err && *found && from < nodes; from++) {
        for (uint32_t to = 0; !err && *found && to < nodes; to++)
            err = pair_place(stack, from, to, &capacity, found, why);
        if (progress)
            progress(context, from + 1, nodes);
    }
    stack_free(stack);
    if (err || !*found)
        layers_fini(layers);
    return err;
}

static uint32_t layer_of(const void *context, uint32_t from, uint32_t to, uint32_t start)
{
    const struct layers *layers = context;
    size_t first = layers->first[(size_t)from * layers->node_count + to];
    return layers->layer[first + start];
}

struct lane_choice layers_choice(const struct layers *layers)
{
    return (struct lane_choice){.lane = layer_of, .context = layers};
}
