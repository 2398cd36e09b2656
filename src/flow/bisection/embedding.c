/* embedding: the linear program, and the check of its solution.
 *
 * Differences between nodes that reflections and exchanges of equal axes map to each other form an
 * orbit; H has the same weight on all differences of an orbit. A difference is routed step by step
 * along the axes, or with one jump and steps for the rest, in shares. Which cables carry it does
 * not matter, because by symmetry all cables of a kind carry the same. So there are two unknowns
 * for every orbit, a limit for every kind of cable (as many units as cables of that kind end at a
 * node), and for every orbit of characters the condition that its eigenvalue is at least the number
 * to be maximised.
 *
 * The solution is not trusted: the weights are scaled until they certainly fit, and every
 * eigenvalue of H is computed again. */
#include "flow/bisection/embedding.h"

#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"
#include "flow/bisection/simplex.h"

#define ORBIT_MAX 320u /* the program has twice as many unknowns */
#define GROUP_MAX 6u   /* equal axes: their exchanges are summed over */

struct orbit {
    uint32_t at[AXIS_MAX]; /* the member with small coordinates that increase within a group */
    uint32_t size;
};

struct embedding {
    const struct topology *topology;
    uint32_t group[AXIS_MAX]; /* per axis: the first axis of its size */
    double limit[AXIS_MAX];   /* per group: cables of these axes at a node ... */
    double jump_limit;        /* ... and jump cables */
    uint32_t orbit_count;     /* without the orbit of the zero difference */
    struct orbit *orbits;
};

/* Steps along the axes of a group, without or with the jump. */
static double orbit_steps(const struct embedding *embedding, const struct orbit *orbit,
                          uint32_t group, bool jump)
{
    uint32_t steps = 0;
    for (uint32_t axis = group; axis < embedding->topology->axis_count; axis++)
        if (embedding->group[axis] == group)
            steps +=
                jump ? embedding->topology->axis_size[axis] / 2 - orbit->at[axis] : orbit->at[axis];
    return steps;
}

/* Sorts the cables of a node by kind; false if one is of no known kind. */
static bool kinds_make(struct embedding *embedding)
{
    const struct topology *topology = embedding->topology;
    const uint32_t *size = topology->axis_size;
    double axis_limit[AXIS_MAX] = {0};
    for (uint32_t slot = 0; slot < graph_degree(&topology->graph, 0); slot++) {
        uint32_t at[AXIS_MAX], moved = 0, last = 0;
        bool jump = true;
        topology_coordinate(topology, topology->graph.to[slot], at);
        for (uint32_t axis = 0; axis < topology->axis_count; axis++) {
            moved += at[axis] != 0;
            last = at[axis] ? axis : last;
            jump &= size[axis] % 2 == 0 && at[axis] == size[axis] / 2;
        }
        if (moved == 1 && (at[last] == 1 || at[last] == size[last] - 1))
            axis_limit[last]++;
        else if (jump)
            embedding->jump_limit++;
        else
            return false;
    }
    for (uint32_t axis = 0; axis < topology->axis_count; axis++) {
        uint32_t group = 0;
        while (size[group] != size[axis])
            group++;
        if (axis_limit[axis] != axis_limit[group] || (axis_limit[axis] == 0 && size[axis] > 1))
            return false;
        embedding->group[axis] = group;
        embedding->limit[group] += axis_limit[axis];
    }
    return true;
}

/* The representative of a node's orbit: every coordinate by the shorter way round, and in
 * increasing order within each group. */
static uint32_t node_representative(const struct embedding *embedding, uint32_t node)
{
    const struct topology *topology = embedding->topology;
    uint32_t at[AXIS_MAX];
    topology_coordinate(topology, node, at);
    for (uint32_t axis = 0; axis < topology->axis_count; axis++) {
        uint32_t back = topology->axis_size[axis] - at[axis];
        at[axis] = back < at[axis] ? back : at[axis];
        uint32_t value = at[axis], axis_to = axis;
        for (uint32_t j = axis; j-- > embedding->group[axis];) {
            if (embedding->group[j] != embedding->group[axis] || at[j] <= value)
                continue;
            at[axis_to] = at[j];
            axis_to = j;
        }
        at[axis_to] = value;
    }
    return topology_node_at(topology, at);
}

