/* load: probabilities flow through the states of a packet, hop by hop.
 *
 * A layer holds the possible pairs of node and state after a number of hops, each once, with their
 * probability. Every move of every pair adds to its channel and to the next layer, where a hash
 * table finds the pair again. The layers end, because states form no cycle.
 *
 * Invariant: the shares of a layer, and of packets that have arrived before it, sum to the amount.
 * All sums are in the order of the moves, so they never depend on hashes. */
#include "routing/load/load.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "routing/load/symmetry.h"

/* A node where a packet may be, and the packet's state. */
struct walker {
    uint32_t node;
    struct route_state state;
};
static_assert(sizeof(struct walker) == 16, "compared as two words");

struct layer {
    struct walker *walkers;
    double *shares;
    size_t count;
    size_t walkers_capacity, shares_capacity;
};

struct slot {
    uint32_t layer; /* number of the last layer that used the slot */
    uint32_t index; /* into that layer */
};

struct load_walk {
    const struct router *router; /* borrowed */
    struct route_move *moves;    /* move_max */
    struct layer now, next;
    struct slot *slots; /* of `next`; open addressing */
    size_t slot_count;  /* a power of two, more than twice next.count */
    uint32_t layer;     /* number of `next`; no slot has a higher number */
};

enum { SLOTS_FIRST = 256 };

enum err load_walk_open(struct load_walk **out, const struct router *router, struct why *why)
{
    struct load_walk *walk = array_new(1, sizeof *walk);
    if (!walk)
        return why_memory(why);
    walk->router = router;
    walk->moves = array_new(router->move_max, sizeof *walk->moves);
    walk->slots = array_new(SLOTS_FIRST, sizeof *walk->slots);
    walk->slot_count = SLOTS_FIRST;
    if (!walk->moves || !walk->slots) {
        load_walk_close(walk);
        return why_memory(why);
    }
    *out = walk;
    return OK;
}

static void layer_fini(struct layer *layer)
{
    free(layer->walkers);
    free(layer->shares);
}

void load_walk_close(struct load_walk *walk)
{
    if (!walk)
        return;
    layer_fini(&walk->now);
    layer_fini(&walk->next);
    free(walk->moves);
    free(walk->slots);
    free(walk);
}

static size_t walker_hash(const struct walker *walker)
{
    uint64_t words[2];
    memcpy(words, walker, sizeof words);
    uint64_t mixed = (words[0] ^ words[1] * 0x9e3779b97f4a7c15u) * 0xd6e8feb86659fd93u;
    mixed ^= mixed >> 32;
    return (size_t)(mixed * 0xd6e8feb86659fd93u >> 20);
}

static bool walker_equal(const struct walker *one, const struct walker *other)
{
    return memcmp(one, other, sizeof *one) == 0;
}

/* The slot where a walker of the next layer is or would be. */
static struct slot *find_slot(struct load_walk *walk, const struct walker *walker)
{
    size_t mask = walk->slot_count - 1, at = walker_hash(walker) & mask;
    while (walk->slots[at].layer == walk->layer &&
           !walker_equal(&walk->next.walkers[walk->slots[at].index], walker))
        at = (at + 1) & mask;
    return &walk->slots[at];
}

static bool grow_slots(struct load_walk *walk)
{
    struct slot *slots = array_new(walk->slot_count * 2, sizeof *slots);
    if (!slots)
        return false;
    free(walk->slots);
    walk->slots = slots;
    walk->slot_count *= 2;
    for (size_t i = 0; i < walk->next.count; i++)
        *find_slot(walk, &walk->next.walkers[i]) = (struct slot){walk->layer, (uint32_t)i};
    return true;
}

/* Adds a share to a walker of the next layer. */
static bool put(struct load_walk *walk, const struct walker *walker, double share)
{
    struct layer *next = &walk->next;
    struct slot *slot = find_slot(walk, walker);
    if (slot->layer == walk->layer) {
        next->shares[slot->index] += share;
        return true;
    }
    if (!array_reserve(&next->walkers, &next->walkers_capacity, next->count + 1,
                       sizeof *next->walkers) ||
        !array_reserve(&next->shares, &next->shares_capacity, next->count + 1,
                       sizeof *next->shares))
        return false;
    *slot = (struct slot){walk->layer, (uint32_t)next->count};
    next->walkers[next->count] = *walker;
    next->shares[next->count] = share;
    next->count++;
    return next->count * 2 < walk->slot_count || grow_slots(walk);
}

/* Empties the next layer; the number in its slots shows that they are stale. */
static void begin_layer(struct load_walk *walk)
{
    walk->next.count = 0;
    if (walk->layer == UINT32_MAX) { /* numbers start again: clear all */
        memset(walk->slots, 0, walk->slot_count * sizeof *walk->slots);
        walk->layer = 0;
    }
    walk->layer++;
}

static bool put_starts(struct load_walk *walk, uint32_t from, uint32_t to, double amount)
{
    const struct route_algorithm *algorithm = walk->router->algorithm;
    begin_layer(walk);
    uint32_t count = algorithm->start_count(walk->router, from, to);
    for (uint32_t i = 0; i < count; i++) {
        struct walker walker = {.node = from};
        double share = algorithm->start(walk->router, from, to, i, &walker.state);
        if (share > 0 && !put(walk, &walker, amount * share))
            return false;
    }
    return true;
}

