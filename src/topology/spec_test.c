#include "topology/spec.h"

#include <string.h>

#include "base/test.h"

static void sizes_and_fields_are_parsed(void **state)
{
    uint32_t size[4], count;
    struct spec_field fields[] = {{.key = "seed"}, {.key = "servers"}};
    uint64_t seed = 5, servers = 9;
    assert_int_equal(spec_sizes("x:3x40x5,servers=2", size, &count, 4, fields, 2, NULL), OK);
    assert_int_equal(count, 3);
    assert_int_equal(size[1], 40);
    assert_int_equal(spec_uint("x:", &fields[0], 0, 100, &seed, NULL), OK);
    assert_int_equal(spec_uint("x:", &fields[1], 0, 100, &servers, NULL), OK);
    assert_int_equal(seed, 5); /* its default */
    assert_int_equal(servers, 2);
}

static void the_number_of_numbers_is_checked(void **state)
{
    uint32_t numbers[3];
    struct spec_field field = {.key = "servers"};
    assert_int_equal(spec_numbers("x:50,7,2,servers=4", numbers, 3, "three", &field, 1, NULL), OK);
    assert_int_equal(numbers[0], 50);
    assert_int_equal(numbers[2], 2);
    assert_string_equal(field.value, "4");
    struct why why;
    assert_int_equal(spec_numbers("x:50,7", numbers, 3, "three", NULL, 0, &why), ERR_USAGE);
    assert_string_equal(why.text, "x:50,7: expected three");
    assert_int_equal(spec_numbers("x:50,7,2,8", numbers, 3, "three", NULL, 0, &why), ERR_USAGE);
    assert_int_equal(spec_numbers("x:50,7,2x", numbers, 3, "three", NULL, 0, &why), ERR_USAGE);
    assert_int_equal(spec_numbers("x:50,7,4294967296", numbers, 3, "three", NULL, 0, &why),
                     ERR_USAGE);
}

static void fields_may_be_in_any_order_but_not_repeated(void **state)
{
    struct spec_field fields[] = {{.key = "a"}, {.key = "share"}};
    assert_int_equal(spec_fields("x:share=0.25,a=3", fields, 2, NULL), OK);
    assert_string_equal(fields[0].value, "3");
    assert_string_equal(fields[1].value, "0.25");
    assert_int_equal(spec_required("x:", &fields[0], NULL), OK);
    static const char *const bad[] = {"x:",     "x:a",       "x:a=",   "x:=3",       "x:b=3",
                                      "x:a=3,", "x:a=3,a=4", "x:,a=3", "x:a=3,share"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct spec_field fresh[] = {{.key = "a"}, {.key = "share"}};
        struct why why = {0};
        assert_int_equal(spec_fields(bad[i], fresh, 2, &why), ERR_USAGE);
        assert_memory_equal(why.text, bad[i], strlen(bad[i]));
    }
    struct spec_field absent = {.key = "absent"};
    struct why why;
    assert_int_equal(spec_required("x:a=3", &absent, &why), ERR_USAGE);
    assert_string_equal(why.text, "x:a=3: absent is missing");
}

static void numbers_stay_within_their_bounds(void **state)
{
    static const char *const bad[] = {
        "-1", "+1", " 1", "1.5", "0x10", "101", "", "1e2", "99999999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct spec_field field = {.key = "n", .given = true};
        uint64_t value = 7;
        strcpy(field.value, bad[i]);
        assert_int_equal(spec_uint("x:", &field, 0, 100, &value, NULL), ERR_USAGE);
        assert_int_equal(value, 7);
    }
}

TEST_MAIN(TEST(sizes_and_fields_are_parsed), TEST(the_number_of_numbers_is_checked),
          TEST(fields_may_be_in_any_order_but_not_repeated), TEST(numbers_stay_within_their_bounds))
