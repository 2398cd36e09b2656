#pragma once
/* test: the beginning of every unit test. cmocka's header needs these four headers before it. A
 * failed assertion inside the code under test ends the test program, as it would end weft. */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h> /* after these four */

/* cmocka's assert_float_equal compares as float, to seven digits at best. */
#define assert_within(one, other, epsilon) assert_true(fabs((one) - (other)) <= (epsilon))

#define TEST(name) cmocka_unit_test(name)

/* TEST_MAIN(TEST(a), TEST(b)) is the whole main function. */
#define TEST_MAIN(...)                                                                             \
    int main(void)                                                                                 \
    {                                                                                              \
        const struct CMUnitTest tests[] = {__VA_ARGS__};                                           \
        return cmocka_run_group_tests(tests, NULL, NULL);                                          \
    }
