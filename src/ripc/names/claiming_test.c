#include "ripc/names/claiming.h"

#include "base/test.h"

static const struct names_tuning tuning = {
    .probe_wait = 20,
    .probe_count = 3,
    .repeat_wait = 100,
    .ask_wait = 40,
    .assert_wait = NSEC_PER_SEC / 4,
};

static struct claim claim_make(uint64_t context, uint64_t incarnation)
{
    return (struct claim){
        .id = 7, .member = 7, .incarnation = incarnation, .address.context = context};
}

static void expect(struct claiming *claiming, enum claiming_act act, nsec wait)
{
    nsec got = -1;
    assert_int_equal(claiming_next(claiming, &tuning, &got), act);
    assert_int_equal(got, wait);
}

static void a_claim_without_objections_is_probed_then_sent_twice(void **state)
{
    struct claiming claiming;
    claiming_start(&claiming, &tuning, false);
    for (unsigned i = 0; i < 3; i++)
        expect(&claiming, CLAIMING_PROBE, 20);
    assert_true(claiming.probing);
    expect(&claiming, CLAIMING_CLAIM, 100);
    assert_false(claiming.probing);
    expect(&claiming, CLAIMING_REPEAT, -1);
    claiming_renew(&claiming); /* our address has changed */
    expect(&claiming, CLAIMING_CLAIM, 100);
    expect(&claiming, CLAIMING_REPEAT, -1);
}

static void a_group_member_claims_without_probing(void **state)
{
    struct claiming claiming;
    claiming_start(&claiming, &tuning, true);
    expect(&claiming, CLAIMING_CLAIM, 100);
    expect(&claiming, CLAIMING_REPEAT, -1);
}

static void claiming_can_skip_the_wait_for_objections(void **state)
{
    struct claiming claiming;
    nsec wait = 0;
    claiming_start(&claiming, &tuning, false);
    expect(&claiming, CLAIMING_PROBE, 20);
    assert_int_equal(claiming_hurry(&claiming, &tuning, &wait), CLAIMING_CLAIM);
    assert_int_equal(wait, 100);
    expect(&claiming, CLAIMING_REPEAT, -1);
}

static void a_claim_is_lost_unless_the_objection_is_withdrawn(void **state)
{
    struct claiming claiming;
    struct claim lower = claim_make(1, 50), own = claim_make(5, 50), higher = claim_make(9, 50);
    claiming_start(&claiming, &tuning, false);
    expect(&claiming, CLAIMING_PROBE, 20);
    assert_true(claiming_probed(&claiming, &own, &higher));
    assert_false(claiming_probed(&claiming, &own, &lower));
    claiming_withdrawn(&claiming, &higher); /* not the context that objected */
    expect(&claiming, CLAIMING_LOST, -1);
    claiming_withdrawn(&claiming, &lower);
    expect(&claiming, CLAIMING_PROBE, 20);
    expect(&claiming, CLAIMING_PROBE, 20);
    expect(&claiming, CLAIMING_CLAIM, 100);
    assert_true(claiming_probed(&claiming, &own, &lower)); /* too late: the id is ours */
    assert_int_equal(claiming.objector, 0);
}

/* When two holders of the same id meet: in its first seconds the newer binding yields. After that
 * the older binding yields if there is a key, and neither yields without one. */
static void a_new_binding_yields_at_first_and_wins_later_if_there_is_a_key(void **state)
{
    uint64_t second = (uint64_t)NSEC_PER_SEC, now = 1000 * second;
    struct claim older = claim_make(1, now - 100 * second);
    struct claim young = claim_make(2, now - 2 * second);
    struct claim newer = claim_make(3, now - 50 * second);
    for (int keyed = 0; keyed < 2; keyed++) {
        assert_true(claiming_yields(&young, &older, now, now, keyed));
        assert_false(claiming_yields(&older, &young, now, now, keyed));
        assert_false(claiming_yields(&newer, &older, now, now, keyed));
        assert_int_equal(claiming_yields(&older, &newer, now, now, keyed), keyed);
    }
    /* The age of the other's claim is measured by its own clock. */
    assert_false(claiming_yields(&older, &newer, now, newer.incarnation + second, true));
    struct claim same = claim_make(2, older.incarnation); /* equal incarnations: the lower context
                                                           * counts as newer */
    assert_false(claiming_yields(&older, &same, now, now, true));
    assert_true(claiming_yields(&same, &older, now, now, true));
    struct claim member = older;
    member.member = 8;
    assert_false(claiming_yields(&young, &member, now, now, true));
}

static void repeated_assertions_are_sent_at_growing_intervals(void **state)
{
    struct claiming claiming;
    nsec now = 0, wait = tuning.assert_wait;
    claiming_start(&claiming, &tuning, false);
    for (unsigned i = 0; i < 8; i++) {
        assert_true(claiming_may_assert(&claiming, now));
        claiming_asserted(&claiming, &tuning, now);
        assert_false(claiming_may_assert(&claiming, now + wait - 1));
        now += wait;
        wait = wait < 8 * NSEC_PER_SEC ? 2 * wait : wait;
    }
    assert_int_equal(wait, 8 * NSEC_PER_SEC);
    now += 31 * NSEC_PER_SEC; /* after this time a rival counts as new */
    claiming_asserted(&claiming, &tuning, now);
    assert_false(claiming_may_assert(&claiming, now + tuning.assert_wait - 1));
    assert_true(claiming_may_assert(&claiming, now + tuning.assert_wait));
}

static void a_question_is_asked_three_times_or_until_answered(void **state)
{
    struct name_question asking = {0};
    assert_int_equal(asking_next(&asking, &tuning), 40);
    assert_int_equal(asking_next(&asking, &tuning), 160);
    assert_int_equal(asking_next(&asking, &tuning), 40);
    assert_int_equal(asking_next(&asking, &tuning), NSEC_NEVER);
    asking = (struct name_question){0};
    assert_int_equal(asking_next(&asking, &tuning), 40);
    asking.answered = true;
    assert_int_equal(asking_next(&asking, &tuning), NSEC_NEVER);
}

TEST_MAIN(TEST(a_claim_without_objections_is_probed_then_sent_twice),
          TEST(a_group_member_claims_without_probing),
          TEST(claiming_can_skip_the_wait_for_objections),
          TEST(a_claim_is_lost_unless_the_objection_is_withdrawn),
          TEST(a_new_binding_yields_at_first_and_wins_later_if_there_is_a_key),
          TEST(repeated_assertions_are_sent_at_growing_intervals),
          TEST(a_question_is_asked_three_times_or_until_answered))
