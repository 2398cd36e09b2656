/* distance: breadth-first search from 512 sources at once.
 *
 * A node holds one bit per source, a cache line in all: "this source has reached the node within d
 * hops". One level is then an OR of lines: into a node from its neighbours (pull), or from a node
 * into its neighbours (push). Pull reads every node's neighbours but may stop at a node whose line
 * is full; push visits only the nodes that changed at the previous level. Random graphs spread to
 * all nodes within two levels and are pulled; a wave front in a torus touches few nodes and is
 * pushed. Each level takes the cheaper way.
 *
 * Invariants between levels: reach[v] are the sources that have reached v within d hops; next[v] is
 * a subset of reach[v]; `active` lists the nodes whose line changed at level d; `full` counts the
 * nodes whose line is all ones. Bits beyond the last source of a short batch are set from the
 * start. */
#include "topology/measure/distance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef __ARM_NEON
#include <arm_neon.h>
#endif

#include "base/array.h"
#include "base/check.h"
#include "base/divisor.h"
#include "base/wide.h"

#define LANE_COUNT     4  /* of 16 bytes: the widest register every machine has */
#define WORD_COUNT     8  /* of 64 bits */
#define PLANE_MAX      32 /* binary digits of a number of servers */
#define PREFETCH_SLOTS 24 /* how many neighbours ahead a line is prefetched */

/* Two separate copies of the pull loop: if both are inlined into one caller, it runs out of
 * registers. */
#define ALWAYS_INLINE inline __attribute__((always_inline))
#define NEVER_INLINE  __attribute__((noinline))

typedef uint64_t lane __attribute__((vector_size(16)));

struct line {
    lane lanes[LANE_COUNT];
};

static_assert(sizeof(struct line) == DISTANCE_BATCH / 8, "one bit per source");
static_assert(sizeof(struct line) == WORD_COUNT * sizeof(uint64_t), "lanes are pairs of words");

struct search {
    const struct topology *topology; /* borrowed */
    struct line *reach, *next;
    uint32_t *active, *touched; /* lists of nodes */
    uint8_t *marked;            /* is this node in `touched`? */
    uint32_t active_count;
    uint32_t full;

    /* Servers: source s weighs base + unit * (its digits in the planes). If all nodes weigh the
     * same, the node pairs give the server pairs, and there is no plane. */
    bool uniform;
    uint32_t base, unit, plane_count;
    struct line planes[PLANE_MAX];
    uint64_t node_pairs, server_pairs; /* pairs found at this level */
};

static inline struct line line_or(struct line a, const struct line *b)
{
    for (int i = 0; i < LANE_COUNT; i++)
        a.lanes[i] |= b->lanes[i];
    return a;
}

static inline bool line_full(const struct line *line)
{
    lane all = line->lanes[0] & line->lanes[1] & line->lanes[2] & line->lanes[3];
    return (all[0] & all[1]) == UINT64_MAX;
}

/* The bits of a that are not in b. */
static inline struct line line_minus(const struct line *a, const struct line *b)
{
    struct line rest;
    for (int i = 0; i < LANE_COUNT; i++)
        rest.lanes[i] = a->lanes[i] & ~b->lanes[i];
    return rest;
}

static inline bool line_empty(const struct line *line)
{
    lane any = line->lanes[0] | line->lanes[1] | line->lanes[2] | line->lanes[3];
    return (any[0] | any[1]) == 0;
}

static inline uint32_t line_count(const struct line *line)
{
#ifdef __ARM_NEON
    /* Compilers turn the loop below into a register move per word. */
    uint8x16_t sum = vcntq_u8(vreinterpretq_u8_u64((uint64x2_t)line->lanes[0]));
    for (int i = 1; i < LANE_COUNT; i++)
        sum = vaddq_u8(sum, vcntq_u8(vreinterpretq_u8_u64((uint64x2_t)line->lanes[i])));
    return vaddlvq_u8(sum);
#else
    uint32_t count = 0;
    for (int i = 0; i < LANE_COUNT; i++)
        count += (uint32_t)(__builtin_popcountll(line->lanes[i][0]) +
                            __builtin_popcountll(line->lanes[i][1]));
    return count;
#endif
}

