#include "ripc/grant.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"

#define GRANT_HOLDERS_MAX 16 /* processes that have had the peer's id since it was given */
#define GRANT_PIECE       ((size_t)1 << 20)

/* One that we gave. */
struct given {
    uint64_t key;
    struct ripc_service *service;
    ripc_id peer;
    void *base;
    size_t size;
    uint32_t rights;
    bool revoking;
    struct region *regions[CONTEXT_TRANSPORT_MAX]; /* its own, where hardware checks keys */
    struct peer *holders[GRANT_HOLDERS_MAX];       /* processes that asked for it; NULL: free */
};

/* One that a peer gave us. */
struct taken {
    uint64_t key;
    bool answered;
    bool revoked;  /* the owner waits for us to say that we let go */
    uint32_t uses; /* reads and writes under way */
    int status;
    uint32_t rights;
    unsigned transport;
    struct remote_memory memory;
};

/* ---- the owner ---- */

static void given_free(struct ripc *ripc, struct given *given)
{
    for (unsigned i = 0; i < CONTEXT_TRANSPORT_MAX; i++)
        if (given->regions[i])
            given->regions[i]->ops->region_close(given->regions[i]);
    id_map_take(&ripc->grants, given->key);
    pool_unuse(ripc->pool, given->base);
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
    };
    *grant = (struct ripc_grant){service->id, key, size};
    return 0;
}

