#pragma once
/* hash: mixes numbers. Good enough to detect damage and differences; no defence against deliberate
 * collisions. The result is the same on every machine. */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Every bit of the result depends on every bit of the argument (the finalizer of splitmix64). */
static inline uint64_t hash_mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Eight bytes as a number that is the same on every machine. */
static inline uint64_t hash_word(const uint8_t *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

static inline uint64_t hash_bytes(const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    uint64_t hash = 0x9e3779b97f4a7c15u ^ size;
    for (; size >= 8; at += 8, size -= 8)
        hash = hash_mix(hash ^ hash_word(at));
    uint8_t rest[8] = {0};
    if (size)
        memcpy(rest, at, size);
    return hash_mix(hash ^ hash_word(rest));
}
