#include "base/array.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"

void *array_new(size_t count, size_t size)
{
    assert(size > 0);
    if (count > PTRDIFF_MAX / size)
        return NULL; /* calloc would refuse it too, but sanitizers end the program there */
    return calloc(count ? count : 1, size);
}

void *array_copy(const void *items, size_t count, size_t size)
{
    void *copy = array_new(count, size);
    if (copy && count)
        memcpy(copy, items, count * size);
    return copy;
}

bool array_reserve(void *items, size_t *capacity, size_t needed, size_t size)
{
    assert(size > 0);
    if (needed <= *capacity)
        return true;
    size_t wanted = *capacity ? *capacity : 16;
    while (wanted < needed) {
        if (wanted > SIZE_MAX / 2)
            return false;
        wanted *= 2;
    }
    if (wanted > PTRDIFF_MAX / size)
        return false;
    void *old, *grown;
    memcpy(&old, items, sizeof old); /* a void ** would break the aliasing rules */
    grown = reallocarray(old, wanted, size);
    if (!grown)
        return false;
    memcpy(items, &grown, sizeof grown);
    *capacity = wanted;
    return true;
}
