#include "sst/council/council_scene.h"

static void a_founder_is_alone_in_row_0(void **state)
{
    begin(1);
    const struct view *view = &parties[0].view;
    assert_int_equal(view->table, TABLE);
    assert_int_equal(view->epoch, 1);
    assert_int_equal(view->row_count, 1);
    assert_int_equal(view->rows[0].id, 1);
    assert_int_equal(view->rows[0].since, 1);
    assert_int_equal(council_tick(&parties[0].council, 5), NSEC_NEVER);
}

static void a_joiner_gets_the_first_free_row_once_all_have_met(void **state)
{
    begin(3);
    for (unsigned i = 0; i < 3; i++) {
        same_view(0, i);
        assert_int_equal(parties[0].view.rows[i].id, i + 1);
        assert_int_equal(parties[0].view.rows[i].since, i + 1);
        assert_int_equal(council_tick(&parties[i].council, 5), NSEC_NEVER);
    }
    assert_int_equal(parties[0].view.epoch, 3);
    assert_true(parties[2].met[0] && parties[2].met[1] && parties[1].met[2]);
}

static void several_processes_join_at_once(void **state)
{
    begin(1); /* the third asks to join while the proposal with the second is pending */
    council_join(party_open(1, NULL));
    council_join(party_open(2, NULL));
    settle();
    same_view(0, 1);
    same_view(0, 2);
    council_leave(&parties[1].council);
    council_leave(&parties[2].council);
    settle();
    assert_true(parties[1].left && parties[2].left);
    assert_int_equal(parties[0].view.row_count, 1);
}

static void refuse(const struct council_config *config, int status, const char *text)
{
    council_join(party_open(3, config));
    settle();
    assert_int_equal(parties[3].refused, status);
    assert_non_null(strstr(parties[3].reason, text));
    assert_int_equal(parties[3].council.phase, COUNCIL_UNJOINED);
}

static void a_joiner_with_another_configuration_is_refused_with_a_reason(void **state)
{
    struct council_config config = {
        .hash = HASH, .design = SST_READS, .rows_max = 3, .drop = true, .id = 4, .nonce = 200};
    begin(1);
    config.design = SST_WRITES;
    refuse(&config, -EPROTO, "design is SST_READS, not SST_WRITES");
    config.design = SST_READS;
    config.rows_max = 7;
    refuse(&config, -EPROTO, "rows_max is 3, not 7");
    config.rows_max = 3;
    config.drop = false;
    refuse(&config, -EPROTO, "with SST_DROP");
    config.drop = true;
    config.hash++;
    refuse(&config, -EPROTO, "have another layout");
    begin(3);
    refuse(NULL, -ENOSPC, "all 3 rows are taken");
    assert_int_equal(parties[0].council.refused, 1);
    assert_int_equal(parties[0].installs, 3);
    begin(1); /* earlier requests come first */
    council_join(party_open(1, NULL));
    council_join(party_open(2, NULL));
    refuse(NULL, -ENOSPC, "all 3 rows are taken");
    same_view(0, 1);
    same_view(0, 2);
}

static void the_id_of_a_live_member_is_refused(void **state)
{
    begin(2);
    struct council_config config = parties[1].council.config;
    struct council_message join = {.kind = COUNCIL_JOIN,
                                   .sender = 300,
                                   .id = 2,
                                   .hash = HASH,
                                   .design = SST_READS,
                                   .rows_max = 3,
                                   .drop = true};
    uint8_t bytes[COUNCIL_WIRE_MAX];
    council_receive(&parties[0].council, 2, bytes, council_write(&join, bytes));
    assert_int_equal(parties[0].council.refused, 1);
    assert_int_equal(post_count, 1);
    struct council_message answer;
    assert_int_equal(council_read(&answer, posts[0].bytes, posts[0].size), 0);
    assert_int_equal(answer.status, -EADDRINUSE);
    post_count = 0;
    /* Once the old process is known to be dead its id is free; its old row is empty for one
     * view. */
    council_failed(&parties[0].council, 2, config.nonce);
    settle_without(1);
    config.nonce = 300;
    council_join(party_open(1, &config));
    settle();
    same_view(0, 1);
    assert_int_equal(parties[1].view.rows[1].nonce, 300);
    assert_int_equal(parties[1].view.epoch, 4);
}

