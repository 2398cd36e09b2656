#pragma once
/* rng: randomness as a value.
 *
 * Philox4x32-10 (Salmon et al., SC 2011): the n-th draw of a stream is a pure function of (seed,
 * stream, n), so a result depends on neither the machine nor the number of threads nor the order of
 * evaluation. Give each independent use its own stream. */

#include <stdint.h>

struct rng {
    uint64_t seed;
    uint64_t stream;
    uint64_t index;  /* next block of two draws */
    uint64_t spare;  /* the second draw of the last block ... */
    uint32_t spares; /* ... if this is 1 */
};

/* One block: four 32-bit words from a 128-bit counter and a 64-bit key. */
void philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

struct rng rng_make(uint64_t seed, uint64_t stream);

uint64_t rng_next(struct rng *rng);

/* Uniform in [0, bound), without bias; bound is at least 1. */
uint64_t rng_below(struct rng *rng, uint64_t bound);

/* Uniform in [0, 1), 53 bits. */
double rng_unit(struct rng *rng);

/* Fisher and Yates' shuffle. */
void rng_shuffle(struct rng *rng, uint32_t *items, uint32_t count);
