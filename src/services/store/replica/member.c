/* member: the part of every server in a replica: it does what the leader asks for. */

#include <assert.h>

#include "services/store/planted.h"
#include "services/store/replica/replica_impl.h"

static struct replica_message message_make(const struct replica *replica, enum replica_kind kind)
{
    return (struct replica_message){.kind = kind, .epoch = replica->epoch, .from = replica->server};
}

void replica_report(const struct replica *replica, struct replica_message *message)
{
    *message = message_make(replica, REPLICA_REPORT);
    message->custody = replica->custody;
    message->version = replica->position;
}

static void answer(struct replica *replica, const struct replica_world *world,
                   enum replica_kind kind)
{
    struct replica_message message = message_make(replica, kind);
    message.version = replica->position;
    message.custody = replica->custody;
    world->calls->send(world->owner, replica->leader, &message);
}

/* Goes on with what `kind` asked for: `next` is durable, or was the same before. */
static void go_on(struct replica *replica, const struct replica_world *world,
                  enum replica_kind kind)
{
    bool leads = replica->role == REPLICA_LEADS;
    switch (kind) {
    case REPLICA_ACTIVATE:
    case REPLICA_ADMIT:
        if (!leads)
            replica->role = REPLICA_FOLLOWS;
        answer(replica, world, kind == REPLICA_ACTIVATE ? REPLICA_ACTIVATED : REPLICA_ADMITTED);
        break;
    case REPLICA_GROW:
        answer(replica, world, REPLICA_GROWN);
        break;
    case REPLICA_RETIRE:
        replica->role = REPLICA_RESTS;
        replica->received = 0;
        replica->position = 0;
        answer(replica, world, REPLICA_RETIRED);
        break;
    default:
        assert(false);
    }
}

static void keep(struct replica *replica, const struct replica_world *world, enum replica_kind kind)
{
    if (custody_same(&replica->next, &replica->custody)) {
        go_on(replica, world, kind);
        return;
    }
    replica->keeping = kind;
    replica->keeping_epoch = replica->epoch;
    world->calls->keep(world->owner);
}

void replica_kept(struct replica *replica, const struct replica_world *world)
{
    enum replica_kind kind = replica->keeping;
    assert(kind);
    replica->custody = replica->next;
    replica->keeping = 0;
    if (replica->keeping_epoch == replica->epoch)
        go_on(replica, world, kind);
}

/* ---- what the leader asks for ---- */

static void take_keepers(struct replica *replica, const struct replica_world *world,
                         const struct replica_message *message)
{
    replica->next = replica->custody;
    custody_open(&replica->next, replica->epoch, message->peers, message->peer_count);
    keep(replica, world, message->kind);
}

static void activate(struct replica *replica, const struct replica_world *world,
                     const struct replica_message *message)
{
    if (replica->role == REPLICA_FOLLOWS) { /* the answer was lost */
        answer(replica, world, REPLICA_ACTIVATED);
        return;
    }
    if (replica->role != REPLICA_REPORTS && replica->role != REPLICA_LEADS)
        return;
    if (STORE_HAS(REPLAY_SKIPPED))
        replica->received = replica->position = message->version;
    if (replica->position != message->version)
        return;
    replica->leader = message->from;
    take_keepers(replica, world, message);
}

static void learn(struct replica *replica, const struct replica_world *world,
                  const struct replica_message *message)
{
    if (replica->role == REPLICA_REPORTS && !custody_is_open(&replica->custody)) {
        replica->role = REPLICA_LEARNS;
        replica->leader = message->from;
        replica->received = replica->position = message->version;
    }
    if (replica->role == REPLICA_LEARNS)
        answer(replica, world, REPLICA_SHOW);
}

static void grow(struct replica *replica, const struct replica_world *world,
                 const struct replica_message *message)
{
    if (replica->role != REPLICA_FOLLOWS && replica->role != REPLICA_LEADS)
        return;
    take_keepers(replica, world, message);
}

static void admit(struct replica *replica, const struct replica_world *world,
                  const struct replica_message *message)
{
    if (replica->role == REPLICA_FOLLOWS) {
        answer(replica, world, REPLICA_ADMITTED);
        return;
    }
    if (replica->role != REPLICA_LEARNS || replica->position < message->version)
        return;
    take_keepers(replica, world, message);
}

static void retire(struct replica *replica, const struct replica_world *world,
                   const struct replica_message *message)
{
    if (replica->role == REPLICA_RESTS) {
        answer(replica, world, REPLICA_RETIRED);
        return;
    }
    if (replica->role != REPLICA_FOLLOWS || replica->epoch < 2)
        return;
    replica->next = replica->custody;
    custody_retire(&replica->next, replica->epoch, message->peers, message->peer_count);
    keep(replica, world, REPLICA_RETIRE);
}

void replica_copied(struct replica *replica, const struct replica_world *world)
{
    replica->copied = 1;
    answer(replica, world, REPLICA_COPIED);
}

void replica_member_receive(struct replica *replica, const struct replica_world *world,
                            const struct replica_message *message)
{
    if (replica->keeping) /* one after the other; the leader repeats itself */
        return;
    switch ((enum replica_kind)message->kind) {
    case REPLICA_ACTIVATE:
        activate(replica, world, message);
        break;
    case REPLICA_COMMITTED:
        if (replica->role == REPLICA_FOLLOWS && message->version > replica->committed)
            replica->committed = message->version;
        break;
    case REPLICA_LEARN:
        learn(replica, world, message);
        break;
    case REPLICA_GROW:
        grow(replica, world, message);
        break;
    case REPLICA_ADMIT:
        admit(replica, world, message);
        break;
    case REPLICA_RETIRE:
        retire(replica, world, message);
        break;
    default:
        break;
    }
}

/* ---- the chain ---- */

bool replica_accept(struct replica *replica, const struct replica_message *message)
{
    if (message->epoch != replica->epoch && !STORE_HAS(EPOCH_UNCHECKED))
        return false;
    if (replica->role != REPLICA_REPORTS && replica->role != REPLICA_FOLLOWS &&
        replica->role != REPLICA_LEARNS)
        return false;
    replica->leader = message->from;
    if (STORE_HAS(GAP_TAKEN) && message->version > replica->received)
        replica->received = message->previous;
    if (message->previous != replica->received)
        return false;
    replica->received = message->version;
    return true;
}

void replica_stored(struct replica *replica, const struct replica_world *world,
                    store_version version)
{
    assert(version <= replica->received);
    replica->position = version;
    if (replica->role == REPLICA_WAITS) /* for a leader of an earlier view */
        return;
    answer(replica, world, REPLICA_STORED);
}
