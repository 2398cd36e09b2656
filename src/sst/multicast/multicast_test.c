/* The calls of a multicast: members of one process, each in its own context, stepped by hand. */
#include <weft/sst_multicast.h>

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "ripc/scene/scene.h"

#define SLOT_SIZE  16
#define SLOT_COUNT 8
#define TABLE_ID   5

/* The messages that a member delivered, and what its callbacks do. */
struct member {
    struct ripc *ripc;
    struct sst_multicast *multicast;
    char heard[256];
    unsigned batches;
    uint32_t view; /* number of members of the last view */
    int answer;    /* 1: try to send from inside a callback; then the result */
};

static void hear(struct sst_multicast *multicast, const struct sst_multicast_message *messages,
                 unsigned count, void *argument)
{
    struct member *member = argument;
    size_t length = strlen(member->heard);
    for (unsigned i = 0; i < count; i++) {
        assert_true(messages[i].size <= SLOT_SIZE);
        assert_int_equal(sst_member(sst_multicast_table(multicast), messages[i].row),
                         messages[i].member);
        memcpy(member->heard + length, messages[i].data, messages[i].size);
        length += messages[i].size;
    }
    member->heard[length] = 0;
    member->batches++;
    if (member->answer == 1) {
        member->answer = 2;
        assert_int_equal(sst_multicast_send(multicast, "!", 1, RIPC_NOW), 0);
        for (int i = 0; i < SLOT_COUNT && member->answer == 2; i++) {
            int result = sst_multicast_send(multicast, "?", 1, scene_deadline());
            member->answer = result ? result : 2;
        }
        assert_int_equal(sst_multicast_close(multicast, scene_deadline()), -EDEADLK);
    }
}

static void see(struct sst_multicast *multicast, const struct sst_multicast_view *view,
                void *argument)
{
    struct member *member = argument;
    assert_int_equal(view->epoch, sst_epoch(sst_multicast_table(multicast)));
    member->view = view->row_count;
}

static int member_open(struct member *member, uint32_t wanted, uint32_t flags, int64_t deadline)
{
    struct sst_multicast_config config = {
        .table = TABLE_ID,
        .slot_size = SLOT_SIZE,
        .slot_count = SLOT_COUNT,
        .members_wanted = wanted,
        .rows_max = 8,
        .flags = flags,
        .deadline = deadline,
        .deliver = hear,
        .change = see,
        .argument = member,
    };
    member->ripc = scene_open(NULL);
    return sst_multicast_open(member->ripc, &config, &member->multicast);
}

static void member_close(struct member *member)
{
    assert_int_equal(sst_multicast_close(member->multicast, scene_deadline()), 0);
    scene_close(member->ripc);
}

/* Opens two members: the second has a thread, so that the first can wait for it. */
static void pair_open(struct member pair[2])
{
    memset(pair, 0, 2 * sizeof *pair);
    assert_int_equal(member_open(&pair[1], 1, 0, 0), 0);
    assert_int_equal(member_open(&pair[0], 2, SST_MANUAL, 0), 0);
}

static void pair_close(struct member pair[2])
{
    member_close(&pair[0]);
    member_close(&pair[1]);
}

static void heard_await(struct member *member, const char *text)
{
    for (int64_t deadline = scene_deadline();
         strcmp(member->heard, text) != 0 && ripc_now() < deadline;)
        sst_multicast_step(member->multicast, ripc_after(1000000));
    assert_string_equal(member->heard, text);
}

/* For a member with a thread, which writes `heard`: the test reads that after closing it. */
static void delivered_await(struct member *member, uint64_t count)
{
    struct sst_multicast_stats stats = {0};
    for (int64_t deadline = scene_deadline(); stats.delivered < count && ripc_now() < deadline;) {
        sched_yield();
        assert_int_equal(sst_multicast_stats(member->multicast, &stats), 0);
    }
    assert_int_equal(stats.delivered, count);
}

static void a_single_member_receives_its_own_messages(void **state)
{
    struct member member = {0};
    assert_int_equal(member_open(&member, 1, SST_MANUAL, 0), 0);
    assert_int_equal(member.view, 1);
    for (int i = 0; i < 3 * SLOT_COUNT; i++)
        assert_int_equal(sst_multicast_send(member.multicast, "ab", i % 3, scene_deadline()), 0);
    heard_await(&member, "aabaabaabaabaabaabaabaab");
    struct sst_multicast_stats stats;
    assert_int_equal(sst_multicast_stats(member.multicast, &stats), 0);
    assert_int_equal(stats.sent, 3 * SLOT_COUNT);
    assert_int_equal(stats.delivered, 3 * SLOT_COUNT);
    assert_int_equal(stats.nulls, 0);
    assert_true(stats.waits > 0);
    member_close(&member);
}

