#pragma once
/* council_impl: what the files of a council share. Each calls only those above it in this list:
 *
 *   council_follow.c  reports our state, meets, gets ready, installs
 *   council_lead.c    proposes the next view and gets it installed
 *   council.c         takes all input and hands it to one of the two */

#include <string.h>

#include "base/compare.h"
#include "sst/council/council.h"

#define ROW_NONE SST_ROWS_MAX

/* ---- views and ballots ---- */

static inline uint32_t view_row_of(const struct view *view, uint64_t nonce)
{
    for (uint32_t row = 0; row < view->row_count; row++)
        if (view->rows[row].nonce == nonce)
            return row;
    return ROW_NONE;
}

/* Returns less than 0 if `one` is older. */
static inline int ballot_compare(const struct ballot *one, const struct ballot *other)
{
    if (one->since != other->since)
        return compare_u64(one->since, other->since);
    if (one->row != other->row)
        return compare_u64(one->row, other->row);
    return compare_u64(one->round, other->round);
}

/* ---- following ---- */

struct council_dead *council_dead_find(const struct council *council, uint64_t nonce);
void council_dead_add(struct council *council, uint64_t nonce, bool silent);

/* A promise to a leader that died or was passed over, and whose proposals we do not have, does not
 * count: the next leader asks again. */
bool council_promise_is_void(const struct council *council);

/* Older ballots do not count. A proposal that we prepared after the installed view binds us even if
 * another leader withdrew it: its own leader may have installed it, because we were ready. */
struct ballot council_ballot_least(const struct council *council);

/* Returns the row of the member that should lead: the eldest that is not known to be dead, was not
 * passed over, and is not elder than the leader that we promised to follow. ROW_NONE: none. */
uint32_t council_row_of_leader(const struct council *council);

/* Call this before the prepared view is replaced or given up at the request of that leader: if
 * another leader proposed it, that one may have installed it. */
void council_doubt(struct council *council, uint64_t leader);

/* Sends the message with our nonce; `to` 0: to all members. */
void council_say(struct council *council, ripc_id to, struct council_message *message);
void council_say_commit(struct council *council, ripc_id to, const struct view *view);
void council_say_state(struct council *council, ripc_id to);
void council_say_ready(struct council *council); /* to the process that proposed the view */

/* Takes over a proposal that is newer than all before: ends the meetings that it does not need and
 * begins those that it does. Returns as council_check_ready. */
bool council_prepare(struct council *council, const struct view *view, const struct ballot *ballot,
                     const struct view_member *leader);

/* If we have now met all members of the proposal, tells its leader. Returns true if we lead the
 * proposal ourselves; then the caller calls lead_ready_self. */
bool council_check_ready(struct council *council);

/* Have we met all members of the view that are new to us? */
bool council_has_met(const struct council *council, const struct view *view);

/* Installs the view, or ends our membership if we are not in it. We have met all its members. */
void council_apply(struct council *council, const struct view *view);

/* Gives the proposal up and ends all its meetings. */
void council_void(struct council *council);

/* A joining process begins again. It cannot install any view that it prepared before, because it
 * has no meetings any more, so none of its promises binds it. */
void council_forget(struct council *council);
void council_end(struct council *council, void (*say)(void *argument));

/* ---- leading ---- */

void lead_join(struct council *council, ripc_id from, const struct council_message *message);
void lead_leave(struct council *council, uint32_t row);
void lead_ready(struct council *council, uint32_t row, const struct council_message *message);
void lead_unready(struct council *council, uint32_t row, const struct council_message *message);
void lead_state(struct council *council, uint32_t row, const struct council_message *message);
void lead_failed(struct council *council, uint64_t nonce);

/* We lead no more: tells all that may have prepared our proposal that it will not be installed. */
void lead_withdraw(struct council *council);

/* Records that we are ready for our own proposal. */
void lead_ready_self(struct council *council);

/* Repeats messages without an answer. */
void lead_tick(struct council *council);

/* Returns the row of the participant with that nonce, or ROW_NONE. */
uint32_t lead_row_of(const struct council *council, uint64_t nonce);

/* Does what a leader has to do, if we lead. Called at the end of every input. */
void lead_settle(struct council *council);
