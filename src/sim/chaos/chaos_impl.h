#pragma once
/* chaos_impl: the state of a run of chaos, for the files that make it up. */

#include "base/rng.h"
#include "sim/chaos/chaos.h"
#include "sim/chaos/chaos_disk.h"
#include "sim/chaos/chaos_load.h"
#include "sim/world/simulation.h"
#include "sim/world/world.h"

#define CHAOS_LOAD_INTERVAL 5000000 /* nanoseconds */
#define CHAOS_CLIENT        1       /* the local program that asks for keys */

/* The current faults of a link; faults of one kind add up. */
struct sim_link_state {
    uint32_t loss, corruption, duplication;
    uint32_t dead; /* number of reasons */
    psec jitter;
    psec late;
    uint32_t lates; /* number of faults in `late` */
};

/* The current faults of a server. */
struct server_state {
    uint32_t down, paused, hung; /* number of reasons */
    bool emptied;                /* its disk was replaced since it was up */
    struct chaos_disk_state disk;
    bool stopped;        /* this incarnation is paused ... */
    env_nsec stopped_at; /* ... since then, by its clock */
};

/* The order of a server's services: load, press, then guests. */
#define GUESTS_FIRST (1 + CHAOS_PRESS_COUNT)
#define SERVICES_MAX (GUESTS_FIRST + CHAOS_GUESTS_MAX)

struct chaos {
    const struct chaos_settings *settings;
    const struct chaos_guests *guests;                     /* NULL: none */
    const struct weft_service *services[SERVICES_MAX + 1]; /* ends with NULL */
    const struct plan *plan;
    struct chaos_result *result;
    struct world_watcher watcher;
    struct world_watcher *watchers[2]; /* the watcher, and NULL */
    struct world *world;
    struct checkers checkers;
    struct weft_simulation *simulation; /* NULL: no checker from outside */
    struct fault_schedule schedule;
    struct fault_settings fault_settings;
    struct disk_settings disk; /* of each server, in the storm */
    struct sim_link_state *links;
    struct server_state *servers;
    struct rng rng;
    psec sampled_at;
    bool failed; /* the run itself */
    struct why why;
};

/* ---- chaos_watch.c: events for the checkers, and what they see ---- */

extern const struct world_watcher_ops chaos_watcher_ops;
/* Everything but what depends on the seed: silence, damages, rewinds. */
struct checker_view chaos_view(struct chaos *chaos);

/* ---- chaos_fault.c: faults and loads of servers ---- */

bool chaos_has_failed(const struct chaos *chaos);
/* Sends an order to the load, and to guests that take orders. */
void chaos_load_set(struct chaos *chaos, node_id server, int64_t interval);
void chaos_fault_apply(struct chaos *chaos, const struct fault *fault);
int chaos_answered(void *context, node_id at, const struct env_answer *to, const void *bytes,
                   uint32_t size);
