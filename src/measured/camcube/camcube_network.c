#include "measured/camcube/camcube_network.h"

enum err camcube_network_open(struct camcube_network *network, const char *spec, struct why *why)
{
    enum err err = topology_build(&network->topology, spec, why);
    if (err)
        return err;
    err = plan_init(&network->plan, &network->topology, why);
    if (err)
        topology_fini(&network->topology);
    return err;
}

void camcube_network_close(struct camcube_network *network)
{
    plan_fini(&network->plan);
    topology_fini(&network->topology);
}
