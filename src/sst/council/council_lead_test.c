/* What the one who leads says to whom, and when. */
#include "sst/council/council_scene.h"

/* Who asks again under the same name while it is let in is not taken twice. */
static void one_that_is_proposed_stays_proposed(void **state)
{
    begin(1);
    struct council_config config = parties[0].council.config;
    config.id = 2;
    config.nonce = 101;
    council_join(party_open(1, &config));
    struct post join = post_keep(COUNCIL_JOIN, 1, 0);
    post_deliver(&join);
    assert_int_equal(parties[0].council.lead, LEAD_PROPOSES);
    config.nonce = 301; /* it was started anew */
    council_join(party_open(1, &config));
    join = post_keep(COUNCIL_JOIN, 1, 0);
    post_deliver(&join);
    assert_int_equal(parties[0].council.joiner_count, 1);
    assert_int_equal(parties[0].council.joiners[0].nonce, 101);
}

static void only_those_who_did_not_answer_are_asked_again(void **state)
{
    begin(3);
    council_leave(&parties[2].council);
    struct post leave = post_keep(COUNCIL_LEAVE, 2, 0);
    post_deliver(&leave);
    settle_without(2); /* the second is ready, the third does not hear it */
    council_tick(&parties[0].council, 1);
    council_tick(&parties[0].council, 1 + COUNCIL_RETRY_NSEC);
    assert_int_equal(post_count, 1);
    assert_int_equal(posts[0].to, 2);
    assert_int_equal(post_kind(&posts[0]), COUNCIL_PREPARE);
}

static void who_does_not_lead_answers_nobody_who_is_ready(void **state)
{
    begin(3);
    struct council_message ready = {
        .kind = COUNCIL_READY, .table = TABLE, .sender = 102, .ballot = {.since = 1}, .epoch = 3};
    uint8_t bytes[COUNCIL_WIRE_MAX];
    council_receive(&parties[1].council, 3, bytes, council_write(&ready, bytes));
    assert_int_equal(post_count, 0);
    council_receive(&parties[0].council, 3, bytes, council_write(&ready, bytes));
    assert_int_equal(post_count, 1); /* it missed the view */
}

/* There is no view without members: the one who leads tells the others that they are gone. */
static void the_last_two_leave_at_once(void **state)
{
    begin(3);
    council_leave(&parties[1].council);
    council_leave(&parties[2].council);
    post_count = 0; /* whoever led died before it heard that */
    council_failed(&parties[2].council, 1, 100);
    council_tick(&parties[2].council, 1);
    council_tick(&parties[2].council, 1 + COUNCIL_RETRY_NSEC);
    settle();
    assert_false(parties[2].left);
    council_failed(&parties[1].council, 1, 100);
    settle_without(0);
    assert_true(parties[1].left && parties[2].left);
    assert_int_equal(parties[2].view.epoch, 3); /* there was none after it */
}

/* For then they are gone, and that shall be no surprise. */
static void those_who_go_hear_of_the_view_last(void **state)
{
    begin(3);
    council_leave(&parties[1].council);
    struct post leave = post_keep(COUNCIL_LEAVE, 1, 0);
    post_deliver(&leave);
    assert_int_equal(post_count, 2);
    struct post prepares[2] = {posts[0], posts[1]};
    post_count = 0;
    post_deliver(&prepares[0]);
    post_deliver(&prepares[1]);
    assert_int_equal(post_count, 2);
    struct post readies[2] = {posts[0], posts[1]};
    post_count = 0;
    post_deliver(&readies[0]);
    post_deliver(&readies[1]);
    assert_int_equal(post_count, 2);
    assert_int_equal(post_kind(&posts[0]), COUNCIL_COMMIT);
    assert_int_equal(posts[0].to, 2);
    assert_int_equal(posts[1].to, 1);
}

/* What the leader says when that member tells what it has: the kind, or 0. */
static unsigned answer_to(unsigned from, struct council_message *message)
{
    uint8_t bytes[COUNCIL_WIRE_MAX];
    post_count = 0;
    message->table = TABLE;
    message->sender = 100 + from;
    council_receive(&parties[0].council, from + 1, bytes, council_write(message, bytes));
    assert_true(post_count <= 1);
    return post_count ? post_kind(&posts[0]) : 0;
}

static void who_missed_something_is_told_that(void **state)
{
    begin(2);
    struct view before = parties[0].view;
    council_join(party_open(2, NULL));
    settle();
    struct council_message says = {.kind = COUNCIL_STATE, .view = before};
    assert_int_equal(answer_to(1, &says), COUNCIL_COMMIT); /* it missed the view */
    says.view = parties[0].view;
    assert_int_equal(answer_to(1, &says), 0);
    says.epoch = 3;
    assert_int_equal(answer_to(1, &says), 0);
    says.epoch = 4; /* it prepared one that will not be */
    assert_int_equal(answer_to(1, &says), COUNCIL_CANCEL);
    council_leave(&parties[2].council);
    struct post leave = post_keep(COUNCIL_LEAVE, 2, 0);
    post_deliver(&leave);
    assert_int_equal(answer_to(1, &says), 0); /* it is out: it may be */
}

static void answers_to_another_question_do_not_count(void **state)
{
    begin(3);
    struct council *council = &parties[1].council;
    council_failed(council, 1, 100);
    assert_int_equal(council->promised_to, 101);
    struct post ask = post_keep(COUNCIL_ASK, 1, 2);
    struct council_message says = {.kind = COUNCIL_STATE,
                                   .table = TABLE,
                                   .sender = 102,
                                   .ballot = council->ballot,
                                   .view = parties[2].view};
    says.ballot.round++;
    uint8_t bytes[COUNCIL_WIRE_MAX];
    council_receive(council, 3, bytes, council_write(&says, bytes));
    assert_int_equal(council->lead, LEAD_ASKS);
    post_deliver(&ask);
    struct post answer = post_keep(COUNCIL_STATE, 2, 1);
    post_deliver(&answer);
    assert_int_equal(council->lead, LEAD_PROPOSES);
}

