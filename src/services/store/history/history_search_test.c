/* The search against a person's verdicts and against brute force; then history_check against the
 * search, and both against histories that a register has made.
 *
 * A random history depends only on the seed of its test and its number, which a failure prints. */
#include "services/store/history/history_search.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "base/test.h"
#include "base/text.h"
#include "services/store/history/history_brute_test.h"
#include "services/store/history/history_check.h"
#include "services/store/history/history_plain_test.h"
#include "services/store/history/history_random_test.h"
#include "services/store/history/history_read_test.h"

/* ---- histories written by hand, in the notation of history_read_test.h ---- */

struct example {
    const char *name;
    const char *ops;
    enum history_verdict verdict;
};

static void judge_all(const struct example *examples, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct history history = {0};
        struct history_finding finding;
        history_read(&history, examples[i].ops);
        enum history_verdict verdict = history_search(&history, &finding);
        if (verdict != examples[i].verdict)
            fail_msg("%s: verdict %d", examples[i].name, verdict);
        history_fini(&history);
    }
}

#define JUDGE(examples) judge_all(examples, sizeof(examples) / sizeof *(examples))

static void an_operation_takes_effect_between_its_beginning_and_its_answer(void **state)
{
    (void)state;
    static const struct example examples[] = {
        {"one after the other", "0-1 put a = 1; 2-3 get = 1 a; 4-5 put b = 2; 6-7 get = 2 b",
         HISTORY_FINE},
        {"a stale read", "0-1 put a = 1; 2-3 put b = 2; 4-5 get = 1 a", HISTORY_WRONG},
        {"the same beside the put", "0-1 put a = 1; 2-4 put b = 2; 3-5 get = 1 a", HISTORY_FINE},
        {"the same from the answer on", "0-1 put a = 1; 2-4 put b = 2; 4-5 get = 1 a",
         HISTORY_FINE},
        {"a read from the future", "0-1 get = 1 a; 2-3 put a = 1", HISTORY_WRONG},
        {"a read from the future, of an unknown put", "0-1 get = 1 a; 2-? put a", HISTORY_WRONG},
        {"a lost write", "0-1 put a = 1; 2-3 get -", HISTORY_WRONG},
        {"a lost update", "0-1 put 5 = 1; 2-6 incr 1 = 2 6; 3-5 incr 1 = 3 6", HISTORY_WRONG},
        {"a lost update under a condition", "0-1 put a = 1; 2-6 put@1 b = 2; 3-5 put@1 c = 3",
         HISTORY_WRONG},
        {"two readers see two writes in different orders",
         "0-9 put a = 1; 0-9 put b = 2; 1-2 get = 1 a; 3-4 get = 2 b; 1-2 get = 2 b; 3-4 get = 1 a",
         HISTORY_WRONG},
        {"and in the same order",
         "0-9 put a = 1; 0-9 put b = 2; 1-2 get = 1 a; 3-4 get = 2 b; 1-2 get = 1 a; 3-4 get = 2 b",
         HISTORY_FINE},
        {"two readers see a deletion in different orders",
         "0-1 put a = 1; 2-9 delete = 2; 3-4 get -; 5-6 get = 1 a", HISTORY_WRONG},
        {"and in the same order", "0-1 put a = 1; 2-9 delete = 2; 3-4 get = 1 a; 5-6 get -",
         HISTORY_FINE},
        {"versions that fall with time", "0-1 put a = 2; 2-3 put b = 1", HISTORY_WRONG},
        {"versions that do not follow the beginnings",
         "0-9 put a = 2; 1-8 put b = 1; 10-11 get = 2 a", HISTORY_FINE},
    };
    JUDGE(examples);
}

