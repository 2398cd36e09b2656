#include "ripc/message/arrival.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"

#define ARRIVALS_MAX 4096 /* pipes of one peer: each costs memory and address space */

static int arrival_transport(const struct ripc *ripc, const char *name, unsigned *index)
{
    for (*index = 0; *index < ripc->transport_count; ++*index)
        if (strcmp(ripc->transports[*index]->ops->name, name) == 0)
            return 0;
    return -EOPNOTSUPP;
}

struct arrival *arrival_of_pipe(struct peer *peer, uint64_t pipe)
{
    return id_map_get(&peer->arrival_map, pipe);
}

static int arrival_new(struct peer *peer, struct control_words *words, struct parcel *answer)
{
    struct ripc *ripc = peer->ripc;
    struct ripc_service *service = id_map_get(&ripc->services, words->to);
    unsigned transport;
    struct transport_link *link;
    if (service && service->retiring)
        return service->moves ? -ESHUTDOWN : -ENOENT;
    if (!service || service->closing) {
        ripc->stats.dropped_unknown++;
        return -ENOENT;
    }
    if (arrival_of_pipe(peer, words->pipe))
        return -EPROTO;
    if (peer->arrival_count >= ARRIVALS_MAX)
        return -ECONNREFUSED;
    int result = arrival_transport(ripc, words->transport, &transport);
    if (result == 0)
        result = peer_link(peer, transport, &link);
    if (result)
        return result;
    struct arrival *arrival = calloc(1, sizeof *arrival);
    if (!arrival || !id_map_put(&peer->arrival_map, words->pipe, arrival)) {
        free(arrival);
        return -ENOMEM;
    }
    result =
        link->ops->pipes->inlet_open(link, &service->bell, &words->parcel, answer, &arrival->inlet);
    if (result) {
        id_map_take(&peer->arrival_map, words->pipe);
        free(arrival);
        return result;
    }
    arrival->service = service;
    arrival->peer = peer;
    arrival->transport = transport;
    arrival->from = words->from;
    arrival->pipe = words->pipe;
    list_init(&arrival->incomings);
    list_append(&service->arrivals, &arrival->service_node);
    list_append(&peer->arrivals, &arrival->peer_node);
    service->arrival_count++;
    peer->arrival_count++;
    doorbell_ring(&service->bell); /* frames may have arrived already */
    return 0;
}

void arrival_open(struct peer *peer, struct control_words *words)
{
    struct control_words answer = {.kind = CONTROL_ANSWER, .pipe = words->pipe};
    answer.status = arrival_new(peer, words, &answer.parcel);
    int result = peer_say(peer, &answer);
    if (answer.status == 0 && lifeline_lacks(result)) {
        /* The answer has to wait until the peer reads, and we lack copies of its descriptors. */
        arrival_close(arrival_of_pipe(peer, words->pipe));
        parcel_fini(&answer.parcel);
        answer.status = result;
        result = peer_say(peer, &answer);
    }
    peer_answered(peer, result);
    if (answer.status == -EPROTO)
        peer_condemn(peer);
    parcel_fini(&answer.parcel);
}

void arrival_close(struct arrival *arrival)
{
    struct peer *peer = arrival->peer;
    assert(list_is_empty(&arrival->incomings));
    arrival->inlet->ops->inlet_close(arrival->inlet);
    list_remove(&arrival->service_node);
    list_remove(&arrival->peer_node);
    id_map_take(&peer->arrival_map, arrival->pipe);
    arrival->service->arrival_count--;
    peer->arrival_count--;
    id_map_fini(&arrival->canceled);
    id_map_fini(&arrival->withdrawn);
    id_map_fini(&arrival->refused);
    free(arrival);
    peer_settle(peer);
}

void arrival_settle(struct arrival *arrival)
{
    if (!arrival->ended || arrival->busy || arrival->held || arrival->next < arrival->count ||
        !list_is_empty(&arrival->incomings))
        return;
    if (arrival_pull(arrival) <= 0)
        arrival_close(arrival);
}

size_t arrivals_owe(struct ripc_service *service)
{
    size_t owed = 0;
    list_each(&service->arrivals, node)
    {
        const struct arrival *arrival = container_of(node, struct arrival, service_node);
        if (!arrival->ended && arrival->inlet->ops->inlet_owes)
            owed += arrival->inlet->ops->inlet_owes(arrival->inlet);
    }
    return owed;
}
