#include "ripc/core/context.h"

#include <errno.h>

#include "base/check.h"
#include "ripc/core/service.h"
#include "ripc/core/waiting.h"
#include "transport/udp/udp.h"

#define LIST_ANSWERS_NSEC (150 * 1000 * 1000LL) /* answers from the network come by then */

/* ---- memory and bells ---- */

int context_region(struct ripc *ripc, unsigned index, struct extent *extent, struct region **region)
{
    assert(extent && index < ripc->transport_count);
    struct transport *transport = ripc->transports[index];
    if (!extent->regions[index]) {
        struct region *opened;
        int result =
            transport_region_open(transport, extent->base, extent->size, extent->file, &opened);
        if (result)
            return result;
        extent->regions[index] = opened;
    }
    *region = extent->regions[index];
    return 0;
}

int context_region_for(struct ripc *ripc, unsigned index, void *base, size_t size,
                       struct region **region, struct region **temporary)
{
    struct transport *transport = ripc->transports[index];
    *region = *temporary = NULL;
    if ((transport->ops->abilities & TRANSPORT_LOCAL) || size == 0)
        return 0;
    struct extent *extent = pool_find(ripc->pool, base, size);
    if (extent)
        return context_region(ripc, index, extent, region);
    int result = transport_region_open(transport, base, size, NULL, temporary);
    *region = *temporary;
    return result;
}

static int context_extent_open(void *owner, struct extent *extent)
{
    return 0; /* regions are opened when first used */
}

static void context_extent_close(void *owner, struct extent *extent)
{
    for (unsigned i = 0; i < CONTEXT_TRANSPORT_MAX; i++) {
        struct region *region = extent->regions[i];
        if (region)
            region->ops->region_close(region);
        extent->regions[i] = NULL;
    }
}

const struct pool_events context_pool_events = {
    .extent_open = context_extent_open,
    .extent_close = context_extent_close,
};

void context_count_link(struct ripc *ripc, unsigned index, int change)
{
    const struct transport *transport = ripc->transports[index];
    ripc->link_counts[index] += (unsigned)change;
    if (!transport->ops->progress || !transport->ops->memory)
        return;
    atomic_fetch_add_explicit(&ripc->moved_links, (unsigned)change, memory_order_relaxed);
    if (!transport->unseen)
        atomic_fetch_add_explicit(&ripc->seen_links, (unsigned)change, memory_order_relaxed);
}

void context_wake(struct ripc *ripc)
{
    size_t cursor = 0;
    struct ripc_service *service;
    while ((service = id_map_next(&ripc->services, &cursor)))
        doorbell_ring(&service->bell);
}

/* ---- calls ---- */

int64_t ripc_now(void)
{
    return clock_now();
}

int64_t ripc_after(int64_t delay)
{
    return clock_after(delay);
}

/* Only udp has a port to which any host can send. */
static uint64_t context_garbage(const struct ripc *ripc)
{
    uint64_t garbage = 0;
    for (unsigned i = 0; i < ripc->transport_count; i++)
        if (ripc->transports[i]->ops == &transport_udp) {
            struct datagram_counts counts;
            udp_count(ripc->transports[i], &counts);
            garbage += counts.garbage;
        }
    return garbage;
}

const char *ripc_folder(const struct ripc *ripc)
{
    return ripc->folder; /* constant while the context is open */
}

int ripc_stats(struct ripc *ripc, struct ripc_stats *stats)
{
    struct names_counts names;
    struct pool_counts pool;
    if (!context_is_ours(ripc))
        return -ECHILD;
    lock_take(&ripc->lock);
    names_count(ripc->names, &names);
    pool_count(ripc->pool, &pool);
    *stats = ripc->stats;
    stats->claims_forged = names.forged;
    stats->claims_conflict = names.conflicts;
    stats->garbage = names.garbage + lifelines_garbage(ripc->lines) + context_garbage(ripc);
    stats->buffers = pool.buffers;
    stats->buffer_bytes = pool.bytes;
    for (unsigned i = 0; i < ripc->transport_count; i++)
        stats->wakes += ripc->transports[i]->wakes;
    lock_drop(&ripc->lock);
    return 0;
}

/* ---- the list of names ---- */

struct listing {
    struct ripc *ripc;
    ripc_list_callback *callback;
    void *argument;
};

static void list_one(void *argument, const struct claim *claim)
{
    const struct listing *listing = argument;
    struct ripc_name name = {
        .id = claim->id,
        .member = claim->member,
        .context = claim->address.context,
        .incarnation = claim->incarnation,
        .group = claim->group,
        .local = context_address_is_here(&claim->address),
    };
    name.pid = name.local ? claim->pid : 0;
    context_address_text(&claim->address, name.address, sizeof name.address);
    listing->callback(listing->argument, &name);
}

static void list_none(void *argument, const struct claim *claim)
{
}

int ripc_list(struct ripc *ripc, ripc_list_callback *callback, void *argument)
{
    if (!context_is_ours(ripc))
        return -ECHILD;
    struct listing listing = {ripc, callback, argument};
    lock_take(&ripc->lock);
    if (names_answer_later(ripc->names)) {
        names_list(ripc->names, list_none, NULL); /* asks all contexts */
        for (nsec end = clock_after(LIST_ANSWERS_NSEC); clock_now() < end;)
            waiting_pause(ripc);
    }
    int result = names_list(ripc->names, list_one, &listing);
    lock_drop(&ripc->lock);
    return result;
}
