#include "topology/generate/two_layer.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"
#include "topology/generate/random_graph.h"

void two_layer_fini(struct two_layer *plan)
{
    free(plan->container);
    free(plan->first);
    free(plan->members);
    free(plan->local);
    free(plan->global);
    *plan = (struct two_layer){0};
}

/* The number of nodes that container c gets when `count` nodes are dealt to all containers in
 * turn. */
static uint32_t dealt(uint32_t count, uint32_t c, uint32_t containers)
{
    return (uint32_t)(((uint64_t)count + containers - 1 - c) / containers);
}

/* Assigns the nodes begin .. end - 1, all of one kind. */
static void kind_deal(struct two_layer *plan, uint32_t begin, uint32_t end)
{
    uint32_t containers = plan->container_count, node = begin;
    for (uint32_t c = 0; c < containers && node < end; c++) {
        uint32_t share = dealt(end, c, containers) - dealt(begin, c, containers);
        for (; share > 0; share--)
            plan->container[node++] = c;
    }
    assert(node == end);
}

static void containers_fill(struct two_layer *plan, const uint32_t *kind)
{
    uint32_t *first = plan->first;
    for (uint32_t begin = 0, end; begin < plan->node_count; begin = end) {
        for (end = begin + 1; end < plan->node_count && kind[end] == kind[begin];)
            end++;
        kind_deal(plan, begin, end);
    }
    for (uint32_t c = 0; c < plan->container_count; c++)
        first[c + 1] = first[c] + dealt(plan->node_count, c, plan->container_count);
    for (uint32_t v = 0; v < plan->node_count; v++)
        plan->members[first[plan->container[v]]++] = v;
    for (uint32_t c = plan->container_count; c > 0; c--)
        first[c] = first[c - 1]; /* filling moved every start to the next one */
    first[0] = 0;
}

/* Half the share of this many ports, rounded to the nearest whole number. */
static uint64_t share_pairs(uint64_t ports, uint32_t share)
{
    return (ports * share + SHARE_ONE) / (2 * (uint64_t)SHARE_ONE);
}

/* Rounds the running sums, not each container's own share: this keeps the total error below one
 * cable. A container gets an even number of local ports, so that none of them stays free. A switch
 * gets the difference of two running sums in the same way. */
static void shares_split(struct two_layer *plan, const uint32_t *ports, uint32_t share)
{
    uint64_t before = 0;
    for (uint32_t c = 0; c < plan->container_count; c++) {
        uint64_t sum = 0, passed = 0;
        for (uint32_t i = plan->first[c]; i < plan->first[c + 1]; i++)
            sum += ports[plan->members[i]];
        uint64_t local = 2 * (share_pairs(before + sum, share) - share_pairs(before, share));
        if (local > sum)
            local = sum - 1; /* the sum is odd, and nearly all of it is wanted */
        if (share == SHARE_ONE && plan->container_count == 1)
            local = sum;
        before += sum;
        for (uint32_t i = plan->first[c]; i < plan->first[c + 1]; i++) {
            uint32_t node = plan->members[i];
            uint64_t until = passed + ports[node];
            plan->local[node] = (uint32_t)(until * local / sum - passed * local / sum);
            plan->global[node] = ports[node] - plan->local[node];
            passed = until;
        }
    }
}

