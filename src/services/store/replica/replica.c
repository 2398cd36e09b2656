/* replica: see the header. member.c has the part of every server, lead.c the leader's.
 *
 * Invariants:
 * 1. All in-sync servers have the chain of writes until their position, so of two chains one is
 *    the beginning of the other.
 * 2. An in-sync server has every committed write.
 * 3. The keepers of each open custody are, durably, all in-sync servers or more.
 * 4. A server acts in one view at a time, and reports in a view only when nothing that it has
 *    promised in an earlier one can still come true.
 *
 * From 4: when the judge has heard all, no write of an earlier view can be committed any more. */

#include "services/store/replica/replica.h"

#include <assert.h>

#include "services/store/planted.h"
#include "services/store/replica/replica_impl.h"

void replica_enter(struct replica *replica, uint32_t epoch)
{
    assert(epoch > replica->epoch);
    replica->epoch = epoch;
    replica->role = REPLICA_WAITS;
    replica->leader = 0;
    replica->copied = 0;
    replica->committed = 0;
    replica_lead_forget(replica);
}

bool replica_settle(struct replica *replica, bool leases)
{
    if (replica->keeping || replica->received != replica->position)
        return false;
    if (!leases && !STORE_HAS(LEASE_UNWAITED))
        return false;
    if (replica->role == REPLICA_WAITS)
        replica->role = REPLICA_REPORTS;
    return replica->role == REPLICA_REPORTS;
}

void replica_receive(struct replica *replica, const struct replica_world *world,
                     const struct replica_message *message)
{
    if (message->epoch != replica->epoch && !STORE_HAS(EPOCH_UNCHECKED))
        return;
    if (!replica_lead_receive(replica, world, message))
        replica_member_receive(replica, world, message);
}

/* ---- keys ---- */

enum replica_repair replica_compare(store_version own, store_version shown)
{
    if (own == shown)
        return REPAIR_NONE;
    if (own > shown)
        return REPAIR_COPY;
    return STORE_HAS(STRAY_LEFT) && own == 0 ? REPAIR_NONE : REPAIR_REWRITE;
}

bool replica_reads(const struct replica *replica, store_version version)
{
    bool in_sync =
        replica->role == REPLICA_FOLLOWS || (replica->role == REPLICA_LEADS && replica->active);
    return in_sync && replica->committed && version <= replica->committed;
}

bool replica_purges(const struct replica *replica, store_version version)
{
    return replica_reads(replica, version) ||
           (STORE_HAS(TOMBSTONE_EARLY) && replica->role == REPLICA_LEARNS);
}
