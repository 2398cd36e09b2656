#include "node/configuration/parameter.h"

#include <stdio.h>
#include <string.h>

#include "base/test.h"

struct instance {
    bool flag;
    int64_t number;
    uint64_t size;
    int64_t duration;
    const char *text;
    uint32_t choice;
};

static const struct weft_parameter table[] = {
    {WEFT_PARAMETER(struct instance, flag, BOOL), .value = "no", .help = "h"},
    {WEFT_PARAMETER(struct instance, number, INTEGER), .value = "3", .minimum = "-2",
     .maximum = "9", .help = "h"},
    {WEFT_PARAMETER(struct instance, size, SIZE), .value = "64K", .minimum = "4K", .maximum = "2G",
     .help = "h"},
    {WEFT_PARAMETER(struct instance, duration, DURATION), .value = "10ms", .minimum = "1us",
     .maximum = "2h", .help = "h"},
    {WEFT_PARAMETER(struct instance, text, TEXT), .value = "", .maximum = "5", .help = "h"},
    {WEFT_PARAMETER(struct instance, choice, CHOICE), .value = "safe", .choices = "fast|safe|none",
     .help = "h"},
    {0},
};
enum { FLAG, NUMBER, SIZE, DURATION, TEXT, CHOICE };

static const struct weft_service_ops ops = {0};
static const struct weft_service service = {.version = WEFT_SERVICE_VERSION,
                                            .name = "typed",
                                            .id = 256,
                                            .size = sizeof(struct instance),
                                            .ops = &ops,
                                            .parameters = table};

static struct instance instance;

static void takes(int which, const char *text, const char *usual)
{
    union parameter_value value;
    struct why why = {0};
    char written[PARAMETER_TEXT_SIZE];
    if (parameter_read(&table[which], text, &value, &why))
        fail_msg("%s %s: %s", table[which].name, text, why.text);
    parameter_write(&table[which], &value, written);
    assert_string_equal(written, usual);
    parameter_store(&table[which], &value, &instance);
    assert_int_equal(parameter_read(&table[which], written, &value, &why), OK);
}

static void refuses(int which, const char *text, const char *reason)
{
    union parameter_value value;
    struct why why = {0};
    assert_int_equal(parameter_read(&table[which], text, &value, &why), ERR_USAGE);
    assert_string_equal(why.text, reason);
}

static void values_of_each_type_are_read_and_written(void **state)
{
    static const char *const yes[] = {"true", "yes", "on"}, *const no[] = {"false", "no", "off"};
    for (unsigned i = 0; i < 3; i++) {
        takes(FLAG, yes[i], "true");
        assert_true(instance.flag);
        takes(FLAG, no[i], "false");
        assert_false(instance.flag);
    }
    takes(NUMBER, "-2", "-2");
    assert_int_equal(instance.number, -2);
    takes(NUMBER, "007", "7");
    takes(SIZE, "4096", "4K");
    takes(SIZE, "2048M", "2G");
    assert_int_equal(instance.size, UINT64_C(2) << 30);
    takes(SIZE, "4097", "4097");
    takes(DURATION, "1us", "1us");
    takes(DURATION, "1500ms", "1500ms");
    assert_int_equal(instance.duration, 1500000000);
    takes(DURATION, "60s", "1min");
    takes(DURATION, "120min", "2h");
    takes(DURATION, "1001ns", "1001ns");
    takes(TEXT, "a b=#", "a b=#");
    assert_string_equal(instance.text, "a b=#");
    takes(TEXT, "", "");
    takes(CHOICE, "fast", "fast");
    assert_int_equal(instance.choice, 0);
    takes(CHOICE, "none", "none");
    assert_int_equal(instance.choice, 2);
}

static void zero_needs_no_unit(void **state)
{
    const struct weft_parameter wait = {.name = "wait", .type = WEFT_PARAMETER_DURATION};
    union parameter_value value;
    char text[PARAMETER_TEXT_SIZE];
    assert_int_equal(parameter_read(&wait, "0", &value, NULL), OK);
    parameter_write(&wait, &value, text);
    assert_string_equal(text, "0");
    assert_int_equal(parameter_read(&wait, "0s", &value, NULL), OK);
    assert_int_equal(value.number, 0);
}

static void wrong_values_are_refused_with_a_reason(void **state)
{
    refuses(FLAG, "1", "'1' is neither true nor false");
    refuses(FLAG, "", "'' is neither true nor false");
    refuses(NUMBER, "three", "'three' is not a whole number");
    refuses(NUMBER, "3x", "'3x' is not a whole number");
    refuses(NUMBER, "", "'' is not a whole number");
    refuses(NUMBER, "-", "'-' is not a whole number");
    refuses(NUMBER, "+3", "'+3' is not a whole number");
    refuses(NUMBER, " 3", "' 3' is not a whole number");
    refuses(NUMBER, "99999999999999999999", "99999999999999999999 is too large");
    refuses(NUMBER, "-3", "'-3' is below the minimum, -2");
    refuses(NUMBER, "10", "'10' is above the maximum, 9");
    refuses(SIZE, "1K", "'1K' is below the minimum, 4K");
    refuses(SIZE, "3G", "'3G' is above the maximum, 2G");
    refuses(SIZE, "64k", "'64k' is not a size such as 4096, 64K, 20M or 2G");
    refuses(SIZE, "-1", "'-1' is not a size such as 4096, 64K, 20M or 2G");
    refuses(SIZE, "1.5G", "'1.5G' is not a size such as 4096, 64K, 20M or 2G");
    refuses(SIZE, "99999999T", "99999999T is too large");
    refuses(DURATION, "10", "'10' is not a duration such as 250us, 10ms, 3s or 5min");
    refuses(DURATION, "3 s", "'3 s' is not a duration such as 250us, 10ms, 3s or 5min");
    refuses(DURATION, "999ns", "'999ns' is below the minimum, 1us");
    refuses(DURATION, "3h", "'3h' is above the maximum, 2h");
    refuses(DURATION, "99999999h", "99999999h is too large");
    refuses(TEXT, "longer", "'longer' is above the maximum of its length in bytes, 5");
    refuses(TEXT, "a\nb", "the value has characters that cannot be printed");
    refuses(TEXT, "\xff", "the value has characters that cannot be printed");
    refuses(CHOICE, "sfae", "'sfae' is none of fast|safe|none (did you mean 'safe'?)");
    refuses(CHOICE, "", "'' is none of fast|safe|none");
    char longest[WEFT_TEXT_MAX + 2];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    refuses(TEXT, longest, "the value is longer than 255 bytes");
}

