/* lead: the leader's part of a replica.
 *
 * A peer counts for commits from PEER_REQUIRED on. It gets the chain in every stage. */

#include <assert.h>
#include <string.h>

#include "services/store/planted.h"
#include "services/store/replica/replica_impl.h"

void replica_lead_forget(struct replica *replica)
{
    replica->active = 0;
    replica->peer_count = 0;
    memset(replica->peers, 0, sizeof replica->peers);
}

static struct replica_peer *find(struct replica *replica, uint32_t server)
{
    for (uint32_t i = 0; i < replica->peer_count; i++) {
        if (replica->peers[i].server == server)
            return &replica->peers[i];
    }
    return NULL;
}

static bool is_required(const struct replica_peer *peer)
{
    return peer->stage >= PEER_REQUIRED;
}

/* A message with the keepers: all peers but those that have not learned all yet. */
static struct replica_message with_keepers(const struct replica *replica, enum replica_kind kind)
{
    struct replica_message message = {
        .kind = kind, .epoch = replica->epoch, .from = replica->server};
    for (uint32_t i = 0; i < replica->peer_count; i++) {
        if (replica->peers[i].stage < PEER_GROWS)
            continue;
        uint32_t at = message.peer_count++; /* sorted */
        for (; at && message.peers[at - 1] > replica->peers[i].server; at--)
            message.peers[at] = message.peers[at - 1];
        message.peers[at] = replica->peers[i].server;
    }
    return message;
}

static void tell_required(struct replica *replica, const struct replica_world *world,
                          const struct replica_message *message)
{
    for (uint32_t i = 0; i < replica->peer_count; i++) {
        if (is_required(&replica->peers[i]))
            world->calls->send(world->owner, replica->peers[i].server, message);
    }
}

/* Commits what all in-sync servers have. */
static void commit(struct replica *replica, const struct replica_world *world)
{
    if (!replica->active)
        return;
    store_version least = replica->received, before = store_version_before(replica->epoch);
    for (uint32_t i = 0; i < replica->peer_count; i++) {
        const struct replica_peer *peer = &replica->peers[i];
        if (STORE_HAS(COMMIT_ALONE) && peer->server != replica->server)
            continue;
        if (is_required(peer) && peer->stored < least)
            least = peer->stored;
    }
    if (least < before) /* all writes of earlier views are committed: the group is active */
        least = before;
    if (least <= replica->committed)
        return;
    replica->committed = least;
    struct replica_message message = with_keepers(replica, REPLICA_COMMITTED);
    message.version = least;
    tell_required(replica, world, &message);
}

static void lead(struct replica *replica, const struct replica_world *world,
                 const struct replica_message *message)
{
    if (replica->role != REPLICA_REPORTS)
        return;
    replica->role = REPLICA_LEADS;
    replica->leader = replica->server;
    for (uint32_t i = 0; i < message->peer_count; i++) {
        replica->peers[i] = (struct replica_peer){
            .server = message->peers[i],
            .stage = PEER_SYNCED,
            .stored = message->positions[i],
        };
    }
    replica->peer_count = message->peer_count;
    for (uint32_t i = 0; i < replica->peer_count; i++) {
        const struct replica_peer *peer = &replica->peers[i];
        if (peer->stored < replica->position)
            world->calls->replay(world->owner, peer->server, peer->stored);
    }
    struct replica_message activate = with_keepers(replica, REPLICA_ACTIVATE);
    activate.version = replica->position;
    tell_required(replica, world, &activate);
}

static bool all_agree(const struct replica *replica)
{
    for (uint32_t i = 0; i < replica->peer_count; i++) {
        if (is_required(&replica->peers[i]) && !replica->peers[i].agrees)
            return false;
    }
    return true;
}

static void stored(struct replica *replica, const struct replica_world *world,
                   struct replica_peer *peer, store_version version)
{
    if (version > peer->stored)
        peer->stored = version;
    commit(replica, world);
}

static void activated(struct replica *replica, const struct replica_world *world,
                      struct replica_peer *peer, store_version version)
{
    stored(replica, world, peer, version);
    if (replica->active)
        return; /* it is repeated; `agrees` may be about GROW by now */
    peer->agrees = 1;
    if (!all_agree(replica))
        return;
    replica->active = 1;
    commit(replica, world);
}

