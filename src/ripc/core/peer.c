#include "ripc/core/peer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"

#define HEAR_OUT_TURNS 64 /* more than a window of frames; a limit, as a peer may keep sending */

static struct peer *peer_new(struct ripc *ripc, const struct context_address *address,
                             struct lifeline *line)
{
    struct peer *peer = calloc(1, sizeof *peer);
    if (!peer)
        return NULL;
    peer->ripc = ripc;
    peer->address = *address;
    peer->line = line;
    list_init(&peer->remotes);
    list_init(&peer->arrivals);
    list_append(&ripc->peers, &peer->node);
    return peer;
}

static void peer_free(struct peer *peer)
{
    assert(list_is_empty(&peer->remotes) && list_is_empty(&peer->arrivals) && !peer->users);
    for (unsigned i = 0; i < CONTEXT_TRANSPORT_MAX; i++)
        if (peer->links[i]) {
            peer->links[i]->ops->link_close(peer->links[i]);
            context_count_link(peer->ripc, i, -1);
        }
    events_emit(peer->ripc, peer_freed, peer);
    id_map_fini(&peer->pipes);
    id_map_fini(&peer->arrival_map);
    list_remove(&peer->node);
    free(peer);
}

void peer_settle(struct peer *peer)
{
    if (peer->state != PEER_DEAD || !list_is_empty(&peer->arrivals))
        return;
    events_emit(peer->ripc, peer_drained, peer);
    if (list_is_empty(&peer->remotes) && !peer->users)
        peer_free(peer);
}

void peer_free_all(struct ripc *ripc)
{
    list_each(&ripc->peers, node)
    {
        struct peer *peer = container_of(node, struct peer, node);
        peer->users = 0;
        peer_free(peer);
    }
}

/* For a name from a file, only the address may be known, not the context. */
static bool peer_is_at(const struct peer *peer, const struct context_address *address)
{
    if (address->context)
        return peer->address.context == address->context;
    return context_address_equal(&peer->address, address) ||
           context_address_equal(&peer->dialled, address);
}

int peer_get(struct ripc *ripc, const struct context_address *address, struct peer **out)
{
    list_each(&ripc->peers, node)
    {
        struct peer *peer = container_of(node, struct peer, node);
        if (peer->state != PEER_DEAD && peer_is_at(peer, address)) {
            *out = peer;
            return 0;
        }
    }
    struct peer *peer = peer_new(ripc, address, NULL);
    if (!peer)
        return -ENOMEM;
    int result = lifeline_connect(ripc->lines, address, &peer->line);
    if (result) {
        peer_free(peer);
        return result;
    }
    lifeline_set_data(peer->line, peer);
    peer->dialled = *address;
    *out = peer;
    return 0;
}

bool peer_is_certain(const struct ripc *ripc, uint64_t context)
{
    if (context == ripc->address.context)
        return true;
    list_each(&ripc->peers, node)
    {
        const struct peer *peer = container_of(node, struct peer, node);
        if (peer->address.context == context &&
            (peer->state == PEER_DEAD ? peer->ended
                                      : peer->state == PEER_UP && lifeline_local(peer->line)))
            return true;
    }
    return false;
}

/* The card is a list of (name, description), each preceded by its length. */
static const uint8_t *peer_description(const struct peer *peer, const char *name, size_t *size)
{
    struct reader in = reader_make(peer->card, peer->card_size);
    while (in.left) {
        size_t name_size = read_u8(&in);
        const uint8_t *its_name = read_bytes(&in, name_size);
        *size = read_u8(&in);
        const uint8_t *description = read_bytes(&in, *size);
        if (in.failed)
            return NULL;
        if (name_size == strlen(name) && memcmp(its_name, name, name_size) == 0)
            return description;
    }
    return NULL;
}

int peer_link(struct peer *peer, unsigned index, struct transport_link **link)
{
    if (peer->state != PEER_UP)
        return -EPIPE;
    if (!peer->links[index]) {
        struct transport *transport = peer->ripc->transports[index];
        size_t size;
        const uint8_t *description = peer_description(peer, transport->ops->name, &size);
        if (!description)
            return -EHOSTUNREACH;
        int result = transport->ops->link_open(transport, peer->line, &peer->address, description,
                                               size, &peer->links[index]);
        if (result)
            return result;
        context_count_link(peer->ripc, index, 1);
    }
    *link = peer->links[index];
    return 0;
}

int peer_say(struct peer *peer, const struct control_words *words)
{
    if (peer->state != PEER_UP)
        return -EPIPE;
    struct control control;
    control_write(&control, words);
    return lifeline_send(peer->line, &control);
}

void peer_answer(struct peer *peer, const struct control_words *words)
{
    peer_answered(peer, peer_say(peer, words));
}

void peer_answered(struct peer *peer, int result)
{
    if (lifeline_lacks(result))
        lifeline_cut(peer->line, result); /* no fault of the peer, but it would wait for ever */
    else if (result < 0 && result != -EPIPE)
        peer_condemn(peer);
}

void peer_condemn(struct peer *peer)
{
    if (peer->condemned || peer->state != PEER_UP)
        return;
    peer->condemned = true;
    peer->ripc->stats.protocol_errors++;
    lifeline_cut(peer->line, -EPROTO);
}

void peers_part(struct ripc *ripc, unsigned transport)
{
    list_each(&ripc->peers, node)
    {
        const struct peer *peer = container_of(node, struct peer, node);
        bool other = false;
        for (unsigned i = 0; i < ripc->transport_count; i++)
            other |= peer->links[i] && i != transport;
        if (peer->line && (peer->links[transport] || !other))
            lifeline_cut(peer->line, -EPIPE);
    }
}

