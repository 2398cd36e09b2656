/* council_lead: the leader's part of a council.
 *
 *   FOLLOWS --all elder members are dead, gone or passed over--> ASKS --all answered--> RESTS
 *   RESTS --a process joins, leaves or died--> PROPOSES --all ready--> RESTS
 *
 * Why views never differ: before any process installs a view, all live members of the previous view
 * have prepared it. The next leader is one of them, so it knows the prepared newcomers and asks
 * them, too. If any process has installed the view, the leader has all others install it. If no
 * live process has, a process that died may still have installed it: then the leader skips the
 * epoch of this view. No other process installs the view, because all have promised not to follow
 * the dead leader any more.
 *
 * Views do not differ in a divided network either: a leader proposes only while it takes a majority
 * of the installed view for alive (council_has_majority), and all of these prepare the next view
 * before any process installs it. Another part of the members with a majority would have to
 * contain one of them; it knows the prepared view, and its part needs a majority of that one, too.
 * A process that prepares a view takes those that the view excludes for dead, so it does not help
 * them to a majority. (Except members that leave and are not silent: they prepare the view, too.)
 * It also follows no leader with an older ballot any more. A process remembers one view that
 * another leader may have installed; if there is a second one, it belongs to no majority until a
 * later view is installed.
 *
 * A leader that was passed over (council.h) may still lead. The next leader asks it like the
 * others. Once they have answered, they follow the elder leader no more, and it follows the next
 * one itself. So this is no different from a leader that died: it may have installed the view that
 * it proposed before that.
 *
 * The participants of a proposal are the live members of the installed view and the newcomers. A
 * row is empty for one view before it gets another member, so each row has at most one
 * participant. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/bitset.h"
#include "base/check.h"
#include "sst/council/council_impl.h"

/* Ticks after which a member that lives, but does not answer, takes us for dead. */
#define DEAF_TICKS 50

/* The view that contains the newcomers while we lead. */
static const struct view *lead_view_next(const struct council *council)
{
    return council->lead == LEAD_PROPOSES ? &council->proposal : &council->prepared;
}

static const struct view_member *lead_participant(const struct council *council, uint32_t row)
{
    const struct view_member *member = &council->installed.rows[row];
    if (!member->id &&
        (council->lead == LEAD_PROPOSES || (council->lead == LEAD_ASKS && council->prepared_is)))
        member = &lead_view_next(council)->rows[row];
    if (!member->id || council_is_dead(council, member->nonce))
        return NULL;
    return member;
}

uint32_t lead_row_of(const struct council *council, uint64_t nonce)
{
    if (council->lead == LEAD_FOLLOWS)
        return ROW_NONE;
    for (uint32_t row = 0; row < SST_ROWS_MAX; row++) {
        const struct view_member *member = lead_participant(council, row);
        if (member && member->nonce == nonce)
            return row;
    }
    return ROW_NONE;
}

/* Marks all participants as not having answered. */
static void lead_await(struct council *council)
{
    for (uint32_t row = 0; row < SST_ROWS_MAX; row++)
        council->awaited[row] = lead_participant(council, row) != NULL;
    council->overdue = 0;
}

static bool lead_is_answered(const struct council *council)
{
    for (uint32_t row = 0; row < SST_ROWS_MAX; row++)
        if (council->awaited[row])
            return false;
    return true;
}

/* Sends our question or proposal to all participants that have not answered. */
static void lead_say(struct council *council)
{
    static const enum council_kind kinds[] = {
        [LEAD_ASKS] = COUNCIL_ASK, [LEAD_PROPOSES] = COUNCIL_PREPARE};
    struct council_message message = {.kind = kinds[council->lead], .ballot = council->ballot};
    if (council->lead == LEAD_PROPOSES) {
        message.base = council->installed.epoch;
        message.view = council->proposal;
    }
    for (uint32_t row = 0; row < SST_ROWS_MAX; row++) {
        const struct view_member *member = lead_participant(council, row);
        if (council->awaited[row] && member && member->nonce != council->config.nonce)
            council_say(council, member->id, &message);
    }
}

