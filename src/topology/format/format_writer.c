/* format_writer: properties of a topology that the writers of several formats need. */
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"
#include "topology/format/format_impl.h"

enum err format_find_parallel(const struct topology *topology, bool *parallel, struct why *why)
{
    const struct graph *graph = &topology->graph;
    uint32_t *seen = array_new(graph->node_count, sizeof *seen); /* by node + 1 */
    if (!seen)
        return why_memory(why);
    *parallel = false;
    for (uint32_t v = 0; v < graph->node_count; v++) {
        for (uint32_t slot = graph->first[v]; slot < graph->first[v + 1]; slot++) {
            *parallel |= seen[graph->to[slot]] == v + 1;
            seen[graph->to[slot]] = v + 1;
        }
    }
    free(seen);
    return OK;
}

void format_print_axes(const struct topology *topology, char buffer[FORMAT_AXES_SIZE])
{
    int used = 0;
    buffer[0] = '\0';
    for (uint32_t axis = 0; axis < topology->axis_count; axis++)
        used += snprintf(buffer + used, FORMAT_AXES_SIZE - (size_t)used, "%s%u", axis ? "x" : "",
                         topology->axis_size[axis]);
    assert(used < FORMAT_AXES_SIZE);
}
