#pragma once
/* configuration_file: reads a file with values of parameters, a line for each: store.copies = 3
 * (node/configuration/configuration.h; man weft-config). */

#include "base/err.h"
#include "node/configuration/configuration.h"

/* Adds the settings of the file. Every reason names the file, and the line if there is one. */
MUST_CHECK enum err configuration_file_read(struct configuration *configuration, const char *path,
                                            struct why *why);
