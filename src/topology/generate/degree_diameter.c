/* degree_diameter: builds a graph of the list in degree_diameter_list.c. Complete graphs and odd
 * cycles, which need no list, are made here. */
#include "topology/generate/degree_diameter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "topology/generate/degree_diameter_impl.h"
#include "topology/generate/field_graph.h"
#include "topology/spec.h"

size_t degree_diameter_count(void)
{
    return degree_diameter_list_count;
}

struct degree_diameter degree_diameter_at(size_t index)
{
    assert(index < degree_diameter_list_count);
    return degree_diameter_list[index].size;
}

static const struct degree_diameter_entry *entry_find(const struct degree_diameter *size)
{
    for (size_t i = 0; i < degree_diameter_list_count; i++) {
        const struct degree_diameter *have = &degree_diameter_list[i].size;
        if (have->nodes == size->nodes && have->degree == size->degree &&
            have->diameter == size->diameter)
            return &degree_diameter_list[i];
    }
    return NULL;
}

static bool is_complete(const struct degree_diameter *size)
{
    return size->diameter == 1 && size->nodes >= 2 && size->degree == size->nodes - 1 &&
           size->nodes <= DEGREE_DIAMETER_COMPLETE_MAX;
}

static bool is_cycle(const struct degree_diameter *size)
{
    return size->degree == 2 && size->diameter >= 1 && size->nodes % 2 == 1 &&
           size->nodes / 2 == size->diameter && size->nodes <= DEGREE_DIAMETER_CYCLE_MAX;
}

/* The error names graphs of the same degree or, if there is none, of the same diameter. */
static enum err refuse(const char *spec, const struct degree_diameter *size, struct why *why)
{
    char known[160] = "";
    for (int by_degree = 1; by_degree >= 0 && !known[0]; by_degree--) {
        size_t used = 0;
        for (size_t i = 0; i < degree_diameter_list_count; i++) {
            const struct degree_diameter *have = &degree_diameter_list[i].size;
            if (by_degree ? have->degree != size->degree : have->diameter != size->diameter)
                continue;
            if (used + 24 < sizeof known)
                used += (size_t)snprintf(known + used, sizeof known - used, " %u,%u,%u",
                                         have->nodes, have->degree, have->diameter);
        }
    }
    return why_fail(why, ERR_USAGE, "%s: weft has no such graph; weft-topology(7) lists all%s%s",
                    spec, known[0] ? ", for example" : "", known);
}

static void complete_add(struct link_list *list, uint32_t nodes)
{
    for (uint32_t a = 0; a < nodes; a++)
        for (uint32_t b = a + 1; b < nodes; b++)
            link_list_add(list, a, b);
}

static void cycle_add(struct link_list *list, uint32_t nodes)
{
    for (uint32_t a = 0; a < nodes; a++)
        link_list_add(list, a, (a + 1) % nodes);
}

static enum err entry_add(const struct degree_diameter_entry *entry, struct link_list *list,
                          struct why *why)
{
    switch (entry->from) { /* no default: the compiler reports a missing one */
    case FROM_PLANE:
        return field_graph_plane(list, entry->q, why);
    case FROM_QUADRANGLE:
        return field_graph_quadrangle(list, entry->q, entry->copies, why);
    case FROM_HEXAGON:
        field_graph_hexagon(list);
        return OK;
    case FROM_MMS:
        return field_graph_mms(list, entry->q, why);
    case FROM_LIFT:
        lift_graph_add(entry->lift, list);
        return OK;
    case FROM_CAYLEY:
        cayley_graph_add(entry->cayley, list);
        return OK;
    }
    assert_unreachable();
}

static enum err links_make(struct link_list *list, const char *spec,
                           const struct degree_diameter *size, struct why *why)
{
    const struct degree_diameter_entry *entry = entry_find(size);
    if (!entry && !is_complete(size) && !is_cycle(size))
        return refuse(spec, size, why);
    list->capacity = (uint32_t)((uint64_t)size->nodes * size->degree / 2);
    list->links = array_new(list->capacity, sizeof *list->links);
    if (!list->links)
        return why_memory(why);
    if (entry)
        return entry_add(entry, list, why);
    if (is_complete(size))
        complete_add(list, size->nodes);
    else
        cycle_add(list, size->nodes);
    return OK;
}

enum err degree_diameter_build(struct topology *topology, const char *spec, struct why *why)
{
    struct spec_field field = {.key = "servers"};
    uint64_t servers = 0;
    uint32_t numbers[3];
    struct link_list list = {0};
    enum err err = spec_numbers(spec, numbers, 3, "nodes, degree and diameter, such as 50,7,2",
                                &field, 1, why);
    if (!err)
        err = spec_uint(spec, &field, 1, DEGREE_DIAMETER_SERVERS_MAX, &servers, why);
    if (err)
        return err;
    const struct degree_diameter size = {numbers[0], numbers[1], numbers[2]};
    err = links_make(&list, spec, &size, why);
    if (!err)
        err = topology_init(topology, TOPOLOGY_DEGREE_DIAMETER, servers == 0, size.nodes,
                            list.links, list.count, why);
    free(list.links);
    if (err)
        return err;
    topology_set_servers(topology, (uint32_t)servers);
    int used = snprintf(topology->spec, SPEC_SIZE, "degree-diameter:%u,%u,%u", size.nodes,
                        size.degree, size.diameter);
    if (servers)
        snprintf(topology->spec + used, SPEC_SIZE - (size_t)used, ",servers=%u", (uint32_t)servers);
    return OK;
}
