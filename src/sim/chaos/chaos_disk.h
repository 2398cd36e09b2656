#pragma once
/* chaos_disk: the disks of a run of chaos. Servers have disks only if a service uses them, so that
 * a run without such a service is the same as without disks. */

#include "sim/world/world.h"

/* Draws the speed and the faults of the disks from the seed; `services` ends with NULL. Without
 * `faults` the disks are slow, but lose and fail nothing. Bits do not rot, and no disk is replaced:
 * only a service with copies on other servers survives that. */
struct disk_settings chaos_disk_draw(uint64_t seed, const struct weft_service *const *services,
                                     bool faults);

/* The storm is over: all disks work, at the speed that was drawn. */
void chaos_disk_heal(struct world *world, const struct disk_settings *drawn);
