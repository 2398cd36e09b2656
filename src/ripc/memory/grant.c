#include "ripc/memory/grant.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "transport/fork/descriptor.h"

#define GRANT_HOLDERS_MAX 16 /* of one grant: processes that hold or held the peer's id */

#define GHOSTS_MAX 1024 /* a limit, because no program can release this memory */
/* How long a ghost without holders is kept: its last holder's writes have arrived by then. */
#define GHOST_LIFE_NSEC NSEC_PER_SEC

/* A grant that we gave. */
struct given {
    uint64_t key;
    struct ripc_service *service;
    ripc_id peer;
    void *base; /* NULL: the grant is void; the thread that revokes it, or ghosts_sweep, frees it */
    size_t size;
    uint32_t rights;
    bool revoking;
    struct region *regions[CONTEXT_TRANSPORT_MAX]; /* of this grant, where hardware checks keys */
    /* Memory of an own_file, mapped a second time for these regions. This mapping keeps the old
     * pages when the file is replaced. Base NULL: not needed. */
    struct memfile alias;
    nsec free_at;                            /* when to free a ghost without holders */
    struct peer *holders[GRANT_HOLDERS_MAX]; /* processes that asked for the grant; NULL: free
                                              * entry */
};

static void given_close(struct given *given)
{
    for (unsigned i = 0; i < CONTEXT_TRANSPORT_MAX; i++) {
        if (given->regions[i])
            given->regions[i]->ops->region_close(given->regions[i]);
        given->regions[i] = NULL;
    }
    memfile_close(&given->alias);
}

/* Voids the grant: it is not given to further peers, and no longer uses the memory. */
static void given_void(struct ripc *ripc, struct given *given)
{
    id_map_take(&ripc->grants, given->key);
    pool_unuse(ripc->pool, given->base);
    given->base = NULL;
}

static void given_free(struct ripc *ripc, struct given *given)
{
    given_close(given);
    if (given->base)
        given_void(ripc, given);
    free(given);
}

static int grant_give(struct ripc_service *service, ripc_id peer, void *base, size_t size,
                      uint32_t rights, struct ripc_grant *grant)
{
    struct ripc *ripc = service->ripc;
    if (peer == 0 || size == 0 || rights == 0 || (rights & ~(uint32_t)(RIPC_READ | RIPC_WRITE)))
        return -EINVAL;
    if (!pool_use(ripc->pool, base, size))
        return -EFAULT;
    struct given *given = calloc(1, sizeof *given);
    uint64_t key = entropy_u64();
    if (!given || !id_map_put(&ripc->grants, key, given)) {
        free(given);
        pool_unuse(ripc->pool, base);
        return -ENOMEM;
    }
    *given = (struct given){
        .key = key,
        .service = service,
        .peer = peer,
        .base = base,
        .size = size,
        .rights = rights,
        .alias.fd = -1,
        .free_at = NSEC_NEVER,
    };
    *grant = (struct ripc_grant){service->id, key, size};
    return 0;
}

/* Does the peer's process hold the id to which the grant was given? */
static bool grant_peer_has(struct peer *peer, ripc_id id)
{
    struct claim claims[4];
    names_ask(peer->ripc->names, id);
    unsigned count = names_known(peer->ripc->names, id, claims, 4);
    for (unsigned i = 0; i < count && i < 4; i++)
        if (claims[i].address.context == peer->address.context ||
            (claims[i].address.context == 0 && claims[i].address.port == peer->address.port))
            return true;
    return false;
}

static int given_hold(struct given *given, struct peer *peer)
{
    for (unsigned i = 0; i < GRANT_HOLDERS_MAX; i++)
        if (!given->holders[i] || given->holders[i] == peer) {
            given->holders[i] = peer;
            return 0;
        }
    return -EBUSY;
}

static int given_map(struct given *given, const struct extent *extent)
{
    if (given->alias.base)
        return 0;
    int fd = memfile_share(extent->file, 1);
    int result = fd < 0 ? fd : memfile_map(&given->alias, fd, extent->size, 1);
    if (result == 0) {
        descriptor_close(given->alias.fd); /* the mapping keeps the memory */
        given->alias.fd = -1;
    }
    return result;
}

/* On this host the whole slab is shared. A fabric gets a region of exactly the granted bytes, with
 * a key of its own that becomes invalid with the grant. */
