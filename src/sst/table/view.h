#pragma once
/* view: the members of a table under one epoch, by row. Plain data. */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <weft/sst.h>

struct view_member {
    ripc_id id;     /* 0: the row is nobody's */
    uint64_t nonce; /* random, of this membership: a process that comes again has another */
    uint64_t since; /* the epoch in which it became a member: the eldest lead */
};

struct view {
    uint64_t table;                   /* random, of this founding: tables of one name never mix */
    uint64_t epoch;                   /* from 1 */
    uint32_t row_count;               /* of rows[]; the last is somebody's */
    uint64_t left[SST_ROWS_MAX / 64]; /* rows whose member went by itself since the view before; of
                                       * the others that are gone every member says: it failed */
    struct view_member rows[SST_ROWS_MAX];
};

static inline bool view_equal(const struct view *one, const struct view *other)
{
    return one->table == other->table && one->epoch == other->epoch &&
           one->row_count == other->row_count &&
           memcmp(one->left, other->left, sizeof one->left) == 0 &&
           memcmp(one->rows, other->rows, sizeof one->rows) == 0;
}
