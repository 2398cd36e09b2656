#pragma once
/* id_map: pointers by 64-bit ids. Open addressing with linear probing and
 * removal by shifting back, so that it never fills with tombstones. */

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

void id_map_fini(struct id_map *map); /* the values are not its own */

/* NULL if there is none. */
void *id_map_get(const struct id_map *map, uint64_t id);

/* Adds or replaces. The value is not NULL. False without memory, and then the
 * map is as it was. */
MUST_CHECK bool id_map_put(struct id_map *map, uint64_t id, void *value);

/* Takes out; NULL if there was none. */
void *id_map_take(struct id_map *map, uint64_t id);

/* Walks in no particular order: `cursor` starts at 0; NULL at the end. Nothing
 * may be put or taken meanwhile. */
void *id_map_next(const struct id_map *map, size_t *cursor);