static void line_set(struct line *line, uint32_t bit)
{
    line->lanes[bit / 128][bit / 64 % 2] |= UINT64_C(1) << bit % 64;
}

/* Adds the pairs of one node with the sources that have just reached it. */
static inline void search_count(struct search *search, uint32_t node, const struct line *fresh)
{
    uint64_t count = line_count(fresh);
    search->node_pairs += count;
    if (search->uniform)
        return;
    uint64_t digits = 0;
    for (uint32_t i = 0; i < search->plane_count; i++) {
        struct line part;
        for (int k = 0; k < LANE_COUNT; k++)
            part.lanes[k] = fresh->lanes[k] & search->planes[i].lanes[k];
        digits += (uint64_t)line_count(&part) << i;
    }
    search->server_pairs +=
        search->topology->sites[node].servers * (search->base * count + search->unit * digits);
}

/* Returns reach[node] combined with the lines of its neighbours. When lines are mostly ones
 * (`dense`), a few neighbours fill the line and the rest need not be read; earlier, the check costs
 * more than it saves. */
static ALWAYS_INLINE struct line pull_node(const struct graph *graph, const struct line *reach,
                                           uint32_t node, bool dense)
{
    struct line line = reach[node];
    const uint32_t *to = graph->to;
    uint32_t slot = graph->first[node], end = graph->first[node + 1];
    uint32_t last = 2 * graph->link_count - 1;
    if (dense) {
        for (; slot < end && !line_full(&line); slot++)
            line = line_or(line, &reach[to[slot]]);
        return line;
    }
    for (; slot < end; slot++) {
        uint32_t ahead = slot + PREFETCH_SLOTS;
        __builtin_prefetch(&reach[to[ahead < last ? ahead : last]]);
        line = line_or(line, &reach[to[slot]]);
    }
    return line;
}

static ALWAYS_INLINE void pull(struct search *search, bool dense)
{
    const struct graph *graph = &search->topology->graph;
    const struct line *reach = search->reach;
    uint32_t active_count = 0, full = 0;
    for (uint32_t node = 0; node < graph->node_count; node++) {
        struct line line = pull_node(graph, reach, node, dense);
        struct line fresh = line_minus(&line, &reach[node]);
        search->next[node] = line;
        full += line_full(&line);
        if (line_empty(&fresh))
            continue;
        search->active[active_count++] = node;
        search_count(search, node, &fresh);
    }
    struct line *swap = search->reach;
    search->reach = search->next;
    search->next = swap;
    search->active_count = active_count;
    search->full = full;
}

static NEVER_INLINE void pull_sparse(struct search *search)
{
    pull(search, false);
}

static NEVER_INLINE void pull_dense(struct search *search)
{
    pull(search, true);
}

static void push(struct search *search)
{
    const struct graph *graph = &search->topology->graph;
    uint32_t touched_count = 0, active_count = 0;
    for (uint32_t i = 0; i < search->active_count; i++) {
        uint32_t node = search->active[i];
        const struct line line = search->reach[node];
        for (uint32_t slot = graph->first[node]; slot < graph->first[node + 1]; slot++) {
            uint32_t to = graph->to[slot];
            search->next[to] = line_or(line, &search->next[to]);
            search->touched[touched_count] = to;
            touched_count += !search->marked[to];
            search->marked[to] = 1;
        }
    }
    for (uint32_t i = 0; i < touched_count; i++) {
        uint32_t node = search->touched[i];
        struct line fresh = line_minus(&search->next[node], &search->reach[node]);
        search->marked[node] = 0;
        if (line_empty(&fresh))
            continue;
        search_count(search, node, &fresh);
        search->reach[node] = line_or(fresh, &search->reach[node]);
        search->full += line_full(&search->reach[node]);
        search->active[active_count++] = node;
    }
    search->active_count = active_count;
}

static void search_level(struct search *search, uint64_t found)
{
    const struct graph *graph = &search->topology->graph;
    uint64_t slots = 0;
    for (uint32_t i = 0; i < search->active_count; i++)
        slots += graph_degree(graph, search->active[i]);
    search->node_pairs = search->server_pairs = 0;
    /* A push reads and writes a line where a pull only reads one, but a pull visits all nodes. */
    if (2 * slots + search->active_count < 2 * (uint64_t)graph->link_count + graph->node_count)
        push(search);
    else if (found < (uint64_t)graph->node_count * (DISTANCE_BATCH / 2))
        pull_sparse(search);
    else
        pull_dense(search);
}

