#pragma once
/* divisor: Euclid's algorithm. */

#include <stdint.h>

/* Returns the greatest number that divides both a and b. If one of them is 0, this is the other. */
static inline uint64_t divisor_common(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}
