#include "ripc/memory/access.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "ripc/core/waiting.h"

#define GRANT_PIECE ((size_t)1 << 20) /* copied at a time; the lock is released in between */

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
    atomic_store_explicit(&taken->lost, true, memory_order_relaxed);
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
            atomic_store_explicit(&taken->lost, true, memory_order_relaxed);
            continue;
        }
        id_map_take(&peer->grants, taken->key);
        free(taken);
        cursor = 0;
    }
    if (peer->grants.count == 0)
        id_map_fini(&peer->grants);
}

/* ---- getting a grant ---- */

struct asking {
    struct ripc_service *service;
    const struct ripc_grant *grant;
    struct remote *remote;
    struct taken *taken;
    int status;
};

static int asking_check_open(void *argument)
{
    struct asking *asking = argument;
    asking->status = remote_advance(asking->remote);
    if (asking->status == -EAGAIN && remote_has_pipe(asking->remote))
        asking->status = 0; /* grants need the peer, not the right to send on the pipe */
    return asking->status != -EAGAIN;
}

static int asking_check_answered(void *argument)
{
    const struct asking *asking = argument;
    return asking->taken->answered;
}

/* Finds the grant among those of the peer, or adds it and asks the peer for its memory. */
static int asking_take(struct asking *asking, struct peer *peer)
{
    struct taken *taken = id_map_get(&peer->grants, asking->grant->key);
    if (taken) {
        asking->taken = taken;
        return 0;
    }
    taken = calloc(1, sizeof *taken);
    if (!taken || !id_map_put(&peer->grants, asking->grant->key, taken)) {
        free(taken);
        return -ENOMEM;
    }
    taken->key = asking->grant->key;
    taken->transport = asking->remote->transport;
    asking->taken = taken;
    struct control_words words = {
        .kind = CONTROL_GRANT_ASK,
        .number = taken->key,
        .from = asking->service->id,
        .to = asking->grant->owner,
    };
    const char *name = asking->service->ripc->transports[taken->transport]->ops->name;
    memccpy(words.transport, name, 0, sizeof words.transport - 1);
    int result = peer_say(peer, &words);
    if (result) {
        id_map_take(&peer->grants, taken->key);
        free(taken);
    }
    return result;
}

static void peer_leave(struct peer *peer)
{
    peer->users--;
    peer_settle(peer);
}

void taken_put(struct peer *peer, struct taken *taken)
{
    if (--taken->uses == 0 && (taken->revoked || taken->status || peer->state == PEER_DEAD)) {
        if (taken->revoked)
            taken_say_revoked(peer, taken);
        else {
            id_map_take(&peer->grants, taken->key);
            free(taken);
        }
    }
    peer_leave(peer);
}

int taken_get(struct ripc_service *service, const struct ripc_grant *grant, int64_t deadline,
              struct peer **peer, struct taken **taken)
{
    struct asking asking = {.service = service, .grant = grant};
    int result = remote_get(service, grant->owner, &asking.remote);
    if (result)
        return result;
    asking.remote->users++;
    result = service_wait(service, asking_check_open, &asking, deadline);
    asking.remote->users--;
    if (result == 1)
        result = asking.status;
    if (result)
        return result;
    *peer = asking.remote->peer;
    (*peer)->users++;
    result = asking_take(&asking, *peer);
    if (result) {
        peer_leave(*peer);
        return result;
    }
    *taken = asking.taken;
    asking.taken->uses++;
    result = service_wait(service, asking_check_answered, &asking, deadline);
    if (result == 1)
        result = asking.taken->status;
    if (result)
        taken_put(*peer, *taken);
    return result;
}

/* ---- a read or write ---- */

struct access {
    struct ripc_service *service;
    uint64_t offset;
    uint8_t *local;
    size_t size;
    bool write;
    struct peer *peer;
    struct taken *taken;
    struct transfer transfer;
    bool done;
    int status;
};

static int access_check_done(void *argument)
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

/* Moves one piece, and waits for it. */
static int access_piece(struct access *access, struct transport_link *link, size_t at, size_t size,
                        struct region *region)
{
    uint64_t offset = access->offset + at;
    access->done = false;
    access->transfer.done = access_done;
    int result = access->write
                     ? link->ops->memory->write(link, &access->taken->memory, offset,
                                                access->local + at, size, region, &access->transfer)
                     : link->ops->memory->read(link, &access->taken->memory, offset,
                                               access->local + at, size, region, &access->transfer);
    if (result)
        return result == 1 ? 0 : result;
    if (!access->done) /* the transfer is on the caller's stack: no deadline may end this wait */
        waiting_until(access->service->ripc, &access->service->bell, access_check_done, access,
                      RIPC_FOREVER);
    return access->status;
}

static int access_move(struct access *access)
{
    struct taken *taken = access->taken;
    struct transport_link *link = access->peer->links[taken->transport];
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

static int grant_access(struct ripc_service *service, const struct ripc_grant *grant,
                        uint64_t offset, void *local, size_t size, bool write, int64_t deadline)
{
    struct access access = {
        .service = service,
        .offset = offset,
        .local = local,
        .size = size,
        .write = write,
    };
    lock_take(&service->ripc->lock);
    service->waiters++; /* for the whole access: the service must not close before the last piece
                         * has arrived */
    int result = taken_get(service, grant, deadline, &access.peer, &access.taken);
    if (result == 0) {
        result = access_move(&access);
        taken_put(access.peer, access.taken);
    }
    service->waiters--;
    lock_drop(&service->ripc->lock);
    return result;
}

/* ---- the calls ---- */

int ripc_read(struct ripc_service *service, const struct ripc_grant *grant, uint64_t offset,
              void *to, size_t size, int64_t deadline)
{
    if (!context_is_ours(service->ripc))
        return -ECHILD;
    return grant_access(service, grant, offset, to, size, false, deadline);
}

int ripc_write(struct ripc_service *service, const struct ripc_grant *grant, uint64_t offset,
               const void *from, size_t size, int64_t deadline)
{
    if (!context_is_ours(service->ripc))
        return -ECHILD;
    return grant_access(service, grant, offset, (void *)from, size, true, deadline);
}
