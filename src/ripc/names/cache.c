#include "ripc/names/cache.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"
#include "ripc/names/claim.h"

static void name_free(struct cached_name *name)
{
    while (name->mines) {
        struct own_claim *next = name->mines->next;
        free(name->mines);
        name->mines = next;
    }
    free(name->claims);
    free(name);
}

void cache_fini(struct cache *cache)
{
    struct cached_name *name;
    size_t cursor = 0;
    while ((name = id_map_next(&cache->names, &cursor)))
        name_free(name);
    id_map_fini(&cache->names);
    *cache = (struct cache){0};
}

struct cached_name *cache_find(const struct cache *cache, uint64_t id)
{
    return id_map_get(&cache->names, id);
}

struct cached_name *cache_name(struct cache *cache, uint64_t id)
{
    struct cached_name *name = cache_find(cache, id);
    if (name)
        return name;
    name = array_new(1, sizeof *name);
    if (!name)
        return NULL;
    name->id = id;
    if (!id_map_put(&cache->names, id, name)) {
        free(name);
        return NULL;
    }
    return name;
}

void cache_prune(struct cache *cache, uint64_t id)
{
    struct cached_name *name = cache_find(cache, id);
    if (!name || name->asked || name->count || name->mines)
        return;
    id_map_take(&cache->names, id);
    name_free(name);
}

struct known *name_known(const struct cached_name *name, uint64_t member)
{
    for (size_t i = 0; i < name->count; i++)
        if (name->claims[i].claim.member == member)
            return &name->claims[i];
    return NULL;
}

struct own_claim *name_mine(const struct cached_name *name, uint64_t member)
{
    struct own_claim *mine = name->mines;
    while (mine && mine->claim.member != member)
        mine = mine->next;
    return mine;
}

unsigned name_count(const struct cached_name *name)
{
    unsigned count = 0;
    for (size_t i = 0; i < name->count; i++)
        count += !name->claims[i].ended;
    return count;
}

/* Which of two claims of one member is valid? */
static enum cache_news known_compare(const struct known *known, const struct known *offer)
{
    const struct claim *old = &known->claim, *new = &offer->claim;
    bool same_context = old->address.context == new->address.context;
    if (known->ended)
        return same_context && new->incarnation <= old->incarnation ? CACHE_OLD : CACHE_NEW;
    if (claim_equal(old, new))
        return CACHE_SAME;
    if (offer->firm && (known->firm || !same_context))
        return CACHE_MOVED; /* the file has one record: the old one is gone, whatever the clock
                             * says; and any process can send a claim with a high incarnation */
    if (new->incarnation != old->incarnation)
        return new->incarnation > old->incarnation ? CACHE_MOVED : CACHE_OLD;
    if (same_context) /* claims from the operator's file have equal incarnations: use what the file
                       * says now */
        return new->address.context == 0 ? CACHE_MOVED : CACHE_OLD;
    return new->address.context < old->address.context ? CACHE_MOVED : CACHE_OLD;
}

static void known_refresh(struct known *known, const struct known *offer)
{
    if (offer->until > known->until)
        known->until = offer->until;
    if (!known->claim.pid)
        known->claim.pid = offer->claim.pid;
    known->sources |= offer->sources;
    known->firm |= offer->firm;
}

int cache_learn(struct cache *cache, const struct known *offer)
{
    struct cached_name *name = cache_find(cache, offer->claim.id);
    struct known *known = name ? name_known(name, offer->claim.member) : NULL;
    enum cache_news news = known ? known_compare(known, offer) : CACHE_NEW;
    if (news == CACHE_SAME)
        known_refresh(known, offer);
    if (news == CACHE_SAME || news == CACHE_OLD)
        return news;
    if (!known) {
        bool wanted = offer->own || (name && name->asked);
        if (!wanted && cache->claim_count >= CACHE_CLAIMS_MAX)
            return CACHE_FULL;
        if (!name && !(name = cache_name(cache, offer->claim.id)))
            return -ENOMEM;
        if (!array_reserve(&name->claims, &name->capacity, name->count + 1, sizeof *known)) {
            cache_prune(cache, offer->claim.id);
            return -ENOMEM;
        }
        known = &name->claims[name->count++];
        cache->claim_count++;
    }
    *known = *offer;
    known->serial = ++cache->serial;
    return news;
}

void cache_drop(struct cache *cache, struct cached_name *name, struct known *known)
{
    assert(known >= name->claims && known < name->claims + name->count);
    *known = name->claims[--name->count];
    cache->claim_count--;
}
