#pragma once
/* cluster_example: a cluster for tests, without processes: its plan, and made-up snapshots of
 * healthy servers. Tests then change some of the snapshots. */

#include <stdlib.h>

#include "base/test.h"
#include "cli/cluster/cluster_health.h"

struct example {
    struct topology topology;
    struct plan plan;
    struct cluster_seen *seen;
};

/* Fills the ends of the plan as plan_init does; tests of the command line need nothing else. */
static inline void example_ends(struct example *example)
{
    const struct graph *graph = &example->topology.graph;
    struct plan *plan = &example->plan;
    for (uint32_t i = 0; i < graph->link_count; i++) {
        const struct link *link = &graph->links[i];
        uint32_t top = link->a_port > link->b_port ? link->a_port : link->b_port;
        plan->port_count = plan->port_count > top + 1 ? plan->port_count : top + 1;
    }
    plan->ends = malloc((size_t)plan->server_count * plan->port_count * sizeof *plan->ends);
    assert_non_null(plan->ends);
    for (uint32_t i = 0; i < plan->server_count * plan->port_count; i++)
        plan->ends[i] = (struct plan_end){NODE_NONE, 0, 0};
    for (uint32_t i = 0; i < graph->link_count; i++) {
        const struct link *link = &graph->links[i];
        plan->ends[link->a * plan->port_count + link->a_port] =
            (struct plan_end){link->b, link->b_port, i};
        plan->ends[link->b * plan->port_count + link->b_port] =
            (struct plan_end){link->a, link->a_port, i};
    }
}

static inline void example_open(struct example *example, const char *spec)
{
    struct why why;
    *example = (struct example){0};
    assert_int_equal(topology_build(&example->topology, spec, &why), OK);
    struct plan *plan = &example->plan;
    plan->topology = &example->topology;
    plan->server_count = example->topology.graph.node_count;
    example_ends(example);
    example->seen = calloc(plan->server_count, sizeof *example->seen);
    assert_non_null(example->seen);
    for (node_id v = 0; v < plan->server_count; v++) {
        struct control_snapshot *snapshot = &example->seen[v].snapshot;
        example->seen[v].state = SERVER_LIVE;
        example->seen[v].pid = (int)(1000 + v);
        snapshot->node = (struct node_snapshot){.self = v,
                                                .incarnation = 1,
                                                .settled = true,
                                                .reachable = plan->server_count,
                                                .digest = 77};
        snapshot->server_count = plan->server_count;
        snapshot->port_count = plan->port_count;
        for (uint32_t port = 0; port < plan->port_count; port++) {
            const struct plan_end *end = plan_end(plan, v, port);
            bool wired = end->server != NODE_NONE;
            snapshot->ports[port] = (struct port_snapshot){.state = wired ? PORT_UP : PORT_ABSENT,
                                                           .peer = end->server,
                                                           .peer_port = end->port,
                                                           .found = end->server,
                                                           .found_port = end->port};
        }
        for (node_id u = 0; u < plan->server_count; u++)
            snapshot->reach[u / 8] |= (uint8_t)(1u << u % 8);
    }
}

static inline void example_close(struct example *example)
{
    free(example->seen);
    free(example->plan.ends);
    topology_fini(&example->topology);
}

static inline void example_forget(struct example *example, node_id server, node_id whom)
{
    example->seen[server].snapshot.reach[whom / 8] &= (uint8_t) ~(1u << whom % 8);
}

/* Makes a server dead; all others have noticed it. */
static inline void example_die(struct example *example, node_id dead)
{
    example->seen[dead].state = SERVER_DEAD;
    example->seen[dead].pid = 0;
    for (node_id v = 0; v < example->plan.server_count; v++) {
        example_forget(example, v, dead);
        for (uint32_t port = 0; port < example->plan.port_count; port++)
            if (plan_end(&example->plan, v, port)->server == dead)
                example->seen[v].snapshot.ports[port].state = PORT_DOWN;
    }
}
