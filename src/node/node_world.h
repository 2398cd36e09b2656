#pragma once
/* node_world: a small world for the tests of this folder: every node of a plan in one process,
 * links that hand packets over after a fixed delay, faults by hand. The real simulator is sim/;
 * this one has no rates, no randomness, and fits on a page. */

#include <stdlib.h>
#include <string.h>

#include "base/test.h"
#include "node/node.h"

#define WORLD_DELAY 1000 /* nanoseconds on a link */

struct world_wire {
    struct packet *first, **end;
    bool dead;
};

struct world_node {
    struct env env;
    struct world *world;
    node_id self;
    struct node *node; /* NULL: crashed */
    env_nsec next;
    uint64_t incarnation;
};

struct world {
    struct topology topology;
    struct plan plan;
    struct packet_pool *pool;
    struct world_node *nodes;
    struct world_wire *wires; /* by sender and port */
    env_nsec now;
    struct node_config config; /* of every node, but for what is its own */
    uint64_t answers;
};

static inline struct world_wire *world_wire(struct world *world, node_id from, unsigned port)
{
    return &world->wires[(size_t)from * world->plan.port_count + port];
}

static inline unsigned world_receive(struct env *env, unsigned port, struct packet **out,
                                     unsigned most)
{
    struct world_node *at = (struct world_node *)env;
    struct world *world = at->world;
    const struct plan_end *end = plan_end(&world->plan, at->self, port);
    struct world_wire *wire = world_wire(world, end->server, end->port);
    unsigned count = 0;
    while (count < most && wire->first && (env_nsec)wire->first->order <= world->now) {
        out[count] = wire->first;
        wire->first = wire->first->next;
        if (!wire->first)
            wire->end = &wire->first;
        count++;
    }
    return count;
}

static inline uint32_t world_room(struct env *env, unsigned port)
{
    return PACKET_SIZE_MAX;
}

static inline void world_transmit(struct env *env, unsigned port, struct packet **packets,
                                  unsigned count, bool lazy)
{
    struct world_node *at = (struct world_node *)env;
    struct world_wire *wire = world_wire(at->world, at->self, port);
    for (unsigned i = 0; i < count; i++) {
        if (wire->dead) {
            packet_done(packets[i]);
            continue;
        }
        packets[i]->order = (uint64_t)(at->world->now + WORLD_DELAY);
        packets[i]->next = NULL;
        *wire->end = packets[i];
        wire->end = &packets[i]->next;
    }
}

static inline void world_local(struct env *env, uint64_t client, const void *bytes, uint32_t size)
{
    ((struct world_node *)env)->world->answers++;
}

static const struct env_ops world_ops = {
    .receive = world_receive,
    .room = world_room,
    .transmit = world_transmit,
    .local = world_local,
};

static inline void world_start(struct world *world, node_id id)
{
    struct world_node *at = &world->nodes[id];
    assert_null(at->node);
    struct node_config config = world->config;
    config.plan = &world->plan;
    config.self = id;
    config.env = &at->env;
    config.incarnation = ++at->incarnation;
    at->env.now = world->now;
    struct why why;
    assert_int_equal(node_open(&at->node, &config, &why), OK);
    at->next = world->now;
}

/* Its links go silent; what was on the way from it still arrives. */
static inline void world_crash(struct world *world, node_id id)
{
    node_close(world->nodes[id].node);
    world->nodes[id].node = NULL;
}

static inline void world_cut(struct world *world, node_id one, node_id other, bool dead)
{
    world_wire(world, one, plan_port(&world->plan, one, other))->dead = dead;
    world_wire(world, other, plan_port(&world->plan, other, one))->dead = dead;
}

static inline struct world *world_open(const char *spec, const struct node_config *config)
{
    struct world *world = calloc(1, sizeof *world);
    struct why why = {0};
    assert_int_equal(topology_build(&world->topology, spec, &why), OK);
    assert_int_equal(plan_init(&world->plan, &world->topology, &why), OK);
    uint32_t count = world->plan.server_count;
    world->pool = packet_pool_open(20000, 9000);
    world->nodes = calloc(count, sizeof *world->nodes);
    world->wires = calloc((size_t)count * world->plan.port_count, sizeof *world->wires);
    world->config = *config;
    for (uint32_t i = 0; i < count * world->plan.port_count; i++)
        world->wires[i].end = &world->wires[i].first;
    for (node_id id = 0; id < count; id++) {
        world->nodes[id].env = (struct env){&world_ops, 0, world->pool};
        world->nodes[id].world = world;
        world->nodes[id].self = id;
        world_start(world, id);
    }
    return world;
}

static inline void world_deliver(struct world *world, node_id id)
{
    struct world_node *at = &world->nodes[id];
    for (unsigned port = 0; port < world->plan.port_count; port++) {
        const struct plan_end *end = plan_end(&world->plan, id, port);
        if (end->server == NODE_NONE)
            continue;
        struct world_wire *wire = world_wire(world, end->server, end->port);
        if (!wire->first || (env_nsec)wire->first->order > world->now)
            continue;
        if (at->node) {
            node_input(at->node, port);
            at->next = world->now;
            continue;
        }
        struct packet *packets[64];
        at->env.now = world->now;
        for (unsigned count; (count = world_receive(&at->env, port, packets, 64));)
            for (unsigned i = 0; i < count; i++)
                packet_done(packets[i]);
    }
}

/* When something is due next. */
static inline env_nsec world_next(const struct world *world)
{
    env_nsec next = ENV_NEVER;
    for (node_id id = 0; id < world->plan.server_count; id++)
        if (world->nodes[id].node && world->nodes[id].next < next)
            next = world->nodes[id].next;
    for (uint32_t i = 0; i < world->plan.server_count * world->plan.port_count; i++) {
        const struct packet *first = world->wires[i].first;
        if (first && (env_nsec)first->order < next)
            next = (env_nsec)first->order;
    }
    return next;
}

static inline void world_run(struct world *world, env_nsec length)
{
    env_nsec until = world->now + length;
    for (env_nsec next; (next = world_next(world)) < until;) {
        world->now = next > world->now ? next : world->now;
        for (node_id id = 0; id < world->plan.server_count; id++) {
            struct world_node *at = &world->nodes[id];
            world_deliver(world, id);
            at->env.now = world->now;
            while (at->node && at->next <= world->now)
                at->next = node_step(at->node);
        }
    }
    world->now = until;
}

static inline void world_close(struct world *world)
{
    for (node_id id = 0; id < world->plan.server_count; id++)
        if (world->nodes[id].node)
            world_crash(world, id);
    for (uint32_t i = 0; i < world->plan.server_count * world->plan.port_count; i++)
        for (struct packet *packet = world->wires[i].first, *next; packet; packet = next) {
            next = packet->next;
            packet_done(packet);
        }
    packet_pool_close(world->pool); /* asserts that all packets are back */
    free(world->wires);
    free(world->nodes);
    plan_fini(&world->plan);
    topology_fini(&world->topology);
    free(world);
}
