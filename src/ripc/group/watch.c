#include "ripc/group/watch.h"

#include <errno.h>
#include <stdlib.h>

struct watch {
    ripc_id id;
    uint64_t context; /* of the holder; 0: the id is unclaimed */
    uint64_t incarnation;
    uint64_t lost; /* context of the binding that was lost last; 0: none */
    bool silent;   /* it is not certain that this binding has ended */
};

/* The binding of the holder is lost. */
static void watch_lose(struct ripc_service *service, struct watch *watch)
{
    watch->lost = watch->context;
    watch->context = 0;
    watch->silent = !peer_is_certain(service->ripc, watch->lost);
}

void watch_found(struct ripc_service *service, const struct claim *claim)
{
    struct watch *watch = id_map_get(&service->watches, claim->id);
    /* Context 0: a line of the operator's file, which does not say that a process is there. */
    if (!watch || !claim->address.context ||
        (watch->context && claim->incarnation <= watch->incarnation))
        return;
    enum ripc_event_kind kind = watch->context ? RIPC_MOVED : RIPC_UP;
    if (watch->context)
        watch_lose(service, watch);
    if (watch->lost == claim->address.context)
        watch->silent = false; /* the same context has bound the id again */
    watch->context = claim->address.context;
    watch->incarnation = claim->incarnation;
    service_tell(service, &(struct ripc_event){.kind = kind, .id = claim->id});
}

void watch_gone(struct ripc_service *service, const struct claim *claim)
{
    struct watch *watch = id_map_get(&service->watches, claim->id);
    if (!watch || !watch->context || watch->context != claim->address.context ||
        claim->incarnation < watch->incarnation) /* the id was bound again there */
        return;
    watch_lose(service, watch);
    service_tell(service, &(struct ripc_event){.kind = RIPC_DOWN, .id = claim->id});
}

void watches_judge(struct peer *peer)
{
    size_t cursor = 0, next;
    struct ripc_service *service;
    struct watch *watch;
    if (!peer->ended)
        return;
    while ((service = id_map_next(&peer->ripc->services, &cursor)))
        for (next = 0; (watch = id_map_next(&service->watches, &next));)
            if (watch->lost == peer->address.context)
                watch->silent = false;
}

void watches_drop(struct ripc_service *service)
{
    size_t cursor = 0;
    struct watch *watch;
    while ((watch = id_map_next(&service->watches, &cursor)))
        free(watch);
    id_map_fini(&service->watches);
}

static int watch_add(struct ripc_service *service, ripc_id id)
{
    if (!id)
        return -EINVAL;
    if (id_map_get(&service->watches, id))
        return -EALREADY;
    struct watch *watch = calloc(1, sizeof *watch);
    if (!watch || !id_map_put(&service->watches, id, watch)) {
        free(watch);
        return -ENOMEM;
    }
    watch->id = id;
    names_ask(service->ripc->names, id); /* this also calls watch_found with claims that are already
                                          * known */
    return 0;
}

int ripc_watch(struct ripc_service *service, ripc_id id)
{
    if (!context_is_ours(service->ripc))
        return -ECHILD;
    lock_take(&service->ripc->lock);
    int result = watch_add(service, id);
    lock_drop(&service->ripc->lock);
    return result;
}

int watch_state(struct ripc_service *service, ripc_id id, uint64_t *incarnation, bool *is_up)
{
    lock_take(&service->ripc->lock);
    const struct watch *watch = id_map_get(&service->watches, id);
    if (watch) {
        *incarnation = watch->incarnation;
        *is_up = watch->context != 0;
    }
    lock_drop(&service->ripc->lock);
    return watch ? 0 : -ENOENT;
}

bool watch_is_silent(struct ripc_service *service, ripc_id id)
{
    lock_take(&service->ripc->lock);
    const struct watch *watch = id_map_get(&service->watches, id);
    bool silent = watch && watch->silent;
    lock_drop(&service->ripc->lock);
    return silent;
}

int ripc_unwatch(struct ripc_service *service, ripc_id id)
{
    if (!context_is_ours(service->ripc))
        return -ECHILD;
    lock_take(&service->ripc->lock);
    struct watch *watch = id_map_take(&service->watches, id);
    free(watch);
    lock_drop(&service->ripc->lock);
    return watch ? 0 : -ENOENT;
}
