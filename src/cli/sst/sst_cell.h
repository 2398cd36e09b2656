#pragma once
/* sst_cell: the elements of a column as text and as JSON. Their layout is that of the
 * program's struct. */

#include <stddef.h>
#include <stdint.h>

#include <weft/sst.h>

#include "base/json.h"
#include "base/text.h"

/* Prints numbers separated by spaces, or bytes as printable text without the zero bytes at
 * their end. If there are several elements, it prints only those that fit into `most` columns,
 * then an ellipsis and their count; 0: all. */
void sst_cell_text(struct text *out, enum sst_type type, uint32_t count, const void *elements,
                   uint32_t most);

/* Adds a number or a boolean, an array of them if there are several elements, or bytes as a
 * string, as above. */
void sst_cell_json(struct json *json, enum sst_type type, uint32_t count, const void *elements);
