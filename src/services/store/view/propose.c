/* propose: which view is proposed, by whom, and when. */
#include <string.h>

#include "base/bitset.h"
#include "base/check.h"
#include "services/store/planted.h"
#include "services/store/view/views_impl.h"

#define GATHER_NSEC  (20 * MSEC)   /* changes of this time go into one view */
#define FOUND_NSEC   (2000 * MSEC) /* how long the first view waits for all that can be reached */
#define RANK_NSEC    (1000 * MSEC) /* how long each server gives those before it */
#define PROPOSE_NSEC (1000 * MSEC) /* after that a proposal has failed */
#define WISH_NSEC    (200 * MSEC)  /* between two tries */
#define ORDER_NSEC   (5000 * MSEC) /* how long an order holds */
#define WISH_TRIES   5             /* at the first server, before others are told, too */

void propose_open(struct views *views)
{
    int64_t now = weft_now(views->self);
    for (uint32_t i = 0; i < views->count; i++) {
        bool here = i == views->decision.server;
        views->lost[i] = here || weft_reaches(views->self, i) ? 0 : now;
    }
}

/* ---- wishes ---- */

static const struct roster_entry *entry_of(const struct views *views, uint32_t server)
{
    return &views->decision.view->entries[server];
}

/* Is the server a member with that process and disk? */
static bool is_member(const struct views *views, uint32_t server, const struct view_wish *wish)
{
    const struct roster_entry *entry = entry_of(views, server);
    return entry->since && entry->run == wish->run && entry->disk == wish->disk;
}

static bool is_fulfilled(const struct views *views, uint32_t server, const struct view_wish *wish)
{
    return is_member(views, server, wish) != wish->leaves;
}

void propose_wish(struct views *views, weft_server server, const struct view_wish *wish)
{
    if (server < views->count)
        views->wishes[server] = *wish;
    propose_look(views);
}

void propose_order(struct views *views, weft_server server, enum roster_duty duty)
{
    views->orders[server] =
        (struct order){.duty = duty, .until = weft_now(views->self) + ORDER_NSEC};
    propose_look(views);
}

static bool may_vote(const struct views *views, uint32_t server)
{
    return roster_votes(views->decision.view, server, entry_of(views, server)->disk);
}

/* The server to tell: the first that can be reached and may vote. If that takes too long, every
 * other time one of those after it, which may know better that the first does not answer. */
static uint32_t find_proposer(const struct views *views, uint32_t turn)
{
    turn = turn < WISH_TRIES || turn % 2 ? 0 : turn / 2;
    uint32_t count = 0;
    for (uint32_t i = 0; i < views->count; i++)
        count += !views->lost[i] && may_vote(views, i);
    if (count == 0)
        return WEFT_NOBODY;
    uint32_t left = turn % count;
    for (uint32_t i = 0; i < views->count; i++) {
        if (!views->lost[i] && may_vote(views, i) && left-- == 0)
            return i;
    }
    return WEFT_NOBODY;
}

static void tell_wish(struct views *views)
{
    struct weft_self *self = views->self;
    uint32_t server = views->decision.server;
    const struct view_wish wish = {
        .disk = views->decision.disk, .run = views->run, .leaves = views->leaves};
    if (views->naming) {
        views->wishes[server].run = 0;
        return;
    }
    if (is_fulfilled(views, server, &wish)) {
        views->wish_turn = 0;
        return;
    }
    views->wishes[server] = wish;
    uint32_t to = find_proposer(views, views->wish_turn);
    bool first_is_new = views->wish_turn < WISH_TRIES && to != views->wish_to;
    if (weft_now(self) < views->wish_at && !first_is_new)
        return;
    views->wish_at = weft_now(self) + WISH_NSEC;
    views->wish_turn++;
    views->wish_to = to;
    if (to == WEFT_NOBODY || to == server)
        return;
    uint8_t bytes[64];
    views->out->kind = NEWS_WISH;
    views->out->wish = wish;
    uint32_t size = news_write(views->out, views->count, bytes);
    struct weft_packet *packet = weft_packet(self, size);
    if (!packet)
        return;
    memcpy(weft_payload(packet), bytes, size);
    views->counts.packets++;
    views->counts.bytes += size;
    (void)weft_send_server(self, packet, to);
}

/* ---- which view is needed ---- */

static bool is_suspect(const struct views *views, uint32_t server)
{
    int64_t lost = views->lost[server];
    return lost && weft_now(views->self) - lost >= views->settings.suspect;
}