/* Checks the conditions for the layer between containers. */
static enum err global_validate(const struct two_layer *plan, const char *spec, struct why *why)
{
    uint64_t total = 0;
    for (uint32_t v = 0; v < plan->node_count; v++)
        total += plan->global[v];
    if (plan->container_count > 1 && total / 2 < plan->container_count - 1)
        return why_fail(why, ERR_USAGE,
                        "%s: %llu cables between containers cannot connect %u containers", spec,
                        (unsigned long long)(total / 2), plan->container_count);
    for (uint32_t c = 0; c < plan->container_count; c++) {
        uint32_t size = plan->first[c + 1] - plan->first[c], others = plan->node_count - size;
        uint64_t sum = 0;
        for (uint32_t i = plan->first[c]; i < plan->first[c + 1]; i++) {
            uint32_t node = plan->members[i];
            sum += plan->global[node];
            if (plan->global[node] > others)
                return why_fail(why, ERR_USAGE,
                                "%s: switch %u has %u ports for other containers, "
                                "which have only %u switches",
                                spec, node, plan->global[node], others);
        }
        if (plan->container_count > 1 && sum == 0)
            return why_fail(why, ERR_USAGE, "%s: container %u has no port for other containers",
                            spec, c);
        if (sum > total - sum + total % 2)
            return why_fail(why, ERR_USAGE,
                            "%s: container %u has %llu ports for other containers, "
                            "which have only %llu",
                            spec, c, (unsigned long long)sum, (unsigned long long)(total - sum));
    }
    return OK;
}

enum err two_layer_plan(struct two_layer *plan, uint32_t node_count, const uint32_t *kind,
                        const uint32_t *ports, uint32_t container_count, uint32_t share,
                        const char *spec, struct why *why)
{
    assert(share <= SHARE_ONE && container_count > 0);
    if (container_count > node_count)
        return why_fail(why, ERR_USAGE, "%s: there are more containers than the %u switches", spec,
                        node_count);
    if (container_count == 1 && share < SHARE_ONE)
        return why_fail(
            why, ERR_USAGE,
            "%s: local must be 1, because a single container has no other container to link to",
            spec);
    *plan = (struct two_layer){
        .node_count = node_count,
        .container_count = container_count,
        .container = array_new(node_count, sizeof *plan->container),
        .first = array_new((size_t)container_count + 1, sizeof *plan->first),
        .members = array_new(node_count, sizeof *plan->members),
        .local = array_new(node_count, sizeof *plan->local),
        .global = array_new(node_count, sizeof *plan->global),
    };
    enum err err = OK;
    if (!plan->container || !plan->first || !plan->members || !plan->local || !plan->global) {
        err = why_memory(why);
    } else {
        containers_fill(plan, kind);
        shares_split(plan, ports, share);
        err = global_validate(plan, spec, why);
    }
    if (err)
        two_layer_fini(plan);
    return err;
}

static enum err container_plug(const struct two_layer *plan, uint32_t c, struct wiring *wiring,
                               uint64_t seed, uint64_t stream, const char *spec, struct why *why)
{
    const struct random_graph local = {
        .nodes = plan->members + plan->first[c],
        .node_count = plan->first[c + 1] - plan->first[c],
        .ports = plan->local,
        .seed = seed,
        .stream = stream,
    };
    bool done;
    enum err err = random_graph_plug(wiring, &local, &done, why);
    if (err || done)
        return err;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < local.node_count; i++)
        sum += plan->local[local.nodes[i]];
    return why_fail(why, ERR_USAGE,
                    "%s: container %u is too small for its local share: its %u switches cannot "
                    "use %llu ports among themselves",
                    spec, c, local.node_count, (unsigned long long)sum);
}

enum err two_layer_plug(const struct two_layer *plan, struct wiring *wiring, uint64_t seed,
                        uint64_t stream, const char *spec, struct why *why)
{
    for (uint32_t c = 0; c < plan->container_count; c++) {
        uint64_t own = stream + ((uint64_t)c + 1) * RANDOM_GRAPH_STREAMS;
        enum err err = container_plug(plan, c, wiring, seed, own, spec, why);
        if (err)
            return err;
    }
    const struct random_graph between = {
        .nodes = plan->members,
        .node_count = plan->node_count,
        .ports = plan->global,
        .group = plan->container,
        .seed = seed,
        .stream = stream,
    };
    bool done;
    enum err err = random_graph_plug(wiring, &between, &done, why);
    if (!err && !done)
        err = why_fail(
            why, ERR_USAGE,
            "%s: found no wiring that uses all ports between containers; try another seed or share",
            spec);
    return err;
}
