/* Members over real contexts, each with its own thread. The meetings only record their calls. */
#include "sst/members/members.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/check.h"
#include "ripc/scene/scene.h"
#include "sst/council/council_wire.h"
#include "sst/members/members_impl.h"
#include "transport/clock.h"

enum { TABLE = 7, SEATS_MAX = 8 };

/* Records the calls of the meetings; represents the table of one member. */
struct sst {
    pthread_mutex_t lock; /* protects all fields: the member's thread writes, the test reads */
    struct view view;
    unsigned installs, expelled, parts;
    bool offered[SST_ROWS_MAX];
    bool accepted[SST_ROWS_MAX];
    bool failed[SST_ROWS_MAX];
    uint64_t keys[SST_ROWS_MAX]; /* from the introductions that were accepted */
    int accept_result;
    unsigned stale; /* so many accepts find that the peer has revoked its offer */
};

struct member {
    struct ripc *ripc;
    struct members *members;
    struct sst table;
    pthread_t thread;
    _Atomic bool stop;  /* set by the test to end the thread; relaxed, members_wake follows */
    _Atomic bool fails; /* the thread saw an unexpected error; relaxed, the thread is joined before
                           it is read */
    bool runs;
};

static struct schema schema = {.hash = 99};
static struct schema schema_other = {.hash = 98};

/* ---- the table's side; runs on any thread, so a failed assertion must end the program ---- */

static int table_offer(struct sst *table, uint32_t row, ripc_id member, struct introduction *out)
{
    pthread_mutex_lock(&table->lock);
    assert(!table->offered[row]);
    table->offered[row] = true;
    pthread_mutex_unlock(&table->lock);
    *out = (struct introduction){.row = {.owner = 1, .key = entropy_u64(), .size = row}};
    return 0;
}

static int table_accept(struct sst *table, uint32_t row, ripc_id member,
                        const struct introduction *from, int64_t deadline)
{
    pthread_mutex_lock(&table->lock);
    assert(table->offered[row]);
    int result = table->stale ? -EACCES : table->accept_result;
    table->stale -= table->stale > 0;
    table->accepted[row] = result == 0;
    table->keys[row] = from->row.key;
    pthread_mutex_unlock(&table->lock);
    return result;
}

static void table_part(struct sst *table, uint32_t row)
{
    pthread_mutex_lock(&table->lock);
    assert(table->offered[row]);
    table->offered[row] = table->accepted[row] = false;
    table->parts++;
    pthread_mutex_unlock(&table->lock);
}

static void table_install(struct sst *table, const struct view *view)
{
    pthread_mutex_lock(&table->lock);
    for (uint32_t row = 0; row < SST_ROWS_MAX; row++)
        if (row >= view->row_count || !view->rows[row].id)
            table->offered[row] = table->accepted[row] = table->failed[row] = false;
    table->view = *view;
    table->installs++;
    pthread_mutex_unlock(&table->lock);
}

static void table_fail(struct sst *table, uint32_t row)
{
    pthread_mutex_lock(&table->lock);
    assert(row < table->view.row_count && table->view.rows[row].id);
    assert(!table->failed[row]);
    table->failed[row] = true;
    pthread_mutex_unlock(&table->lock);
}

static void table_expelled(struct sst *table)
{
    pthread_mutex_lock(&table->lock);
    table->expelled++;
    pthread_mutex_unlock(&table->lock);
}

static const struct meeting_ops table_meetings = {
    .offer = table_offer,
    .accept = table_accept,
    .part = table_part,
    .install = table_install,
    .fail = table_fail,
    .expelled = table_expelled,
};

/* ---- members ---- */

static void *member_run(void *argument)
{
    struct member *member = argument;
    while (!atomic_load_explicit(&member->stop, memory_order_relaxed))
        if (members_step(member->members, RIPC_FOREVER) < 0)
            atomic_store_explicit(&member->fails, true, memory_order_relaxed);
    return NULL;
}

struct opening {
    ripc_id id;
    const struct schema *schema;
    enum sst_design design;
    uint32_t rows_max;
    uint32_t flags; /* of the context */
    bool keep;      /* do not drop dead members */
};

