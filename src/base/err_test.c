#include "base/err.h"

#include <string.h>

#include "base/test.h"

static void the_first_failure_writes_the_line(void **state)
{
    struct why why = {""};
    assert_int_equal(why_fail(&why, ERR_INPUT, "plan.json: line %d: no such node", 7), ERR_INPUT);
    assert_string_equal(why.text, "plan.json: line 7: no such node");
}

static void a_reason_is_one_line_whatever_it_quotes(void **state)
{
    struct why why;
    assert_int_equal(why_fail(&why, ERR_USAGE, "%s", "a\nb\033[2Jc"), ERR_USAGE);
    assert_string_equal(why.text, "a?b?[2Jc");
}

static void a_reason_is_text_whatever_it_quotes(void **state)
{
    static const char *const cases[][2] = {
        {"caf\xc3\xa9", "caf\xc3\xa9"},
        {"\xc2\x9bJ", "??J"}, /* clears a line of the screen */
        {"\x9bJ", "?J"},      /* in Latin-1 */
        {"cut \xe2\x82", "cut ??"},
        {"\xff\xc3\xa9\xfe", "?\xc3\xa9?"},
        {"\xc2\xa0", "\xc2\xa0"},
        {"\xc2", "?"},
    };
    struct why why;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        why_set(&why, "%s", cases[i][0]);
        assert_string_equal(why.text, cases[i][1]);
    }
}

static void a_long_reason_is_cut(void **state)
{
    char name[2 * WHY_SIZE];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    struct why why;
    assert_int_equal(why_fail(&why, ERR_SYSTEM, "%s", name), ERR_SYSTEM);
    assert_int_equal(strlen(why.text), WHY_SIZE - 1);
}

static void a_long_quotation_is_cut_but_the_reason_stays(void **state)
{
    char name[4 * WHY_SIZE];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    struct why why;
    assert_int_equal(why_fail(&why, ERR_SYSTEM, "%s: no such file", name), ERR_SYSTEM);
    assert_int_equal(strlen(why.text), WHY_SIZE - 1);
    assert_non_null(strstr(why.text, "xx ... xx"));
    assert_string_equal(why.text + WHY_SIZE - 1 - strlen("x: no such file"), "x: no such file");
}

static void an_error_names_its_line_even_after_a_long_path(void **state)
{
    char name[2 * WHY_SIZE];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    struct why why;
    assert_int_equal(why_fail_line(&why, "a.dot", 12, "no '%c'", ';'), ERR_INPUT);
    assert_string_equal(why.text, "a.dot: line 12: no ';'");
    assert_int_equal(why_fail_line(&why, name, 7, "a reason"), ERR_INPUT);
    assert_non_null(strstr(why.text, "x: line 7: a reason"));
}

static void every_code_has_a_text(void **state)
{
    for (int code = OK; code <= ERR_SYSTEM; code++)
        assert_true(strlen(err_text((enum err)code)) > 0);
    assert_int_equal(why_memory(NULL), ERR_MEMORY);
}

TEST_MAIN(TEST(the_first_failure_writes_the_line), TEST(a_reason_is_one_line_whatever_it_quotes),
          TEST(a_reason_is_text_whatever_it_quotes), TEST(a_long_reason_is_cut),
          TEST(a_long_quotation_is_cut_but_the_reason_stays),
          TEST(an_error_names_its_line_even_after_a_long_path), TEST(every_code_has_a_text))
