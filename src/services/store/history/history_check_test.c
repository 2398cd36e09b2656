/* Histories written by hand, each with the verdict that a person gives; both checkers must agree.
 *
 * The notation is in history_read_test.h. After a wrong one come the numbers of the operations that
 * the finding must name. */
#include "services/store/history/history_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "base/test.h"
#include "base/text.h"
#include "services/store/history/history_read_test.h"
#include "services/store/history/history_search.h"

struct example {
    const char *name;
    const char *ops;
    const char *wrong; /* NULL: fine; else the operations that contradict each other */
};

static void judge(const struct example *example)
{
    struct history history = {0};
    struct history_finding finding, other;
    struct text text = {0};
    char ops[40] = "";
    history_read(&history, example->ops);
    enum history_verdict verdict = history_check(&history, &finding);
    if (verdict != HISTORY_FINE) {
        for (unsigned i = 0; i < 3 && finding.ops[i] != HISTORY_NONE; i++)
            sprintf(ops + strlen(ops), "%s%" PRIu32, i ? " " : "", finding.ops[i]);
        history_write_finding(&history, &finding, &text);
    }
    enum history_verdict searched = history_search(&history, &other);
    enum history_verdict expected = example->wrong ? HISTORY_WRONG : HISTORY_FINE;
    if (verdict != expected || searched != expected)
        fail_msg("%s: check says %d, search %d: %s", example->name, verdict, searched,
                 text.data ? text.data : "");
    if (example->wrong && strcmp(ops, example->wrong) != 0)
        fail_msg("%s: %s", example->name, text.data);
    text_fini(&text);
    history_fini(&history);
}

static void judge_all(const struct example *examples, size_t count)
{
    for (size_t i = 0; i < count; i++)
        judge(&examples[i]);
}

#define JUDGE(examples) judge_all(examples, sizeof(examples) / sizeof *(examples))

static void answers_agree_with_the_order_in_time(void **state)
{
    (void)state;
    static const struct example examples[] = {
        {"nothing was written", "0-1 get -; 2-3 get -", NULL},
        {"a read of a write", "0-1 put a = 1; 2-3 get = 1 a", NULL},
        {"a stale read", "0-1 put a = 1; 2-3 put b = 2; 4-5 get = 1 a", "1 2"},
        {"a read beside a write, of the old value", "0-1 put a = 1; 2-9 put b = 2; 4-5 get = 1 a",
         NULL},
        {"a read beside a write, of the new value", "0-1 put a = 1; 2-9 put b = 2; 4-5 get = 2 b",
         NULL},
        {"a read that began when the write was answered",
         "0-1 put a = 1; 2-4 put b = 2; 4-5 get = 1 a", NULL},
        {"a read that goes back", "0-1 put a = 1; 2-9 put b = 2; 3-4 get = 2 b; 5-6 get = 1 a",
         "2 3"},
        {"two reads beside each other see different values",
         "0-1 put a = 1; 2-9 put b = 2; 3-5 get = 2 b; 5-6 get = 1 a", NULL},
        {"a read of a write that has not begun", "0-1 get = 1 a; 2-3 put a = 1", "0 1"},
        {"an acknowledged write is lost", "0-1 put a = 1; 2-3 get -", "0 1"},
        {"an acknowledged write is lost, the next one is there",
         "0-1 put a = 1; 2-3 get -; 4-5 put b = 2; 6-7 get = 2 b", "0 1 3"},
        {"a read before the first write was answered", "0-3 put a = 1; 1-2 get -; 4-5 get = 1 a",
         NULL},
        {"nothing is found after the value was", "0-9 put a = 1; 1-2 get = 1 a; 3-4 get -", "1 2"},
        {"versions fall", "0-1 put a = 2; 2-3 put b = 1", "0 1"},
        {"writes beside each other", "0-5 put a = 2; 1-4 put b = 1; 6-7 get = 2 a", NULL},
        {"writes beside each other, the lower version stays",
         "0-5 put a = 2; 1-4 put b = 1; 6-7 get = 1 b", "0 2"},
        {"keys that were never there",
         "0-1 delete -; 2-3 replace a -; 4-5 append a -; 6-7 incr 1 -", NULL},
        {"a conflict shows an old version", "0-1 put a = 1; 2-3 put b = 2; 4-5 add c ! 1", "1 2"},
    };
    JUDGE(examples);
}