static void an_answer_needs_a_state_that_explains_it(void **state)
{
    (void)state;
    static const struct example examples[] = {
        {"a conflict with the version that is there", "0-1 put a = 1; 2-3 add b ! 1", HISTORY_FINE},
        {"a conflict with a version that never was", "0-1 put a = 1; 2-3 add b ! 2", HISTORY_WRONG},
        {"a conflict with a version that was", "0-1 put a = 1; 2-3 put b = 2; 4-5 add c ! 1",
         HISTORY_WRONG},
        {"a conflict though the version is right", "0-1 put a = 1; 2-3 put@1 b ! 1", HISTORY_WRONG},
        {"a conflict though the key is not there", "0-1 put a = 1; 2-3 delete = 2; 4-5 add b ! 1",
         HISTORY_WRONG},
        {"a word is no number", "0-1 put a = 1; 2-3 incr 1 ! 1", HISTORY_FINE},
        {"a number is no number", "0-1 put 9 = 1; 2-3 incr 1 ! 1", HISTORY_WRONG},
        {"the value of another version", "0-1 put a = 1; 2-3 put b = 2; 4-5 get = 2 a",
         HISTORY_WRONG},
        {"increments add up", "0-1 put 5 = 1; 2-3 incr 2 = 2; 2-3 incr 4 = 3; 4-5 get = 3 11",
         HISTORY_FINE},
        {"increments do not add up", "0-1 put 5 = 1; 2-3 incr 2 = 2; 2-3 incr 4 = 3; 4-5 get = 3 9",
         HISTORY_WRONG},
        {"a decrement stops at 0", "0-1 put 5 = 1; 2-3 decr 9 = 2 0; 4-5 incr 1 = 3 1",
         HISTORY_FINE},
        {"appends in the order of versions",
         "0-1 put a = 1; 2-9 append b = 3; 3-8 append c = 2; 10-11 get = 3 acb", HISTORY_FINE},
        {"appends in another order",
         "0-1 put a = 1; 2-9 append b = 3; 3-8 append c = 2; 10-11 get = 3 abc", HISTORY_WRONG},
        {"a prepend", "0-1 put a = 1; 2-3 prepend b = 2 ba", HISTORY_FINE},
        {"a prepend at the wrong end", "0-1 put a = 1; 2-3 prepend b = 2 ab", HISTORY_WRONG},
        {"an absence before all changes", "0-1 delete -; 2-3 replace a -; 4-5 put a = 1",
         HISTORY_FINE},
        {"an absence without a deletion", "0-1 put a = 1; 2-3 replace b -", HISTORY_WRONG},
    };
    JUDGE(examples);
}

static void a_change_takes_effect_once(void **state)
{
    (void)state;
    static const struct example examples[] = {
        {"a put that was sent again", "0-9 put a = 1; 1-2 get = 1 a; 3-4 put b = 2; 5-6 get = 3 a",
         HISTORY_WRONG},
        {"an append that was sent again", "0-1 put a = 1; 2-9 append b = 2 ab; 3-4 get = 3 abb",
         HISTORY_WRONG},
        {"an increment that was sent again, of an unknown outcome",
         "0-1 put 5 = 1; 2-? incr 1; 3-4 get = 2 6; 5-6 get = 3 7", HISTORY_WRONG},
        {"two increments", "0-1 put 5 = 1; 2-? incr 1; 2-? incr 1; 3-4 get = 2 6; 5-6 get = 3 7",
         HISTORY_FINE},
        {"a version that two changes have made", "0-1 put a = 1; 0-1 put b = 1", HISTORY_WRONG},
        {"a refused put", "0-1 put a x; 2-3 get -", HISTORY_FINE},
        {"a refused put that is read", "0-1 put a x; 2-3 get = 1 a", HISTORY_WRONG},
    };
    JUDGE(examples);
}

static void an_unknown_operation_takes_effect_once_or_never(void **state)
{
    (void)state;
    static const struct example examples[] = {
        {"never", "0-1 put a = 1; 2-? put b; 3-4 get = 1 a", HISTORY_FINE},
        {"late", "0-1 put a = 1; 2-? put b; 3-4 get = 1 a; 5-6 get = 2 b", HISTORY_FINE},
        {"twice", "0-? put a; 1-2 get = 1 a; 3-4 put b = 2; 5-6 get = 3 a", HISTORY_WRONG},
        {"undone", "0-? put a; 1-2 get = 1 a; 3-4 get -", HISTORY_WRONG},
        {"too late", "0-1 put a = 1; 2-3 get = 2 b; 3-? put b", HISTORY_FINE},
        {"too late by a moment", "0-1 put a = 1; 2-3 get = 2 b; 4-? put b", HISTORY_WRONG},
        {"with a version that a later answer shows", "0-? put a; 1-2 get = 5 a; 3-4 add b ! 5",
         HISTORY_FINE},
        {"with a version that no answer shows",
         "0-1 put a = 1; 2-? delete; 3-4 add b = 3; 5-6 get = 3 b", HISTORY_FINE},
        {"without a version that is left", "0-1 put a = 1; 2-? delete; 3-4 add b = 2",
         HISTORY_WRONG},
        {"two with versions between",
         "0-1 put a = 1; 2-? delete; 2-? put c; 3-4 get -; 5-6 replace b = 4", HISTORY_FINE},
        {"two with one version between",
         "0-1 put a = 1; 2-? delete; 2-? put c; 3-4 get -; 5-6 replace b = 3", HISTORY_WRONG},
        {"on the version that is there", "0-1 put a = 1; 2-? put@1 b; 3-4 get = 2 b", HISTORY_FINE},
        {"on a version that was there", "0-1 put a = 1; 2-3 put c = 2; 2-? put@1 b; 4-5 get = 3 b",
         HISTORY_WRONG},
        {"on a version that nothing reports", "0-? put a; 0-? put@7 b; 1-2 get = 9 b",
         HISTORY_WRONG},
        {"on the version of another unknown one",
         "0-? put a; 1-2 get = 7 a; 3-? put@7 b; 4-5 get = 9 b", HISTORY_FINE},
        {"a get, which changes nothing", "0-? get; 0-1 get -", HISTORY_FINE},
    };
    JUDGE(examples);
}