static void a_row_is_empty_for_a_view_before_it_gets_another_member(void **state)
{
    begin(3);
    council_leave(&parties[1].council);
    council_join(party_open(3, NULL));
    settle(); /* only the leaver's row will become free, so the joining process waits for it */
    assert_true(parties[1].left);
    same_view(0, 2);
    same_view(0, 3);
    assert_int_equal(parties[3].view.epoch, 5);
    assert_int_equal(parties[3].view.rows[1].id, 4);
}

static void a_leader_leaves_and_the_next_eldest_leads(void **state)
{
    begin(2);
    council_leave(&parties[0].council);
    settle();
    assert_true(parties[0].left);
    assert_int_equal(parties[1].view.epoch, 3);
    assert_int_equal(parties[1].view.rows[0].id, 0);
    parties[0].council.ops = NULL;
    council_join(party_open(2, NULL));
    settle();
    same_view(1, 2);
    assert_int_equal(parties[2].view.rows[0].id, 3);
    council_leave(&parties[1].council);
    settle();
    council_leave(&parties[2].council); /* the last member */
    assert_true(parties[1].left && parties[2].left);
}

/* The leader dies after it sent the COMMIT to one of two. */
static void a_view_that_one_process_installed_is_installed_by_all(void **state)
{
    begin(2);
    council_join(party_open(2, NULL));
    until_committed();
    assert_int_equal(post_count, 2);
    assert_int_equal(posts[1].to, 2);
    posts[0] = posts[1]; /* the newcomer receives the COMMIT, the other member does not */
    post_count = 1;
    settle();
    assert_int_equal(parties[1].view.epoch, 2);
    council_failed(&parties[1].council, 1, 100);
    council_failed(&parties[2].council, 1, 100);
    settle_without(0);
    same_view(1, 2);
    assert_int_equal(parties[1].installs,
                     3); /* of epochs 2 and 3, then the view without the dead leader */
    assert_int_equal(parties[1].view.epoch, 4);
    assert_int_equal(parties[1].view.rows[2].since, 3);
}

/* The leader dies before any process has installed the view: the next leader lets the newcomer
 * in. */
static void a_view_that_was_not_installed_is_proposed_again_without_the_dead(void **state)
{
    begin(2);
    council_join(party_open(2, NULL));
    settle_without(1); /* party 1 receives nothing, so it does not answer READY */
    assert_int_equal(parties[2].view.epoch, 0);
    council_failed(&parties[1].council, 1, 100);
    council_failed(&parties[2].council, 1, 100);
    for (int64_t now = 1; now < 4 * COUNCIL_RETRY_NSEC; now += COUNCIL_RETRY_NSEC) {
        council_tick(&parties[2].council, now); /* it asks to join again */
        settle_without(0);
    }
    same_view(1, 2);
    assert_int_equal(parties[1].view.row_count, 2);
    assert_int_equal(parties[1].view.rows[0].id,
                     3); /* the dead leader's row, which was empty for one view */
    assert_int_equal(parties[1].view.rows[1].id, 2);
}

/* A view that only dead processes installed: no live process can know, so its epoch is skipped. */
static void an_epoch_that_may_have_been_installed_is_not_reused(void **state)
{
    begin(2);
    council_join(party_open(2, NULL));
    until_committed();
    post_count = 0; /* the leader dies before it sends a COMMIT, and the newcomer dies, too */
    council_failed(&parties[1].council, 3, 102);
    council_failed(&parties[1].council, 1, 100);
    assert_int_equal(parties[1].installs, 2);
    assert_int_equal(parties[1].view.epoch, 4);
    assert_int_equal(parties[1].view.row_count, 2);
}

/* A member that is ready for a view without itself cannot lead when the leader dies: the others may
 * be ahead. */
