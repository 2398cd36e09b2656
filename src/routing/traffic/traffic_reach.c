/* traffic_reach: is there a path for every demand? */
#include <stdlib.h>

#include "routing/traffic/traffic.h"
#include "topology/measure/parts.h"

enum err traffic_check_reach(const struct traffic *traffic, const struct topology *topology,
                             struct why *why)
{
    uint32_t *label = NULL;
    char from[NODE_NAME_SIZE], to[NODE_NAME_SIZE];
    enum err err = parts_label(&topology->graph, &label, why);
    for (size_t i = 0; !err && i < traffic->count; i++) {
        const struct demand *demand = &traffic->demands[i];
        if (label[demand->from] != label[demand->to])
            err = why_fail(why, ERR_NO, "%s: no path leads from '%.80s' to '%.80s'",
                           traffic->name ? traffic->name : "traffic",
                           topology_name(topology, demand->from, from),
                           topology_name(topology, demand->to, to));
    }
    free(label);
    return err;
}