void lead_tick(struct council *council)
{
    if (council->lead != LEAD_ASKS && council->lead != LEAD_PROPOSES)
        return;
    council->overdue++;
    lead_say(council);
}

/* ---- joiners ---- */

static uint32_t joiner_find(const struct council *council, ripc_id id)
{
    uint32_t i = 0;
    while (i < council->joiner_count && council->joiners[i].id != id)
        i++;
    return i;
}

static void joiner_drop(struct council *council, uint64_t nonce)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < council->joiner_count; i++)
        if (council->joiners[i].nonce != nonce)
            council->joiners[kept++] = council->joiners[i];
    council->joiner_count = kept;
}

static void __attribute__((format(printf, 5, 6)))
joiner_refuse(struct council *council, ripc_id id, uint64_t nonce, int status, const char *format,
              ...)
{
    struct council_message message = {.kind = COUNCIL_REFUSED, .to = nonce, .status = status};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message.text, sizeof message.text, format, arguments);
    va_end(arguments);
    joiner_drop(council, nonce);
    council->refused++;
    council_say(council, id, &message);
}

static const char *design_name(uint32_t design)
{
    return design == SST_WRITES ? "SST_WRITES" : design == SST_READS ? "SST_READS" : "unknown";
}

/* Refuses a process whose configuration differs; returns true if it did. */
static bool joiner_is_unlike(struct council *council, const struct council_message *message)
{
    const struct council_config *config = &council->config;
    if (message->design != config->design)
        joiner_refuse(council, message->id, message->sender, -EPROTO,
                      "the members' design is %s, not %s", design_name(config->design),
                      design_name(message->design));
    else if (message->rows_max != config->rows_max)
        joiner_refuse(council, message->id, message->sender, -EPROTO,
                      "the members' rows_max is %u, not %u", config->rows_max, message->rows_max);
    else if (message->drop != config->drop)
        joiner_refuse(council, message->id, message->sender, -EPROTO,
                      config->drop ? "the members' tables are opened with SST_DROP"
                                   : "the members' tables are opened without SST_DROP");
    else if (message->hash != config->hash)
        joiner_refuse(council, message->id, message->sender, -EPROTO,
                      "the members' rows have another layout: columns, types, counts, flags "
                      "or names differ");
    else
        return false;
    return true;
}

/* Does the member of that row want to leave? */
static bool lead_goes(const struct council *council, uint32_t row)
{
    return council->leaving[row] || (council->phase == COUNCIL_LEAVING &&
                                     council->installed.rows[row].nonce == council->config.nonce);
}

/* Counts the members that stay and the waiting joiners, except a joiner with that id. */
static uint32_t lead_count(const struct council *council, ripc_id id)
{
    uint32_t count = 0;
    for (uint32_t row = 0; row < council->installed.row_count; row++) {
        const struct view_member *member = &council->installed.rows[row];
        count += member->id && !lead_goes(council, row) && !council_is_dead(council, member->nonce);
    }
    for (uint32_t i = 0; i < council->joiner_count; i++)
        count += council->joiners[i].id != id;
    return count;
}

