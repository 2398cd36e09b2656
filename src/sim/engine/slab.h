#pragma once
/* slab: the packets of a simulated world, in slabs.
 *
 * There are two classes of buffers: small ones, because most packets are small or hollow
 * (packet.h), and buffers for a whole jumbo frame. Slabs are allocated as needed, up to a limit. A
 * slab whose packets are all released is available to the other class, except for a few that each
 * class keeps.
 *
 * Each taken packet gets a unique number in `trail`, by which the checkers identify it everywhere.
 * One thread. */

#include <stddef.h>

#include "base/err.h"
#include "node/packet.h"

#define SLAB_SMALL 256 /* bytes stored, with the header */

struct slab_pool;

/* At most `most` bytes in all; 0: no limit. */
MUST_CHECK enum err slab_pool_open(struct slab_pool **pool, size_t most, struct why *why);
void slab_pool_close(struct slab_pool *pool); /* with all packets, released or not */

struct packet_pool *slab_packets(struct slab_pool *pool);

/* Called for packets that a link duplicates or loses; each may be NULL. */
struct slab_watcher {
    void (*copied)(void *context, const struct packet *packet);
    void (*lost)(void *context, const struct packet *packet);
    void *context;
};

/* The watcher is copied. */
void slab_watch(struct slab_pool *pool, const struct slab_watcher *watcher);

/* A link loses the packet: reports it, and releases it. */
void slab_lose(struct slab_pool *pool, struct packet *packet);

/* Duplicates a packet: bytes, fields and trail; NULL: none left. */
struct packet *slab_copy(struct slab_pool *pool, const struct packet *packet);

size_t slab_memory(const struct slab_pool *pool);
size_t slab_memory_peak(const struct slab_pool *pool);
uint64_t slab_taken(const struct slab_pool *pool); /* packets since it was opened */
uint64_t slab_refused(const struct slab_pool *pool);