static void a_leaving_member_ends_when_its_leader_dies(void **state)
{
    begin(3);
    council_leave(&parties[1].council);
    settle_without(2); /* the third does not get ready, so no view is installed */
    assert_true(parties[1].council.prepared_is);
    council_failed(&parties[1].council, 1, 100);
    assert_true(parties[1].left);
    assert_int_equal(post_count,
                     1); /* a LEAVE for the third, which then does not take it for a death */
    council_receive(&parties[2].council, 2, posts[0].bytes, posts[0].size);
    council_failed(&parties[2].council, 1, 100);
    council_failed(&parties[2].council, 2, 101);
    assert_int_equal(parties[2].view.rows[0].id | parties[2].view.rows[1].id, 0);
    assert_int_equal(parties[2].view.left[0], 2);
}

/* The last messages of a dead leader arrive after a younger leader has sent its ASK: first a CANCEL
 * that could revoke the promise, then a COMMIT of a view that the live processes have given up. */
static void a_promise_never_goes_back_to_an_older_leader(void **state)
{
    struct council_config config = {
        .hash = HASH, .design = SST_READS, .rows_max = 4, .drop = true, .id = 1, .nonce = 100};
    begin(1);
    council_found(party_open(0, &config), TABLE);
    for (unsigned i = 1; i < 3; i++) {
        config.id = i + 1;
        config.nonce = 100 + i;
        council_join(party_open(i, &config));
        if (i == 1)
            settle();
    }
    until_committed();
    post_count = 0; /* the COMMIT that lets the third in reaches no process */

    config.id = 4;
    config.nonce = 103;
    council_join(party_open(3, &config));
    struct post join = post_keep(COUNCIL_JOIN, 3, 0);
    post_deliver(&join);
    council_failed(&parties[0].council, 4, 103); /* the fourth is not let in after all */
    struct post cancel = post_keep(COUNCIL_CANCEL, 0, 2);
    council_tick(&parties[2].council, 1);
    council_tick(&parties[2].council, 1 + COUNCIL_RETRY_NSEC);
    struct post ready = post_keep(COUNCIL_READY, 2, 0);
    post_deliver(&ready);
    struct post commit = post_keep(COUNCIL_COMMIT, 0, 2);

    council_failed(&parties[1].council, 1,
                   100); /* the leader dies; the third does not know that yet */
    struct post ask = post_keep(COUNCIL_ASK, 1, 2);
    post_deliver(&ask);
    struct post answer = post_keep(COUNCIL_STATE, 2, 1);
    post_deliver(&answer);
    struct post prepare = post_keep(COUNCIL_PREPARE, 1, 2);
    struct ballot promised = parties[2].council.promised;
    post_deliver(&cancel);
    assert_memory_equal(&parties[2].council.promised, &promised, sizeof promised);
    post_deliver(&commit);
    assert_int_equal(parties[2].view.epoch, 0);

    post_deliver(&prepare);
    council_failed(&parties[2].council, 1, 100);
    settle_without(0);
    same_view(1, 2);
    assert_int_equal(parties[1].view.epoch, 4);
    assert_int_equal(parties[1].view.rows[0].id, 0);
}

static void strange(struct council *council, ripc_id from, struct council_message *message)
{
    uint8_t bytes[COUNCIL_WIRE_MAX];
    uint64_t before = council->strange;
    struct view view = council->installed;
    unsigned posts_before = post_count;
    council_receive(council, from, bytes, council_write(message, bytes));
    assert_int_equal(council->strange, before + 1);
    assert_memory_equal(&view, &council->installed, sizeof view);
    assert_int_equal(post_count, posts_before);
    assert_false(council->prepared_is);
}

/* Party 1 joins a table of one member. `prepare` is the founder's proposal, which gives it row
 * 2. */
static struct council *joining(struct council_message *prepare)
{
    begin(1);
    struct council *council = party_open(1, NULL);
    council_join(council);
    post_count = 0;
    *prepare = (struct council_message){.kind = COUNCIL_PREPARE,
                                        .table = TABLE,
                                        .sender = 100,
                                        .ballot = {.since = 1, .round = 1},
                                        .base = 1,
                                        .view = parties[0].view};
    prepare->view.epoch = 2;
    prepare->view.row_count = 3;
    prepare->view.rows[2] = (struct view_member){2, 101, 2};
    return council;
}

