/* closed_form: distances counted from those along one axis.
 *
 * Torus: the distances from one coordinate of a ring of k to all others add up to floor(k^2/4),
 * every axis contributes its own distance, and the largest on one axis is floor(k/2).
 *
 * NovaCube, even k: a jump is a translation by half a turn on every axis, so two jumps cancel and a
 * shortest path has one or none. If x is |x| steps from the origin, the antipode of x is nk/2 - |x|
 * steps from it: the distance is min(|x|, nk/2 - |x| + 1), and the number of x with a given |x|
 * comes from convolving the distances of n rings.
 *
 * NovaCube, odd k: no such formula is known, because the jump is not a symmetry of the torus. But
 * the steps of a path on one axis between its jumps do not depend on the other axes. So the
 * distance is the minimum, over the number j of jumps, of j plus the sum over the axes of the
 * fewest steps on that axis with j jumps on the way. That vector of step counts is tabulated for
 * all pairs of coordinates of one axis; the number of pairs of nodes with each vector is again a
 * convolution. */
#include "topology/measure/closed_form.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "topology/graph.h"

static enum err node_count(uint32_t k, uint32_t n, uint64_t *nodes, struct why *why)
{
    *nodes = 1;
    if (k == 0 || n == 0)
        return why_fail(why, ERR_USAGE,
                        "there is no %u-ary %u-cube: both numbers must be at least 1", k, n);
    for (uint32_t axis = 0; axis < n && k > 1; axis++) {
        *nodes *= k;
        if (*nodes > GRAPH_NODE_MAX)
            return why_fail(why, ERR_USAGE, "a %u-ary %u-cube has more than %u nodes, the maximum",
                            k, n, GRAPH_NODE_MAX);
    }
    return OK;
}

enum err closed_form_torus(uint32_t k, uint32_t n, struct closed_form *form, struct why *why)
{
    uint64_t nodes;
    enum err err = node_count(k, n, &nodes, why);
    if (err)
        return err;
    uint64_t ring = (uint64_t)k * k / 4; /* the sum of a node's distances on one axis */
    uint64_t rings = nodes / k;
    form->diameter = k == 1 ? 0 : n * (k / 2);
    form->mean_path = nodes == 1 ? NAN : n * (double)ring * (double)rings / (double)(nodes - 1);
    return OK;
}

/* at[d]: nodes of an even torus that are d steps from the origin. */
static void torus_histogram(uint32_t k, uint32_t n, uint64_t *at, uint64_t *scratch)
{
    uint32_t half = k / 2;
    at[0] = 1;
    for (uint32_t axis = 0; axis < n; axis++) {
        uint32_t length = axis * half + 1;
        memset(scratch, 0, ((size_t)length + half) * sizeof *scratch);
        for (uint32_t d = 0; d < length; d++)
            for (uint32_t step = 0; step <= half; step++)
                scratch[d + step] += at[d] * (step == 0 || step == half ? 1 : 2);
        memcpy(at, scratch, ((size_t)length + half) * sizeof *at);
    }
}

static enum err novacube_even(uint32_t k, uint32_t n, uint64_t nodes, struct closed_form *form,
                              struct why *why)
{
    uint32_t far = n * (k / 2);
    uint64_t *at = array_new((size_t)far + 1, sizeof *at);
    uint64_t *scratch = array_new((size_t)far + 1, sizeof *scratch);
    enum err err = OK;
    if (!at || !scratch) {
        err = why_memory(why);
        goto done;
    }
    torus_histogram(k, n, at, scratch);
    uint64_t sum = 0;
    for (uint32_t d = 1; d <= far; d++) {
        uint32_t jumped = far - d + 1, least = d < jumped ? d : jumped;
        sum += at[d] * least;
        if (least > form->diameter)
            form->diameter = least;
    }
    form->mean_path = (double)sum / (double)(nodes - 1);
done:
    free(at);
    free(scratch);
    return err;
}

/* The most jumps that a shortest path of an odd NovaCube may take. Between two jumps an axis can
 * gain one step across the seam at coordinate k - 1, so with three or more axes a pair of jumps may
 * pay off; more than two were never observed. */
#define JUMPS_MAX 4

struct state {
    uint32_t steps[JUMPS_MAX + 1]; /* [j]: steps, with j jumps on the way */
    uint64_t pairs; /* the number of pairs of nodes, or of coordinates, with this vector */
};

struct state_list {
    struct state *states; /* owned */
    size_t count;
};

static int state_order(const void *left, const void *right)
{
    const struct state *a = left, *b = right;
    for (uint32_t j = 0; j <= JUMPS_MAX; j++)
        if (a->steps[j] != b->steps[j])
            return a->steps[j] < b->steps[j] ? -1 : 1;
    return 0;
}

