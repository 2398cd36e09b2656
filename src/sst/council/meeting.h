#pragma once
/* meeting: how two members come to share rows. Called by whoever keeps the members
 * (src/sst/council/members.c), one call at a time; implemented by the table.
 *
 *   offer    we make memory for the newcomer's row and grant it; the introduction
 *            goes to it by message
 *   accept   we take its introduction: from now on our puts reach it, and the whole
 *            of our row has
 *   install  both are members now
 *
 * A member fails at any time after offer; part undoes the meeting with one that was
 * never installed. */

#include <stdint.h>

#include <weft/sst.h>

#include "sst/table/view.h"

/* What a member must know to share rows with us. */
struct introduction {
    struct ripc_grant row;   /* SST_WRITES: memory for its row, at ours; SST_READS: our own row */
    struct ripc_grant bell;  /* what wakes our detector, where it can be mapped ... */
    struct ripc_handle wake; /* ... and where it cannot */
    uint64_t barrier;        /* how many barriers we have come to: who joins stands there, too */
};

/* -ENOMEM, or as ripc_grant. */
int meeting_offer(struct sst *table, uint32_t row, ripc_id member, struct introduction *out);

/* Waits for the way to it until the deadline. -EPIPE, -ENOENT, -ETIMEDOUT: it is gone or
 * not reachable; -EPROTO: what it offers is too small. */
int meeting_accept(struct sst *table, uint32_t row, ripc_id member, const struct introduction *from,
                   int64_t deadline);

void meeting_part(struct sst *table, uint32_t row);

/* The view counts from now on. The detector takes it over at its next pass; rows that
 * are no longer anybody's leave the table then. */
void meeting_install(struct sst *table, const struct view *view);

/* The member of that row, of the view installed last, is dead: its row is frozen. */
void meeting_fail(struct sst *table, uint32_t row);

/* The others went on without us. */
void meeting_expelled(struct sst *table);
