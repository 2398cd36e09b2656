#pragma once
/* council_impl: what the files of a council share. Each calls only those above it in this list:
 *
 *   council_follow.c  says where we stand, meets, gets ready, installs
 *   council_lead.c    proposes the next view and brings it about
 *   council.c         takes what comes from outside, and decides which of the two it is for */

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

/* < 0: one is older. */
static inline int ballot_compare(const struct ballot *one, const struct ballot *other)
{
    if (one->since != other->since)
        return compare_u64(one->since, other->since);
    if (one->row != other->row)
        return compare_u64(one->row, other->row);
    return compare_u64(one->round, other->round);
}

/* ---- following ---- */

/* Sends it with our name; `to` 0: to all. */
void council_say(struct council *council, ripc_id to, struct council_message *message);
void council_say_commit(struct council *council, ripc_id to, const struct view *view);
void council_say_state(struct council *council, ripc_id to);
void council_say_ready(struct council *council); /* to whoever prepares the view */

/* Takes over a proposal that is newer than all before: parts and meets. Returns as
 * council_check_ready. */
bool council_prepare(struct council *council, const struct view *view, const struct ballot *ballot,
                     const struct view_member *leader);

/* Have we met everybody of the proposal just now? Then its leader hears so. True: we lead it
 * ourselves, and the caller calls lead_ready_self. */
bool council_check_ready(struct council *council);

/* Have we met everybody of the view that is new to us? */
bool council_has_met(const struct council *council, const struct view *view);

/* Makes it the view, or finds us outside of it. We have met everybody in it. */
void council_apply(struct council *council, const struct view *view);

/* Gives the proposal up: parts from everybody we were meeting. */
void council_void(struct council *council);
void council_end(struct council *council, void (*say)(void *argument));

/* ---- leading ---- */

void lead_join(struct council *council, ripc_id from, const struct council_message *message);
void lead_leave(struct council *council, uint32_t row);
void lead_ready(struct council *council, uint32_t row, const struct council_message *message);
void lead_unready(struct council *council, uint32_t row, const struct council_message *message);
void lead_state(struct council *council, uint32_t row, const struct council_message *message);
void lead_failed(struct council *council, uint64_t nonce);

/* We are ready for our own proposal. */
void lead_ready_self(struct council *council);

/* Repeats what was not answered. */
void lead_tick(struct council *council);

/* The row of whoever of the participants has that nonce, or ROW_NONE. */
uint32_t lead_row_of(const struct council *council, uint64_t nonce);

/* Leads, if that is to be done. Called at the end of every input. */
void lead_settle(struct council *council);
