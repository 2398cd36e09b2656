#pragma once
/* sst_view: a table of any program as text and as a JSON object. Values that changed since
 * the last picture are marked. */

#include <stdbool.h>
#include <stdint.h>

#include <weft/sst.h>

#include "base/json.h"
#include "base/text.h"
#include "cli/show/table_text.h"

struct sst_picture_row {
    uint32_t row;
    ripc_id member;
    bool live;
    bool known;            /* otherwise the row cannot be read, or cannot be read yet */
    const uint8_t *values; /* in the layout of the program's struct */
};

/* A table at one moment; everything is borrowed. */
struct sst_picture {
    uint64_t table, epoch;
    const struct sst_column *columns; /* their names are printable */
    uint32_t column_count;
    uint32_t row_count; /* rows of members, in increasing order of their numbers */
    const struct sst_picture_row *rows;
};

struct sst_view {
    bool wide; /* show all elements */
    uint64_t epoch;
    ripc_id members[SST_ROWS_MAX];                  /* of the last picture; 0: none */
    uint64_t hashes[SST_ROWS_MAX][SST_COLUMNS_MAX]; /* of the values of the last picture */
};

/* Prints a title and the table. */
void sst_view_text(struct sst_view *view, struct text *out, const struct sst_picture *picture,
                   const struct table_text_style *style);

/* Adds the picture to an object that the caller has opened. */
void sst_view_json(struct json *json, const struct sst_picture *picture);

/* "u64", "bytes". */
const char *sst_type_name(enum sst_type type);
