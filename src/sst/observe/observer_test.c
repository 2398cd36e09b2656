#include "sst/observe/observer.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "ripc/memory/own_file.h"
#include "ripc/memory/reach.h"
#include "ripc/scene/scene.h"
#include "sst/members/members.h"
#include "sst/observe/observer_wire.h"
#include "sst/table/aggregate.h"
#include "sst/table/columns_test.h"
#include "sst/table/own.h"
#include "transport/wake/thread.h"

#define TABLE 7

/* ---- members, with the parts that an observer sees ---- */

struct member {
    struct ripc *ripc;
    struct ripc_service *service;
    struct own_file memory; /* its own row */
    struct table table;
    struct own own;
    struct observer_server *server;
    struct thread keeper;
    _Atomic bool stop;
    unsigned bare; /* how many questions to answer without the schema; used by the keeper only */
};

static void spread_set(struct row_spread *spread, uint32_t cell, uint64_t word, uint64_t sequence,
                       const struct sst_rows *to)
{
}

static void spread_change(struct row_spread *spread, const struct change *change,
                          const struct sst_rows *to)
{
}

/* No other process has a copy: an observer reads the owner's row. */
static const struct row_spread_ops spread_ops = {
    .name = "none", .set = spread_set, .change = spread_change};
static struct row_spread spread = {&spread_ops};

static void answer_bare(struct member *member, ripc_id to)
{
    uint8_t bytes[OBSERVER_ANSWER_MAX];
    const struct observer_answer answer = {
        .hash = member->table.schema.hash,
        .epoch = 1,
        .grant = {ripc_service_id(member->service), 1, member->table.schema.row_size},
        .row_count = 1,
        .members = {ripc_service_id(member->service)},
        .live = {true}};
    member->bare--;
    ripc_send(member->service, to, bytes, observer_answer_write(&answer, bytes), RIPC_NOW);
}

/* Does what members_step does for observers. */
static void member_step(struct member *member, int64_t deadline)
{
    struct ripc_message message;
    struct ripc_event event;
    if (ripc_receive(member->service, &message, 1, deadline) == 1) {
        if (member->bare)
            answer_bare(member, message.from);
        else
            observer_asked(member->server, message.from, message.data, message.size);
        ripc_release(&message);
    }
    while (ripc_poll(member->service, &event, 1, RIPC_NOW) == 1)
        if (event.kind == RIPC_DOWN || event.kind == RIPC_MOVED)
            observer_gone(member->server, event.id);
}

static void *member_keep(void *argument)
{
    struct member *member = argument;
    while (!atomic_load(&member->stop))
        member_step(member, ripc_after(SCENE_SECOND / 500));
    return NULL;
}

static void member_open_with(struct member *member, ripc_id id, const struct schema *schema)
{
    memset(member, 0, sizeof *member);
    member->ripc = scene_open(NULL);
    member->service = scene_bind(member->ripc, id);
    assert_int_equal(ripc_join(member->service, members_group(TABLE)), 0);
    assert_int_equal(own_file_open(member->ripc, schema->row_size, &member->memory), 0);
    assert_int_equal(table_init(&member->table, schema, SST_ROWS_MAX), 0);
    assert_int_equal(own_init(&member->own, &member->table.schema, member->memory.base, &spread),
                     0);
    assert_int_equal(
        observer_serve(member->service, &member->table, member->memory.base, &member->server), 0);
}

static void member_start(struct member *member)
{
    assert_int_equal(thread_start(&member->keeper, "keeper", member_keep, member), 0);
}

static void member_open(struct member *member, ripc_id id)
{
    struct schema schema;
    test_schema(&schema);
    member_open_with(member, id, &schema);
    member_start(member);
}

static void member_close(struct member *member)
{
    atomic_store(&member->stop, true);
    thread_join(&member->keeper);
    observer_unserve(member->server);
    own_fini(&member->own);
    table_fini(&member->table);
    assert_int_equal(ripc_unbind(member->service), 0);
    own_file_close(member->ripc, &member->memory);
    scene_close(member->ripc);
}

