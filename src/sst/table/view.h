#pragma once
/* view: the members of a table under one epoch, by row. Plain data. */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <weft/sst.h>

struct view_member {
    ripc_id id;     /* 0: the row has no member */
    uint64_t nonce; /* random, for this membership: a process that joins again has a new one */
    uint64_t since; /* the epoch in which it became a member; the eldest member leads */
};

struct view {
    uint64_t table;     /* random, for this founding: distinguishes tables of the same name */
    uint64_t epoch;     /* from 1 */
    uint32_t row_count; /* of rows[]; the last of them has a member */
    uint64_t left[SST_ROWS_MAX / 64]; /* rows whose member left voluntarily since the previous view;
                                         members report every other removed member as failed */
    struct view_member rows[SST_ROWS_MAX];
};

static inline bool view_equal(const struct view *one, const struct view *other)
{
    return one->table == other->table && one->epoch == other->epoch &&
           one->row_count == other->row_count &&
           memcmp(one->left, other->left, sizeof one->left) == 0 &&
           memcmp(one->rows, other->rows, sizeof one->rows) == 0;
}