static void a_new_row_needs_a_new_meeting(void **state)
{
    struct council_message prepare;
    struct council *council = joining(&prepare);
    uint8_t bytes[COUNCIL_WIRE_MAX];
    council_receive(council, 1, bytes, council_write(&prepare, bytes));
    assert_int_equal(council_row(council), 2);
    council_met(council, 0, 100, 0);
    assert_true(council->ready);
    prepare.ballot.round = 2; /* a new proposal with the same row: the meeting remains valid */
    council_receive(council, 1, bytes, council_write(&prepare, bytes));
    assert_true(council->ready);
    assert_int_equal(parties[1].parts, 0);
    prepare.ballot.round = 3;
    prepare.view.rows[1] = prepare.view.rows[2];
    prepare.view.rows[2] = (struct view_member){0};
    prepare.view.row_count = 2;
    council_receive(council, 1, bytes, council_write(&prepare, bytes));
    assert_int_equal(parties[1].parts, 1);
    assert_int_equal(parties[1].meets[0], 100);
    assert_false(council->ready);
}

/* The new view has no member in row 1, and has a member in a later row. */
static void meetings_with_processes_outside_the_new_view_end(void **state)
{
    struct council_message message;
    struct council *council = joining(&message);
    message.view.rows[1] = (struct view_member){3, 102, 2};
    uint8_t bytes[COUNCIL_WIRE_MAX];
    council_receive(council, 1, bytes, council_write(&message, bytes));
    assert_int_equal(parties[1].meets[1], 102);
    council_met(council, 0, 100, 0);
    message.kind = COUNCIL_COMMIT;
    message.ballot.round = 2;
    message.view.rows[1] = (struct view_member){0};
    council_receive(council, 1, bytes, council_write(&message, bytes));
    assert_int_equal(parties[1].installs, 1);
    assert_int_equal(parties[1].parts, 1);
    assert_int_equal(council->promised.round, 2);
    assert_int_equal(council->promised_to, 100);
}

/* A younger leader sends an ASK, or a PREPARE, and dies. Returns how many views are installed when
 * the COMMIT of the elder leader arrives then. */
static unsigned installs_after(bool proposes)
{
    struct council_message message;
    struct council *council = joining(&message);
    message.view.rows[1] = (struct view_member){3, 102, 2};
    struct council_message commit = message, younger = message;
    uint8_t bytes[COUNCIL_WIRE_MAX];
    council_receive(council, 1, bytes, council_write(&message, bytes));
    council_met(council, 0, 100, 0);
    council_met(council, 1, 102, 0);
    younger.kind = proposes ? COUNCIL_PREPARE : COUNCIL_ASK;
    younger.sender = 102;
    younger.ballot = (struct ballot){.since = 2, .row = 1, .round = 1};
    council_receive(council, 3, bytes, council_write(&younger, bytes));
    assert_int_equal(council->promised_to, 102);
    council_failed(council, 3, 102);
    commit.kind = COUNCIL_COMMIT;
    council_receive(council, 1, bytes, council_write(&commit, bytes));
    return parties[1].installs;
}

static void a_promise_to_a_dead_leader_counts_only_if_it_proposed_a_view(void **state)
{
    assert_int_equal(installs_after(false), 1);
    assert_int_equal(installs_after(true), 0);
}

static void only_the_first_outcome_of_the_current_meeting_counts(void **state)
{
    uint8_t bytes[COUNCIL_WIRE_MAX];
    struct council_message message;
    struct council *council = joining(&message);
    council_receive(council, 1, bytes, council_write(&message, bytes));
    council_met(council, 0, 555, 0); /* about a process that was to have the row before */
    assert_false(council->ready);
    council_met(council, 0, 100, 0);
    assert_true(council->ready);
    council_met(council, 0, 100, -ETIMEDOUT);
    assert_int_equal(council->meetings[0].status, 0);
}

static void a_process_that_gives_up_joining_ends_all_meetings(void **state)
{
    uint8_t bytes[COUNCIL_WIRE_MAX];
    struct council_message message;
    struct council *council = joining(&message);
    council_receive(council, 1, bytes, council_write(&message, bytes));
    assert_int_equal(parties[1].meets[0], 100);
    council_leave(council);
    assert_int_equal(council->phase, COUNCIL_UNJOINED);
    assert_int_equal(parties[1].parts, 1);
}

