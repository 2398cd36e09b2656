#include "ripc/message/retiring.h"

#include <errno.h>

#include "ripc/group/group.h"

void arrival_counted(struct peer *peer, struct control_words *words)
{
    struct arrival *arrival = arrival_of_pipe(peer, words->pipe);
    if (!arrival)
        return; /* closed in the meantime */
    if (!arrival->service->retiring || arrival->counted || words->number < arrival->pulled) {
        peer_condemn(peer);
        return;
    }
    arrival->counted = true;
    arrival->expected = words->number;
    doorbell_ring(&arrival->service->bell);
}

/* Frames of a sender that has ended are all in the pipe. */
static bool arrival_is_drained(struct arrival *arrival)
{
    if (arrival->busy || arrival->incoming || arrival->next < arrival->count)
        return false;
    if (arrival->ended)
        return arrival_pull(arrival) <= 0;
    return arrival->counted && arrival_taken(arrival) >= arrival->expected;
}

bool arrivals_are_drained(struct ripc_service *service)
{
    list_each(&service->arrivals, node)
    {
        if (!arrival_is_drained(container_of(node, struct arrival, service_node)))
            return false;
    }
    return true;
}

/* A sender that does not read its lifeline is condemned. */
static void arrivals_retire(struct ripc_service *service)
{
    list_each(&service->arrivals, node)
    {
        const struct arrival *arrival = container_of(node, struct arrival, service_node);
        if (!arrival->ended)
            peer_answer(arrival->peer,
                        &(struct control_words){.kind = CONTROL_RETIRE,
                                                .pipe = arrival->pipe,
                                                .item = service->moves ? RIPC_MOVES : 0});
    }
}

int ripc_retire(struct ripc_service *service, uint32_t flags)
{
    struct ripc *ripc = service->ripc;
    if (!context_is_ours(ripc))
        return -ECHILD;
    if (flags & ~(uint32_t)RIPC_MOVES)
        return -EINVAL;
    lock_take(&ripc->lock);
    int result = service->closing ? -ECANCELED : service->retiring ? -EALREADY : 0;
    if (result == 0) {
        service->retiring = true;
        service->moves = flags & RIPC_MOVES;
        groups_withdraw(service);
        arrivals_retire(service);
        trace_event(ripc->trace, TRACE_RETIRE, service->id, 0, 0);
        doorbell_ring(&service->bell); /* a receive may be waiting, and nothing may come */
    }
    lock_drop(&ripc->lock);
    return result;
}