/* Makes views->scratch the view that is needed; returns how many changes there are. */
static uint32_t need(struct views *views)
{
    const struct roster *view = views->decision.view;
    struct roster *next = views->scratch;
    uint32_t changes = 0, members = 0;
    for (uint32_t i = 0; i < view->count; i++)
        members += roster_has(view, i);
    roster_next(next, view);
    for (uint32_t i = 0; i < view->count && changes < CHANGES_MAX; i++) {
        const struct view_wish *wish = &views->wishes[i];
        bool wishes = wish->run && !views->lost[i] && !is_fulfilled(views, i, wish);
        bool leaves = roster_has(view, i) && (is_suspect(views, i) || (wishes && wish->leaves));
        if (leaves && members > 1) {
            roster_leave(next, i);
            members--;
            changes++;
        } else if (wishes && !wish->leaves) {
            members += !roster_has(view, i);
            roster_join(next, i, wish->disk, wish->run);
            changes++;
        } else if (!leaves && views->orders[i].until > weft_now(views->self) && view->epoch) {
            changes += roster_order(next, i, views->orders[i].duty);
        }
    }
    return changes;
}

/* ---- proposing ---- */

static void give_up(struct views *views)
{
    decision_init(&views->decision);
    views->proposing = 0;
    views->retry_at =
        weft_now(views->self) + 50 * MSEC + (int64_t)(weft_random(views->self) % (200 * MSEC));
}

static void save(struct views *views)
{
    views->proposing = twin_change(&views->twin);
    views->proposed_until = weft_now(views->self) + PROPOSE_NSEC;
    views->counts.proposals++;
}

/* Of those that can be reached, has everyone said that it wants to be a member? */
static bool all_wish(const struct views *views)
{
    for (uint32_t i = 0; i < views->count; i++) {
        if (!views->lost[i] && !views->wishes[i].run)
            return false;
    }
    return true;
}

/* How long this server lets a need be, so that others who need something join in, or those with a
 * lower number propose. */
static int64_t patience(const struct views *views)
{
    int64_t rank = 0;
    for (uint32_t i = 0; i < views->decision.server; i++)
        rank += !views->lost[i] && may_vote(views, i);
    bool founds = views->decision.view->epoch == 0;
    return rank * RANK_NSEC + (founds && !all_wish(views) ? FOUND_NSEC : GATHER_NSEC);
}

static bool is_time(struct views *views)
{
    int64_t now = weft_now(views->self);
    if (views->decision.phase != DECISION_RESTS) {
        if (now >= views->proposed_until)
            give_up(views);
        return false;
    }
    if (!views_may_vote(views) || now < views->retry_at)
        return false;
    if (need(views) == 0) {
        views->need_since = 0;
        return false;
    }
    if (!views->need_since)
        views->need_since = now;
    return now - views->need_since >= patience(views) && views_has_quorum(views);
}

/* What is needed is in views->scratch. */
static void propose(struct views *views)
{
    struct decision *decision = &views->decision;
    if (decision->view->epoch && decision_is_first(decision))
        decision_propose_first(decision, views->scratch);
    else
        decision_ask(decision);
    save(views);
}

void propose_look(struct views *views)
{
    if (views->entering)
        return;
    tell_wish(views);
    if (is_time(views))
        propose(views);
}

void propose_entered(struct views *views)
{
    views->need_since = 0;
    views->retry_at = 0;
    propose_look(views);
}

void propose_saved(struct views *views, uint64_t change)
{
    struct decision *decision = &views->decision;
    if (!views->proposing || change < views->proposing)
        return;
    views->proposing = 0;
    if (decision->phase == DECISION_RESTS)
        return;
    if (decision->promised == decision->ballot) {
        spread_begin(views, decision->ballot, decision->phase);
        propose_votes(views);
    } else {
        give_up(views); /* it has promised more to another proposer meanwhile */
    }
}

/* Have all that can be reached promised? One that has a later view does not, but tells it. For a
 * while, the first view also waits until all of them want to be in it: the fewer members a view
 * has, the fewer may fail. */
static bool may_found(const struct views *views)
{
    bool waits = weft_now(views->self) - views->need_since < FOUND_NSEC;
    if (STORE_HAS(FOUNDED_ALONE))
        return true;
    for (uint32_t i = 0; i < views->count; i++) {
        if (!views->lost[i] && !bitset_has(views->decision.votes, i))
            return false;
    }
    return !waits || all_wish(views);
}

static void promised(struct views *views)
{
    struct decision *decision = &views->decision;
    const struct wave *wave = &views->wave;
    if (!decision_promised(decision, decision->view->epoch + 1, wave->ballot, wave->votes,
                           wave->found, wave->roster))
        return;
    if (decision->view->epoch == 0 && !may_found(views))
        return;
    (void)need(views);
    if (decision_propose(decision, views->scratch))
        save(views);
    else
        give_up(views);
}

void propose_votes(struct views *views)
{
    struct decision *decision = &views->decision;
    const struct wave *wave = &views->wave;
    bool own = wave->ballot == decision->ballot && wave->phase == decision->phase;
    if (views->entering || views->proposing || wave->parent != NO_PORT || !own)
        return;
    if (decision->phase == DECISION_ASKS)
        promised(views);
    else if (decision_accepted(decision, decision->view->epoch + 1, wave->ballot, wave->votes))
        views_install(views, decision->proposal, wave->ballot);
}