static void a_key_that_has_expired_is_removed_once_at_any_time_or_never(void **state)
{
    (void)state;
    static const struct example examples[] = {
        {"never", "0-1 put/2 a = 1; 8-9 get = 1 a", HISTORY_FINE},
        {"at the first moment", "0-1 put/3 a = 1; 2-3 get -", HISTORY_FINE},
        {"before the first moment", "0-1 put/4 a = 1; 2-3 get -", HISTORY_WRONG},
        {"late", "0-1 put/2 a = 1; 3-4 get = 1 a; 5-6 get -", HISTORY_FINE},
        {"and comes back", "0-1 put/2 a = 1; 3-4 get -; 5-6 get = 1 a", HISTORY_WRONG},
        {"beside a read", "0-1 put/2 a = 1; 3-8 get -; 4-9 get = 1 a", HISTORY_FINE},
        {"a put that never expires", "0-1 put/2 a = 1; 2-3 put b = 2; 4-5 get -", HISTORY_WRONG},
        {"the put before it was the one that expires", "0-1 put/2 a = 1; 2-3 add b = 3",
         HISTORY_FINE},
        {"without a version for the removal", "0-1 put/2 a = 1; 2-3 add b = 2", HISTORY_WRONG},
        {"an append keeps the expiry", "0-1 put/2 a = 1; 2-3 append b = 2; 4-5 get -",
         HISTORY_FINE},
        {"an append after the removal", "0-1 put/2 a = 1; 2-3 get -; 4-5 append b = 3",
         HISTORY_WRONG},
        {"a touch puts it off", "0-1 put/2 a = 1; 1-2 touch/9 = 2; 4-5 get -", HISTORY_WRONG},
        {"until later", "0-1 put/2 a = 1; 1-2 touch/9 = 2; 8-9 get -", HISTORY_FINE},
        {"a touch ends it", "0-1 put/2 a = 1; 1-2 touch = 2; 8-9 get -", HISTORY_WRONG},
        {"a touch sets it", "0-1 put a = 1; 1-2 touch/4 = 2; 5-6 get -", HISTORY_FINE},
        {"a touch of a key that was removed", "0-1 put/2 a = 1; 5-6 touch/9 -; 7-8 get -",
         HISTORY_FINE},
        {"an unknown touch sets it", "0-1 put a = 1; 1-? touch/4; 5-6 get -", HISTORY_FINE},
        {"an unknown touch began too late", "0-1 put a = 1; 2-3 get -; 4-? touch/4", HISTORY_WRONG},
        {"an unknown put sets it", "0-1 put a = 1; 2-? put/5 b; 6-7 get -; 8-9 add c = 4",
         HISTORY_FINE},
        {"and no version is left for both", "0-1 put a = 1; 2-? put/5 b; 6-7 get -; 8-9 add c = 3",
         HISTORY_WRONG},
        {"an unknown put before an append sets it",
         "0-1 put a = 1; 2-? put/5 b; 3-4 append c = 3; 6-7 get -", HISTORY_FINE},
        {"an unknown put before an append whose value shows that it was another one",
         "0-1 put a = 1; 2-? put/5 b; 3-4 append c = 3 ac; 6-7 get -", HISTORY_FINE},
        {"a conflict shows the key", "0-1 put/2 a = 1; 3-4 get -; 5-6 add b ! 1", HISTORY_WRONG},
    };
    JUDGE(examples);
}

/* ---- verdicts ---- */

