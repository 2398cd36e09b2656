/* Councils in a network that is divided: only one part of the members goes on. First single cases,
 * then random divisions, deaths and joins; the seed decides every event.
 *
 * A failure prints the seed. WEFT_SEED=N runs only that seed; WEFT_SEEDS=N runs seeds 1 to N. */
#include <stdio.h>
#include <stdlib.h>

#include "sst/council/council_crowd.h"
#include "sst/council/council_scene.h"

/* ---- single cases ---- */

/* Time passes for all parties; messages from and to `without` are lost. */
static void wait_without(unsigned ticks, unsigned without)
{
    static int64_t now = 1;
    for (unsigned tick = 0; tick < ticks; tick++, now += COUNCIL_RETRY_NSEC) {
        for (unsigned i = 0; i < PARTIES; i++)
            if (parties[i].council.ops)
                council_tick(&parties[i].council, now);
        settle_without(without);
    }
}

static void silence(unsigned at, unsigned about)
{
    council_silent(&parties[at].council, about + 1, 100 + about);
}

static void a_minority_is_expelled_and_the_majority_goes_on(void **state)
{
    begin(3);
    silence(0, 1);
    silence(1, 0);
    silence(2, 0);
    silence(0, 2);
    settle_without(0);
    same_view(1, 2);
    assert_int_equal(parties[1].view.rows[0].id, 0);
    assert_false(parties[0].expelled); /* the silent members may turn out to be dead */
    wait_without(30, 0);
    assert_true(parties[0].expelled);
    assert_int_equal(parties[0].view.epoch, 3);
    assert_false(parties[1].expelled || parties[2].expelled);
    same_view(1, 2);
}

static void of_two_members_only_the_eldest_goes_on(void **state)
{
    begin(2);
    silence(0, 1);
    silence(1, 0);
    wait_without(30, 0);
    assert_true(parties[1].expelled);
    assert_false(parties[0].expelled);
    assert_int_equal(parties[0].view.epoch, 3);
    assert_int_equal(parties[0].view.row_count, 1);
}

static void a_table_whose_other_members_have_ended_goes_on(void **state)
{
    begin(3);
    council_failed(&parties[2].council, 1, 100);
    council_failed(&parties[2].council, 2, 101);
    wait_without(30, 3);
    assert_false(parties[2].expelled);
    assert_int_equal(parties[2].view.rows[2].id, 3);
    begin(2);
    silence(1, 0);
    wait_without(5, 0);
    assert_int_equal(parties[1].view.epoch, 2); /* it waits */
    council_failed(&parties[1].council, 1, 100);
    wait_without(30, 0);
    assert_false(parties[1].expelled);
    assert_int_equal(parties[1].view.epoch, 3);
}

/* The other two went on without the eldest. Then one of them ends. */
static void a_member_that_has_ended_may_have_gone_on_with_the_silent_one(void **state)
{
    begin(3);
    silence(1, 0);
    silence(2, 0);
    settle_without(0);
    assert_int_equal(parties[1].view.epoch, 4);
    silence(0, 1);
    council_failed(&parties[0].council, 3, 102);
    wait_without(30, 0);
    assert_true(parties[0].expelled);
    assert_int_equal(parties[0].view.epoch, 3);
}

static void a_part_without_a_majority_lets_no_process_join(void **state)
{
    begin(2);
    silence(1, 0);
    council_join(party_open(2, NULL));
    wait_without(30, 0);
    assert_int_equal(parties[2].view.epoch, 0);
    assert_int_equal(parties[2].refused, 0); /* it asks until the others can be reached */
    silence(0, 1);
    wait_without(5, 3);
    same_view(0, 2);
}

/* The leader excludes a member that does not notice that it was cut off. */
static void an_excluded_member_is_told_when_it_asks(void **state)
{
    begin(3);
    silence(0, 2);
    silence(1, 2);
    settle_without(2);
    assert_int_equal(parties[0].view.epoch, 4);
    assert_false(parties[2].expelled);
    silence(2, 0);
    silence(2, 1); /* so it leads, and asks no process */
    council_say(&parties[2].council, 1, &(struct council_message){.kind = COUNCIL_ASK});
    settle();
    assert_true(parties[2].expelled);
}

/* Each of two members takes the other for ended, which is not true. */
static void of_two_parts_that_went_on_by_mistake_one_remains(void **state)
{
    begin(2);
    council_failed(&parties[0].council, 2, 101);
    council_failed(&parties[1].council, 1, 100);
    settle_without(0);
    assert_int_equal(parties[0].view.row_count, 1);
    assert_int_equal(parties[1].view.epoch, 3);
    council_tell(&parties[0].council, 2);
    council_tell(&parties[1].council, 1);
    settle();
    assert_true(parties[1].expelled);
    assert_false(parties[0].expelled);
}

static void the_table_that_was_founded_first_remains(void **state)
{
    begin(2);
    council_found(party_open(2, NULL), TABLE + 1);
    council_tell(&parties[2].council, 1);
    settle();
    assert_false(parties[0].expelled);
    assert_int_equal(parties[0].council.strange, 1);
    council_tell(&parties[0].council, 3);
    settle();
    assert_true(parties[2].expelled);
}

/* The table that was founded first has lost its majority, but its leader does not know yet that
 * this will last. */
