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

/* A layer's dependencies only grow, so a pair that once closed a cycle among them always closes
 * one: it is remembered and not searched for again. */
struct layer {
    struct acyclic graph;
    struct intern refused; /* of uint32_t[2] */
};

/* Layers under construction. */
struct stack {
    struct layers *layers;
    struct explore explore;
    struct unit unit;
    struct layer each[LAYER_MAX]; /* the first layers->count of them */
};

static enum err layer_init(struct layer *layer, uint32_t channels, struct why *why)
{
    layer->refused.size = 2 * sizeof(uint32_t);
    return acyclic_init(&layer->graph, channels, why);
}

/* Removes a unit again. Remembers the pair that closed a cycle if it also closes one without the
 * other pairs of the unit. */
static enum err layer_undo(struct layer *layer, uint32_t before, const uint32_t *pair,
                           struct why *why)
{
    bool closes, new;
    uint32_t number;
    acyclic_cut(&layer->graph, before);
    enum err err = acyclic_add(&layer->graph, pair[0], pair[1], &closes, why);
    acyclic_cut(&layer->graph, before);
    if (!err && closes && !intern_add(&layer->refused, pair, &number, &new))
        err = why_memory(why);
    return err;
}

/* Adds a unit to a layer, or leaves the layer's dependencies unchanged. */
static enum err layer_try(struct layer *layer, const struct unit *unit, bool *fits, struct why *why)
{
    uint32_t before = layer->graph.edges.count;
    *fits = false;
    for (size_t i = 0; i < unit->count; i++)
        if (intern_find(&layer->refused, unit->pairs[i]) != INTERN_NONE)
            return OK;
    for (size_t i = 0; i < unit->count; i++) {
        bool closes;
        const uint32_t *pair = unit->pairs[i];
        enum err err = acyclic_add(&layer->graph, pair[0], pair[1], &closes, why);
        if (err)
            return err;
        if (closes)
            return layer_undo(layer, before, pair, why);
    }
    *fits = true;
    return OK;
}

static enum err unit_assign(struct stack *stack, uint8_t *number, bool *found, struct why *why)
{
    struct layers *layers = stack->layers;
    uint32_t channels = graph_channel_count(&stack->explore.router->topology->graph);
    for (uint32_t i = 0; i < LAYER_MAX; i++) {
        bool new = i == layers->count, fits;
        enum err err = new ? layer_init(&stack->each[i], channels, why) : OK;
        if (err)
            return err;
        layers->count += new;
        err = layer_try(&stack->each[i], &stack->unit, &fits, why);
        *number = (uint8_t)i;
        if (err || fits)
            return err;
        if (new)
            break; /* it does not even fit into an empty layer */
    }
    *found = false;
    return OK;
}

static enum err pair_assign(struct stack *stack, uint32_t from, uint32_t to, size_t *capacity,
                            bool *found, struct why *why)
{
    const struct router *router = stack->explore.router;
    struct layers *layers = stack->layers;
    size_t *first = &layers->first[(size_t)from * layers->node_count + to];
    uint32_t starts = 0;
    if (explore_is_end(router->topology, from) && explore_is_end(router->topology, to))
        starts = router->algorithm->start_count(router, from, to);
    first[1] = first[0] + starts;
    if (!array_reserve(&layers->layer, capacity, first[1], sizeof *layers->layer))
        return why_memory(why);
    for (uint32_t start = 0; *found && start < starts; start++) {
        explore_begin(&stack->explore, to);
        enum err err = unit_find(&stack->unit, &stack->explore, from, start, why);
        if (!err)
            err = unit_assign(stack, &layers->layer[first[0] + start], found, why);
        if (err)
            return err;
    }
    return OK;
}

static void stack_free(struct stack *stack)
{
    for (uint32_t i = 0; i < stack->layers->count; i++) {
        stack->layers->dependencies += stack->each[i].graph.edges.count;
        acyclic_fini(&stack->each[i].graph);
        intern_fini(&stack->each[i].refused);
    }
    explore_close(&stack->explore);
    free(stack->unit.pairs);
    free(stack);
}

enum err layers_find(struct layers *layers, const struct router *router, bool *found,
                     struct observer progress, struct why *why)
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
            err = pair_assign(stack, from, to, &capacity, found, why);
        observer_tell(&progress, "layers", from + 1, nodes);
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
