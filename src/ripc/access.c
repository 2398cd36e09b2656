#include "ripc/access.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "ripc/waiting.h"

#define GRANT_PIECE ((size_t)1 << 20) /* copied under the lock, between which others get in */

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

void access_forget(struct peer *peer)
{
    size_t cursor = 0;
    struct taken *taken;
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
    int result = context_region_for(access->service->ripc, taken->transport, access->local,
                                    access->size, &region, &temporary);
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
