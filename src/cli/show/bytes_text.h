#pragma once
/* bytes_text: bytes of other programs as printable text. */

#include <stddef.h>

#include "base/text.h"

/* Prints bytes: valid UTF-8 unchanged, a backslash doubled, all other bytes as
 * \xHH; "..." after the first `most` bytes. */
void bytes_text(struct text *out, const void *data, size_t size, size_t most);
