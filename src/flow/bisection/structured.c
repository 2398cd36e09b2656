#include "flow/bisection/structured.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"
#include "base/divisor.h"
#include "flow/bisection/start.h"

#define NONZERO_MAX 3u

struct family {
    struct search *search;
    uint64_t turn;        /* phases per turn: the least common multiple of the sizes */
    uint32_t offset_step; /* distance between the starting phases that are tried */
    double *value;        /* per node: its phase */
    double work;          /* remaining work budget */
    int factor[AXIS_MAX];
};

static uint64_t node_phase(const struct family *family, uint32_t node)
{
    const struct topology *topology = family->search->topology;
    uint32_t at[AXIS_MAX];
    topology_coordinate(topology, node, at);
    int64_t turn = (int64_t)family->turn, phase = 0;
    for (uint32_t axis = 0; axis < topology->axis_count; axis++)
        phase += family->factor[axis] * (int64_t)at[axis] * (turn / topology->axis_size[axis]);
    return (uint64_t)((phase % turn + turn) % turn);
}

/* Tries all starting phases of one choice of factors. */
static enum err factors_try(struct family *family, struct why *why)
{
    struct search *search = family->search;
    uint32_t nodes = search->halving->node_count;
    for (uint64_t offset = 0; offset < family->turn; offset += family->offset_step) {
        if (family->work < 0 || search_done(search))
            return OK;
        for (uint32_t v = 0; v < nodes; v++)
            family->value[v] =
                (double)((node_phase(family, v) + family->turn - offset) % family->turn);
        enum err err = start_by_value(search->halving, family->value, search->trial, why);
        if (err)
            return err;
        search_try(search, "structured cut, refined");
        family->work -= 20.0 * nodes + 10.0 * search->topology->graph.link_count;
    }
    return OK;
}

/* Chooses factors for `more` further axes from `axis` on. The first factor is positive: negating
 * all factors gives the same division. */
static enum err factors_choose(struct family *family, uint32_t axis, uint32_t more, bool first,
                               struct why *why)
{
    if (more == 0)
        return factors_try(family, why);
    enum err err = OK;
    for (; axis + more <= family->search->topology->axis_count && !err; axis++) {
        if (family->search->topology->axis_size[axis] == 1)
            continue;
        static const int factors[] = {1, -1, 2, -2};
        for (int i = 0; i < 4 && !err; i++) {
            if (first && factors[i] < 0)
                continue;
            family->factor[axis] = factors[i];
            err = factors_choose(family, axis + 1, more - 1, false, why);
        }
        family->factor[axis] = 0;
    }
    return err;
}

enum err structured_search(struct search *search, struct why *why)
{
    const struct topology *topology = search->topology;
    struct family family = {.search = search, .turn = 1, .offset_step = 1, .work = 1e9};
    uint64_t nodes = 1;
    for (uint32_t axis = 0; axis < topology->axis_count; axis++) {
        uint64_t size = topology->axis_size[axis];
        assert(size > 0);
        nodes *= size;
        assert(size > 0);
        family.turn *= size / divisor_common(family.turn, size);
    }
    if (topology->axis_count == 0 || nodes != topology->graph.node_count || family.turn > 1u << 20)
        return OK;
    if (family.turn > 64)
        family.offset_step = (uint32_t)(family.turn / 64);
    family.value = array_new(topology->graph.node_count, sizeof *family.value);
    if (!family.value)
        return why_memory(why);
    enum err err = OK;
    for (uint32_t count = 1; count <= NONZERO_MAX && !err; count++)
        err = factors_choose(&family, 0, count, true, why);
    free(family.value);
    return err;
}
