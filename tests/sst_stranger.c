/* A process that is not a member attacks a table: with grants that it guesses or steals, with
 * messages in the name of members, with garbage, and by asking to join and then staying silent.
 * Members try to access rows that are not theirs, and former members their old row. Every attempt
 * is refused and counted, and the members share their rows as before.
 *
 * The stranger knows everything: it is in our process and reads the members' memory. */
#include <errno.h>
#include <string.h>

#include <weft/sst.h>

#include "base/rng.h"
#include "ripc/core/service.h"
#include "ripc/scene/scene.h"
#include "sst/core/sst_impl.h"
#include "sst/council/council_wire.h"
#include "sst/members/members_impl.h"

#define TABLE   55
#define MEMBERS 3
#define GUESSES 300
#define GARBAGE 3000

struct row {
    uint64_t step;
    uint64_t words[20];
};

enum { STEP, BLOCK };

static const struct sst_column columns[] = {
    [STEP] = SST_COLUMN(struct row, step, SST_U64, 0),
    [BLOCK] = SST_COLUMN(struct row, words, SST_U64, 0),
};

/* Members 1, 2, 3, each with its own context, and a stranger with another one. */
static struct {
    struct ripc *contexts[MEMBERS], *outside;
    struct sst *tables[MEMBERS];
    struct ripc_service *stranger;
    uint64_t epoch;
} play;

static bool all_are_here(const struct sst *table, void *argument)
{
    return sst_live_count(table) == *(const uint32_t *)argument;
}

static void play_wait(struct sst *table, sst_holds *holds, void *argument)
{
    static const uint32_t names[] = {STEP, BLOCK};
    assert_int_equal(sst_wait(table, holds, argument, names, 2, scene_deadline()), 0);
}

static struct sst_config config_make(ripc_id member, enum sst_design design)
{
    return (struct sst_config){
        .table = TABLE,
        .columns = columns,
        .column_count = 2,
        .row_size = sizeof(struct row),
        .member = member,
        .design = design,
        .rows_max = MEMBERS + 1,
        .deadline = scene_deadline(),
    };
}

static void play_begin(enum sst_design design)
{
    uint32_t count = MEMBERS;
    for (uint32_t i = 0; i < MEMBERS; i++) {
        struct sst_config config = config_make(i + 1, design);
        play.contexts[i] = scene_open(NULL);
        assert_int_equal(sst_open(play.contexts[i], &config, &play.tables[i]), 0);
    }
    for (uint32_t i = 0; i < MEMBERS; i++)
        play_wait(play.tables[i], all_are_here, &count);
    play.outside = scene_open(NULL);
    play.stranger = scene_bind(play.outside, 0);
    play.epoch = sst_epoch(play.tables[0]);
}

static uint64_t strange_of(unsigned member)
{
    struct sst_stats stats;
    assert_int_equal(sst_stats(play.tables[member], &stats), 0);
    return stats.strange;
}

/* The group that a joining process asks. */
static ripc_id group(void)
{
    return play.tables[0]->members->group;
}

static bool steps_are(const struct sst *table, void *argument)
{
    uint64_t step = *(const uint64_t *)argument;
    return sst_minimum_u64(table, STEP) == step && sst_maximum_u64(table, STEP) == step;
}

/* Checks that the members and the epoch are unchanged, and that the members still share their
 * rows. */
static void play_check(uint64_t step)
{
    for (uint32_t i = 0; i < MEMBERS; i++) {
        assert_int_equal(sst_epoch(play.tables[i]), play.epoch);
        assert_int_equal(sst_live_count(play.tables[i]), MEMBERS);
        assert_int_equal(sst_set_u64(play.tables[i], STEP, step), 0);
    }
    for (uint32_t i = 0; i < MEMBERS; i++)
        play_wait(play.tables[i], steps_are, &step);
}

static void play_end(void)
{
    for (uint32_t i = 0; i < MEMBERS; i++)
        if (play.tables[i])
            assert_int_equal(sst_close(play.tables[i], scene_deadline()), 0);
    scene_close(play.outside);
    for (uint32_t i = 0; i < MEMBERS; i++)
        scene_close(play.contexts[i]);
}

/* The grants that one member gave to another when they met. */
static struct introduction introduction_of(unsigned from, unsigned to)
{
    struct sst *table = play.tables[from];
    detector_enter(table);
    struct introduction given = table->share.seats[sst_row_own(play.tables[to])].target.given;
    detector_leave(table);
    return given;
}

