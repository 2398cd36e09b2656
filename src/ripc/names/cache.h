#pragma once
/* cache: what is known of ids: who has them as far as we heard, and what of
 * them we claim ourselves.
 *
 * A claim is named by its id and its member, and there is at most one of each:
 * the newest incarnation. The cache calls nobody back; names.c turns what it
 * returns into events. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/id_map.h"
#include "ripc/names/names.h"

/* A claim of somebody, or of ours when it is settled. */
struct known {
    struct claim claim;
    nsec until;       /* not believed any longer than this; NSEC_NEVER: until it is lost */
    uint64_t serial;  /* grows with every claim that is added or changed */
    uint32_t sources; /* a bit for each service that told of it */
    bool own;
    bool firm;  /* a lock in this host proves it: the clock has no say in which is newer */
    bool ended; /* withdrawn; kept for a while, so that late copies of it are not believed */
};

/* A claim of ours, from names_announce on. */
struct own_claim {
    struct own_claim *next;
    struct claim claim;
    uint32_t pending; /* a bit for each service that has not decided yet */
    uint32_t held;    /* a bit for each service that holds it or decides about it */
    bool settled;
};

struct cached_name {
    uint64_t id;
    bool asked;    /* somebody here wants to know */
    nsec answered; /* when a service last told all that it knows, be that nothing; 0: never */
    struct own_claim *mines;
    struct known *claims; /* owned, as are the mines */
    size_t count;
    size_t capacity;
};

struct cache {
    struct id_map names;
    uint64_t serial;
    size_t claim_count;
};

/* Claims beyond this are taken only of ids that were asked for: a flood of
 * made-up ones costs this much memory and no more. */
#define CACHE_CLAIMS_MAX 16384

void cache_fini(struct cache *cache);

struct cached_name *cache_find(const struct cache *cache, uint64_t id); /* NULL: nothing */
MUST_CHECK struct cached_name *cache_name(struct cache *cache,
                                          uint64_t id); /* made; NULL: no memory */
void cache_prune(struct cache *cache, uint64_t id);     /* freed if it is empty */

struct known *name_known(const struct cached_name *name, uint64_t member); /* ended ones too */
struct own_claim *name_mine(const struct cached_name *name, uint64_t member);
unsigned name_count(const struct cached_name *name); /* of claims that have not ended */

enum cache_news {
    CACHE_SAME,  /* known already */
    CACHE_OLD,   /* a newer one is known */
    CACHE_FULL,  /* not taken */
    CACHE_NEW,   /* nobody had it */
    CACHE_MOVED, /* a newer one than the one known */
};

/* Takes a claim (serial is set by the cache). Negative errno: no memory. */
MUST_CHECK int cache_learn(struct cache *cache, const struct known *offer);

/* Takes one out. The pointer is of this cache. */
void cache_drop(struct cache *cache, struct cached_name *name, struct known *known);
