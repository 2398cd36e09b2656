#include "ripc/pool/window.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"
#include "ripc/pool/pool.h"

struct window {
    struct window *next;
    uint8_t *base; /* borrowed */
    size_t size;
    bool pooled; /* it uses memory of the pool */
};

static void window_free(struct windows *windows, struct window *window)
{
    if (window->pooled)
        pool_unuse(windows->pool, window->base);
    free(window);
}

static struct window *window_unlink(struct window **at)
{
    struct window *window = *at;
    *at = window->next;
    return window;
}

void windows_fini(struct windows *windows)
{
    while (windows->first)
        window_free(windows, window_unlink(&windows->first));
    while (windows->taken)
        window_free(windows, window_unlink(&windows->taken));
    windows->count = 0;
}

static void windows_post(struct windows *windows, struct window *window)
{
    struct window **at = &windows->first;
    while (*at && (*at)->size <= window->size)
        at = &(*at)->next;
    window->next = *at;
    *at = window;
    windows->count++;
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
    made->pooled = windows->pool && pool_use(windows->pool, base, size);
    windows_post(windows, made);
    return 0;
}

int windows_remove(struct windows *windows, void *base)
{
    for (struct window **at = &windows->first; *at; at = &(*at)->next)
        if ((*at)->base == base) {
            windows->count--;
            window_free(windows, window_unlink(at));
            return 0;
        }
    return -ENOENT;
}

void *windows_take(struct windows *windows, size_t size, size_t *window_size)
{
    for (struct window **at = &windows->first; *at; at = &(*at)->next)
        if ((*at)->size >= size) {
            struct window *taken = window_unlink(at);
            windows->count--;
            taken->next = windows->taken;
            windows->taken = taken;
            *window_size = taken->size;
            return taken->base;
        }
    return NULL;
}

void windows_settle(struct windows *windows, const void *base, bool filled)
{
    struct window **at = &windows->taken;
    while (*at && (*at)->base != base)
        at = &(*at)->next;
    assert(*at);
    struct window *window = window_unlink(at);
    if (filled)
        window_free(windows, window);
    else
        windows_post(windows, window);
}
