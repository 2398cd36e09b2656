#pragma once
/* array: allocation of counted things, with the overflow checks in one place.
 * Everything is released with free(). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Zeroed room for count items; NULL when memory is short or the product
 * overflows. Zero items still yield a pointer that can be freed. */
MUST_CHECK void *array_new(size_t count, size_t size);

/* A copy of count items, or NULL. */
MUST_CHECK void *array_copy(const void *items, size_t count, size_t size);

/* Makes room for at least `needed` items, doubling; false leaves all as it
 * was. `items` is the address of the caller's pointer variable. */
MUST_CHECK bool array_reserve(void *items, size_t *capacity, size_t needed, size_t size);
