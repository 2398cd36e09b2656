/* Requests that have two copies, one of which is refused.
 *
 * A client sends each to a server that is stopped, and again to another one; there they are
 * refused. Then the keys are changed so that the requests could be done; something happens to the
 * servers that know of the refusals; and the stopped server goes on, with the first copies. They
 * must be refused, too, with the same answer.
 *
 * A server sends a request again to the next leader, and hears only then that the former one has
 * refused it: that must not be what the client is told.
 *
 * Planted bugs show that the tests would notice. */
#include <inttypes.h>
#include <string.h>

#include "base/test.h"
#include "services/store/planted.h"
#include "store_scene.h"

#define CLIENT 77 /* has the requests with two copies */
#define WRITER 78
#define VALUE  60000 /* bytes of a value that fills the logs */
#define VALUES 60

/* Each request is refused until its key is changed. */
static const struct row {
    const char *key;
    enum store_op op;
    enum store_condition condition;
    enum store_status status;
    const char *before, *after; /* the value of the key; NULL: there is none */
} rows[] = {
    {"absent", STORE_DELETE, STORE_ALWAYS, STORE_ABSENT, NULL, "1"},
    {"there", STORE_PUT, STORE_IF_ABSENT, STORE_CONFLICT, "word", NULL},
    {"word", STORE_INCR, STORE_ALWAYS, STORE_NOT_NUMBER, "word", "1"},
};
#define ROWS (sizeof rows / sizeof *rows)

static struct {
    weft_server leader, follower, late, other; /* the last two do not have the group */
    uint32_t written;                          /* requests of the writer */
} cast;

/* ---- requests ---- */

static struct store_answer ask(enum store_op op, const char *key, const char *value, uint32_t size)
{
    return scene_answer(scene_ask(cast.other, &(struct store_request){.op = op,
                                                                      .client = WRITER,
                                                                      .number = ++cast.written,
                                                                      .key = key,
                                                                      .value = value,
                                                                      .value_size = size}));
}

/* NULL: removes the key. Returns the version of the change. */
static uint64_t set(const char *key, const char *value)
{
    struct store_answer said = value ? ask(STORE_PUT, key, value, (uint32_t)strlen(value))
                                     : ask(STORE_DELETE, key, NULL, 0);
    assert_int_equal(said.status, STORE_DONE);
    return said.version;
}

static uint64_t send_copy(weft_server to, uint32_t row, bool again)
{
    enum store_op op = rows[row].op;
    return scene_ask(to, &(struct store_request){.op = op,
                                                 .condition = rows[row].condition,
                                                 .again = again,
                                                 .client = CLIENT,
                                                 .number = 1 + row,
                                                 .delta = op == STORE_INCR,
                                                 .key = rows[row].key,
                                                 .value = "late",
                                                 .value_size = op == STORE_PUT ? 4 : 0});
}

/* ---- servers ---- */

static void cast_servers(void)
{
    memset(&cast, 0, sizeof cast);
    cast.late = cast.other = WEFT_NOBODY;
    for (weft_server i = 0; i < SCENE_SERVERS; i++) {
        if (scene_stat(i, "groups_led"))
            cast.leader = i;
        else if (scene_stat(i, "groups_held"))
            cast.follower = i;
        else if (cast.late == WEFT_NOBODY)
            cast.late = i;
        else
            cast.other = i;
    }
}

/* ---- troubles ---- */

static void nothing_happens(void)
{
}

static void the_leader_crashes(void)
{
    scene_crash(cast.leader);
    scene_wait("groups_led", 1);
}

static void all_crash(void)
{
    for (weft_server i = 0; i < SCENE_SERVERS; i++)
        if (i != cast.late)
            scene_crash(i);
    for (weft_server i = 0; i < SCENE_SERVERS; i++)
        if (i != cast.late)
            scene_start(i);
    scene_wait("groups_led", 1);
}

static void the_follower_crashes(void)
{
    scene_crash(cast.follower);
    scene_run(2000);
}

/* It has not seen the refusals in the chain of changes. */
static void the_follower_learns_and_leads(void)
{
    scene_start(cast.follower);
    scene_wait("groups_held", 2);
    the_leader_crashes();
}

/* A refusal that the leader alone remembers becomes one that all do. */
static void first_copies_are_refused(void)
{
    for (uint32_t i = 0; i < ROWS; i++)
        assert_int_equal(scene_answer(send_copy(cast.other, i, false)).status, rows[i].status);
}

/* The logs give all segments back that have the refusals, so these must be copied. */
static void logs_are_compacted(void)
{
    static char value[VALUE];
    for (unsigned i = 0; i < VALUES; i++) {
        assert_int_equal(ask(STORE_PUT, "filler", value, sizeof value).status, STORE_DONE);
        cast.written += STORE_WINDOW; /* so what it has done is forgotten */
    }
    scene_run(3000);
    assert_true(scene_stat(cast.leader, "log_copied") > 0);
    assert_true(scene_stat(cast.follower, "log_copied") > 0);
    all_crash();
}

static const struct trouble {
    const char *name;
    void (*before)(void); /* the refusals */
    void (*after)(void);
} troubles[] = {
    {"the leader crashes", nothing_happens, the_leader_crashes},
    {"the leader has refused a first copy, and crashes", first_copies_are_refused,
     the_leader_crashes},
    {"all servers crash", nothing_happens, all_crash},
    {"a server learns and leads", the_follower_crashes, the_follower_learns_and_leads},
    {"logs are compacted", nothing_happens, logs_are_compacted},
};
#define TROUBLES (sizeof troubles / sizeof *troubles)

/* ---- a copy that is late ---- */

