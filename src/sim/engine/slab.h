#pragma once
/* slab: the packets of a simulated world, in slabs.
 *
 * Two classes of buffers: small ones, since most packets are small or hollow (packet.h), and ones
 * for a whole jumbo frame. Slabs are taken as they are needed, up to a bound, and left to the other
 * class when all their packets are back, but for a few that are kept warm.
 *
 * Each packet that is taken gets a number that no other has, in `trail`: by that the checkers know
 * it again wherever it turns up. One thread. */

#include <stddef.h>

#include "base/err.h"
#include "node/packet.h"

#define SLAB_SMALL 256 /* bytes stored, header too */

struct slab_pool;

/* At most `most` bytes in all; 0: no bound. */
MUST_CHECK enum err slab_pool_open(struct slab_pool **pool, size_t most, struct why *why);
void slab_pool_close(struct slab_pool *pool); /* with all packets, back or not */

struct packet_pool *slab_packets(struct slab_pool *pool);

/* Who is told of packets that a link makes twice or loses; each may be NULL. */
struct slab_watcher {
    void (*copied)(void *context, const struct packet *packet);
    void (*lost)(void *context, const struct packet *packet);
    void *context;
};

void slab_watch(struct slab_pool *pool, const struct slab_watcher *watcher); /* copied */

/* A link loses it: tells that, and gives it back. */
void slab_lose(struct slab_pool *pool, struct packet *packet);

/* The same packet once more, bytes, fields and trail; NULL: none left. */
struct packet *slab_copy(struct slab_pool *pool, const struct packet *packet);

size_t slab_memory(const struct slab_pool *pool);
size_t slab_memory_peak(const struct slab_pool *pool);
uint64_t slab_taken(const struct slab_pool *pool); /* packets since it was opened */
uint64_t slab_refused(const struct slab_pool *pool);
