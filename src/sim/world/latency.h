#pragma once
/* latency: a histogram of times with an error below 4 %, and a watcher that adds to one the time of
 * every packet from its sending by a service to its delivery. */

#include "sim/world/world.h"

#define LATENCY_PARTS_BITS 5 /* times from 2^n to 2^(n+1) fall into 2^5 buckets */
#define LATENCY_BUCKETS    (64u << LATENCY_PARTS_BITS)

struct latency {
    uint64_t count;
    psec least, most;
    uint64_t buckets[LATENCY_BUCKETS];
};

void latency_add(struct latency *latency, psec time);
/* Returns the time that the share `share` (0 to 1) of all times does not exceed; 0 if there are no
 * times. */
psec latency_share(const struct latency *latency, double share);

/* When a packet was sent. */
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
