#pragma once
/* latency: a histogram of times with an error below 4 %, and a watcher that fills one with the
 * times from a service's send to the delivery of that packet. */

#include "sim/world/world.h"

#define LATENCY_PARTS_BITS 5 /* each power of two is divided into 2 to this power parts */
#define LATENCY_BUCKETS    (64u << LATENCY_PARTS_BITS)

struct latency {
    uint64_t count;
    psec least, most;
    uint64_t buckets[LATENCY_BUCKETS];
};

void latency_add(struct latency *latency, psec time);
/* The time that a share of all, 0 to 1, does not exceed; 0 if there are none. */
psec latency_share(const struct latency *latency, double share);

struct latency_slot {
    uint64_t trail;
    psec at;
};

struct latency_watcher {
    struct world_watcher watcher;
    struct latency latency;
    struct latency_slot *slots; /* by the low bits of the trail; owned */
};

MUST_CHECK enum err latency_watcher_init(struct latency_watcher *self, struct why *why);
void latency_watcher_fini(struct latency_watcher *self);
