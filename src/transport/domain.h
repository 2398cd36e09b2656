#pragma once
/* domain: the folder in which contexts of one domain and one user meet, on
 * this host: /dev/shm/weft-UID/DOMAIN (WEFT_FOLDER replaces /dev/shm/weft-UID).
 * It holds sockets (context.HEX), claims (claim.*), traces (trace.HEX). Every
 * file is locked by the process it belongs to, so what the dead left behind
 * can be told and removed by whoever comes next. */

#include <stddef.h>

#include "base/err.h"

#define DOMAIN_PATH_MAX 96 /* a Unix socket's path has 108 */

/* The name is checked (letters, digits, . _ -, at most 32), the folder made
 * with mode 0700 and refused if it is another user's or open to others. */
MUST_CHECK int domain_open(char folder[DOMAIN_PATH_MAX], const char *domain, struct why *why);

/* Removes what belongs to nobody alive. Returns how many files. */
int domain_clean(const char *folder);

/* Opens FOLDER/NAME, made if needed, locked for us as long as the descriptor
 * is open. -EBUSY: somebody alive has it. */
MUST_CHECK int domain_file_lock(const char *folder, const char *name);

/* Is FOLDER/NAME locked by somebody alive? */
int domain_file_alive(const char *folder, const char *name);
