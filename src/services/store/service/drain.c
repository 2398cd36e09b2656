/* drain: a server that is to keep no groups. Other servers learn them (placement.h leaves it out),
 * then their leaders retire it. A leader does not retire itself: when it has nothing left but
 * groups that it leads, and all that are to keep these are in sync, it leaves and joins again at
 * once. Its custodies end with that, and the others lead. */
#include <errno.h>

#include "services/store/service/store_impl.h"

static uint32_t count_keeping(const struct roster *roster, weft_server besides)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < roster->count; i++)
        count += i != besides && roster_has(roster, i) && roster_keeps(roster, i);
    return count;
}

static uint32_t most_copies(const struct store *store)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < store->spaces.count; i++)
        most = store->spaces.list[i].copies > most ? store->spaces.list[i].copies : most;
    return most;
}

int drain_check(const struct store *store, const struct care_request *request)
{
    const struct roster *roster = views_roster(store->views);
    if (!roster || !roster->epoch)
        return -EAGAIN;
    if (request->server >= roster->count)
        return -ENOENT;
    enum roster_duty duty = (enum roster_duty)request->duty;
    bool replaces = duty == DUTY_REPLACED || duty == DUTY_LOST;
    if (replaces && roster_has(roster, request->server))
        return -EISCONN;
    if (duty == DUTY_DRAINS && count_keeping(roster, request->server) < most_copies(store))
        return -ENODEV;
    return 0;
}

static bool is_synced(const struct group *group, uint32_t server)
{
    for (uint32_t i = 0; i < group->replica.peer_count; i++) {
        if (group->replica.peers[i].server == server)
            return group->replica.peers[i].stage == PEER_SYNCED;
    }
    return false;
}

/* May this server give up the group, which it leads? */
static bool is_kept(const struct group *group)
{
    bool kept = replica_serves(&group->replica) && group->order_count >= group->space->copies;
    for (uint32_t i = 0; i < group->order_count; i++)
        kept &= is_synced(group, group->order[i]);
    return kept;
}

void drain_tick(struct store *store)
{
    const struct roster *roster = views_roster(store->views);
    bool leads = false;
    if (!views_is_member(store->views) || roster_keeps(roster, store->here) ||
        store->stepped_down == roster->epoch)
        return;
    for (int64_t i = 0; i < store->group_count; i++) {
        const struct group *group = &store->groups[i];
        bool leads_it = group->replica.role == REPLICA_LEADS;
        if (leads_it ? !is_kept(group) : custody_is_open(&group->replica.custody))
            return;
        leads |= leads_it;
    }
    if (!leads)
        return;
    store->stepped_down = roster->epoch;
    views_begin_again(store->views);
}