/* Installs a view. An id of 0 is a row without a member; a negative id is a dead member. */
static void view_show(struct member *members, unsigned count, uint64_t epoch, const int64_t *ids,
                      uint32_t row_count)
{
    for (unsigned i = 0; i < count; i++) {
        struct table *table = &members[i].table;
        uint64_t live = 0;
        for (uint32_t row = 0; row < row_count; row++) {
            ripc_id id = (ripc_id)(ids[row] < 0 ? -ids[row] : ids[row]);
            atomic_store(&table->members[row], id);
            if (ids[row] > 0)
                live |= UINT64_C(1) << row;
            if (id == ripc_service_id(members[i].service) && !atomic_load(&table->epoch))
                table->own = row;
        }
        atomic_store(&table->live[0], live);
        atomic_store(&table->row_count, row_count);
        atomic_store(&table->epoch, epoch);
    }
}

/* Members 101 and 102 in rows 0 and 1. */
static void pair_open(struct member pair[2])
{
    member_open(&pair[0], 101);
    member_open(&pair[1], 102);
    view_show(pair, 2, 1, (int64_t[]){101, 102}, 2);
}

static void pair_close(struct member pair[2])
{
    member_close(&pair[0]);
    member_close(&pair[1]);
}

static void put_all(struct member *member, uint32_t value)
{
    struct test_row *row = (struct test_row *)(void *)member->own.image;
    row->step = value;
    row->level = -(int32_t)value;
    row->load = value / 2.0;
    memset(row->tag, (int)(value % 256), sizeof row->tag);
    for (unsigned i = 0; i < 100; i++)
        row->wide[i] = value;
    const struct sst_range ranges[] = {
        {STEP, 0, 0}, {LEVEL, 0, 0}, {LOAD, 0, 0}, {TAG, 0, 0}, {WIDE, 0, 0}};
    assert_true(own_put(&member->own, ranges, 5, GUARD, value, NULL) > 0);
}

/* ---- the observer ---- */

static struct table_observer *observe(struct ripc *ripc)
{
    struct table_observer *observer = NULL;
    struct why why = {""};
    int error = observer_open(ripc, TABLE, scene_deadline(), &observer, &why);
    if (error < 0)
        fail_msg("%s", why.text);
    return observer;
}

static struct observer_row row_of(const struct table_observer *observer, uint32_t row)
{
    struct observer_row seen;
    observer_row(observer, row, &seen);
    return seen;
}

static int64_t number(const struct table_observer *observer, uint32_t row, uint32_t column,
                      uint32_t element)
{
    return cell_i64(&observer_schema(observer)->columns[column],
                    observer_cell(observer, row, column, element));
}

static void assert_row(const struct table_observer *observer, uint32_t row, uint32_t value)
{
    const uint8_t *tag = observer_elements(observer, row, TAG);
    assert_int_equal(number(observer, row, STEP, 0), value);
    assert_int_equal(number(observer, row, LEVEL, 0), -(int64_t)value);
    assert_true(schema_double(observer_cell(observer, row, LOAD, 0)) == value / 2.0);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(tag[i], value % 256);
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(number(observer, row, WIDE, i), value);
    assert_int_equal(number(observer, row, GUARD, 0), value);
}

static void refresh(struct table_observer *observer, int64_t end)
{
    assert_true(ripc_now() < end);
    observer_refresh(observer, end);
    usleep(500);
}

/* Refreshes until `what` holds; the statement that follows runs each time. */
#define UNTIL(observer, what) for (int64_t end = scene_deadline(); !(what); refresh(observer, end))

/* ---- tests ---- */

static void an_observer_sees_the_rows_of_all_members(void **state)
{
    struct member pair[2];
    pair_open(pair);
    put_all(&pair[0], 5);
    put_all(&pair[1], 300);
    struct ripc *ripc = scene_open(NULL);
    struct table_observer *observer = observe(ripc);
    assert_int_equal(observer_epoch(observer), 1);
    assert_int_equal(observer_row_count(observer), 2);
    assert_int_equal(observer_live_count(observer), 2);
    assert_int_equal(observer_schema(observer)->hash, pair[0].table.schema.hash);
    assert_string_equal(observer_schema(observer)->columns[LEVEL].name, "level");
    assert_false(row_of(observer, 0).known);
    assert_int_equal(number(observer, 0, WIDE, 99), 0);
    assert_int_equal(observer_refresh(observer, scene_deadline()), 2);
    assert_row(observer, 0, 5);
    assert_row(observer, 1, 300);
    assert_int_equal(row_of(observer, 0).member, 101);
    assert_int_equal(row_of(observer, 1).member, 102);
    assert_true(row_of(observer, 1).live && row_of(observer, 1).known);
    assert_int_equal(row_of(observer, 2).member, 0);
    assert_int_equal(observer_strange(observer), 0);
    observer_close(observer);
    scene_close(ripc);
    pair_close(pair);
}

