#pragma once
/* window: memory posted to receive long items. Each service has a list of windows, and one list is
 * for all services. An item takes the smallest window that holds it; of equal ones, the oldest. If
 * the memory of a window belongs to the pool, it is in use there (pool_use) until the window is
 * removed or filled. */

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct windows {
    struct pool *pool;    /* borrowed; NULL: windows do not use memory of a pool */
    struct window *first; /* owned; sorted by size, then age */
    struct window *taken; /* owned; being filled */
    size_t count;         /* posted */
};

void windows_fini(struct windows *windows);

/* -EEXIST: overlaps a posted window, -EINVAL: empty or wraps around, -ENOMEM. */
MUST_CHECK int windows_add(struct windows *windows, void *base, size_t size);
/* -ENOENT: no posted window has this base. */
int windows_remove(struct windows *windows, void *base);

/* Takes the smallest window of at least `size` out of the list. Returns its base, or NULL. */
void *windows_take(struct windows *windows, size_t size, size_t *window_size);

/* Ends the use of a taken window: frees it if it was filled, else posts it again. */
void windows_settle(struct windows *windows, const void *base, bool filled);