/* Returns how many of the late copies are answered in another way, or have changed their key. */
static unsigned play(const struct trouble *trouble)
{
    struct store_answer refused[ROWS];
    uint64_t late[ROWS], changed[ROWS];
    unsigned wrong = 0;
    for (uint32_t i = 0; i < ROWS; i++)
        if (rows[i].before)
            (void)set(rows[i].key, rows[i].before);
    world_pause(scene.world, cast.late, true);
    for (uint32_t i = 0; i < ROWS; i++)
        late[i] = send_copy(cast.late, i, false);
    trouble->before();
    for (uint32_t i = 0; i < ROWS; i++) {
        refused[i] = scene_answer(send_copy(cast.other, i, true));
        assert_int_equal(refused[i].status, rows[i].status);
    }
    for (uint32_t i = 0; i < ROWS; i++)
        changed[i] = set(rows[i].key, rows[i].after);
    trouble->after();
    world_pause(scene.world, cast.late, false);
    for (uint32_t i = 0; i < ROWS; i++) {
        struct store_answer said = scene_answer(late[i]);
        struct store_answer now = ask(STORE_GET, rows[i].key, NULL, 0);
        bool same = said.status == refused[i].status && said.version == refused[i].version;
        bool kept = rows[i].after ? now.version == changed[i] : now.status == STORE_ABSENT;
        wrong += !same || !kept;
    }
    return wrong;
}

static unsigned play_all(uint64_t seed, bool prints)
{
    static const char *const words[] = {"store.segment=256K", "store.group_count=1",
                                        "store.copies=2",     "store.least=1",
                                        "store.recover=1h",   NULL};
    unsigned troubled = 0;
    for (unsigned i = 0; i < TROUBLES; i++) {
        scene_open(seed, words, 1, 2);
        cast_servers();
        unsigned wrong = play(&troubles[i]);
        scene_close();
        troubled += wrong > 0;
        if (wrong && prints)
            print_message("# %s, seed %" PRIu64 ": %u late copies of %u\n", troubles[i].name, seed,
                          wrong, (unsigned)ROWS);
    }
    return troubled;
}

/* ---- a refusal that is late ---- */

/* Nothing that the server sends arrives. */
static void mute(weft_server server, bool muted)
{
    for (unsigned port = 0; port < world_plan(scene.world)->port_count; port++)
        sim_link_set_faults(world_link(scene.world, server, port),
                            &(struct sim_link_faults){.dead = muted});
}

/* It puts the key if that is absent. By the clock of the follower, the key has expired. */
static struct store_request put_key(void)
{
    struct store_request request = {.op = STORE_PUT,
                                    .client = CLIENT,
                                    .number = 1,
                                    .ttl = (uint64_t)(20000 * SCENE_NSEC),
                                    .key = "key",
                                    .value = "value",
                                    .value_size = 5};
    assert_int_equal(scene_answer(scene_ask(cast.other, &request)).status, STORE_DONE);
    world_wall_jump(scene.world, cast.follower, 30000 * SCENE_NSEC);
    request.number = 2;
    request.condition = STORE_IF_ABSENT;
    request.ttl = 0;
    return request;
}

/* A server sends a request to the leader, and without an answer to the next leader. The first one
 * refuses it, but that arrives late: the next one has the second copy, and will do it when it goes
 * on. Returns whether the answer is what has happened. */
static bool overtake(uint64_t seed)
{
    static const char *const words[] = {"store.segment=256K",
                                        "store.group_count=1",
                                        "store.copies=2",
                                        "store.least=1",
                                        "store.lease=0",
                                        "store.suspect=5s",
                                        NULL};
    scene_open(seed, words, 1, 2);
    cast_servers();
    const struct store_request request = put_key();
    world_pause(scene.world, cast.follower, true);
    uint64_t ticket = scene_ask(cast.late, &request);
    scene_run(20); /* the leader asks the follower whether it still leads */
    mute(cast.leader, true);
    world_pause(scene.world, cast.follower, false);
    for (unsigned i = 0; i < 10000 && !scene_stat(cast.follower, "groups_led"); i++)
        scene_run(1);
    world_pause(scene.world, cast.follower, true);
    scene_run(50); /* the second copy comes */
    mute(cast.leader, false);
    for (unsigned i = 0; i < 800 && !scene.answers[ticket].count; i++)
        scene_run(1);
    world_pause(scene.world, cast.follower, false);
    struct store_answer said = scene_answer(ticket);
    scene_run(2000);
    struct store_answer now = ask(STORE_GET, "key", NULL, 0);
    scene_close();
    return said.status == STORE_DONE ? now.version == said.version : now.status == STORE_ABSENT;
}

static void a_late_refusal_of_the_first_copy_does_not_count(void **state)
{
    for (uint64_t seed = 1; seed <= 3; seed++)
        assert_true(overtake(seed));
}

static void one_that_counts_is_noticed(void **state)
{
    store_bugs = UINT64_C(1) << STORE_REFUSAL_OVERTAKEN;
    bool right = overtake(1);
    store_bugs = 0;
    assert_false(right);
}

/* ---- the tests ---- */

static void a_late_copy_is_refused_as_the_other_one_was(void **state)
{
    for (uint64_t seed = 1; seed <= 3; seed++)
        assert_int_equal(play_all(seed, true), 0);
}

static void a_refusal_that_only_the_leader_remembers_is_noticed(void **state)
{
    store_bugs = UINT64_C(1) << STORE_REFUSAL_FORGOTTEN;
    unsigned troubled = play_all(1, false);
    store_bugs = 0;
    assert_int_equal(troubled, TROUBLES);
}

TEST_MAIN(TEST(a_late_copy_is_refused_as_the_other_one_was),
          TEST(a_refusal_that_only_the_leader_remembers_is_noticed),
          TEST(a_late_refusal_of_the_first_copy_does_not_count), TEST(one_that_counts_is_noticed))
