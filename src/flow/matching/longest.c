/* longest: matches servers with servers as far away as a permutation allows.
 *
 * Servers of one node are interchangeable, and if the number of servers of every node is a multiple
 * of g, some longest permutation sends whole groups of g: the vertices of the transportation
 * polytope are integral. A unit is g servers of one node; rows and columns are units.
 *
 * In a network that looks the same from every node, every node sends to the node at the same
 * difference as from node 0 to a farthest node. Up to some thousand units are assigned exactly.
 * More units begin with themselves as receivers and are dealt into random groups in every round:
 * the units of a group give up their receivers, and an exact assignment distributes these among the
 * group again. In a group of 512 of a random network nearly all rows find a column at the greatest
 * distance; later rounds are for the few that did not. No row can do better than its farthest node,
 * which often proves the result exact.
 *
 * Nodes without a path between them are never paired: a permutation without such pairs exists, each
 * unit to itself. */
#include "flow/matching/longest.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/bitset.h"
#include "base/check.h"
#include "base/divisor.h"
#include "base/rng.h"
#include "flow/matching/assignment.h"
#include "flow/matching/hops.h"
#include "flow/matching/longest_impl.h"
#include "topology/measure/distance.h"

#define NO_PATH      (-1) /* until the weight that outweighs all gains is known */
#define ROUND_MAX    16
#define KEEN_SHARE   8    /* part of a group for units that could improve, if these are few */
#define ROUND_GAIN   1e-4 /* a round that gains a smaller share is the last */
#define SLOT_NONE    UINT32_MAX
#define STREAM_GROUP 0x6c6f6e67 /* "long" */

struct matching {
    const struct topology *topology;
    struct longest_limits limits;
    uint32_t unit_size;  /* servers */
    uint32_t unit_count; /* rows, and columns */
    uint32_t *unit_node;
    uint32_t *to;        /* per unit: the unit it sends to */
    uint64_t *unit_hops; /* per unit: hops to that unit */
    uint64_t *farthest;  /* per node with servers: hops to the farthest other one */
    uint64_t length;     /* of all units, in hops */

    /* one assignment */
    struct hops hops;
    uint32_t *rows;      /* units that take part ... */
    uint32_t *columns;   /* ... and the units that they send to; group_max of each */
    uint32_t *column_of; /* the result of the assignment */
    uint32_t *first;     /* per node: its first column, or SLOT_NONE ... */
    uint32_t *next;      /* ... and the next column of the same node */
    double *weights;
    uint32_t count;
    uint32_t batch;        /* first row of the current sources */
    uint32_t distance;     /* the current distance of the search, and ... */
    struct hops_set level; /* ... the rows that reached a node with servers at this distance */
};

static void matching_fini(struct matching *matching)
{
    free(matching->unit_node);
    free(matching->to);
    free(matching->unit_hops);
    free(matching->farthest);
    hops_fini(&matching->hops);
    free(matching->rows);
    free(matching->columns);
    free(matching->column_of);
    free(matching->first);
    free(matching->next);
    free(matching->weights);
}

static void units_count(struct matching *matching)
{
    const struct topology *topology = matching->topology;
    uint64_t size = 0;
    for (uint32_t v = 0; v < topology->graph.node_count; v++)
        size = divisor_common(size, topology->sites[v].servers);
    assert(size > 0);
    matching->unit_size = (uint32_t)size;
    matching->unit_count = topology->server_count / (uint32_t)size;
}