static uint64_t bytes_put(const struct member *member)
{
    struct sst_stats stats;
    assert_int_equal(sst_stats(sst_multicast_table(member->multicast), &stats), 0);
    return stats.put_bytes;
}

/* A put contains only that slot, not the whole ring. */
static void a_put_of_a_message_contains_only_its_slot(void **state)
{
    struct member member = {0};
    assert_int_equal(member_open(&member, 1, SST_MANUAL, 0), 0);
    for (unsigned i = 0; i < 3 * SLOT_COUNT; i++) {
        uint64_t before = bytes_put(&member);
        assert_int_equal(sst_multicast_send(member.multicast, "a", 1, RIPC_NOW), 0);
        assert_true(bytes_put(&member) - before < 3 * SLOT_SIZE);
        while (strlen(member.heard) <= i)
            sst_multicast_step(member.multicast, RIPC_NOW);
    }
    member_close(&member);
}

static void too_large_messages_are_refused(void **state)
{
    struct member member = {0};
    char text[SLOT_SIZE + 1] = {0};
    assert_int_equal(member_open(&member, 1, SST_MANUAL, 0), 0);
    struct iovec two[] = {{text, 1}, {text, sizeof text}};
    assert_int_equal(sst_multicast_send(member.multicast, text, sizeof text, RIPC_NOW), -EMSGSIZE);
    assert_int_equal(sst_multicast_send_many(member.multicast, two, 2, RIPC_NOW), -EMSGSIZE);
    assert_int_equal(sst_multicast_send_many(member.multicast, two, 0, RIPC_NOW), 0);
    assert_int_equal(sst_multicast_send(member.multicast, text, SLOT_SIZE, RIPC_NOW), 0);
    member_close(&member);
}

static void without_a_free_slot_a_send_waits(void **state)
{
    struct member member = {0};
    struct iovec messages[3 * SLOT_COUNT];
    for (unsigned i = 0; i < 3 * SLOT_COUNT; i++)
        messages[i] = (struct iovec){"x", 1};
    assert_int_equal(member_open(&member, 1, SST_MANUAL, 0), 0);
    /* No thread steps: nothing is received, not even by this member. */
    assert_int_equal(sst_multicast_send_many(member.multicast, messages, 3 * SLOT_COUNT, RIPC_NOW),
                     SLOT_COUNT);
    assert_int_equal(sst_multicast_send(member.multicast, "x", 1, RIPC_NOW), -EAGAIN);
    assert_int_equal(
        sst_multicast_send_many(member.multicast, messages, 3 * SLOT_COUNT, scene_deadline()),
        3 * SLOT_COUNT);
    struct sst_multicast_stats stats;
    assert_int_equal(sst_multicast_stats(member.multicast, &stats), 0);
    assert_true(stats.sent_batches <= 5);
    member_close(&member);
    assert_int_equal(strlen(member.heard), 4 * SLOT_COUNT);
}

static void a_member_that_does_not_receive_blocks_senders(void **state)
{
    struct member pair[2];
    memset(pair, 0, sizeof pair);
    assert_int_equal(member_open(&pair[1], 1, 0, 0), 0);
    assert_int_equal(member_open(&pair[0], 2, SST_MANUAL, 0), 0);
    int result, sent = 0;
    while ((result = sst_multicast_send(pair[1].multicast, "y", 1, ripc_after(50000000))) == 0 &&
           sent < 1000)
        sent++;
    assert_int_equal(result, -ETIMEDOUT);
    assert_int_equal(sent, SLOT_COUNT);
    heard_await(&pair[0], "yyyyyyyy");
    assert_int_equal(sst_multicast_send(pair[1].multicast, "z", 1, RIPC_NOW), 0);
    heard_await(&pair[0], "yyyyyyyyz");
    pair_close(pair);
}