static enum err orbits_make(struct embedding *embedding, bool *few, struct why *why)
{
    uint32_t nodes = embedding->topology->graph.node_count;
    uint32_t *members = array_new(nodes, sizeof *members);
    embedding->orbits = array_new(ORBIT_MAX, sizeof *embedding->orbits);
    if (!members || !embedding->orbits) {
        free(members);
        return why_memory(why);
    }
    for (uint32_t v = 0; v < nodes; v++)
        members[node_representative(embedding, v)]++;
    *few = true;
    for (uint32_t v = 1; v < nodes && *few; v++) {
        if (!members[v])
            continue;
        *few = embedding->orbit_count < ORBIT_MAX;
        if (*few) {
            struct orbit *orbit = &embedding->orbits[embedding->orbit_count++];
            topology_coordinate(embedding->topology, v, orbit->at);
            orbit->size = members[v];
        }
    }
    free(members);
    return OK;
}

/* The mean of the product of cosines over all ways to assign a group's axes of one orbit to those
 * of the other. sum[used] is the mean for the first axes of the character and the set `used` of the
 * orbit's axes. */
static double group_mean(const struct embedding *embedding, uint32_t group,
                         const struct orbit *character, const struct orbit *orbit)
{
    uint32_t axis_of[GROUP_MAX], count = 0;
    for (uint32_t axis = group; axis < embedding->topology->axis_count; axis++)
        if (embedding->group[axis] == group)
            axis_of[count++] = axis;
    double sum[1u << GROUP_MAX] = {1};
    uint32_t size = embedding->topology->axis_size[group];
    for (uint32_t used = 1; used < 1u << count; used++) {
        uint32_t row = (uint32_t)__builtin_popcount(used) - 1;
        uint64_t frequency = character->at[axis_of[row]];
        sum[used] = 0;
        for (uint32_t i = 0; i < count; i++)
            if (used >> i & 1)
                sum[used] +=
                    sum[used ^ 1u << i] / (row + 1) *
                    cos(2 * M_PI * (double)(frequency * orbit->at[axis_of[i]] % size) / size);
    }
    return sum[(1u << count) - 1];
}

/* The contribution of a weight of 1 on every difference of an orbit to the eigenvalue of a
 * character. */
static double orbit_value(const struct embedding *embedding, const struct orbit *character,
                          const struct orbit *orbit)
{
    double mean = 1;
    for (uint32_t axis = 0; axis < embedding->topology->axis_count; axis++)
        if (embedding->group[axis] == axis)
            mean *= group_mean(embedding, axis, character, orbit);
    return orbit->size * (1 - mean);
}

/* Unknown 0 is the eigenvalue, 1 + 2o the weight of orbit o routed without a
 * jump, 2 + 2o with one. */
static void program_fill(const struct embedding *embedding, struct simplex *simplex)
{
    uint32_t orbits = embedding->orbit_count, row = orbits;
    bool jumps = embedding->jump_limit > 0;
    simplex_set_gain(simplex, 0, 1);
    for (uint32_t j = 0; j < orbits; j++) {
        simplex_set(simplex, j, 0, 1);
        simplex_set_limit(simplex, j, 0);
        for (uint32_t o = 0; o < orbits; o++) {
            double value = orbit_value(embedding, &embedding->orbits[j], &embedding->orbits[o]);
            simplex_set(simplex, j, 1 + 2 * o, -value);
            simplex_set(simplex, j, 2 + 2 * o, jumps ? -value : 0);
        }
    }
    for (uint32_t group = 0; group < embedding->topology->axis_count; group++) {
        if (embedding->group[group] != group)
            continue;
        for (uint32_t o = 0; o < orbits; o++) {
            const struct orbit *orbit = &embedding->orbits[o];
            for (uint32_t jump = 0; jump < 2; jump++)
                simplex_set(simplex, row, 1 + 2 * o + jump,
                            orbit->size * orbit_steps(embedding, orbit, group, jump));
        }
        simplex_set_limit(simplex, row++, embedding->limit[group]);
    }
    for (uint32_t o = 0; o < orbits; o++)
        simplex_set(simplex, row, 2 + 2 * o, embedding->orbits[o].size);
    simplex_set_limit(simplex, row, embedding->jump_limit);
}

