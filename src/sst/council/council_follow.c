/* council_follow: the follower's part of a council: it reports its state, meets newcomers, gets
 * ready for a view, and installs it. The leader's part (council_lead.c) and the part that handles
 * input (council.c) call it; it calls neither. */
#include <errno.h>

#include "base/bitset.h"
#include "base/check.h"
#include "sst/council/council_impl.h"

bool council_is_dead(const struct council *council, uint64_t nonce)
{
    uint64_t count = council->dead_count;
    for (uint64_t i = 0; i < count && i < COUNCIL_DEAD_MAX; i++)
        if (council->dead[i] == nonce)
            return true;
    return false;
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
            council->leaving[row] = false;
    }
    council->prepared_is = council->ready = false;
    council->installed = *view;
    council->table = view->table;
    council->row = own;
    if (council->phase == COUNCIL_JOINING)
        council->phase = COUNCIL_MEMBER;
    council->ops->install(council->argument, view);
}
