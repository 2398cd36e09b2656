/* Values against the bytes that they stand for; recording and printing. */
#include "services/store/history/history.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/test.h"
#include "base/text.h"

static void assert_same(struct history_value one, struct history_value other)
{
    assert_true(history_same_value(one, other));
    assert_int_equal(one.size, other.size);
    assert_int_equal(one.has_digits, other.has_digits);
    assert_int_equal(one.number, other.number);
}

static void two_values_in_a_row_are_the_value_of_their_bytes(void **state)
{
    (void)state;
    const uint64_t seed = 3;
    struct rng rng = rng_make(seed, 0);
    print_message("# seed %" PRIu64 "\n", seed);
    for (unsigned round = 0; round < 20000; round++) {
        char bytes[60];
        bool has_letters = rng_below(&rng, 2);
        size_t size = rng_below(&rng, sizeof bytes), middle = rng_below(&rng, size + 1);
        if (rng_below(&rng, 2))
            size = middle + rng_below(&rng, 2);
        for (size_t i = 0; i < size; i++)
            bytes[i] = (char)(has_letters ? rng_below(&rng, 256) : '0' + rng_below(&rng, 10));
        assert_same(history_concat(history_value(bytes, middle),
                                   history_value(bytes + middle, size - middle)),
                    history_value(bytes, size));
    }
}

static void values_differ_if_their_bytes_do(void **state)
{
    (void)state;
    static const char *const values[] = {"", "a", "b", "ab", "ba", "aa", "aab", "1", "01"};
    static const char zeros[] = {0, 0};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        for (size_t j = 0; j < sizeof values / sizeof *values; j++)
            assert_int_equal(history_same_value(history_value(values[i], strlen(values[i])),
                                                history_value(values[j], strlen(values[j]))),
                             i == j);
    }
    assert_false(history_same_value(history_value(zeros, 1), history_value(zeros, 2)));
    assert_false(history_same_value(history_value(zeros, 0), history_value(zeros, 1)));
}

static void decimal_numbers_below_2_to_the_64_are_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        bool is_number;
        uint64_t number;
    } cases[] = {
        {"", false, 0},
        {"0", true, 0},
        {"007", true, 7},
        {"18446744073709551615", true, UINT64_MAX},
        {"18446744073709551616", false, 0},
        {"99999999999999999999", false, 0},
        {"00000000000000000001", true, 1},
        {"000000000000000000001", false, 0},
        {"-1", false, 0},
        {"1 ", false, 0},
        {"1a", false, 0},
        {":", false, 0},
        {"/", false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct history_value value = history_value(cases[i].bytes, strlen(cases[i].bytes));
        assert_int_equal(history_is_number(value), cases[i].is_number);
        assert_true(value.number == cases[i].number);
    }
    assert_same(history_number(UINT64_MAX), history_value("18446744073709551615", 20));
    assert_same(history_number(0), history_value("0", 1));
}

static void an_operation_is_unknown_until_it_is_answered(void **state)
{
    (void)state;
    struct history history = {0};
    struct history_value value = history_number(5);
    struct history_op op = {.key = 1,
                            .kind = HISTORY_INCR,
                            .delta = 2,
                            .begun = 3,
                            .outcome = HISTORY_DONE,
                            .has_result = true};
    for (uint32_t i = 0; i < 100; i++)
        assert_int_equal(history_begin(&history, &op), i);
    for (uint32_t i = 0; i < 100; i++) {
        assert_int_equal(history.ops[i].outcome, HISTORY_UNKNOWN);
        assert_false(history.ops[i].has_result);
    }
    history_answer(&history, 7, 9, HISTORY_DONE, 4, &value);
    assert_int_equal(history.ops[7].outcome, HISTORY_DONE);
    assert_int_equal(history.ops[7].answered, 9);
    assert_int_equal(history.ops[7].version, 4);
    assert_true(history.ops[7].has_result);
    assert_same(history.ops[7].result, value);
    history_answer(&history, 8, 9, HISTORY_UNKNOWN, 0, NULL);
    assert_true(history.ops[8].answered == UINT64_MAX);
    history_answer(&history, HISTORY_NONE, 9, HISTORY_DONE, 4, NULL);
    history_fini(&history);
}

static void add(struct history *history, struct history_op op, uint64_t answered,
                enum history_outcome outcome, uint64_t version, const char *result)
{
    struct history_value value = history_value(result ? result : "", result ? strlen(result) : 0);
    history_answer(history, history_begin(history, &op), answered, outcome, version,
                   result ? &value : NULL);
}

