/* copies: are all copies of the groups there, and equal? Each server counts for itself; who reads
 * the counters of all servers, when nothing is under way, can tell. */
#include "base/hash.h"
#include "services/store/service/store_impl.h"

/* Two servers have the same for a group if they hold the same keys and versions. */
static uint64_t digest(const struct group *group)
{
    return hash_mix(index_digest(&group->store->index, group->number) + group->number + 1);
}

static bool is_synced(const struct replica *replica, uint32_t server)
{
    for (uint32_t i = 0; i < replica->peer_count; i++)
        if (replica->peers[i].server == server)
            return replica->peers[i].stage == PEER_SYNCED;
    return false;
}

static void led_count(const struct group *group, struct copies *copies)
{
    for (uint32_t i = 0; i < group->order_count; i++)
        copies->missing += !is_synced(&group->replica, group->order[i]);
    copies->digest_due += group_in_sync(group) * digest(group);
}

void copies_count(const struct store *store, struct copies *copies)
{
    *copies = (struct copies){0};
    if (store->stage != STORE_RUNS)
        return;
    for (int64_t i = 0; i < store->group_count; i++) {
        const struct group *group = &store->groups[i];
        bool leads = replica_serves(&group->replica);
        if (leads)
            led_count(group, copies);
        if (leads || group->replica.role == REPLICA_FOLLOWS)
            copies->digest += digest(group);
    }
}