/* Merges equal vectors. */
static void states_merge(struct state_list *list)
{
    qsort(list->states, list->count, sizeof *list->states, state_order);
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (kept > 0 && state_order(&list->states[kept - 1], &list->states[i]) == 0)
            list->states[kept - 1].pairs += list->states[i].pairs;
        else
            list->states[kept++] = list->states[i];
    }
    list->count = kept;
}

static uint32_t ring_distance(uint32_t k, uint32_t a, uint32_t b)
{
    uint32_t gap = a < b ? b - a : a - b;
    return gap < k - gap ? gap : k - gap;
}

/* The states of all pairs of coordinates of one axis. */
static enum err axis_states(uint32_t k, struct state_list *list, struct why *why)
{
    list->count = (size_t)k * k;
    list->states = array_new(list->count, sizeof *list->states);
    if (!list->states)
        return why_memory(why);
    uint32_t ring = k - 1; /* the coordinates that have a jump */
    for (uint32_t a = 0; a < k; a++) {
        struct state *row = list->states + (size_t)a * k;
        for (uint32_t b = 0; b < k; b++) {
            row[b].pairs = 1;
            row[b].steps[0] = ring_distance(k, a, b);
        }
        for (uint32_t j = 1; j <= JUMPS_MAX; j++) {
            for (uint32_t b = 0; b < k; b++) {
                uint32_t least = UINT32_MAX;
                for (uint32_t from = 0; from < ring; from++) {
                    uint32_t to = (from + ring / 2) % ring;
                    uint32_t steps = row[from].steps[j - 1] + ring_distance(k, to, b);
                    if (steps < least)
                        least = steps;
                }
                row[b].steps[j] = least;
            }
        }
    }
    states_merge(list);
    return OK;
}

static enum err states_convolve(struct state_list *list, const struct state_list *axis,
                                struct why *why)
{
    struct state_list product = {.count = list->count * axis->count};
    product.states = array_new(product.count, sizeof *product.states);
    if (!product.states)
        return why_memory(why);
    for (size_t i = 0; i < list->count; i++) {
        for (size_t k = 0; k < axis->count; k++) {
            struct state *state = &product.states[i * axis->count + k];
            state->pairs = list->states[i].pairs * axis->states[k].pairs;
            for (uint32_t j = 0; j <= JUMPS_MAX; j++)
                state->steps[j] = list->states[i].steps[j] + axis->states[k].steps[j];
        }
    }
    states_merge(&product);
    free(list->states);
    *list = product;
    return OK;
}

static void states_measure(const struct state_list *list, uint64_t nodes, struct closed_form *form)
{
    uint64_t sum = 0, pairs = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct state *state = &list->states[i];
        uint32_t least = state->steps[0];
        for (uint32_t j = 1; j <= JUMPS_MAX; j++)
            if (state->steps[j] + j < least)
                least = state->steps[j] + j;
        sum += state->pairs * least;
        pairs += state->pairs;
        if (least > form->diameter)
            form->diameter = least;
    }
    assert(pairs == nodes * nodes);
    form->mean_path = (double)sum / (double)nodes / (double)(nodes - 1);
}

static enum err novacube_odd(uint32_t k, uint32_t n, uint64_t nodes, struct closed_form *form,
                             struct why *why)
{
    if (k > CLOSED_FORM_ODD_MAX)
        return why_fail(why, ERR_USAGE,
                        "a %u-ary NovaCube is too large: for odd k the maximum is %u", k,
                        CLOSED_FORM_ODD_MAX);
    struct state_list axis = {0}, all = {0};
    enum err err = axis_states(k, &axis, why);
    if (!err) {
        all.count = axis.count;
        all.states = array_copy(axis.states, axis.count, sizeof *axis.states);
        if (!all.states)
            err = why_memory(why);
    }
    for (uint32_t i = 1; i < n && !err; i++)
        err = states_convolve(&all, &axis, why);
    if (!err)
        states_measure(&all, nodes, form);
    free(axis.states);
    free(all.states);
    return err;
}

enum err closed_form_novacube(uint32_t k, uint32_t n, struct closed_form *form, struct why *why)
{
    uint64_t nodes;
    enum err err = node_count(k, n, &nodes, why);
    if (err)
        return err;
    *form = (struct closed_form){.mean_path = NAN};
    if (nodes == 1)
        return OK;
    return k % 2 ? novacube_odd(k, n, nodes, form, why) : novacube_even(k, n, nodes, form, why);
}