/* ---- rows ---- */

/* Asserts that the service can neither write nor read. */
static void refuse(struct ripc_service *service, const struct ripc_grant *grant)
{
    uint64_t words[8] = {0};
    assert_int_equal(ripc_write(service, grant, 0, words, sizeof words, scene_deadline()), -EACCES);
    assert_int_equal(ripc_read(service, grant, 0, words, sizeof words, scene_deadline()), -EACCES);
}

/* The context can use the grant until it learns that it is revoked: writes meanwhile go to memory
 * that no row uses any more. */
static void refuse_at_last(struct ripc_service *service, const struct ripc_grant *grant)
{
    uint64_t word = 0;
    int64_t deadline = scene_deadline();
    while (ripc_write(service, grant, 0, &word, sizeof word, deadline) == 0)
        assert_true(ripc_now() < deadline);
    refuse(service, grant);
}

static void a_guessed_grant_gives_no_access(void **state)
{
    struct rng rng = rng_make(1, 1);
    play_begin(SST_WRITES);
    struct ripc_grant real = introduction_of(0, 1).row;
    for (unsigned i = 0; i < GUESSES; i++) {
        struct ripc_grant guess = real;
        guess.key = i % 2 ? rng_next(&rng) : real.key + i / 2 + 1;
        refuse(play.stranger, &guess);
    }
    play_check(1);
    play_end();
}

static void the_grant_of_another_process_gives_no_access(void **state)
{
    for (int design = SST_WRITES; design <= SST_READS; design++) {
        play_begin((enum sst_design)design);
        struct ripc_service *second = members_service(play.tables[1]->members);
        struct ripc_service *third = members_service(play.tables[2]->members);
        struct introduction real = introduction_of(0, 1);
        uint64_t words[2] = {0};
        refuse(play.stranger, &real.row);
        refuse(play.stranger, &real.bell);
        refuse(third, &real.row); /* a member, but not the row's owner */
        refuse(third, &real.bell);
        /* The grant is real: its holder can use it, for its purpose. */
        assert_int_equal(ripc_read(second, &real.row, 0, words, 8, scene_deadline()),
                         design == SST_WRITES ? -EACCES : 0);
        int written = ripc_write(second, &real.row, offsetof(struct row_head, reserved), words, 8,
                                 scene_deadline());
        assert_int_equal(written, design == SST_WRITES ? 0 : -EACCES);
        assert_int_equal(ripc_write(second, &real.row, real.row.size, words, 8, scene_deadline()),
                         design == SST_WRITES ? -ERANGE : -EACCES);
        play_check(1);
        play_end();
    }
}

static void a_member_that_left_cannot_access_its_row(void **state)
{
    struct ripc_service *again;
    uint32_t left = MEMBERS - 1;
    play_begin(SST_WRITES);
    struct introduction old[] = {introduction_of(0, 2), introduction_of(1, 2)};
    assert_int_equal(sst_close(play.tables[2], scene_deadline()), 0);
    play.tables[2] = NULL;
    assert_int_equal(ripc_bind(play.contexts[2], 3, 0, &again), 0);
    for (unsigned i = 0; i < 2; i++)
        play_wait(play.tables[i], all_are_here, &left);
    for (unsigned i = 0; i < 2; i++) {
        refuse_at_last(again, &old[i].row);
        refuse_at_last(again, &old[i].bell);
    }
    play_end();
}

/* ---- messages ---- */

/* A message of that kind as the second member might send it. */
static struct council_message message_make(enum council_kind kind)
{
    detector_enter(play.tables[0]);
    struct view view = play.tables[0]->view;
    detector_leave(play.tables[0]);
    uint32_t first = sst_row_own(play.tables[0]), second = sst_row_own(play.tables[1]);
    struct council_message message = {
        .kind = kind,
        .table = view.table,
        .sender = view.rows[second].nonce,
        .to = view.rows[first].nonce,
        .ballot = {.since = view.epoch + 5, .row = second, .round = 9},
        .base = view.epoch,
        .epoch = view.epoch + 1,
        .row = second,
        .row_to = first,
        .status = -EPROTO,
        .hash = play.tables[0]->table.schema.hash,
        .rows_max = MEMBERS + 1,
        .id = 2,
        .encounter = 1,
        .incarnation = play.tables[1]->members->service->incarnation,
        .text = "no",
        .introduction = introduction_of(0, 1),
        .view = view,
    };
    message.view.epoch++; /* a view without the third member */
    message.view.rows[sst_row_own(play.tables[2])] = (struct view_member){0};
    if (sst_row_own(play.tables[2]) + 1 == view.row_count)
        message.view.row_count--;
    return message;
}