static int given_region(struct ripc *ripc, struct given *given, unsigned index, void **piece,
                        struct region **region)
{
    struct transport *transport = ripc->transports[index];
    struct extent *extent = pool_find(ripc->pool, given->base, given->size);
    *piece = given->base;
    if (transport->ops->abilities & TRANSPORT_LOCAL)
        return context_region(ripc, index, extent, region);
    int result = pool_is_adopted(extent) ? given_map(given, extent) : 0;
    if (result == 0 && given->alias.base)
        *piece = (uint8_t *)given->alias.base + ((uint8_t *)given->base - extent->base);
    if (result == 0 && !given->regions[index])
        result =
            transport_region_open(transport, *piece, given->size, NULL, &given->regions[index]);
    *region = given->regions[index];
    return result;
}

static int grant_show(struct peer *peer, const struct control_words *words,
                      struct control_words *answer)
{
    struct ripc *ripc = peer->ripc;
    struct given *given = id_map_get(&ripc->grants, words->number);
    struct transport_link *link;
    struct region *region;
    void *piece;
    if (!given || given->revoking || given->service->id != words->to ||
        given->peer != words->from || !grant_peer_has(peer, words->from))
        return -EACCES;
    for (unsigned i = 0; i < ripc->transport_count; i++) {
        const struct transport_ops *ops = ripc->transports[i]->ops;
        if (strcmp(ops->name, words->transport) != 0)
            continue;
        int result = peer_link(peer, i, &link);
        if (result == 0)
            result = given_region(ripc, given, i, &piece, &region);
        if (result == 0)
            result = ops->memory->share(link, region, piece, given->size, given->rights,
                                        &answer->memory);
        answer->rights = given->rights;
        return result ? result : given_hold(given, peer);
    }
    return -EOPNOTSUPP;
}

void grant_asked(struct peer *peer, struct control_words *words)
{
    struct control_words answer = {.kind = CONTROL_GRANT_ANSWER, .number = words->number};
    answer.status = grant_show(peer, words, &answer);
    if (answer.status)
        answer.memory = (struct remote_memory){0};
    peer_answer(peer, &answer);
}

static void given_let_go(struct given *given, const struct peer *peer)
{
    for (unsigned i = 0; i < GRANT_HOLDERS_MAX; i++)
        if (given->holders[i] == peer)
            given->holders[i] = NULL;
}

static bool given_is_held(const struct given *given)
{
    for (unsigned i = 0; i < GRANT_HOLDERS_MAX; i++)
        if (given->holders[i])
            return true;
    return false;
}

/* ---- ghosts ---- */

static void ghosts_fired(void *owner);

static void ghost_let_go(struct ripc *ripc, struct given *ghost, const struct peer *peer)
{
    given_let_go(ghost, peer);
    if (given_is_held(ghost) || ghost->free_at != NSEC_NEVER)
        return;
    ghost->free_at = clock_after(GHOST_LIFE_NSEC);
    ripc->ghost_timer.fired = ghosts_fired;
    ripc->ghost_timer.owner = ripc;
    /* If the timer cannot be set, the next ghost that is released, or the end of the context, frees
     * this one too. */
    if (!ripc->ghost_timer.slot)
        (void)!poller_set(ripc->poller, &ripc->ghost_timer, ghost->free_at);
}

/* Frees the ghosts that are due. */
static void ghosts_sweep(struct ripc *ripc, nsec now)
{
    nsec next = NSEC_NEVER;
    size_t cursor = 0;
    struct given *ghost;
    while ((ghost = id_map_next(&ripc->ghosts, &cursor))) {
        if (ghost->free_at > now) {
            next = ghost->free_at < next ? ghost->free_at : next;
            continue;
        }
        id_map_take(&ripc->ghosts, ghost->key);
        given_free(ripc, ghost);
        next = NSEC_NEVER;
        cursor = 0;
    }
    if (ripc->ghosts.count == 0)
        id_map_fini(&ripc->ghosts);
    if (next != NSEC_NEVER)
        (void)!poller_set(ripc->poller, &ripc->ghost_timer, next);
}

static void ghosts_fired(void *owner)
{
    ghosts_sweep(owner, clock_now());
}

/* Keeps the grant as a ghost if peers may still write to its memory over a fabric. */
static bool ghost_make(struct ripc *ripc, struct given *given)
{
    return given->alias.base && given_is_held(given) && ripc->ghosts.count < GHOSTS_MAX &&
           id_map_put(&ripc->ghosts, given->key, given);
}

void grant_given_up(struct peer *peer, struct control_words *words)
{
    struct given *given = id_map_get(&peer->ripc->grants, words->number);
    struct given *ghost = id_map_get(&peer->ripc->ghosts, words->number);
    if (given) {
        given_let_go(given, peer);
        doorbell_ring(&given->service->bell);
    }
    if (ghost)
        ghost_let_go(peer->ripc, ghost, peer);
}