static void a_table_without_a_majority_does_not_end_another(void **state)
{
    begin(3);
    silence(0, 1);
    silence(0, 2);
    council_found(party_open(3, NULL), TABLE + 1);
    council_tell(&parties[0].council, 4);
    wait_without(5, 1);
    council_tell(&parties[0].council, 4);
    wait_without(30, 1);
    assert_true(parties[0].expelled);
    assert_false(parties[3].expelled);
}

/* ---- random divisions ---- */

#ifdef __SANITIZE_THREAD__ /* twenty times as slow, and there is only one thread */
enum { SEEDS = 300 };
#else
enum { SEEDS = 3000 };
#endif
enum { LAST = 7, STEPS = 400 };

static void divide(void)
{
    unsigned parts = 2 + (unsigned)rng_below(&rng, 2);
    for (unsigned i = 0; i < CROWD; i++)
        part[i] = (unsigned)rng_below(&rng, parts);
}

/* The division is not transitive: two parts do not reach each other, but both reach a third one. */
static void cut_pair(void)
{
    unsigned i = (unsigned)rng_below(&rng, CROWD), other = (unsigned)rng_below(&rng, CROWD);
    is_down[i][other] = is_down[other][i] = i != other && chance(2);
}

static void storm_step(void)
{
    unsigned i = (unsigned)rng_below(&rng, LAST);
    if (chance(60))
        divide();
    if (seed % 2 && chance(5))
        cut_pair();
    if (chance(60))
        heal();
    if (chance(100) && crowd[i].alive)
        crowd[i].alive = false;
    if (chance(10) && !crowd[i].used)
        one_join(i);
    if (chance(100) && crowd[i].alive && crowd[i].council.phase == COUNCIL_MEMBER)
        council_leave(&crowd[i].council);
    if (chance(4))
        tick_all();
    one_close(i);
    notice(i, (unsigned)rng_below(&rng, CROWD));
    meetings_hold(i);
    for (unsigned turn = (unsigned)rng_below(&rng, 4); turn > 0; turn--)
        flight_land();
}

/* Each view follows the one before: members that are not new were in that one, in the same row. Two
 * parts that went on separately would break this. */
static void views_follow(void)
{
    const struct view *before = NULL;
    for (unsigned epoch = 1; epoch < EPOCHS; epoch++) {
        const struct view *view = &by_epoch[epoch];
        for (uint32_t row = 0; row < view->row_count; row++)
            if (view->rows[row].id && view->rows[row].since < epoch &&
                (!before || before->rows[row].nonce != view->rows[row].nonce))
                fail_msg("seed %llu: epoch %u does not follow epoch %llu", (unsigned long long)seed,
                         epoch, before ? (unsigned long long)before->epoch : 0);
        if (view->epoch)
            before = view;
    }
}

static void run(uint64_t number)
{
    crowd_found(number);
    for (unsigned step = 0; step < STEPS; step++)
        storm_step();
    calm(100);
    /* Programs give up joining; some never close an expelled table. Members that remain let a
     * process join. */
    for (unsigned i = 0; i < LAST; i++)
        crowd[i].alive &= crowd[i].council.phase != COUNCIL_JOINING;
    calm(50);
    one_join(LAST);
    calm(100);
    views_follow();
    const struct view *last = NULL;
    for (unsigned i = 0; i < CROWD; i++) {
        const struct one *one = &crowd[i];
        if (!one->alive || one->expelled || !council_is_member(&one->council))
            continue;
        if (!council_is_member(&crowd[LAST].council))
            fail_msg("seed %llu: the members let no process join", (unsigned long long)seed);
        if (last && !view_equal(last, &one->view))
            fail_msg("seed %llu: the members are still divided", (unsigned long long)seed);
        last = &one->view;
    }
    flights_drop();
}

static void random_divisions_leave_one_part(void **state)
{
    const char *one = getenv("WEFT_SEED"), *many = getenv("WEFT_SEEDS");
    uint64_t first = one ? strtoull(one, NULL, 0) : 1;
    uint64_t last = one ? first : many ? strtoull(many, NULL, 0) : SEEDS;
    for (uint64_t number = first; number <= last; number++)
        run(number);
}

/* Five members: the eldest cannot reach the last three, but it reaches the second, which reaches
 * all. The program of the eldest does not close the table. */
static void an_outvoted_leader_does_not_block_the_majority(void **state)
{
    crowd_begin(0, 5);
    crowd[0].stays = true;
    for (unsigned i = 2; i < 5; i++)
        is_cut[0][i] = is_cut[i][0] = true;
    calm(60);
    assert_true(crowd[0].expelled);
    for (unsigned i = 1; i < 5; i++) {
        assert_false(crowd[i].expelled);
        assert_int_equal(crowd[i].view.rows[0].id, 0);
    }
    one_join(5);
    calm(20);
    assert_true(council_is_member(&crowd[5].council));
    flights_drop();
}

TEST_MAIN(TEST(a_minority_is_expelled_and_the_majority_goes_on),
          TEST(of_two_members_only_the_eldest_goes_on),
          TEST(a_table_whose_other_members_have_ended_goes_on),
          TEST(a_member_that_has_ended_may_have_gone_on_with_the_silent_one),
          TEST(a_part_without_a_majority_lets_no_process_join),
          TEST(an_excluded_member_is_told_when_it_asks),
          TEST(of_two_parts_that_went_on_by_mistake_one_remains),
          TEST(the_table_that_was_founded_first_remains),
          TEST(a_table_without_a_majority_does_not_end_another),
          TEST(an_outvoted_leader_does_not_block_the_majority),
          TEST(random_divisions_leave_one_part))
