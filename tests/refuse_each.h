#pragma once
/* refuse_each: what happens when there is no memory. Every allocation of a task is refused in turn;
 * the task must say so, as ERR_MEMORY with its line, and must give back all it had.
 *
 * The linker leads our allocations here (--wrap), not those inside of other libraries. The
 * C library's own, behind strdup and asprintf, are stood in for. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/err.h"
#include "base/test.h"

static long refuse_at = -1; /* counts down; the allocation that meets 0 is refused */
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
    if (refuse_at-- != 0)
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

/* Something to do, with a word about what; OK, or an error with nothing left. */
typedef enum err (*task)(const char *what, struct why *why);

static void refuse_each(task run, const char *what)
{
    enum { ALLOCATIONS_MAX = 100000 };
    long held = live;
    struct why why = {""};
    refuse_at = -1;
    enum err err = run(what, &why);
    if (err)
        fail_msg("%s: %s", what, why.text);
    assert_int_equal(live, held);
    for (long n = 0; n < ALLOCATIONS_MAX; n++) {
        why.text[0] = '\0';
        refuse_at = n;
        refused = false;
        err = run(what, &why);
        refuse_at = -1;
        if (!refused) {
            assert_true(n > 0);
            return;
        }
        if (err != ERR_MEMORY || strcmp(why.text, "not enough memory") != 0 || live != held)
            fail_msg("%s, allocation %ld: error %d '%s', %ld left", what, n, (int)err, why.text,
                     live - held);
    }
    fail_msg("%s: no end of allocations", what);
}
