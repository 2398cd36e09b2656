#include "sim/chaos/chaos_disk.h"

#include "base/rng.h"

#define STREAM_DISK 0xd15cull
#define DISK_SIZE   (64ull << 20)
#define MICRO       (PSEC_PER_SECOND / 1000000)

struct disk_settings chaos_disk_draw(uint64_t seed, const struct weft_service *const *services)
{
    struct rng rng = rng_make(seed, STREAM_DISK);
    bool used = false;
    for (; *services; services++)
        used |= (*services)->files > 0;
    if (!used)
        return (struct disk_settings){0};
    return (struct disk_settings){
        .size = DISK_SIZE,
        .delay = (1 + rng_below(&rng, 100)) * MICRO,
        .jitter = rng_below(&rng, 2000) * MICRO,
    };
}

static uint32_t chance(uint32_t sum)
{
    return sum < DISK_PARTS ? sum : DISK_PARTS;
}

void chaos_disk_fault(struct world *world, const struct disk_settings *drawn,
                      struct chaos_disk_state *state, const struct fault *fault)
{
    struct disk *disk = world_disk(world, fault->server);
    struct disk_settings settings = *drawn;
    uint32_t amount = fault->begins ? (uint32_t)fault->amount : -(uint32_t)fault->amount;
    if (fault->kind == FAULT_DISK_LOST)
        state->lost += amount;
    else if (fault->kind == FAULT_DISK_TORN)
        state->torn += amount;
    else if (fault->kind == FAULT_DISK_ROT)
        state->rot += amount;
    else if (fault->kind == FAULT_DISK_FAIL)
        state->fails += amount;
    else if (fault->kind == FAULT_DISK_SLOW)
        state->slow += fault->begins ? fault->amount : -fault->amount;
    else if (fault->begins && state->full++ == 0)
        state->room = disk_used(disk) + fault->amount;
    else if (!fault->begins)
        state->full--;
    settings.lost = chance(state->lost);
    settings.torn = chance(state->torn);
    settings.rot = chance(state->rot);
    settings.fails = chance(state->fails);
    settings.delay += state->slow;
    if (state->full)
        settings.size = state->room;
    disk_set(disk, &settings);
}