static enum err matching_init(struct matching *matching, struct why *why)
{
    const struct topology *topology = matching->topology;
    uint32_t nodes = topology->graph.node_count, units;
    units_count(matching);
    units = matching->unit_count;
    uint32_t group = units <= matching->limits.whole ? units : matching->limits.group;
    assert(group > 0);
    matching->unit_node = array_new(units, sizeof *matching->unit_node);
    matching->to = array_new(units, sizeof *matching->to);
    matching->unit_hops = array_new(units, sizeof *matching->unit_hops);
    matching->farthest = array_new(nodes, sizeof *matching->farthest);
    matching->rows = array_new(group, sizeof *matching->rows);
    matching->columns = array_new(group, sizeof *matching->columns);
    matching->column_of = array_new(group, sizeof *matching->column_of);
    matching->first = array_new(nodes, sizeof *matching->first);
    matching->next = array_new(group, sizeof *matching->next);
    matching->weights = array_new((size_t)group * group, sizeof *matching->weights);
    if (!matching->unit_node || !matching->to || !matching->unit_hops || !matching->farthest ||
        !matching->rows || !matching->columns || !matching->column_of || !matching->first ||
        !matching->next || !matching->weights)
        return why_memory(why);
    for (uint32_t v = 0, unit = 0; v < nodes; v++) {
        matching->first[v] = SLOT_NONE;
        matching->farthest[v] = 1; /* until it is known: every unit could improve */
        for (uint32_t i = 0; i < topology->sites[v].servers; i += matching->unit_size)
            matching->unit_node[unit++] = v;
    }
    return hops_init(&matching->hops, &topology->graph, why);
}

/* Records that the rows in `level` have reached a node with servers at that distance. */
static void level_end(struct matching *matching)
{
    for (uint32_t k = 0; k < HOPS_WORDS; k++)
        for (uint64_t rows = matching->level.words[k]; rows;) {
            size_t row = matching->batch + bitset_take_lowest(&rows, k);
            matching->farthest[matching->unit_node[matching->rows[row]]] = matching->distance;
        }
    matching->level = (struct hops_set){0};
}

static void weigh_row(struct matching *matching, size_t row, uint32_t node)
{
    double *weights = matching->weights + row * matching->count;
    for (uint32_t slot = matching->first[node]; slot != SLOT_NONE; slot = matching->next[slot])
        weights[slot] = matching->distance;
}

/* Called for nodes in order of distance. Most nodes have no column: for these the rows are not
 * visited one by one. */
static void row_reached(void *context, uint32_t node, const struct hops_set *fresh,
                        uint32_t distance)
{
    struct matching *matching = context;
    if (matching->topology->sites[node].servers == 0)
        return;
    if (distance != matching->distance)
        level_end(matching);
    matching->distance = distance;
    for (uint32_t k = 0; k < HOPS_WORDS; k++)
        matching->level.words[k] |= fresh->words[k];
    if (matching->first[node] == SLOT_NONE)
        return;
    for (uint32_t k = 0; k < HOPS_WORDS; k++)
        for (uint64_t rows = fresh->words[k]; rows;)
            weigh_row(matching, matching->batch + bitset_take_lowest(&rows, k), node);
}

/* A pair without a path costs more than all others together can gain, and no more than that, so
 * that sums of weights stay exact. */
static void forbid(double *weights, uint32_t count)
{
    double most = 0;
    for (size_t i = 0; i < (size_t)count * count; i++)
        most = weights[i] > most ? weights[i] : most;
    for (size_t i = 0; i < (size_t)count * count; i++)
        if (weights[i] < 0)
            weights[i] = -(most * count + 1);
}

/* Fills in the weights of `count` rows and columns. */
static void weigh(struct matching *matching)
{
    uint32_t count = matching->count, sources[HOPS_BATCH];
    for (size_t i = 0; i < (size_t)count * count; i++)
        matching->weights[i] = NO_PATH;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t node = matching->unit_node[matching->columns[i]];
        matching->next[i] = matching->first[node];
        matching->first[node] = i;
    }
    for (uint32_t row = 0; row < count; row += HOPS_BATCH) {
        uint32_t batch = count - row < HOPS_BATCH ? count - row : HOPS_BATCH;
        for (uint32_t i = 0; i < batch; i++)
            sources[i] = matching->unit_node[matching->rows[row + i]];
        matching->batch = row;
        hops_search(&matching->hops, sources, batch, row_reached, matching);
        level_end(matching);
    }
    for (uint32_t i = 0; i < count; i++)
        matching->first[matching->unit_node[matching->columns[i]]] = SLOT_NONE;
    forbid(matching->weights, count);
}