static void a_service_has_its_own_parameters_and_a_budget(void **state)
{
    struct why why = {0};
    assert_int_equal(parameters_check(&service, &why), OK);
    assert_ptr_equal(parameter_at(&service, 0), &table[0]);
    assert_ptr_equal(parameter_at(&service, 6), &parameter_memory);
    assert_null(parameter_at(&service, 7));
    assert_ptr_equal(parameter_find(&service, "choice"), &table[CHOICE]);
    assert_ptr_equal(parameter_find(&service, "memory"), &parameter_memory);
    assert_null(parameter_find(&service, "nothing"));
    struct weft_service bare = service;
    bare.parameters = NULL;
    assert_ptr_equal(parameter_at(&bare, 0), &parameter_memory);
    assert_int_equal(parameters_check(&bare, &why), OK);
}

static void a_service_may_have_another_budget_by_default(void **state)
{
    struct weft_parameter two[2] = {{.name = "memory",
                                     .type = WEFT_PARAMETER_SIZE,
                                     .offset = offsetof(struct instance, size),
                                     .value = "1G",
                                     .help = "memory"}};
    struct weft_service large = service;
    struct why why = {0};
    large.parameters = two;
    large.work = 1;
    assert_int_equal(parameters_check(&large, &why), OK);
    assert_ptr_equal(parameter_find(&large, "memory"), &two[0]);
    assert_ptr_equal(parameter_at(&large, 1), &parameter_work);
    assert_null(parameter_at(&large, 2));
    assert_true(parameter_is_own(&large, &two[0]));
    assert_false(parameter_is_own(&large, &parameter_work));
}

/* Checks a table with this one entry after the flag. */
static void bad_entry(struct weft_parameter entry, const char *reason)
{
    struct weft_parameter two[3] = {table[0], entry, {0}};
    struct weft_service bad = service;
    struct why why = {0};
    char line[WHY_SIZE];
    bad.parameters = two;
    assert_int_equal(parameters_check(&bad, &why), ERR_USAGE);
    snprintf(line, sizeof line, "service typed: parameter %s: %s", entry.name, reason);
    assert_string_equal(why.text, line);
}

static void wrong_tables_are_refused(void **state)
{
    struct weft_parameter entry = table[NUMBER];
    entry.name = "Number";
    bad_entry(entry, "the name is not one to 32 lower-case letters, digits and _");
    entry.name = "flag";
    bad_entry(entry, "is listed twice");
    entry.name = "memory";
    bad_entry(entry, "is the budget of the service, and must be a size");
    entry = table[NUMBER];
    entry.type = 7;
    bad_entry(entry, "has an unknown type");
    entry = table[NUMBER];
    entry.offset = sizeof(struct instance);
    bad_entry(entry, "its field is not within the instance, or not aligned");
    entry.offset = UINT32_MAX - 7;
    bad_entry(entry, "its field is not within the instance, or not aligned");
    entry.offset = 4;
    bad_entry(entry, "its field is not within the instance, or not aligned");
    entry = table[NUMBER];
    entry.help = NULL;
    bad_entry(entry, "has no default or no help");
    entry = table[NUMBER];
    entry.value = "10";
    bad_entry(entry, "'10' is above the maximum, 9");
    entry.maximum = "many";
    bad_entry(entry, "'many' is not a whole number");
    entry = table[CHOICE];
    entry.choices = NULL;
    bad_entry(entry, "only a choice has choices, and it needs them");
    entry.choices = "safe||fast";
    bad_entry(entry, "its choices are not one to 16 words of one to 47 letters");
    entry.choices = "a|b|c|d|e|f|g|h|i|j|k|l|m|n|o|p|safe";
    bad_entry(entry, "its choices are not one to 16 words of one to 47 letters");
}

static void too_many_parameters_are_refused(void **state)
{
    static char names[WEFT_PARAMETERS_MAX + 1][8];
    struct weft_parameter many[WEFT_PARAMETERS_MAX + 2] = {0};
    struct weft_service bad = service;
    struct why why = {0};
    bad.parameters = many;
    for (unsigned i = 0; i <= WEFT_PARAMETERS_MAX; i++) {
        assert_int_equal(parameters_check(&bad, &why), OK);
        snprintf(names[i], sizeof names[i], "p%u", i);
        many[i] = table[NUMBER];
        many[i].name = names[i];
    }
    assert_int_equal(parameters_check(&bad, &why), ERR_USAGE);
    assert_string_equal(why.text, "service typed: has more than 64 parameters");
}

TEST_MAIN(TEST(values_of_each_type_are_read_and_written), TEST(zero_needs_no_unit),
          TEST(wrong_values_are_refused_with_a_reason),
          TEST(a_service_has_its_own_parameters_and_a_budget),
          TEST(a_service_may_have_another_budget_by_default), TEST(wrong_tables_are_refused),
          TEST(too_many_parameters_are_refused))
