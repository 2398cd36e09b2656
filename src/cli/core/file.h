#pragma once
/* file: whole files, in and out. A write replaces the old file only when all
 * of the new one is on disk; a failure leaves no half-written file. */

#include <stddef.h>

#include "base/err.h"
#include "base/text.h"

/* The whole file, with a zero byte after its end. "-" is standard input. The
 * caller frees *data. */
MUST_CHECK enum err file_read(const char *path, char **data, size_t *size, struct why *why);

MUST_CHECK enum err file_write(const char *path, const struct text *text, struct why *why);

/* Creates a folder, and those above it; an existing one is fine. */
MUST_CHECK enum err file_make_folder(const char *path, struct why *why);