static void versions_belong_to_one_change(void **state)
{
    (void)state;
    static const struct example examples[] = {
        {"a version is used twice", "0-1 put a = 1; 2-3 put b = 1", "0 1"},
        {"a version is used again after a deletion", "0-1 put a = 1; 2-3 delete = 2; 4-5 put b = 2",
         "1 2"},
        {"a value that was never written", "0-1 put a = 1; 2-3 get = 1 b", "0 1"},
        {"a version that was never made", "0-1 put a = 1; 2-3 get = 2 a", "1 0"},
        {"a version that was never made, read twice", "0-9 get = 1 a; 1-2 get = 1 a", "1"},
        {"a request takes effect twice", "0-1 put a = 1; 2-3 put b = 2; 4-5 get = 3 b", "2 1"},
        {"an increment takes effect twice", "0-1 put 5 = 1; 2-3 incr 1 = 2 6; 4-5 get = 3 7",
         "2 1"},
        {"an append takes effect twice", "0-1 put a = 1; 2-3 append b = 2 ab; 4-5 get = 3 abb",
         "2 1"},
        {"two reads of a version differ", "0-? put a; 0-? put b; 2-3 get = 1 a; 4-5 get = 1 b",
         "2 3"},
        {"a read of a deletion", "0-1 put a = 1; 2-3 delete = 2; 4-5 get = 2 a", "1 2"},
        {"version 0", "0-1 put a = 0", "0"},
        {"version 0 as a condition", "0-1 put a = 1; 2-3 put@0 b = 2", "1"},
        {"a conflict shows a version that nothing made", "0-1 put a = 1; 2-3 put@7 b ! 5", "1 0"},
        {"a refused write is read", "0-1 put a x; 2-3 get = 1 a", "1"},
        {"a refused write is not read", "0-1 put a x; 2-3 get -", NULL},
        {"an unconditional put finds nothing", "0-1 put a -", "0"},
        {"an unconditional put conflicts", "0-1 put a = 1; 2-3 put b ! 1", "0 1"},
        {"an add that finds nothing", "0-1 add a -", "0"},
    };
    JUDGE(examples);
}

static void conditions_hold(void **state)
{
    (void)state;
    static const struct example examples[] = {
        {"put if version", "0-1 put a = 1; 2-3 put@1 b = 2; 4-5 put@1 c ! 2", NULL},
        {"put if version succeeds twice", "0-1 put a = 1; 2-6 put@1 b = 2; 3-5 put@1 c = 3", "1 2"},
        {"put if version of a version that was overwritten",
         "0-1 put a = 1; 2-3 put b = 2; 4-5 put@1 c = 3", "1 2"},
        {"put if version of another key's version", "0-1 put a = 1; 2-3 put@5 b = 6", "1 0"},
        {"put if version conflicts with that version", "0-1 put a = 1; 2-3 put@1 b ! 1", "0 1"},
        {"put if version of a deleted key", "0-1 put a = 1; 2-3 delete = 2; 4-5 put@1 b -", NULL},
        {"put if version brings a deleted key back",
         "0-1 put a = 1; 2-3 delete = 2; 4-5 put@1 b = 3", "1 2"},
        {"an add of an absent key", "0-1 add a = 1; 2-3 add b ! 1", NULL},
        {"two adds succeed", "0-5 add a = 1; 1-4 add b = 2", "0 1"},
        {"two adds succeed with a deletion between", "0-9 add a = 1; 1-8 add b = 3; 2-7 delete = 2",
         NULL},
        {"an add after a deletion", "0-1 put a = 1; 2-3 delete = 2; 4-5 add b = 3", NULL},
        {"a replace of an absent key succeeds", "0-1 replace a = 1", "0"},
        {"a replace", "0-1 put a = 1; 2-3 replace b = 2; 4-5 get = 2 b", NULL},
        {"a replace fails though the key exists", "0-1 put a = 1; 2-3 replace b -", "0 1"},
        {"two deletions succeed", "0-1 put a = 1; 2-5 delete = 2; 3-4 delete = 3", "1 2"},
        {"one of two deletions succeeds", "0-1 put a = 1; 2-5 delete = 2; 3-4 delete -", NULL},
        {"delete if version", "0-1 put a = 1; 2-3 delete@9 ! 1; 4-5 delete@1 = 2; 6-7 get -", NULL},
        {"delete if version of another one", "0-1 put a = 1; 2-3 put b = 2; 4-5 delete@1 = 3",
         "1 2"},
        {"an append of an absent key succeeds", "0-1 append a = 1 a", "0"},
    };
    JUDGE(examples);
}

