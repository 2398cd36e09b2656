#include "ripc/core/remote.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"

/* How long to wait for a name service that does not answer for names that it does not know, and for
 * a service that is just starting. */
#define RESOLVE_PATIENCE_NSEC (300 * 1000 * 1000LL)
#define RESOLVE_AGAIN_NSEC    (50 * 1000 * 1000LL)

#define REFUSED_NSEC (200 * 1000 * 1000LL)
#define VERDICT_NSEC NSEC_PER_SEC

/* A service that replies to many clients must not remember all of them for ever. */
#define REMOTES_KEPT     64
#define REMOTE_KEPT_NSEC NSEC_PER_SEC

#define MOVING_AGAIN_NSEC (50 * 1000 * 1000LL) /* between two questions for an id that moves */
#define MOVING_KEPT_NSEC  (60 * NSEC_PER_SEC)

/* Between two attempts to open a pipe to a receiver that lacks descriptors. */
#define REST_NSEC     (10 * 1000 * 1000LL)
#define REST_NSEC_MAX (200 * 1000 * 1000LL)

#define ENDING_NSEC NSEC_PER_SEC /* for the last acknowledgements of a receiver that is gone */

#define REMOTE_FAILURES_MAX 3 /* attempts before the sender gets the error */
#define REMOTE_CLAIMS_MAX   8
#define REMOTE_ACKS         16

static void remote_free(struct remote *remote);
static void remote_end(struct remote *remote);

static bool remote_is_idle(const struct remote *remote, nsec now)
{
    nsec kept = remote->moving ? MOVING_KEPT_NSEC : REMOTE_KEPT_NSEC;
    return (remote->state == REMOTE_RESTING || (remote->moving && !remote->peer)) &&
           !remote->users && !remote->starved && !remote->reports &&
           list_is_empty(&remote->flights) && list_is_empty(&remote->offers) &&
           now - remote->used_at > kept;
}

/* Sweeps when there are twice as many remotes as after the last sweep. */
static void remotes_sweep(struct ripc_service *service)
{
    if (service->remotes.count < REMOTES_KEPT || service->remotes.count < 2 * service->remotes_left)
        return;
    struct list idle;
    list_init(&idle);
    nsec now = clock_now();
    size_t cursor = 0;
    struct remote *remote;
    while ((remote = id_map_next(&service->remotes, &cursor)))
        if (remote_is_idle(remote, now))
            list_append(&idle, &remote->peer_node); /* a resting remote is in no peer's list */
    struct list *node;
    while ((node = list_take(&idle)))
        remote_free(container_of(node, struct remote, peer_node));
    service->remotes_left = service->remotes.count;
}

int remote_get(struct ripc_service *service, ripc_id id, struct remote **out)
{
    struct remote *remote = id_map_get(&service->remotes, id);
    if (!remote) {
        remotes_sweep(service);
        remote = calloc(1, sizeof *remote);
        if (!remote || !id_map_put(&service->remotes, id, remote)) {
            free(remote);
            return -ENOMEM;
        }
        remote->service = service;
        remote->id = id;
        remote->used_at = clock_now();
        list_init(&remote->peer_node);
        list_init(&remote->flights);
        list_init(&remote->offers);
    }
    *out = remote;
    return 0;
}

/* ---- the timer ---- */

static void remotes_due(void *owner)
{
    struct ripc *ripc = owner;
    int result = poller_set(ripc->poller, &ripc->resolve_timer, NSEC_FAR);
    assert(result == 0); /* the slot that the timer had is still free */
    context_wake(ripc);
}

int remotes_timer_open(struct ripc *ripc)
{
    ripc->resolve_timer = (struct poller_timer){.fired = remotes_due, .owner = ripc};
    return poller_set(ripc->poller, &ripc->resolve_timer, NSEC_FAR);
}

/* ---- from a name to a pipe ---- */

/* True if exactly this binding has refused us a short time ago. (For a claim from a file, only
 * trying again shows that the service has started.) */
static bool remote_was_refused(const struct remote *remote, const struct claim *claim)
{
    return remote->refused_until > clock_now() &&
           remote->refused.address.context == claim->address.context &&
           remote->refused.incarnation == claim->incarnation;
}