static void only_changes_are_reported(void **state)
{
    struct member pair[2];
    pair_open(pair);
    struct ripc *ripc = scene_open(NULL);
    struct table_observer *observer = observe(ripc);
    assert_int_equal(observer_refresh(observer, scene_deadline()), 2);
    assert_int_equal(observer_refresh(observer, scene_deadline()), 0);
    assert_int_equal(own_set(&pair[1].own, STEP, 8), 0);
    assert_int_equal(observer_refresh(observer, scene_deadline()), 1);
    assert_int_equal(number(observer, 1, STEP, 0), 8);
    assert_int_equal(row_of(observer, 1).changes, 2);
    assert_int_equal(row_of(observer, 1).sequence, 2);
    own_set_head(&pair[0].own, ROW_ASLEEP, 1); /* not a change of its columns */
    assert_int_equal(observer_refresh(observer, scene_deadline()), 0);
    assert_int_equal(row_of(observer, 0).sequence, 2);
    assert_int_equal(row_of(observer, 0).changes, 1);
    observer_close(observer);
    scene_close(ripc);
    pair_close(pair);
}

/* Rows so large that reads overlap with puts. */
struct large {
    uint64_t first;
    uint64_t middle[32768];
    uint64_t last;
};

static const struct sst_column large_columns[] = {
    SST_COLUMN(struct large, first, SST_U64, 0),
    SST_COLUMN(struct large, middle, SST_U64, 0),
    SST_COLUMN(struct large, last, SST_U64, SST_GUARD),
};

static void *put_for_ever(void *argument)
{
    struct member *member = argument;
    struct large *image = (struct large *)(void *)member->own.image;
    for (uint64_t value = 1; !atomic_load(&member->stop); value++) {
        image->first = value;
        for (unsigned i = 0; i < 32768; i++)
            image->middle[i] = value;
        const struct sst_range ranges[] = {{0, 0, 0}, {1, 0, 0}};
        int64_t began = ripc_now();
        assert_true(own_put(&member->own, ranges, 2, 2, value, NULL) > 0);
        usleep((useconds_t)((ripc_now() - began) / 1000)); /* about half of the reads succeed */
    }
    return NULL;
}

static void a_row_is_read_as_one_put_left_it(void **state)
{
    struct member member;
    struct thread writer;
    struct schema schema;
    assert_int_equal(schema_make(&schema, large_columns, 3, sizeof(struct large), NULL), 0);
    member_open_with(&member, 101, &schema);
    member_start(&member);
    view_show(&member, 1, 1, (int64_t[]){101}, 1);
    struct ripc *ripc = scene_open(NULL);
    struct table_observer *observer = observe(ripc);
    assert_int_equal(thread_start(&writer, "writer", put_for_ever, &member), 0);
    UNTIL(observer, row_of(observer, 0).changes >= 200)
    {
        const uint64_t first = observer_cell(observer, 0, 0, 0);
        for (uint32_t i = 0; i < 32768; i++)
            assert_int_equal(observer_cell(observer, 0, 1, i), first);
        assert_int_equal(observer_cell(observer, 0, 2, 0), first);
    }
    atomic_store(&member.stop, true);
    thread_join(&writer);
    observer_close(observer);
    scene_close(ripc);
    member_close(&member);
}

static void an_unfinished_put_leaves_the_previous_row_visible(void **state)
{
    struct member pair[2];
    pair_open(pair);
    put_all(&pair[0], 5);
    struct ripc *ripc = scene_open(NULL);
    struct table_observer *observer = observe(ripc);
    assert_int_equal(observer_refresh(observer, scene_deadline()), 2);
    row_store(pair[0].memory.base, ROW_SEQUENCE, pair[0].own.sequence + 1);
    row_store(pair[0].memory.base, pair[0].table.schema.columns[STEP].cell, 6);
    assert_int_equal(observer_refresh(observer, scene_deadline()), 1);
    assert_true(row_of(observer, 0).torn);
    assert_row(observer, 0, 5);
    assert_int_equal(observer_refresh(observer, scene_deadline()), 0);
    put_all(&pair[0], 7);
    assert_int_equal(observer_refresh(observer, scene_deadline()), 1);
    assert_false(row_of(observer, 0).torn);
    assert_row(observer, 0, 7);
    observer_close(observer);
    scene_close(ripc);
    pair_close(pair);
}