void lead_join(struct council *council, ripc_id from, const struct council_message *message)
{
    if (message->id != from) {
        council->strange++;
        return;
    }
    uint32_t row = view_row_of(&council->installed, message->sender);
    if (row != ROW_NONE) { /* it has not received the COMMIT that let it in, and it may be the next
                              leader */
        if (council->installed.rows[row].id == from)
            council_say_commit(council, from, &council->installed);
        return;
    }
    if (council->lead == LEAD_FOLLOWS || council->outvoted)
        return;
    if (joiner_is_unlike(council, message))
        return;
    for (row = 0; row < council->installed.row_count; row++)
        if (council->installed.rows[row].id == from &&
            !council_is_dead(council, council->installed.rows[row].nonce)) {
            joiner_refuse(council, from, message->sender, -EADDRINUSE,
                          "the live member in row %u already has this id", row);
            return;
        }
    uint32_t at = joiner_find(council, from);
    bool is_proposed = council->lead == LEAD_PROPOSES && at < council->joiner_count &&
                       view_row_of(&council->proposal, council->joiners[at].nonce) != ROW_NONE;
    if (is_proposed)
        return; /* the proposal includes this process, or an earlier one with its id */
    if (lead_count(council, from) >= council->config.rows_max) {
        joiner_refuse(council, from, message->sender, -ENOSPC, "all %u rows are taken",
                      council->config.rows_max);
        return;
    }
    council->joiners[at] = (struct council_joiner){from, message->sender};
    if (at == council->joiner_count)
        council->joiner_count++;
}

/* ---- the next view ---- */

/* Chooses the row for a newcomer: the row of an earlier proposal, so that its meetings remain
 * valid; otherwise the first row that is free in the next view and in the installed one. */
static uint32_t lead_row_for(const struct council *council, const struct view *next, uint64_t nonce)
{
    uint32_t before = council->prepared_is ? view_row_of(&council->prepared, nonce) : ROW_NONE;
    assert(before == ROW_NONE || before < council->config.rows_max);
    if (before != ROW_NONE && !council->installed.rows[before].id && !next->rows[before].id)
        return before;
    for (uint32_t row = 0; row < council->config.rows_max; row++)
        if (!council->installed.rows[row].id && !next->rows[row].id)
            return row;
    return ROW_NONE;
}

static bool view_has_id(const struct view *view, ripc_id id)
{
    for (uint32_t row = 0; row < SST_ROWS_MAX; row++)
        if (view->rows[row].id == id)
            return true;
    return false;
}

static void view_trim(struct view *view)
{
    view->row_count = SST_ROWS_MAX;
    while (view->row_count && !view->rows[view->row_count - 1].id)
        view->row_count--;
}

/* Removes members that leave or are dead. A silent one counts as dead even if it said that it
 * leaves: it may lead another part of the members, and those that prepare our view must not follow
 * it any more. */
static void lead_build_gone(const struct council *council, struct view *next, bool *goes,
                            bool *died)
{
    for (uint32_t row = 0; row < next->row_count; row++) {
        struct view_member *member = &next->rows[row];
        const struct council_dead *dead = council_dead_find(council, member->nonce);
        if (!member->id || !(dead || lead_goes(council, row)))
            continue;
        *goes |= lead_goes(council, row);
        *died |= dead != NULL;
        if (lead_goes(council, row) && !(dead && dead->silent))
            bitset_add(next->left, row);
        *member = (struct view_member){0};
    }
}

/* Builds the next view. Returns false if nothing is to be changed. */
static bool lead_build(const struct council *council, struct view *next)
{
    bool changed = false;
    bool died = false;
    *next = council->installed;
    memset(next->left, 0, sizeof next->left);
    next->epoch = 1 + most_u64(council->epoch_max, council->installed.epoch);
    lead_build_gone(council, next, &changed, &died);
    for (uint32_t i = 0; i < council->joiner_count; i++) {
        const struct council_joiner *joiner = &council->joiners[i];
        uint32_t row = lead_row_for(council, next, joiner->nonce);
        if (row == ROW_NONE || view_has_id(next, joiner->id))
            continue; /* no row is free yet, or the previous holder of its id may be alive */
        next->rows[row] = (struct view_member){joiner->id, joiner->nonce, next->epoch};
        changed = true;
    }
    view_trim(next);
    return changed || (died && (council->config.drop || council->joiner_count));
}

static void lead_ballot_next(struct council *council)
{
    council->ballot.round++;
    council->promised = council->ballot;
    council->promised_to = council->config.nonce;
}

