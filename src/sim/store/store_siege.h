#pragma once
/* store_siege: a long run of a simulated cluster, in which servers fail one after the other.
 *
 * A storm of sim/chaos is short: the services hardly notice that a server is gone before the storm
 * is over. Here a failure lasts for as long as the store takes to go on without the server, and to
 * take it back: servers crash and start again, stop and go on, are cut off together, and their
 * disks hang. Mostly a majority of the servers works.
 *
 * Disks can *lag*: a few reads last for seconds, while the disk does all else. Then what was read
 * may be old when it arrives, such as a copy for another server. Failures are rarer in such a
 * siege: each view that comes begins the copying anew.
 *
 * One server can have a *frail* disk: for a while it fails, or is full. If it *rots*, it also
 * damages what it keeps, or is replaced by an empty one. Then it may have had the last copy.
 *
 * What is in memory ends with the process. So if some groups are in memory, one process ends at a
 * time, and only while all groups have all their copies: then nothing may be lost. */

#include "node/plan.h"
#include "sim/world/simulation.h"

struct store_siege {
    const struct plan *plan; /* borrowed, as are all */
    const struct weft_service *const *services;
    const struct configuration *configuration; /* of the services */
    const struct weft_checker *checker;
    struct simulation_record *record; /* or NULL */
    uint64_t seed;
    bool frail, rots; /* the disk of one server */
    bool jumps;       /* wall clocks jump, ahead and back */
    bool lags;        /* all disks */
    bool in_memory;   /* some groups are; then no disk is frail */
    uint32_t group_count;
};

struct store_siege_result {
    bool failed;
    struct simulation_failure failure;
    unsigned failures; /* of servers and disks */
    psec simulated;
    uint64_t hash;
};

#define STORE_SIEGE_SERVERS 64 /* at most */

struct store_siege_result store_siege_run(const struct store_siege *siege);