static void a_view_that_the_leader_has_is_told_to_who_has_it_not(void **state)
{
    begin(2);
    council_join(party_open(2, NULL));
    until_committed();
    struct post commit = post_keep(COUNCIL_COMMIT, 0, 1);
    post_deliver(&commit);
    assert_int_equal(parties[1].view.epoch, 3);
    assert_int_equal(parties[2].view.epoch, 0);
    council_failed(&parties[1].council, 1, 100);
    struct post ask = post_keep(COUNCIL_ASK, 1, 2);
    post_deliver(&ask);
    struct post answer = post_keep(COUNCIL_STATE, 2, 1);
    post_deliver(&answer);
    commit = post_keep(COUNCIL_COMMIT, 1, 2);
    post_deliver(&commit);
    assert_int_equal(parties[2].view.epoch, 3);
}

static void nobody_is_to_blame_for_not_meeting_itself(void **state)
{
    begin(2);
    council_join(party_open(2, NULL));
    struct post join = post_keep(COUNCIL_JOIN, 2, 0);
    post_deliver(&join);
    struct council *council = &parties[0].council;
    struct council_message says = {
        .kind = COUNCIL_UNREADY, .ballot = council->ballot, .row = 2, .status = -ETIMEDOUT};
    uint64_t before = council->strange;
    assert_int_equal(answer_to(2, &says), 0);
    assert_int_equal(council->strange, before + 1);
    assert_int_equal(council->joiner_count, 1);
    says.row = 0;
    assert_int_equal(answer_to(1, &says), 0); /* nor two members */
    assert_int_equal(council->strange, before + 2);
}

/* If it has said that it is ready for a view without it nothing has to be proposed anew. */
static void one_who_goes_may_die_when_it_has_answered(void **state)
{
    for (unsigned answered = 0; answered < 2; answered++) {
        begin(3);
        council_leave(&parties[1].council);
        struct post leave = post_keep(COUNCIL_LEAVE, 1, 0);
        post_deliver(&leave);
        if (answered)
            settle_without(2);
        struct ballot ballot = parties[0].council.ballot;
        council_failed(&parties[0].council, 2, 101);
        assert_int_equal(parties[0].council.lead, LEAD_PROPOSES);
        assert_int_equal(parties[0].council.ballot.round, ballot.round + !answered);
    }
}

/* Whoever leads next does not wait for one that was not let in. */
static void who_was_refused_is_not_asked(void **state)
{
    begin(2);
    meetings_fail = true;
    council_join(party_open(2, NULL));
    settle();
    for (int64_t now = 1; !parties[2].refused; now += COUNCIL_RETRY_NSEC) {
        assert_true(now < 20 * COUNCIL_RETRY_NSEC);
        council_tick(&parties[0].council, now);
        council_tick(&parties[1].council, now);
        settle();
    }
    council_failed(&parties[1].council, 1, 100);
    assert_int_equal(parties[1].council.lead, LEAD_RESTS);
    assert_int_equal(parties[1].view.rows[0].id, 0);
}

/* The last two of the parties are proposed together, in rows 1 and 2. */
static struct council *two_join_at_once(void)
{
    begin(1);
    struct council *council = &parties[0].council;
    council->config.rows_max = 4;
    for (unsigned i = 1; i < 4; i++) { /* two ask while the first is proposed */
        struct council_config config = council->config;
        config.id = i + 1;
        config.nonce = 100 + i;
        council_join(party_open(i, &config));
        struct post join = post_keep(COUNCIL_JOIN, i, 0);
        post_deliver(&join);
    }
    council_failed(council, 2, 101);
    assert_int_equal(council->proposal.rows[1].nonce, 102);
    assert_int_equal(council->proposal.rows[2].nonce, 103);
    return council;
}

/* So that the meetings of those who live hold. */
static void who_is_proposed_anew_keeps_its_row(void **state)
{
    struct council *council = two_join_at_once();
    council_failed(council, 3, 102);
    assert_int_equal(council->proposal.rows[1].nonce, 0);
    assert_int_equal(council->proposal.rows[2].nonce, 103);
}

static void of_two_that_joined_at_once_the_lower_row_leads(void **state)
{
    two_join_at_once();
    settle_without(1);
    same_view(2, 3);
    assert_int_equal(parties[2].view.rows[1].since, parties[2].view.rows[2].since);
    council_failed(&parties[3].council, 1, 100);
    assert_int_equal(parties[3].council.lead, LEAD_FOLLOWS);
    council_failed(&parties[2].council, 1, 100);
    assert_int_equal(parties[2].council.lead, LEAD_ASKS);
}

TEST_MAIN(TEST(one_that_is_proposed_stays_proposed),
          TEST(only_those_who_did_not_answer_are_asked_again),
          TEST(who_does_not_lead_answers_nobody_who_is_ready), TEST(the_last_two_leave_at_once),
          TEST(those_who_go_hear_of_the_view_last), TEST(who_missed_something_is_told_that),
          TEST(answers_to_another_question_do_not_count),
          TEST(a_view_that_the_leader_has_is_told_to_who_has_it_not),
          TEST(nobody_is_to_blame_for_not_meeting_itself),
          TEST(one_who_goes_may_die_when_it_has_answered), TEST(who_was_refused_is_not_asked),
          TEST(who_is_proposed_anew_keeps_its_row),
          TEST(of_two_that_joined_at_once_the_lower_row_leads))
