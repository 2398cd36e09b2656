/* latency: a bucket for each of the 32 parts of each power of two.
 *
 * The watcher finds the time when a packet was sent by its trail. Trails ascend, so a table with as
 * many slots as packets are ever in flight at once holds them all; a packet whose slot was
 * overwritten by a newer one is not counted. */
#include "sim/world/latency.h"

#include <stdlib.h>

#include "base/check.h"

#define SLOTS (1u << 18)
#define PARTS (1u << LATENCY_PARTS_BITS)

static unsigned bucket_of(psec time)
{
    if (time < PARTS)
        return (unsigned)time;
    unsigned power = 63 - (unsigned)__builtin_clzll(time);
    unsigned part = (unsigned)(time >> (power - LATENCY_PARTS_BITS)) & (PARTS - 1);
    return (power - LATENCY_PARTS_BITS + 1) * PARTS + part;
}

/* The largest time that falls into the bucket. */
static psec bucket_end(unsigned bucket)
{
    if (bucket < PARTS)
        return bucket;
    unsigned shift = bucket / PARTS - 1;
    return ((psec)(PARTS + bucket % PARTS + 1) << shift) - 1;
}

void latency_add(struct latency *latency, psec time)
{
    latency->buckets[bucket_of(time)]++;
    if (latency->count++ == 0 || time < latency->least)
        latency->least = time;
    if (time > latency->most)
        latency->most = time;
}

psec latency_share(const struct latency *latency, double share)
{
    assert(share >= 0 && share <= 1);
    double wanted = share * (double)latency->count;
    uint64_t seen = 0;
    for (unsigned bucket = 0; bucket < LATENCY_BUCKETS; bucket++) {
        seen += latency->buckets[bucket];
        if (seen && (double)seen >= wanted) {
            psec end = bucket_end(bucket);
            return end < latency->most ? end : latency->most;
        }
    }
    return 0;
}

static void sent(struct world_watcher *watcher, node_id at, const struct packet *packet)
{
    struct latency_watcher *self = (struct latency_watcher *)watcher;
    self->slots[packet->trail % SLOTS] =
        (struct latency_slot){packet->trail, world_now(watcher->world)};
}

static void delivered(struct world_watcher *watcher, node_id at, const struct packet *packet)
{
    struct latency_watcher *self = (struct latency_watcher *)watcher;
    const struct latency_slot *slot = &self->slots[packet->trail % SLOTS];
    if (slot->trail == packet->trail)
        latency_add(&self->latency, world_now(watcher->world) - slot->at);
}

enum err latency_watcher_init(struct latency_watcher *self, struct why *why)
{
    static const struct world_watcher_ops ops = {.sent = sent, .delivered = delivered};
    *self = (struct latency_watcher){.watcher = {.name = "latency", .ops = &ops}};
    self->slots = calloc(SLOTS, sizeof *self->slots);
    return self->slots ? OK : why_memory(why);
}

void latency_watcher_fini(struct latency_watcher *self)
{
    free(self->slots);
}