/* Expresses the servers per node as base + unit * (a small number): in a fat-tree 0 and one unit,
 * in a Jellyfish with evenly spread servers base and base + 1. */
static void search_weigh(struct search *search)
{
    const struct topology *topology = search->topology;
    uint32_t nodes = topology->graph.node_count, least = UINT32_MAX, unit = 0, most = 0;
    for (uint32_t v = 0; v < nodes; v++)
        if (topology->sites[v].servers < least)
            least = topology->sites[v].servers;
    for (uint32_t v = 0; v < nodes; v++) {
        uint32_t excess = topology->sites[v].servers - least;
        unit = (uint32_t)divisor_common(unit, excess);
        most = excess > most ? excess : most;
    }
    search->base = least;
    search->unit = unit;
    search->uniform = unit == 0;
    search->plane_count = 0;
    for (uint32_t rest = unit ? most / unit : 0; rest; rest /= 2)
        search->plane_count++;
}

static void search_fini(struct search *search)
{
    free(search->reach);
    free(search->next);
    free(search->active);
    free(search->touched);
    free(search->marked);
}

static enum err search_init(struct search *search, const struct topology *topology, struct why *why)
{
    size_t nodes = topology->graph.node_count;
    *search = (struct search){.topology = topology};
    search->reach = aligned_alloc(sizeof(struct line), nodes * sizeof(struct line));
    search->next = aligned_alloc(sizeof(struct line), nodes * sizeof(struct line));
    search->active = array_new(nodes, sizeof *search->active);
    search->touched = array_new(nodes + 1, sizeof *search->touched); /* push writes one ahead */
    search->marked = array_new(nodes, sizeof *search->marked);
    if (!search->reach || !search->next || !search->active || !search->touched || !search->marked) {
        search_fini(search);
        return why_memory(why);
    }
    search_weigh(search);
    return OK;
}

/* Level 0: each source has reached itself. */
static void search_start(struct search *search, uint32_t first, uint32_t count)
{
    const struct topology *topology = search->topology;
    struct line absent = {0};
    for (uint32_t bit = count; bit < DISTANCE_BATCH; bit++)
        line_set(&absent, bit);
    for (uint32_t v = 0; v < topology->graph.node_count; v++)
        search->reach[v] = search->next[v] = absent;
    memset(search->planes, 0, sizeof search->planes);
    for (uint32_t i = 0; i < count; i++) {
        line_set(&search->reach[first + i], i);
        search->active[i] = first + i;
        if (search->uniform)
            continue;
        uint32_t digits = (topology->sites[first + i].servers - search->base) / search->unit;
        for (uint32_t digit = 0; digits; digit++, digits /= 2)
            if (digits & 1)
                line_set(&search->planes[digit], i);
    }
    search->active_count = count;
    search->full = count == 1; /* the node of the only source */
}

/* Reserves room for distances below `length`. */
static bool tally_extend(struct distance_tally *tally, uint32_t length)
{
    if (!array_reserve(&tally->nodes, &tally->nodes_capacity, length, sizeof *tally->nodes) ||
        !array_reserve(&tally->servers, &tally->servers_capacity, length, sizeof *tally->servers))
        return false;
    for (; tally->length < length; tally->length++)
        tally->nodes[tally->length] = tally->servers[tally->length] = 0;
    return true;
}

static enum err search_batch(struct search *search, struct distance_tally *tally, uint32_t first,
                             uint32_t count, struct why *why)
{
    const struct topology *topology = search->topology;
    uint32_t nodes = topology->graph.node_count;
    uint64_t found = 0, found_servers = 0, wanted_servers = 0;
    if (!tally_extend(tally, 1))
        return why_memory(why);
    for (uint32_t v = first; v < first + count; v++) {
        uint64_t servers = topology->sites[v].servers;
        tally->servers[0] += servers * servers - servers;
        wanted_servers += servers * (topology->server_count - servers);
    }
    search_start(search, first, count);
    for (uint32_t distance = 1; search->active_count && search->full < nodes; distance++) {
        search_level(search, found);
        if (search->node_pairs == 0)
            break;
        if (search->uniform)
            search->server_pairs = (uint64_t)search->base * search->base * search->node_pairs;
        if (!tally_extend(tally, distance + 1))
            return why_memory(why);
        tally->nodes[distance] += search->node_pairs;
        tally->servers[distance] += search->server_pairs;
        found += search->node_pairs;
        found_servers += search->server_pairs;
    }
    tally->nodes_apart += (uint64_t)count * (nodes - 1) - found;
    tally->servers_apart += wanted_servers - found_servers;
    return OK;
}