/* The number by which all weights must be divided to fit every kind of cable. */
static double weights_excess(const struct embedding *embedding, const double *weight)
{
    double excess = 0, jumps = 0;
    for (uint32_t group = 0; group < embedding->topology->axis_count; group++) {
        double carried = 0;
        if (embedding->group[group] != group || embedding->limit[group] == 0)
            continue;
        for (uint32_t o = 0; o < embedding->orbit_count; o++)
            for (uint32_t jump = 0; jump < 2; jump++)
                carried += weight[2 * o + jump] * embedding->orbits[o].size *
                           orbit_steps(embedding, &embedding->orbits[o], group, jump);
        excess = fmax(excess, carried / embedding->limit[group]);
    }
    for (uint32_t o = 0; o < embedding->orbit_count; o++)
        jumps += weight[2 * o + 1] * embedding->orbits[o].size;
    return embedding->jump_limit > 0 ? fmax(excess, jumps / embedding->jump_limit) : excess;
}

/* The second eigenvalue of H after scaling, minus what rounding may have added. */
static double weights_check(const struct embedding *embedding, double *weight)
{
    bool jumps = embedding->jump_limit > 0;
    for (uint32_t o = 0; o < embedding->orbit_count && !jumps; o++)
        weight[2 * o + 1] = 0;
    double excess = weights_excess(embedding, weight) * (1 + 1e-12), least = INFINITY;
    if (!(excess > 0))
        return 0;
    for (uint32_t j = 0; j < embedding->orbit_count; j++) {
        double sum = 0, size = 0;
        for (uint32_t o = 0; o < embedding->orbit_count; o++) {
            double each = (weight[2 * o] + weight[2 * o + 1]) / excess;
            sum += each * orbit_value(embedding, &embedding->orbits[j], &embedding->orbits[o]);
            size += each * embedding->orbits[o].size;
        }
        least = fmin(least, sum - 1e-10 * size);
    }
    return fmax(0, least);
}

static enum err embedding_solve(const struct embedding *embedding, double *eigenvalue,
                                struct why *why)
{
    uint32_t orbits = embedding->orbit_count, rows = orbits + 1, columns = 1 + 2 * orbits;
    struct simplex simplex;
    for (uint32_t axis = 0; axis < embedding->topology->axis_count; axis++)
        rows += embedding->group[axis] == axis;
    double *x = array_new(columns, sizeof *x);
    enum err err = x ? simplex_init(&simplex, rows, columns, why) : why_memory(why);
    if (!err) {
        program_fill(embedding, &simplex);
        simplex_solve(&simplex, x);
        *eigenvalue = weights_check(embedding, x + 1);
        simplex_fini(&simplex);
    }
    free(x);
    return err;
}

enum err embedding_eigenvalue(const struct topology *topology, double *eigenvalue, struct why *why)
{
    struct embedding embedding = {.topology = topology};
    *eigenvalue = 0;
    if (topology->graph.node_count < 2 || !kinds_make(&embedding))
        return OK;
    uint32_t group_size[AXIS_MAX] = {0};
    for (uint32_t axis = 0; axis < topology->axis_count; axis++)
        if (++group_size[embedding.group[axis]] > GROUP_MAX)
            return OK;
    bool few = false;
    enum err err = orbits_make(&embedding, &few, why);
    if (!err && few)
        err = embedding_solve(&embedding, eigenvalue, why);
    free(embedding.orbits);
    return err;
}
