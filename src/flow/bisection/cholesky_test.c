#include "flow/bisection/cholesky.h"

#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/rng.h"
#include "base/test.h"

/* B B^T + shift, for a random B: positive definite for a positive shift. */
static double *square_make(uint32_t size, double shift, struct rng *rng)
{
    double *b = array_new((size_t)size * size, sizeof *b);
    double *a = array_new((size_t)size * size, sizeof *a);
    assert_non_null(a);
    assert_non_null(b);
    for (size_t i = 0; i < (size_t)size * size; i++)
        b[i] = rng_unit(rng) - 0.5;
    for (uint32_t i = 0; i < size; i++)
        for (uint32_t j = 0; j < size; j++) {
            double sum = i == j ? shift : 0;
            for (uint32_t k = 0; k < size; k++)
                sum += b[(size_t)i * size + k] * b[(size_t)j * size + k];
            a[(size_t)i * size + j] = sum;
        }
    free(b);
    return a;
}

static void the_factor_times_its_transpose_is_the_matrix(void **state)
{
    static const uint32_t sizes[] = {1, 2, 3, 7, 8, 9, 95, 96, 97, 130, 193, 389};
    struct rng rng = rng_make(3, 0);
    for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
        uint32_t size = sizes[n];
        double *a = square_make(size, 0.1, &rng);
        double *f = array_copy(a, (size_t)size * size, sizeof *f);
        bool positive = false;
        assert_int_equal(cholesky_factor(f, size, &positive, NULL), OK);
        assert_true(positive);
        for (uint32_t i = 0; i < size; i++)
            for (uint32_t j = 0; j <= i; j++) {
                double sum = 0;
                for (uint32_t k = 0; k <= j; k++)
                    sum += f[(size_t)i * size + k] * f[(size_t)j * size + k];
                assert_true(fabs(sum - a[(size_t)i * size + j]) < 1e-10);
            }
        free(a);
        free(f);
    }
}

static void the_two_solutions_undo_the_matrix(void **state)
{
    const uint32_t size = 120;
    struct rng rng = rng_make(4, 0);
    double *a = square_make(size, 1, &rng), *f = array_copy(a, size * size, sizeof *f);
    double x[120], y[120];
    bool positive = false;
    assert_int_equal(cholesky_factor(f, size, &positive, NULL), OK);
    for (uint32_t i = 0; i < size; i++)
        x[i] = rng_unit(&rng);
    for (uint32_t i = 0; i < size; i++) {
        y[i] = 0;
        for (uint32_t k = 0; k < size; k++)
            y[i] += a[i * size + k] * x[k];
    }
    cholesky_solve(f, size, y);
    cholesky_solve_transposed(f, size, y);
    for (uint32_t i = 0; i < size; i++)
        assert_true(fabs(x[i] - y[i]) < 1e-9);
    free(a);
    free(f);
}

static void a_matrix_with_a_negative_eigenvalue_is_refused(void **state)
{
    struct rng rng = rng_make(5, 0);
    for (uint32_t size = 100; size <= 300; size += 100) {
        double *a = square_make(size, 0.5, &rng);
        bool positive = true;
        /* Along the last axis the quadratic form is now negative. */
        a[(size_t)size * size - 1] = -1e-9;
        assert_int_equal(cholesky_factor(a, size, &positive, NULL), OK);
        assert_false(positive);
        free(a);
    }
    double nothing[1] = {0};
    bool positive = true;
    assert_int_equal(cholesky_factor(nothing, 1, &positive, NULL), OK);
    assert_false(positive);
}

TEST_MAIN(TEST(the_factor_times_its_transpose_is_the_matrix),
          TEST(the_two_solutions_undo_the_matrix),
          TEST(a_matrix_with_a_negative_eigenvalue_is_refused))