/* True if the claim is that of a holder that retired, which a name service may still report. A
 * claim from a file has no context: the next holder may be at the same address. */
static bool remote_was_left(const struct remote *remote, const struct claim *claim)
{
    return remote->moving && claim->address.context &&
           remote->left.address.context == claim->address.context &&
           claim->incarnation <= remote->left.incarnation;
}

/* Chooses the newest claim that has not refused us recently. */
static bool remote_choose(struct remote *remote, struct claim *chosen)
{
    struct claim claims[REMOTE_CLAIMS_MAX];
    unsigned count =
        names_known(remote->service->ripc->names, remote->id, claims, REMOTE_CLAIMS_MAX);
    if (count > REMOTE_CLAIMS_MAX)
        count = REMOTE_CLAIMS_MAX;
    bool found = false;
    for (unsigned i = 0; i < count; i++) {
        if (claims[i].group || remote_was_refused(remote, &claims[i]) ||
            remote_was_left(remote, &claims[i]))
            continue;
        if (!found || claims[i].incarnation > chosen->incarnation) {
            *chosen = claims[i];
            found = true;
        }
    }
    return found;
}

/* True if a send waits for the id, or the program waits for RIPC_CREDIT. A waiting send tries again
 * whenever the timer fires, which sets used_at. */
static bool remote_is_awaited(const struct remote *remote, nsec now)
{
    return remote->moving && !remote_has_pipe(remote) &&
           (remote->starved ||
            (remote->service->waiters && now - remote->used_at < 4 * MOVING_AGAIN_NSEC));
}

/* Not every name service reports a new holder by itself: sends that wait for an id that moves ask
 * again. And pipes that end are closed even if the program makes no call. */
static void moving_fired(void *owner)
{
    struct ripc *ripc = owner;
    nsec now = clock_now();
    bool more = false;
    size_t cursor = 0, inner;
    struct ripc_service *service;
    while ((service = id_map_next(&ripc->services, &cursor))) {
        struct remote *remote;
        bool awaited = false;
        inner = 0;
        while ((remote = id_map_next(&service->remotes, &inner))) {
            if (remote->ending)
                remote_end(remote);
            more |= remote->ending;
            awaited |= remote_is_awaited(remote, now);
        }
        if (awaited)
            doorbell_ring(&service->bell);
        more |= awaited;
    }
    if (more)
        (void)!poller_set(ripc->poller, &ripc->moving_timer, now + MOVING_AGAIN_NSEC);
}

/* Without memory for the timer, only the reports of the name services wake the waiting sends. */
static void moving_start(struct ripc *ripc)
{
    ripc->moving_timer.fired = moving_fired;
    ripc->moving_timer.owner = ripc;
    if (!ripc->moving_timer.slot)
        (void)!poller_set(ripc->poller, &ripc->moving_timer, clock_after(MOVING_AGAIN_NSEC));
}

/* The holder has retired, and the id is to be bound again elsewhere. */
static void remote_move(struct remote *remote)
{
    remote->moving = true;
    remote->left = remote->claim;
    remote->failures = 0;
}

/* True if the error only means that the id is not there yet. */
static bool remote_still_moves(const struct remote *remote, int error)
{
    return remote->moving &&
           (error == -ENOENT || error == -ESHUTDOWN || error == -ECONNREFUSED || error == -EPIPE);
}

static void remote_refuse(struct remote *remote)
{
    remote->refused = remote->claim;
    remote->refused_until = clock_after(REFUSED_NSEC);
}

