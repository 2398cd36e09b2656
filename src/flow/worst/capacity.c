/* capacity: a torus is limited by its longest axis. Uniform traffic goes k/4 hops on average on an
 * axis of size k, or (k^2 - 1) / 4k if k is odd. Each of its rings has two channels per node, or
 * one if k is 2. No routing can do better than to load them all equally. Shortest paths, with ties
 * half-way round split equally, do so on all axes at once. */
#include "flow/worst/capacity.h"

#include "base/check.h"
#include "flow/concurrent/concurrent.h"
#include "routing/traffic/traffic.h"

static double torus_capacity(const struct topology *topology)
{
    double busiest = 0; /* load of a channel at rate 1 */
    for (uint32_t axis = 0; axis < topology->axis_count; axis++) {
        double k = topology->axis_size[axis];
        double hops = topology->axis_size[axis] % 2 ? (k * k - 1) / (4 * k) : k / 4;
        double load = topology->axis_size[axis] == 2 ? hops : hops / 2;
        busiest = load > busiest ? load : busiest;
    }
    assert(busiest > 0);
    return 1 / busiest;
}

enum err uniform_capacity(struct capacity *capacity, const struct topology *topology, double gap,
                          void (*progress)(void *context, double lower, double upper),
                          void *context, struct why *why)
{
    if (topology->kind == TOPOLOGY_TORUS && topology->direct && topology->graph.node_count > 1) {
        double rate = torus_capacity(topology);
        *capacity = (struct capacity){rate, rate, true};
        return OK;
    }
    struct traffic traffic;
    enum err err = traffic_make_pattern(&traffic, topology, TRAFFIC_UNIFORM, why);
    if (err)
        return err;
    struct concurrent_options options = {.gap = gap, .progress = progress, .context = context};
    struct concurrent concurrent;
    err = traffic_check_reach(&traffic, topology, why);
    if (!err)
        err = concurrent_solve(&concurrent, topology, &traffic, &options, why);
    if (!err) {
        *capacity = (struct capacity){concurrent.lower, concurrent.upper, false};
        concurrent_fini(&concurrent);
    }
    traffic_fini(&traffic);
    return err;
}