static void a_silent_member_passes_its_turns(void **state)
{
    struct member pair[2];
    struct sst_multicast_stats stats;
    pair_open(pair);
    for (int i = 0; i < 12; i++)
        assert_int_equal(sst_multicast_send(pair[0].multicast, "n", 1, scene_deadline()), 0);
    heard_await(&pair[0], "nnnnnnnnnnnn");
    assert_int_equal(sst_multicast_stats(pair[1].multicast, &stats), 0);
    assert_true(stats.nulls > 0);
    assert_int_equal(stats.sent, 0);
    assert_true(stats.nulls <= 12);
    delivered_await(&pair[1], 12);
    pair_close(pair);
    assert_string_equal(pair[1].heard, "nnnnnnnnnnnn");
}

static void a_callback_can_send_but_not_wait(void **state)
{
    struct member member = {.answer = 1};
    assert_int_equal(member_open(&member, 1, SST_MANUAL, 0), 0);
    assert_int_equal(sst_multicast_send(member.multicast, "a", 1, RIPC_NOW), 0);
    heard_await(&member, "a!???????");
    assert_int_equal(member.answer, -EDEADLK);
    member_close(&member);
}

static void a_member_that_leaves_blocks_no_sender(void **state)
{
    struct member pair[2];
    pair_open(pair);
    assert_int_equal(sst_multicast_send(pair[1].multicast, "1", 1, RIPC_NOW), 0);
    heard_await(&pair[0], "1");
    member_close(&pair[0]);
    assert_int_equal(sst_multicast_send(pair[1].multicast, "2", 1, scene_deadline()), 0);
    for (int i = 0; i < 100; i++)
        assert_int_equal(sst_multicast_send(pair[1].multicast, "", 0, scene_deadline()), 0);
    assert_int_equal(sst_live_count(sst_multicast_table(pair[1].multicast)), 1);
    member_close(&pair[1]);
    assert_string_equal(pair[1].heard, "12");
    assert_int_equal(pair[1].view, 1);
}

static void invalid_configurations_are_refused(void **state)
{
    struct ripc *ripc = scene_open(NULL);
    struct sst_multicast *multicast;
    char reason[RIPC_REASON_MAX] = "";
    struct sst_multicast_config config = {.table = 1, .reason = reason};
    assert_int_equal(sst_multicast_open(ripc, &config, &multicast), -EINVAL);
    assert_string_equal(reason, "multicast: no callback is set for deliver");
    config.deliver = hear;
    config.slot_count = SST_SLOT_COUNT_MAX + 1;
    assert_int_equal(sst_multicast_open(ripc, &config, &multicast), -EINVAL);
    config.slot_count = SST_SLOT_COUNT_MAX;
    config.slot_size = SST_SLOT_SIZE_MAX;
    assert_int_equal(sst_multicast_open(ripc, &config, &multicast), -EINVAL);
    assert_string_equal(reason, "multicast: the slots are too large or too many");
    config.slot_count = config.slot_size = 0;
    config.ring_count = (1u << 24) + 1;
    assert_int_equal(sst_multicast_open(ripc, &config, &multicast), -EINVAL);
    assert_string_equal(reason, "multicast: ring_count is too large");
    config.ring_count = 1u << 24;
    config.slot_count = SST_SLOT_COUNT_MAX;
    config.slot_size = (1u << 13) - 8; /* with its head exactly the limit */
    config.flags = 0x80;
    assert_int_equal(sst_multicast_open(ripc, &config, &multicast), -EINVAL);
    assert_string_equal(reason, "multicast: unknown flags");
    config.slot_count = config.slot_size = config.ring_count = config.flags = 0;
    config.table = 0;
    assert_int_equal(sst_multicast_open(ripc, &config, &multicast), -EINVAL);
    config.table = 1;
    config.members_wanted = 2;
    config.deadline = ripc_after(30000000);
    assert_int_equal(sst_multicast_open(ripc, &config, &multicast), -ETIMEDOUT);
    scene_close(ripc);
}

TEST_MAIN(SCENE(a_single_member_receives_its_own_messages),
          SCENE(a_put_of_a_message_contains_only_its_slot), SCENE(too_large_messages_are_refused),
          SCENE(without_a_free_slot_a_send_waits),
          SCENE(a_member_that_does_not_receive_blocks_senders),
          SCENE(a_silent_member_passes_its_turns), SCENE(a_callback_can_send_but_not_wait),
          SCENE(a_member_that_leaves_blocks_no_sender), SCENE(invalid_configurations_are_refused))
