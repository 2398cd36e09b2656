#pragma once
/* chaos_disk: the disks of a run of chaos. Servers have disks only if a service uses them, so that
 * a run without such a service is the same as without disks. */

#include "sim/chaos/fault.h"
#include "sim/world/world.h"

/* The current faults of a server's disk; faults of one kind add up. */
struct chaos_disk_state {
    uint32_t lost, torn, rot, fails; /* millionths */
    uint32_t full;                   /* number of reasons */
    uint64_t room;                   /* bytes that were left when it became full */
    psec slow;                       /* of each operation, in addition */
};

/* Draws the size and the speed of the disks from the seed; `services` ends with NULL. */
struct disk_settings chaos_disk_draw(uint64_t seed, const struct weft_service *const *services);

/* A fault of the server's disk begins or ends. */
void chaos_disk_fault(struct world *world, const struct disk_settings *drawn,
                      struct chaos_disk_state *state, const struct fault *fault);