static void members_join_freeze_and_leave(void **state)
{
    struct member members[3];
    pair_open(members);
    put_all(&members[1], 9);
    struct ripc *ripc = scene_open(NULL);
    struct table_observer *observer = observe(ripc);
    assert_int_equal(observer_refresh(observer, scene_deadline()), 2);
    member_open(&members[2], 103);
    put_all(&members[2], 33);
    view_show(members, 3, 2, (int64_t[]){101, 102, 0, 103}, 4);
    UNTIL(observer, row_of(observer, 3).known);
    assert_int_equal(observer_epoch(observer), 2);
    assert_int_equal(observer_row_count(observer), 4);
    assert_int_equal(observer_live_count(observer), 3);
    assert_row(observer, 3, 33);
    assert_row(observer, 1, 9);
    view_show(members, 1, 2, (int64_t[]){101, -102, 0, 103},
              4); /* the report of one member suffices */
    UNTIL(observer, !row_of(observer, 1).live);
    assert_int_equal(row_of(observer, 1).member, 102);
    assert_row(observer, 1, 9);
    view_show(members, 3, 5, (int64_t[]){0, 0, 0, 103}, 4);
    UNTIL(observer, observer_epoch(observer) == 5);
    assert_int_equal(observer_live_count(observer), 1);
    assert_int_equal(row_of(observer, 1).member, 0);
    assert_false(row_of(observer, 1).known);
    assert_int_equal(number(observer, 1, STEP, 0), 0);
    observer_close(observer);
    scene_close(ripc);
    pair_close(members);
    member_close(&members[2]);
}

static void a_member_that_joins_again_is_read_again(void **state)
{
    struct member pair[2];
    pair_open(pair);
    put_all(&pair[1], 9);
    struct ripc *ripc = scene_open(NULL);
    struct table_observer *observer = observe(ripc);
    assert_int_equal(observer_refresh(observer, scene_deadline()), 2);
    member_close(&pair[1]);
    UNTIL(observer, !row_of(observer, 1).live); /* the observer noticed that by itself */
    assert_row(observer, 1, 9);
    member_open(&pair[1], 102);
    put_all(&pair[1], 4); /* with the same sequence as before */
    view_show(pair, 2, 3, (int64_t[]){101, 102}, 2);
    UNTIL(observer, row_of(observer, 1).live && number(observer, 1, STEP, 0) == 4);
    assert_row(observer, 1, 4);
    observer_close(observer);
    scene_close(ripc);
    pair_close(pair);
}

/* Starts another process, which is a member when this returns, until it is killed. */
static pid_t member_fork(ripc_id id)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid) {
        close(ready[1]);
        assert_int_equal(read(ready[0], &byte, 1), 1);
        close(ready[0]);
        return pid;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    struct member member;
    member_open(&member, id);
    put_all(&member, 77);
    view_show(&member, 1, 1, (int64_t[]){101, (int64_t)id}, 2);
    if (write(ready[1], "", 1) != 1)
        _exit(1);
    for (;;)
        pause();
}

static void a_killed_member_keeps_its_last_row(void **state)
{
    pid_t pid = member_fork(102); /* before there is a context here */
    struct member member;
    member_open(&member, 101);
    view_show(&member, 1, 1, (int64_t[]){101, 102}, 2);
    struct ripc *ripc = scene_open(NULL);
    struct table_observer *observer = observe(ripc);
    UNTIL(observer, row_of(observer, 1).known);
    assert_row(observer, 1, 77);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    UNTIL(observer, !row_of(observer, 1).live);
    assert_true(row_of(observer, 1).known);
    assert_row(observer, 1, 77);
    assert_true(row_of(observer, 0).live);
    observer_close(observer);
    scene_close(ripc);
    member_close(&member);
    ripc_clean(NULL); /* removes what the killed process left behind */
}