/* Has that process the id that the grant is for? */
static bool grant_peer_has(struct peer *peer, ripc_id id)
{
    struct claim claims[4];
    names_ask(peer->ripc->names, id);
    unsigned count = names_known(peer->ripc->names, id, claims, 4);
    for (unsigned i = 0; i < count && i < 4; i++)
        if (claims[i].place.context == peer->place.context ||
            (claims[i].place.context == 0 && claims[i].place.port == peer->place.port))
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

/* On this host the slab is shared as a whole; a fabric gets a region of just
 * the granted bytes, with a key of its own, which dies with the grant. */
static int given_region(struct ripc *ripc, struct given *given, unsigned index,
                        struct region **region)
{
    struct transport *transport = ripc->transports[index];
    int result = 0;
    if (transport->ops->abilities & TRANSPORT_LOCAL)
        return context_region(ripc, index, pool_find(ripc->pool, given->base, given->size), region);
    if (!given->regions[index])
        result = transport->ops->region_open(transport, given->base, given->size, NULL,
                                             &given->regions[index]);
    *region = given->regions[index];
    return result;
}

static int grant_show(struct peer *peer, const struct control_words *words,
                      struct control_words *answer)
{
    struct ripc *ripc = peer->ripc;
    struct given *given = id_map_get(&ripc->grants, words->number);
    struct link *link;
    struct region *region;
    if (!given || given->revoking || given->service->id != words->to ||
        given->peer != words->from || !grant_peer_has(peer, words->from))
        return -EACCES;
    for (unsigned i = 0; i < ripc->transport_count; i++) {
        const struct transport_ops *ops = ripc->transports[i]->ops;
        if (strcmp(ops->name, words->transport) != 0)
            continue;
        int result = peer_link(peer, i, &link);
        if (result == 0)
            result = given_region(ripc, given, i, &region);
        if (result == 0)
            result =
                ops->share(link, region, given->base, given->size, given->rights, &answer->memory);
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

void grant_given_up(struct peer *peer, struct control_words *words)
{
    struct given *given = id_map_get(&peer->ripc->grants, words->number);
    if (!given)
        return;
    given_let_go(given, peer);
    doorbell_ring(&given->service->bell);
}

static void given_tell(const struct given *given)
{
    for (unsigned i = 0; i < GRANT_HOLDERS_MAX; i++)
        if (given->holders[i])
            peer_say(given->holders[i],
                     &(struct control_words){.kind = CONTROL_GRANT_REVOKE, .number = given->key});
}

static int revoke_look(void *argument)
{
    const struct given *given = argument;
    for (unsigned i = 0; i < GRANT_HOLDERS_MAX; i++)
        if (given->holders[i])
            return 0;
    return 1;
}

static int grant_revoke(struct ripc_service *service, uint64_t key, int64_t deadline)
{
    struct ripc *ripc = service->ripc;
    struct given *given = id_map_get(&ripc->grants, key);
    if (!given || given->service != service || given->revoking)
        return -ENOENT;
    given->revoking = true; /* from here on nobody new gets it */
    given_tell(given);
    int result = service_wait(service, revoke_look, given, deadline);
    if (result != 1) {
        given->revoking = false; /* it still stands: revoke it again */
        return result;
    }
    given_free(ripc, given);
    return 0;
}

/* ---- the user ---- */

void grant_answered(struct peer *peer, struct control_words *words)
{
    struct taken *taken = id_map_get(&peer->grants, words->number);
    if (!taken || taken->answered)
        return;
    taken->answered = true;
    taken->status = words->status;
    taken->rights = words->rights;
    taken->memory = words->memory;
    context_wake(peer->ripc);
}

static void taken_say_revoked(struct peer *peer, struct taken *taken)
{
    peer_say(peer, &(struct control_words){.kind = CONTROL_GRANT_REVOKED, .number = taken->key});
    id_map_take(&peer->grants, taken->key);
    free(taken);
}

void grant_revoked_by_peer(struct peer *peer, struct control_words *words)
{
    struct taken *taken = id_map_get(&peer->grants, words->number);
    if (!taken) {
        peer_say(peer,
                 &(struct control_words){.kind = CONTROL_GRANT_REVOKED, .number = words->number});
        return;
    }
    taken->revoked = true;
    if (taken->uses == 0)
        taken_say_revoked(peer, taken);
}

void grants_forget(struct peer *peer)
{
    size_t cursor = 0;
    struct given *given;
    while ((given = id_map_next(&peer->ripc->grants, &cursor)))
        given_let_go(given, peer);
    struct taken *taken;
    cursor = 0;
    while ((taken = id_map_next(&peer->grants, &cursor))) {
        if (taken->uses) {
            taken->answered = true; /* its user frees it */
            taken->status = -EPIPE;
            continue;
        }
        id_map_take(&peer->grants, taken->key);
        free(taken);
        cursor = 0;
    }
    if (peer->grants.count == 0)
        id_map_fini(&peer->grants);
}

void grants_drop(struct ripc *ripc, struct ripc_service *service)
{
    size_t cursor = 0;
    struct given *given;
    while ((given = id_map_next(&ripc->grants, &cursor)))
        if (!service || given->service == service) {
            given_tell(given);
            given_free(ripc, given);
            cursor = 0;
        }
    if (ripc->grants.count == 0)
        id_map_fini(&ripc->grants);
}

/* A read or write of granted memory. */
struct access {
    struct ripc_service *service;
    const struct ripc_grant *grant;
    uint64_t offset;
    uint8_t *local;
    size_t size;
    bool write;
    struct remote *remote;
    struct peer *peer; /* used: it outlives us */
    struct taken *taken;
    struct transfer transfer;
    bool done;
    int status;
};

static int access_look_open(void *argument)
{
    struct access *access = argument;
    access->status = remote_advance(access->remote);
    return access->status != -EAGAIN;
}

static int access_look_answered(void *argument)
{
    const struct access *access = argument;
    return access->taken->answered;
}

static int access_look_done(void *argument)
{
    const struct access *access = argument;
    return access->done;
}

static void access_done(struct transfer *transfer, int status)
{
    struct access *access = container_of(transfer, struct access, transfer);
    access->done = true;
    access->status = status;
    doorbell_ring(&access->service->bell);
}

/* The grant as its owner shows it to this process. */
static int access_take(struct access *access)
{
    struct peer *peer = access->peer;
    struct taken *taken = id_map_get(&peer->grants, access->grant->key);
    if (taken) {
        access->taken = taken;
        return 0;
    }
    taken = calloc(1, sizeof *taken);
    if (!taken || !id_map_put(&peer->grants, access->grant->key, taken)) {
        free(taken);
        return -ENOMEM;
    }
    taken->key = access->grant->key;
    taken->transport = access->remote->transport;
    access->taken = taken;
    struct control_words words = {
        .kind = CONTROL_GRANT_ASK,
        .number = taken->key,
        .from = access->service->id,
        .to = access->grant->owner,
    };
    const char *name = access->service->ripc->transports[taken->transport]->ops->name;
    memccpy(words.transport, name, 0, sizeof words.transport - 1);
    int result = peer_say(peer, &words);
    if (result) {
        id_map_take(&peer->grants, taken->key);
        free(taken);
    }
    return result;
}

static int access_region(struct access *access, struct region **temporary, struct region **region)
{
    struct ripc *ripc = access->service->ripc;
    struct transport *transport = ripc->transports[access->taken->transport];
    struct extent *extent = pool_find(ripc->pool, access->local, access->size);
    *region = *temporary = NULL;
    if (transport->ops->abilities & TRANSPORT_LOCAL)
        return 0;
    if (extent)
        return context_region(ripc, access->taken->transport, extent, region);
    int result =
        transport->ops->region_open(transport, access->local, access->size, NULL, temporary);
    *region = *temporary;
    return result;
}

/* One piece; waits for it. */
static int access_piece(struct access *access, struct link *link, size_t at, size_t size,
                        struct region *region)
{
    uint64_t offset = access->offset + at;
    access->done = false;
    access->transfer.done = access_done;
    int result = access->write
                     ? link->ops->write(link, &access->taken->memory, offset, access->local + at,
                                        size, region, &access->transfer)
                     : link->ops->read(link, &access->taken->memory, offset, access->local + at,
                                       size, region, &access->transfer);
    if (result)
        return result == 1 ? 0 : result;
    if (!access->done) /* the transfer is on the caller's stack: no deadline ends this */
        waiting_until(access->service->ripc, &access->service->bell, access_look_done, access,
                      RIPC_FOREVER);
    return access->status;
}

static int access_move(struct access *access)
{
    struct taken *taken = access->taken;
    struct link *link = access->peer->links[taken->transport];
    struct region *temporary;
    struct region *region;
    if (!(taken->rights & (access->write ? MEMORY_WRITE : MEMORY_READ)))
        return -EACCES;
    if (access->offset > taken->memory.size || access->size > taken->memory.size - access->offset)
        return -ERANGE;
    int result = access_region(access, &temporary, &region);
    size_t piece = link->ops->abilities & TRANSPORT_LOCAL ? GRANT_PIECE : access->size;
    for (size_t at = 0; result == 0 && at < access->size; at += piece) {
        size_t left = access->size - at;
        result = taken->revoked ? -EACCES
                 : access->service->closing
                     ? -ECANCELED
                     : access_piece(access, link, at, left < piece ? left : piece, region);
        waiting_give_way(access->service->ripc);
    }
    if (temporary)
        temporary->ops->region_close(temporary);
    return result;
}

static void access_leave(struct access *access)
{
    struct peer *peer = access->peer;
    struct taken *taken = access->taken;
    if (--taken->uses == 0 && (taken->revoked || taken->status || peer->state == PEER_DEAD)) {
        if (taken->revoked)
            taken_say_revoked(peer, taken);
        else {
            id_map_take(&peer->grants, taken->key);
            free(taken);
        }
    }
}

static int access_run(struct access *access, int64_t deadline)
{
    struct ripc_service *service = access->service;
    int result = remote_get(service, access->grant->owner, &access->remote);
    if (result == 0) {
        access->remote->users++;
        result = service_wait(service, access_look_open, access, deadline);
        access->remote->users--;
        if (result == 1)
            result = access->status;
    }
    if (result)
        return result;
    access->peer = access->remote->peer;
    access->peer->users++;
    result = access_take(access);
    if (result == 0) {
        access->taken->uses++;
        result = service_wait(service, access_look_answered, access, deadline);
        if (result == 1)
            result = access->taken->status ? access->taken->status : access_move(access);
        access_leave(access);
    }
    access->peer->users--;
    peer_settle(access->peer);
    return result;
}

static int grant_access(struct ripc_service *service, const struct ripc_grant *grant,
                        uint64_t offset, void *local, size_t size, bool write, int64_t deadline)
{
    struct access access = {
        .service = service,
        .grant = grant,
        .offset = offset,
        .local = local,
        .size = size,
        .write = write,
    };
    lock_take(&service->ripc->lock);
    service->waiters++; /* all of it: the service stays until the last piece is there */
    int result = access_run(&access, deadline);
    service->waiters--;
    lock_drop(&service->ripc->lock);
    return result;
}

/* ---- the calls ---- */

int ripc_grant(struct ripc_service *service, ripc_id peer, void *base, size_t size, uint32_t rights,
               struct ripc_grant *grant)
{
    lock_take(&service->ripc->lock);
    int result = grant_give(service, peer, base, size, rights, grant);
    lock_drop(&service->ripc->lock);
    return result;
}

int ripc_revoke(struct ripc_service *service, const struct ripc_grant *grant, int64_t deadline)
{
    lock_take(&service->ripc->lock);
    int result = grant_revoke(service, grant->key, deadline);
    lock_drop(&service->ripc->lock);
    return result;
}

int ripc_read(struct ripc_service *service, const struct ripc_grant *grant, uint64_t offset,
              void *to, size_t size, int64_t deadline)
{
    return grant_access(service, grant, offset, to, size, false, deadline);
}

int ripc_write(struct ripc_service *service, const struct ripc_grant *grant, uint64_t offset,
               const void *from, size_t size, int64_t deadline)
{
    return grant_access(service, grant, offset, (void *)from, size, true, deadline);
}
