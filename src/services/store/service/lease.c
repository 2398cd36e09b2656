/* lease: what lets a server answer reads without asking the other keepers each time.
 *
 * A server that confirms its view to another one (confirm.c) gives it a *lease*: for some time it
 * will not take part in a later view without it. So as long as a server has leases of all other
 * keepers of a group, no other server can have been made the leader of the group in a later view.
 *
 * The holder counts from the moment before it asked, the giver from the moment after it has
 * answered, and an eighth longer; so clocks may differ in speed by that much. Both clocks go on
 * while the machine sleeps. The holder reads its clock after it has found the value: if it was
 * stopped in between, it sees that its leases have ended.
 *
 * A giver that enters a view without the holder reports nothing until the lease has ended, and
 * neither does a process that has just started, because the one before it may have given leases. A
 * holder that is still a member needs not be waited for: it is a keeper, so the coordinator waits
 * until it has entered the view, too. */
#include "services/store/planted.h"
#include "services/store/service/store_impl.h"

static int64_t with_margin(int64_t length)
{
    return length + length / 8;
}

bool lease_init(struct store *store)
{
    uint32_t count = weft_server_count(store->self);
    store->leases = weft_allocate(store->self, count * sizeof *store->leases);
    store->leases_end = weft_clock(store->self) + with_margin(store->lease);
    return store->leases != NULL;
}

/* ---- the giver ---- */

int64_t lease_give(struct store *store, uint32_t server)
{
    const struct roster *roster = views_roster(store->views);
    struct lease *lease = &store->leases[server];
    if (store->lease == 0 || !roster_has(roster, server))
        return 0;
    lease->given_until = weft_clock(store->self) + with_margin(store->lease);
    lease->given_since = roster->entries[server].since;
    return store->lease;
}

void lease_enter(struct store *store, const struct roster *roster)
{
    /* No process of this server can have given a lease before the first view. */
    if (roster->epoch == 1 && views_is_member(store->views))
        store->leases_end = 0;
    for (uint32_t i = 0; i < roster->count; i++) {
        struct lease *lease = &store->leases[i];
        bool stays = roster_has(roster, i) && roster->entries[i].since == lease->given_since;
        if (!stays && lease->given_until > store->leases_end)
            store->leases_end = lease->given_until;
    }
}

bool lease_has_ended(const struct store *store)
{
    return weft_clock(store->self) >= store->leases_end;
}

/* ---- the holder ---- */

void lease_take(const struct group *group, uint32_t server, int64_t length)
{
    const struct store *store = group->store;
    struct lease *lease = &store->leases[server];
    if (length > store->lease)
        length = store->lease;
    if (length == 0)
        return;
    lease->epoch = group->replica.epoch;
    lease->until = group->asked_at + length;
}

/* The clock is read anew: what was read before the value says nothing about a server that was
 * stopped in between. */
static int64_t clock_after_value(const struct store *store)
{
#ifdef WEFT_PLANTED_BUGS
    if (STORE_HAS(CLOCK_FIRST))
        return store->clock_before;
#endif
    return weft_clock(store->self);
}

int64_t lease_left(const struct group *group)
{
    const struct store *store = group->store;
    const struct replica *replica = &group->replica;
    int64_t end = INT64_MAX;
    for (uint32_t i = 0; i < replica->custody.keeper_count; i++) {
        uint32_t keeper = replica->custody.keepers[i];
        const struct lease *lease = &store->leases[keeper];
        if (keeper == store->here)
            continue;
        if (lease->epoch != replica->epoch)
            return 0;
        end = lease->until < end ? lease->until : end;
    }
    if (end == INT64_MAX)
        return end; /* it has no other keepers, and needs no clock */
    int64_t left = end - clock_after_value(store);
    return left > 0 ? left : 0;
}