/* ---- events of the lifeline ---- */

static void peer_on_up(void *owner, struct lifeline *line, const struct context_address *address,
                       const uint8_t *card, size_t card_size)
{
    struct ripc *ripc = owner;
    struct peer *peer = lifeline_data(line);
    if (!peer) { /* the peer connected to us */
        peer = peer_new(ripc, address, line);
        if (!peer) {
            lifeline_cut(line, -ENOMEM);
            return;
        }
        lifeline_set_data(line, peer);
    }
    assert(card_size <= sizeof peer->card);
    peer->address = *address;
    memcpy(peer->card, card, card_size);
    peer->card_size = card_size;
    peer->state = PEER_UP;
    trace_event(ripc->trace, TRACE_UP, 0, address->context, 0);
    events_emit(ripc, peer_up, peer);
    context_wake(ripc);
}

/* Offers a control message of the transports to each link; exactly one accepts it. The peer may be
 * the first to use a transport, so links are opened here if necessary. */
static int peer_to_links(struct peer *peer, struct control *control)
{
    for (unsigned i = 0; i < peer->ripc->transport_count; i++) {
        struct transport_link *link = NULL;
        if (peer_link(peer, i, &link) < 0)
            continue;
        int result = link->ops->link_control(link, control); /* NOLINT: peer_link has set it */
        if (result != -ENOMSG)
            return result;
    }
    return -EPROTO;
}

void peer_hear_out(struct peer *peer)
{
    for (unsigned i = 0; i < peer->ripc->transport_count; i++) {
        struct transport *transport = peer->ripc->transports[i];
        unsigned turns = peer->links[i] && transport->ops->progress ? HEAR_OUT_TURNS : 0;
        while (turns-- > 0 && transport->ops->progress(transport) > 0)
            ;
    }
}

static void peer_obey(struct peer *peer, struct control_words *words)
{
    events_control *handler = peer->ripc->events->control[words->kind];
    assert(handler); /* control_read refuses unknown kinds */
    handler(peer, words);
}

static void peer_on_control(void *owner, struct lifeline *line, struct control *control)
{
    struct peer *peer = lifeline_data(line);
    assert(peer && peer->state == PEER_UP);
    peer->probe = false; /* not before: a peer that cuts each new line would be probed for ever */
    int result;
    if (control->kind >= CONTROL_TRANSPORT) {
        result = peer_to_links(peer, control);
    } else {
        struct control_words words;
        result = control_read(control, &words);
        if (result == 0)
            peer_obey(peer, &words);
        parcel_fini(&words.parcel);
    }
    if (result == -EPROTO)
        peer_condemn(peer);
}

/* We tried to connect to a context between hosts. Its host can be reached, and no process listens
 * at its port, or another one: the context has ended. (Unless a firewall refuses in its place.) */
static bool peer_is_refused(const struct peer *peer, int reason)
{
    return reason == -ECONNREFUSED && peer->address.context &&
           (peer->address.family == AF_INET || peer->address.family == AF_INET6);
}

/* The line was reset, perhaps because the peer's process was killed: tries to connect again. If
 * that is refused, the context has ended. If it succeeds, the new line is as good as any.
 *
 * Not after a silence, nor after a reset that may answer a silence of our own host: both end with
 * -ETIMEDOUT. The peer may have lived on without us for long, with others, and have ended
 * only then. Its end would not mean that the others are gone, too. */
static void peer_probe(struct peer *peer)
{
    struct peer *again;
    if (peer->ended || peer->condemned || peer->probe ||
        (peer->address.family != AF_INET && peer->address.family != AF_INET6))
        return;
    /* If it fails, it stays uncertain whether the context has ended. */
    if (peer_get(peer->ripc, &peer->address, &again) == 0 && again->state == PEER_CONNECTING)
        again->probe = true;
}

static void peer_on_down(void *owner, struct lifeline *line, int reason)
{
    struct ripc *ripc = owner;
    struct peer *peer = lifeline_data(line);
    if (!peer)
        return; /* the peer connected but never sent its hello */
    bool was_up = peer->state == PEER_UP;
    peer->state = PEER_DEAD;
    peer->ended = was_up ? lifeline_ended(line) : peer_is_refused(peer, reason);
    peer->users++; /* until the end of this function */
    peer_hear_out(peer);
    ripc->stats.peers_lost += was_up;
    trace_event(ripc->trace, TRACE_DOWN, 0, peer->address.context, reason);
    for (unsigned i = 0; i < CONTEXT_TRANSPORT_MAX; i++)
        if (peer->links[i])
            peer->links[i]->ops->link_lost(peer->links[i]);
    peer->line = NULL;
    peer->doubted =
        !was_up && (lifeline_lacks(reason) || (reason == -ETIMEDOUT && lifeline_reached(line)));
    if (!peer->doubted)
        names_forget(ripc->names, peer->address.context);
    peer->reason = was_up ? -EPIPE : reason;
    events_emit(ripc, peer_died, peer);
    if (was_up && reason != -ETIMEDOUT && !lifeline_local(line))
        peer_probe(peer); /* on one host the lock of its file tells */
    peer->users--;
    peer_settle(peer);
    context_wake(ripc);
}

const struct lifeline_events peer_events = {
    .up = peer_on_up,
    .control = peer_on_control,
    .down = peer_on_down,
};
