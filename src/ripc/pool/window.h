#pragma once
/* window: memory posted for long items to land in. A list of a service, and
 * one for all; the smallest that holds the item is taken, ties by age. What lies
 * in the pool is used by its window, until that is removed or filled. */

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct windows {
    struct pool *pool;    /* borrowed; NULL: no memory of it is posted */
    struct window *first; /* owned; sorted by size, then age */
    struct window *taken; /* owned; on their way to be filled */
    size_t count;         /* posted */
};

void windows_fini(struct windows *windows);

/* -EEXIST overlaps a posted one, -EINVAL empty or wraps, -ENOMEM. */
MUST_CHECK int windows_add(struct windows *windows, void *base, size_t size);
/* -ENOENT */
int windows_remove(struct windows *windows, void *base);

/* Takes the smallest window of at least `size` out of the list: its base, or NULL. */
void *windows_take(struct windows *windows, size_t size, size_t *window_size);

/* One that was taken is filled, and gone; or nothing came, and it is posted again. */
void windows_settle(struct windows *windows, const void *base, bool filled);
