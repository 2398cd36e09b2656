#include "flow/bisection/simplex.h"

#include <math.h>

#include "base/rng.h"
#include "base/test.h"

/* Maximise 3x + 5y; x <= 4, 2y <= 12, 3x + 2y <= 18: 36 at (2, 6). */
static void a_textbook_program_is_solved(void **state)
{
    struct simplex simplex;
    double x[2];
    assert_int_equal(simplex_init(&simplex, 3, 2, NULL), OK);
    simplex_set_gain(&simplex, 0, 3);
    simplex_set_gain(&simplex, 1, 5);
    simplex_set(&simplex, 0, 0, 1);
    simplex_set(&simplex, 1, 1, 2);
    simplex_set(&simplex, 2, 0, 3);
    simplex_set(&simplex, 2, 1, 2);
    simplex_set_limit(&simplex, 0, 4);
    simplex_set_limit(&simplex, 1, 12);
    simplex_set_limit(&simplex, 2, 18);
    simplex_solve(&simplex, x);
    assert_true(fabs(x[0] - 2) < 1e-6 && fabs(x[1] - 6) < 1e-6);
    simplex_fini(&simplex);
}

/* A matrix game with non-negative entries: the value that one player can guarantee and the value to
 * which the other player can limit it are two programs with the same optimum. */
static double game_value(const double *matrix, uint32_t rows, uint32_t columns, bool turned)
{
    struct simplex simplex;
    double x[20], sum = 0;
    assert_int_equal(simplex_init(&simplex, rows, columns, NULL), OK);
    for (uint32_t i = 0; i < rows; i++) {
        simplex_set_limit(&simplex, i, 1);
        for (uint32_t j = 0; j < columns; j++)
            simplex_set(&simplex, i, j,
                        turned ? 2 - matrix[j * rows + i] : matrix[i * columns + j]);
    }
    for (uint32_t j = 0; j < columns; j++)
        simplex_set_gain(&simplex, j, 1);
    simplex_solve(&simplex, x);
    for (uint32_t j = 0; j < columns; j++)
        sum += x[j];
    for (uint32_t i = 0; i < rows; i++) { /* within the limits */
        double used = 0;
        for (uint32_t j = 0; j < columns; j++)
            used += x[j] * (turned ? 2 - matrix[j * rows + i] : matrix[i * columns + j]);
        assert_true(used < 1 + 1e-6);
    }
    simplex_fini(&simplex);
    return turned ? 2 - 1 / sum : 1 / sum;
}

static void both_players_of_a_game_agree(void **state)
{
    print_message("# seed 81\n");
    struct rng rng = rng_make(81, 0);
    for (int round = 0; round < 200; round++) {
        double matrix[400] = {0};
        uint32_t rows = 1 + (uint32_t)rng_below(&rng, 20);
        uint32_t columns = 1 + (uint32_t)rng_below(&rng, 20);
        for (uint32_t i = 0; i < rows * columns; i++)
            matrix[i] = 0.5 + (double)rng_below(&rng, 6) / 5; /* many ties */
        double one = game_value(matrix, rows, columns, false);
        double other = game_value(matrix, columns, rows, true);
        assert_true(fabs(one - other) < 1e-6);
    }
}

TEST_MAIN(TEST(a_textbook_program_is_solved), TEST(both_players_of_a_game_agree))