/* ---- growing ---- */

static bool is_busy(const struct replica *replica)
{
    for (uint32_t i = 0; i < replica->peer_count; i++) {
        if (replica->peers[i].stage != PEER_SYNCED)
            return true;
    }
    return !replica->active;
}

bool replica_grow(struct replica *replica, const struct replica_world *world, uint32_t server)
{
    if (replica->role != REPLICA_LEADS || is_busy(replica) || find(replica, server) ||
        replica->peer_count == KEEPERS_MAX)
        return false;
    replica->peers[replica->peer_count++] =
        (struct replica_peer){.server = server, .stage = PEER_LEARNS};
    struct replica_message message = {
        .kind = REPLICA_LEARN,
        .epoch = replica->epoch,
        .from = replica->server,
        .version = replica->received,
    };
    world->calls->send(world->owner, server, &message);
    return true;
}

bool replica_compares(struct replica *replica, const struct replica_message *message)
{
    if (message->epoch != replica->epoch || replica->role != REPLICA_LEADS)
        return false;
    struct replica_peer *peer = find(replica, message->from);
    if (peer == NULL || peer->stage != PEER_LEARNS)
        return false;
    peer->stage = PEER_COPIES;
    return true;
}

bool replica_copies(const struct replica *replica, const struct replica_message *message)
{
    return message->epoch == replica->epoch && replica->role == REPLICA_LEARNS && !replica->copied;
}

/* The learner is required from now on. What it does not have yet is on its way in the chain: it
 * opens its custody when it has come. */
static void require(struct replica *replica, const struct replica_world *world,
                    struct replica_peer *peer)
{
    peer->stage = PEER_REQUIRED;
    struct replica_message message = with_keepers(replica, REPLICA_ADMIT);
    message.version = replica->received;
    world->calls->send(world->owner, peer->server, &message);
}

static void copied(struct replica *replica, const struct replica_world *world,
                   struct replica_peer *peer)
{
    if (peer->stage != PEER_COPIES)
        return;
    peer->stage = PEER_GROWS;
    if (STORE_HAS(GROWN_EARLY)) {
        require(replica, world, peer);
        return;
    }
    for (uint32_t i = 0; i < replica->peer_count; i++)
        replica->peers[i].agrees = 0;
    struct replica_message message = with_keepers(replica, REPLICA_GROW);
    tell_required(replica, world, &message);
}

static void grown(struct replica *replica, const struct replica_world *world,
                  struct replica_peer *peer, const struct custody *custody)
{
    struct replica_peer *new = NULL;
    for (uint32_t i = 0; i < replica->peer_count; i++) {
        if (replica->peers[i].stage == PEER_GROWS)
            new = &replica->peers[i];
    }
    if (new == NULL || !custody_keeps(custody, new->server))
        return; /* it is about an earlier GROW */
    peer->agrees = 1;
    if (all_agree(replica))
        require(replica, world, new);
}

static void admitted(struct replica *replica, const struct replica_world *world,
                     struct replica_peer *peer, store_version version)
{
    if (peer->stage == PEER_REQUIRED)
        peer->stage = PEER_SYNCED;
    stored(replica, world, peer, version);
}

bool replica_retire(struct replica *replica, const struct replica_world *world, uint32_t server)
{
    if (replica->role != REPLICA_LEADS || is_busy(replica) || server == replica->server ||
        replica->epoch == 1) /* there is no view before it */
        return false;
    struct replica_peer *peer = find(replica, server);
    if (peer == NULL)
        return false;
    struct replica_message message = with_keepers(replica, REPLICA_RETIRE);
    peer->stage = PEER_RETIRES;
    world->calls->send(world->owner, server, &message);
    return true;
}

static void retired(struct replica *replica, const struct replica_world *world,
                    struct replica_peer *peer)
{
    if (peer->stage != PEER_RETIRES)
        return;
    *peer = replica->peers[--replica->peer_count];
    replica->peers[replica->peer_count] = (struct replica_peer){0};
    commit(replica, world);
}

