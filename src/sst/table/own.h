#pragma once
/* own: the row that this member alone writes. It consists of a private image of the program's
 * struct and of the row in memory; a put copies from the image to the row and on to the other
 * members. One call at a time: a caller with several threads holds a lock. Pure. */

#include "sst/table/spread.h"

struct own {
    const struct schema *schema; /* borrowed */
    struct row_spread *spread;   /* borrowed */
    uint8_t *row;                /* borrowed; this module is its only writer */
    uint8_t *image;              /* the program's struct; owned */
    uint64_t sequence;           /* of the last put */
};

MUST_CHECK int own_init(struct own *own, const struct schema *schema, uint8_t *row,
                        struct row_spread *spread); /* -ENOMEM */
void own_fini(struct own *own);

/* Puts a number, given as its cell. -ERANGE: the column may only grow and the number is smaller. */
int own_set(struct own *own, uint32_t column, uint64_t cell);

/* Puts a word of the row's head: barrier or asleep. */
void own_set_head(struct own *own, uint32_t offset, uint64_t word);

/* Puts parts of the image and then the guard, unless `guard` is OWN_NO_GUARD. Returns the number of
 * bytes, or -EINVAL or -ERANGE; then nothing was put. */
#define OWN_NO_GUARD UINT32_MAX
int64_t own_put(struct own *own, const struct sst_range *ranges, unsigned count, uint32_t guard,
                uint64_t guard_cell, const struct sst_rows *to);
