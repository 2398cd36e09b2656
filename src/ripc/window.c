#include "ripc/window.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/array.h"

struct window {
    struct window *next;
    uint8_t *base; /* borrowed */
    size_t size;
};

void windows_fini(struct windows *windows)
{
    while (windows->first) {
        struct window *gone = windows->first;
        windows->first = gone->next;
        free(gone);
    }
    windows->count = 0;
}

int windows_add(struct windows *windows, void *base, size_t size)
{
    uintptr_t begin = (uintptr_t)base, end;
    if (!base || !size || __builtin_add_overflow(begin, size, &end))
        return -EINVAL;
    for (const struct window *other = windows->first; other; other = other->next)
        if (begin < (uintptr_t)other->base + other->size && (uintptr_t)other->base < end)
            return -EEXIST;
    struct window *made = array_new(1, sizeof *made);
    if (!made)
        return -ENOMEM;
    made->base = base;
    made->size = size;
    struct window **at = &windows->first;
    while (*at && (*at)->size <= size)
        at = &(*at)->next;
    made->next = *at;
    *at = made;
    windows->count++;
    return 0;
}

static void windows_drop(struct windows *windows, struct window **at)
{
    struct window *gone = *at;
    *at = gone->next;
    windows->count--;
    free(gone);
}

int windows_remove(struct windows *windows, void *base)
{
    for (struct window **at = &windows->first; *at; at = &(*at)->next)
        if ((*at)->base == base) {
            windows_drop(windows, at);
            return 0;
        }
    return -ENOENT;
}

void *windows_take(struct windows *windows, size_t size, size_t *window_size)
{
    for (struct window **at = &windows->first; *at; at = &(*at)->next)
        if ((*at)->size >= size) {
            void *base = (*at)->base;
            *window_size = (*at)->size;
            windows_drop(windows, at);
            return base;
        }
    return NULL;
}
