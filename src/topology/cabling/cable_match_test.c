#include "topology/cabling/cable_match.h"

#include <stdbool.h>

#include "base/rng.h"
#include "base/test.h"

#define CABLES_MOST 8

static bool share(const struct cable_ends *a, const struct cable_ends *b)
{
    return a->end[0] == b->end[0] || a->end[0] == b->end[1] || a->end[1] == b->end[0] ||
           a->end[1] == b->end[1];
}

/* The size of the largest matching by trying everything: of missing cable i and later ones, without
 * the surplus cables in `used`. */
static uint32_t best(const struct cable_ends *missing, uint32_t i, uint32_t missing_count,
                     const struct cable_ends *surplus, uint32_t surplus_count, uint32_t used)
{
    if (i == missing_count)
        return 0;
    uint32_t most = best(missing, i + 1, missing_count, surplus, surplus_count, used);
    for (uint32_t s = 0; s < surplus_count; s++) {
        if (used >> s & 1 || !share(&missing[i], &surplus[s]))
            continue;
        uint32_t with =
            1 + best(missing, i + 1, missing_count, surplus, surplus_count, used | 1u << s);
        most = with > most ? with : most;
    }
    return most;
}

static uint32_t matched(const struct cable_ends *missing, uint32_t missing_count,
                        const struct cable_ends *surplus, uint32_t surplus_count)
{
    uint32_t partner[CABLES_MOST], used = 0, count = 0;
    assert_int_equal(cable_match(missing, missing_count, surplus, surplus_count, partner, NULL),
                     OK);
    for (uint32_t i = 0; i < missing_count; i++) {
        if (partner[i] == MATCH_NONE)
            continue;
        assert_true(partner[i] < surplus_count && !(used >> partner[i] & 1));
        assert_true(share(&missing[i], &surplus[partner[i]]));
        used |= 1u << partner[i];
        count++;
    }
    return count;
}

static void no_matching_is_larger(void **state)
{
    for (uint64_t seed = 0; seed < 3000; seed++) {
        struct rng rng = rng_make(seed, 0);
        struct cable_ends missing[CABLES_MOST], surplus[CABLES_MOST];
        uint32_t missing_count = (uint32_t)rng_below(&rng, 7);
        uint32_t surplus_count = (uint32_t)rng_below(&rng, 7);
        uint64_t ends = 2 + rng_below(&rng, 10);
        for (uint32_t i = 0; i < missing_count; i++)
            missing[i] = (struct cable_ends){{rng_below(&rng, ends), rng_below(&rng, ends)}};
        for (uint32_t i = 0; i < surplus_count; i++)
            surplus[i] = (struct cable_ends){{rng_below(&rng, ends), rng_below(&rng, ends)}};
        uint32_t got = matched(missing, missing_count, surplus, surplus_count);
        uint32_t expected = best(missing, 0, missing_count, surplus, surplus_count, 0);
        if (got != expected)
            print_message("# seed %llu\n", (unsigned long long)seed);
        assert_int_equal(got, expected);
    }
}

static void an_exchange_is_matched_as_an_exchange(void **state)
{
    /* 0-1 and 2-3 became 0-3 and 2-1; 3-4 and 0-5 would also fit one end each */
    static const struct cable_ends missing[] = {{{0, 1}}, {{2, 3}}};
    static const struct cable_ends surplus[] = {{{3, 4}}, {{0, 5}}, {{1, 2}}, {{3, 0}}};
    uint32_t partner[2];
    assert_int_equal(cable_match(missing, 2, surplus, 4, partner, NULL), OK);
    assert_true(partner[0] >= 2 && partner[1] >= 2);
}

/* If the exchange would cost a match elsewhere, the larger matching wins. */
static void exchanges_never_cost_a_match(void **state)
{
    static const struct cable_ends missing[] = {{{0, 1}}, {{2, 3}}, {{0, 7}}};
    static const struct cable_ends surplus[] = {{{0, 3}}, {{1, 2}}, {{1, 8}}};
    assert_int_equal(matched(missing, 3, surplus, 3), 3);
}

TEST_MAIN(TEST(no_matching_is_larger), TEST(an_exchange_is_matched_as_an_exchange),
          TEST(exchanges_never_cost_a_match))