/* A CANCEL has no effect if it is not newer than the proposal, or if its sender no longer leads. */
static void a_late_cancel_has_no_effect(void **state)
{
    uint8_t bytes[COUNCIL_WIRE_MAX];
    struct council_message message;
    struct council *council = joining(&message);
    message.view.rows[1] = (struct view_member){3, 102, 2};
    council_receive(council, 1, bytes, council_write(&message, bytes));
    struct council_message cancel = {.kind = COUNCIL_CANCEL,
                                     .table = TABLE,
                                     .sender = 100,
                                     .ballot = message.ballot,
                                     .epoch = 1};
    council_receive(council, 1, bytes, council_write(&cancel, bytes));
    assert_true(council->prepared_is);
    struct council_message ask = {.kind = COUNCIL_ASK,
                                  .table = TABLE,
                                  .sender = 102,
                                  .ballot = {.since = 2, .row = 1, .round = 1}};
    council_receive(council, 3, bytes, council_write(&ask, bytes));
    cancel.ballot.round++;
    council_receive(council, 1, bytes, council_write(&cancel, bytes));
    assert_true(council->prepared_is);
    cancel.sender = 102;
    cancel.ballot = ask.ballot;
    cancel.ballot.round++;
    council_receive(council, 3, bytes, council_write(&cancel, bytes));
    assert_false(council->prepared_is);
}

/* It changes to another table only if the leader that was to let it in is there, too. */
static void a_joiner_stays_with_the_table_that_accepted_it(void **state)
{
    uint8_t bytes[COUNCIL_WIRE_MAX];
    struct council_message message, other;
    struct council *council = joining(&message);
    council_receive(council, 1, bytes, council_write(&message, bytes));
    other = message;
    other.table = TABLE + 1;
    other.sender = 200;
    other.view.rows[0] = (struct view_member){9, 200, 1};
    council_receive(council, 9, bytes, council_write(&other, bytes));
    assert_int_equal(council->table, TABLE);
    other.view.rows[1] = (struct view_member){1, 100, 1};
    council_receive(council, 9, bytes, council_write(&other, bytes));
    assert_int_equal(council->table, TABLE + 1);
    assert_int_equal(parties[1].meets[0], 200);
    assert_int_equal(parties[1].meets[1], 100);
}

/* Sends a message from an unknown process with id 4 to a member. Returns the kind of the answer, or
 * 0 if there is none. */
static unsigned answer_to_stranger(struct council_message *message)
{
    uint8_t bytes[COUNCIL_WIRE_MAX];
    post_count = 0;
    message->table = TABLE;
    message->sender = 999;
    council_receive(&parties[1].council, 4, bytes, council_write(message, bytes));
    assert_true(post_count <= 1);
    assert_true(post_count == 0 || posts[0].to == 3);
    return post_count ? post_kind(&posts[0]) : 0;
}

static void a_non_member_is_told_the_current_state(void **state)
{
    static const enum council_kind kinds[] = {COUNCIL_ASK, COUNCIL_READY, COUNCIL_STATE};
    begin(2);
    for (unsigned i = 0; i < 3; i++) {
        struct council_message message = {.kind = kinds[i]};
        assert_int_equal(answer_to_stranger(&message), COUNCIL_COMMIT);
    }
    struct council_message leave = {.kind = COUNCIL_LEAVE}, cancel = {.kind = COUNCIL_CANCEL};
    assert_int_equal(answer_to_stranger(&leave), COUNCIL_LEFT);
    assert_int_equal(answer_to_stranger(&cancel), 0);
    struct council_message left = {.kind = COUNCIL_LEFT, .to = 101};
    answer_to_stranger(&left);
    assert_false(parties[1].left); /* it did not want to leave */
    council_leave(&parties[1].council);
    left.to = 100;
    answer_to_stranger(&left);
    assert_false(parties[1].left);
    left.to = 101;
    answer_to_stranger(&left);
    assert_true(parties[1].left);
}

static void a_view_without_a_member_from_any_sender_expels_it(void **state)
{
    begin(2);
    struct council_message commit = {.kind = COUNCIL_COMMIT, .view = parties[1].view};
    commit.view.epoch = 3;
    commit.view.rows[1] = (struct view_member){4, 999, 3};
    answer_to_stranger(&commit);
    assert_true(parties[1].expelled);
}

