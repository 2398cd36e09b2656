/* Leaders that lose each other one after the other. A process that cannot be reached may have
 * installed a view, and the next leaders must take that into account; and the others must not wait
 * for an outvoted member whose program does not close the table. Every case delivers its messages
 * one by one; the crowd fails if two parts of the members go on. */
#include "sst/council/council_crowd.h"

static void land_all(enum council_kind kind, unsigned from, unsigned first, unsigned last)
{
    for (unsigned to = first; to <= last; to++)
        crowd_land(kind, from, to);
}

static void land_answers(enum council_kind kind, unsigned first, unsigned last, unsigned to)
{
    for (unsigned from = first; from <= last; from++)
        crowd_land(kind, from, to);
}

/* Delivers these messages if they were sent. */
static void try_all(enum council_kind kind, unsigned from, unsigned first, unsigned last)
{
    for (unsigned to = first; to <= last; to++)
        crowd_try(kind, from, to);
}

static void try_answers(enum council_kind kind, unsigned first, unsigned last, unsigned to)
{
    for (unsigned from = first; from <= last; from++)
        crowd_try(kind, from, to);
}

static void join_at(unsigned first, unsigned last, unsigned leader)
{
    for (unsigned i = first; i <= last; i++) {
        one_join(i);
        crowd_land(COUNCIL_JOIN, i, leader);
    }
}

/* The processes of the first range and those of the second cannot reach each other, and notice it.
 * The eldest notices it last, so that it takes over when the others have noticed it, too. */
static void divide_ranges(unsigned first, unsigned last, unsigned other_first, unsigned other_last)
{
    for (unsigned i = last + 1; i-- > first;)
        for (unsigned j = other_last + 1; j-- > other_first;) {
            is_down[i][j] = is_down[j][i] = true;
            crowd_silence(i, j);
            crowd_silence(j, i);
        }
}

/* Both parts run for a while; then they reach each other. If both went on, the crowd fails. */
static void go_on(void)
{
    for (unsigned tick = 0; tick < 40; tick++) {
        tick_all();
        flights_land();
    }
    calm(40);
    flights_drop();
}

static unsigned count_members(void)
{
    unsigned count = 0;
    for (unsigned i = 0; i < CROWD; i++)
        count += crowd[i].alive && !crowd[i].expelled && council_is_member(&crowd[i].council);
    return count;
}

/* Members 0 to 4. Member 0 proposes a view and is lost. Member 1 proposes a view with the newcomers
 * 5 to 7, installs it, and is lost to 2, 3 and 4 before the others receive its COMMIT. Member 2
 * proposes a view with all that it reaches, and then loses the newcomers: these install the view of
 * member 1, and they are a majority of it, together with 1. So 2, 3 and 4 must not go on, though
 * they are a majority of the view before: they know two views that may have been installed. */
static void a_second_view_in_doubt_is_not_forgotten(void **state)
{
    crowd_begin(1, 5);
    council_leave(&crowd[0].council);
    land_all(COUNCIL_PREPARE, 0, 1, 4);
    flights_drop();
    divide_ranges(0, 0, 2, 4);
    divide_ranges(0, 0, 1, 1);
    join_at(5, 7, 1);
    land_all(COUNCIL_ASK, 1, 2, 4);
    land_answers(COUNCIL_STATE, 2, 4, 1);
    land_all(COUNCIL_PREPARE, 1, 2, 7);
    land_answers(COUNCIL_READY, 2, 7, 1);
    uint64_t epoch = crowd[1].view.epoch;
    assert_int_equal(epoch, 7); /* it has installed its view */
    divide_ranges(1, 1, 3, 4);
    divide_ranges(1, 1, 2, 2);
    land_all(COUNCIL_ASK, 2, 3, 7);
    land_answers(COUNCIL_STATE, 3, 7, 2);
    land_all(COUNCIL_PREPARE, 2, 3, 4);
    divide_ranges(2, 4, 5, 7);
    go_on();
    assert_true(crowd[1].view.epoch > epoch);
    assert_int_equal(count_members(), 4);
    assert_false(crowd[1].expelled);
}

/* Members 0 to 4. Member 1 says that it leaves, and is lost to 0. Member 0 proposes a view without
 * it and with the newcomers 5 to 7. Member 1, which does not know this view, has lost 0 and leads
 * the others until it has left. Member 0 installs its view: it and the newcomers are a majority of
 * it, and 2, 3 and 4 are a majority of the view before. */
