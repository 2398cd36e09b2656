#pragma once
/* array: allocates counted items, with the overflow checks in one place. All results are released
 * with free(). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Returns zeroed room for `count` items; NULL if there is no memory or the product overflows. Zero
 * items still yield a pointer that can be freed. */
MUST_CHECK void *array_new(size_t count, size_t size);

/* Returns a copy of `count` items, or NULL. */
MUST_CHECK void *array_copy(const void *items, size_t count, size_t size);

/* Makes room for at least `needed` items, doubling the capacity; false changes nothing. `items` is
 * the address of the caller's pointer variable. */
MUST_CHECK bool array_reserve(void *items, size_t *capacity, size_t needed, size_t size);
