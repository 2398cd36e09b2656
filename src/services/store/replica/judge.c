/* judge: see the header.
 *
 * Why the judge is right. In each view in which the group was active all its open custodies were
 * in sync, and their keepers were all in-sync servers, durably, before the first write of that
 * view was acknowledged; a server is added to the keepers of all others before it opens its own.
 *
 * So if some custody is still open, all in-sync servers of the last active view that stayed are
 * among its keepers, and their custodies are open. If none is open, the last in-sync servers
 * have all left. A custody that ended in view e lists a server that was in sync after e, if there
 * was one: then either that server reports a later end, or it is away, or has lost its disk; and
 * the roster knows whether it was a member after e. */

#include "services/store/replica/judge.h"

#include "services/store/planted.h"

static bool has_reported(const struct judge *judge, uint32_t server)
{
    for (uint32_t i = 0; i < judge->count; i++) {
        if (judge->reports[i].server == server)
            return true;
    }
    return false;
}

bool judge_hears(struct judge *judge, const struct report *report)
{
    if (has_reported(judge, report->server) || judge->count == REPORTS_MAX)
        return false;
    judge->reports[judge->count++] = *report;
    return true;
}

/* A member that some custody names and that has not reported; `count` if there is none. */
static uint32_t find_silent(const struct judge *judge, const struct roster *roster)
{
    for (uint32_t i = 0; i < judge->count; i++) {
        const struct custody *custody = &judge->reports[i].custody;
        for (uint32_t j = 0; j < custody->keeper_count; j++) {
            uint32_t keeper = custody->keepers[j];
            if (roster_has(roster, keeper) && !has_reported(judge, keeper))
                return keeper;
        }
    }
    return roster->count;
}

/* The reports of open custodies, as a set. */
static uint32_t find_open(const struct judge *judge)
{
    uint32_t open = 0;
    for (uint32_t i = 0; i < judge->count; i++)
        open |= (uint32_t)custody_is_open(&judge->reports[i].custody) << i;
    return open;
}

/* The last view in which a custody ended; 0: there is none. */
static uint32_t find_end(const struct judge *judge)
{
    uint32_t end = 0;
    for (uint32_t i = 0; i < judge->count; i++) {
        const struct custody *custody = &judge->reports[i].custody;
        if (custody->since && custody->ended > end)
            end = custody->ended;
    }
    return end;
}

/* A keeper named by a custody that ended in that view and that can hold more than it: the server
 * is away, or its disk was lost, after that view. `count` if there is none. */
static uint32_t find_missed(const struct judge *judge, const struct roster *roster, uint32_t end)
{
    for (uint32_t i = 0; i < judge->count; i++) {
        const struct custody *custody = &judge->reports[i].custody;
        if (custody->ended != end)
            continue;
        for (uint32_t j = 0; j < custody->keeper_count; j++) {
            if (roster_missed(roster, custody->keepers[j], end))
                return custody->keepers[j];
        }
    }
    return roster->count;
}

/* The reports of custodies that ended in that view, and still have data, or do not. */
static uint32_t find_ended(const struct judge *judge, uint32_t end, uint32_t hollow)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < judge->count; i++) {
        const struct custody *custody = &judge->reports[i].custody;
        bool ended = custody->since && custody->ended == end && custody->hollow == hollow;
        found |= (uint32_t)ended << i;
    }
    return found;
}

/* A keeper named by a custody that ended in that view, and that may come back with what it has in
 * memory. `count` if there is none. */
static uint32_t find_away(const struct judge *judge, const struct roster *roster, uint32_t end)
{
    for (uint32_t i = 0; i < judge->count; i++) {
        const struct custody *custody = &judge->reports[i].custody;
        if (custody->ended != end)
            continue;
        for (uint32_t j = 0; j < custody->keeper_count; j++) {
            uint32_t keeper = custody->keepers[j];
            if (!roster_has(roster, keeper) && roster_missed(roster, keeper, 0))
                return keeper;
        }
    }
    return roster->count;
}

/* Does a custody that ended in that view name the server? */
static bool is_named(const struct judge *judge, uint32_t end, uint32_t server)
{
    for (uint32_t i = 0; i < judge->count; i++) {
        const struct custody *custody = &judge->reports[i].custody;
        if (custody->since && custody->ended == end && custody_keeps(custody, server))
            return true;
    }
    return false;
}

/* All data of the custodies that ended in that view was in memory, and is gone. Was it the last?
 * Another keeper that they name may have been in sync as long as they were, though it has left
 * before them; then it is the last one of the keepers that have data. If none of these was in sync
 * then, what was acknowledged is lost, and the group goes on from what there is. Servers that are
 * not named are left out: a later judge may not hear them. */
static uint32_t find_left(const struct judge *judge, uint32_t end)
{
    uint32_t before = 0, found = 0;
    for (uint32_t i = 0; i < judge->count; i++) {
        const struct report *report = &judge->reports[i];
        const struct custody *custody = &report->custody;
        if (!custody->since || custody->hollow || custody->ended < before ||
            !is_named(judge, end, report->server))
            continue;
        if (custody->ended > before)
            found = 0;
        before = custody->ended;
        found |= UINT32_C(1) << i;
    }
    return found ? found : find_ended(judge, end, 1);
}

enum judgement judge_decide(const struct judge *judge, const struct roster *roster,
                            uint32_t *in_sync, uint32_t *server)
{
    *in_sync = find_open(judge);
    *server = find_silent(judge, roster);
    if (*server != roster->count)
        return JUDGE_WAITS;
    if (*in_sync)
        return JUDGE_KNOWS;
    uint32_t end = find_end(judge);
    *server = find_missed(judge, roster, end);
    if (*server != roster->count && !STORE_HAS(ABSENT_IGNORED))
        return JUDGE_UNAVAILABLE;
    *in_sync = find_ended(judge, end, 0);
    if (!*in_sync && judge->forgets) {
        *server = find_away(judge, roster, end);
        if (*server != roster->count)
            return JUDGE_UNAVAILABLE;
        *in_sync = find_left(judge, end);
    }
    return *in_sync ? JUDGE_KNOWS : JUDGE_UNAVAILABLE;
}

uint32_t judge_leader(const struct judge *judge, uint32_t in_sync, const uint32_t *rank)
{
    uint32_t best = REPORTS_MAX;
    for (uint32_t i = 0; i < judge->count; i++) {
        if (!(in_sync >> i & 1))
            continue;
        const struct report *report = &judge->reports[i];
        if (best == REPORTS_MAX || report->position > judge->reports[best].position ||
            (report->position == judge->reports[best].position &&
             rank[report->server] < rank[judge->reports[best].server]))
            best = i;
    }
    return best;
}