static int remote_resolve(struct remote *remote)
{
    struct ripc *ripc = remote->service->ripc;
    nsec now = remote->used_at = clock_now();
    if (now < remote->rests_until) {
        poller_set_by(ripc->poller, &ripc->resolve_timer, remote->rests_until);
        return -EAGAIN;
    }
    if (remote->state == REMOTE_RESTING) {
        trace_event(ripc->trace, TRACE_RESOLVE, remote->service->id, remote->id, 0);
        remote->resolves_from = now;
        remote->ask_until = now + RESOLVE_PATIENCE_NSEC;
        remote->asked_at = 0;
        if (remote->reported_absent)
            names_hurry(ripc->names, remote->id);
        remote->reported_absent = false;
    }
    if (now - remote->asked_at >= RESOLVE_AGAIN_NSEC) {
        remote->asked_at = now;
        names_ask(ripc->names, remote->id);
    }
    bool found = remote_choose(remote, &remote->claim);
    if (found && lifelines_reach(ripc->lines, &remote->claim.address)) {
        int result = peer_get(ripc, &remote->claim.address, &remote->peer);
        if (remote_still_moves(remote, result)) {
            remote_refuse(remote);
            remote->state = REMOTE_RESOLVING;
            moving_start(ripc);
            return -EAGAIN;
        }
        if (result) {
            remote->state = REMOTE_RESTING;
            return result;
        }
        list_append(&remote->peer->remotes, &remote->peer_node);
        remote->state = REMOTE_CONNECTING;
        remote->transport = 0;
        return 0;
    }
    /* The name services are unreachable or slow. No reply yet does not mean that the id is
     * unclaimed. */
    if (ripc->adrift || names_answered(ripc->names, remote->id) < remote->resolves_from)
        remote->ask_until = now + RESOLVE_PATIENCE_NSEC;
    if (!found && !remote->moving &&
        (!names_answer_later(ripc->names) || now >= remote->ask_until)) {
        int lack = names_lack(ripc->names, remote->resolves_from);
        remote->state = REMOTE_RESTING;
        remote->reported_absent = !lack;
        return lack ? lack : -ENOENT;
    }
    remote->state = REMOTE_RESOLVING;
    if (remote->moving)
        moving_start(ripc);
    nsec again = remote->asked_at + RESOLVE_AGAIN_NSEC;
    bool ends_first = remote->ask_until > now && remote->ask_until < again;
    poller_set_by(ripc->poller, &ripc->resolve_timer, ends_first ? remote->ask_until : again);
    return -EAGAIN;
}

/* Takes the result of an attempt that was made meanwhile, unless it is too old, or a process has
 * the name by now. */
static int remote_verdict(struct remote *remote)
{
    int verdict = remote->verdict;
    struct claim claim;
    remote->verdict = 0;
    if (!verdict || clock_is_past(remote->verdict_until) ||
        (verdict == -ENOENT && remote_choose(remote, &claim)))
        return 0;
    return verdict;
}

/* Offers the peer a pipe of this transport. */
static int remote_open_by(struct remote *remote, unsigned transport)
{
    struct ripc *ripc = remote->service->ripc;
    struct control_words words = {
        .kind = CONTROL_OPEN,
        .pipe = ++ripc->pipe_last,
        .from = remote->service->id,
        .to = remote->id,
    };
    struct transport_link *link;
    int result = peer_link(remote->peer, transport, &link);
    if (result)
        return result;
    const struct transport_ops *ops = link->ops;
    result = ops->pipes->outlet_open(link, &remote->service->bell, &words.parcel, &remote->outlet);
    if (result)
        return result;
    memccpy(words.transport, ops->name, 0, sizeof words.transport - 1);
    result = id_map_put(&remote->peer->pipes, words.pipe, remote) ? 0 : -ENOMEM;
    if (!result)
        result = peer_say(remote->peer, &words);
    parcel_fini(&words.parcel);
    if (result) {
        id_map_take(&remote->peer->pipes, words.pipe);
        remote->outlet->ops->outlet_close(remote->outlet);
        remote->outlet = NULL;
        return result;
    }
    remote->link = link;
    remote->pipe = words.pipe;
    remote->transport = transport;
    remote->answered = false;
    remote->state =
        remote->moving || remote->peer->arrival_count == 0 ? REMOTE_OFFERED : REMOTE_OPEN;
    trace_event(ripc->trace, TRACE_OPEN, remote->service->id, remote->id, (int64_t)words.pipe);
    return 0;
}

/* Opens a pipe with the cheapest transport that works, starting where the last attempt stopped. If
 * the only transports are down, waits until one is up again. */
static int remote_open(struct remote *remote)
{
    int result = -EHOSTUNREACH, lack = 0;
    bool down = false;
    for (unsigned i = remote->transport; i < remote->service->ripc->transport_count; i++) {
        result = remote_open_by(remote, i);
        if (result == 0 || result == -ENOBUFS)
            return result == 0 ? 0 : -EAGAIN;
        down |= result == -ENETDOWN;
        lack = lifeline_lacks(result) ? result : lack;
    }
    if (down)
        return -EAGAIN;
    return lack ? lack : result;
}

