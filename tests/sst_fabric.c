/* Two processes share a table over libfabric alone, in both designs: numbers and wide columns, data
 * before its guard, counting, sleeping detectors, a barrier, a member that is killed and joins
 * again, and one that leaves.
 *
 * WEFT_TEST_PROVIDER (tcp) and WEFT_TEST_ADDRESS (127.0.0.1) select the network, WEFT_TEST_COUNT
 * (10000) how far to count. The peer is this program again, with the design and a descriptor as its
 * arguments: it writes a byte to the descriptor when it is a member. After that it takes all orders
 * from the table. */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/sst.h>

#include "base/test.h"
#include "transport/wake/doorbell.h"

#define TABLE      31
#define SELF       1
#define PEER       2
#define WORDS      700 /* more than fit into one write of the transport */
#define NAME       13
#define SECOND     1000000000LL
#define PUTS_AHEAD 200 /* of the last answer, at most */

struct row {
    uint64_t count;
    uint64_t goal; /* how far to count */
    uint64_t ready;
    uint64_t words[WORDS];
    uint32_t order;
    int8_t small;
    double real;
    uint64_t wrong; /* an error that the peer noticed, or 0 */
    char name[NAME];
};

enum { COUNT, GOAL, READY, BLOCK, ORDER, SMALL, REAL, WRONG, WORD, COLUMNS };

static const struct sst_column columns[COLUMNS] = {
    [COUNT] = SST_COLUMN(struct row, count, SST_U64, SST_GROWS),
    [GOAL] = SST_COLUMN(struct row, goal, SST_U64, 0),
    [READY] = SST_COLUMN(struct row, ready, SST_U64, SST_GUARD | SST_GROWS),
    [BLOCK] = SST_COLUMN(struct row, words, SST_U64, 0),
    [ORDER] = SST_COLUMN(struct row, order, SST_U32, 0),
    [SMALL] = SST_COLUMN(struct row, small, SST_I8, 0),
    [REAL] = SST_COLUMN(struct row, real, SST_F64, 0),
    [WRONG] = SST_COLUMN(struct row, wrong, SST_U64, SST_GROWS),
    [WORD] = SST_COLUMN(struct row, name, SST_BYTES, 0),
};

/* Orders for the peer, in column ORDER of our row. */
enum { ORDER_BARRIER = 1, ORDER_LEAVE };

static const char *setting(const char *name, const char *otherwise)
{
    const char *value = getenv(name);
    return value != NULL && *value != '\0' ? value : otherwise;
}

static int64_t late(void)
{
    return ripc_after(240 * SECOND); /* long enough for an emulated machine under load */
}

static uint64_t word_of(ripc_id member, uint64_t number, unsigned index)
{
    return (member << 32 ^ number) * 0x9e3779b97f4a7c15u + index;
}

static struct sst_config config_make(ripc_id member, enum sst_design design, char *reason)
{
    return (struct sst_config){
        .table = TABLE,
        .columns = columns,
        .column_count = COLUMNS,
        .row_size = sizeof(struct row),
        .member = member,
        .design = design,
        .rows_max = 4,
        .deadline = late(),
        .trigger_nsec = 60 * SECOND,
        .reason = reason,
    };
}

/* ---- shared by test and peer ---- */

static void block_publish(struct sst *table, ripc_id member, uint64_t number)
{
    struct row *own = sst_own(table);
    for (unsigned i = 0; i < WORDS; i++)
        own->words[i] = word_of(member, number, i);
    sst_publish(table, &(struct sst_range){.column = BLOCK}, 1, READY, number, NULL);
}

/* Is the block complete, and from that put or a later one? An owed row is sent as a whole: its
 * block may be ahead of its guard by as many puts as were made meanwhile. */
