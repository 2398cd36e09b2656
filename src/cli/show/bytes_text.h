#pragma once
/* bytes_text: what others wrote, so that it can be printed. */

#include <stddef.h>

#include "base/text.h"

/* Bytes as printable text: well-formed UTF-8 as it is, a backslash doubled,
 * all else as \xHH; "..." after the first `most` bytes. */
void bytes_text(struct text *out, const void *data, size_t size, size_t most);