static void lead_propose(struct council *council)
{
    uint32_t row = view_row_of(&council->installed, council->config.nonce);
    struct view_member self = council->installed.rows[row];
    lead_ballot_next(council);
    council->lead = LEAD_PROPOSES;
    council->loose = true;
    lead_await(council);
    lead_say(council);
    if (council_prepare(council, &council->proposal, &council->ballot, &self))
        lead_ready_self(council);
}

static void lead_say_cancel(struct council *council, ripc_id to)
{
    struct council_message message = {
        .kind = COUNCIL_CANCEL, .ballot = council->ballot, .epoch = council->installed.epoch};
    council_say(council, to, &message);
}

/* Withdraws the proposal: nothing is to be changed after all. */
static void lead_cancel(struct council *council)
{
    lead_ballot_next(council);
    council_doubt(council, council->config.nonce);
    for (uint32_t row = 0; row < council->installed.row_count; row++) {
        const struct view_member *member = &council->installed.rows[row];
        if (member->id && member->nonce != council->config.nonce)
            lead_say_cancel(council, member->id);
    }
    council->loose = false;
    council_void(council);
}

void lead_withdraw(struct council *council)
{
    if (!council->prepared_is || council->leader.nonce != council->config.nonce)
        return;
    if (ballot_compare(&council->ballot, &council->prepared_ballot) == 0)
        lead_ballot_next(council);
    for (uint32_t row = 0; row < SST_ROWS_MAX; row++) {
        const struct view_member *member = &council->installed.rows[row];
        if (!member->id)
            member = &council->prepared.rows[row];
        if (member->id && member->nonce != council->config.nonce)
            lead_say_cancel(council, member->id);
    }
}

/* The last members leave: there is no next view. */
static void lead_dissolve(struct council *council)
{
    for (uint32_t row = 0; row < council->installed.row_count; row++) {
        const struct view_member *member = lead_participant(council, row);
        if (!member || member->nonce == council->config.nonce)
            continue;
        struct council_message message = {.kind = COUNCIL_LEFT, .to = member->nonce};
        council_say(council, member->id, &message);
    }
    council_end(council, council->ops->left);
}

/* Installs a view; its members are no longer waiting joiners. */
static void lead_apply(struct council *council, const struct view *view)
{
    for (uint32_t row = 0; row < view->row_count; row++)
        if (view->rows[row].id)
            joiner_drop(council, view->rows[row].nonce);
    council_apply(council, view);
}

static void lead_say_view(struct council *council, const struct view *view, bool members)
{
    for (uint32_t row = 0; row < SST_ROWS_MAX; row++) {
        const struct view_member *old = &council->installed.rows[row];
        const struct view_member *member = old->id ? old : &view->rows[row];
        if (member->id && member->nonce != council->config.nonce &&
            (view->rows[row].id != 0) == members)
            council_say_commit(council, member->id, view);
    }
}

/* All participants are ready. Members that leave receive the COMMIT last, because they end when
 * they receive it: by then the others expect their end. Members that were taken for dead receive
 * it, too, in case they are alive. */
static void lead_commit(struct council *council)
{
    struct view view = council->proposal;
    lead_say_view(council, &view, true);
    lead_say_view(council, &view, false);
    council->lead = LEAD_RESTS;
    council->loose = false;
    lead_apply(council, &view);
}

static void lead_check_ready(struct council *council)
{
    if (council->lead == LEAD_PROPOSES && lead_is_answered(council))
        lead_commit(council);
}

void lead_ready_self(struct council *council)
{
    uint32_t row = view_row_of(&council->installed, council->config.nonce);
    council->awaited[row] = false;
    lead_check_ready(council);
}

