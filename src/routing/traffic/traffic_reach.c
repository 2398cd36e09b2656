/* traffic_reach: is there a way at all? Each connected part of the network
 * gets a label; two nodes reach each other if theirs are equal. */
#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"
#include "routing/traffic/traffic.h"
#include "routing/traffic/traffic_impl.h"

enum err traffic_label_parts(const struct graph *graph, uint32_t **labels, struct why *why)
{
    uint32_t *label = array_new(graph->node_count, sizeof *label);
    uint32_t *queue = array_new(graph->node_count, sizeof *queue);
    if (!label || !queue) {
        free(label);
        free(queue);
        return why_memory(why);
    }
    for (uint32_t v = 0; v < graph->node_count; v++)
        label[v] = NODE_NONE;
    for (uint32_t root = 0; root < graph->node_count; root++) {
        uint32_t done = 0, count = 0;
        if (label[root] != NODE_NONE)
            continue;
        label[root] = root;
        queue[count++] = root;
        while (done < count) {
            uint32_t v = queue[done++];
            for (uint32_t slot = graph->first[v]; slot < graph->first[v + 1]; slot++) {
                uint32_t to = graph->to[slot];
                if (label[to] == NODE_NONE) {
                    label[to] = root;
                    queue[count++] = to;
                }
            }
        }
    }
    free(queue);
    *labels = label;
    return OK;
}

enum err traffic_check_reach(const struct traffic *traffic, const struct topology *topology,
                             struct why *why)
{
    uint32_t *label = NULL;
    char from[NODE_NAME_SIZE], to[NODE_NAME_SIZE];
    enum err err = traffic_label_parts(&topology->graph, &label, why);
    for (size_t i = 0; !err && i < traffic->count; i++) {
        const struct demand *demand = &traffic->demands[i];
        if (label[demand->from] != label[demand->to])
            err = why_fail(why, ERR_INPUT, "%s: no path leads from '%.80s' to '%.80s'",
                           traffic->name ? traffic->name : "traffic",
                           topology_name(topology, demand->from, from),
                           topology_name(topology, demand->to, to));
    }
    free(label);
    return err;
}