static void a_silent_member_that_leaves_leads_no_other_part(void **state)
{
    crowd_begin(1, 5);
    join_at(5, 7, 0);
    council_leave(&crowd[1].council);
    crowd_land(COUNCIL_LEAVE, 1, 0);
    flights_drop();
    divide_ranges(0, 0, 1, 1);
    land_all(COUNCIL_PREPARE, 0, 2, 7);
    try_all(COUNCIL_ASK, 1, 2, 4);
    land_answers(COUNCIL_READY, 2, 7, 0);
    assert_int_equal(crowd[0].view.epoch, 6);
    land_all(COUNCIL_COMMIT, 0, 5, 7);
    try_answers(COUNCIL_STATE, 2, 4, 1);
    try_all(COUNCIL_PREPARE, 1, 2, 4);
    try_answers(COUNCIL_READY, 2, 4, 1);
    try_all(COUNCIL_COMMIT, 1, 2, 4);
    divide_ranges(0, 0, 2, 4);
    divide_ranges(2, 4, 5, 7);
    go_on();
    assert_int_equal(count_members(), 4);
    assert_false(crowd[0].expelled);
}

/* Members 0 to 3. Member 0 leaves: it proposes a view, installs it, and ends. Member 1 notices that
 * before the COMMIT of 0 arrives, and proposes another view, for which 3 is ready. Member 2 has
 * lost 1, asks 3, and is lost to 3, too. Member 1 may have installed its view, so 3 does not
 * install that of 0. */
static void a_late_commit_does_not_count_for_a_member_that_is_ready_for_another(void **state)
{
    crowd_begin(1, 4);
    council_leave(&crowd[0].council);
    land_all(COUNCIL_PREPARE, 0, 1, 3);
    land_answers(COUNCIL_READY, 1, 3, 0);
    assert_true(crowd[0].left);
    council_failed(&crowd[1].council, 1, 100);
    land_all(COUNCIL_ASK, 1, 2, 3);
    land_answers(COUNCIL_STATE, 2, 3, 1);
    land_all(COUNCIL_PREPARE, 1, 2, 3);
    crowd_silence(2, 1);
    crowd_land(COUNCIL_ASK, 2, 3);
    crowd_silence(3, 2);
    crowd_land(COUNCIL_COMMIT, 0, 3);
    assert_int_equal(crowd[3].view.epoch, 4);
    land_answers(COUNCIL_READY, 2, 3, 1);
    crowd_land(COUNCIL_COMMIT, 1, 3);
    assert_int_equal(crowd[3].view.epoch, 6);
    go_on();
}

/* Time passes for one process; its messages are lost. */
static void wait_alone(unsigned i, unsigned ticks)
{
    for (unsigned tick = 0; tick < ticks; tick++) {
        present += COUNCIL_RETRY_NSEC;
        council_tick(&crowd[i].council, present);
        flights_drop();
    }
}

static void become_outvoted(unsigned i)
{
    crowd[i].stays = true; /* its program does not close the table */
    wait_alone(i, 20);
    assert_true(crowd[i].expelled);
}

static void assert_joins(unsigned i)
{
    one_join(i);
    calm(30);
    assert_true(council_is_member(&crowd[i].council));
    flights_drop();
}

/* Members 0 and 1 let in 2. Member 1 loses 0 before it receives the COMMIT, and asks 2, which has
 * promised to follow it when it is outvoted. */
static void a_newcomer_hears_that_an_outvoted_leader_leaves(void **state)
{
    crowd_begin(1, 2);
    join_at(2, 2, 0);
    land_all(COUNCIL_PREPARE, 0, 1, 2);
    land_answers(COUNCIL_READY, 1, 2, 0);
    crowd_land(COUNCIL_COMMIT, 0, 2);
    flights_drop();
    crowd_silence(1, 0);
    crowd_land(COUNCIL_ASK, 1, 2);
    flights_drop();
    become_outvoted(1);
    calm(60);
    assert_false(crowd[0].expelled || crowd[2].expelled);
    assert_joins(3);
}

/* Member 0 has lost 2 and proposes a view without it; 1 prepares this view. Then 1 and 2 lose 0. So
 * 1 takes 2 for dead, is outvoted, and does not answer 2, which therefore has no majority. */
static void a_member_that_is_taken_for_dead_does_not_wait(void **state)
{
    crowd_begin(1, 3);
    crowd_silence(0, 2);
    crowd_land(COUNCIL_PREPARE, 0, 1);
    flights_drop();
    crowd[0].stays = crowd[1].stays = true;
    crowd_silence(1, 0);
    crowd_silence(2, 0);
    calm(150);
    assert_true(crowd[0].expelled && crowd[1].expelled);
    assert_true(crowd[2].expelled);
}

/* The same with a newcomer: 3 is a member of a view that 1 and 2 have only prepared, and takes 1
 * for dead. Members 1 and 2 are a majority of their view, but not of the one with the newcomer. */