/* The message refers to an old proposal: the sender missed the outcome, which is sent again. */
static void lead_repeat(struct council *council, uint32_t row,
                        const struct council_message *message)
{
    const struct view_member *member = lead_participant(council, row);
    if (message->epoch == council->installed.epoch)
        council_say_commit(council, member->id, &council->installed);
    else if (council->lead == LEAD_RESTS)
        lead_say_cancel(council, member->id);
}

void lead_ready(struct council *council, uint32_t row, const struct council_message *message)
{
    if (council->lead != LEAD_PROPOSES || ballot_compare(&message->ballot, &council->ballot) != 0) {
        lead_repeat(council, row, message);
        return;
    }
    council->awaited[row] = false;
    lead_check_ready(council);
}

/* Describes the error of a meeting. */
static const char *status_words(int status)
{
    switch (status) {
    case -ETIMEDOUT:
        return "neither reached the other before the timeout";
    case -ENOMEM:
        return "not enough memory";
    case -EPIPE:
        return "one of them died";
    case -EPROTO:
        return "one of them offered too little memory";
    default:
        return "the system refused it";
    }
}

/* Two processes cannot meet: the leader refuses the newcomer of the two. */
void lead_unready(struct council *council, uint32_t row, const struct council_message *message)
{
    if (council->lead != LEAD_PROPOSES || ballot_compare(&message->ballot, &council->ballot) != 0) {
        lead_repeat(council, row, message);
        return;
    }
    uint32_t blamed = council->installed.rows[message->row].id ? row : message->row;
    if (row == message->row || council->installed.rows[blamed].id ||
        !council->proposal.rows[blamed].id) {
        council->strange++;
        return;
    }
    struct view_member newcomer = council->proposal.rows[blamed];
    joiner_refuse(council, newcomer.id, newcomer.nonce, -ECONNREFUSED,
                  "rows %u and %u could not meet: %s (%d)", row, message->row,
                  status_words(message->status), -message->status);
    council->lead = LEAD_RESTS; /* lead_settle makes a new proposal */
}

/* If the proposal contains the member, and its answer is missing, there will be another proposal:
 * the member may never answer. A member that says that it leaves, but has not answered for a while,
 * takes us for dead: an earlier leader excluded us, and may have gone on. Then the member, or the
 * newcomer that became one without our knowledge, does not count with us. */
void lead_leave(struct council *council, uint32_t row)
{
    const struct view_member *member = lead_participant(council, row);
    bool installed = council->installed.rows[row].id != 0;
    council->leaving[row] |= installed;
    if (council->lead != LEAD_RESTS && council->awaited[row] && council->overdue >= DEAF_TICKS) {
        council_dead_add(council, member->nonce, true);
        lead_failed(council, member->nonce);
        return;
    }
    if (council->lead == LEAD_PROPOSES && council->awaited[row] && installed &&
        council->proposal.rows[row].id)
        council->lead = LEAD_RESTS; /* lead_settle makes a new proposal */
}

void lead_failed(struct council *council, uint64_t nonce)
{
    joiner_drop(council, nonce);
    if (council->lead == LEAD_PROPOSES) {
        uint32_t row = view_row_of(&council->proposal, nonce);
        uint32_t old = view_row_of(&council->installed, nonce);
        if (row != ROW_NONE || (old != ROW_NONE && council->awaited[old]))
            council->lead = LEAD_RESTS;
    } else if (council->lead == LEAD_ASKS) {
        for (uint32_t row = 0; row < SST_ROWS_MAX; row++)
            council->awaited[row] = council->awaited[row] && lead_participant(council, row);
    }
}

/* ---- taking over ---- */

