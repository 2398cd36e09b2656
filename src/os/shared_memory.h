#pragma once
/* shared_memory: does this machine give memory that processes can share? Links over shm are made of
 * it, and every server's doorbell is a page of it, whatever its links are. */

#include <stddef.h>

#include "base/err.h"

#define SHARED_MEMORY_PAGE 4096 /* of a doorbell */

/* Takes so much for a moment. Refuses with what is missing and what to do about it. */
MUST_CHECK enum err shared_memory_check(size_t size, struct why *why);
