#pragma once
/* sst_cell: the elements of a column as text and as JSON. They lie as in the program's
 * struct. */

#include <stddef.h>
#include <stdint.h>

#include <weft/sst.h>

#include "base/json.h"
#include "base/text.h"

/* Numbers with blanks between them; bytes as printable text, without the zero bytes at
 * their end. Of several elements at most those are shown that fit into `most` columns, with an
 * ellipsis and their count after them; 0: all. */
void sst_cell_text(struct text *out, enum sst_type type, uint32_t count, const void *elements,
                   uint32_t most);

/* A number, true or false; an array of those if there are several elements; bytes as a
 * string, as above. */
void sst_cell_json(struct json *json, enum sst_type type, uint32_t count, const void *elements);