void lead_state(struct council *council, uint32_t row, const struct council_message *message)
{
    const struct view *view = &message->view;
    const struct view_member *member = lead_participant(council, row);
    if (council->lead != LEAD_ASKS) { /* it missed a message */
        if (council->installed.rows[row].id && view->epoch < council->installed.epoch)
            council_say_commit(council, member->id, &council->installed);
        else if (council->lead == LEAD_RESTS && !council->loose &&
                 message->epoch > council->installed.epoch)
            lead_say_cancel(council, member->id);
        return;
    }
    if (!council->awaited[row] || ballot_compare(&message->ballot, &council->ballot) != 0)
        return;
    council->awaited[row] = false;
    council->epoch_max = most_u64(council->epoch_max, message->epoch);
    if (view->epoch != council->proposal.epoch && council->proposal.rows[row].id)
        council->uneven = true;
    if (view->epoch > council->proposal.epoch) {
        council->proposal = *view;
        council->uneven = true;
    }
}

/* We are the eldest member: asks the others whether they have installed the same view. */
static void lead_ask(struct council *council)
{
    uint32_t own = view_row_of(&council->installed, council->config.nonce);
    council->ballot.since = council->installed.rows[own].since;
    council->ballot.row = own;
    lead_ballot_next(council);
    council->lead = LEAD_ASKS;
    council->proposal = council->installed;
    council->uneven = false;
    council->joiner_count = 0;
    if (council->prepared_is)
        council->epoch_max = most_u64(council->epoch_max, council->prepared.epoch);
    lead_await(council);
    council->awaited[own] = false;
    lead_say(council);
}

/* Lets in the newcomers of the previous leader's proposal. */
static void lead_inherit(struct council *council)
{
    for (uint32_t row = 0; council->prepared_is && row < council->prepared.row_count; row++) {
        const struct view_member *member = &council->prepared.rows[row];
        if (member->id && !council->installed.rows[row].id &&
            !council_is_dead(council, member->nonce) &&
            joiner_find(council, member->id) == council->joiner_count &&
            lead_count(council, 0) < council->config.rows_max)
            council->joiners[council->joiner_count++] =
                (struct council_joiner){member->id, member->nonce};
    }
}

/* All have answered: brings every member to the latest view that any of them has. */
static void lead_adopt(struct council *council)
{
    struct view view = council->proposal;
    bool is_newer = view.epoch > council->installed.epoch;
    bool is_member = view_row_of(&view, council->config.nonce) != ROW_NONE;
    for (uint32_t row = 0; council->uneven && is_member && row < view.row_count; row++) {
        const struct view_member *member = &view.rows[row];
        if (member->id && member->nonce != council->config.nonce)
            council_say_commit(council, member->id, &view);
    }
    council->lead = LEAD_RESTS;
    council->loose = true;
    if (is_newer && (!is_member || council_has_met(council, &view)))
        lead_apply(council, &view);
    else if (is_newer)
        council_end(council, council->ops->expelled);
    else
        lead_inherit(council);
}

static bool lead_is_eldest(const struct council *council)
{
    uint32_t own = view_row_of(&council->installed, council->config.nonce);
    struct ballot ballot = {council->installed.rows[own].since, own, council->ballot.round + 1};
    struct ballot least = council_ballot_least(council);
    return council_row_of_leader(council) == own && ballot_compare(&ballot, &least) > 0;
}

/* Makes one transition. Returns false if there is nothing to do or an answer is missing. */
static bool lead_step(struct council *council)
{
    switch (council->lead) {
    case LEAD_FOLLOWS:
        if (!lead_is_eldest(council))
            return false;
        lead_ask(council);
        return true;
    case LEAD_ASKS:
        if (!lead_is_answered(council))
            return false;
        lead_adopt(council);
        return true;
    case LEAD_RESTS:
        if (!council_has_majority(council))
            return false;
        if (lead_build(council, &council->proposal)) {
            if (council->proposal.row_count == 0)
                lead_dissolve(council);
            else
                lead_propose(council);
            return true;
        }
        if (council->loose)
            lead_cancel(council);
        return false;
    case LEAD_PROPOSES:
        return false;
    }
    assert_unreachable();
}

void lead_settle(struct council *council)
{
    while (council_is_member(council) && !council->outvoted && lead_step(council))
        continue;
}