/* Assigns the columns of the group again; updates `length`. */
static enum err assign(struct matching *matching, struct why *why)
{
    double before = 0, after;
    weigh(matching);
    for (uint32_t i = 0; i < matching->count; i++)
        before += matching->weights[(size_t)i * matching->count + i];
    enum err err =
        assignment_heaviest(matching->weights, matching->count, matching->column_of, &after, why);
    if (err)
        return err;
    /* Integers below 2^53: exact. */
    assert(before >= 0 && after >= before);
    matching->length += (uint64_t)(after - before);
    for (uint32_t i = 0; i < matching->count; i++) {
        uint32_t unit = matching->rows[i], column = matching->column_of[i];
        matching->to[unit] = matching->columns[column];
        matching->unit_hops[unit] =
            (uint64_t)matching->weights[(size_t)i * matching->count + column];
    }
    return OK;
}

/* Assigns all at once, starting with each unit to itself. */
static enum err assign_whole(struct matching *matching, struct why *why)
{
    matching->count = matching->unit_count;
    for (uint32_t i = 0; i < matching->count; i++)
        matching->rows[i] = matching->columns[i] = i;
    return assign(matching, why);
}

/* Sorts units: those that could still be farther from their receiver come first, and both kinds
 * keep the given order. Returns how many come first. */
static uint32_t keen_first(const struct matching *matching, const uint32_t *order, uint32_t *sorted)
{
    uint32_t keen = 0, units = matching->unit_count;
    for (int others = 0; others < 2; others++)
        for (uint32_t i = 0, at = others ? keen : 0; i < units; i++) {
            uint32_t unit = order[i];
            bool done = matching->unit_hops[unit] >= matching->farthest[matching->unit_node[unit]];
            if (done == (others == 1))
                sorted[at++] = unit;
            keen += !others && !done;
        }
    return keen;
}

/* One round of groups. A group has some units that could improve, and others to exchange with; if
 * few could improve, there are few groups. */
static enum err assign_groups(struct matching *matching, const uint32_t *order, uint32_t keen,
                              struct why *why)
{
    uint32_t units = matching->unit_count, group = matching->limits.group, next = keen;
    uint32_t all = (units - 1) / group + 1, share = group / KEEN_SHARE + 1;
    uint32_t groups = keen / share + 1 < all ? keen / share + 1 : all;
    enum err err = OK;
    for (uint32_t g = 0; g < groups && !err; g++) {
        uint32_t first = (uint32_t)((uint64_t)keen * g / groups);
        uint32_t end = (uint32_t)((uint64_t)keen * (g + 1) / groups);
        matching->count = 0;
        for (uint32_t i = first; i < end; i++)
            matching->rows[matching->count++] = order[i];
        while (matching->count < group && next < units)
            matching->rows[matching->count++] = order[next++];
        for (uint32_t i = 0; i < matching->count; i++)
            matching->columns[i] = matching->to[matching->rows[i]];
        err = assign(matching, why);
    }
    return err;
}

/* An upper bound for every permutation: every unit to the node farthest from it. */
static uint64_t bound(const struct matching *matching)
{
    uint64_t sum = 0;
    for (uint32_t unit = 0; unit < matching->unit_count; unit++)
        sum += matching->farthest[matching->unit_node[unit]];
    return sum;
}

