#pragma once
/* meeting: how two members come to share rows. The table registers these functions with its members
 * (struct members_config), which call them one at a time.
 *
 *   offer     makes memory for the newcomer's row and grants it; a message carries the
 *             introduction to the newcomer
 *   accept    takes the newcomer's introduction: when it returns, the newcomer has our
 *             whole row and receives our puts
 *   install   both are members now
 *
 * A member can fail at any time after offer. part undoes the meeting with a process that was never
 * installed. */

#include <stdint.h>

#include <weft/sst.h>

#include "sst/council/introduction.h"
#include "sst/table/view.h"

struct meeting_ops {
    /* Returns -ENOMEM, -EBUSY, or as ripc_grant. */
    int (*offer)(struct sst *table, uint32_t row, ripc_id member, struct introduction *out);

    /* Waits for the connection until the deadline. -EPIPE, -ENOENT, -ETIMEDOUT: the member is gone
     * or unreachable; -EPROTO: the memory that it offers is too small. */
    int (*accept)(struct sst *table, uint32_t row, ripc_id member, const struct introduction *from,
                  int64_t deadline);

    void (*part)(struct sst *table, uint32_t row);

    /* Makes the view current. The detector takes it over at its next pass; rows without a member
     * are removed from the table then. */
    void (*install)(struct sst *table, const struct view *view);

    /* The member of that row in the view installed last is dead: freezes its row. */
    void (*fail)(struct sst *table, uint32_t row);

    /* The other members went on without us. */
    void (*expelled)(struct sst *table);
};
