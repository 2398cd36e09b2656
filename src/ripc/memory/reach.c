#include "ripc/memory/reach.h"

#include <errno.h>
#include <stdlib.h>

#include "base/check.h"
#include "ripc/core/waiting.h"
#include "ripc/memory/access.h"
#include "ripc/memory/grant.h"

#define REACH_PATIENCE_NSEC (5 * NSEC_PER_SEC) /* for transfers to a peer that may be hung */
#define REACH_STEPS         64 /* calls of reach_progress between polls of the sockets */

struct reach {
    struct ripc *ripc;
    struct peer *peer;   /* kept by taken_get, with its answer */
    struct taken *taken; /* its `lost` also serves as ours */
    struct transport_link *link;
    struct mapping mapping; /* base NULL: not mapped */
    unsigned under_way;     /* transfers */
};

/* ---- opening and closing ---- */

static int reach_map(struct reach *reach)
{
    const struct memory_ops *memory = reach->link->ops->memory;
    const struct taken *taken = reach->taken;
    if (taken->revoked)
        return -EACCES;
    if (!memory || !memory->map)
        return 0;
    int result =
        memory->map(reach->link, &taken->memory, taken->rights & MEMORY_WRITE, &reach->mapping);
    return result == -EOPNOTSUPP ? 0 : result;
}

static int reach_take(struct reach *reach, struct ripc_service *service,
                      const struct ripc_grant *grant, int64_t deadline)
{
    int result = taken_get(service, grant, deadline, &reach->peer, &reach->taken);
    if (result)
        return result;
    reach->link = reach->peer->links[reach->taken->transport];
    result = reach_map(reach);
    if (result) {
        taken_put(reach->peer, reach->taken);
        return result;
    }
    reach->ripc->reach_count++;
    return 0;
}

int reach_open(struct ripc_service *service, const struct ripc_grant *grant, int64_t deadline,
               struct reach **out)
{
    struct reach *reach = calloc(1, sizeof *reach);
    if (!reach)
        return -ENOMEM;
    reach->ripc = service->ripc;
    lock_take(&service->ripc->lock);
    service->waiters++; /* keeps the service until the wait is over */
    int result = reach_take(reach, service, grant, deadline);
    service->waiters--;
    lock_drop(&service->ripc->lock);
    if (result)
        free(reach);
    else
        *out = reach;
    return result;
}

/* Waits for the transfers. A peer that accepts nothing but does not die either is given up: its
 * lifeline is cut, which ends the transfers. */
static void reach_finish(struct reach *reach)
{
    nsec until = clock_after(REACH_PATIENCE_NSEC);
    while (reach->under_way) {
        waiting_progress(reach->ripc);
        if (!reach->under_way)
            return;
        if (clock_now() >= until && reach->peer->state == PEER_UP)
            lifeline_cut(reach->peer->line, -ETIMEDOUT);
        waiting_pause(reach->ripc);
    }
}

void reach_close(struct reach *reach)
{
    struct ripc *ripc = reach->ripc;
    lock_take(&ripc->lock);
    reach_finish(reach);
    if (reach->mapping.base)
        reach->link->ops->memory->unmap(&reach->mapping);
    taken_put(reach->peer, reach->taken);
    ripc->reach_count--;
    lock_drop(&ripc->lock);
    free(reach);
}

void reach_void(struct ripc_service *service, const struct ripc_grant *grant)
{
    lock_take(&service->ripc->lock);
    grant_void(service, grant->key);
    lock_drop(&service->ripc->lock);
}

/* ---- properties ---- */

void *reach_mapping(const struct reach *reach)
{
    return reach->mapping.base;
}

size_t reach_size(const struct reach *reach)
{
    return (size_t)reach->taken->memory.size;
}

bool reach_is_lost(const struct reach *reach)
{
    return atomic_load_explicit(&reach->taken->lost, memory_order_relaxed);
}

bool reach_is_polled(const struct reach *reach)
{
    const struct transport *transport = reach->ripc->transports[reach->taken->transport];
    return (transport->ops->abilities & TRANSPORT_POLLED) && !transport->unseen;
}

/* ---- transfers ---- */

/* Internal fields of a transfer under way: the reach, and the memory of ours that it uses. */
enum { TRANSFER_REACH, TRANSFER_LOCAL };

