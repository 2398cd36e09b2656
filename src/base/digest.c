/* digest: one loop over stripes for each kind of processor, and one end for all.
 *
 * The same loop copies the bytes if there is a target. It is inlined twice, so that the digest
 * alone does not ask for each stripe whether there is one. */
#include "base/digest.h"

#include <stdbool.h>
#include <string.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/wide.h"

#if defined __x86_64__
#include <immintrin.h>
#elif defined __ARM_NEON && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#include <arm_neon.h>
#endif

#define WORDS    8
#define STRIPE   ((size_t)(WORDS * 8))
#define KEY_STEP 0x9e3779b97f4a7c15u /* odd: the keys of a word repeat after 2^64 stripes */
#define AHEAD    1024                /* bytes that are prefetched: another processor wrote them */
#define INLINE   __attribute__((always_inline)) static inline
/* A compiler that sees the size of the last stripe warns of the prefetch behind its end. */
#define NOT_INLINE __attribute__((noinline))

/* Digits of pi. */
static const uint64_t keys_first[WORDS] = {
    0x243f6a8885a308d3u, 0x13198a2e03707344u, 0xa4093822299f31d0u, 0x082efa98ec4e6c89u,
    0x452821e638d01377u, 0xbe5466cf34e90c6cu, 0xc0ac29b7c97c50ddu, 0x3f84d5b5b5470917u,
};

struct state {
    uint64_t sums[WORDS];
    uint64_t keys[WORDS]; /* of the next stripe */
};

/* All functions for stripes: `to` is NULL, or where the bytes are copied to. */
static void stripes_plain(struct state *state, uint8_t *to, const uint8_t *at, size_t count)
{
    if (to && count)
        at = memcpy(to, at, count * STRIPE);
    for (; count; count--, at += STRIPE)
        for (unsigned i = 0; i < WORDS; i++) {
            uint64_t word = hash_word(at + 8 * (size_t)i), mixed = word ^ state->keys[i];
            state->sums[i] += (mixed & UINT32_MAX) * (mixed >> 32);
            state->sums[i ^ 1] += word;
            state->keys[i] += KEY_STEP;
        }
}

#if defined __x86_64__

/* Four words at a time. */
__attribute__((target("avx2"))) INLINE void loop_avx2(struct state *state, uint8_t *to,
                                                      const uint8_t *at, size_t count)
{
    __m256i *sums = (__m256i *)(void *)state->sums, *keys = (__m256i *)(void *)state->keys;
    __m256i sum[2], key[2], step = _mm256_set1_epi64x((long long)KEY_STEP);
    for (unsigned i = 0; i < 2; i++) {
        sum[i] = _mm256_loadu_si256(sums + i);
        key[i] = _mm256_loadu_si256(keys + i);
    }
    for (; count; count--, at += STRIPE) {
        __builtin_prefetch(at + AHEAD);
        for (unsigned i = 0; i < 2; i++) {
            __m256i word = _mm256_loadu_si256((const __m256i *)(const void *)at + i);
            if (to)
                _mm256_storeu_si256((__m256i *)(void *)to + i, word);
            __m256i mixed = _mm256_xor_si256(word, key[i]);
            __m256i product = _mm256_mul_epu32(mixed, _mm256_srli_epi64(mixed, 32));
            __m256i other = _mm256_shuffle_epi32(word, 0x4e); /* the words of a pair trade places */
            sum[i] = _mm256_add_epi64(sum[i], _mm256_add_epi64(product, other));
            key[i] = _mm256_add_epi64(key[i], step);
        }
        if (to)
            to += STRIPE;
    }
    for (unsigned i = 0; i < 2; i++) {
        _mm256_storeu_si256(sums + i, sum[i]);
        _mm256_storeu_si256(keys + i, key[i]);
    }
}

/* Two words at a time. */
INLINE void loop_sse2(struct state *state, uint8_t *to, const uint8_t *at, size_t count)
{
    __m128i *sums = (__m128i *)(void *)state->sums, *keys = (__m128i *)(void *)state->keys;
    __m128i sum[4], key[4], step = _mm_set1_epi64x((long long)KEY_STEP);
    for (unsigned i = 0; i < 4; i++) {
        sum[i] = _mm_loadu_si128(sums + i);
        key[i] = _mm_loadu_si128(keys + i);
    }
    for (; count; count--, at += STRIPE) {
        __builtin_prefetch(at + AHEAD);
        for (unsigned i = 0; i < 4; i++) {
            __m128i word = _mm_loadu_si128((const __m128i *)(const void *)at + i);
            if (to)
                _mm_storeu_si128((__m128i *)(void *)to + i, word);
            __m128i mixed = _mm_xor_si128(word, key[i]);
            __m128i product = _mm_mul_epu32(mixed, _mm_srli_epi64(mixed, 32));
            __m128i other = _mm_shuffle_epi32(word, 0x4e);
            sum[i] = _mm_add_epi64(sum[i], _mm_add_epi64(product, other));
            key[i] = _mm_add_epi64(key[i], step);
        }
        if (to)
            to += STRIPE;
    }
    for (unsigned i = 0; i < 4; i++) {
        _mm_storeu_si128(sums + i, sum[i]);
        _mm_storeu_si128(keys + i, key[i]);
    }
}

