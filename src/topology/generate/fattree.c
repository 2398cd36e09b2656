/* fattree: every port of every switch is used, so every end gets its port number here. */
#include "topology/generate/fattree.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"
#include "topology/spec.h"

static uint32_t fattree_links(uint32_t half, struct link *links)
{
    uint32_t pods = 2 * half, per_level = pods * half, count = 0;
    for (uint32_t pod = 0; pod < pods; pod++) {
        for (uint32_t i = 0; i < half; i++) {
            uint32_t edge = pod * half + i;
            for (uint32_t j = 0; j < half; j++)
                links[count++] = (struct link){
                    .a = edge, .b = per_level + pod * half + j, .a_port = j, .b_port = i};
        }
    }
    for (uint32_t pod = 0; pod < pods; pod++) {
        for (uint32_t j = 0; j < half; j++) {
            uint32_t aggregation = per_level + pod * half + j;
            for (uint32_t up = 0; up < half; up++)
                links[count++] = (struct link){.a = aggregation,
                                               .b = 2 * per_level + j * half + up,
                                               .a_port = half + up,
                                               .b_port = pod};
        }
    }
    return count;
}

static void fattree_sites(struct topology *topology, uint32_t half)
{
    uint32_t per_level = 2 * half * half;
    assert(per_level > 0);
    for (uint32_t v = 0; v < topology->graph.node_count; v++) {
        uint32_t level = v / per_level;
        topology->sites[v] = (struct site){
            .servers = level == 0 ? half : 0,
            .ports = 2 * half,
            .group = level == 2 ? GROUP_NONE : v % per_level / half,
            .level = level,
        };
    }
    topology_count_servers(topology);
}

enum err fattree_build(struct topology *topology, const char *spec, struct why *why)
{
    struct spec_field ports = {.key = "k"};
    uint64_t k = 0;
    enum err err = spec_fields(spec, &ports, 1, why);
    if (!err)
        err = spec_uint(spec, &ports, 2, FATTREE_PORTS_MAX, &k, why);
    if (err)
        return err;
    if (k % 2)
        return why_fail(why, ERR_USAGE, "%s: k must be even: half of a switch's ports face down",
                        spec);
    uint32_t half = (uint32_t)k / 2, nodes = 5 * half * half;
    uint32_t link_count = 4 * half * half * half;
    struct link *links = array_new(link_count, sizeof *links);
    if (!links)
        return why_memory(why);
    uint32_t made = fattree_links(half, links);
    assert(made == link_count);
    err = topology_init(topology, TOPOLOGY_FATTREE, false, nodes, links, link_count, why);
    free(links);
    if (err)
        return err;
    fattree_sites(topology, half);
    snprintf(topology->spec, SPEC_SIZE, "fattree:k=%u", 2 * half);
    return OK;
}
