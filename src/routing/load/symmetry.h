#pragma once
/* symmetry: translations of the nodes and channels of a network with coordinates. */

#include <stdint.h>

#include "topology/topology.h"

/* Channels that a translation of all nodes maps to each other are of one class; each node has one
 * channel of every class. Class numbers are below this. */
#define SYMMETRY_CLASS_MAX (2 * AXIS_MAX + 1)

static inline uint32_t symmetry_class(const struct topology *topology, uint32_t channel)
{
    uint32_t port = graph_channel_port(&topology->graph, channel), axis = port / 2;
    if (axis < topology->axis_count && topology->axis_size[axis] == 2)
        return 2 * axis; /* up and down are the same cable */
    return port;
}

/* Coordinates of `to` relative to `from`, as a node. */
static inline uint32_t symmetry_difference(const struct topology *topology, uint32_t from,
                                           uint32_t to)
{
    uint32_t sum = 0, stride = 1;
    for (uint32_t axis = 0; axis < topology->axis_count; axis++) {
        uint32_t size = topology->axis_size[axis], a = from % size, b = to % size;
        sum += (b >= a ? b - a : size - a + b) * stride;
        stride *= size;
        from /= size;
        to /= size;
    }
    return sum;
}
