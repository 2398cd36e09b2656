#include "sim/chaos/chaos_disk.h"

#include "base/rng.h"

#define STREAM_DISK 0xd15cull
#define DISK_SIZE   (64ull << 20)
#define MICRO       (PSEC_PER_SECOND / 1000000)

struct disk_settings chaos_disk_draw(uint64_t seed, const struct weft_service *const *services,
                                     bool faults)
{
    struct rng rng = rng_make(seed, STREAM_DISK);
    bool used = false;
    for (; *services; services++)
        used |= (*services)->files > 0;
    if (!used)
        return (struct disk_settings){0};
    struct disk_settings disk = {
        .size = DISK_SIZE,
        .delay = (1 + rng_below(&rng, 100)) * MICRO,
        .jitter = rng_below(&rng, 2000) * MICRO,
    };
    if (!faults)
        return disk;
    /* As with other faults, a seed uses only some. */
    if (rng_below(&rng, 2))
        disk.torn = (uint32_t)rng_below(&rng, DISK_PARTS / 2);
    if (rng_below(&rng, 2))
        disk.lost = (uint32_t)rng_below(&rng, DISK_PARTS);
    if (rng_below(&rng, 3) == 0)
        disk.fails = (uint32_t)rng_below(&rng, DISK_PARTS / 20);
    if (rng_below(&rng, 3) == 0)
        disk.size = (16 + rng_below(&rng, 1024)) << 10; /* soon full */
    if (rng_below(&rng, 3) == 0) {
        disk.hangs = (uint32_t)rng_below(&rng, DISK_PARTS / 50);
        disk.hang = rng_below(&rng, 200) * 1000 * MICRO;
    }
    return disk;
}

void chaos_disk_heal(struct world *world, const struct disk_settings *drawn)
{
    const struct disk_settings healthy = {
        .size = DISK_SIZE, .delay = drawn->delay, .jitter = drawn->jitter};
    for (node_id id = 0; drawn->size && id < world_plan(world)->server_count; id++)
        disk_set(world_disk(world, id), &healthy);
}
