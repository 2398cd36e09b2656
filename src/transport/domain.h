#pragma once
/* domain: the folder in which the contexts of one domain and one user meet on this host:
 * /dev/shm/weft-UID/DOMAIN (WEFT_FOLDER replaces /dev/shm/weft-UID).
 *
 *   context.HEX   locked for as long as the context of that number exists
 *   socket.HEX    the socket on which that context listens; a socket cannot be locked, so it
 *                 belongs to context.HEX, which is made before it and removed after it
 *   claim.*       locked by the claimant
 *   trace.HEX     locked by the writer
 *
 * Each file is locked by the process that owns it, so the next process can recognise and remove the
 * files of dead processes: opening a context calls domain_clean. The lock belongs to the open file
 * (F_OFD_SETLK, first byte, for writing; not flock). Only files locked by domain_file_lock are safe
 * from removal. */

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define DOMAIN_PATH_MAX 84 /* a Unix socket's path has 108 bytes, of which /socket.HEX takes 24 */
#define DOMAIN_NAME_MAX 32
#define DOMAIN_FILE_MAX 64 /* a name inside the folder, with its terminating zero */

/* Checks the name (letters, digits, . _ -, at most 32, no leading dot) and makes the folder with
 * mode 0700. Refuses (-EPERM) if the folder or its parent belongs to another user, is accessible to
 * other users, or is a symbolic link. */
MUST_CHECK int domain_open(char folder[DOMAIN_PATH_MAX], const char *domain, struct why *why);

/* Removes the folder if it is empty. A process that opens the folder at the same moment fails to
 * make its first file (-ENOENT) and has to start again. */
void domain_leave(const char *folder);

/* Removes the files that no running process owns. Returns how many. */
int domain_clean(const char *folder);

/* Opens FOLDER/NAME, makes it if needed, and locks it for as long as the descriptor is open.
 * -EBUSY: a running process has locked it. The owner removes the file before it closes the
 * descriptor. */
MUST_CHECK int domain_file_lock(const char *folder, const char *name);

/* Is FOLDER/NAME still the file that is open as `fd`? False if another process removed the name,
 * which the lock does not prevent. */
bool domain_file_named(const char *folder, const char *name, int fd);

/* Is FOLDER/NAME locked by a running process? Negative if that cannot be found out. */
int domain_file_alive(const char *folder, const char *name);

/* Like domain_file_alive, and reads the beginning of the same file. `got` is how many bytes were
 * read, 0 if it is unreadable. */
int domain_file_read(const char *folder, const char *name, void *out, size_t size, size_t *got);