static void say(struct ripc_service *service, ripc_id to, const uint8_t *bytes, size_t size)
{
    assert_int_equal(ripc_send(service, to, bytes, size, scene_deadline()), 0);
}

static void strange_await(unsigned member, uint64_t count)
{
    int64_t deadline = scene_deadline();
    while (strange_of(member) < count) {
        if (ripc_now() > deadline)
            fail_msg("member %u counted %llu strange messages of %llu", member + 1,
                     (unsigned long long)strange_of(member), (unsigned long long)count);
        usleep(500);
    }
}

/* The senders are a stranger and the third member, in the name of the second. */
static void forged_messages_are_only_counted(void **state)
{
    uint8_t bytes[COUNCIL_WIRE_MAX];
    play_begin(SST_WRITES);
    struct ripc_service *third = members_service(play.tables[2]->members);
    uint64_t sent = 0;
    for (int kind = COUNCIL_REFUSED; kind <= COUNCIL_MEET; kind++) {
        struct council_message message = message_make((enum council_kind)kind);
        size_t size = council_write(&message, bytes);
        assert_int_equal(council_read(&message, bytes, size), 0); /* it is well-formed */
        say(play.stranger, 1, bytes, size);
        say(play.stranger, group(), bytes, size);
        say(third, 1, bytes, size);
        sent += kind == COUNCIL_REFUSED ? 0 : 3; /* a member ignores it */
    }
    strange_await(0, sent);
    play_check(2);
    play_end();
}

static void garbage_is_only_counted(void **state)
{
    uint8_t bytes[COUNCIL_WIRE_MAX];
    struct rng rng = rng_make(2, 2);
    play_begin(SST_WRITES);
    for (unsigned i = 0; i < GARBAGE; i++) {
        size_t size = rng_below(&rng, 300);
        if (i % 2) { /* a message that is nearly right */
            int kind = 1 + (int)rng_below(&rng, COUNCIL_MEET);
            struct council_message message = message_make((enum council_kind)kind);
            size = council_write(&message, bytes);
            for (unsigned flips = 1 + (unsigned)rng_below(&rng, 3); flips; flips--)
                bytes[rng_below(&rng, size)] ^= (uint8_t)(1 << rng_below(&rng, 8));
            size -= rng_below(&rng, 4) ? 0 : rng_below(&rng, size);
        } else {
            for (size_t j = 0; j < size; j++)
                bytes[j] = (uint8_t)rng_next(&rng);
        }
        say(play.stranger, i % 3 ? 1 + i % MEMBERS : group(), bytes, size);
    }
    strange_await(0, GARBAGE / 20);
    play_check(3);
    play_end();
}

/* ---- a joining process that stays silent ---- */

static void a_silent_joiner_does_not_block_others(void **state)
{
    uint8_t bytes[COUNCIL_WIRE_MAX];
    uint32_t count = MEMBERS;
    play_begin(SST_WRITES);
    assert_int_equal(sst_close(play.tables[2], scene_deadline()), 0);
    struct council_message join = {
        .kind = COUNCIL_JOIN,
        .sender = 0x5ead,
        .hash = play.tables[0]->table.schema.hash,
        .rows_max = MEMBERS + 1,
        .id = ripc_service_id(play.stranger),
    };
    say(play.stranger, group(), bytes, council_write(&join, bytes));
    struct ripc_message heard = scene_receive(play.stranger); /* the leader's proposal */
    ripc_release(&heard);
    struct sst_config config = config_make(3, SST_WRITES);
    assert_int_equal(sst_open(play.contexts[2], &config, &play.tables[2]), 0);
    play_wait(play.tables[0], all_are_here, &count);
    assert_true(sst_epoch(play.tables[0]) > play.epoch);
    play.epoch = sst_epoch(play.tables[2]);
    play_end();
}

TEST_MAIN(SCENE(a_guessed_grant_gives_no_access),
          SCENE(the_grant_of_another_process_gives_no_access),
          SCENE(a_member_that_left_cannot_access_its_row), SCENE(forged_messages_are_only_counted),
          SCENE(garbage_is_only_counted), SCENE(a_silent_joiner_does_not_block_others))
