#include "flow/matching/assignment.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"
#include "base/rng.h"
#include "base/test.h"

enum { SEED = 11 };

/* The heaviest permutation of the rows from `row` on, by trying all. */
static double try_all(const double *weights, uint32_t size, uint32_t row, uint32_t used)
{
    double best = row == size ? 0 : -INFINITY;
    for (uint32_t column = 0; row < size && column < size; column++) {
        if (used >> column & 1)
            continue;
        double rest = try_all(weights, size, row + 1, used | 1u << column);
        best = fmax(best, weights[row * size + column] + rest);
    }
    return best;
}

/* Solves, and checks that the result is a permutation of that weight and, by the prices, that none
 * is heavier. */
static double solved(const double *weights, uint32_t size)
{
    uint32_t *column_of = array_new(size, sizeof *column_of);
    uint8_t *taken = array_new(size, 1);
    double *prices = array_new(size, sizeof *prices), total, again, sum = 0, scale = 1;
    assert(column_of && taken && prices);
    assert_int_equal(assignment_solve(weights, size, column_of, &total, prices, NULL), OK);
    for (uint32_t row = 0; row < size; row++) {
        assert_true(column_of[row] < size && !taken[column_of[row]]);
        taken[column_of[row]] = 1;
        sum += weights[(size_t)row * size + column_of[row]];
        for (uint32_t column = 0; column < size; column++)
            scale = fmax(scale, fabs(weights[(size_t)row * size + column]));
    }
    assert_within(sum, total, 1e-12 * scale * size);
    assert_within(assignment_bound(weights, size, prices), total, 1e-10 * scale * size);
    assert_int_equal(assignment_heaviest(weights, size, column_of, &again, NULL), OK);
    assert_true(again == total);
    free(column_of);
    free(taken);
    free(prices);
    return total;
}

/* Few values and many zeros make ties, as in the matrices of a routing. */
static double draw(struct rng *rng, uint32_t kind)
{
    switch (kind % 5) {
    case 0:
        return rng_unit(rng);
    case 1:
        return (double)rng_below(rng, 4);
    case 2:
        return rng_below(rng, 4) ? 0 : (double)rng_below(rng, 3) / 3;
    case 3:
        return (double)rng_below(rng, 2000) - 1000;
    default:
        return 1e6 * (rng_unit(rng) - 0.5) * rng_unit(rng);
    }
}

static void small_matrices_agree_with_trying_all(void **state)
{
    struct rng rng = rng_make(SEED, 1);
    double weights[64] = {0};
    print_message("# seed %d\n", SEED);
    for (uint32_t round = 0; round < 400; round++) {
        uint32_t size = (uint32_t)rng_below(&rng, round % 40 ? 7 : 8) + 1;
        for (uint32_t i = 0; i < size * size; i++)
            weights[i] = draw(&rng, round);
        double wanted = try_all(weights, size, 0, 0);
        assert_within(solved(weights, size), wanted, 1e-9 * fmax(1, fabs(wanted)));
    }
}

static void large_matrices_are_proved_by_their_prices(void **state)
{
    struct rng rng = rng_make(SEED, 2);
    static const uint32_t sizes[] = {9, 33, 64, 100, 150};
    print_message("# seed %d\n", SEED);
    for (uint32_t round = 0; round < 25; round++) {
        uint32_t size = sizes[round / 5];
        double *weights = array_new((size_t)size * size, sizeof *weights);
        assert_non_null(weights);
        for (uint32_t i = 0; i < size * size; i++)
            weights[i] = draw(&rng, round);
        solved(weights, size);
        free(weights);
    }
}

/* Products of ranks: the heaviest permutation pairs equal ranks, 1 + 4 + 9 + ... */
static void products_pair_equal_ranks(void **state)
{
    const uint32_t size = 120;
    double *weights = array_new((size_t)size * size, sizeof *weights);
    assert_non_null(weights);
    for (uint32_t row = 0; row < size; row++)
        for (uint32_t column = 0; column < size; column++)
            weights[row * size + column] = (row + 1.0) * ((column + 7) % size + 1.0);
    assert_within(solved(weights, size), size * (size + 1.0) * (2 * size + 1) / 6, 1e-6);
    free(weights);
}

static void an_empty_and_a_constant_matrix_are_solved(void **state)
{
    double total = 1, weights[36];
    assert_int_equal(assignment_heaviest(NULL, 0, NULL, &total, NULL), OK);
    assert_within(total, 0, 0);
    for (int i = 0; i < 36; i++)
        weights[i] = 0.1;
    assert_within(solved(weights, 6), 0.6, 1e-12);
    assert_within(solved(weights, 1), 0.1, 0);
}

TEST_MAIN(TEST(small_matrices_agree_with_trying_all),
          TEST(large_matrices_are_proved_by_their_prices), TEST(products_pair_equal_ranks),
          TEST(an_empty_and_a_constant_matrix_are_solved))