enum err distance_tally_add(struct distance_tally *tally, const struct topology *topology,
                            uint32_t first, uint32_t count, struct why *why)
{
    assert(first <= topology->graph.node_count && count <= topology->graph.node_count - first);
    struct search search;
    enum err err = count ? search_init(&search, topology, why) : OK;
    if (err || !count)
        return err;
    while (count && !err) {
        uint32_t batch = count < DISTANCE_BATCH ? count : DISTANCE_BATCH;
        err = search_batch(&search, tally, first, batch, why);
        first += batch;
        count -= batch;
    }
    search_fini(&search);
    return err;
}

enum err distance_tally_merge(struct distance_tally *into, const struct distance_tally *from,
                              struct why *why)
{
    if (!tally_extend(into, from->length))
        return why_memory(why);
    for (uint32_t d = 0; d < from->length; d++) {
        into->nodes[d] += from->nodes[d];
        into->servers[d] += from->servers[d];
    }
    into->nodes_apart += from->nodes_apart;
    into->servers_apart += from->servers_apart;
    return OK;
}

/* Does the network look the same from every node? A step along an axis, and a jump by half of every
 * axis, are the same for all nodes; only with an odd size some nodes have no jump. */
static bool looks_alike_everywhere(const struct topology *topology)
{
    if (topology->kind != TOPOLOGY_TORUS && topology->kind != TOPOLOGY_NOVACUBE)
        return false;
    for (uint32_t axis = 0; axis < topology->axis_count; axis++)
        if (topology->kind == TOPOLOGY_NOVACUBE && topology->axis_size[axis] > 1 &&
            topology->axis_size[axis] % 2)
            return false;
    return topology->direct;
}

uint32_t distance_sources(const struct topology *topology)
{
    uint32_t nodes = topology->graph.node_count;
    return nodes && looks_alike_everywhere(topology) ? 1 : nodes;
}

void distance_tally_multiply(struct distance_tally *tally, uint64_t factor)
{
    for (uint32_t d = 0; d < tally->length; d++) {
        tally->nodes[d] *= factor;
        tally->servers[d] *= factor;
    }
    tally->nodes_apart *= factor;
    tally->servers_apart *= factor;
}

void distance_tally_fini(struct distance_tally *tally)
{
    free(tally->nodes);
    free(tally->servers);
    *tally = (struct distance_tally){0};
}

static uint32_t longest(const uint64_t *pairs, uint32_t length)
{
    while (length > 1 && pairs[length - 1] == 0)
        length--;
    return length ? length - 1 : 0;
}

uint32_t distance_diameter(const struct distance_tally *tally)
{
    return longest(tally->nodes, tally->length);
}

uint32_t distance_server_diameter(const struct distance_tally *tally,
                                  const struct topology *topology)
{
    uint64_t pairs = 0;
    for (uint32_t d = 0; d < tally->length; d++)
        pairs += tally->servers[d];
    if (pairs == 0)
        return 0;
    return longest(tally->servers, tally->length) + (topology->direct ? 0 : 2);
}

static double mean(const uint64_t *pairs, uint32_t length)
{
    uint128 count = 0, sum = 0;
    for (uint32_t d = 0; d < length; d++) {
        count += pairs[d];
        sum += (uint128)pairs[d] * d;
    }
    return count ? (double)sum / (double)count : (double)NAN;
}

double distance_mean(const struct distance_tally *tally)
{
    return mean(tally->nodes, tally->length);
}

double distance_server_mean(const struct distance_tally *tally, const struct topology *topology)
{
    return mean(tally->servers, tally->length) + (topology->direct ? 0 : 2);
}
