/* torus: rings along every axis. Nothing is random; the calls fail only if the spec is wrong, the
 * torus is too large, or memory runs out. */
#include "topology/generate/torus.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "topology/spec.h"

uint32_t torus_links(const uint32_t *axis_size, uint32_t axis_count, struct link *links)
{
    uint32_t nodes = 1, count = 0, stride = 1;
    for (uint32_t axis = 0; axis < axis_count; axis++)
        nodes *= axis_size[axis];
    for (uint32_t axis = 0; axis < axis_count; stride *= axis_size[axis], axis++) {
        uint32_t size = axis_size[axis];
        assert(size > 0 && stride > 0);
        if (size == 1)
            continue;
        for (uint32_t node = 0; node < nodes; node++) {
            uint32_t at = node / stride % size;
            if (size == 2 && at == 1)
                continue; /* the only cable of this ring starts at its other node */
            uint32_t next = at + 1 < size ? node + stride : node - at * stride;
            links[count++] =
                (struct link){.a = node, .b = next, .a_port = 2 * axis, .b_port = 2 * axis + 1};
        }
    }
    return count;
}

enum err torus_begin(struct torus *torus, const char *spec, uint32_t more, struct why *why)
{
    *torus = (struct torus){.node_count = 1};
    enum err err = spec_sizes(spec, torus->axis_size, &torus->axis_count, AXIS_MAX, NULL, 0, why);
    if (err)
        return err;
    uint32_t rings = more; /* an upper bound on the links per node */
    for (uint32_t axis = 0; axis < torus->axis_count; axis++) {
        torus->node_count *= torus->axis_size[axis];
        rings += torus->axis_size[axis] > 1;
    }
    uint64_t room = (uint64_t)torus->node_count * rings;
    if (room > GRAPH_LINK_MAX)
        return why_fail(why, ERR_USAGE, "%s: there are more than %u links, the maximum", spec,
                        GRAPH_LINK_MAX);
    torus->links = array_new(room, sizeof *torus->links);
    if (!torus->links)
        return why_memory(why);
    torus->link_count = torus_links(torus->axis_size, torus->axis_count, torus->links);
    return OK;
}

enum err torus_finish(struct torus *torus, enum topology_kind kind, struct topology *topology,
                      struct why *why)
{
    enum err err = topology_init(topology, kind, true, torus->node_count, torus->links,
                                 torus->link_count, why);
    free(torus->links);
    torus->links = NULL;
    if (err)
        return err;
    topology->axis_count = torus->axis_count;
    memcpy(topology->axis_size, torus->axis_size, sizeof torus->axis_size);
    spec_write_sizes(topology->spec, topology_kind_name(kind), torus->axis_size, torus->axis_count);
    return OK;
}

enum err torus_build(struct topology *topology, const char *spec, struct why *why)
{
    struct torus torus;
    enum err err = torus_begin(&torus, spec, 0, why);
    return err ? err : torus_finish(&torus, TOPOLOGY_TORUS, topology, why);
}
