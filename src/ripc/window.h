#pragma once
/* window: memory posted for long items to land in. A list of a service, and
 * one for all; the smallest that holds the item is taken, ties by age. */

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct windows {
    struct window *first; /* owned; sorted by size, then age */
    size_t count;
};

void windows_fini(struct windows *windows);

/* -EEXIST overlaps a posted one, -EINVAL empty or wraps, -ENOMEM. */
MUST_CHECK int windows_add(struct windows *windows, void *base, size_t size);
/* -ENOENT */
int windows_remove(struct windows *windows, void *base);

/* Takes the smallest window of at least `size` out of the list: its base, or NULL. */
void *windows_take(struct windows *windows, size_t size, size_t *window_size);
