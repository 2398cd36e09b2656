#include "base/rng.h"

#include "base/check.h"
#include "base/wide.h"

#define PHILOX_ROUNDS 10

void philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < PHILOX_ROUNDS; round++) {
        uint64_t left = (uint64_t)0xD2511F53u * c0;
        uint64_t right = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(right >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)right;
        c2 = (uint32_t)(left >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)left;
        k0 += 0x9E3779B9u; /* the golden ratio */
        k1 += 0xBB67AE85u; /* the square root of three, minus one */
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

struct rng rng_make(uint64_t seed, uint64_t stream)
{
    return (struct rng){.seed = seed, .stream = stream};
}

uint64_t rng_next(struct rng *rng)
{
    if (rng->spares) {
        rng->spares = 0;
        return rng->spare;
    }
    uint32_t out[4];
    const uint32_t counter[4] = {(uint32_t)rng->index, (uint32_t)(rng->index >> 32),
                                 (uint32_t)rng->stream, (uint32_t)(rng->stream >> 32)};
    const uint32_t key[2] = {(uint32_t)rng->seed, (uint32_t)(rng->seed >> 32)};
    philox4x32(counter, key, out);
    rng->index++;
    rng->spare = (uint64_t)out[3] << 32 | out[2];
    rng->spares = 1;
    return (uint64_t)out[1] << 32 | out[0];
}

uint64_t rng_below(struct rng *rng, uint64_t bound)
{
    assert(bound > 0);
    /* Lemire's method: the high half of the product is uniform once the few low halves that would
     * favour some values are drawn again. */
    uint64_t draw = rng_next(rng);
    uint128 product = (uint128)draw * bound;
    if ((uint64_t)product < bound) {
        uint64_t biased = -bound % bound;
        while ((uint64_t)product < biased) {
            draw = rng_next(rng);
            product = (uint128)draw * bound;
        }
    }
    return (uint64_t)(product >> 64);
}

double rng_unit(struct rng *rng)
{
    return (double)(rng_next(rng) >> 11) * 0x1p-53;
}

void rng_shuffle(struct rng *rng, uint32_t *items, uint32_t count)
{
    for (uint32_t left = count; left > 1; left--) {
        uint32_t pick = (uint32_t)rng_below(rng, left);
        uint32_t last = items[left - 1];
        items[left - 1] = items[pick];
        items[pick] = last;
    }
}