static void a_finding_is_printed_with_its_operations(void **state)
{
    (void)state;
    struct history history = {0};
    struct text text = {0};
    struct history_value value = history_value("abc", 3), seven = history_value("7", 1);
    add(&history,
        (struct history_op){.key = 6,
                            .client = 1,
                            .kind = HISTORY_PUT,
                            .condition = HISTORY_IF_VERSION,
                            .if_version = 8,
                            .value = seven,
                            .begun = 3},
        5, HISTORY_DONE, 9, NULL);
    add(&history, (struct history_op){.key = 6, .kind = HISTORY_GET, .begun = 6}, 7, HISTORY_ABSENT,
        0, NULL);
    add(&history,
        (struct history_op){.key = 6, .client = 2, .kind = HISTORY_INCR, .delta = 3, .begun = 8},
        10, HISTORY_DONE, 12, "10");
    add(&history,
        (struct history_op){.key = 6,
                            .kind = HISTORY_PUT,
                            .condition = HISTORY_IF_ABSENT,
                            .value = value,
                            .begun = 8},
        10, HISTORY_CONFLICT, 12, NULL);
    add(&history, (struct history_op){.key = 6, .kind = HISTORY_DELETE, .begun = 9}, 9,
        HISTORY_UNKNOWN, 0, NULL);
    add(&history,
        (struct history_op){.key = 6,
                            .kind = HISTORY_APPEND,
                            .condition = HISTORY_IF_PRESENT,
                            .value = value,
                            .begun = 9},
        9, HISTORY_REFUSED, 0, NULL);
    struct history_finding finding = {"the reason", {0, 1, 2}};
    history_write_finding(&history, &finding, &text);
    assert_string_equal(text.data,
                        "key 6: the reason\n"
                        "  client 1, 3 to 5: put if version 8, value 7: done, version 9\n"
                        "  client 0, 6 to 7: get: not found\n"
                        "  client 2, 8 to 10: incr by 3: done, version 12, value 10\n");
    text_fini(&text);
    finding = (struct history_finding){"another one", {3, 5, HISTORY_NONE}};
    history_write_finding(&history, &finding, &text);
    history_write_op(&history.ops[4], &text);
    char expected[400];
    snprintf(expected, sizeof expected,
             "key 6: another one\n"
             "  client 0, 8 to 10: put if absent, value %016" PRIx64
             " (3 bytes): not done, version "
             "12 is there\n"
             "  client 0, 9 to 9: append if present, value %016" PRIx64 " (3 bytes): refused\n"
             "client 0, 9 to ?: delete: unknown\n",
             value.hash, value.hash);
    assert_string_equal(text.data, expected);
    text_fini(&text);
    history_fini(&history);
}

/* The verdict is the number of the key, and the finding names its first operation. */
static enum history_verdict key_as_verdict(const struct history_key *key,
                                           struct history_finding *finding)
{
    for (uint32_t i = 1; i < key->count; i++) {
        assert_int_equal(history_op_of(key, i)->key, history_op_of(key, 0)->key);
        assert_true(key->numbers[i - 1] < key->numbers[i]);
    }
    finding->reason = "this key";
    finding->ops[0] = key->numbers[0];
    return (enum history_verdict)history_op_of(key, 0)->key;
}

static enum history_verdict verdict_of(const char *keys, struct history_finding *finding)
{
    struct history history = {0};
    for (; *keys; keys++) {
        struct history_op op = {.key = (uint64_t)(*keys - '0')};
        history_begin(&history, &op);
    }
    enum history_verdict verdict = history_each_key(&history, key_as_verdict, finding);
    history_fini(&history);
    return verdict;
}

static void a_history_is_wrong_if_one_of_its_keys_is(void **state)
{
    (void)state;
    struct history_finding finding;
    assert_int_equal(verdict_of("", &finding), HISTORY_FINE);
    assert_int_equal(verdict_of("000", &finding), HISTORY_FINE);
    assert_int_equal(verdict_of("0020", &finding), HISTORY_UNDECIDED);
    assert_int_equal(finding.ops[0], 2);
    assert_int_equal(verdict_of("0021201", &finding), HISTORY_WRONG);
    assert_int_equal(finding.ops[0], 3);
    assert_string_equal(finding.reason, "this key");
    assert_int_equal(finding.ops[1], HISTORY_NONE);
}

TEST_MAIN(TEST(two_values_in_a_row_are_the_value_of_their_bytes),
          TEST(values_differ_if_their_bytes_do),
          TEST(decimal_numbers_below_2_to_the_64_are_numbers),
          TEST(an_operation_is_unknown_until_it_is_answered),
          TEST(a_finding_is_printed_with_its_operations),
          TEST(a_history_is_wrong_if_one_of_its_keys_is))
