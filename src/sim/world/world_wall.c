/* world_wall: the clocks of a world other than those that its nodes live by: wall clocks (in the
 * simulation it is 2026 when a world begins), and those of weft_clock, which have no faults but run
 * at slightly different speeds. */
#include "base/hash.h"
#include "base/list.h"
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

env_nsec world_boot_of(const struct world *world, node_id id)
{
    uint64_t draw = hash_mix(world->settings.seed ^ hash_mix(~(uint64_t)id - 1));
    env_nsec now = world_nsec(world), faster = (env_nsec)(draw % (2 * WORLD_BOOT_SKEW + 1));
    return now + now / 1000 * (faster - WORLD_BOOT_SKEW);
}

env_nsec world_env_wall(struct env *env)
{
    const struct world_node *at = container_of(env, struct world_node, env);
    return world_wall_of(at->world, at->self);
}

env_nsec world_env_clock(struct env *env)
{
    const struct world_node *at = container_of(env, struct world_node, env);
    return world_boot_of(at->world, at->self);
}