static void reach_done(struct transfer *transfer, int status)
{
    struct reach *reach = transfer->internal[TRANSFER_REACH];
    assert(reach->under_way > 0);
    reach->under_way--;
    pool_unuse(reach->ripc->pool, transfer->internal[TRANSFER_LOCAL]);
    transfer->done = transfer->outer_done;
    transfer->done(transfer, status);
}

/* Starts a transfer by a transport that needs a region of our memory and completes later. */
static int reach_start(struct reach *reach, uint64_t offset, void *local, size_t size, bool writing,
                       struct transfer *transfer)
{
    struct transport_link *link = reach->link;
    const struct remote_memory *memory = &reach->taken->memory;
    struct pool *pool = reach->ripc->pool;
    struct region *region;
    struct extent *extent = pool_use(pool, local, size);
    if (!extent)
        return -EFAULT;
    transfer->outer_done = transfer->done;
    transfer->internal[TRANSFER_REACH] = reach;
    transfer->internal[TRANSFER_LOCAL] = local;
    transfer->done = reach_done;
    int result = context_region(reach->ripc, reach->taken->transport, extent, &region);
    if (result == 0)
        result = writing
                     ? link->ops->memory->write(link, memory, offset, local, size, region, transfer)
                     : link->ops->memory->read(link, memory, offset, local, size, region, transfer);
    if (result == 0) {
        reach->under_way++;
        return 0;
    }
    transfer->done = transfer->outer_done;
    pool_unuse(pool, local);
    return result;
}

static int reach_move(struct reach *reach, uint64_t offset, void *local, size_t size, bool writing,
                      struct transfer *transfer)
{
    struct transport_link *link = reach->link;
    const struct taken *taken = reach->taken;
    if (taken->revoked)
        return -EACCES;
    if (taken->status)
        return taken->status;
    if (!(taken->rights & (writing ? MEMORY_WRITE : MEMORY_READ)))
        return -EACCES;
    if (offset > taken->memory.size || size > taken->memory.size - offset)
        return -ERANGE;
    if (size == 0)
        return 1;
    if (!(link->ops->abilities & TRANSPORT_LOCAL))
        return reach_start(reach, offset, local, size, writing, transfer);
    return writing
               ? link->ops->memory->write(link, &taken->memory, offset, local, size, NULL, transfer)
               : link->ops->memory->read(link, &taken->memory, offset, local, size, NULL, transfer);
}

int reach_write(struct reach *reach, uint64_t offset, const void *local, size_t size,
                struct transfer *transfer)
{
    lock_take(&reach->ripc->lock);
    int result = reach_move(reach, offset, (void *)(uintptr_t)local, size, true, transfer);
    lock_drop(&reach->ripc->lock);
    return result;
}

int reach_read(struct reach *reach, uint64_t offset, void *local, size_t size,
               struct transfer *transfer)
{
    lock_take(&reach->ripc->lock);
    int result = reach_move(reach, offset, local, size, false, transfer);
    lock_drop(&reach->ripc->lock);
    return result;
}

/* ---- waiting for writes of peers ---- */

int reach_progress(struct ripc *ripc)
{
    int moved = 0;
    /* A thread that has the lock makes progress itself, or is done soon. */
    if (atomic_load_explicit(&ripc->moved_links, memory_order_relaxed) && lock_try(&ripc->lock)) {
        moved = waiting_progress(ripc);
        waiting_give_way(ripc); /* otherwise the keeper would never get the lock from a
                                 * caller that loops */
        lock_drop(&ripc->lock);
    }
    if (ripc->manual &&
        atomic_fetch_add_explicit(&ripc->reaching, 1, memory_order_relaxed) % REACH_STEPS == 0)
        moved += poller_step(ripc->poller, 0);
    return moved;
}

bool reach_needs_progress(struct ripc *ripc)
{
    return atomic_load_explicit(&ripc->seen_links, memory_order_relaxed) > 0;
}

void reach_arm(struct ripc *ripc)
{
    if (!atomic_load_explicit(&ripc->moved_links, memory_order_relaxed))
        return;
    lock_take(&ripc->lock);
    waiting_arm(ripc);
    lock_drop(&ripc->lock);
}

void reach_bell_add(struct ripc *ripc, struct doorbell *bell)
{
    lock_take(&ripc->lock);
    list_append(&ripc->bells, &bell->polled);
    lock_drop(&ripc->lock);
}

void reach_bell_remove(struct ripc *ripc, struct doorbell *bell)
{
    lock_take(&ripc->lock);
    list_remove(&bell->polled);
    lock_drop(&ripc->lock);
}
