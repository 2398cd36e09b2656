#pragma once
/* spread: how a row gets from its owner to the other members. The own row (own.h) and the
 * detector know no more of it than this table of operations.
 *
 *   write   (sst/spread/share.c) the owner stores into every member's copy
 *   read    (sst/spread/share.c) every member fetches
 *   flood   (node/links/flood.c) rows travel over the links of a fabric */

#include "sst/table/row.h"

struct row_spread;

struct row_spread_ops {
    const char *name;
    /* A number of the own row changed; it stands in the own row already. */
    void (*set)(struct row_spread *spread, uint32_t cell, uint64_t word, uint64_t sequence,
                const struct sst_rows *to);
    /* Several columns did. `to` is NULL for all members. */
    void (*change)(struct row_spread *spread, const struct change *change,
                   const struct sst_rows *to);
    /* Brings other members' rows here, and sends on what could not be sent at once. Called by
     * the detector, once a pass. Returns how many things it did. */
    int (*move)(struct row_spread *spread);
    /* Has all that was put arrived? */
    bool (*is_flushed)(struct row_spread *spread);
    bool to_some; /* a put may go to some members only */
};

struct row_spread {
    const struct row_spread_ops *ops;
};