static void member_bind(struct member *member, const struct opening *opening)
{
    struct ripc_config context = {.flags = opening->flags};
    struct members_config config = {
        .table = &member->table,
        .meetings = &table_meetings,
        .schema = opening->schema ? opening->schema : &schema,
        .name = TABLE,
        .design = opening->design,
        .rows_max = opening->rows_max ? opening->rows_max : 4,
        .drop = !opening->keep,
    };
    memset(member, 0, sizeof *member);
    pthread_mutex_init(&member->table.lock, NULL);
    member->ripc = scene_open(&context);
    assert_int_equal(members_open(member->ripc, opening->id, &config, &member->members), 0);
}

static int member_open(struct member *member, const struct opening *opening, struct why *why)
{
    member_bind(member, opening);
    return members_join(member->members, scene_deadline(), why);
}

static void member_start(struct member *member)
{
    member->runs = true;
    assert_int_equal(pthread_create(&member->thread, NULL, member_run, member), 0);
}

static void member_stop(struct member *member)
{
    if (!member->runs)
        return;
    atomic_store_explicit(&member->stop, true, memory_order_relaxed);
    members_wake(member->members);
    pthread_join(member->thread, NULL);
    assert_false(member->fails);
    member->runs = false;
}

static void member_join(struct member *member, ripc_id id)
{
    struct why why = {0};
    int result = member_open(member, &(struct opening){.id = id}, &why);
    if (result)
        print_error("%s\n", why.text);
    assert_int_equal(result, 0);
    member_start(member);
}

static void member_close(struct member *member)
{
    member_stop(member);
    members_close(member->members);
    scene_close(member->ripc);
    pthread_mutex_destroy(&member->table.lock);
}

static void member_leave(struct member *member)
{
    member_stop(member);
    assert_int_equal(members_leave(member->members, scene_deadline()), 0);
    member_close(member);
}

/* Acts like a killed process: the context ends without a message to the others. */
static void member_kill(struct member *member)
{
    member_stop(member);
    members_close(member->members);
    ripc_close(member->ripc, RIPC_NOW);
    pthread_mutex_destroy(&member->table.lock);
}

/* ---- what the members see ---- */

static struct view member_view(struct member *member)
{
    pthread_mutex_lock(&member->table.lock);
    struct view view = member->table.view;
    pthread_mutex_unlock(&member->table.lock);
    return view;
}

static unsigned view_count(const struct view *view)
{
    unsigned count = 0;
    for (uint32_t row = 0; row < view->row_count; row++)
        count += view->rows[row].id != 0;
    return count;
}

/* Waits until all of them have the same view with that many members. */
static struct view views_meet(struct member *members, unsigned count, unsigned rows)
{
    int64_t deadline = scene_deadline();
    for (;;) {
        struct view first = member_view(&members[0]);
        bool same = view_count(&first) == rows;
        for (unsigned i = 1; i < count && same; i++) {
            struct view view = member_view(&members[i]);
            same = view_equal(&first, &view);
        }
        if (same)
            return first;
        assert_true(ripc_now() < deadline);
        clock_nap(SCENE_SECOND / 1000);
    }
}

static void all_have_met(struct member *members, unsigned count)
{
    struct view view = views_meet(members, count, count);
    for (unsigned i = 0; i < count; i++) {
        pthread_mutex_lock(&members[i].table.lock);
        ripc_id id = ripc_service_id(members_service(members[i].members));
        for (uint32_t row = 0; row < view.row_count; row++) {
            bool other = view.rows[row].id && view.rows[row].id != id;
            assert_int_equal(members[i].table.offered[row], other);
            assert_int_equal(members[i].table.accepted[row], other);
        }
        pthread_mutex_unlock(&members[i].table.lock);
    }
}

static bool member_has_failed(struct member *member, uint32_t row)
{
    pthread_mutex_lock(&member->table.lock);
    bool failed = member->table.failed[row];
    pthread_mutex_unlock(&member->table.lock);
    return failed;
}

/* ---- tests ---- */

static void the_first_process_founds_the_table_and_others_join(void **state)
{
    struct member members[4];
    for (unsigned i = 0; i < 4; i++)
        member_join(&members[i], 10 + i);
    all_have_met(members, 4);
    struct view view = views_meet(members, 4, 4);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(view.rows[i].id, 10 + i);
    assert_int_equal(view.epoch, 4);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(members_strange(members[i].members), 0);
    for (unsigned i = 0; i < 4; i++)
        member_leave(&members[i]);
}