static void remote_leave(struct remote *remote)
{
    struct peer *peer = remote->peer;
    if (!peer)
        return;
    list_remove(&remote->peer_node);
    remote->peer = NULL;
    peer_settle(peer);
}

int remote_advance(struct remote *remote)
{
    for (unsigned turn = 0; turn <= REMOTE_FAILURES_MAX; turn++) {
        int result = 0;
        switch (remote->state) {
        case REMOTE_OPEN:
            return 0;
        case REMOTE_OFFERED: /* we may lack descriptors for the answer */
            return lifeline_rests(remote->peer->line) ? -EMFILE : -EAGAIN;
        case REMOTE_HELD:
            if (!remote->ending)
                return -EAGAIN;
            remote_end(remote);
            if (remote->ending)
                return -EAGAIN;
            break;
        case REMOTE_RESTING:
            result = remote_verdict(remote);
            if (result)
                return result;
            if (remote->failures >= REMOTE_FAILURES_MAX) {
                remote->failures = 0;
                return remote->failure;
            }
            result = remote_resolve(remote);
            /* The service refused us and then disappeared: report the refusal. */
            if (result == -ENOENT && remote->failures) {
                remote->failures = 0;
                return remote->failure == -EPIPE ? -ENOENT : remote->failure;
            }
            break;
        case REMOTE_RESOLVING:
            result = remote_resolve(remote);
            break;
        case REMOTE_CONNECTING:
            if (remote->peer->state == PEER_CONNECTING)
                return -EAGAIN;
            result = remote_open(remote);
            if (result && result != -EAGAIN) {
                remote_leave(remote);
                remote->state = REMOTE_RESTING;
            }
            break;
        }
        if (result)
            return result;
    }
    return -EAGAIN;
}

void remote_ask_anew(struct ripc_service *service, ripc_id id)
{
    lock_take(&service->ripc->lock);
    struct remote *remote = id_map_get(&service->remotes, id);
    if (remote && (remote->state == REMOTE_RESTING || remote->state == REMOTE_RESOLVING)) {
        remote->state = REMOTE_RESTING;
        remote->verdict = 0;
        remote->failures = 0;
    }
    lock_drop(&service->ripc->lock);
}

/* ---- acknowledgements and failures ---- */

/* Takes the acknowledgements that have arrived. */
static int remote_collect(struct remote *remote)
{
    struct acknowledgement acks[REMOTE_ACKS];
    int count;
    do {
        count = remote->outlet->ops->collect(remote->outlet, acks, REMOTE_ACKS);
        remote->acknowledged += count > 0 ? (uint32_t)count : 0;
        for (int i = 0; i < count; i++)
            events_emit(remote->service->ripc, acknowledged, remote, acks[i].token,
                        control_status(acks[i].status));
    } while (count == REMOTE_ACKS);
    return count;
}

static struct outlet_counts remote_counts(const struct remote *remote)
{
    struct outlet_counts counts = {0};
    if (remote->outlet)
        remote->outlet->ops->outlet_count(remote->outlet, &counts);
    return counts;
}

uint64_t remote_pushed(const struct remote *remote)
{
    return remote_counts(remote).pushed;
}

uint64_t remote_sent(const struct remote *remote)
{
    return remote->sent_before + remote_counts(remote).pushed;
}

/* Reports that the last `count` frames in the pipe, which is about to be closed, did not reach a
 * program, or, if that is not certain, that up to so many did not. */
static void remote_report(struct remote *remote, uint64_t count, bool certain)
{
    struct ripc_service *service = remote->service;
    if (count == 0)
        return;
    if (certain)
        service->ripc->stats.lost += count;
    else
        service->ripc->stats.doubtful += count;
    struct ripc_event event = {
        .kind = RIPC_LOST,
        .status = certain ? 0 : -EPIPE,
        .id = remote->id,
        .count = count,
        .since = remote_sent(remote), /* ripc_poll replaces this by what was sent since */
    };
    remote->reports += service_tell(service, &event);
}

