/* install: a view is decided: the server installs it. And what follows from the view that it is in.
 */
#include <string.h>

#include "base/bitset.h"
#include "base/check.h"
#include "services/store/view/views_impl.h"

bool views_may_vote(const struct views *views)
{
    const struct decision *decision = &views->decision;
    return roster_votes(decision->view, decision->server, decision->disk);
}

bool views_has_quorum(const struct views *views)
{
    uint64_t reached[NEWS_SERVERS_MAX / 64] = {0};
    for (uint32_t i = 0; i < views->count; i++)
        bitset_put(reached, i, !views->lost[i]);
    return views->is_open && roster_quorum(views->decision.view, reached);
}

void wave_end(struct views *views)
{
    views->wave.ballot = 0;
    views->wave.phase = DECISION_RESTS;
    views->wave.parent = NO_PORT;
    views->wave.vote = 0;
    views->wave.told = true;
    views->fetching = false;
}

/* The later view may have ended this server's membership: notes when. */
static void note_stay(struct views *views, const struct roster *later)
{
    uint32_t server = views->decision.server;
    const struct roster *view = views->decision.view;
    const struct roster_entry *now = &view->entries[server], *then = &later->entries[server];
    if (!now->since || now->disk != views->decision.disk || then->since == now->since)
        return;
    if (views->stay_count == STAYS_MAX)
        memmove(&views->stays[0], &views->stays[1], --views->stay_count * sizeof *views->stays);
    /* If it was a member again in between, it has not acted as one. */
    views->stays[views->stay_count++] = (struct stay){
        .from = now->since,
        .until = then->from == now->since ? then->until : view->epoch,
    };
}

/* A wish of a process that was a member and is none in the later view: there is another process
 * now, or the same one will say again what it wants. If that wish stayed, this server would propose
 * the former process again, as long as both servers live. */
static void drop_wishes(struct views *views, const struct roster *later)
{
    const struct roster *view = views->decision.view;
    for (uint32_t i = 0; i < views->count; i++) {
        uint64_t run = views->wishes[i].run;
        bool was = view->entries[i].since && view->entries[i].run == run;
        bool is = later->entries[i].since && later->entries[i].run == run;
        if (was && !is)
            views->wishes[i].run = 0;
    }
}

uint32_t views_stayed_until(const struct views *views, uint32_t since)
{
    for (uint32_t i = 0; i < views->stay_count; i++) {
        if (views->stays[i].from <= since && since <= views->stays[i].until)
            return views->stays[i].until;
    }
    return since;
}

void views_install(struct views *views, const struct roster *roster, view_ballot ballot)
{
    struct decision *decision = &views->decision;
    if (roster->epoch <= decision->view->epoch)
        return;
    note_stay(views, roster);
    drop_wishes(views, roster);
    roster_copy(views->former, decision->view);
    bool installed = decision_install(decision, roster);
    assert(installed);
    views->last_ballot = ballot;
    views->proposing = 0;
    wave_end(views);
    views->entering = twin_change(&views->twin);
}
