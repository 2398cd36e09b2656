#include "measured/pair.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/test.h"
#include "measured/crowd.h"
#include "measured/figures.h"
#include "measured/sides.h"

static const struct job ping = {.kind = JOB_PING, .size = 100, .count = 50, .batches = 5};

static void runs(const struct side *side, const struct job *job)
{
    struct pair_result result;
    struct why why = {""};
    assert_int_equal(pair_run(side, job, &result, &why), OK);
    assert_string_equal(why.text, "");
    assert_false(result.missing);
    assert_true(result.value > 0 && result.wall > 0);
    assert_int_equal(result.lost, 0);
    assert_int_equal(result.out_of_order, 0);
}

/* Two processes that poll need two cores. */
static void bare_memory_carries_every_job(void **state)
{
    static const struct job stream = {.kind = JOB_STREAM, .size = 64, .count = 500, .batches = 5};
    static const struct job large = {.kind = JOB_LONG, .size = 10000, .count = 5, .batches = 5};
    static const struct job odd = {.kind = JOB_PING, .size = 1501, .count = 50, .batches = 5};
    if (crowd_cores() < 2) {
        print_message("# left out: fewer than two cores\n");
        return;
    }
    runs(&side_floor, &ping);
    runs(&side_floor, &odd);
    runs(&side_floor, &stream);
    runs(&side_floor, &large);
}

static void sockets_carry_their_jobs(void **state)
{
    static const struct job large = {.kind = JOB_LONG, .size = 300000, .count = 3, .batches = 3};
    runs(&side_tcp, &ping);
    runs(&side_unix, &ping);
    runs(&side_tcp, &large);
    runs(&side_unix, &large);
}

static void fails(const struct side *side, const char *reason)
{
    struct pair_result result;
    struct why why = {""};
    assert_int_equal(pair_run(side, &ping, &result, &why), ERR_SYSTEM);
    assert_string_equal(why.text, reason);
}

static void refuse(struct pair *pair)
{
    char byte;
    if (pair->role == 1)
        pair_fail(pair, "refused by role %d", pair->role);
    (void)!read(pair->channel, &byte, 1);
    for (;;)
        pause();
}

static void die(struct pair *pair)
{
    if (pair->role == 0)
        kill(getpid(), SIGKILL);
    for (;;)
        pause();
}

static void damage(struct pair *pair)
{
    pair->own[60] ^= 1;
    pair_check(pair, pair->own, pair->job->size, 0);
}

static void a_role_that_fails_ends_its_partner(void **state)
{
    fails(&(const struct side){"refuse", refuse}, "refuse: refused by role 1");
    fails(&(const struct side){"die", die},
          "die: a process ended without a reason, or the time limit was reached");
}

static void a_damaged_message_is_noticed(void **state)
{
    struct pair_result result;
    struct why why = {""};
    const struct side side = {"damage", damage};
    static const struct job lines = {.kind = JOB_PING, .size = 68, .count = 1, .batches = 1};
    assert_int_equal(pair_run(&side, &lines, &result, &why), ERR_SYSTEM);
    assert_string_equal(why.text, "damage: message 0 is damaged or out of order");
}

static void absent(struct pair *pair)
{
    pair_missing(pair, "no such library");
}

static void a_missing_library_is_not_a_failure(void **state)
{
    struct pair_result result;
    struct why why = {""};
    const struct side side = {"absent", absent};
    assert_int_equal(pair_run(&side, &ping, &result, &why), OK);
    assert_true(result.missing);
    assert_string_equal(result.reason, "no such library");
}

/* Message 3 is lost; 5 and 6 change places. */
static void disorder(struct pair *pair)
{
    static const uint64_t numbers[] = {0, 1, 2, 4, 6, 5, 7, 8, 9, 10, 11};
    if (pair->role == 0)
        return;
    pair_start(pair);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        pair_arrival(pair, numbers[i]);
    pair_arrivals_end(pair);
}

static void lost_and_misplaced_messages_are_counted(void **state)
{
    struct pair_result result;
    struct why why = {""};
    const struct side side = {"disorder", disorder};
    static const struct job stream = {.kind = JOB_STREAM, .size = 64, .count = 4, .batches = 2};
    assert_int_equal(pair_run(&side, &stream, &result, &why), OK);
    assert_int_equal(result.lost, 1);
    assert_int_equal(result.out_of_order, 4); /* 4, 6, 5 and 7 do not follow the one before */
}

static void every_figure_has_all_its_parts(void **state)
{
    for (int i = 0; measured_figures[i]; i++) {
        const struct figure *figure = measured_figures[i];
        assert_true(*figure->name && *figure->paper && *figure->what && *figure->full.what);
        assert_true(*figure->quick.what);
        assert_true(figure->full.seconds > 0 && figure->quick.seconds > 0);
        assert_non_null(figure->plot.series[0].title);
        assert_non_null(figure->run);
    }
}

TEST_MAIN(TEST(bare_memory_carries_every_job), TEST(sockets_carry_their_jobs),
          TEST(a_role_that_fails_ends_its_partner), TEST(a_damaged_message_is_noticed),
          TEST(a_missing_library_is_not_a_failure), TEST(lost_and_misplaced_messages_are_counted),
          TEST(every_figure_has_all_its_parts))
