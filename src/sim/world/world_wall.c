/* world_wall: the wall clocks of a world. In the simulation it is 2026 when a world begins. */
#include "base/hash.h"
#include "sim/world/world_impl.h"

#define WALL_BEGIN (INT64_C(1767225600) * 1000000000)

env_nsec world_wall_of(const struct world *world, node_id id)
{
    const struct world_node *at = &world->nodes[id];
    /* It takes no number from any stream of random ones, so runs without wall clocks stay as they
     * are. */
    uint64_t draw = hash_mix(world->settings.seed ^ hash_mix(~(uint64_t)id));
    env_nsec skew = (env_nsec)(draw % (2 * WORLD_WALL_SKEW + 1)) - WORLD_WALL_SKEW;
    return WALL_BEGIN + skew + at->wall_shift + clock_read(at);
}

void world_wall_jump(struct world *world, node_id id, env_nsec by)
{
    world->nodes[id].wall_shift += by;
}
