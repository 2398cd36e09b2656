#include "ripc/group/watch.h"

#include <errno.h>
#include <stdlib.h>

#define AGAIN_FIRST_NSEC (1 * 1000 * 1000LL)
#define AGAIN_LAST_NSEC  (64 * 1000 * 1000LL)

struct watch {
    ripc_id id;
    struct ripc *ripc;
    uint64_t context; /* of the holder; 0: the id is unclaimed */
    uint64_t incarnation;
    bool here;      /* the holder's context is in our folder: the lock of its file tells its end */
    bool lost_here; /* the same of the context `lost` */
    bool silent;    /* it is not certain that the binding by `lost` has ended */
    uint64_t lost;  /* context of the binding that was lost last; 0: none */
    struct poller_timer again; /* asks for the lock of `lost` again */
    nsec wait;
};

/* Asks for the lock of the context that had the lost binding. */
static void watch_ask(struct watch *watch)
{
    if (watch->silent && watch->lost_here && lifelines_alive(watch->ripc->lines, watch->lost) == 0)
        watch->silent = false;
}

/* If the timer cannot be set, the next call of watch_is_silent asks. */
static void watch_ask_later(struct watch *watch)
{
    if (watch->silent && watch->lost_here && watch->wait <= AGAIN_LAST_NSEC)
        (void)!poller_set(watch->ripc->poller, &watch->again, clock_after(watch->wait));
    watch->wait *= 2;
}

/* A process that dies ends its lines a moment before it releases the lock of its context. */
static void watch_again(void *owner)
{
    struct watch *watch = owner;
    watch_ask(watch);
    watch_ask_later(watch);
    if (!watch->silent)
        context_wake(watch->ripc);
}

static void watch_free(struct watch *watch)
{
    if (watch)
        poller_unset(watch->ripc->poller, &watch->again);
    free(watch);
}

/* The binding of the holder is lost. `over`: the holder gave it up. */
static void watch_lose(struct watch *watch, bool over)
{
    watch->lost = watch->context;
    watch->lost_here = watch->here;
    watch->context = 0;
    watch->silent = !over && !peer_is_certain(watch->ripc, watch->lost);
    watch->wait = AGAIN_FIRST_NSEC;
    watch_ask(watch);
    watch_ask_later(watch);
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
        watch_lose(watch, false);
    if (watch->lost == claim->address.context)
        watch->silent = false; /* the same context has bound the id again */
    watch->context = claim->address.context;
    watch->incarnation = claim->incarnation;
    watch->here = context_address_is_here(&claim->address) &&
                  lifelines_alive(service->ripc->lines, watch->context) > 0;
    service_tell(service, &(struct ripc_event){.kind = kind, .id = claim->id});
}

void watch_gone(struct ripc_service *service, const struct claim *claim)
{
    struct watch *watch = id_map_get(&service->watches, claim->id);
    if (!watch || !watch->context || watch->context != claim->address.context ||
        claim->incarnation < watch->incarnation) /* the id was bound again there */
        return;
    watch_lose(watch, names_is_over(service->ripc->names, claim));
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
        watch_free(watch);
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
    watch->ripc = service->ripc;
    watch->again = (struct poller_timer){.at = NSEC_NEVER, .fired = watch_again, .owner = watch};
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
    struct watch *watch = id_map_get(&service->watches, id);
    if (watch)
        watch_ask(watch);
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
    bool found = watch != NULL;
    watch_free(watch);
    lock_drop(&service->ripc->lock);
    return found ? 0 : -ENOENT;
}