static void a_member_that_leaves_is_not_in_the_next_view_and_did_not_fail(void **state)
{
    struct member members[3];
    for (unsigned i = 0; i < 3; i++)
        member_join(&members[i], 10 + i);
    member_leave(&members[0]); /* the leader */
    struct view view = views_meet(members + 1, 2, 2);
    assert_int_equal(view.rows[0].id, 0);
    assert_int_equal(view.left[0], 1);
    assert_false(member_has_failed(&members[1], 0) || member_has_failed(&members[2], 0));
    member_leave(&members[2]); /* a follower */
    view = views_meet(members + 1, 1, 1);
    assert_int_equal(view.rows[1].id, 11);
    assert_int_equal(view.left[0], 4);
    member_join(&members[0], 10);
    all_have_met(members, 2);
    member_leave(&members[1]);
    member_leave(&members[0]);
    member_join(&members[0], 20); /* no member is left: it founds the table again */
    view = views_meet(members, 1, 1);
    assert_int_equal(view.epoch, 1);
    member_leave(&members[0]);
}

static void a_joiner_with_another_configuration_is_refused(void **state)
{
    struct member members[3], other;
    struct why why = {0};
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(member_open(&members[i], &(struct opening){.rows_max = 2}, &why), 0);
        member_start(&members[i]);
    }
    assert_int_equal(member_open(&other, &(struct opening){.rows_max = 2}, &why), -ENOSPC);
    assert_string_equal(why.text, "all 2 rows are taken");
    member_close(&other);
    assert_int_equal(
        member_open(&other, &(struct opening){.rows_max = 2, .schema = &schema_other}, &why),
        -EPROTO);
    assert_non_null(strstr(why.text, "have another layout"));
    member_close(&other);
    assert_int_equal(
        member_open(&other, &(struct opening){.rows_max = 2, .design = SST_READS}, &why), -EPROTO);
    assert_non_null(strstr(why.text, "design"));
    member_close(&other);
    assert_int_equal(member_open(&other, &(struct opening){.rows_max = 3}, &why), -EPROTO);
    assert_non_null(strstr(why.text, "rows_max"));
    member_close(&other);
    assert_int_equal(member_open(&other, &(struct opening){.rows_max = 2, .keep = true}, &why),
                     -EPROTO);
    member_close(&other);
    assert_int_equal(members_refused(members[0].members), 5);
    views_meet(members, 2, 2);
    assert_int_equal(member_view(&members[0]).epoch, 2);
    for (unsigned i = 0; i < 2; i++)
        member_leave(&members[i]);
}

static void a_death_freezes_the_row_and_ends_the_membership(void **state)
{
    struct member members[4];
    for (unsigned i = 0; i < 4; i++)
        member_join(&members[i], 10 + i);
    all_have_met(members, 4);
    member_kill(&members[3]);
    views_meet(members, 3, 3);
    member_kill(&members[0]); /* the leader */
    struct view view = views_meet(members + 1, 2, 2);
    assert_int_equal(view.rows[1].id, 11);
    assert_int_equal(view.rows[2].id, 12);
    assert_int_equal(view.left[0], 0);
    member_join(&members[0], 10); /* joins again with its id and a new nonce */
    member_join(&members[3], 13);
    all_have_met(members, 4);
    for (unsigned i = 0; i < 4; i++)
        member_leave(&members[i]);
}

static void without_drop_dead_members_stay(void **state)
{
    struct member members[3];
    struct why why = {0};
    for (unsigned i = 0; i < 3; i++) {
        struct opening opening = {.id = 10 + i, .rows_max = 3, .keep = true};
        assert_int_equal(member_open(&members[i], &opening, &why), 0);
        member_start(&members[i]);
    }
    all_have_met(members, 3);
    member_kill(&members[0]);
    int64_t deadline = scene_deadline();
    while (!member_has_failed(&members[1], 0) || !member_has_failed(&members[2], 0)) {
        assert_true(ripc_now() < deadline);
        clock_nap(SCENE_SECOND / 1000);
    }
    assert_int_equal(member_view(&members[1]).epoch, 3);
    /* It joins again, and no other row is free. */
    struct opening opening = {.id = 10, .rows_max = 3, .keep = true};
    assert_int_equal(member_open(&members[0], &opening, &why), 0);
    member_start(&members[0]);
    all_have_met(members, 3);
    for (unsigned i = 0; i < 3; i++)
        member_leave(&members[i]);
}