static void a_table_ends_and_is_founded_again(void **state)
{
    struct member pair[2];
    struct schema lone;
    const struct sst_column column = {"only", SST_U64, 1, 0, 0};
    int error;
    pair_open(pair);
    view_show(pair, 2, 50, (int64_t[]){101, 102}, 2);
    struct ripc *ripc = scene_open(NULL);
    struct table_observer *observer = observe(ripc);
    pair_close(pair);
    UNTIL(observer, (error = observer_refresh(observer, scene_deadline())) == -ENOENT);
    member_open(&pair[0], 101); /* with a smaller epoch */
    put_all(&pair[0], 3);
    view_show(pair, 1, 1, (int64_t[]){101}, 1);
    UNTIL(observer, observer_epoch(observer) == 1 && row_of(observer, 0).known);
    assert_row(observer, 0, 3);
    member_close(&pair[0]);
    UNTIL(observer, (error = observer_refresh(observer, scene_deadline())) == -ENOENT);
    assert_int_equal(schema_make(&lone, &column, 1, 8, NULL), 0);
    member_open_with(&pair[0], 104, &lone);
    member_start(&pair[0]);
    view_show(pair, 1, 1, (int64_t[]){104}, 1);
    UNTIL(observer, (error = observer_refresh(observer, scene_deadline())) == -ESTALE);
    observer_close(observer);
    observer = observe(ripc);
    assert_int_equal(observer_schema(observer)->column_count, 1);
    observer_close(observer);
    member_close(&pair[0]);
    scene_close(ripc);
}

static int observe_try(struct ripc *ripc, int64_t patience, const char *reason)
{
    struct table_observer *observer = NULL;
    struct why why = {""};
    int error = observer_open(ripc, TABLE, ripc_after(patience), &observer, &why);
    assert_true(error < 0);
    if (!strstr(why.text, reason))
        fail_msg("\"%s\" does not say \"%s\"", why.text, reason);
    return error;
}

static void opening_fails_without_a_table_or_an_answer(void **state)
{
    struct ripc *ripc = scene_open(NULL);
    struct schema schema;
    struct member member;
    assert_int_equal(observe_try(ripc, SCENE_SECOND, "there is no table 7"), -ENOENT);
    test_schema(&schema);
    member_open_with(&member, 101, &schema); /* in the group, but no thread answers yet */
    assert_int_equal(observe_try(ripc, SCENE_SECOND / 4, "do not answer"), -ETIMEDOUT);
    member_start(&member);
    assert_int_equal(observe_try(ripc, SCENE_SECOND / 4, "do not answer"), -ETIMEDOUT);
    assert_int_equal(observer_server_count(member.server), 0);
    scene_close(ripc);
    member_close(&member);
}

static void a_silent_member_does_not_hide_the_others(void **state)
{
    struct member pair[2];
    struct schema schema;
    test_schema(&schema);
    member_open(&pair[0], 101);
    member_open_with(&pair[1], 102, &schema);
    put_all(&pair[0], 5);
    view_show(pair, 2, 1, (int64_t[]){101, 102}, 2);
    struct ripc *ripc = scene_open(NULL);
    struct table_observer *observer = observe(ripc);
    UNTIL(observer, row_of(observer, 0).known);
    assert_row(observer, 0, 5);
    assert_true(row_of(observer, 1).live);
    assert_false(row_of(observer, 1).known);
    put_all(&pair[1], 6);
    member_start(&pair[1]);
    UNTIL(observer, row_of(observer, 1).known);
    assert_row(observer, 1, 6);
    observer_close(observer);
    scene_close(ripc);
    pair_close(pair);
}

