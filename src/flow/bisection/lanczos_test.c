#include "flow/bisection/lanczos.h"

#include <math.h>

#include "base/test.h"

/* The second difference on a line of nodes: eigenvalues 2 - 2 cos(j pi / (n+1)). */
static void line_multiply(const void *context, const double *in, double *out)
{
    uint32_t size = *(const uint32_t *)context;
    for (uint32_t i = 0; i < size; i++)
        out[i] = 2 * in[i] - (i ? in[i - 1] : 0) - (i + 1 < size ? in[i + 1] : 0);
}

static void the_least_eigenvalue_of_a_line_is_found(void **state)
{
    for (uint32_t size = 1; size <= 301; size += 50) {
        struct lanczos_matrix matrix = {size, line_multiply, &size};
        double value = 0, vector[301];
        assert_int_equal(lanczos_least(&matrix, NULL, 80, 30, 1, &value, vector, NULL), OK);
        double wanted = 2 - 2 * cos(M_PI / (size + 1));
        assert_true(fabs(value - wanted) < 1e-8);
        /* The vector is sin(i pi / (n+1)) up to a factor. */
        uint32_t middle = size / 2;
        double factor = vector[middle] / sin(M_PI * (middle + 1) / (size + 1));
        for (uint32_t i = 0; i < size; i++)
            assert_true(fabs(vector[i] - factor * sin(M_PI * (i + 1) / (size + 1))) < 1e-3);
    }
}

static void the_avoided_vector_is_not_found(void **state)
{
    const uint32_t size = 60;
    double avoid[60], vector[60], value = 0, norm = 0;
    for (uint32_t i = 0; i < size; i++) {
        avoid[i] = sin(M_PI * (i + 1) / (size + 1));
        norm += avoid[i] * avoid[i];
    }
    for (uint32_t i = 0; i < size; i++)
        avoid[i] /= sqrt(norm);
    struct lanczos_matrix matrix = {size, line_multiply, &size};
    assert_int_equal(lanczos_least(&matrix, avoid, 30, 40, 2, &value, vector, NULL), OK);
    assert_true(fabs(value - (2 - 2 * cos(2 * M_PI / (size + 1)))) < 1e-8);
}

TEST_MAIN(TEST(the_least_eigenvalue_of_a_line_is_found), TEST(the_avoided_vector_is_not_found))