static void values_follow_from_the_one_before(void **state)
{
    (void)state;
    static const struct example examples[] = {
        {"a counter", "0-1 put 5 = 1; 2-3 incr 2 = 2 7; 4-5 decr 9 = 3 0; 6-7 get = 3 0", NULL},
        {"increments beside each other", "0-1 put 5 = 1; 2-6 incr 1 = 3 7; 3-5 incr 1 = 2 6", NULL},
        {"an increment is lost", "0-1 put 5 = 1; 2-6 incr 1 = 2 6; 3-5 incr 1 = 3 6", "1 2"},
        {"an increment is lost, as a read shows",
         "0-1 put 5 = 1; 2-3 incr 1 = 2; 4-5 incr 1 = 3; 6-7 get = 3 6", "2 3"},
        {"the greatest number is followed by 0",
         "0-1 put 18446744073709551615 = 1; 2-3 incr 1 = 2 0", NULL},
        {"a word is no number", "0-1 put a = 1; 2-3 incr 1 ! 1", NULL},
        {"a word is counted", "0-1 put a = 1; 2-3 incr 1 = 2 1", "0 1"},
        {"a number is refused", "0-1 put 5 = 1; 2-3 incr 1 ! 1", "0 1"},
        {"digits after digits are a number", "0-1 put 1 = 1; 2-3 append 2 = 2; 4-5 incr 1 = 3 13",
         NULL},
        {"digits after digits are refused as no number",
         "0-1 put 1 = 1; 2-3 append 2 = 2; 4-5 incr 1 ! 2", "1 2"},
        {"append and prepend", "0-1 put b = 1; 2-3 append c = 2 bc; 4-5 prepend a = 3 abc", NULL},
        {"an append is lost", "0-1 put a = 1; 2-3 append b = 2 ab; 4-5 append c = 3 ac", "1 2"},
        {"an append without result is lost",
         "0-1 put a = 1; 2-3 append b = 2; 4-5 append c = 3; 6-7 get = 3 ac", "2 3"},
        {"appends without results",
         "0-1 put a = 1; 2-3 append b = 2; 4-5 prepend c = 3; 6-7 get = 3 cab", NULL},
        {"a touch keeps the value", "0-1 put a = 1; 2-3 touch = 2; 4-5 get = 2 a", NULL},
        {"a touch brings an old value back",
         "0-1 put a = 1; 2-3 put b = 2; 4-5 touch = 3; 6-7 get = 3 a", "2 3"},
        {"an append to another value than the unknown one", "0-? put a; 2-3 append@5 b = 6 xb",
         "1"},
        {"append if version", "0-1 put a = 1; 2-3 append@1 b = 2 ab; 4-5 append@1 c ! 2", NULL},
    };
    JUDGE(examples);
}

