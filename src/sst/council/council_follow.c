/* council_follow: the follower's part of a council: it reports its state, meets newcomers, gets
 * ready for a view, and installs it. The leader's part (council_lead.c) and the part that handles
 * input (council.c) call it; it calls neither. */
#include <errno.h>

#include "base/bitset.h"
#include "base/check.h"
#include "sst/council/council_impl.h"

struct council_dead *council_dead_find(const struct council *council, uint64_t nonce)
{
    uint64_t count = council->dead_count;
    for (uint64_t i = 0; i < count && i < COUNCIL_DEAD_MAX; i++)
        if (council->dead[i].nonce == nonce)
            return (struct council_dead *)&council->dead[i];
    return NULL;
}

bool council_is_dead(const struct council *council, uint64_t nonce)
{
    return council_dead_find(council, nonce) != NULL;
}

void council_dead_add(struct council *council, uint64_t nonce, bool silent)
{
    struct council_dead *dead = &council->dead[council->dead_count++ % COUNCIL_DEAD_MAX];
    council->silent_count -= dead->silent;
    council->silent_count += silent;
    *dead = (struct council_dead){nonce, silent};
}

bool council_promise_is_void(const struct council *council)
{
    uint32_t row = view_row_of(&council->installed, council->promised_to);
    if (council->outvoted && council->promised_to == council->config.nonce)
        return true; /* we lead no more, and withdrew our proposal */
    bool gone =
        council_is_dead(council, council->promised_to) || (row != ROW_NONE && council->passed[row]);
    return gone && !(council->prepared_is && council->leader.nonce == council->promised_to);
}

struct ballot council_ballot_least(const struct council *council)
{
    static const struct ballot any;
    if (!council_promise_is_void(council))
        return council->promised;
    if (council->prepared_is && council->leader.nonce != council->config.nonce)
        return council->prepared_ballot;
    return council->doubt.epoch ? council->doubt_ballot : any;
}

uint32_t council_row_of_leader(const struct council *council)
{
    const struct view *view = &council->installed;
    struct ballot least = council_ballot_least(council);
    uint32_t eldest = ROW_NONE;
    for (uint32_t row = 0; row < view->row_count; row++) {
        const struct view_member *member = &view->rows[row];
        struct ballot last = {.since = member->since, .row = row, .round = UINT32_MAX};
        if (!member->id || council->passed[row] || council_is_dead(council, member->nonce) ||
            ballot_compare(&last, &least) < 0)
            continue;
        if (eldest == ROW_NONE || member->since < view->rows[eldest].since)
            eldest = row;
    }
    return eldest;
}

/* ---- majorities ---- */

/* If no member is silent, all others that we do not reach have ended. Otherwise: are the members
 * that we reach more than the others, or just as many and the eldest of all is among them? Members
 * that have ended count with the others, because the silent ones may have gone on with them before.
 */
static bool view_has_majority(const struct council *council, const struct view *view)
{
    const struct view_member *eldest = NULL;
    bool eldest_lives = true, any_silent = false;
    unsigned live = 0, gone = 0;
    for (uint32_t row = 0; row < view->row_count; row++) {
        const struct view_member *member = &view->rows[row];
        const struct council_dead *dead = council_dead_find(council, member->nonce);
        if (!member->id)
            continue;
        if (!eldest || member->since < eldest->since) {
            eldest = member;
            eldest_lives = !dead;
        }
        any_silent |= dead && dead->silent;
        live += !dead;
        gone += dead != NULL;
    }
    return !any_silent || live > gone || (live == gone && eldest_lives);
}

bool council_has_majority(const struct council *council)
{
    if (council->silent_count == 0)
        return true;
    if (council->unknown > council->installed.epoch)
        return false;
    /* The leader of a view that we prepared may have installed it, if another process leads now. */
    bool orphaned = council->prepared_is && council->leader.nonce != council->config.nonce &&
                    council_is_dead(council, council->leader.nonce);
    return view_has_majority(council, &council->installed) &&
           (!council->doubt.epoch || view_has_majority(council, &council->doubt)) &&
           (!orphaned || view_has_majority(council, &council->prepared));
}

/* Do both views have the same members? Then both have the same majorities. */
static bool view_has_same_members(const struct view *one, const struct view *other)
{
    for (uint32_t row = 0; row < SST_ROWS_MAX; row++)
        if (one->rows[row].nonce != other->rows[row].nonce)
            return false;
    return true;
}

void council_doubt(struct council *council, uint64_t leader)
{
    if (!council->prepared_is || council->leader.nonce == leader)
        return;
    council->epoch_max = most_u64(council->epoch_max, council->prepared.epoch);
    if (council->leader.nonce == council->config.nonce)
        return; /* we did not install it, and no other process does so before us */
    council->doubt_ballot = council->prepared_ballot;
    if (!council->doubt.epoch)
        council->doubt = council->prepared;
    else if (!view_has_same_members(&council->doubt, &council->prepared))
        council->unknown = most_u64(council->unknown, council->prepared.epoch);
}

uint32_t council_row(const struct council *council)
{
    uint32_t row = view_row_of(&council->installed, council->config.nonce);
    return row != ROW_NONE ? row : council->row;
}

void council_say(struct council *council, ripc_id to, struct council_message *message)
{
    uint8_t bytes[COUNCIL_WIRE_MAX];
    message->table = council->table;
    message->sender = council->config.nonce;
    council->ops->send(council->argument, to, bytes, council_write(message, bytes));
}

