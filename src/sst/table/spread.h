#pragma once
/* spread: how a row travels from its owner to the other members. The own row (own.h) and the
 * detector only use this table of operations.
 *
 *   write   (sst/spread/share.c) the owner stores into every member's copy
 *   read    (sst/spread/share.c) every member fetches
 *   flood   (node/links/flood.c) rows travel over the links of a fabric */

#include "sst/table/row.h"

struct row_spread;

struct row_spread_ops {
    const char *name;
    /* A number of the own row changed; the own row already holds it. */
    void (*set)(struct row_spread *spread, uint32_t cell, uint64_t word, uint64_t sequence,
                const struct sst_rows *to);
    /* Several columns changed. `to` is NULL for all members. */
    void (*change)(struct row_spread *spread, const struct change *change,
                   const struct sst_rows *to);
    /* Fetches the rows of other members, and sends what could not be sent at once. The detector
     * calls it once a pass. Returns the number of actions. */
    int (*move)(struct row_spread *spread);
    /* Has everything arrived that was put up to that sequence? False may mean that only a later put
     * has not arrived. */
    bool (*is_flushed)(struct row_spread *spread, uint64_t sequence);
    bool to_some; /* true: a put can go to a subset of the members */
};

struct row_spread {
    const struct row_spread_ops *ops;
};
