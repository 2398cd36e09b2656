/* novacube: the cables of the torus, then one jump cable per pair. The jump
 * is an involution, so each pair is met twice and plugged at its lower node. */
#include "topology/generate/novacube.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "topology/generate/torus.h"
#include "topology/spec.h"

uint32_t novacube_jump(const uint32_t *axis_size, uint32_t axis_count, uint32_t node)
{
    uint32_t to = 0, stride = 1, rest = node;
    for (uint32_t axis = 0; axis < axis_count; axis++) {
        uint32_t size = axis_size[axis], at = rest % size;
        uint32_t ring = size == 1 ? 1 : size - size % 2; /* the part of the axis that jumps */
        if (at >= ring)
            return NODE_NONE;
        to += (at + ring / 2) % ring * stride;
        stride *= size;
        rest /= size;
    }
    return to == node ? NODE_NONE : to;
}

enum err novacube_build(struct topology *topology, const char *spec, struct why *why)
{
    uint32_t size[AXIS_MAX], axes, nodes = 1;
    enum err err = spec_sizes(spec, size, &axes, AXIS_MAX, NULL, 0, why);
    if (err)
        return err;
    for (uint32_t axis = 0; axis < axes; axis++)
        nodes *= size[axis];
    struct link *links = array_new((size_t)nodes * axes + nodes / 2, sizeof *links);
    if (!links)
        return why_memory(why);
    uint32_t link_count = torus_links(size, axes, links);
    for (uint32_t node = 0; node < nodes; node++) {
        uint32_t to = novacube_jump(size, axes, node);
        if (to == NODE_NONE || to < node)
            continue;
        links[link_count++] =
            (struct link){.a = node, .b = to, .a_port = 2 * axes, .b_port = 2 * axes};
    }
    err = topology_init(topology, TOPOLOGY_NOVACUBE, true, nodes, links, link_count, why);
    free(links);
    if (err)
        return err;
    topology->axis_count = axes;
    memcpy(topology->axis_size, size, axes * sizeof *size);
    spec_write_sizes(topology->spec, "novacube", size, axes);
    return OK;
}
