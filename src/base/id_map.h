#pragma once
/* id_map: maps 64-bit ids to pointers. Open addressing with linear probing; removal moves entries
 * back, so that the map never fills with tombstones. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct id_map {
    struct id_map_slot *slots; /* owned; NULL while empty */
    size_t mask;               /* capacity - 1; a power of two */
    size_t count;
};

struct id_map_slot {
    uint64_t id;
    void *value; /* NULL: free */
};

void id_map_fini(struct id_map *map); /* does not free the values */

/* NULL if the id is not in the map. */
void *id_map_get(const struct id_map *map, uint64_t id);

/* Adds or replaces. The value must not be NULL. False if there is no memory; then the map is
 * unchanged. */
MUST_CHECK bool id_map_put(struct id_map *map, uint64_t id, void *value);

/* Removes the entry and returns its value; NULL if there was none. */
void *id_map_take(struct id_map *map, uint64_t id);

/* Walks in no particular order: `cursor` starts at 0; NULL at the end. Nothing may be put or taken
 * meanwhile. */
void *id_map_next(const struct id_map *map, size_t *cursor);
