#include "base/id_map.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"

#define ID_MAP_CAPACITY_MIN 8

/* Ids may be consecutive or chosen by a peer. A multiplicative hash spreads consecutive ids; ids
 * chosen by a peer can at worst slow down a map of that peer's own ids. */
static size_t id_map_home(const struct id_map *map, uint64_t id)
{
    uint64_t hash = id * 0x9e3779b97f4a7c15u;
    return (size_t)(hash ^ hash >> 32) & map->mask;
}

/* The slot of the id, or the free slot for it. */
static size_t id_map_find(const struct id_map *map, uint64_t id)
{
    size_t at = id_map_home(map, id);
    while (map->slots[at].value && map->slots[at].id != id)
        at = (at + 1) & map->mask;
    return at;
}

void id_map_fini(struct id_map *map)
{
    free(map->slots);
    memset(map, 0, sizeof *map);
}

void *id_map_get(const struct id_map *map, uint64_t id)
{
    return map->slots ? map->slots[id_map_find(map, id)].value : NULL;
}

static bool id_map_grow(struct id_map *map)
{
    size_t capacity = map->slots ? 2 * (map->mask + 1) : ID_MAP_CAPACITY_MIN;
    struct id_map grown = {.slots = calloc(capacity, sizeof *grown.slots), .mask = capacity - 1};
    if (!grown.slots)
        return false;
    for (size_t at = 0; map->slots && at <= map->mask; at++)
        if (map->slots[at].value)
            grown.slots[id_map_find(&grown, map->slots[at].id)] = map->slots[at];
    grown.count = map->count;
    free(map->slots);
    *map = grown;
    return true;
}

bool id_map_put(struct id_map *map, uint64_t id, void *value)
{
    assert(value);
    if (!map->slots || 4 * (map->count + 1) > 3 * (map->mask + 1))
        if (!id_map_grow(map))
            return false;
    struct id_map_slot *slot = &map->slots[id_map_find(map, id)];
    map->count += !slot->value;
    *slot = (struct id_map_slot){id, value};
    return true;
}

void *id_map_take(struct id_map *map, uint64_t id)
{
    if (!map->slots)
        return NULL;
    size_t hole = id_map_find(map, id);
    void *value = map->slots[hole].value;
    if (!value)
        return NULL;
    /* Moves back the entries that were displaced past the hole. */
    for (size_t at = (hole + 1) & map->mask; map->slots[at].value; at = (at + 1) & map->mask) {
        size_t home = id_map_home(map, map->slots[at].id);
        if (((at - home) & map->mask) >= ((at - hole) & map->mask)) {
            map->slots[hole] = map->slots[at];
            hole = at;
        }
    }
    map->slots[hole].value = NULL;
    map->count--;
    return value;
}

void *id_map_next(const struct id_map *map, size_t *cursor)
{
    while (map->slots && *cursor <= map->mask) {
        void *value = map->slots[(*cursor)++].value;
        if (value)
            return value;
    }
    return NULL;
}