static void unknown_operations_take_effect_late_or_never(void **state)
{
    (void)state;
    static const struct example examples[] = {
        {"never", "0-1 put a = 1; 2-? put b; 3-4 get = 1 a; 90-91 get = 1 a", NULL},
        {"late", "0-1 put a = 1; 2-? put b; 3-4 get = 1 a; 90-91 get = 2 b", NULL},
        {"before it began", "0-1 get = 1 a; 2-? put a", "0"},
        {"before it began, seen before", "0-1 put a = 1; 2-3 get = 2 b; 4-? put b; 5-6 get = 2 b",
         "1 0"},
        {"twice", "0-? put a; 1-2 get = 1 a; 3-4 put b = 2; 5-6 get = 3 a", "3 2"},
        {"and its repetition", "0-? put a; 0-? put a; 1-2 get = 1 a; 3-4 put b = 2; 5-6 get = 3 a",
         NULL},
        {"seen, and gone without a change", "0-? put a; 1-2 get = 1 a; 3-4 get -", "1 2"},
        {"seen, and deleted by another one", "0-? put a; 0-? delete; 1-2 get = 1 a; 3-4 get -",
         NULL},
        {"a deletion does not come back", "0-1 put a = 1; 2-? delete; 3-4 get -; 5-6 get = 1 a",
         "0 2 3"},
        {"a deletion that the next add proves", "0-1 put a = 1; 2-? delete; 3-4 add b = 9", NULL},
        {"a deletion that began too late", "0-1 put a = 1; 3-4 add b = 9; 5-? delete", "0 1"},
        {"a deletion proves one add, not two",
         "0-1 put a = 1; 2-? delete; 3-4 add b = 9; 5-6 add c = 12", "2 3"},
        {"a deletion has no version between", "0-1 put a = 1; 2-? delete; 3-4 add b = 2", "0 2"},
        {"a deletion and a put between",
         "0-1 put a = 1; 2-? delete; 2-? put c; 3-4 get -; 5-6 replace b = 4", NULL},
        {"a deletion and a put have no versions between",
         "0-1 put a = 1; 2-? delete; 2-? put c; 3-4 get -; 5-6 replace b = 3", "0 3 4"},
        {"a put proves a replace, though it began after nothing was found",
         "0-1 get -; 2-? put c; 3-4 replace b = 4", NULL},
        {"a put is needed twice", "0-? put a; 1-2 delete = 5; 3-4 get = 6 a; 5-6 delete = 7", "1"},
        {"the put that no read needs is used",
         "0-? put a; 0-? put b; 1-2 delete = 5; 3-4 get = 6 a; 5-6 delete = 7", NULL},
        {"a put if version takes effect", "0-1 put a = 1; 2-? put@1 b; 3-4 get = 2 b", NULL},
        {"a put if version takes effect too late",
         "0-1 put a = 1; 2-? put@1 b; 3-4 put c = 2; 5-6 get = 3 b", "3 2"},
        {"a deletion if version takes effect, and leaves the other one for later",
         "0-1 put a = 1; 2-? delete; 2-? delete@1; 3-4 get -; 5-6 put b = 9; 7-8 get -", NULL},
        {"a put if version stays behind a hidden one",
         "0-1 put a = 1; 2-? put b; 2-? put@1 c; 3-4 put@1 d = 5", NULL},
        {"a hidden increment", "0-1 put 5 = 1; 2-? incr 1; 3-4 incr 1 = 9 7", NULL},
        {"hidden increments of different size",
         "0-1 put 5 = 1; 2-? incr 1; 2-? incr 3; 2-? incr 5; 3-4 incr 1 = 9 14", NULL},
        {"no sum of hidden increments",
         "0-1 put 5 = 1; 2-? incr 2; 2-? incr 4; 2-? incr 8; 3-4 incr 1 = 9 13", "0 4"},
        {"a hidden append between two that report nothing",
         "0-1 put a = 1; 2-? append x; 3-4 append b = 5; 6-7 append c = 9; 8-9 get = 9 abxc", NULL},
        {"a hidden append that began too late",
         "0-1 put a = 1; 3-4 append b = 5; 6-7 append c = 9; 8-? append x; 8-9 get = 9 abxc",
         "2 4"},
    };
    JUDGE(examples);
}

static void absences_have_a_place(void **state)
{
    (void)state;
    static const struct example examples[] = {
        {"in the second of two",
         "0-1 put a = 1; 2-3 delete = 2; 4-5 put b = 3; 6-9 delete = 4; "
         "7-8 get -",
         NULL},
        {"in the first of two, beside the put",
         "0-1 put a = 1; 2-3 delete = 2; 4-9 put b = 3; 5-6 get -; 10-11 delete = 4", NULL},
        {"in none of two",
         "0-1 put a = 1; 2-3 delete = 2; 4-5 put b = 3; 6-7 get -; "
         "8-9 delete = 4",
         "2 3 4"},
        {"two, in the order of time",
         "0-1 put a = 1; 2-20 delete = 2; 3-19 put b = 3; 4-18 delete = 4; 5-6 get -; 7-8 get -",
         NULL},
        {"a resurrected deletion", "0-1 put a = 1; 2-3 delete = 2; 4-5 get -; 6-7 get = 1 a",
         "1 3"},
        {"an absence after a read of the next value",
         "0-1 put a = 1; 2-3 delete = 2; 4-9 put b = 3; 5-6 get = 3 b; 7-8 get -", "3 4"},
        {"an unknown deletion that began after the absence", "0-1 put a = 1; 2-3 get -; 4-? delete",
         "0 1"},
        {"an unknown deletion for an absence and for an add",
         "0-1 put a = 1; 2-? delete; 3-4 get -; 5-6 add b = 4", NULL},
        {"one unknown deletion for two absences",
         "0-1 put a = 1; 2-? delete; 3-4 get -; 5-6 get -; 7-8 put b = 5", NULL},
        {"one unknown deletion for two absences apart",
         "0-1 put a = 1; 2-? delete; 3-4 get -; 5-6 put b = 5; 7-8 get -", "3 4"},
        {"an absence beside changes needs the later deletion",
         "0-1 put a = 1; 2-? delete; 3-20 get -; 4-5 put b = 5; 6-7 put@5 c = 6; 8-9 put d = 9; "
         "10-11 put@9 e = 10",
         NULL},
        {"one absence of two fits where the other does not",
         "0-1 put a = 1; 2-? delete; 3-9 get -; 4-5 put b = 5; 6-11 get -; 8-10 put c = 9", NULL},
        {"an unknown put began after an absence that has no place",
         "0-1 put a = 1; 2-3 get -; 4-? put b; 5-6 get = 2 b", "0 1 3"},
        {"an unknown deletion comes too late for the absence before an unknown put",
         "0-1 put a = 1; 2-3 get -; 4-? put b; 4-? delete; 5-6 get = 3 b", "0 1 4"},
    };
    JUDGE(examples);
}