static void given_tell(const struct given *given)
{
    for (unsigned i = 0; i < GRANT_HOLDERS_MAX; i++)
        if (given->holders[i])
            peer_say(given->holders[i],
                     &(struct control_words){.kind = CONTROL_GRANT_REVOKE, .number = given->key});
}

static int revoke_check(void *argument)
{
    const struct given *given = argument;
    return !given->base || !given_is_held(given);
}

static int grant_revoke(struct ripc_service *service, uint64_t key, int64_t deadline)
{
    struct ripc *ripc = service->ripc;
    struct given *given = id_map_get(&ripc->grants, key);
    if (!given || given->service != service || given->revoking)
        return -ENOENT;
    given->revoking = true; /* from here on the grant is not given to further peers */
    given_tell(given);
    int result = service_wait(service, revoke_check, given, deadline);
    if (result != 1 && given->base) {
        given->revoking = false; /* the grant remains; the caller may try again */
        return result;
    }
    given_free(ripc, given);
    return 0;
}

static bool given_is_in(const struct given *given, const void *base, size_t size)
{
    return (uintptr_t)given->base - (uintptr_t)base < size;
}

unsigned grants_of(const struct ripc *ripc, const void *base, size_t size)
{
    unsigned count = 0;
    size_t cursor = 0;
    const struct given *given;
    while ((given = id_map_next(&ripc->grants, &cursor)))
        count += given_is_in(given, base, size);
    return count;
}

/* A holder to which the revocation cannot be sent is disconnected, so that it cannot continue to
 * use the grant. */
static void given_take_away(struct ripc *ripc, struct given *given)
{
    struct control_words words = {.kind = CONTROL_GRANT_REVOKE, .number = given->key};
    for (unsigned i = 0; i < GRANT_HOLDERS_MAX; i++)
        if (given->holders[i])
            peer_answer(given->holders[i], &words);
    given_void(ripc, given);
    if (given->revoking)
        doorbell_ring(&given->service->bell); /* the thread that waits for the holders frees it */
    else if (!ghost_make(ripc, given))
        given_free(ripc, given);
}

void grants_void(struct ripc *ripc, const void *base, size_t size)
{
    size_t cursor = 0;
    struct given *given;
    while ((given = id_map_next(&ripc->grants, &cursor)))
        if (given_is_in(given, base, size)) {
            given_take_away(ripc, given);
            cursor = 0;
        }
}

void grant_void(struct ripc_service *service, uint64_t key)
{
    struct given *given = id_map_get(&service->ripc->grants, key);
    if (given && given->service == service)
        given_take_away(service->ripc, given);
}

void grants_forget(struct peer *peer)
{
    size_t cursor = 0;
    struct given *given;
    while ((given = id_map_next(&peer->ripc->grants, &cursor)))
        given_let_go(given, peer);
    cursor = 0;
    while ((given = id_map_next(&peer->ripc->ghosts, &cursor)))
        ghost_let_go(peer->ripc, given, peer);
}

/* Drops the grants of one service, or (NULL) of all. */
static void grants_drop_of(struct ripc *ripc, const struct ripc_service *service)
{
    size_t cursor = 0;
    struct given *given;
    while ((given = id_map_next(&ripc->grants, &cursor)))
        if (!service || given->service == service) {
            given_take_away(ripc, given);
            cursor = 0;
        }
    if (ripc->grants.count == 0)
        id_map_fini(&ripc->grants);
}

void grants_drop(struct ripc_service *service)
{
    grants_drop_of(service->ripc, service);
}

void grants_drop_all(struct ripc *ripc)
{
    grants_drop_of(ripc, NULL);
    ghosts_sweep(ripc, NSEC_NEVER);
}

/* ---- the calls ---- */

int ripc_grant(struct ripc_service *service, ripc_id peer, void *base, size_t size, uint32_t rights,
               struct ripc_grant *grant)
{
    if (!context_is_ours(service->ripc))
        return -ECHILD;
    lock_take(&service->ripc->lock);
    int result = grant_give(service, peer, base, size, rights, grant);
    lock_drop(&service->ripc->lock);
    return result;
}

int ripc_revoke(struct ripc_service *service, const struct ripc_grant *grant, int64_t deadline)
{
    if (!context_is_ours(service->ripc))
        return -ECHILD;
    lock_take(&service->ripc->lock);
    int result = grant_revoke(service, grant->key, deadline);
    lock_drop(&service->ripc->lock);
    return result;
}