static void the_id_of_a_live_member_cannot_be_opened_twice(void **state)
{
    struct member member;
    struct members *other;
    struct ripc *ripc = scene_open(NULL);
    struct members_config config = {.schema = &schema, .name = TABLE, .rows_max = 4};
    member_join(&member, 10);
    assert_int_equal(members_open(ripc, 10, &config, &other), -EADDRINUSE);
    scene_close(ripc);
    member_leave(&member);
}

struct race {
    struct member member;
    pthread_barrier_t *barrier;
    int result;
};

static void *race_run(void *argument)
{
    struct race *race = argument;
    struct why why;
    pthread_barrier_wait(race->barrier);
    race->result = members_join(race->member.members, scene_deadline(), &why);
    if (race->result == 0)
        member_run(&race->member);
    return NULL;
}

static void only_one_of_many_processes_founds_the_table(void **state)
{
    for (unsigned round = 0; round < 5; round++) {
        struct race races[SEATS_MAX] = {0};
        struct member *first = &races[0].member;
        pthread_t threads[SEATS_MAX];
        pthread_barrier_t barrier;
        pthread_barrier_init(&barrier, NULL, SEATS_MAX);
        for (unsigned i = 0; i < SEATS_MAX; i++) {
            races[i].barrier = &barrier;
            member_bind(&races[i].member, &(struct opening){.rows_max = SEATS_MAX});
        }
        for (unsigned i = 0; i < SEATS_MAX; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, race_run, &races[i]), 0);
        int64_t deadline = scene_deadline();
        for (unsigned i = 0; i < SEATS_MAX; i++) {
            struct view view;
            do {
                assert_true(ripc_now() < deadline);
                clock_nap(SCENE_SECOND / 1000);
                view = member_view(&races[i].member);
            } while (view_count(&view) < SEATS_MAX);
            struct view reference = member_view(first);
            assert_int_equal(view.table, reference.table);
            assert_int_equal(view_count(&reference), SEATS_MAX);
        }
        for (unsigned i = 0; i < SEATS_MAX; i++) {
            atomic_store_explicit(&races[i].member.stop, true, memory_order_relaxed);
            members_wake(races[i].member.members);
            pthread_join(threads[i], NULL);
            assert_int_equal(races[i].result, 0);
        }
        for (unsigned i = 0; i < SEATS_MAX; i++)
            member_kill(&races[i].member);
        pthread_barrier_destroy(&barrier);
    }
}

static void a_context_without_threads_can_join(void **state)
{
    struct member members[2];
    struct why why = {0};
    member_join(&members[0], 10);
    assert_int_equal(
        member_open(&members[1], &(struct opening){.id = 11, .flags = RIPC_MANUAL}, &why), 0);
    member_start(&members[1]);
    all_have_met(members, 2);
    member_leave(&members[0]);
    struct view view = views_meet(members + 1, 1, 1);
    assert_int_equal(view.rows[1].id, 11);
    member_leave(&members[1]);
}

static void a_joiner_that_cannot_be_met_is_refused(void **state)
{
    struct member members[2];
    struct why why = {0};
    member_join(&members[0], 10);
    pthread_mutex_lock(&members[0].table.lock);
    members[0].table.accept_result = -ENOMEM;
    pthread_mutex_unlock(&members[0].table.lock);
    assert_int_equal(member_open(&members[1], &(struct opening){.id = 11}, &why), -ECONNREFUSED);
    assert_non_null(strstr(why.text, "not enough memory"));
    member_close(&members[1]);
    struct view view = views_meet(members, 1, 1);
    assert_int_equal(view.epoch, 1);
    pthread_mutex_lock(&members[0].table.lock);
    members[0].table.accept_result = 0;
    pthread_mutex_unlock(&members[0].table.lock);
    member_join(&members[1], 12);
    all_have_met(members, 2);
    for (unsigned i = 0; i < 2; i++)
        member_leave(&members[i]);
}

/* The peer began the meeting again, but its first introduction arrived before that: the next one
 * counts. */
static void an_offer_that_was_revoked_meanwhile_refuses_no_joiner(void **state)
{
    struct member members[2];
    member_join(&members[0], 10);
    pthread_mutex_lock(&members[0].table.lock);
    members[0].table.stale = 2;
    pthread_mutex_unlock(&members[0].table.lock);
    member_join(&members[1], 11);
    all_have_met(members, 2);
    for (unsigned i = 0; i < 2; i++)
        member_leave(&members[i]);
}

