/* Checks that segments come out in order whatever the order in which they arrive. */
#include "node/stream/assembly.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/test.h"

static bool ack_has(const struct segment_ack *ack, uint64_t sequence)
{
    if (sequence < ack->base)
        return true;
    uint64_t bit = sequence - ack->base - 1;
    return sequence > ack->base && bit / 8 < ack->bitmap_size &&
           ack->bitmap[bit / 8] >> bit % 8 & 1;
}

static void segments_come_out_in_order(void **state)
{
    struct rng rng = rng_make(3, 3);
    for (unsigned run = 0; run < 30; run++) {
        uint32_t window = 1u << (2 + run % 7);
        struct assembly_segment *segments = calloc(window, sizeof *segments);
        uint8_t *memory = malloc((size_t)window * SEGMENT_BYTES_MAX);
        struct assembly assembly;
        assembly_init(&assembly, segments, memory, window);
        bool given[1000] = {false};
        uint32_t repeats = 0;
        while (assembly.base < 500) {
            uint64_t sequence = assembly.base + rng_below(&rng, window + 3);
            if (assembly.base && !rng_below(&rng, 9))
                sequence = assembly.base - 1;
            uint32_t content = (uint32_t)sequence;
            struct segment segment = {.sequence = sequence,
                                      .bytes = (const uint8_t *)&content,
                                      .size = sizeof content,
                                      .flags = (uint8_t)(sequence & 1),
                                      .check = sequence * 3};
            enum assembly_verdict verdict = assembly_judge(&assembly, sequence);
            if (sequence >= assembly.base + window) {
                assert_int_equal(verdict, ASSEMBLY_BEYOND);
            } else if (sequence < assembly.base || given[sequence]) {
                assert_int_equal(verdict, ASSEMBLY_REPEAT);
                repeats++;
            } else if (sequence == assembly.base) {
                assert_int_equal(verdict, ASSEMBLY_NEXT);
                given[sequence] = true;
                if (rng_below(&rng, 2))
                    assembly_keep(&assembly, &segment, 1); /* the service took one byte */
                else
                    assembly_step(&assembly);
            } else {
                assert_int_equal(verdict, ASSEMBLY_EARLY);
                given[sequence] = true;
                assembly_keep(&assembly, &segment, 0);
            }
            assembly_check(&assembly);
            struct segment_ack ack;
            assembly_answer(&assembly, &ack);
            assert_int_equal(ack.limit, assembly.base + window);
            assert_int_equal(ack.repeats, repeats);
            for (uint64_t i = 0; i < 599; i++)
                assert_int_equal(ack_has(&ack, i), given[i]);
            const struct assembly_segment *first;
            const uint8_t *bytes;
            while (rng_below(&rng, 3) && (first = assembly_first(&assembly, &bytes))) {
                uint32_t out;
                memcpy(&out, bytes, sizeof out);
                assert_int_equal(out, assembly.base);
                assert_int_equal(first->check, assembly.base * 3);
                assert_int_equal(first->flags, assembly.base & 1);
                assembly_step(&assembly);
            }
        }
        free(segments);
        free(memory);
    }
}

TEST_MAIN(TEST(segments_come_out_in_order))