static void the_finding_names_the_key(void **state)
{
    (void)state;
    struct history history = {0};
    struct history_finding finding;
    history_read(&history, "0-1 put a = 1; 0-1 get -; 2-3 put a = 1; 4-5 get = 1 b");
    history.ops[2].key = history.ops[3].key = 2;
    assert_int_equal(history_search(&history, &finding), HISTORY_WRONG);
    assert_int_equal(finding.ops[0], 2);
    assert_int_equal(finding.ops[1], HISTORY_NONE);
    history.ops[3].result = value_of("a");
    assert_int_equal(history_search(&history, &finding), HISTORY_FINE);
    history_fini(&history);
}

static void more_than_64_operations_are_undecided(void **state)
{
    (void)state;
    struct history history = {0};
    struct history_finding finding;
    history_read(&history, "0-0 put a = 1");
    for (unsigned i = 1; i < HISTORY_SEARCH_OPS_MAX; i++) {
        char op[30];
        snprintf(op, sizeof op, "%u-%u get = 1 a", i, i);
        history_read(&history, op);
    }
    assert_int_equal(history_search(&history, &finding), HISTORY_FINE);
    history.ops[63].result = value_of("b");
    assert_int_equal(history_search(&history, &finding), HISTORY_WRONG);
    history_read(&history, "64-64 get = 1 a");
    assert_int_equal(history_search(&history, &finding), HISTORY_UNDECIDED);
    assert_string_equal(finding.reason, "too many orders to try");
    history_fini(&history);
}

/* No order explains the read, but of 12 appends there are more orders than the search keeps. */
static void too_many_orders_are_undecided(void **state)
{
    (void)state;
    struct history history = {0};
    struct history_finding finding;
    history_read(&history, "0-1 put a = 1; 2-9 get = 99 z");
    for (unsigned i = 0; i < 12; i++) {
        char op[20];
        snprintf(op, sizeof op, "0-? append %c", 'b' + i);
        history_read(&history, op);
    }
    assert_int_equal(history_search(&history, &finding), HISTORY_UNDECIDED);
    history_fini(&history);
}

/* The reads have 16! orders, but only 2^16 sets can come first. */
static void orders_that_lead_to_the_same_state_are_tried_once(void **state)
{
    (void)state;
    struct history history = {0};
    struct history_finding finding;
    history_read(&history, "0-1 put a = 1; 10-11 get = 1 b");
    for (unsigned i = 0; i < 16; i++)
        history_read(&history, "2-9 get = 1 a");
    assert_int_equal(history_search(&history, &finding), HISTORY_WRONG);
    history_fini(&history);
}

/* ---- random histories ---- */

enum origin { MADE, MADE_BY_BUGS, CHANGED, BLIND, ORIGINS };

struct tally {
    uint64_t seed;
    uint32_t verdicts[ORIGINS][HISTORY_UNDECIDED + 1]; /* of the search */
    uint32_t undecided;                                /* by history_check */
};

/* Draws the history of that number. */
static void draw(struct plain_history *history, uint64_t seed, uint32_t number, uint32_t count_max,
                 enum origin origin)
{
    struct rng rng = rng_make(seed, number);
    struct random_manner manner = random_manner_draw(&rng);
    uint32_t count = 1 + (uint32_t)rng_below(&rng, count_max);
    manner.mistakes = origin == MADE_BY_BUGS ? 40 : 0;
    if (count_max > HISTORY_SEARCH_OPS_MAX)
        manner.unknown = least_u32(manner.unknown, 15); /* or nothing would be decided */
    if (origin == BLIND)
        random_make_blindly(history, &manner, &rng, count);
    else
        random_make(history, &manner, &rng, count);
    uint64_t mistakes = origin == CHANGED ? 1 + rng_below(&rng, 3) : 0;
    while (mistakes--)
        random_mistake(history, &manner, &rng);
}

static void fail_at(const struct tally *tally, uint32_t number, const struct history *history,
                    const char *what)
{
    struct text text = {0};
    for (uint32_t i = 0; i < history->count; i++)
        history_write_op(&history->ops[i], &text);
    print_message("# seed %" PRIu64 ", history %" PRIu32 ":\n%s", tally->seed, number, text.data);
    text_fini(&text);
    fail_msg("%s", what);
}

