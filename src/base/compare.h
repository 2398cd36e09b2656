#pragma once
/* compare: the order of two numbers, as qsort and bsearch need it; the smaller and the larger of
 * two. */

#include <stdint.h>

/* Below 0: `a` comes first; above 0: `b` does; 0: they are equal. */
static inline int compare_u64(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

/* The same for two elements of an array of numbers. */
static inline int compare_u64_items(const void *left, const void *right)
{
    return compare_u64(*(const uint64_t *)left, *(const uint64_t *)right);
}

static inline uint32_t least_u32(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static inline uint32_t most_u32(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static inline uint64_t least_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t most_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static inline int64_t least_i64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t most_i64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}
