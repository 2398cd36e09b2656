#pragma once
/* domain: the folder in which contexts of one domain and one user meet, on
 * this host: /dev/shm/weft-UID/DOMAIN (WEFT_FOLDER replaces /dev/shm/weft-UID).
 *
 *   context.HEX   locked for as long as the context of that number lives
 *   socket.HEX    where it listens; a socket cannot be locked, so it belongs to
 *                 context.HEX, which is made before it and removed after it
 *   claim.*       locked by the claimant
 *   trace.HEX     locked by the writer
 *
 * Every file is locked by the process it belongs to, so what the dead left
 * behind can be told and removed by whoever comes next: opening a context
 * calls domain_clean. The lock is of the open file (F_OFD_SETLK, first byte,
 * for writing; not flock): only files locked by domain_file_lock are safe. */

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define DOMAIN_PATH_MAX 84 /* a Unix socket's path has 108, of which /socket.HEX takes 24 */
#define DOMAIN_NAME_MAX 32
#define DOMAIN_FILE_MAX 64 /* a name inside the folder, with its end */

/* The name is checked (letters, digits, . _ -, at most 32, no dot first), the
 * folder made with mode 0700 and refused (-EPERM) if it or the one above it is
 * another user's, open to others, or a symbolic link. */
MUST_CHECK int domain_open(char folder[DOMAIN_PATH_MAX], const char *domain, struct why *why);

/* Removes the folder if nothing is left in it. Whoever opens it at this very
 * moment finds that it cannot make its first file (-ENOENT), and begins anew. */
void domain_leave(const char *folder);

/* Removes what belongs to nobody alive. Returns how many files. */
int domain_clean(const char *folder);

/* Opens FOLDER/NAME, made if needed, locked for us as long as the descriptor
 * is open. -EBUSY: somebody alive has it. Its owner removes it before closing. */
MUST_CHECK int domain_file_lock(const char *folder, const char *name);

/* Is FOLDER/NAME the file that is open as `fd`? Not if somebody removed it, lock or not. */
bool domain_file_named(const char *folder, const char *name, int fd);

/* Is FOLDER/NAME locked by somebody alive? Negative if that cannot be told. */
int domain_file_alive(const char *folder, const char *name);

/* The same, and reads the beginning of that very file: of `got` bytes, 0 if it cannot be read. */
int domain_file_read(const char *folder, const char *name, void *out, size_t size, size_t *got);
