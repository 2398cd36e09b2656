#pragma once
/* place: where a server's socket is. */

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define PLACE_SIZE 4096

/* Writes the run directory: `dir`, or if it is NULL the default one (WEFT_DIR, or a folder of the
 * user). -ENAMETOOLONG: `out` has the beginning; -EINVAL: an empty name. */
MUST_CHECK int place_folder(const char *dir, char out[PLACE_SIZE]);
/* The socket of that server. -ENAMETOOLONG. */
MUST_CHECK int place_socket(const char *folder, uint32_t server, char out[PLACE_SIZE]);
/* Finds the lowest server above `*server` that has a socket in the folder; UINT32_MAX begins with
 * the first. -ENOENT: there is none. */
MUST_CHECK int place_next(const char *folder, uint32_t *server);
