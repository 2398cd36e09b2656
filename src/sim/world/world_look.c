/* world_look: what a world says of itself. Nothing here changes it. */
#include "sim/world/world_impl.h"

psec world_now(const struct world *world)
{
    return engine_now(world->engine);
}

struct node *world_node(struct world *world, node_id id)
{
    return world->nodes[id].node;
}

bool world_is_paused(const struct world *world, node_id id)
{
    return world->nodes[id].paused;
}

uint64_t world_incarnation(const struct world *world, node_id id)
{
    return world->nodes[id].incarnation;
}

struct sim_link *world_link(struct world *world, node_id id, unsigned port)
{
    if (plan_end(world->plan, id, port)->server == NODE_NONE)
        return NULL;
    return &world->links[id * world->plan->port_count + port];
}

struct slab_pool *world_pool(struct world *world)
{
    return world->pool;
}

const struct plan *world_plan(const struct world *world)
{
    return world->plan;
}

void world_count(const struct world *world, struct world_counts *counts)
{
    *counts = world->counts;
}

void world_count_links(const struct world *world, struct sim_link_counts *counts)
{
    *counts = (struct sim_link_counts){0};
    for (uint32_t i = 0; i < world->sim_link_count; i++)
        sim_link_count_add(&world->links[i], counts);
}

uint64_t world_hash(const struct world *world)
{
    return world->hash;
}

bool world_is_whole(struct world *world)
{
    uint32_t up = 0;
    for (node_id id = 0; id < world->plan->server_count; id++)
        up += world->nodes[id].node != NULL;
    for (node_id id = 0; id < world->plan->server_count; id++) {
        struct node_snapshot snapshot;
        if (!world->nodes[id].node)
            continue;
        node_snapshot(world->nodes[id].node, &snapshot);
        if (!snapshot.settled || snapshot.reachable != up)
            return false;
    }
    return true;
}

size_t world_memory(const struct world *world)
{
    size_t memory = sizeof *world + world->sim_link_count * sizeof *world->links +
                    world->plan->server_count * sizeof *world->nodes +
                    engine_memory(world->engine) + slab_memory(world->pool);
    for (node_id id = 0; id < world->plan->server_count; id++)
        if (world->nodes[id].node)
            memory += node_memory(world->nodes[id].node);
    return memory;
}

void world_check(struct world *world)
{
    engine_check(world->engine);
    for (uint32_t i = 0; i < world->sim_link_count; i++)
        sim_link_check(&world->links[i]);
    for (node_id id = 0; id < world->plan->server_count; id++)
        if (world->nodes[id].node)
            node_check(world->nodes[id].node);
}

struct disk *world_disk(struct world *world, node_id id)
{
    return world->nodes[id].disk;
}

struct sim_sockets *world_sockets(struct world *world)
{
    return world->sockets;
}
