#pragma once
/* shared_memory: checks whether this machine provides memory that processes can share. Links over
 * shm consist of it, and every server's doorbell is a page of it, whatever its links are. */

#include <stddef.h>

#include "base/err.h"

#define SHARED_MEMORY_PAGE 4096 /* size of a doorbell */

/* Allocates that much for a moment. On failure `why` says what is missing and what to do about
 * it. */
MUST_CHECK enum err shared_memory_check(size_t size, struct why *why);
