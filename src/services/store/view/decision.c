/* decision: see the header.
 *
 * Invariants. Two quorums of a view share a server (roster_quorum). A server's promise never falls
 * while it stays in a view. If a roster was accepted by a quorum with ballot b, every proposal with
 * a higher ballot is the same roster: its proposer asked a quorum, and one server of it had
 * accepted b before it promised more. So only one roster follows a view. A server without its
 * former disk does not vote, because it does not know its promises. */

#include "services/store/view/decision.h"

#include <assert.h>
#include <string.h>

#include "base/bitset.h"
#include "services/store/planted.h"

#define ROUND UINT64_C(0x100000000)

static bool may_vote(const struct decision *decision)
{
    return roster_votes(decision->view, decision->server, decision->disk);
}

static void clear_votes(struct decision *decision)
{
    memset(decision->votes, 0, 8 * bitset_words(decision->view->count));
}

void decision_init(struct decision *decision)
{
    decision->phase = DECISION_RESTS;
    decision->ballot = 0;
    decision->found = 0;
    clear_votes(decision);
}

bool decision_promise(struct decision *decision, uint32_t epoch, view_ballot ballot)
{
    if (epoch != decision->view->epoch + 1 || !may_vote(decision))
        return false;
    if (ballot < decision->promised && !STORE_HAS(PROMISE_BROKEN))
        return false;
    decision->promised = ballot;
    return true;
}

/* Only the first server may use a ballot of round 0. */
static bool is_allowed(const struct roster *view, view_ballot ballot)
{
    return ballot >= ROUND || ballot == (view_ballot)roster_first(view) + 1;
}

bool decision_accept(struct decision *decision, view_ballot ballot, const struct roster *roster)
{
    const struct roster *view = decision->view;
    if (roster->epoch != view->epoch + 1 || roster->count != view->count || !may_vote(decision))
        return false;
    if ((ballot < decision->promised && !STORE_HAS(PROMISE_BROKEN)) || !is_allowed(view, ballot))
        return false;
    decision->promised = ballot;
    decision->accepted = ballot;
    roster_copy(decision->roster, roster);
    return true;
}

bool decision_install(struct decision *decision, const struct roster *roster)
{
    if (roster->epoch <= decision->view->epoch || roster->count != decision->view->count)
        return false;
    roster_copy(decision->view, roster);
    decision->promised = 0;
    decision->accepted = 0;
    decision_init(decision);
    return true;
}

bool decision_is_first(const struct decision *decision)
{
    return may_vote(decision) && roster_first(decision->view) == decision->server &&
           decision->promised == 0;
}

static void start(struct decision *decision, enum decision_phase phase)
{
    decision->phase = phase;
    clear_votes(decision);
    bitset_add(decision->votes, decision->server);
}

void decision_ask(struct decision *decision)
{
    assert(may_vote(decision));
    decision->ballot = (decision->promised / ROUND + 1) * ROUND + decision->server + 1;
    if (!STORE_HAS(BALLOT_FORGOTTEN))
        decision->promised = decision->ballot;
    decision->found = decision->accepted;
    if (decision->found)
        roster_copy(decision->proposal, decision->roster);
    start(decision, DECISION_ASKS);
}

void decision_propose_first(struct decision *decision, const struct roster *roster)
{
    assert(decision_is_first(decision));
    decision->ballot = decision->server + 1;
    decision->found = 0;
    roster_copy(decision->proposal, roster);
    bool accepted = decision_accept(decision, decision->ballot, roster);
    assert(accepted);
    start(decision, DECISION_PROPOSES);
}

/* Is this an answer to what this server asks or proposes now? Ballots of another epoch can have the
 * same number. */
static bool is_awaited(const struct decision *decision, enum decision_phase phase, uint32_t epoch,
                       view_ballot ballot)
{
    return decision->phase == phase && epoch == decision->view->epoch + 1 &&
           ballot == decision->ballot;
}

static void add_votes(struct decision *decision, const uint64_t *servers)
{
    for (size_t i = 0; i < bitset_words(decision->view->count); i++)
        decision->votes[i] |= servers[i];
}

bool decision_promised(struct decision *decision, uint32_t epoch, view_ballot ballot,
                       const uint64_t *servers, view_ballot found, const struct roster *roster)
{
    if (!is_awaited(decision, DECISION_ASKS, epoch, ballot))
        return false;
    if (found > decision->found && !STORE_HAS(FOUND_IGNORED)) {
        if (roster->epoch != epoch || roster->count != decision->view->count)
            return false; /* nonsense */
        decision->found = found;
        roster_copy(decision->proposal, roster);
    }
    add_votes(decision, servers);
    return decision_has_quorum(decision);
}

bool decision_propose(struct decision *decision, const struct roster *roster)
{
    assert(decision->phase == DECISION_ASKS && decision_has_quorum(decision));
    if (decision->found == 0)
        roster_copy(decision->proposal, roster);
    if (!decision_accept(decision, decision->ballot, decision->proposal)) {
        decision->phase = DECISION_RESTS;
        return false;
    }
    start(decision, DECISION_PROPOSES);
    return true;
}

bool decision_accepted(struct decision *decision, uint32_t epoch, view_ballot ballot,
                       const uint64_t *servers)
{
    if (!is_awaited(decision, DECISION_PROPOSES, epoch, ballot))
        return false;
    add_votes(decision, servers);
    return decision_has_quorum(decision);
}

bool decision_has_quorum(const struct decision *decision)
{
    return roster_quorum(decision->view, decision->votes);
}
