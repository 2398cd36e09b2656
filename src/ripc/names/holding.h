#pragma once
/* holding: the claims of ours that one name service holds, by id and member. A service puts the
 * struct below first into its own, which it owns; the map links them. */

#include "base/id_map.h"
#include "ripc/names/names.h"

struct holding {
    struct holding *next; /* of the same id */
    struct claim claim;   /* its id and member do not change while it is held */
};

/* False: no memory. There is none of that id and member. */
MUST_CHECK bool holdings_put(struct id_map *map, struct holding *holding);

/* NULL: there is none. */
struct holding *holdings_find(const struct id_map *map, uint64_t id, uint64_t member);

/* All of an id, linked by next; NULL: none. */
struct holding *holdings_of(const struct id_map *map, uint64_t id);

/* Takes it out; it is in the map. Needs no memory. */
void holdings_take(struct id_map *map, struct holding *holding);

/* Calls `each` for every one, which may free it, and frees the map. */
void holdings_fini(struct id_map *map, void (*each)(void *owner, struct holding *holding),
                   void *owner);
