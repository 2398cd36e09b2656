/* Writes listings and answers, reads them again, cuts them off at each byte, and puts nonsense
 * into their sets of groups. */
#include "services/store/wire/listing.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/test.h"

#define GROUPS_MOST 40

static uint8_t bits[2][GROUPS_MOST / 8], leaders[4 * GROUPS_MOST];

static bool listing_is_read(const void *bytes, size_t size)
{
    struct listing listing;
    void *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    bool sense = listing_read(&listing, copy, size);
    free(copy);
    return sense;
}

static bool answer_is_read(const void *bytes, size_t size)
{
    struct listing_answer answer;
    void *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    bool sense = listing_answer_read(&answer, copy, size);
    free(copy);
    return sense;
}

/* Each group is in one of the sets, or in none. */
static void groups_draw(struct rng *rng, uint32_t count)
{
    memset(bits, 0, sizeof bits);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t draw = rng_below(rng, 3);
        if (draw < 2)
            bits[draw][i / 8] |= (uint8_t)(1u << i % 8);
    }
}

static void listings_are_read_as_written(void **unused)
{
    uint8_t bytes[100];
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct rng rng = rng_make(seed, 1);
        uint32_t count = 1 + (uint32_t)rng_below(&rng, GROUPS_MOST);
        struct listing again;
        groups_draw(&rng, count);
        const struct listing made = {
            .request = {.most = 9, .patience = 1000, .prefix = {(const uint8_t *)"pre", 3}},
            .groups = {bits[0], count}};
        size_t size = listing_size(&made);
        print_message("# seed %" PRIu64 "\n", seed);
        listing_write(&made, bytes);
        assert_true(listing_read(&again, bytes, size));
        assert_int_equal(again.groups.count, count);
        assert_memory_equal(again.groups.bits, bits[0], listing_groups_size(count));
        assert_true(again.request.most == 9 && again.request.prefix.size == 3);
        for (size_t i = 0; i < size; i++)
            assert_false(listing_is_read(bytes, i));
        assert_false(listing_is_read(bytes, size + 1));
    }
}

static void answers_are_read_as_written(void **unused)
{
    uint8_t bytes[4 + 2 * GROUPS_MOST / 8 + 4 * GROUPS_MOST + SCAN_MAKER_ROOM + 1];
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct rng rng = rng_make(seed, 2);
        uint32_t count = 1 + (uint32_t)rng_below(&rng, GROUPS_MOST), others = 0;
        uint8_t room[SCAN_MAKER_ROOM];
        struct listing_answer again;
        struct scan_maker maker;
        groups_draw(&rng, count);
        scan_maker_init(&maker, room, sizeof room);
        (void)scan_maker_add(&maker, &(struct scan_item){.key = {(const uint8_t *)"k", 1}});
        const struct listing_answer made = {.told = {bits[0], count},
                                            .others = {bits[1], count},
                                            .leaders = leaders,
                                            .page = room,
                                            .page_size = (uint32_t)scan_maker_end(&maker, NULL)};
        for (uint32_t i = 0; i < sizeof leaders; i++)
            leaders[i] = i % 4 == 3 ? (uint8_t)(i / 4) : 0;
        size_t size = listing_answer_size(&made);
        print_message("# seed %" PRIu64 "\n", seed);
        listing_answer_write(&made, bytes);
        assert_true(listing_answer_read(&again, bytes, size));
        assert_memory_equal(again.told.bits, bits[0], listing_groups_size(count));
        assert_memory_equal(again.others.bits, bits[1], listing_groups_size(count));
        for (uint32_t i = 0; i < count; i++)
            others += listing_has(again.others, i);
        for (uint32_t i = 0; i < others; i++)
            assert_int_equal(listing_leader(&again, i), i);
        assert_int_equal(again.page_size, made.page_size);
        assert_memory_equal(again.page, room, made.page_size);
        for (size_t i = 0; i < size; i++)
            assert_false(answer_is_read(bytes, i));
        assert_false(answer_is_read(bytes, size + 1));
    }
}

static void nonsense_in_sets_of_groups_is_refused(void **unused)
{
    uint8_t bytes[100], page[SCAN_MAKER_ROOM];
    const uint8_t told = 1, others = 2;
    struct scan_maker maker;
    scan_maker_init(&maker, page, sizeof page);
    const struct listing_answer answer = {.told = {&told, 4},
                                          .others = {&others, 4},
                                          .leaders = leaders,
                                          .page = page,
                                          .page_size = (uint32_t)scan_maker_end(&maker, NULL)};
    size_t size = listing_answer_size(&answer);
    listing_answer_write(&answer, bytes);
    assert_true(answer_is_read(bytes, size));
    bytes[4] = 0x11; /* there is no group 4 */
    assert_false(answer_is_read(bytes, size));
    bytes[4] = 3; /* group 1 is told, and it is not */
    assert_false(answer_is_read(bytes, size));
    bytes[4] = 1;
    bytes[3] = 0; /* there are no groups */
    assert_false(answer_is_read(bytes, size));
    bytes[3] = 4;
    bytes[0] = 0xff; /* there are too many */
    assert_false(answer_is_read(bytes, size));
}

TEST_MAIN(TEST(listings_are_read_as_written), TEST(answers_are_read_as_written),
          TEST(nonsense_in_sets_of_groups_is_refused))
