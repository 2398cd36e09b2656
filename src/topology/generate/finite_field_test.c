#include "topology/generate/finite_field.h"

#include "base/test.h"

static const uint32_t orders[] = {2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 25, 27, 32};

/* Checks the field axioms for all elements, or for all elements with a few others. */
static void the_field_axioms_hold(void **state)
{
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        uint32_t q = orders[i];
        struct finite_field f;
        assert_int_equal(finite_field_init(&f, q, NULL), OK);
        for (uint32_t a = 0; a < q; a++) {
            assert_int_equal(finite_field_add(&f, a, 0), a);
            assert_int_equal(finite_field_multiply(&f, a, 1), a);
            assert_int_equal(finite_field_multiply(&f, a, 0), 0);
            for (uint32_t b = 0; b < q; b++) {
                uint32_t sum = finite_field_add(&f, a, b),
                         product = finite_field_multiply(&f, a, b);
                assert_true(sum < q && product < q);
                assert_int_equal(finite_field_add(&f, b, a), sum);
                assert_int_equal(finite_field_multiply(&f, b, a), product);
                assert_int_equal(finite_field_subtract(&f, sum, b), a);
                if (b > 0)
                    assert_int_equal(finite_field_divide(&f, product, b), a);
                for (uint32_t c = 0; c < q; c += 1 + q / 8) {
                    assert_int_equal(finite_field_add(&f, sum, c),
                                     finite_field_add(&f, a, finite_field_add(&f, b, c)));
                    assert_int_equal(finite_field_multiply(&f, product, c),
                                     finite_field_multiply(&f, a, finite_field_multiply(&f, b, c)));
                    assert_int_equal(finite_field_multiply(&f, sum, c),
                                     finite_field_add(&f, finite_field_multiply(&f, a, c),
                                                      finite_field_multiply(&f, b, c)));
                }
            }
        }
    }
}

static void a_prime_field_is_arithmetic_modulo_p(void **state)
{
    struct finite_field f;
    assert_int_equal(finite_field_init(&f, 13, NULL), OK);
    for (uint32_t a = 0; a < 13; a++)
        for (uint32_t b = 0; b < 13; b++) {
            assert_int_equal(finite_field_add(&f, a, b), (a + b) % 13);
            assert_int_equal(finite_field_multiply(&f, a, b), a * b % 13);
        }
}

static void a_power_is_repeated_multiplication(void **state)
{
    struct finite_field f;
    assert_int_equal(finite_field_init(&f, 27, NULL), OK);
    for (uint32_t a = 0; a < 27; a++) {
        uint32_t product = 1;
        for (uint32_t exponent = 0; exponent < 60; exponent++) {
            assert_int_equal(finite_field_raise(&f, a, exponent), product);
            product = finite_field_multiply(&f, product, a);
        }
    }
}

static void other_orders_have_no_field(void **state)
{
    static const uint32_t none[] = {0, 1, 6, 10, 12, 36, 100, 255, 257, 1u << 31};
    struct finite_field f;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_int_equal(finite_field_init(&f, none[i], NULL), ERR_USAGE);
}

TEST_MAIN(TEST(the_field_axioms_hold), TEST(a_prime_field_is_arithmetic_modulo_p),
          TEST(a_power_is_repeated_multiplication), TEST(other_orders_have_no_field))