void remote_lost(struct remote *remote, int reason)
{
    struct ripc_service *service = remote->service;
    trace_event(service->ripc->trace, TRACE_CLOSE, service->id, remote->id, reason);
    if (remote->outlet) {
        remote_collect(remote);
        remote->sent_before = remote_sent(remote);
        remote->outlet->ops->outlet_close(remote->outlet);
        remote->outlet = NULL;
    }
    if (remote->pipe)
        id_map_take(&remote->peer->pipes, remote->pipe);
    remote->link = NULL;
    remote->pipe = 0;
    remote->acknowledged = 0;
    remote->ending = false;
    events_emit(service->ripc, pipe_lost, remote, reason);
    remote->state = REMOTE_RESTING;
    remote->used_at = clock_now();
    if (remote_still_moves(remote, reason)) {
        remote_refuse(remote);
    } else {
        remote->failures++;
        remote->failure = reason;
    }
    remote_leave(remote);
    doorbell_ring(&service->bell);
}

void remotes_lost(struct peer *peer)
{
    list_each(&peer->remotes, node)
    {
        struct remote *remote = container_of(node, struct remote, peer_node);
        struct outlet_counts counts = remote_counts(remote);
        if (remote->ending) { /* it left before it died */
            remote->ending_until = 0;
            remote_end(remote);
            continue;
        }
        if (remote->state == REMOTE_HELD)
            remote->moving = false; /* it died before it had left */
        if (peer->doubted && !lifeline_lacks(peer->reason))
            remote->failures = 0; /* the peer may answer the next time */
        remote_report(remote, counts.pushed - counts.released, false);
        remote_lost(remote, peer->reason);
    }
}

struct remote *remote_of_pipe(struct peer *peer, uint64_t pipe)
{
    return id_map_get(&peer->pipes, pipe);
}

/* The receiver lacks descriptors: the next attempt is made a little later. */
static void remote_rest(struct remote *remote)
{
    remote->rest = remote->rest ? 2 * remote->rest : REST_NSEC;
    if (remote->rest > REST_NSEC_MAX)
        remote->rest = REST_NSEC_MAX;
    remote->rests_until = clock_after(remote->rest);
}

void remote_answer(struct peer *peer, struct control_words *words)
{
    struct remote *remote = remote_of_pipe(peer, words->pipe);
    if (!remote)
        return; /* closed in the meantime */
    if (remote->answered) {
        peer_condemn(peer);
        return;
    }
    int result = words->status;
    if (result == 0)
        result = remote->outlet->ops->outlet_answer(remote->outlet, &words->parcel);
    if (result == -EPROTO)
        peer_condemn(peer);
    if (result) {
        /* The claim was stale, or this transport is closed. Messages that were pushed are lost with
         * the pipe, and operations fail. */
        if (result == -ENOENT)
            remote_refuse(remote);
        if (result == -ESHUTDOWN)
            remote_move(remote);
        /* If our side failed, the receiver may have taken frames. */
        remote_report(remote, remote_counts(remote).pushed, words->status != 0);
        if (lifeline_lacks(words->status)) {
            remote_rest(remote);
            remote->failures = 0;
        }
        remote_lost(remote, result);
        return;
    }
    remote->rest = 0;
    remote->answered = true;
    remote->moving = false;
    remote->state = REMOTE_OPEN;
    remote->failures = 0;
    doorbell_ring(&remote->service->bell);
}

/* The receiver retires. From here on nothing is pushed: pushing requires REMOTE_OPEN and the lock,
 * which we hold. So the count below is final, and the receiver takes frames until it has as many.
 */
void remote_hold(struct peer *peer, struct control_words *words)
{
    struct remote *remote = remote_of_pipe(peer, words->pipe);
    if (!remote)
        return; /* closed in the meantime */
    if (remote->state != REMOTE_OPEN || !remote->answered) {
        if (!remote->ending)
            peer_condemn(peer);
        return;
    }
    remote->state = REMOTE_HELD;
    remote->moving = words->item & RIPC_MOVES;
    peer_answer(peer, &(struct control_words){.kind = CONTROL_HELD,
                                              .pipe = remote->pipe,
                                              .number = remote_counts(remote).pushed});
}

