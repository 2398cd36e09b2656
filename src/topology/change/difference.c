#include "topology/change/difference.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "topology/change/transition.h"

struct named {
    const char *name;
    uint32_t node;
};

/* All nodes of a topology, sorted by name. If the nodes have no names, their numbers serve as
 * names, and `digits` holds their text. */
struct directory {
    struct named *entries;
    char (*digits)[NODE_NAME_SIZE];
    uint32_t count;
};

static int named_order(const void *left, const void *right)
{
    const struct named *one = left, *other = right;
    return strcmp(one->name, other->name);
}

static void directory_fini(struct directory *directory)
{
    free(directory->entries);
    free(directory->digits);
}

static enum err directory_init(struct directory *directory, const struct topology *topology,
                               struct why *why)
{
    uint32_t count = topology->graph.node_count;
    *directory = (struct directory){
        .entries = array_new(count, sizeof *directory->entries),
        .digits = array_new(topology->names ? 0 : count, sizeof *directory->digits),
        .count = count,
    };
    if (!directory->entries || !directory->digits)
        return why_memory(why);
    for (uint32_t v = 0; v < count; v++) {
        char *buffer = topology->names ? NULL : directory->digits[v];
        directory->entries[v] = (struct named){topology_name(topology, v, buffer), v};
    }
    qsort(directory->entries, count, sizeof *directory->entries, named_order);
    for (uint32_t i = 1; i < count; i++)
        if (named_order(&directory->entries[i - 1], &directory->entries[i]) == 0)
            return why_fail(why, ERR_INPUT, "two nodes are named '%s'", directory->entries[i].name);
    return OK;
}

/* Finds counterpart[w] for each node w of `after`: a node of `before`, or NODE_NONE. */
static enum err nodes_match(uint32_t *counterpart, const struct topology *before,
                            const struct topology *after, struct why *why)
{
    uint32_t count = after->graph.node_count;
    if (!before->names && !after->names) {
        for (uint32_t w = 0; w < count; w++)
            counterpart[w] = w < before->graph.node_count ? w : NODE_NONE;
        return OK;
    }
    struct directory one = {0}, other = {0};
    enum err err = directory_init(&one, before, why);
    if (!err)
        err = directory_init(&other, after, why);
    for (uint32_t i = 0; !err && i < count; i++) {
        const struct named *named = &other.entries[i];
        const struct named *found =
            bsearch(named, one.entries, one.count, sizeof *named, named_order);
        counterpart[named->node] = found ? found->node : NODE_NONE;
    }
    directory_fini(&one);
    directory_fini(&other);
    return err;
}

/* Numbers the nodes of both topologies; `number[w]` is the number of node w of `after`. */
static enum err nodes_number(struct difference *difference, uint32_t *number,
                             const struct topology *before, const struct topology *after,
                             struct why *why)
{
    uint32_t before_count = before->graph.node_count, after_count = after->graph.node_count;
    enum err err = nodes_match(number, before, after, why);
    if (err)
        return err;
    difference->before_count = difference->node_count = before_count;
    for (uint32_t w = 0; w < after_count; w++) {
        if (number[w] == NODE_NONE) {
            number[w] = difference->node_count++;
            difference->added_count++;
        }
    }
    difference->removed_count = difference->node_count - after_count;
    if (difference->added_count == after_count)
        return why_fail(why, ERR_USAGE, "the two topologies have no node in common");
    difference->after = array_new(difference->node_count, sizeof *difference->after);
    if (!difference->after)
        return why_memory(why);
    for (uint32_t v = 0; v < difference->node_count; v++)
        difference->after[v] = NODE_NONE;
    for (uint32_t w = 0; w < after_count; w++)
        difference->after[number[w]] = w;
    return OK;
}

/* Raises a node's limit, if it is lower, to the number of its cables plus its free ports. */
static void limit_raise(uint32_t *limit, const struct topology *topology, uint32_t node)
{
    uint32_t room = graph_degree(&topology->graph, node) + topology_free_ports(topology, node);
    if (*limit < room)
        *limit = room;
}

static enum err plan_make(struct difference *difference, const uint32_t *number,
                          const struct topology *before, const struct topology *after,
                          struct why *why)
{
    uint32_t nodes = difference->node_count, links = after->graph.link_count;
    uint32_t *limit = array_new(nodes, sizeof *limit);
    uint32_t *slots = NULL;
    uint8_t *leaving = array_new(nodes, 1);
    struct link *wanted = array_copy(after->graph.links, links, sizeof *wanted);
    struct rewire rewire = {0};
    enum err err = limit && leaving && wanted ? OK : why_memory(why);
    if (err)
        goto done;
    for (uint32_t v = 0; v < nodes; v++) {
        leaving[v] = difference->after[v] == NODE_NONE;
        if (v < difference->before_count)
            limit_raise(&limit[v], before, v);
        if (!leaving[v])
            limit_raise(&limit[v], after, difference->after[v]);
    }
    slots = array_copy(limit, nodes, sizeof *limit);
    if (!slots) {
        err = why_memory(why);
        goto done;
    }
    rewire_cover(slots, &before->graph, NULL);
    rewire_cover(slots, &after->graph, number);
    for (uint32_t e = 0; e < links; e++) {
        wanted[e].a = number[wanted[e].a];
        wanted[e].b = number[wanted[e].b];
    }
    err = rewire_init(&rewire, nodes, limit, slots, leaving, before->graph.links,
                      before->graph.link_count, why);
    if (err)
        goto done;
    difference->parts_before = rewire.parts;
    err = transition_plan(&rewire, wanted, links, why);
    if (!err) {
        difference->parts_after = rewire.parts;
        difference->plan = rewire.plan;
        rewire.plan = (struct rewire_plan){0};
    }
    rewire_fini(&rewire);
done:
    free(limit);
    free(slots);
    free(leaving);
    free(wanted);
    return err;
}

enum err difference_make(struct difference *difference, const struct topology *before,
                         const struct topology *after, struct why *why)
{
    *difference = (struct difference){0};
    if (before->direct != after->direct)
        return why_fail(why, ERR_USAGE,
                        "one network is direct and the other is switched; they cannot be compared");
    if ((uint64_t)before->graph.node_count + after->graph.node_count > GRAPH_NODE_MAX)
        return why_fail(why, ERR_USAGE, "the two networks together have more than %u nodes",
                        GRAPH_NODE_MAX);
    uint32_t *number = array_new(after->graph.node_count, sizeof *number);
    if (!number)
        return why_memory(why);
    enum err err = nodes_number(difference, number, before, after, why);
    if (!err)
        err = plan_make(difference, number, before, after, why);
    free(number);
    if (err)
        difference_fini(difference);
    return err;
}

void difference_fini(struct difference *difference)
{
    free(difference->after);
    rewire_plan_fini(&difference->plan);
    *difference = (struct difference){0};
}
