#pragma once
/* sim_store: weft sim chaos with the store: clients of its own, which change few keys and check
 * what they are answered (sim/store). */

#include "cli/sim/sim_guests.h"
#include "sim/chaos/chaos.h"

struct sim_store {
    bool used; /* the store runs, and no checker of the user's plays its clients */
    bool siege;
    uint32_t group_count; /* of all key spaces */
    bool in_memory;       /* some of them are */
    uint64_t segment;     /* bytes */
};

/* Reads --siege. If the guests are the store without a checker, adds the clients as the checker;
 * small files and few groups are the default, since the disks are small. Before this, the guests
 * were read. */
MUST_CHECK enum err sim_store_read(struct sim_store *store, struct sim_guests *guests,
                                   const struct call *call, struct why *why);
/* Runs a seed. Only in a process that runs one seed at a time. */
MUST_CHECK enum err sim_store_run(const struct sim_store *store,
                                  const struct chaos_settings *settings,
                                  const struct chaos_guests *guests, struct chaos_result *result,
                                  struct why *why);