/* Closes the pipe to a receiver that is gone, once all its acknowledgements have arrived. */
static void remote_end(struct remote *remote)
{
    if (!list_is_empty(&remote->flights)) {
        bool broken = remote_collect(remote) == -EPROTO;
        if (!broken && remote->acknowledged != remote->ending_at &&
            !list_is_empty(&remote->flights) && clock_now() < remote->ending_until)
            return;
    }
    if (remote->moving)
        remote_move(remote);
    remote_lost(remote, -EPIPE);
}

void remote_gone(struct peer *peer, struct control_words *words)
{
    struct remote *remote = remote_of_pipe(peer, words->pipe);
    if (!remote || remote->ending)
        return;
    struct outlet_counts counts = remote_counts(remote);
    bool valid = words->number <= counts.pushed;
    remote_report(remote, counts.pushed - (valid ? words->number : counts.released), valid);
    if (!valid)
        peer_condemn(peer);
    remote->state = REMOTE_HELD;
    remote->ending = true;
    remote->ending_at = words->item;
    remote->ending_until = clock_after(ENDING_NSEC);
    remote_end(remote);
    if (remote->ending)
        moving_start(peer->ripc);
}

void remotes_collect(struct ripc_service *service)
{
    size_t cursor = 0;
    struct remote *remote;
    while ((remote = id_map_next(&service->remotes, &cursor))) {
        if (!remote_has_pipe(remote))
            continue;
        if (remote->ending)
            remote_end(remote);
        else if (!list_is_empty(&remote->flights) && remote_collect(remote) == -EPROTO)
            peer_condemn(remote->peer);
    }
    if (!service->starved)
        return;
    cursor = 0;
    while ((remote = id_map_next(&service->remotes, &cursor))) {
        if (!remote->starved)
            continue;
        int way = remote_advance(remote);
        if (way == -EAGAIN ||
            (way == 0 && !remote->outlet->ops->room(remote->outlet, remote->starved_for)))
            continue;
        remote->verdict = way;
        remote->verdict_until = clock_after(VERDICT_NSEC);
        if (service_tell(service, &(struct ripc_event){.kind = RIPC_CREDIT, .id = remote->id})) {
            remote->starved = false;
            service->starved--;
        }
    }
}

size_t remotes_owe(struct ripc_service *service)
{
    size_t cursor = 0, owed = 0;
    const struct remote *remote;
    while ((remote = id_map_next(&service->remotes, &cursor))) {
        if (!remote_has_pipe(remote) || remote->peer->state != PEER_UP)
            continue;
        owed += lifeline_queued(remote->peer->line);
        if (remote->outlet->ops->outlet_owes)
            owed += remote->outlet->ops->outlet_owes(remote->outlet);
    }
    return owed;
}

static void remote_free(struct remote *remote)
{
    struct ripc_service *service = remote->service;
    if (remote_has_pipe(remote)) {
        peer_say(remote->peer,
                 &(struct control_words){.kind = CONTROL_CLOSE, .pipe = remote->pipe});
        if (remote->outlet->ops->outlet_owes && !remote->ending)
            service->ripc->stats.doubtful += remote->outlet->ops->outlet_owes(remote->outlet);
        remote_lost(remote, -ECANCELED);
    }
    remote_leave(remote);
    events_emit(service->ripc, remote_freed, remote);
    if (service->remote_last == remote)
        service->remote_last = NULL;
    if (remote->starved)
        service->starved--;
    id_map_take(&service->remotes, remote->id);
    free(remote);
}

void remotes_free(struct ripc_service *service)
{
    size_t cursor = 0;
    struct remote *remote;
    while ((remote = id_map_next(&service->remotes, &cursor))) {
        remote_free(remote);
        cursor = 0;
    }
}

const char *ripc_transport(struct ripc_service *service, ripc_id to)
{
    struct ripc *ripc = service->ripc;
    if (!context_is_ours(ripc))
        return NULL;
    lock_take(&ripc->lock);
    const struct remote *remote = id_map_get(&service->remotes, to);
    const char *name = NULL;
    if (remote && remote->state == REMOTE_OPEN)
        name = ripc->transports[remote->transport]->ops->name;
    lock_drop(&ripc->lock);
    return name;
}