static enum err search(struct matching *matching, struct why *why)
{
    struct rng rng = rng_make(1, STREAM_GROUP);
    uint32_t units = matching->unit_count;
    uint32_t *order = array_new(units, sizeof *order), *sorted = array_new(units, sizeof *sorted);
    enum err err = order && sorted ? OK : why_memory(why);
    for (uint32_t i = 0; i < units && !err; i++)
        order[i] = matching->to[i] = i;
    for (int round = 0; round < ROUND_MAX && !err; round++) {
        uint64_t before = matching->length;
        rng_shuffle(&rng, order, units);
        err = assign_groups(matching, sorted, keen_first(matching, order, sorted), why);
        double gain = (double)(matching->length - before);
        bool slow = round > 0 && gain <= ROUND_GAIN * (double)matching->length;
        if (matching->length == bound(matching) || slow)
            break;
    }
    free(order);
    free(sorted);
    return err;
}

static enum err matching_traffic(const struct matching *matching, struct traffic *traffic,
                                 struct why *why)
{
    struct demand *demands = array_new(matching->unit_count, sizeof *demands);
    if (!demands)
        return why_memory(why);
    for (uint32_t i = 0; i < matching->unit_count; i++)
        demands[i] = (struct demand){matching->unit_node[i], matching->unit_node[matching->to[i]],
                                     matching->unit_size};
    return traffic_make(traffic, demands, matching->unit_count, why);
}

static enum err match(struct traffic *traffic, const struct topology *topology,
                      struct longest_limits limits, struct longest_matching *found, struct why *why)
{
    struct matching matching = {.topology = topology, .limits = limits};
    enum err err = matching_init(&matching, why);
    bool whole = matching.unit_count <= limits.whole;
    if (!err)
        err = whole ? assign_whole(&matching, why) : search(&matching, why);
    if (!err)
        err = matching_traffic(&matching, traffic, why);
    if (!err) {
        found->length = matching.length * matching.unit_size;
        found->exact = whole || matching.length == bound(&matching);
    }
    matching_fini(&matching);
    return err;
}

struct last {
    uint32_t node, distance;
};

static void last_reached(void *context, uint32_t node, const struct hops_set *fresh,
                         uint32_t distance)
{
    *(struct last *)context = (struct last){node, distance};
}

/* Every node sends to the node at the same difference as from node 0 to a farthest node. */
static enum err shift(struct traffic *traffic, const struct topology *topology,
                      struct longest_matching *found, struct why *why)
{
    uint32_t nodes = topology->graph.node_count, source = 0;
    uint32_t at[AXIS_MAX] = {0}, step[AXIS_MAX] = {0};
    struct hops hops;
    struct last last = {0};
    enum err err = hops_init(&hops, &topology->graph, why);
    if (err)
        return err;
    hops_search(&hops, &source, 1, last_reached, &last);
    hops_fini(&hops);
    struct demand *demands = array_new(nodes, sizeof *demands);
    if (!demands)
        return why_memory(why);
    topology_coordinate(topology, last.node, step);
    for (uint32_t v = 0; v < nodes; v++) {
        topology_coordinate(topology, v, at);
        for (uint32_t i = 0; i < topology->axis_count; i++)
            at[i] = (at[i] + step[i]) % topology->axis_size[i];
        demands[v] = (struct demand){v, topology_node_at(topology, at), 1};
    }
    *found = (struct longest_matching){(uint64_t)nodes * last.distance, true};
    return traffic_make(traffic, demands, nodes, why);
}

enum err longest_matching_within(struct traffic *traffic, const struct topology *topology,
                                 struct longest_limits limits, struct longest_matching *found,
                                 struct why *why)
{
    enum err err;
    if (topology->server_count < 2)
        return why_fail(why, ERR_USAGE, "a matching of servers needs at least two servers");
    if (limits.symmetry && distance_sources(topology) == 1)
        err = shift(traffic, topology, found, why);
    else
        err = match(traffic, topology, limits, found, why);
    if (!err)
        traffic->name = "longest-matching";
    return err;
}

enum err longest_matching(struct traffic *traffic, const struct topology *topology,
                          struct longest_matching *found, struct why *why)
{
    const struct longest_limits limits = {.whole = 4096, .group = 512, .symmetry = true};
    return longest_matching_within(traffic, topology, limits, found, why);
}