static void a_refusal_affects_only_the_joining_process(void **state)
{
    uint8_t bytes[COUNCIL_WIRE_MAX];
    struct council_message message;
    struct council *council = joining(&message);
    struct council_message refused = {
        .kind = COUNCIL_REFUSED, .table = TABLE, .sender = 100, .to = 555, .status = -ENOSPC};
    council_receive(council, 1, bytes, council_write(&refused, bytes));
    assert_int_equal(council->phase, COUNCIL_JOINING);
    begin(2);
    refused.to = 101;
    council_receive(&parties[1].council, 1, bytes, council_write(&refused, bytes));
    assert_int_equal(parties[1].council.phase, COUNCIL_MEMBER);
    assert_int_equal(parties[1].refused, 0);
}

static void a_leaving_member_stays_when_a_follower_dies(void **state)
{
    for (unsigned prepared = 0; prepared < 2; prepared++) {
        begin(3);
        council_leave(&parties[1].council);
        if (prepared)
            settle_without(2);
        post_count = 0;
        assert_int_equal(parties[1].council.prepared_is, prepared);
        council_failed(&parties[1].council, 3, 102);
        assert_false(parties[1].left);
    }
}

/* Sends the leader a LEAVE, with `more` extra bytes; returns whether the leader accepted it. */
static bool leader_believes(uint64_t sender, ripc_id from, size_t more)
{
    uint8_t bytes[COUNCIL_WIRE_MAX] = {0};
    struct council_message leave = {.kind = COUNCIL_LEAVE, .table = TABLE, .sender = sender};
    begin(2);
    council_receive(&parties[0].council, from, bytes, council_write(&leave, bytes) + more);
    return parties[0].council.lead != LEAD_RESTS;
}

static void only_complete_messages_of_live_members_count(void **state)
{
    assert_true(leader_believes(101, 2, 0));
    assert_false(leader_believes(101, 2, 1)); /* the message has trailing bytes */
    assert_false(leader_believes(100, 1, 0)); /* the leader's own message, sent back to it */
    struct council_message message;
    uint8_t bytes[COUNCIL_WIRE_MAX];
    struct council *council = joining(&message);
    council_leave(council); /* a process that is not joining ignores all messages */
    council_receive(council, 1, bytes, council_write(&message, bytes));
    assert_int_equal(council->strange, 0);
    begin(3);
    council = &parties[0].council;
    council_failed(council, 3, 102);
    struct ballot ballot = council->ballot;
    struct council_message ready = {
        .kind = COUNCIL_READY, .table = TABLE, .sender = 102, .ballot = ballot, .epoch = 3};
    post_count = 0;
    council_receive(council, 3, bytes,
                    council_write(&ready, bytes)); /* messages of dead processes are ignored */
    assert_int_equal(post_count, 0);
}

static void a_death_counts_once_and_never_our_own(void **state)
{
    begin(3);
    struct council *council = &parties[1].council;
    council_failed(council, 2, 101);
    assert_int_equal(council->dead_count, 0);
    council_failed(council, 3, 102);
    council_failed(council, 3, 102);
    assert_int_equal(council->dead_count, 1);
}

static void nothing_is_repeated_before_the_retry_time(void **state)
{
    begin(1);
    struct council *council = party_open(1, NULL);
    council_join(council);
    post_count = 0;
    assert_int_equal(council_tick(council, 1), 1 + COUNCIL_RETRY_NSEC);
    assert_int_equal(council_tick(council, COUNCIL_RETRY_NSEC), 1 + COUNCIL_RETRY_NSEC);
    assert_int_equal(post_count, 0);
    council_tick(council, 1 + COUNCIL_RETRY_NSEC);
    assert_int_equal(post_count, 1);
}

