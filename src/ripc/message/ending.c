#include "ripc/message/ending.h"

#include <errno.h>

#include "base/check.h"
#include "ripc/message/incoming.h"

#define ENDING_ORPHANS_MAX 1024 /* unread pipes of dead peers that a service keeps */
#define ENDING_CANCELS_MAX 1024 /* cancelled frames not yet seen, for one pipe */

/* No more answers will come for items of this arrival. */
static void arrival_break_off(struct arrival *arrival, int status)
{
    arrival->held++; /* so that the arrival is not closed meanwhile */
    list_each(&arrival->incomings, node)
        incoming_break_off(container_of(node, struct incoming, node), status);
    arrival->held--;
}

void arrival_end(struct peer *peer, struct control_words *words)
{
    peer_hear_out(peer);
    struct arrival *arrival = arrival_of_pipe(peer, words->pipe);
    if (!arrival)
        return;
    arrival->ended = arrival->closed = true;
    arrival_break_off(arrival, -ECANCELED);
    doorbell_ring(&arrival->service->bell);
    arrival_settle(arrival);
}

/* Counts the messages that the program will not get, before the arrival is closed. */
static void arrival_count_unread(struct arrival *arrival)
{
    uint64_t taken = arrival_taken(arrival);
    if (arrival->service->notified)
        return; /* these are notifications */
    while (arrival_pull(arrival) > 0)
        ;
    arrival->service->ripc->stats.dropped_unread += arrival->pulled - taken;
}

static bool arrival_is_orphan(const struct arrival *arrival)
{
    return arrival->peer->state == PEER_DEAD && !arrival->busy && !arrival->held &&
           list_is_empty(&arrival->incomings);
}

/* A service that never receives must not keep the messages of all its dead senders. */
static void arrivals_limit(struct ripc_service *service)
{
    unsigned orphans = 0;
    list_each(&service->arrivals, node) orphans +=
        arrival_is_orphan(container_of(node, struct arrival, service_node));
    list_each(&service->arrivals, node)
    {
        struct arrival *arrival = container_of(node, struct arrival, service_node);
        if (orphans <= ENDING_ORPHANS_MAX)
            break;
        if (!arrival_is_orphan(arrival))
            continue;
        arrival_count_unread(arrival);
        arrival_close(arrival);
        orphans--;
    }
}

void arrivals_orphan(struct peer *peer)
{
    struct ripc *ripc = peer->ripc;
    list_each(&peer->arrivals, node)
    {
        struct arrival *arrival = container_of(node, struct arrival, peer_node);
        arrival->ended = true;
        arrival_break_off(arrival, -EPIPE);
        doorbell_ring(&arrival->service->bell);
        arrival_settle(arrival);
    }
    /* Only now, because this may close any arrival. */
    size_t cursor = 0;
    struct ripc_service *service;
    while ((service = id_map_next(&ripc->services, &cursor)))
        arrivals_limit(service);
}

void arrival_cancel(struct peer *peer, struct control_words *words)
{
    uint64_t token = words->number;
    struct arrival *arrival = arrival_of_pipe(peer, words->pipe);
    if (!arrival || token == 0)
        return;
    list_each(&arrival->incomings, node)
    {
        struct incoming *incoming = container_of(node, struct incoming, node);
        if (incoming->token == token) {
            incoming_refuse(incoming, -ECANCELED);
            doorbell_ring(&arrival->service->bell);
            return;
        }
    }
    /* A sender's tokens increase. A token not yet seen is remembered; an older one is already
     * done. */
    if (token > arrival->token_last && (arrival->canceled.count >= ENDING_CANCELS_MAX ||
                                        !id_map_put(&arrival->canceled, token, arrival)))
        peer_condemn(peer); /* more than can be in flight */
}

/* Memory that a transfer writes to cannot be released before the transfer ends, at the latest with
 * the peer's death. */
static void arrival_finish(struct arrival *arrival)
{
    struct ripc *ripc = arrival->service->ripc;
    arrival->held++; /* so that the arrival is not closed meanwhile */
    while (!list_is_empty(&arrival->incomings)) {
        list_each(&arrival->incomings, node)
        {
            struct incoming *incoming = container_of(node, struct incoming, node);
            incoming_refuse(incoming, -EPIPE);
            incoming_release(incoming);
        }
        if (list_is_empty(&arrival->incomings))
            break;
        waiting_progress(ripc);
        waiting_pause(ripc);
    }
    arrival->held--;
}

void arrivals_close(struct ripc_service *service)
{
    while (!list_is_empty(&service->arrivals)) {
        struct arrival *arrival =
            container_of(service->arrivals.next, struct arrival, service_node);
        arrival_finish(arrival);
        arrival->incoming = NULL;
        if (!arrival->ended)
            peer_say(arrival->peer, &(struct control_words){.kind = CONTROL_GONE,
                                                            .pipe = arrival->pipe,
                                                            .number = arrival_taken(arrival),
                                                            .item = arrival->acknowledged,
                                                            .status = -EPIPE});
        arrival_count_unread(arrival);
        arrival_close(arrival);
    }
}
