/* halving: the weights, and, by subset sums, how evenly they can be divided.
 *
 * There are few distinct weights, so sums run over classes of equal nodes. Dealing the nodes,
 * heaviest first, to the lighter side is nearly always as even as parity allows, and then nothing
 * else is computed. */
#include "flow/bisection/halving.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"
#include "base/divisor.h"

static int by_falling_weight(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a > b ? -1 : a < b;
}

/* Sorts the nodes into classes. */
static enum err classes_make(struct halving *halving, const uint32_t *weight, struct why *why)
{
    uint32_t nodes = halving->node_count;
    uint32_t *sorted = array_copy(weight, nodes, sizeof *sorted);
    if (!sorted)
        return why_memory(why);
    qsort(sorted, nodes, sizeof *sorted, by_falling_weight);
    uint32_t distinct = 0;
    for (uint32_t i = 0; i < nodes; i++)
        if (i == 0 || sorted[i] != sorted[i - 1])
            sorted[distinct++] = sorted[i];
    halving->classes = array_new(distinct, sizeof *halving->classes);
    halving->class_of = array_new(nodes, sizeof *halving->class_of);
    if (!halving->classes || !halving->class_of) {
        free(sorted);
        return why_memory(why);
    }
    halving->class_count = distinct;
    halving->uniform = distinct <= 1;
    for (uint32_t c = 0; c < distinct; c++) {
        halving->classes[c].weight = sorted[c];
        halving->unit = (uint32_t)divisor_common(sorted[c], halving->unit);
    }
    for (uint32_t v = 0; v < nodes; v++) {
        const uint32_t *found =
            bsearch(&weight[v], sorted, distinct, sizeof *sorted, by_falling_weight);
        assert(found);
        halving->class_of[v] = (uint32_t)(found - sorted);
        halving->classes[found - sorted].count++;
        halving->total += weight[v];
    }
    for (uint32_t c = 0; c < distinct && halving->unit > 1; c++)
        halving->classes[c].weight /= halving->unit;
    halving->total /= halving->unit ? halving->unit : 1;
    free(sorted);
    return OK;
}

/* Deals the nodes, heaviest first, each to the lighter side; returns the remaining difference. */
static uint64_t classes_deal(struct halving *halving)
{
    uint64_t weight[2] = {0, 0};
    for (uint32_t c = 0; c < halving->class_count; c++) {
        struct halving_class *class = &halving->classes[c];
        uint32_t taken[2] = {0, 0};
        for (uint32_t i = 0; i < class->count; i++) {
            int to = weight[1] < weight[0];
            weight[to] += class->weight;
            taken[to]++;
        }
        class->light = taken[0];
    }
    if (weight[0] > weight[1]) {
        for (uint32_t c = 0; c < halving->class_count; c++)
            halving->classes[c].light = halving->classes[c].count - halving->classes[c].light;
        halving->light = weight[1];
    } else {
        halving->light = weight[0];
    }
    return halving_gap(halving);
}

/* How a sum was first reached: by this many nodes of this class on top of a sum that earlier
 * classes reached. */
struct step {
    uint32_t class_next; /* class + 1; 0: not reached */
    uint32_t used;
};

static enum err classes_sum(struct halving *halving, struct why *why)
{
    uint64_t half = halving->total / 2;
    struct step *steps = array_new(half + 1, sizeof *steps);
    if (!steps)
        return why_memory(why);
    steps[0] = (struct step){UINT32_MAX, 0};
    for (uint32_t c = 0; c < halving->class_count; c++) {
        const struct halving_class *class = &halving->classes[c];
        for (uint64_t sum = class->weight; class->weight && sum <= half; sum++) {
            const struct step *from = &steps[sum - class->weight];
            if (steps[sum].class_next || !from->class_next)
                continue;
            uint32_t used = from->class_next == c + 1 ? from->used + 1 : 1;
            if (used <= class->count)
                steps[sum] = (struct step){c + 1, used};
        }
    }
    halving->light = half;
    while (!steps[halving->light].class_next)
        halving->light--;
    for (uint32_t c = 0; c < halving->class_count; c++)
        halving->classes[c].light = 0;
    for (uint64_t sum = halving->light; sum > 0;) {
        struct halving_class *class = &halving->classes[steps[sum].class_next - 1];
        class->light = steps[sum].used;
        sum -= (uint64_t) class->light * class->weight;
    }
    free(steps);
    return OK;
}

enum err halving_init(struct halving *halving, const struct topology *topology, struct why *why)
{
    uint32_t nodes = topology->graph.node_count;
    *halving = (struct halving){.node_count = nodes};
    uint32_t *weight = array_new(nodes, sizeof *weight);
    if (!weight)
        return why_memory(why);
    bool empty = true;
    for (uint32_t v = 0; v < nodes; v++)
        empty &= topology->sites[v].servers == 0;
    for (uint32_t v = 0; v < nodes; v++)
        weight[v] = empty ? 1 : topology->sites[v].servers;
    enum err err = classes_make(halving, weight, why);
    free(weight);
    if (!err && classes_deal(halving) > (halving->total & 1))
        err = classes_sum(halving, why);
    if (err)
        halving_fini(halving);
    return err;
}

void halving_fini(struct halving *halving)
{
    free(halving->classes);
    free(halving->class_of);
    *halving = (struct halving){0};
}

int64_t halving_excess(const struct halving *halving, const uint8_t *side)
{
    int64_t excess = 0;
    for (uint32_t v = 0; v < halving->node_count; v++) {
        int64_t weight = halving_weight(halving, v);
        excess += side[v] ? -weight : weight;
    }
    return excess;
}

bool halving_holds(const struct halving *halving, const uint8_t *side)
{
    return (uint64_t)llabs(halving_excess(halving, side)) == halving_gap(halving);
}