static void a_member_that_a_newcomer_takes_for_dead_does_not_wait(void **state)
{
    crowd_begin(1, 3);
    join_at(3, 3, 0);
    land_all(COUNCIL_PREPARE, 0, 1, 3);
    land_answers(COUNCIL_READY, 1, 3, 0);
    crowd_land(COUNCIL_COMMIT, 0, 3);
    crowd_silence(0, 1);
    crowd_land(COUNCIL_PREPARE, 0, 3);
    flights_drop();
    crowd[0].stays = crowd[3].stays = true;
    for (unsigned i = 3; i > 0; i--)
        crowd_silence(i, 0);
    calm(150);
    assert_true(crowd[0].expelled && crowd[3].expelled);
    assert_true(crowd[1].expelled && crowd[2].expelled);
}

/* Member 1 leaves. Member 2 has lost 0, has passed 1 over, and asks it; then it loses 3 and 4, and
 * is outvoted. Member 1 has promised to follow 2, but must follow 0 again. */
static void a_promise_to_an_outvoted_leader_ends(void **state)
{
    crowd_begin(1, 5);
    council_leave(&crowd[1].council);
    flights_drop();
    council_say(&crowd[1].council, 3, &(struct council_message){.kind = COUNCIL_LEAVE});
    crowd_land(COUNCIL_LEAVE, 1, 2);
    crowd_silence(2, 0);
    wait_alone(2, 25);
    present += COUNCIL_RETRY_NSEC;
    council_tick(&crowd[2].council, present);
    crowd_land(COUNCIL_ASK, 2, 1);
    divide_ranges(2, 2, 3, 4);
    become_outvoted(2);
    calm(60);
    assert_true(crowd[1].left);
    assert_false(crowd[0].expelled || crowd[3].expelled || crowd[4].expelled);
    assert_joins(5);
}

/* Member 0 lets in 2, loses 1, leaves, and installs a view of 2 alone. Member 1 had prepared a view
 * with 2 and asks it. The new view has no member of that of 1, but it counts. */
static void a_newcomer_may_be_all_that_remains(void **state)
{
    crowd_begin(1, 2);
    join_at(2, 2, 0);
    land_all(COUNCIL_PREPARE, 0, 1, 2);
    flights_drop();
    council_leave(&crowd[0].council);
    crowd_silence(0, 1);
    crowd_land(COUNCIL_PREPARE, 0, 2);
    crowd_land(COUNCIL_READY, 2, 0);
    crowd_land(COUNCIL_COMMIT, 0, 2);
    assert_int_equal(crowd[2].view.epoch, 3);
    flights_drop();
    council_failed(&crowd[1].council, 1, 100);
    calm(30);
    assert_true(crowd[1].expelled);
    assert_false(crowd[2].expelled);
}

/* Members 0 to 4. Member 1 has lost 0, and proposes a view with the newcomer 5; then it loses the
 * others, which follow 0. The newcomer does not wait for 1. */
static void a_newcomer_leaves_the_proposal_of_an_outvoted_leader(void **state)
{
    crowd_begin(1, 5);
    crowd_silence(1, 0);
    join_at(5, 5, 1);
    land_all(COUNCIL_ASK, 1, 2, 4);
    land_answers(COUNCIL_STATE, 2, 4, 1);
    crowd_land(COUNCIL_PREPARE, 1, 5);
    flights_drop();
    divide_ranges(1, 1, 2, 4);
    become_outvoted(1);
    calm(60);
    assert_true(council_is_member(&crowd[5].council));
    assert_false(crowd[0].expelled || crowd[5].expelled);
    flights_drop();
}

/* Member 0 proposes a view with the newcomer 3. Member 1 has lost 0, asks 3, loses 2, and is
 * outvoted. */
static void a_newcomer_follows_no_outvoted_leader(void **state)
{
    crowd_begin(1, 3);
    join_at(3, 3, 0);
    land_all(COUNCIL_PREPARE, 0, 1, 3);
    flights_drop();
    crowd_silence(1, 0);
    crowd_land(COUNCIL_ASK, 1, 3);
    divide_ranges(1, 1, 2, 2);
    become_outvoted(1);
    calm(60);
    assert_true(council_is_member(&crowd[3].council));
    assert_false(crowd[0].expelled || crowd[3].expelled);
    flights_drop();
}

TEST_MAIN(TEST(a_second_view_in_doubt_is_not_forgotten),
          TEST(a_silent_member_that_leaves_leads_no_other_part),
          TEST(a_late_commit_does_not_count_for_a_member_that_is_ready_for_another),
          TEST(a_newcomer_hears_that_an_outvoted_leader_leaves),
          TEST(a_member_that_is_taken_for_dead_does_not_wait),
          TEST(a_member_that_a_newcomer_takes_for_dead_does_not_wait),
          TEST(a_promise_to_an_outvoted_leader_ends), TEST(a_newcomer_may_be_all_that_remains),
          TEST(a_newcomer_leaves_the_proposal_of_an_outvoted_leader),
          TEST(a_newcomer_follows_no_outvoted_leader))