static bool block_is_right(const struct sst *table, uint32_t row, ripc_id member, uint64_t ready)
{
    static uint64_t words[WORDS]; /* only used where triggers run, or by tests without triggers */
    int result; /* -EAGAIN: it is being written, which takes long on an emulated machine */
    do
        result = sst_get(table, row, &(struct sst_range){.column = BLOCK}, words);
    while (result == -EAGAIN);
    if (result != 0)
        return false;
    for (uint64_t number = ready; number <= ready + PUTS_AHEAD; number++) {
        unsigned right = 0;
        while (right < WORDS && words[right] == word_of(member, number, right))
            right++;
        if (right == WORDS)
            return true;
    }
    return false;
}

static bool may_count(const struct sst *table, void *argument)
{
    uint64_t mine = sst_get_u64(table, sst_row_own(table), COUNT);
    return sst_live_count(table) == 2 && mine < sst_maximum_u64(table, GOAL) &&
           sst_all_at_least_u64(table, COUNT, mine);
}

static void count_on(struct sst *table, void *argument)
{
    sst_set_u64(table, COUNT, sst_get_u64(table, sst_row_own(table), COUNT) + 1);
}

static int counting_begin(struct sst *table)
{
    static const uint32_t names[] = {COUNT, GOAL};
    return sst_predicate_add(table,
                             &(struct sst_predicate){.name = "count",
                                                     .kind = SST_RECURRENT,
                                                     .holds = may_count,
                                                     .fire = count_on,
                                                     .columns = names,
                                                     .column_count = 2},
                             NULL);
}

/* ---- the peer ---- */

static bool block_is_new(const struct sst *table, void *argument)
{
    int row = sst_row_of(table, SELF);
    return row >= 0 && sst_get_u64(table, (uint32_t)row, READY) > *(uint64_t *)argument;
}

/* Answers what it saw: the same number with a block of its own. */
static void block_answer(struct sst *table, void *argument)
{
    uint64_t *seen = argument;
    int row = sst_row_of(table, SELF);
    if (row < 0)
        return;
    *seen = sst_get_u64(table, (uint32_t)row, READY);
    if (!block_is_right(table, (uint32_t)row, SELF, *seen))
        sst_set_u64(table, WRONG, *seen);
    block_publish(table, PEER, *seen);
}

static bool order_is(const struct sst *table, void *argument)
{
    int row = sst_row_of(table, SELF);
    return row >= 0 && sst_get_u64(table, (uint32_t)row, ORDER) == *(const uint64_t *)argument;
}

/* A peer that cannot go on prints the reason and exits: the test notices its death. */
static void must(int result, const char *what, const char *reason)
{
    if (result < 0) {
        fprintf(stderr, "peer: %s: %s: %s\n", what, ripc_strerror(result), reason);
        exit(1);
    }
}

static void order_await(struct sst *table, uint64_t order)
{
    static const uint32_t names[] = {ORDER};
    must(sst_wait(table, order_is, &order, names, 1, RIPC_FOREVER), "sst_wait", "");
}

static int peer_run(enum sst_design design, int ready)
{
    static const uint32_t names[] = {READY};
    static uint64_t seen;
    struct ripc *ripc;
    struct sst *table;
    char reason[RIPC_REASON_MAX] = "";
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test leaves no peer behind */
    /* The test has set everything else in the environment. */
    must(ripc_open(&(struct ripc_config){.reason = reason}, &ripc), "ripc_open", reason);
    struct sst_config config = config_make(PEER, design, reason);
    must(sst_open(ripc, &config, &table), "sst_open", reason);
    struct sst_predicate answer = {.name = "answer",
                                   .kind = SST_RECURRENT,
                                   .holds = block_is_new,
                                   .fire = block_answer,
                                   .argument = &seen,
                                   .columns = names,
                                   .column_count = 1};
    must(sst_predicate_add(table, &answer, NULL), "sst_predicate_add", "");
    must(counting_begin(table), "sst_predicate_add", "");
    memcpy(((struct row *)sst_own(table))->name, "the\0peer\0here", NAME);
    must(sst_put(table, &(struct sst_range){.column = WORD}, 1, NULL), "sst_put", "");
    must(sst_set_i64(table, SMALL, -100), "sst_set_i64", "");
    must(sst_set_f64(table, REAL, 1e-300), "sst_set_f64", "");
    if (write(ready, "r", 1) != 1)
        return 1;
    close(ready);
    order_await(table, ORDER_BARRIER);
    must(sst_barrier(table, late()), "sst_barrier", "");
    order_await(table, ORDER_LEAVE);
    must(sst_close(table, late()), "sst_close", "");
    must(ripc_close(ripc, late()), "ripc_close", "");
    return 0;
}

