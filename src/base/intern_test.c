#include "base/intern.h"

#include <string.h>

#include "base/rng.h"
#include "base/test.h"

enum { SEED = 5, RANGE = 40, STEPS = 40000 };

/* Adds, finds, pops and clears at random, and compares with a plain list. */
static void numbering_agrees_with_a_list(void **state)
{
    struct rng rng = rng_make(SEED, 0);
    struct intern intern = {.size = 2 * sizeof(uint32_t)};
    static uint32_t list[RANGE * RANGE][2];
    uint32_t count = 0;
    print_message("# seed %d\n", SEED);
    for (int step = 0; step < STEPS; step++) {
        uint32_t record[2] = {(uint32_t)rng_below(&rng, RANGE), (uint32_t)rng_below(&rng, RANGE)};
        uint32_t at = 0, number;
        bool new;
        while (at < count && memcmp(list[at], record, sizeof record) != 0)
            at++;
        assert_int_equal(intern_find(&intern, record), at < count ? at : INTERN_NONE);
        assert_true(intern_add(&intern, record, &number, &new));
        assert_int_equal(number, at);
        assert_int_equal(new, at == count);
        if (new)
            memcpy(list[count++], record, sizeof record);
        uint64_t dice = rng_below(&rng, 1000);
        if (dice < 100) {
            intern_pop(&intern);
            count--;
        } else if (dice == 999) {
            intern_clear(&intern);
            count = 0;
        }
        assert_int_equal(intern.count, count);
    }
    for (uint32_t i = 0; i < count; i++)
        assert_memory_equal(intern_record(&intern, i), list[i], sizeof list[i]);
    intern_fini(&intern);
    assert_null(intern.slots);
}

static void full_and_sparse_tables_are_cleared(void **state)
{
    struct intern intern = {.size = sizeof(uint32_t)};
    uint32_t number;
    bool new;
    for (uint32_t amount = 1000; amount > 0; amount /= 10) {
        for (uint32_t i = 0; i < amount; i++)
            assert_true(intern_add(&intern, &i, &number, &new) && new &&number == i);
        intern_clear(&intern);
        for (uint32_t i = 0; i < 1000; i++)
            assert_int_equal(intern_find(&intern, &i), INTERN_NONE);
    }
    intern_fini(&intern);
}

TEST_MAIN(TEST(numbering_agrees_with_a_list), TEST(full_and_sparse_tables_are_cleared))