static void the_number_of_observers_is_limited(void **state)
{
    struct table_observer *observers[OBSERVERS_MAX];
    struct member member;
    member_open(&member, 101);
    view_show(&member, 1, 1, (int64_t[]){101}, 1);
    struct ripc *ripc = scene_open(NULL);
    for (unsigned i = 0; i < OBSERVERS_MAX; i++)
        observers[i] = observe(ripc);
    assert_int_equal(observer_server_count(member.server), OBSERVERS_MAX);
    assert_int_equal(observe_try(ripc, SCENE_SECOND, "all 16 observer slots of table 7 are in use"),
                     -EBUSY);
    observer_close(observers[3]);
    for (int64_t end = scene_deadline(); observer_server_count(member.server) == OBSERVERS_MAX;)
        assert_true(ripc_now() < end);
    observers[3] = observe(ripc);
    put_all(&member, 12);
    UNTIL(observers[3], row_of(observers[3], 0).known);
    assert_row(observers[3], 0, 12);
    for (unsigned i = 0; i < OBSERVERS_MAX; i++)
        observer_close(observers[i]);
    for (int64_t end = scene_deadline(); observer_server_count(member.server) > 0;)
        assert_true(ripc_now() < end);
    scene_close(ripc);
    member_close(&member);
}

static struct observer_answer ask_by_hand(struct ripc_service *service, ripc_id member)
{
    uint8_t bytes[OBSERVER_QUESTION_SIZE];
    struct observer_answer answer;
    observer_question_write(&(struct observer_question){0}, bytes);
    assert_int_equal(ripc_send(service, member, bytes, sizeof bytes, scene_deadline()), 0);
    struct ripc_message message;
    while (ripc_receive(service, &message, 1, ripc_after(SCENE_SECOND / 20)) != 1)
        assert_int_equal(ripc_send(service, member, bytes, sizeof bytes, scene_deadline()), 0);
    assert_int_equal(observer_answer_read(&answer, message.from, message.data, message.size), 0);
    ripc_release(&message);
    return answer;
}

static void a_grant_ends_with_its_observer(void **state)
{
    struct member member;
    uint64_t word;
    member_open(&member, 101);
    view_show(&member, 1, 1, (int64_t[]){101}, 1);
    struct ripc *ripc = scene_open(NULL);
    struct ripc_service *service = scene_bind(ripc, 900);
    struct observer_answer answer = ask_by_hand(service, 101);
    assert_int_equal(answer.grant.size, member.table.schema.row_size);
    assert_int_equal(ripc_read(service, &answer.grant, 0, &word, 8, scene_deadline()), 0);
    assert_int_equal(ripc_write(service, &answer.grant, 0, &word, 8, scene_deadline()), -EACCES);
    assert_int_equal(ask_by_hand(service, 101).grant.key, answer.grant.key);
    assert_int_equal(observer_server_count(member.server), 1);
    ripc_unbind(service);
    for (int64_t end = scene_deadline(); observer_server_count(member.server) > 0;)
        assert_true(ripc_now() < end);
    service = scene_bind(ripc, 900); /* the id alone does not restore the grant */
    int result = 0;                  /* until this process learns that */
    for (int64_t end = scene_deadline(); result == 0 && ripc_now() < end;)
        result = ripc_read(service, &answer.grant, 0, &word, 8, end);
    assert_int_equal(result, -EACCES);
    scene_close(ripc);
    member_close(&member);
}

/* An observer without a schema cannot use such an answer; it asks again. */
static void an_answer_without_the_schema_is_dropped(void **state)
{
    struct member member;
    struct schema schema;
    test_schema(&schema);
    member_open_with(&member, 101, &schema);
    member.bare = 1;
    put_all(&member, 5);
    view_show(&member, 1, 1, (int64_t[]){101}, 1);
    member_start(&member);
    struct ripc *ripc = scene_open(NULL);
    struct table_observer *observer = observe(ripc);
    UNTIL(observer, row_of(observer, 0).known);
    assert_row(observer, 0, 5);
    assert_int_equal(observer_strange(observer), 1);
    observer_close(observer);
    scene_close(ripc);
    member_close(&member);
}