/* A message whose epoch skips more than 2^20 is not from a leader. */
static void a_leap_of_the_epoch_is_limited(void **state)
{
    enum { LEAP_MAX = 1 << 20 };
    uint8_t bytes[COUNCIL_WIRE_MAX];
    struct council_message message;
    struct council *council = joining(&message);
    message.view.epoch = message.view.rows[2].since = message.base + LEAP_MAX + 1;
    strange(council, 1, &message);
    message.view.epoch = message.view.rows[2].since = message.base + LEAP_MAX;
    council_receive(council, 1, bytes, council_write(&message, bytes));
    assert_int_equal(council_row(council), 2);

    begin(2);
    message = (struct council_message){.kind = COUNCIL_COMMIT,
                                       .table = TABLE,
                                       .sender = 100,
                                       .ballot = {.since = 1, .round = 9},
                                       .view = parties[0].view};
    message.view.epoch = 2 + LEAP_MAX + 1;
    strange(&parties[1].council, 1, &message);
    message.view.epoch = 2 + LEAP_MAX;
    council_receive(&parties[1].council, 1, bytes, council_write(&message, bytes));
    assert_int_equal(parties[1].view.epoch, 2 + LEAP_MAX);
}

static void without_drop_the_dead_stay_until_the_next_join_or_leave(void **state)
{
    begin(1);
    for (unsigned i = 0; i < PARTIES; i++) {
        struct council_config config = {
            .hash = HASH, .design = SST_READS, .rows_max = 3, .id = i + 1, .nonce = 100 + i};
        struct council *council = party_open(i, &config);
        if (i == 0)
            council_found(council, TABLE);
        else if (i < 3)
            council_join(council);
        settle();
    }
    council_failed(&parties[1].council, 1, 100); /* the leader dies */
    council_failed(&parties[2].council, 1, 100);
    struct post ask = post_keep(COUNCIL_ASK, 1, 2);
    post_deliver(&ask);
    struct post answer = post_keep(COUNCIL_STATE, 2, 1);
    post_deliver(&answer); /* party 2 has the same view: no COMMIT is necessary */
    for (unsigned i = 0; i < post_count; i++)
        assert_int_not_equal(post_kind(&posts[i]), COUNCIL_COMMIT);
    settle_without(0);
    assert_int_equal(parties[1].view.epoch, 3);
    assert_int_equal(parties[1].council.lead, LEAD_RESTS);
    council_join(&parties[3].council); /* no other row is free for it */
    settle_without(0);
    same_view(1, 3);
    assert_int_equal(parties[3].view.rows[0].id, 4);
    assert_int_equal(parties[3].view.epoch, 5);
}

static void a_newcomer_that_dies_leaves_no_trace(void **state)
{
    begin(2);
    council_join(party_open(2, NULL));
    settle_without(1);
    settle_without(2);
    council_failed(&parties[0].council, 3, 102);
    council_failed(&parties[1].council, 3, 102);
    settle_without(2);
    assert_int_equal(parties[0].view.epoch, 2);
    assert_int_equal(parties[0].meets[2] + parties[1].meets[2], 0);
    assert_int_equal(council_tick(&parties[0].council, 5), NSEC_NEVER);
    assert_int_equal(council_tick(&parties[1].council, 5), NSEC_NEVER);
    council_join(party_open(3, NULL));
    settle();
    same_view(0, 3);
}

static void a_joiner_that_cannot_be_met_is_refused_and_the_others_go_on(void **state)
{
    begin(2);
    meetings_fail = true;
    council_join(party_open(2, NULL));
    settle();
    for (int64_t now = 1; !parties[2].refused && now < 10 * COUNCIL_RETRY_NSEC;
         now += COUNCIL_RETRY_NSEC / 2) {
        council_tick(&parties[0].council, now);
        council_tick(&parties[1].council, now);
        settle();
    }
    assert_int_equal(parties[2].refused, -ECONNREFUSED);
    assert_non_null(strstr(parties[2].reason, "could not meet"));
    assert_int_equal(parties[1].meets[2], 0);
    assert_int_equal(parties[1].view.epoch, 2);
    meetings_fail = false;
    council_join(party_open(3, NULL));
    settle();
    same_view(1, 3);
}

static void a_member_wrongly_taken_for_dead_is_expelled(void **state)
{
    begin(3);
    council_failed(&parties[0].council, 3, 102);
    settle();
    assert_true(parties[2].expelled);
    same_view(0, 1);
    assert_int_equal(parties[0].view.rows[2].id, 0);
}

