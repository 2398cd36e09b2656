#pragma once
/* own: the row that this member alone writes: a private image of the program's struct, the
 * row as it lies in memory, and the puts that carry the one into the other and on to the
 * members. One call at a time: whoever has several threads has a lock. Pure. */

#include "sst/table/spread.h"

struct own {
    const struct schema *schema; /* borrowed */
    struct row_spread *spread;   /* borrowed */
    uint8_t *row;                /* borrowed; its only writer is here */
    uint8_t *image;              /* the program's struct */
    uint64_t sequence;           /* of the last put */
};

MUST_CHECK int own_init(struct own *own, const struct schema *schema, uint8_t *row,
                        struct row_spread *spread); /* -ENOMEM */
void own_fini(struct own *own);

/* A number, as its cell. -ERANGE: it falls and may not. */
int own_set(struct own *own, uint32_t column, uint64_t cell);

/* A word of the head: barrier or asleep. */
void own_set_head(struct own *own, uint32_t offset, uint64_t word);

/* Parts of the image, then (guard is a column, or OWN_NO_GUARD) the guard. Returns how many bytes,
 * or -EINVAL, -ERANGE; then nothing was put. */
#define OWN_NO_GUARD UINT32_MAX
int64_t own_put(struct own *own, const struct sst_range *ranges, unsigned count, uint32_t guard,
                uint64_t guard_cell, const struct sst_rows *to);
