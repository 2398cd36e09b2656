/* torus: rings along every axis. Nothing is random and nothing can fail but
 * memory and the words themselves. */
#include "topology/generate/torus.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "topology/spec.h"

uint32_t torus_links(const uint32_t *axis_size, uint32_t axis_count, struct link *links)
{
    uint32_t nodes = 1, count = 0, stride = 1;
    for (uint32_t axis = 0; axis < axis_count; axis++)
        nodes *= axis_size[axis];
    for (uint32_t axis = 0; axis < axis_count; stride *= axis_size[axis], axis++) {
        uint32_t size = axis_size[axis];
        if (size == 1)
            continue;
        for (uint32_t node = 0; node < nodes; node++) {
            uint32_t at = node / stride % size;
            if (size == 2 && at == 1)
                continue; /* the one cable starts at the other end */
            uint32_t next = at + 1 < size ? node + stride : node - at * stride;
            links[count++] =
                (struct link){.a = node, .b = next, .a_port = 2 * axis, .b_port = 2 * axis + 1};
        }
    }
    return count;
}

enum err torus_build(struct topology *topology, const char *spec, struct why *why)
{
    uint32_t size[AXIS_MAX], axes, nodes = 1;
    enum err err = spec_sizes(spec, size, &axes, AXIS_MAX, NULL, 0, why);
    if (err)
        return err;
    for (uint32_t axis = 0; axis < axes; axis++)
        nodes *= size[axis];
    struct link *links = array_new((size_t)nodes * axes, sizeof *links);
    if (!links)
        return why_memory(why);
    uint32_t link_count = torus_links(size, axes, links);
    err = topology_init(topology, TOPOLOGY_TORUS, true, nodes, links, link_count, why);
    free(links);
    if (err)
        return err;
    topology->axis_count = axes;
    memcpy(topology->axis_size, size, axes * sizeof *size);
    spec_write_sizes(topology->spec, "torus", size, axes);
    return OK;
}
