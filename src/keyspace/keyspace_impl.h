#pragma once
/* keyspace_impl: the two ways to make a list of servers; only keyspace.c calls them. */

#include "base/wide.h"
#include "keyspace/keyspace.h"

/* facets.c: topologies with axes. After a failure there is nothing to free. */
MUST_CHECK enum err facets_init(struct keyspace *keyspace, struct why *why);

/* A 64-bit key is a fraction between 0 and 1. Multiplied by the size of an axis, its integer part
 * is the coordinate, which is uniform for any size; its fractional part serves the next axis in the
 * same way. */
static inline node_id facets_home(const struct keyspace *keyspace, uint64_t route)
{
    const uint32_t *size = keyspace->axis_size;
    uint128 x = (uint128)route * size[0];
    uint128 y = (uint128)(uint64_t)x * size[1];
    uint128 z = (uint128)(uint64_t)y * size[2];
    return (uint32_t)(x >> 64) + size[0] * ((uint32_t)(y >> 64) + size[1] * (uint32_t)(z >> 64));
}

unsigned facets_servers(const struct keyspace *keyspace, struct place_group group,
                        keyspace_alive *alive, const void *context, node_id *out, unsigned most);

/* levels.c: graphs. */
node_id levels_home(uint32_t server_count, uint64_t route);
unsigned levels_servers(const struct keyspace *keyspace, struct place_group group,
                        keyspace_alive *alive, const void *context, void *scratch, node_id *out,
                        unsigned most);
size_t levels_scratch_size(uint32_t server_count);