/* ---- what was lost is said again ---- */

static void repeat_to(struct replica *replica, const struct replica_world *world, uint32_t at,
                      enum replica_kind kind)
{
    uint32_t server = replica->peers[at].server;
    struct replica_message message = with_keepers(replica, kind);
    message.version = replica->received;
    if (kind == REPLICA_LEARN)
        message.peer_count = 0;
    world->calls->send(world->owner, server, &message);
}

static void repeat_activate(struct replica *replica, const struct replica_world *world)
{
    for (uint32_t i = 0; i < replica->peer_count && !replica->active; i++) {
        const struct replica_peer *peer = &replica->peers[i];
        if (peer->agrees)
            continue;
        if (peer->stored < replica->position)
            world->calls->replay(world->owner, peer->server, peer->stored);
        repeat_to(replica, world, i, REPLICA_ACTIVATE);
    }
}

static bool is_growing(const struct replica *replica)
{
    for (uint32_t i = 0; i < replica->peer_count; i++) {
        if (replica->peers[i].stage == PEER_GROWS)
            return true;
    }
    return false;
}

void replica_repeat(struct replica *replica, const struct replica_world *world)
{
    if (replica->role != REPLICA_LEADS)
        return;
    if (!replica->active) {
        repeat_activate(replica, world);
        return;
    }
    for (uint32_t i = 0; i < replica->peer_count; i++) {
        const struct replica_peer *peer = &replica->peers[i];
        if (peer->stage == PEER_LEARNS)
            repeat_to(replica, world, i, REPLICA_LEARN);
        else if (peer->stage == PEER_REQUIRED)
            repeat_to(replica, world, i, REPLICA_ADMIT);
        else if (peer->stage == PEER_RETIRES)
            repeat_to(replica, world, i, REPLICA_RETIRE);
        else if (is_growing(replica) && is_required(peer) && !peer->agrees)
            repeat_to(replica, world, i, REPLICA_GROW);
    }
}

bool replica_lead_receive(struct replica *replica, const struct replica_world *world,
                          const struct replica_message *message)
{
    switch ((enum replica_kind)message->kind) {
    case REPLICA_LEAD:
    case REPLICA_STORED:
    case REPLICA_ACTIVATED:
    case REPLICA_COPIED:
    case REPLICA_GROWN:
    case REPLICA_ADMITTED:
    case REPLICA_RETIRED:
        break;
    default:
        return false;
    }
    if (message->kind == REPLICA_LEAD) {
        lead(replica, world, message);
        return true;
    }
    struct replica_peer *peer = find(replica, message->from);
    if (replica->role != REPLICA_LEADS || peer == NULL)
        return true;
    if (message->kind == REPLICA_STORED)
        stored(replica, world, peer, message->version);
    else if (message->kind == REPLICA_ACTIVATED)
        activated(replica, world, peer, message->version);
    else if (message->kind == REPLICA_COPIED)
        copied(replica, world, peer);
    else if (message->kind == REPLICA_GROWN)
        grown(replica, world, peer, &message->custody);
    else if (message->kind == REPLICA_ADMITTED)
        admitted(replica, world, peer, message->version);
    else
        retired(replica, world, peer);
    return true;
}

/* ---- writes ---- */

bool replica_serves(const struct replica *replica)
{
    return replica->role == REPLICA_LEADS && replica->active;
}

static store_version version_after(const struct replica *replica)
{
    store_version before = store_version_before(replica->epoch);
    return (replica->received < before ? before : replica->received) + 1;
}

store_version replica_write(struct replica *replica, const struct replica_world *world)
{
    assert(replica_serves(replica));
    struct replica_message message = {
        .kind = REPLICA_WRITE,
        .epoch = replica->epoch,
        .from = replica->server,
        .version = version_after(replica),
        .previous = replica->received,
    };
    replica->received = message.version;
    for (uint32_t i = 0; i < replica->peer_count; i++) {
        if (replica->peers[i].server != replica->server)
            world->calls->send(world->owner, replica->peers[i].server, &message);
    }
    return message.version;
}