void council_say_commit(struct council *council, ripc_id to, const struct view *view)
{
    struct council_message message = {
        .kind = COUNCIL_COMMIT, .ballot = council->promised, .view = *view};
    council_say(council, to, &message);
}

void council_say_state(struct council *council, ripc_id to)
{
    struct council_message message = {
        .kind = COUNCIL_STATE,
        .ballot = council->promised,
        .epoch = council->prepared_is ? council->prepared.epoch : 0,
        .view = council->installed,
    };
    council_say(council, to, &message);
}

void council_say_ready(struct council *council)
{
    struct council_message message = {
        .kind = COUNCIL_READY,
        .ballot = council->prepared_ballot,
        .epoch = council->prepared.epoch,
    };
    council_say(council, council->leader.id, &message);
}

/* ---- meetings ---- */

static void meeting_end(struct council *council, uint32_t row)
{
    struct council_meeting *meeting = &council->meetings[row];
    if (meeting->id)
        council->ops->part(council->argument, row, meeting->nonce);
    *meeting = (struct council_meeting){0};
}

void council_void(struct council *council)
{
    for (uint32_t row = 0; row < SST_ROWS_MAX; row++)
        meeting_end(council, row);
    council->prepared_is = council->ready = false;
}

void council_forget(struct council *council)
{
    assert(!council_is_member(council));
    council_void(council);
    council->promised = (struct ballot){0};
    council->promised_to = 0;
    council->prepared.epoch = council->doubt.epoch = council->unknown = 0;
    council->row = ROW_NONE;
}

/* Is the member in this row of the view new to us? It is, unless it is ourselves or has the same
 * row in the installed view. */
static bool member_is_new(const struct council *council, const struct view *view, uint32_t row)
{
    const struct view_member *member = &view->rows[row];
    return member->id && member->nonce != council->config.nonce &&
           council->installed.rows[row].nonce != member->nonce;
}

bool council_has_met(const struct council *council, const struct view *view)
{
    for (uint32_t row = 0; row < view->row_count; row++)
        if (member_is_new(council, view, row) &&
            (council->meetings[row].nonce != view->rows[row].nonce ||
             council->meetings[row].status != 0))
            return false;
    return true;
}

bool council_check_ready(struct council *council)
{
    if (!council->prepared_is || council->ready ||
        (council->row != ROW_NONE && !council_has_met(council, &council->prepared)))
        return false;
    council->ready = true;
    if (council->leader.nonce == council->config.nonce)
        return true;
    council_say_ready(council);
    return false;
}

bool council_prepare(struct council *council, const struct view *view, const struct ballot *ballot,
                     const struct view_member *leader)
{
    uint32_t own = view_row_of(view, council->config.nonce);
    council_doubt(council, leader->nonce);
    if (own != council->row)
        council_void(council); /* the others met us in another row */
    council->promised = council->prepared_ballot = *ballot;
    council->prepared = *view;
    council->prepared_is = true;
    council->ready = false;
    council->leader = *leader;
    council->row = own;
    for (uint32_t row = 0; row < SST_ROWS_MAX; row++) {
        struct council_meeting *meeting = &council->meetings[row];
        const struct view_member *member = &view->rows[row];
        if (council->installed.rows[row].id && bitset_has(view->left, row))
            council->leaving[row] = true; /* even if this view is never installed */
        bool wanted = own != ROW_NONE && row < view->row_count && member_is_new(council, view, row);
        if (meeting->id && (!wanted || meeting->nonce != member->nonce))
            meeting_end(council, row);
        if (!wanted || meeting->id)
            continue;
        bool dead = council_is_dead(council, member->nonce);
        *meeting = (struct council_meeting){
            .id = member->id, .nonce = member->nonce, .status = dead ? -EPIPE : -EINPROGRESS};
        council->ops->meet(council->argument, row, member->id, member->nonce);
    }
    return council_check_ready(council);
}

/* ---- views ---- */

void council_end(struct council *council, void (*say)(void *argument))
{
    council_void(council);
    council->phase = COUNCIL_OVER;
    council->lead = LEAD_FOLLOWS;
    say(council->argument);
}

/* Tells members that this view excludes and that may be alive. The leader tells them, too, but may
 * not reach them. */
static void council_say_excluded(struct council *council, const struct view *view)
{
    for (uint32_t row = 0; row < council->installed.row_count; row++) {
        const struct view_member *member = &council->installed.rows[row];
        const struct council_dead *dead = council_dead_find(council, member->nonce);
        if (member->id && view->rows[row].nonce != member->nonce && dead && dead->silent &&
            !bitset_has(view->left, row))
            council_say_commit(council, member->id, view);
    }
}

void council_apply(struct council *council, const struct view *view)
{
    uint32_t own = view_row_of(view, council->config.nonce);
    if (own == ROW_NONE) {
        bool leaving = council->phase == COUNCIL_LEAVING;
        council_end(council, leaving ? council->ops->left : council->ops->expelled);
        return;
    }
    for (uint32_t row = 0; row < SST_ROWS_MAX; row++) {
        if (row < view->row_count && council->meetings[row].nonce == view->rows[row].nonce)
            council->meetings[row] = (struct council_meeting){0};
        else
            meeting_end(council, row);
        if (council->installed.rows[row].nonce != view->rows[row].nonce)
            council->leaving[row] = council->passed[row] = false;
    }
    council_say_excluded(council, view);
    council->prepared_is = council->ready = false;
    council->doubt.epoch = 0;
    council->installed = *view;
    council->table = view->table;
    council->row = own;
    if (council->phase == COUNCIL_JOINING)
        council->phase = COUNCIL_MEMBER;
    council->ops->install(council->argument, view);
}
