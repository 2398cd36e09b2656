#pragma once
/* allocations: replaces malloc and related functions. It counts the allocations that are not freed,
 * and refuses one allocation that the test chooses.
 *
 * The linker redirects our allocations here (--wrap), but not those inside other libraries. strdup
 * and asprintf are replaced because the C library allocates inside them. */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"

/* Counts down to the allocation that is refused; while it is negative, none is refused. */
static long refuse_at = -1;
static bool refused;
static long live; /* allocations not yet freed */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_reallocarray(void *old, size_t count, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *old);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_reallocarray(void *old, size_t count, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
char *__wrap_strdup(const char *string);
int __wrap_asprintf(char **out, const char *format, ...);
void __wrap_free(void *old);

static bool granted(void)
{
    if (refuse_at < 0 || refuse_at-- > 0)
        return true;
    refused = true;
    return false;
}

static void *counted(void *memory)
{
    live += memory != NULL;
    return memory;
}

void *__wrap_malloc(size_t size)
{
    return granted() ? counted(__real_malloc(size)) : NULL;
}

void *__wrap_calloc(size_t count, size_t size)
{
    return granted() ? counted(__real_calloc(count, size)) : NULL;
}

void *__wrap_realloc(void *old, size_t size)
{
    if (!granted())
        return NULL;
    void *grown = __real_realloc(old, size);
    return old ? grown : counted(grown);
}

void *__wrap_reallocarray(void *old, size_t count, size_t size)
{
    if (!granted())
        return NULL;
    void *grown = __real_reallocarray(old, count, size);
    return old ? grown : counted(grown);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return granted() ? counted(__real_aligned_alloc(alignment, size)) : NULL;
}

char *__wrap_strdup(const char *string)
{
    size_t size = strlen(string) + 1;
    char *copy = __wrap_malloc(size);
    return copy ? memcpy(copy, string, size) : NULL;
}

int __wrap_asprintf(char **out, const char *format, ...)
{
    enum { SIZE = 256 };
    va_list args;
    *out = __wrap_malloc(SIZE);
    if (!*out)
        return -1;
    va_start(args, format);
    int size = vsnprintf(*out, SIZE, format, args);
    va_end(args);
    assert(size >= 0 && size < SIZE);
    return size;
}

void __wrap_free(void *old)
{
    live -= old != NULL;
    __real_free(old);
}