/* ---- the tests ---- */

static struct ripc *ripc;
static struct sst *self;
static pid_t peer_pid;
static uint32_t peer_row;
static char *program;
static enum sst_design chosen;
static _Atomic unsigned failures, epochs; /* counted by upcalls */

static void on_news(struct sst *table, const struct sst_news *news, void *argument)
{
    if (news->kind == SST_FAILED && news->member == PEER)
        atomic_fetch_add(&failures, 1);
    if (news->kind == SST_EPOCH)
        atomic_fetch_add(&epochs, 1);
}

static void peer_start(void)
{
    int ready[2];
    char byte, design[16], descriptor[16];
    assert_int_equal(pipe(ready), 0);
    peer_pid = fork();
    assert_true(peer_pid >= 0);
    if (peer_pid == 0) {
        close(ready[0]);
        snprintf(design, sizeof design, "%d", (int)chosen);
        snprintf(descriptor, sizeof descriptor, "%d", ready[1]);
        execl(program, program, design, descriptor, (char *)NULL);
        _exit(127);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
}

static void peer_kill(void)
{
    if (peer_pid > 0) {
        kill(peer_pid, SIGKILL);
        waitpid(peer_pid, NULL, 0);
    }
    peer_pid = 0;
}

/* Waits until `holds` is true; evaluated when one of the columns changes. */
static void await(sst_holds *holds, void *argument)
{
    static const uint32_t names[] = {COUNT, GOAL, READY, SMALL, REAL, WORD, WRONG};
    int result = sst_wait(self, holds, argument, names, sizeof names / sizeof *names, late());
    if (result < 0)
        print_message("# sst_wait: %s\n", ripc_strerror(result));
    assert_int_equal(result, 0);
}

static bool live_is(const struct sst *table, void *argument)
{
    return sst_live_count(table) == *(const uint32_t *)argument;
}

static void live_await(uint32_t count)
{
    await(live_is, &count);
}

static bool peer_has_told(const struct sst *table, void *argument)
{
    return sst_get_f64(table, peer_row, REAL) == 1e-300;
}

static void both_members_see_each_others_rows(void **state)
{
    struct row row;
    live_await(2);
    int found = sst_row_of(self, PEER);
    assert_true(found >= 0);
    peer_row = (uint32_t)found;
    assert_int_not_equal(peer_row, sst_row_own(self));
    await(peer_has_told, NULL);
    assert_int_equal(sst_get_i64(self, peer_row, SMALL), -100);
    assert_int_equal(sst_row(self, peer_row, &row), 0);
    assert_memory_equal(row.name, "the\0peer\0here", NAME);
    assert_int_equal(row.small, -100);
}

static bool answer_is_there(const struct sst *table, void *argument)
{
    return sst_get_u64(table, peer_row, READY) == *(const uint64_t *)argument;
}

static uint64_t asked;

static void ask(void)
{
    asked++;
    block_publish(self, SELF, asked);
    await(answer_is_there, &asked);
    assert_true(block_is_right(self, peer_row, PEER, asked));
    assert_int_equal(sst_get_u64(self, peer_row, WRONG), 0);
}

static void wide_data_is_visible_when_its_guard_is(void **state)
{
    for (unsigned i = 0; i < 100; i++)
        ask();
    /* Faster than the answers: each answer is right, and the last put arrives. */
    for (unsigned i = 0; i < PUTS_AHEAD; i++)
        block_publish(self, SELF, ++asked);
    await(answer_is_there, &asked);
    assert_true(block_is_right(self, peer_row, PEER, asked));
    assert_int_equal(sst_get_u64(self, peer_row, WRONG), 0);
}

static bool count_is_reached(const struct sst *table, void *argument)
{
    return sst_all_at_least_u64(table, COUNT, *(const uint64_t *)argument);
}

/* In steps: on a slow emulated machine only a standstill is an error, not a long run. */
static void both_members_count_together(void **state)
{
    uint64_t goal = strtoull(setting("WEFT_TEST_COUNT", "10000"), NULL, 10);
    int64_t begun = ripc_now();
    assert_int_equal(sst_set_u64(self, GOAL, goal), 0);
    for (uint64_t part = 0; part <= goal; part += 500)
        await(count_is_reached, &part);
    await(count_is_reached, &goal);
    print_message("# counted to %llu in %.1f s\n", (unsigned long long)goal,
                  (double)(ripc_now() - begun) / SECOND);
    assert_int_equal(sst_get_u64(self, peer_row, COUNT), goal);
    assert_int_equal(sst_minimum_u64(self, COUNT), goal);
    assert_int_equal(sst_maximum_u64(self, COUNT), goal);
    assert_true(sst_all_equal(self, COUNT));
}

static uint64_t blocks(void)
{
    struct sst_stats stats;
    assert_int_equal(sst_stats(self, &stats), 0);
    return stats.blocks;
}

/* The bells of both processes have no safety timeout (main), so a detector that is not woken does
 * not see the next question or its answer. */
static void sleeping_detectors_are_woken(void **state)
{
    for (unsigned i = 0; i < 5; i++) {
        uint64_t before = blocks();
        ask();
        for (int64_t deadline = late(); blocks() == before;) { /* until it sleeps again */
            assert_true(ripc_now() < deadline);
            usleep(1000);
        }
    }
    ask();
}

static void puts_are_flushed_and_a_barrier_holds(void **state)
{
    assert_int_equal(sst_set_f64(self, REAL, 2.5), 0);
    assert_int_equal(sst_flush(self, late()), 0);
    int result = sst_barrier(self, ripc_after(SECOND / 100));
    assert_int_equal(result, -ETIMEDOUT); /* the peer has no order yet */
    assert_int_equal(sst_set_u64(self, ORDER, ORDER_BARRIER), 0);
    assert_int_equal(sst_barrier(self, late()), 0);
}

static bool peer_is_forgotten(const struct sst *table, void *argument)
{
    return sst_row_of(table, PEER) < 0;
}

static void a_killed_member_is_reported_once_and_its_row_stays(void **state)
{
    struct row before, after;
    uint64_t epoch = sst_epoch(self);
    assert_int_equal(atomic_load(&failures), 0);
    assert_int_equal(sst_row(self, peer_row, &before), 0);
    peer_kill();
    /* Our puts go nowhere now, and must not block. */
    for (unsigned i = 0; i < 10; i++)
        block_publish(self, SELF, ++asked);
    live_await(1);
    for (int64_t deadline = late(); atomic_load(&failures) == 0 && ripc_now() < deadline;)
        usleep(1000);
    assert_int_equal(sst_flush(self, late()), 0);
    assert_int_equal(atomic_load(&failures), 1);
    /* The row is frozen and readable, but no longer counts. */
    assert_int_equal(sst_epoch(self), epoch);
    assert_int_equal(sst_row_of(self, PEER), peer_row);
    assert_false(sst_is_live(self, peer_row));
    assert_int_equal(sst_row(self, peer_row, &after), 0);
    assert_int_equal(after.count, before.count);
    assert_memory_equal(after.name, before.name, NAME);
    assert_int_equal(sst_set_u64(self, COUNT, before.count + 5), 0);
    assert_int_equal(sst_minimum_u64(self, COUNT), before.count + 5);
    struct sst_stats stats;
    assert_int_equal(sst_stats(self, &stats), 0);
    assert_int_equal(stats.failures, 1);
}

static void a_killed_member_can_join_again(void **state)
{
    uint64_t epoch = sst_epoch(self);
    assert_int_equal(sst_set_u64(self, ORDER, 0), 0);
    peer_start();
    live_await(2);
    assert_true(sst_epoch(self) > epoch);
    peer_row = (uint32_t)sst_row_of(self, PEER);
    await(answer_is_there, &asked); /* puts made while the peer was dead reach it */
    ask();
    uint64_t goal = sst_get_u64(self, sst_row_own(self), COUNT) + 20;
    assert_int_equal(sst_set_u64(self, GOAL, goal), 0);
    await(count_is_reached, &goal);
}

static void a_member_that_leaves_is_not_a_failure(void **state)
{
    uint64_t epoch = sst_epoch(self);
    int status;
    assert_int_equal(sst_set_u64(self, ORDER, ORDER_BARRIER), 0);
    assert_int_equal(sst_barrier(self, late()), 0);
    assert_int_equal(sst_set_u64(self, ORDER, ORDER_LEAVE), 0);
    await(peer_is_forgotten, NULL);
    assert_int_equal(waitpid(peer_pid, &status, 0), peer_pid);
    peer_pid = 0;
    assert_int_equal(status, 0);
    assert_true(sst_epoch(self) > epoch);
    assert_int_equal(atomic_load(&failures), 1);
}

/* ---- setup ---- */

static char folder[64];

static int group_begin(void **state)
{
    char reason[RIPC_REASON_MAX] = "";
    snprintf(folder, sizeof folder, "/tmp/weft-sst-fabric-XXXXXX");
    if (mkdtemp(folder) == NULL)
        return -1;
    setenv("WEFT_FOLDER", folder, 1);
    setenv("WEFT_DOMAIN", "fabric", 1);
    setenv("WEFT_NAMES", "host", 1);
    setenv("WEFT_TRANSPORTS", "fabric", 1);
    setenv("WEFT_ADDRESS", setting("WEFT_TEST_ADDRESS", "127.0.0.1"), 1);
    setenv("WEFT_PROVIDER", setting("WEFT_TEST_PROVIDER", "tcp"), 1);
    atomic_store(&failures, 0);
    asked = 0;
    int opened = ripc_open(&(struct ripc_config){.reason = reason}, &ripc);
    struct sst_config config = config_make(SELF, chosen, reason);
    config.upcall = on_news;
    if (opened == 0)
        opened = sst_open(ripc, &config, &self);
    if (opened == 0)
        opened = counting_begin(self);
    if (opened < 0) {
        print_message("# opening: %s: %s\n", ripc_strerror(opened), reason);
        return -1;
    }
    peer_start();
    return 0;
}

static int group_end(void **state)
{
    peer_kill();
    int table_closed = sst_close(self, late());
    int closed = ripc_close(ripc, late());
    int left =
        ripc_clean(NULL); /* removes what the killed process left; then the folder is empty */
    char path[80];
    snprintf(path, sizeof path, "%s/fabric", folder);
    rmdir(path);
    return table_closed == 0 && closed == 0 && left >= 0 && rmdir(folder) == 0 ? 0 : -1;
}

int main(int count, char **words)
{
    atomic_store(&doorbell_nap, NSEC_NEVER);
    if (count == 3)
        return peer_run((enum sst_design)atoi(words[1]), atoi(words[2]));
    program = words[0];
    chosen = count == 2 && strcmp(words[1], "reads") == 0 ? SST_READS : SST_WRITES;
    const struct CMUnitTest tests[] = {
        TEST(both_members_see_each_others_rows),
        TEST(wide_data_is_visible_when_its_guard_is),
        TEST(both_members_count_together),
        TEST(sleeping_detectors_are_woken),
        TEST(puts_are_flushed_and_a_barrier_holds),
        TEST(a_killed_member_is_reported_once_and_its_row_stays),
        TEST(a_killed_member_can_join_again),
        TEST(a_member_that_leaves_is_not_a_failure),
    };
    return cmocka_run_group_tests(tests, group_begin, group_end);
}
