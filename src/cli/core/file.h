#pragma once
/* file: reads and writes whole files. A write replaces the old file only when the
 * new one is complete on disk; a failure leaves no partial file. */

#include <stddef.h>

#include "base/err.h"
#include "base/text.h"

/* Reads the whole file and adds a zero byte after its end. "-" is standard input.
 * The caller frees *data. */
MUST_CHECK enum err file_read(const char *path, char **data, size_t *size, struct why *why);

MUST_CHECK enum err file_write(const char *path, const struct text *text, struct why *why);

/* Creates a folder and its parents; it is no failure if it exists. */
MUST_CHECK enum err file_make_folder(const char *path, struct why *why);
