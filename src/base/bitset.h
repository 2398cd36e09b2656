#pragma once
/* bitset: a set of small numbers, one bit each, in an array of 64-bit words that the caller owns.
 * Number i is bit i % 64 of word i / 64.
 *
 * Sets with _Atomic words use bitset_word and bitset_bit, so that each access names its memory
 * order. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many words a set of the numbers below `count` needs. */
static inline size_t bitset_words(size_t count)
{
    return count / 64 + (count % 64 > 0);
}

static inline size_t bitset_word(size_t number)
{
    return number / 64;
}

static inline uint64_t bitset_bit(size_t number)
{
    return UINT64_C(1) << number % 64;
}

static inline bool bitset_has(const uint64_t *set, size_t number)
{
    return set[number / 64] >> number % 64 & 1;
}

static inline void bitset_add(uint64_t *set, size_t number)
{
    set[number / 64] |= bitset_bit(number);
}

static inline void bitset_remove(uint64_t *set, size_t number)
{
    set[number / 64] &= ~bitset_bit(number);
}

/* Adds the number or removes it. */
static inline void bitset_put(uint64_t *set, size_t number, bool member)
{
    set[number / 64] = (set[number / 64] & ~bitset_bit(number)) | (uint64_t)member << number % 64;
}

/* Removes the lowest number from one word of a set and returns it. The word must not be empty;
 * `word` is its index in the set. */
static inline size_t bitset_take_lowest(uint64_t *left, size_t word)
{
    size_t number = 64 * word + (size_t)__builtin_ctzll(*left);
    *left &= *left - 1;
    return number;
}