__attribute__((target("avx2"))) static void stripes_avx2(struct state *state, uint8_t *to,
                                                         const uint8_t *at, size_t count)
{
    if (to)
        loop_avx2(state, to, at, count);
    else
        loop_avx2(state, NULL, at, count);
}

NOT_INLINE static void stripes(struct state *state, uint8_t *to, const uint8_t *at, size_t count)
{
    if (__builtin_cpu_supports("avx2"))
        stripes_avx2(state, to, at, count);
    else if (to)
        loop_sse2(state, to, at, count);
    else
        loop_sse2(state, NULL, at, count);
}

#elif defined __ARM_NEON && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__

INLINE void loop_neon(struct state *state, uint8_t *to, const uint8_t *at, size_t count)
{
    uint64x2_t sum[4], key[4], step = vdupq_n_u64(KEY_STEP);
    for (unsigned i = 0; i < 4; i++) {
        sum[i] = vld1q_u64(state->sums + 2 * i);
        key[i] = vld1q_u64(state->keys + 2 * i);
    }
    for (; count; count--, at += STRIPE) {
        __builtin_prefetch(at + AHEAD);
        for (unsigned i = 0; i < 4; i++) {
            uint8x16_t bytes = vld1q_u8(at + 16 * (size_t)i);
            if (to)
                vst1q_u8(to + 16 * (size_t)i, bytes);
            uint64x2_t word = vreinterpretq_u64_u8(bytes);
            uint64x2_t mixed = veorq_u64(word, key[i]);
            sum[i] = vmlal_u32(sum[i], vmovn_u64(mixed), vshrn_n_u64(mixed, 32));
            sum[i] = vaddq_u64(sum[i], vextq_u64(word, word, 1));
            key[i] = vaddq_u64(key[i], step);
        }
        if (to)
            to += STRIPE;
    }
    for (unsigned i = 0; i < 4; i++) {
        vst1q_u64(state->sums + 2 * i, sum[i]);
        vst1q_u64(state->keys + 2 * i, key[i]);
    }
}

NOT_INLINE static void stripes(struct state *state, uint8_t *to, const uint8_t *at, size_t count)
{
    if (to)
        loop_neon(state, to, at, count);
    else
        loop_neon(state, NULL, at, count);
}

#else
#define stripes stripes_plain
#endif

/* Both halves of the product. */
static uint64_t fold(uint64_t one, uint64_t other)
{
    uint128 product = (uint128)one * other;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t finish(const struct state *state, size_t size)
{
    uint64_t all = size * KEY_STEP;
    for (unsigned i = 0; i < WORDS; i += 2)
        all += fold(state->sums[i] ^ keys_first[i], state->sums[i + 1] ^ keys_first[i + 1]);
    return hash_mix(all);
}

typedef void stripes_function(struct state *state, uint8_t *to, const uint8_t *at, size_t count);

INLINE uint64_t digest(uint8_t *to, const uint8_t *at, size_t size, stripes_function *run)
{
    struct state state = {{0}, {0}};
    uint8_t rest[STRIPE] = {0};
    size_t whole = size / STRIPE, left = size % STRIPE;
    memcpy(state.keys, keys_first, sizeof state.keys);
    run(&state, to, at, whole);
    if (left) {
        memcpy(rest, at + whole * STRIPE, left);
        run(&state, NULL, rest, 1);
        if (to)
            memcpy(to + whole * STRIPE, rest, left);
    }
    return finish(&state, size);
}

uint64_t digest_bytes(const void *bytes, size_t size)
{
    return digest(NULL, bytes, size, stripes);
}

static_assert(sizeof((struct digest *)0)->rest == STRIPE, "the beginning of a stripe");

void digest_begin(struct digest *digest)
{
    memset(digest, 0, sizeof *digest);
    memcpy(digest->keys, keys_first, sizeof digest->keys);
}

static void stripes_add(struct digest *digest, const uint8_t *at, size_t count)
{
    struct state state;
    memcpy(state.sums, digest->sums, sizeof state.sums);
    memcpy(state.keys, digest->keys, sizeof state.keys);
    stripes(&state, NULL, at, count);
    memcpy(digest->sums, state.sums, sizeof state.sums);
    memcpy(digest->keys, state.keys, sizeof state.keys);
}

void digest_add(struct digest *digest, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    size_t begun = digest->size % STRIPE;
    digest->size += size;
    if (begun) {
        size_t part = size < STRIPE - begun ? size : STRIPE - begun;
        memcpy(digest->rest + begun, at, part);
        if (begun + part < STRIPE)
            return;
        stripes_add(digest, digest->rest, 1);
        at += part;
        size -= part;
    }
    if (size >= STRIPE)
        stripes_add(digest, at, size / STRIPE);
    if (size % STRIPE)
        memcpy(digest->rest, at + size - size % STRIPE, size % STRIPE);
}

uint64_t digest_end(const struct digest *digest)
{
    struct digest last = *digest;
    size_t left = digest->size % STRIPE;
    struct state state;
    if (left) {
        memset(last.rest + left, 0, STRIPE - left);
        stripes_add(&last, last.rest, 1);
    }
    memcpy(state.sums, last.sums, sizeof state.sums);
    return finish(&state, digest->size);
}

uint64_t digest_plain(const void *bytes, size_t size)
{
    return digest(NULL, bytes, size, stripes_plain);
}

uint64_t digest_copy(void *to, const void *bytes, size_t size)
{
    return digest(to, bytes, size, stripes);
}
