#pragma once
/* meeting: how two members come to share rows. The table registers these functions with its members
 * (struct members_config), which call them one at a time.
 *
 *   offer     we make memory for the newcomer's row and grant it; the introduction
 *             goes to it by message
 *   accept    we take its introduction: from now on our puts reach it, and the whole
 *             of our row has
 *   install   both are members now
 *
 * A member fails at any time after offer; part undoes the meeting with one that was
 * never installed. */

#include <stdint.h>

#include <weft/sst.h>

#include "sst/council/introduction.h"
#include "sst/table/view.h"

struct meeting_ops {
    /* -ENOMEM, -EBUSY, or as ripc_grant. */
    int (*offer)(struct sst *table, uint32_t row, ripc_id member, struct introduction *out);

    /* Waits for the way to it until the deadline. -EPIPE, -ENOENT, -ETIMEDOUT: it is gone or
     * not reachable; -EPROTO: what it offers is too small. */
    int (*accept)(struct sst *table, uint32_t row, ripc_id member, const struct introduction *from,
                  int64_t deadline);

    void (*part)(struct sst *table, uint32_t row);

    /* The view counts from now on. The detector takes it over at its next pass; rows that
     * no longer have a member leave the table then. */
    void (*install)(struct sst *table, const struct view *view);

    /* The member of that row, of the view installed last, is dead: its row is frozen. */
    void (*fail)(struct sst *table, uint32_t row);

    /* The others went on without us. */
    void (*expelled)(struct sst *table);
};