static void messages_that_no_member_would_send_are_counted_and_ignored(void **state)
{
    begin(3);
    struct council *council = &parties[1].council;
    struct council_message commit = {.kind = COUNCIL_COMMIT,
                                     .table = TABLE + 1,
                                     .sender = 100,
                                     .ballot = {.since = 1, .round = 9},
                                     .view = parties[0].view};
    commit.view.epoch = 4;
    strange(council, 1, &commit); /* of another table */
    commit.table = TABLE;
    strange(council, 3, &commit); /* the id does not match the nonce */
    commit.view.epoch = 1ull << 40;
    strange(council, 1, &commit); /* far in the future */
    commit.view.epoch = 4;
    struct council_message prepare = commit;
    prepare.kind = COUNCIL_PREPARE;
    prepare.base = 3;
    prepare.ballot.row = 2;
    strange(council, 1, &prepare); /* with the ballot of another member */
    prepare.ballot.row = 0;
    prepare.ballot.since = 2;
    strange(council, 1, &prepare); /* its leader became a member in another epoch */
    prepare.ballot.since = 1;
    prepare.view.rows[2].nonce++;
    strange(council, 1, &prepare); /* a row gets another member at once */
    prepare.view = commit.view;
    prepare.view.rows[1] = (struct view_member){0};
    strange(council, 1, &prepare); /* without the receiver, which did not want to leave */
    prepare.view = commit.view;
    prepare.view.rows[8] = (struct view_member){9, 9, 4};
    prepare.view.row_count = 9;
    strange(council, 1, &prepare); /* more rows than rows_max */
    uint8_t bytes[COUNCIL_WIRE_MAX];
    commit.view.rows[3] = (struct view_member){4, 103, 4};
    commit.view.row_count = 4;
    strange(council, 1, &commit); /* again more rows than rows_max */
    council->config.rows_max = 4; /* with a member that the receiver has not met */
    council_receive(council, 1, bytes, council_write(&commit, bytes));
    assert_int_equal(council->installed.epoch, 3);
    uint64_t before = council->strange;
    council_receive(council, 1, (const uint8_t *)"hello", 5);
    assert_int_equal(council->strange, before + 1);
}

TEST_MAIN(TEST(a_founder_is_alone_in_row_0),
          TEST(a_joiner_gets_the_first_free_row_once_all_have_met),
          TEST(several_processes_join_at_once),
          TEST(a_joiner_with_another_configuration_is_refused_with_a_reason),
          TEST(the_id_of_a_live_member_is_refused),
          TEST(a_row_is_empty_for_a_view_before_it_gets_another_member),
          TEST(a_leader_leaves_and_the_next_eldest_leads),
          TEST(a_view_that_one_process_installed_is_installed_by_all),
          TEST(a_view_that_was_not_installed_is_proposed_again_without_the_dead),
          TEST(an_epoch_that_may_have_been_installed_is_not_reused),
          TEST(a_leaving_member_ends_when_its_leader_dies),
          TEST(a_promise_never_goes_back_to_an_older_leader), TEST(a_new_row_needs_a_new_meeting),
          TEST(meetings_with_processes_outside_the_new_view_end),
          TEST(a_promise_to_a_dead_leader_counts_only_if_it_proposed_a_view),
          TEST(only_the_first_outcome_of_the_current_meeting_counts),
          TEST(a_process_that_gives_up_joining_ends_all_meetings),
          TEST(a_late_cancel_has_no_effect), TEST(a_joiner_stays_with_the_table_that_accepted_it),
          TEST(a_non_member_is_told_the_current_state),
          TEST(a_view_without_a_member_from_any_sender_expels_it),
          TEST(a_refusal_affects_only_the_joining_process),
          TEST(a_leaving_member_stays_when_a_follower_dies),
          TEST(only_complete_messages_of_live_members_count),
          TEST(a_death_counts_once_and_never_our_own),
          TEST(nothing_is_repeated_before_the_retry_time), TEST(a_leap_of_the_epoch_is_limited),
          TEST(without_drop_the_dead_stay_until_the_next_join_or_leave),
          TEST(a_newcomer_that_dies_leaves_no_trace),
          TEST(a_joiner_that_cannot_be_met_is_refused_and_the_others_go_on),
          TEST(a_member_wrongly_taken_for_dead_is_expelled),
          TEST(messages_that_no_member_would_send_are_counted_and_ignored))