/* Each key must be judged, and alone. */
static void keys_are_independent(void **state)
{
    (void)state;
    struct history history = {0};
    struct history_finding finding;
    history_read(&history, "0-1 put a = 1; 2-3 get = 1 a; 4-5 get -; 6-7 delete = 2");
    history.ops[2].key = 2;
    assert_int_equal(history_check(&history, &finding), HISTORY_FINE);
    assert_int_equal(history_search(&history, &finding), HISTORY_FINE);
    history.ops[1].key = 2;
    assert_int_equal(history_search(&history, &finding), HISTORY_WRONG);
    assert_int_equal(history_check(&history, &finding), HISTORY_WRONG);
    assert_int_equal(finding.ops[0], 1);
    assert_int_equal(finding.ops[1], HISTORY_NONE);
    history.failed = true;
    assert_int_equal(history_check(&history, &finding), HISTORY_UNDECIDED);
    history_fini(&history);
}

/* Unknown increments by powers of two, of which no sum fits, are too many ways to try. */
static void too_many_ways_are_undecided(void **state)
{
    (void)state;
    struct history history = {0};
    struct history_finding finding;
    history_read(&history, "0-1 put 0 = 1; 2-3 get = 1000 1");
    for (unsigned i = 0; i < 100; i++) {
        struct history_op op = {
            .key = 1, .kind = HISTORY_INCR, .delta = UINT64_C(2) << i % 60, .begun = 1};
        history_begin(&history, &op);
    }
    assert_int_equal(history_check(&history, &finding), HISTORY_UNDECIDED);
    assert_int_equal(history_search(&history, &finding), HISTORY_UNDECIDED);
    history_fini(&history);
}

/* Ends in a short time, though one key has all operations and hundreds are unknown. */
static void a_long_history_of_one_key_is_checked(void **state)
{
    (void)state;
    const uint64_t seed = 11;
    struct rng rng = rng_make(seed, 0);
    print_message("# seed %" PRIu64 "\n", seed);
    struct history history = {0};
    struct history_finding finding;
    struct history_value value = history_number(0);
    uint64_t version = 0;
    const uint32_t count = 200000;
    for (uint32_t i = 0; i < count; i++) {
        bool is_put = rng_below(&rng, 2) || !version, is_lost = rng_below(&rng, 100) == 0;
        struct history_op op = {.key = 1,
                                .kind = is_put ? HISTORY_PUT : HISTORY_GET,
                                .value = history_number(i),
                                .begun = 2 * (uint64_t)i - rng_below(&rng, 9) * (i > 20)};
        uint32_t number = history_begin(&history, &op);
        bool is_effective = !is_lost || rng_below(&rng, 2);
        if (is_put && is_effective) {
            version += 1 + rng_below(&rng, 3);
            value = op.value;
        }
        if (!is_lost)
            history_answer(&history, number, 2 * (uint64_t)i + rng_below(&rng, 9), HISTORY_DONE,
                           version, is_put ? NULL : &value);
    }
    assert_int_equal(history_check(&history, &finding), HISTORY_FINE);
    /* An old value in the last read. */
    for (uint32_t i = count; i-- > 0;) {
        if (history.ops[i].kind == HISTORY_GET && history.ops[i].outcome == HISTORY_DONE) {
            history.ops[i].result = history_number(5);
            break;
        }
    }
    assert_int_equal(history_check(&history, &finding), HISTORY_WRONG);
    history_fini(&history);
}

TEST_MAIN(TEST(answers_agree_with_the_order_in_time), TEST(versions_belong_to_one_change),
          TEST(conditions_hold), TEST(values_follow_from_the_one_before),
          TEST(unknown_operations_take_effect_late_or_never), TEST(absences_have_a_place),
          TEST(keys_are_independent), TEST(too_many_ways_are_undecided),
          TEST(a_long_history_of_one_key_is_checked))
