/* roster: see the header.
 *
 * Of former memberships only the last one is kept, and of former disks only when the last of them
 * was a member. This is enough for roster_missed: a server that was ever a member after a view has
 * its last membership after that view, too. */

#include "services/store/view/roster.h"

#include <assert.h>
#include <string.h>

#include "base/bitset.h"
#include "services/store/planted.h"

void roster_plan(struct roster *roster, uint32_t count)
{
    memset(roster, 0, roster_size(count));
    roster->count = count;
}

void roster_copy(struct roster *to, const struct roster *from)
{
    memcpy(to, from, roster_size(from->count));
}

bool roster_same(const struct roster *a, const struct roster *b)
{
    return a->count == b->count && memcmp(a, b, roster_size(a->count)) == 0;
}

bool roster_has(const struct roster *roster, uint32_t server)
{
    return server < roster->count && roster->entries[server].since;
}

bool roster_votes(const struct roster *roster, uint32_t server, uint64_t disk)
{
    if (roster->epoch == 0)
        return server < roster->count;
    return server < roster->count && roster->entries[server].votes &&
           (roster->entries[server].disk == disk || STORE_HAS(DISK_UNCHECKED));
}

/* May some process on the server vote? */
static bool has_vote(const struct roster *roster, uint32_t server)
{
    return roster->epoch == 0 || roster->entries[server].votes;
}

bool roster_quorum(const struct roster *roster, const uint64_t *servers)
{
    uint32_t yes = 0, all = 0;
    for (uint32_t i = 0; i < roster->count; i++) {
        if (!has_vote(roster, i))
            continue;
        all++;
        yes += bitset_has(servers, i);
    }
    if (2 * yes == all)
        return all && (bitset_has(servers, roster_first(roster)) || STORE_HAS(HALF_DECIDES));
    return 2 * yes > all;
}

uint32_t roster_first(const struct roster *roster)
{
    for (uint32_t i = 0; i < roster->count; i++) {
        if (has_vote(roster, i))
            return i;
    }
    return roster->count;
}

uint32_t roster_first_member(const struct roster *roster)
{
    for (uint32_t i = 0; i < roster->count; i++) {
        if (roster_has(roster, i))
            return i;
    }
    return roster->count;
}

/* Members vote, and of others that could vote so far as many as are needed. */
static void give_votes(struct roster *next)
{
    uint32_t voters = 0;
    for (uint32_t i = 0; i < next->count; i++)
        voters += roster_has(next, i);
    for (uint32_t i = 0; i < next->count; i++) {
        bool keeps = next->entries[i].votes && voters < VOTERS_LEAST;
        if (roster_has(next, i)) {
            next->entries[i].votes = 1;
        } else {
            next->entries[i].votes = keeps;
            voters += keeps;
        }
    }
}

void roster_next(struct roster *next, const struct roster *roster)
{
    roster_copy(next, roster);
    next->epoch++;
}

static void end_membership(struct roster *next, struct roster_entry *entry)
{
    if (entry->since == 0)
        return;
    if (entry->since < next->epoch) { /* otherwise it was never a member of a decided view */
        entry->from = entry->since;
        entry->until = next->epoch - 1;
    }
    entry->since = 0;
}

void roster_leave(struct roster *next, uint32_t server)
{
    end_membership(next, &next->entries[server]);
    give_votes(next);
}

void roster_join(struct roster *next, uint32_t server, uint64_t disk, uint64_t run)
{
    assert(disk && next->epoch);
    struct roster_entry *entry = &next->entries[server];
    if (entry->since && entry->disk == disk && entry->run == run)
        return;
    end_membership(next, entry);
    if (entry->disk != disk && entry->until > entry->lost)
        entry->lost = entry->until;
    entry->disk = disk;
    entry->run = run;
    entry->since = next->epoch;
    entry->founder |= next->epoch == 1;
    if (entry->duty != DUTY_DRAINS)
        entry->duty = DUTY_KEEPS;
    give_votes(next);
}

bool roster_order(struct roster *next, uint32_t server, enum roster_duty duty)
{
    struct roster_entry *entry = &next->entries[server];
    bool replaces = duty == DUTY_REPLACED || duty == DUTY_LOST;
    if (entry->duty == duty || (replaces && entry->since))
        return false;
    entry->duty = duty;
    if (replaces)
        entry->votes = 0;
    if (duty == DUTY_LOST) { /* nothing waits for what it kept; and it is no founder any more */
        entry->from = entry->until = 0;
        entry->lost = 1;
    }
    give_votes(next);
    return true;
}

bool roster_keeps(const struct roster *roster, uint32_t server)
{
    return roster->entries[server].duty == DUTY_KEEPS;
}

bool roster_stayed(const struct roster *roster, uint32_t server, uint32_t from)
{
    return roster_has(roster, server) && roster->entries[server].since <= from;
}

bool roster_missed(const struct roster *roster, uint32_t server, uint32_t epoch)
{
    const struct roster_entry *entry = &roster->entries[server];
    return (entry->since ? entry->lost : entry->until) > epoch;
}
