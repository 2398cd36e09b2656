#pragma once
/* holding: the claims of ours that one name service holds, by id and member. A service embeds the
 * struct below as the first member of its own struct, which it owns; the map links them. */

#include "base/id_map.h"
#include "ripc/names/names.h"

struct holding {
    struct holding *next; /* of the same id */
    struct claim claim;   /* its id and member do not change while it is held */
};

/* Adds a holding; none with that id and member may exist. False: no memory. */
MUST_CHECK bool holdings_put(struct id_map *map, struct holding *holding);

/* Returns NULL if there is none. */
struct holding *holdings_find(const struct id_map *map, uint64_t id, uint64_t member);

/* Returns all holdings of an id, linked by next; NULL: none. */
struct holding *holdings_of(const struct id_map *map, uint64_t id);

/* Removes a holding that is in the map. Needs no memory. */
void holdings_take(struct id_map *map, struct holding *holding);

/* Calls `each` for every holding, which may free it, and frees the map. */
void holdings_fini(struct id_map *map, void (*each)(void *owner, struct holding *holding),
                   void *owner);
