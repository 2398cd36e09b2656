/* pair_list: compared with all permutations of a few nodes. */
#include <math.h>
#include <stdbool.h>

#include "base/rng.h"
#include "base/test.h"
#include "flow/worst/worst_impl.h"
#include "topology/graph.h"

enum { SEED = 4, NODES = 6, ROUNDS = 200 };

static double heaviest_by_trying(double weights[NODES][NODES], uint32_t row, uint32_t taken)
{
    double most = 0;
    for (uint32_t column = 0; row < NODES && column < NODES; column++)
        if (!(taken >> column & 1))
            most = fmax(most, weights[row][column] +
                                  heaviest_by_trying(weights, row + 1, taken | 1u << column));
    return most;
}

static void the_heaviest_permutation_is_found_and_proved(void **state)
{
    struct rng rng = rng_make(SEED, 0);
    uint32_t partial = 0;
    print_message("# seed %d\n", SEED);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        struct pair_load pairs[NODES * NODES];
        struct pair_list list = {.pairs = pairs};
        double weights[NODES][NODES] = {{0}};
        for (uint32_t i = 0; i < NODES * NODES; i++) {
            if (rng_below(&rng, ROUNDS) > round)
                continue;
            weights[i / NODES][i % NODES] = 0.25 + rng_unit(&rng);
            pairs[list.count++] =
                (struct pair_load){i / NODES, i % NODES, weights[i / NODES][i % NODES]};
        }
        if (list.count == 0)
            continue;
        uint32_t to[NODES], taken = 0;
        struct heaviest heaviest;
        double limit, sum = 0;
        assert_int_equal(pair_list_heaviest(&list, NODES, to, &heaviest, NULL), OK);
        assert_int_equal(pair_list_limit(&list, NODES, &limit, NULL), OK);
        assert_within(heaviest.load, heaviest_by_trying(weights, 0, 0), 1e-12);
        assert_within(heaviest.bound, heaviest.load, 1e-9);
        assert_true(limit >= heaviest.load - 1e-12);
        for (uint32_t row = 0; row < NODES; row++) {
            partial += to[row] == NODE_NONE;
            if (to[row] == NODE_NONE)
                continue;
            assert_true(weights[row][to[row]] > 0 && !(taken >> to[row] & 1));
            taken |= 1u << to[row];
            sum += weights[row][to[row]];
        }
        assert_within(sum, heaviest.load, 1e-12); /* rows that do not matter add nothing */
    }
    assert_true(partial > 0); /* some rows were not used */
}

/* Two rows want one column, and one row wants two: the limit is the smaller sum. */
static void the_limit_is_the_smaller_of_rows_and_columns(void **state)
{
    struct pair_load pairs[] = {{0, 1, 3}, {2, 1, 2}};
    struct pair_list list = {.pairs = pairs, .count = 2};
    double limit;
    assert_int_equal(pair_list_limit(&list, 3, &limit, NULL), OK);
    assert_true(limit == 3);
    pairs[1] = (struct pair_load){0, 2, 2};
    assert_int_equal(pair_list_limit(&list, 3, &limit, NULL), OK);
    assert_true(limit == 3);
    pairs[1] = (struct pair_load){1, 0, 2};
    assert_int_equal(pair_list_limit(&list, 3, &limit, NULL), OK);
    assert_true(limit == 5);
}

TEST_MAIN(TEST(the_heaviest_permutation_is_found_and_proved),
          TEST(the_limit_is_the_smaller_of_rows_and_columns))
