/* Takes and gives blocks at random: no two overlap, contents stay, and in the end the whole region
 * is free again in its largest blocks. */
#include "services/store/memory/buffers.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/test.h"

#define BLOCKS 200

struct held {
    struct buffer *buffer;
    uint32_t size, holders;
    uint8_t fill;
};

static void assert_filled(const struct held *held)
{
    for (uint32_t i = 0; i < held->size; i++)
        assert_int_equal(held->buffer->bytes[i], held->fill);
}

static void step(struct buffers *buffers, struct held *held, struct rng *rng)
{
    if (!held->buffer) {
        held->size = (uint32_t)rng_below(rng, rng_below(rng, 8) ? 1000 : 100000);
        held->buffer = buffer_make(buffers, held->size);
        if (!held->buffer)
            return;
        held->holders = 1;
        held->fill = (uint8_t)rng_below(rng, 256);
        memset(held->buffer->bytes, held->fill, held->size);
    } else if (rng_below(rng, 4) == 0) {
        buffer_hold(held->buffer);
        held->holders++;
    } else {
        assert_filled(held);
        buffer_release(buffers, held->buffer);
        if (--held->holders == 0)
            held->buffer = NULL;
    }
}

static void blocks_do_not_overlap(void **unused)
{
    static struct held all[BLOCKS];
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct rng rng = rng_make(seed, 9);
        uint64_t size = (1u << 20) + rng_below(&rng, 100) * 100;
        struct buffers buffers;
        void *memory = malloc(size);
        assert_non_null(memory);
        buffers_init(&buffers, memory, size);
        memset(all, 0, sizeof all);
        for (unsigned i = 0; i < 20000; i++)
            step(&buffers, &all[rng_below(&rng, BLOCKS)], &rng);
        assert_true(buffers.used > 0);
        for (unsigned i = 0; i < BLOCKS; i++) {
            while (all[i].buffer)
                step(&buffers, &all[i], &rng);
        }
        assert_int_equal(buffers.used, 0);
        assert_non_null(buffer_make(&buffers, (1u << 20) - 100));
        free(memory);
    }
}

static void what_is_too_large_is_refused(void **unused)
{
    static uint64_t memory[8 * BUFFER_LEAST / 8];
    struct buffers buffers;
    buffers_init(&buffers, memory, sizeof memory);
    assert_null(buffer_make(&buffers, sizeof memory));
    assert_null(buffer_make(&buffers, UINT32_MAX));
    struct buffer *all = buffer_make(&buffers, sizeof memory - sizeof(struct buffer));
    assert_non_null(all);
    assert_null(buffer_make(&buffers, 0));
    buffer_release(&buffers, all);
    buffer_release(&buffers, NULL);
    assert_non_null(buffer_make(&buffers, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(blocks_do_not_overlap),
        TEST(what_is_too_large_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