/* Adds all moves of one walker of the current layer. */
static bool put_moves(struct load_walk *walk, uint32_t to, const struct walker *walker,
                      double share, double *channels, double *hops)
{
    const struct router *router = walk->router;
    uint32_t count =
        router->algorithm->moves(router, walker->node, to, &walker->state, walk->moves);
    assert(count <= router->move_max && (count > 0 || walker->node == to));
    for (uint32_t i = 0; i < count; i++) {
        const struct route_move *move = &walk->moves[i];
        if (!(move->share > 0))
            continue; /* an escape that is only taken if the others are blocked */
        double part = share * move->share;
        channels[move->channel] += part;
        *hops += part;
        struct walker next = {graph_channel_to(&router->topology->graph, move->channel),
                              move->next};
        if (!put(walk, &next, part))
            return false;
    }
    return true;
}

enum err load_add(struct load_walk *walk, uint32_t from, uint32_t to, double amount,
                  double *channels, double *hops, struct why *why)
{
    if (!put_starts(walk, from, to, amount))
        return why_memory(why);
    for (uint32_t hop = 0; walk->next.count > 0; hop++) {
        assert(hop <= ROUTE_HOP_MAX);
        struct layer left = walk->now;
        walk->now = walk->next;
        walk->next = left;
        begin_layer(walk);
        for (size_t i = 0; i < walk->now.count; i++)
            if (!put_moves(walk, to, &walk->now.walkers[i], walk->now.shares[i], channels, hops))
                return why_memory(why);
    }
    return OK;
}

/* Does every node send the same as node 0, translated to its own coordinates? Then the first *count
 * demands, those of node 0, are enough. */
static enum err sends_alike(const struct topology *topology, const struct traffic *traffic,
                            bool *alike, size_t *count, struct why *why)
{
    uint32_t nodes = topology->graph.node_count;
    double *amounts = array_new(nodes, sizeof *amounts);
    if (!amounts)
        return why_memory(why);
    for (*count = 0; *count < traffic->count && traffic->demands[*count].from == 0; ++*count)
        amounts[traffic->demands[*count].to] = traffic->demands[*count].amount;
    /* no pair occurs twice, so no node has more demands like those of node 0 */
    *alike = traffic->count == *count * nodes;
    for (uint32_t v = 1; *alike && traffic->to_self && v < nodes; v++)
        *alike = traffic->to_self[v] == traffic->to_self[0];
    for (size_t i = 0; *alike && i < traffic->count; i++) {
        const struct demand *demand = &traffic->demands[i];
        *alike = demand->amount == amounts[symmetry_difference(topology, demand->from, demand->to)];
    }
    free(amounts);
    return OK;
}

/* Turns node 0's loads into those of all nodes together: all channels of a class carry what node 0
 * puts on the whole class. */
static void spread(const struct topology *topology, double *channels)
{
    double sums[SYMMETRY_CLASS_MAX] = {0};
    uint32_t count = graph_channel_count(&topology->graph);
    for (uint32_t channel = 0; channel < count; channel++)
        sums[symmetry_class(topology, channel)] += channels[channel];
    for (uint32_t channel = 0; channel < count; channel++)
        channels[channel] = sums[symmetry_class(topology, channel)];
}

/* Adds the first `count` demands, and what the first `self_count` nodes send to themselves. Most
 * algorithms deliver that locally; then it does not count as traffic. */
struct adder {
    struct load_walk *walk;
    double *channels;
    double hops, sum; /* of the traffic that leaves its node */
};

static enum err add_one(struct adder *adder, uint32_t from, uint32_t to, double amount,
                        struct why *why)
{
    double before = adder->hops;
    enum err err = load_add(adder->walk, from, to, amount, adder->channels, &adder->hops, why);
    if (from != to || adder->hops > before)
        adder->sum += amount;
    return err;
}

static enum err add_demands(double *channels, const struct router *router,
                            const struct traffic *traffic, size_t count, uint32_t self_count,
                            struct observer progress, double *mean_path, struct why *why)
{
    struct adder adder = {.channels = channels};
    enum err err = load_walk_open(&adder.walk, router, why);
    if (err)
        return err;
    for (uint32_t v = 0; !err && traffic->to_self && v < self_count; v++)
        if (traffic->to_self[v] > 0)
            err = add_one(&adder, v, v, traffic->to_self[v], why);
    for (size_t i = 0; !err && i < count; i++) {
        const struct demand *demand = &traffic->demands[i];
        err = add_one(&adder, demand->from, demand->to, demand->amount, why);
        observer_tell(&progress, "loads of channels", i + 1, count);
    }
    load_walk_close(adder.walk);
    *mean_path = adder.sum > 0 ? adder.hops / adder.sum : NAN;
    return err;
}

enum err load_find(struct load *load, const struct router *router, const struct traffic *traffic,
                   struct observer progress, struct why *why)
{
    const struct topology *topology = router->topology;
    size_t channel_count = graph_channel_count(&topology->graph), count = traffic->count;
    bool alike = false;
    enum err err = router->symmetric ? sends_alike(topology, traffic, &alike, &count, why) : OK;
    if (err)
        return err;
    if (!alike)
        count = traffic->count;
    *load = (struct load){.channels = array_new(channel_count, sizeof *load->channels)};
    if (!load->channels)
        return why_memory(why);
    err = add_demands(load->channels, router, traffic, count,
                      alike ? 1 : topology->graph.node_count, progress, &load->mean_path, why);
    if (err) {
        load_fini(load);
        return err;
    }
    if (alike)
        spread(topology, load->channels);
    for (size_t channel = 0; channel < channel_count; channel++)
        load->max = fmax(load->max, load->channels[channel]);
    return OK;
}

void load_fini(struct load *load)
{
    free(load->channels);
    *load = (struct load){0};
}
