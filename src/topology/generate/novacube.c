/* novacube: the cables of the torus, then one jump cable per pair. The jump is an involution, so
 * each pair is visited twice; its cable is plugged when its lower node is visited. */
#include "topology/generate/novacube.h"

#include "topology/generate/torus.h"

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
    struct torus torus;
    enum err err = torus_begin(&torus, spec, 1, why);
    if (err)
        return err;
    uint32_t port = 2 * torus.axis_count;
    for (uint32_t node = 0; node < torus.node_count; node++) {
        uint32_t to = novacube_jump(torus.axis_size, torus.axis_count, node);
        if (to != NODE_NONE && to > node)
            torus.links[torus.link_count++] =
                (struct link){.a = node, .b = to, .a_port = port, .b_port = port};
    }
    return torus_finish(&torus, TOPOLOGY_NOVACUBE, topology, why);
}
