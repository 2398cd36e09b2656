#include "node/configuration/configuration.h"

#include <string.h>

#include "base/test.h"

struct instance {
    int64_t copies;
};

static const struct weft_parameter table[] = {
    {WEFT_PARAMETER(struct instance, copies, INTEGER), .value = "3", .minimum = "1", .maximum = "9",
     .help = "h"},
    {0},
};
static const struct weft_service_ops ops = {0};
static const struct weft_service store = {.version = WEFT_SERVICE_VERSION,
                                          .name = "store",
                                          .id = 256,
                                          .size = sizeof(struct instance),
                                          .ops = &ops,
                                          .parameters = table};
static const struct weft_service plain = {
    .version = WEFT_SERVICE_VERSION, .name = "plain", .id = 257, .ops = &ops};
static const struct weft_service *const services[] = {&store, &plain, NULL};

static enum err parsed(struct configuration *settings, const char *text, struct why *why)
{
    return configuration_parse(settings, "f.conf", text, strlen(text), why);
}

static int64_t copies(const struct configuration *settings)
{
    union parameter_value value;
    struct why why = {0};
    assert_int_equal(configuration_read(settings, &store, &table[0], &value, &why), OK);
    return value.number;
}

static void the_last_setting_is_in_effect(void **state)
{
    struct configuration settings = {0}, line = {0};
    struct why why = {0};
    assert_int_equal(copies(NULL), 3);
    assert_int_equal(copies(&settings), 3);
    assert_int_equal(parsed(&settings,
                            "# copies of items\n\n\tstore.copies =  5 \r\n"
                            "  # more\nplain.memory=64M",
                            &why),
                     OK);
    assert_int_equal(settings.count, 2);
    assert_string_equal(settings.items[0].origin, "f.conf: line 3");
    assert_string_equal(settings.items[1].origin, "f.conf: line 5");
    assert_int_equal(configuration_check(&settings, services, &why), OK);
    assert_int_equal(copies(&settings), 5);
    assert_int_equal(configuration_add(&line, "--set", "store.copies=7", &why), OK);
    assert_int_equal(configuration_append(&settings, &line, &why), OK);
    assert_int_equal(copies(&settings), 7);
    assert_int_equal(settings.count, 3);
    configuration_compact(&settings);
    assert_int_equal(settings.count, 2);
    assert_string_equal(settings.items[0].service, "plain");
    assert_int_equal(copies(&settings), 7);
    configuration_fini(&line);
    configuration_fini(&settings);
}

static void a_value_may_contain_any_printable_text(void **state)
{
    struct configuration settings = {0};
    struct why why = {0};
    assert_int_equal(configuration_add(&settings, "--set", "a.b=c.d=e # f", &why), OK);
    assert_string_equal(settings.items[0].service, "a");
    assert_string_equal(settings.items[0].name, "b");
    assert_string_equal(settings.items[0].value, "c.d=e # f");
    assert_int_equal(configuration_add(&settings, "--set", "a.b=", &why), OK);
    assert_string_equal(settings.items[1].value, "");
    configuration_fini(&settings);
}

static void malformed_words_are_refused(void **state)
{
    static const char *const words[] = {"",         "store", "store.copies", "store=3", ".copies=3",
                                        "store.=3", "=",     "store=a.b"};
    struct configuration settings = {0};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        struct why why = {0};
        assert_int_equal(configuration_add(&settings, "--set x", words[i], &why), ERR_USAGE);
        assert_string_equal(why.text,
                            "--set x: expected SERVICE.NAME=VALUE, as in ping.memory=64M");
    }
    assert_int_equal(settings.count, 0);
    configuration_fini(&settings);
}

static void malformed_lines_are_refused_with_their_numbers(void **state)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"store.copies=1\n\nnonsense\n",
         "f.conf: line 3: expected SERVICE.NAME=VALUE, as in ping.memory=64M"},
        {"store.copies=1\nstore.copies=2\n",
         "f.conf: line 2: store.copies is set already: f.conf: line 1"},
    };
    for (size_t i = 0; i < 2; i++) {
        struct configuration settings = {0};
        struct why why = {0};
        assert_int_equal(parsed(&settings, cases[i].text, &why), ERR_INPUT);
        assert_string_equal(why.text, cases[i].says);
        configuration_fini(&settings);
    }
    struct configuration settings = {0};
    struct why why = {0};
    assert_int_equal(configuration_parse(&settings, "f.conf", "a.b=\0x\n", 7, &why), ERR_INPUT);
    assert_string_equal(why.text, "f.conf: line 1: the line has a zero byte");
    char line[1000];
    memset(line, 'x', sizeof line);
    assert_int_equal(configuration_parse(&settings, "f.conf", line, sizeof line, &why), ERR_INPUT);
    assert_string_equal(why.text, "f.conf: line 1: the line is too long");
    configuration_fini(&settings);
}

static void wrong(const char *word, const char *says)
{
    struct configuration settings = {0};
    struct why why = {0};
    assert_int_equal(configuration_add(&settings, "--set x", word, &why), OK);
    assert_int_equal(configuration_check(&settings, services, &why), ERR_USAGE);
    assert_string_equal(why.text, says);
    configuration_fini(&settings);
}

static void unknown_names_and_wrong_values_are_refused(void **state)
{
    wrong("stroe.copies=3", "--set x: no service 'stroe' (did you mean 'store'?); there are store, "
                            "plain");
    wrong("store.copis=3", "--set x: service store has no parameter 'copis' (did you mean "
                           "'copies'?); 'weft service show' lists them");
    wrong("plain.copies=3", "--set x: service plain has no parameter 'copies'; 'weft service show' "
                            "lists them");
    wrong("store.copies=10", "--set x: store.copies: '10' is above the maximum, 9");
    wrong("plain.memory=much", "--set x: plain.memory: 'much' is not a size such as 4096, 64K, 20M "
                               "or 2G");
}

TEST_MAIN(TEST(the_last_setting_is_in_effect), TEST(a_value_may_contain_any_printable_text),
          TEST(malformed_words_are_refused), TEST(malformed_lines_are_refused_with_their_numbers),
          TEST(unknown_names_and_wrong_values_are_refused))