static void judge_random(struct tally *tally, uint32_t number, uint32_t count_max, bool brute_too)
{
    static struct plain_history plain;
    enum origin origin = (enum origin)(number % ORIGINS);
    struct history_finding finding;
    draw(&plain, tally->seed, number, count_max, origin);
    struct history history = plain_history(&plain);
    enum history_verdict searched = history_search(&history, &finding);
    enum history_verdict checked = history_check(&history, &finding);
    if (brute_too && searched != brute_judge(&plain))
        fail_at(tally, number, &history, "the search and brute force differ");
    if (origin == MADE && (searched == HISTORY_WRONG || checked == HISTORY_WRONG))
        fail_at(tally, number, &history,
                searched == HISTORY_WRONG ? "the search finds a correct history wrong"
                                          : "the check finds a correct history wrong");
    if (searched != checked && searched != HISTORY_UNDECIDED && checked != HISTORY_UNDECIDED)
        fail_at(tally, number, &history, "the search and the check differ");
    tally->verdicts[origin][searched]++;
    tally->undecided += checked == HISTORY_UNDECIDED;
    history_fini(&history);
}

static void print_tally(const struct tally *tally)
{
    static const char *const names[] = {"made by a register", "by one with bugs", "changed",
                                        "drawn blindly"};
    print_message("# seed %" PRIu64 ", %u undecided by the check\n", tally->seed, tally->undecided);
    for (unsigned i = 0; i < ORIGINS; i++)
        print_message("# %s: %u fine, %u wrong, %u undecided\n", names[i], tally->verdicts[i][0],
                      tally->verdicts[i][1], tally->verdicts[i][2]);
}

static void the_search_and_the_check_agree_with_brute_force(void **state)
{
    (void)state;
    struct tally tally = {.seed = 1};
    for (uint32_t i = 0; i < 100000; i++)
        judge_random(&tally, i, 6, true);
    print_tally(&tally);
    /* Both verdicts are frequent, or this test would say little. */
    for (unsigned i = 0; i < ORIGINS; i++) {
        assert_true(tally.verdicts[i][HISTORY_FINE] > 4000);
        assert_true(i == MADE || tally.verdicts[i][HISTORY_WRONG] > 1000);
        assert_int_equal(tally.verdicts[i][HISTORY_UNDECIDED], 0);
    }
    assert_int_equal(tally.undecided, 0);
}

static void the_check_agrees_with_the_search(void **state)
{
    (void)state;
    struct tally tally = {.seed = 2};
    for (uint32_t i = 0; i < 20000; i++)
        judge_random(&tally, i, 14, false);
    print_tally(&tally);
    for (unsigned i = 0; i < ORIGINS; i++) {
        assert_true(tally.verdicts[i][HISTORY_FINE] > 500);
        assert_true(i == MADE || tally.verdicts[i][HISTORY_WRONG] > 500);
        assert_true(tally.verdicts[i][HISTORY_UNDECIDED] < 20);
    }
    assert_true(tally.undecided < 20);
}

/* Those are too long for the search. */
static void long_histories_of_a_register_are_not_wrong(void **state)
{
    (void)state;
    static struct plain_history plain;
    struct tally tally = {.seed = 3};
    struct history_finding finding;
    uint32_t count = 500, fine = 0;
    for (uint32_t i = 0; i < count; i++) {
        draw(&plain, tally.seed, i, PLAIN_OPS_MAX, MADE);
        struct history history = plain_history(&plain);
        enum history_verdict verdict = history_check(&history, &finding);
        if (verdict == HISTORY_WRONG)
            fail_at(&tally, i, &history, finding.reason);
        fine += verdict == HISTORY_FINE;
        history_fini(&history);
    }
    print_message("# seed %" PRIu64 ": %u of %u are fine, all others undecided\n", tally.seed, fine,
                  count);
    assert_true(fine > count / 10 * 9);
}

TEST_MAIN(TEST(an_operation_takes_effect_between_its_beginning_and_its_answer),
          TEST(an_answer_needs_a_state_that_explains_it), TEST(a_change_takes_effect_once),
          TEST(an_unknown_operation_takes_effect_once_or_never),
          TEST(a_key_that_has_expired_is_removed_once_at_any_time_or_never),
          TEST(the_finding_names_the_key), TEST(more_than_64_operations_are_undecided),
          TEST(too_many_orders_are_undecided),
          TEST(orders_that_lead_to_the_same_state_are_tried_once),
          TEST(the_search_and_the_check_agree_with_brute_force),
          TEST(the_check_agrees_with_the_search), TEST(long_histories_of_a_register_are_not_wrong))
