#pragma once
/* world_impl: the state of a world, for the files that make up the world. */

#include "base/wide.h"
#include "sim/engine/pages.h"
#include "sim/world/local_queue.h"
#include "sim/world/world.h"
#include "sim/world/world_watch.h"

/* The fields that each hop touches are in the first cache line. */
struct world_node {
    struct env env;
    struct world *world;
    struct node *node; /* NULL: down */
    env_nsec wanted;   /* when it wants to be called; its timer's channel is set to that */
    node_id self;
    uint8_t input_port; /* the last port with an arrival ... */
    bool paused;
    bool skewed;         /* its clock is not the world's */
    uint32_t input_link; /* ... and the link of that arrival */
    uint64_t incarnation;
    uint64_t rewinds;           /* number of calls of world_rewind */
    uint32_t rate;              /* of its clock, in millionths */
    env_nsec clock_base;        /* world time at the last change of rate ... */
    env_nsec clock_at_base;     /* ... and what its clock read then */
    env_nsec wall_shift;        /* by which its wall clock has jumped */
    struct disk *disk;          /* NULL: it has none; it outlives the node */
    struct sim_work *work;      /* NULL: no service uses weft/work.h */
    struct local_queue waiting; /* what programs do while it is paused */
};

struct world {
    struct world_settings settings;
    const struct plan *plan;
    struct engine *engine;
    struct slab_pool *pool;
    struct pages pages; /* all memory of the nodes */
    struct arena arena; /* memory of links and of struct world_node */
    struct sim_link_pace pace;
    struct sim_link *links; /* by server and port: the direction that leaves there */
    struct world_node *nodes;
    struct world_watch watch;
    uint32_t sim_link_count;
    uint32_t steps_at_moment;
    bool stopped;      /* by world_stop */
    bool interrupted;  /* by world_interrupt */
    uint32_t ahead[4]; /* channels that may come next, the nearest first */
    uint64_t hash;
    struct sim_sockets *sockets;
    struct world_counts counts;
};

/* ---- clocks ---- */

#define CLOCK_RIGHT 1000000u

static inline env_nsec world_nsec(const struct world *world)
{
    return (env_nsec)(engine_now(world->engine) / PSEC_PER_NSEC);
}

static inline env_nsec clock_read(const struct world_node *at)
{
    if (!at->skewed)
        return world_nsec(at->world);
    env_nsec passed = world_nsec(at->world) - at->clock_base;
    return at->clock_at_base + (env_nsec)((uint128)passed * at->rate / CLOCK_RIGHT);
}

/* world_wall.c: the calls of services for clocks */
env_nsec world_env_wall(struct env *env);
env_nsec world_env_clock(struct env *env);

/* world_sockets.c: the calls of services for descriptors */
extern const struct env_descriptor_ops world_descriptor_ops;
