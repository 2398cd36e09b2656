#pragma once
/* cache: what is known about ids: their holders, as far as we have heard, and the claims that this
 * process makes itself.
 *
 * A claim is identified by its id and member, and the cache holds at most one of each: the newest
 * incarnation. The cache makes no callbacks; names.c turns its results into events. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/id_map.h"
#include "ripc/names/names_impl.h"

/* A claim of another process, or a settled claim of ours. */
struct known {
    struct claim claim;
    nsec until;       /* valid until then; NSEC_NEVER: until it is lost */
    uint64_t serial;  /* increases with every claim that is added or changed */
    uint32_t sources; /* a bit for each name service that reported it */
    bool own;
    bool firm;  /* proved by a lock on this host: it replaces any claim without such a proof, and
                 * which claim is newer does not depend on the clock */
    bool ended; /* withdrawn; kept for a while, so that late copies of it are ignored */
};

/* A claim of ours, from names_announce on. */
struct own_claim {
    struct own_claim *next;
    struct claim claim;
    uint32_t pending; /* a bit for each name service that has not decided yet */
    uint32_t held;    /* a bit for each name service that holds it or decides about it */
    bool settled;
    nsec begun; /* when we claimed it */
};

struct cached_name {
    uint64_t id;
    bool asked;                       /* this process wants to know its holders */
    nsec answered[NAMES_SERVICE_MAX]; /* when each name service last reported everything it knows,
                                       * even if nothing; 0: never */
    struct own_claim *mines;
    struct known *claims; /* owned, like the mines */
    size_t count;
    size_t capacity;
};

struct cache {
    struct id_map names;
    uint64_t serial;
    size_t claim_count;
};

/* Beyond this limit only claims of ids that were asked for are accepted: a flood of invented claims
 * cannot use more memory than this. */
#define CACHE_CLAIMS_MAX 16384

void cache_fini(struct cache *cache);

struct cached_name *cache_find(const struct cache *cache, uint64_t id); /* NULL: not known */
MUST_CHECK struct cached_name *cache_name(struct cache *cache,
                                          uint64_t id); /* created if necessary; NULL: no memory */
void cache_prune(struct cache *cache, uint64_t id);     /* frees the name if it is empty */

struct known *name_known(const struct cached_name *name, uint64_t member); /* includes ended
                                                                            * claims */
struct own_claim *name_mine(const struct cached_name *name, uint64_t member);
unsigned name_count(const struct cached_name *name); /* of claims that have not ended */

enum cache_news {
    CACHE_SAME,  /* already known */
    CACHE_OLD,   /* a newer claim is known */
    CACHE_FULL,  /* not accepted */
    CACHE_NEW,   /* no claim of this id and member was known */
    CACHE_MOVED, /* newer than the known claim */
};

/* Adds a claim (the cache sets its serial). Negative errno: no memory. */
MUST_CHECK int cache_learn(struct cache *cache, const struct known *offer);

/* Removes a claim. The pointer must be from this cache. */
void cache_drop(struct cache *cache, struct cached_name *name, struct known *known);