static void messages_of_strangers_are_counted_and_dropped(void **state)
{
    struct member pair[2];
    pair_open(pair);
    struct ripc *ripc = scene_open(NULL), *other = scene_open(NULL);
    struct table_observer *observer = observe(ripc);
    struct ripc_service *stranger = scene_bind(other, 900);
    struct observer_answer answer = {.hash = observer_schema(observer)->hash,
                                     .epoch = UINT64_MAX,
                                     .grant = {900, 1, observer_schema(observer)->row_size},
                                     .row_count = 1,
                                     .members = {900},
                                     .live = {true}};
    uint8_t bytes[OBSERVER_ANSWER_MAX];
    size_t size = observer_answer_write(&answer, bytes);
    ripc_id id = 0; /* of the observer */
    assert_int_equal(ripc_send(stranger, 101, "\x53\x73\0\x0d", 4, scene_deadline()), 0);
    for (int64_t end = scene_deadline(); observer_server_strange(pair[0].server) == 0;)
        assert_true(ripc_now() < end);
    assert_int_equal(observer_server_count(pair[0].server), 1);
    id = observer_id(observer);
    assert_int_equal(ripc_send(stranger, id, bytes, size, scene_deadline()), 0);
    assert_int_equal(ripc_send(stranger, id, bytes, size - 1, scene_deadline()), 0);
    UNTIL(observer, observer_strange(observer) == 2);
    assert_int_equal(observer_epoch(observer), 1);
    assert_int_equal(row_of(observer, 0).member, 101);
    observer_close(observer);
    scene_close(ripc);
    scene_close(other);
    pair_close(pair);
}

/* ---- tables opened by sst_open ---- */

static struct sst *table_open(struct ripc *ripc, ripc_id member, enum sst_design design)
{
    struct sst *table = NULL;
    char reason[RIPC_REASON_MAX] = "";
    const struct sst_config config = {
        .table = TABLE,
        .columns = test_columns,
        .column_count = TEST_COLUMNS,
        .row_size = sizeof(struct test_row),
        .member = member,
        .design = design,
        .deadline = scene_deadline(),
        .reason = reason,
    };
    if (sst_open(ripc, &config, &table) < 0)
        fail_msg("%s", reason);
    return table;
}

static void observe_tables(enum sst_design design)
{
    struct ripc *one = scene_open(NULL), *two = scene_open(NULL), *ripc = scene_open(NULL);
    struct sst *first = table_open(one, 101, design);
    assert_int_equal(sst_set_u64(first, STEP, 41), 0);
    struct table_observer *observer = observe(ripc);
    UNTIL(observer, row_of(observer, 0).known);
    assert_int_equal(number(observer, 0, STEP, 0), 41);
    assert_int_equal(observer_live_count(observer), 1);
    struct sst *second = table_open(two, 102, design);
    uint32_t row = sst_row_own(second);
    assert_int_equal(sst_set_i64(second, LEVEL, -3), 0);
    UNTIL(observer, row_of(observer, row).known && number(observer, row, LEVEL, 0) == -3);
    assert_int_equal(observer_epoch(observer), sst_epoch(second));
    assert_int_equal(row_of(observer, row).member, 102);
    assert_int_equal(sst_set_f64(first, LOAD, 0.5), 0);
    UNTIL(observer, schema_double(observer_cell(observer, 0, LOAD, 0)) == 0.5);
    assert_int_equal(sst_close(second, scene_deadline()), 0);
    UNTIL(observer, row_of(observer, row).member == 0);
    assert_int_equal(observer_epoch(observer), sst_epoch(first));
    assert_int_equal(number(observer, 0, STEP, 0), 41);
    observer_close(observer);
    assert_int_equal(sst_close(first, scene_deadline()), 0);
    scene_close(ripc);
    scene_close(two);
    scene_close(one);
}

static void tables_that_write_can_be_observed(void **state)
{
    observe_tables(SST_WRITES);
}

static void tables_that_read_can_be_observed(void **state)
{
    observe_tables(SST_READS);
}

TEST_MAIN(SCENE(tables_that_write_can_be_observed), SCENE(tables_that_read_can_be_observed),
          SCENE(an_observer_sees_the_rows_of_all_members), SCENE(only_changes_are_reported),
          SCENE(a_row_is_read_as_one_put_left_it),
          SCENE(an_unfinished_put_leaves_the_previous_row_visible),
          SCENE(members_join_freeze_and_leave), SCENE(a_member_that_joins_again_is_read_again),
          SCENE(a_killed_member_keeps_its_last_row), SCENE(a_table_ends_and_is_founded_again),
          SCENE(opening_fails_without_a_table_or_an_answer),
          SCENE(a_silent_member_does_not_hide_the_others),
          SCENE(the_number_of_observers_is_limited), SCENE(a_grant_ends_with_its_observer),
          SCENE(an_answer_without_the_schema_is_dropped),
          SCENE(messages_of_strangers_are_counted_and_dropped))
