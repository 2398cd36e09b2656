#include "ripc/names/holding.h"

#include "base/check.h"

struct holding *holdings_of(const struct id_map *map, uint64_t id)
{
    return id_map_get(map, id);
}

struct holding *holdings_find(const struct id_map *map, uint64_t id, uint64_t member)
{
    struct holding *holding = holdings_of(map, id);
    while (holding && holding->claim.member != member)
        holding = holding->next;
    return holding;
}

bool holdings_put(struct id_map *map, struct holding *holding)
{
    assert(!holdings_find(map, holding->claim.id, holding->claim.member));
    holding->next = holdings_of(map, holding->claim.id);
    return id_map_put(map, holding->claim.id, holding);
}

void holdings_take(struct id_map *map, struct holding *holding)
{
    uint64_t id = holding->claim.id;
    struct holding *chain = holdings_of(map, id), **link = &chain;
    while (*link != holding) {
        assert(*link);
        link = &(*link)->next;
    }
    *link = holding->next;
    if (chain) {
        bool put = id_map_put(map, id, chain); /* needs no memory: the id is in the map */
        assert(put);
    } else {
        id_map_take(map, id);
    }
}

void holdings_fini(struct id_map *map, void (*each)(void *owner, struct holding *holding),
                   void *owner)
{
    struct holding *holding, *next;
    size_t cursor = 0;
    while ((holding = id_map_next(map, &cursor)))
        for (; holding; holding = next) {
            next = holding->next;
            each(owner, holding);
        }
    id_map_fini(map);
}
