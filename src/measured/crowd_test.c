#include "measured/crowd.h"

#include <dirent.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/test.h"

#define COUNT  5
#define ROUNDS 20

/* Results of the processes of a test. */
struct board {
    _Atomic uint32_t steps[COUNT]; /* one for each process; relaxed, ordered by the meetings */
    _Atomic uint32_t late;         /* steps of others that were not visible after a meeting */
    _Atomic pid_t ids[COUNT];
    char folder[CHILD_FOLDER_SIZE];
};

static struct board *board;

static void step(struct crowd *crowd, const void *argument)
{
    const int *wanted = argument;
    if (crowd->index == 0)
        strcpy(board->folder, crowd->folder);
    if (*wanted != 42 || crowd->count != COUNT)
        crowd_fail(crowd, "the argument or the count is wrong");
    crowd_pin(crowd->index);
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        atomic_store_explicit(&board->steps[crowd->index], round, memory_order_relaxed);
        crowd_meet(crowd);
        for (int i = 0; i < COUNT; i++)
            if (atomic_load_explicit(&board->steps[i], memory_order_relaxed) != round)
                atomic_fetch_add(&board->late, 1);
        crowd_meet(crowd);
    }
    if (crowd_is_full(crowd, 1))
        crowd_fail(crowd, "the meeting is full before this process arrived");
    crowd_arrive(crowd);
    while (!crowd_is_full(crowd, 1))
        nanosleep(&(struct timespec){.tv_nsec = 100 * 1000}, NULL);
}

static void all_processes_run_and_meet(void **state)
{
    struct crowd_end end;
    struct why why = {""};
    board = crowd_memory(sizeof *board);
    assert_non_null(board);
    struct crowd_play play = {"step", COUNT, step, &(int){42}};
    assert_int_equal(crowd_run(&play, &end, &why), OK);
    assert_false(end.missing);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(board->steps[i], ROUNDS);
    assert_int_equal(board->late, 0);
    assert_true(board->folder[0] == '/');
    assert_int_equal(access(board->folder, F_OK), -1);
    crowd_memory_free(board, sizeof *board);
}

/* One process ends; the others would wait for it for ever. */
static void one_leaves(struct crowd *crowd, const void *argument)
{
    const int *how = argument;
    board->ids[crowd->index] = getpid();
    crowd_meet(crowd);
    if (crowd->index == 3 && *how == 0)
        crowd_fail(crowd, "process %u failed", crowd->index);
    if (crowd->index == 3 && *how == 1)
        crowd_missing(crowd, "no such thing here");
    if (crowd->index == 3 && *how == 2)
        raise(SIGKILL);
    crowd_meet(crowd);
}

static void a_failed_process_ends_all_others(void **state)
{
    static const enum err errors[] = {ERR_SYSTEM, OK, ERR_SYSTEM};
    static const char *const texts[] = {
        "leaves: process 3 failed", "",
        "leaves: a process ended without a reason, or the time limit was reached"};
    board = crowd_memory(sizeof *board);
    assert_non_null(board);
    for (int how = 0; how < 3; how++) {
        struct crowd_end end;
        struct why why = {""};
        struct crowd_play play = {"leaves", COUNT, one_leaves, &how};
        assert_int_equal(crowd_run(&play, &end, &why), errors[how]);
        assert_string_equal(why.text, texts[how]);
        assert_int_equal(end.missing, how == 1);
        if (how == 1)
            assert_string_equal(end.reason, "no such thing here");
        for (int i = 0; i < COUNT; i++) {
            assert_true(board->ids[i] > 0);
            assert_int_equal(kill(board->ids[i], 0), -1);
        }
    }
    crowd_memory_free(board, sizeof *board);
}

TEST_MAIN(TEST(all_processes_run_and_meet), TEST(a_failed_process_ends_all_others))
