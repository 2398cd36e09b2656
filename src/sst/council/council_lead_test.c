/* Checks which messages a leader sends, to which processes, and when. */
#include "sst/council/council_scene.h"

/* A process that asks again under the same id while its first request is proposed is not taken
 * twice. */
static void a_proposed_joiner_stays_proposed(void **state)
{
    begin(1);
    struct council_config config = parties[0].council.config;
    config.id = 2;
    config.nonce = 101;
    council_join(party_open(1, &config));
    struct post join = post_keep(COUNCIL_JOIN, 1, 0);
    post_deliver(&join);
    assert_int_equal(parties[0].council.lead, LEAD_PROPOSES);
    config.nonce = 301; /* the process was restarted */
    council_join(party_open(1, &config));
    join = post_keep(COUNCIL_JOIN, 1, 0);
    post_deliver(&join);
    assert_int_equal(parties[0].council.joiner_count, 1);
    assert_int_equal(parties[0].council.joiners[0].nonce, 101);
}

static void a_question_is_repeated_only_to_members_without_answer(void **state)
{
    begin(3);
    council_leave(&parties[2].council);
    struct post leave = post_keep(COUNCIL_LEAVE, 2, 0);
    post_deliver(&leave);
    settle_without(2); /* the second gets ready; the third does not receive the PREPARE */
    council_tick(&parties[0].council, 1);
    council_tick(&parties[0].council, 1 + COUNCIL_RETRY_NSEC);
    assert_int_equal(post_count, 1);
    assert_int_equal(posts[0].to, 2);
    assert_int_equal(post_kind(&posts[0]), COUNCIL_PREPARE);
}

static void only_the_leader_answers_a_ready(void **state)
{
    begin(3);
    struct council_message ready = {
        .kind = COUNCIL_READY, .table = TABLE, .sender = 102, .ballot = {.since = 1}, .epoch = 3};
    uint8_t bytes[COUNCIL_WIRE_MAX];
    council_receive(&parties[1].council, 3, bytes, council_write(&ready, bytes));
    assert_int_equal(post_count, 0);
    council_receive(&parties[0].council, 3, bytes, council_write(&ready, bytes));
    assert_int_equal(post_count, 1); /* the third missed the view */
}

/* There is no view without members, so the leader sends the others a LEFT instead. */
static void the_last_two_members_leave_together(void **state)
{
    begin(3);
    council_leave(&parties[1].council);
    council_leave(&parties[2].council);
    post_count = 0; /* the leader dies before it receives the LEAVE messages */
    council_failed(&parties[2].council, 1, 100);
    council_tick(&parties[2].council, 1);
    council_tick(&parties[2].council, 1 + COUNCIL_RETRY_NSEC);
    settle();
    assert_false(parties[2].left);
    council_failed(&parties[1].council, 1, 100);
    settle_without(0);
    assert_true(parties[1].left && parties[2].left);
    assert_int_equal(parties[2].view.epoch, 3); /* there was no later view */
}

/* A leaving member ends when it receives the COMMIT, and by then the others must expect its end. */
static void leaving_members_receive_the_commit_last(void **state)
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

/* Sends the leader a message from that member. Returns the kind of the answer, or 0. */
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

static void a_member_that_missed_a_message_gets_it_again(void **state)
{
    begin(2);
    struct view before = parties[0].view;
    council_join(party_open(2, NULL));
    settle();
    struct council_message says = {.kind = COUNCIL_STATE, .view = before};
    assert_int_equal(answer_to(1, &says), COUNCIL_COMMIT); /* the member missed the view */
    says.view = parties[0].view;
    assert_int_equal(answer_to(1, &says), 0);
    says.epoch = 3;
    assert_int_equal(answer_to(1, &says), 0);
    says.epoch = 4; /* the member prepared a view that will not be installed */
    assert_int_equal(answer_to(1, &says), COUNCIL_CANCEL);
    council_leave(&parties[2].council);
    struct post leave = post_keep(COUNCIL_LEAVE, 2, 0);
    post_deliver(&leave);
    assert_int_equal(answer_to(1, &says),
                     0); /* a proposal is pending, so that view may still be installed */
}

static void answers_with_another_ballot_do_not_count(void **state)
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

static void a_new_leader_sends_its_view_to_members_without_it(void **state)
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

static void a_report_about_oneself_or_two_members_is_ignored(void **state)
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
    assert_int_equal(answer_to(1, &says), 0); /* two members cannot blame each other either */
    assert_int_equal(council->strange, before + 2);
}

/* If a leaving member dies after its READY for a view without itself, no new proposal is needed. */
static void a_leaving_member_may_die_after_its_answer(void **state)
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

/* The next leader does not wait for a process that was refused. */
static void a_new_leader_does_not_ask_refused_processes(void **state)
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

/* Parties 2 and 3 are proposed together, in rows 1 and 2. */
static struct council *two_join_at_once(void)
{
    begin(1);
    struct council *council = &parties[0].council;
    council->config.rows_max = 4;
    for (unsigned i = 1; i < 4; i++) { /* two ask to join while the first is proposed */
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

/* The row stays the same, so that the meetings of live processes remain valid. */
static void a_joiner_that_is_proposed_again_keeps_its_row(void **state)
{
    struct council *council = two_join_at_once();
    council_failed(council, 3, 102);
    assert_int_equal(council->proposal.rows[1].nonce, 0);
    assert_int_equal(council->proposal.rows[2].nonce, 103);
}

static void of_two_members_with_the_same_age_the_lower_row_leads(void **state)
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

TEST_MAIN(TEST(a_proposed_joiner_stays_proposed),
          TEST(a_question_is_repeated_only_to_members_without_answer),
          TEST(only_the_leader_answers_a_ready), TEST(the_last_two_members_leave_together),
          TEST(leaving_members_receive_the_commit_last),
          TEST(a_member_that_missed_a_message_gets_it_again),
          TEST(answers_with_another_ballot_do_not_count),
          TEST(a_new_leader_sends_its_view_to_members_without_it),
          TEST(a_report_about_oneself_or_two_members_is_ignored),
          TEST(a_leaving_member_may_die_after_its_answer),
          TEST(a_new_leader_does_not_ask_refused_processes),
          TEST(a_joiner_that_is_proposed_again_keeps_its_row),
          TEST(of_two_members_with_the_same_age_the_lower_row_leads))