static bool member_is_expelled(struct member *member)
{
    pthread_mutex_lock(&member->table.lock);
    bool expelled = member->table.expelled;
    pthread_mutex_unlock(&member->table.lock);
    return expelled;
}

/* The host of the eldest member loses power, so the other member never learns that it has ended.
 * The program of the other member does not close the table. */
static void an_outvoted_member_does_not_keep_the_table_from_being_founded_again(void **state)
{
    struct member members[2], third;
    int64_t deadline = scene_deadline();
    for (unsigned i = 0; i < 2; i++)
        member_join(&members[i], 10 + i);
    struct view view = views_meet(members, 2, 2);
    member_stop(&members[1]);
    council_silent(&members[1].members->council, 10, view.rows[0].nonce);
    members[1].members->rows[0].dead = true; /* its end is not noticed again */
    members[1].stop = false;
    member_start(&members[1]);
    while (!member_is_expelled(&members[1]) && ripc_now() < deadline)
        clock_nap(SCENE_SECOND / 1000);
    assert_true(member_is_expelled(&members[1]));
    member_kill(&members[0]);
    member_join(&third, 12);
    view = member_view(&third);
    assert_int_equal(view.epoch, 1);
    assert_int_equal(view_count(&view), 1);
    member_leave(&third);
    member_leave(&members[1]);
}

static void on_question(void *argument, ripc_id from, const uint8_t *bytes, size_t size)
{
    struct members *members = argument;
    assert_int_equal(members_say(members, from, bytes + 4, size - 4), 0);
}

static void messages_of_strangers_are_counted_and_observers_are_answered(void **state)
{
    struct member member;
    struct why why = {0};
    assert_int_equal(member_open(&member, &(struct opening){.id = 10}, &why), 0);
    members_on_observer(member.members, on_question, member.members);
    member_start(&member);
    struct ripc *ripc = scene_open(NULL);
    struct ripc_service *stranger = scene_bind(ripc, 66);
    static const uint8_t question[] = {0x53, 0x73, 0, COUNCIL_OBSERVE, 'h', 'i'};
    struct view view = member_view(&member);
    struct council_message commit = {.kind = COUNCIL_COMMIT,
                                     .table = view.table,
                                     .sender = view.rows[0].nonce + 1,
                                     .view = {.table = view.table, .epoch = 9, .row_count = 1}};
    commit.view.rows[0] = (struct view_member){10, 5, 1};
    uint8_t bytes[COUNCIL_WIRE_MAX];
    size_t size = council_write(&commit, bytes);
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(ripc_send(stranger, 10, "nonsense", 8, scene_deadline()), 0);
        assert_int_equal(ripc_send(stranger, 10, bytes, size, scene_deadline()), 0);
    }
    assert_int_equal(ripc_send(stranger, 10, question, sizeof question, scene_deadline()), 0);
    struct ripc_message message = scene_receive(stranger);
    assert_int_equal(message.size, 2);
    assert_memory_equal(message.data, "hi", 2);
    ripc_release(&message);
    member_stop(&member);
    assert_int_equal(members_strange(member.members), 100);
    assert_int_equal(member_view(&member).epoch, 1);
    assert_int_equal(member.table.expelled, 0);
    assert_int_equal(members_leave(member.members, scene_deadline()), 0);
    member_close(&member);
    scene_close(ripc);
}

TEST_MAIN(SCENE(the_first_process_founds_the_table_and_others_join),
          SCENE(a_member_that_leaves_is_not_in_the_next_view_and_did_not_fail),
          SCENE(a_joiner_with_another_configuration_is_refused),
          SCENE(a_death_freezes_the_row_and_ends_the_membership),
          SCENE(without_drop_dead_members_stay),
          SCENE(the_id_of_a_live_member_cannot_be_opened_twice),
          SCENE(only_one_of_many_processes_founds_the_table),
          SCENE(a_context_without_threads_can_join), SCENE(a_joiner_that_cannot_be_met_is_refused),
          SCENE(an_offer_that_was_revoked_meanwhile_refuses_no_joiner),
          SCENE(an_outvoted_member_does_not_keep_the_table_from_being_founded_again),
          SCENE(messages_of_strangers_are_counted_and_observers_are_answered))
