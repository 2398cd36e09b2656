/* bare: the operations and round trips over mapped memory. */
#include "measured/sst/sst_bare.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "measured/crowd.h"
#include "measured/sst/sst_bare_fabric.h"

const char *const bare_medium_names[BARE_MEDIUM_COUNT] = {
    [BARE_MEMORY] = "memory",
    [BARE_FABRIC] = "libfabric tcp",
};
const char *const bare_way_names[BARE_WAY_COUNT] = {
    [BARE_READS] = "reads",
    [BARE_WRITES] = "writes",
};

#define PAUSE_NSEC 1000 /* the longest pause before a round trip over memory */

struct bare_play {
    struct bare_job job;
    struct bare_board *board;
    struct trip_log *log; /* of round trips; NULL: operations */
};

static void word_set(struct bare_word *word, uint64_t value)
{
    atomic_store_explicit(&word->value, value, memory_order_release);
}

static void word_await(const struct bare_word *word, uint64_t value)
{
    while (atomic_load_explicit(&word->value, memory_order_acquire) < value)
        ;
}

/* Waits until all cores see our stores: this is the completion of a write. */
static void stores_complete(void)
{
#if defined(__aarch64__)
    __asm__ __volatile__("dsb ish" ::: "memory");
#else
    atomic_thread_fence(memory_order_seq_cst);
#endif
}

/* The owner of the rows changes them before each read and reads them after each write, so that
 * their cache lines are in its cache, as in real use. */
static void memory_own(const struct bare_kind *kind, void *context)
{
    struct bare_board *board = kind->board;
    for (uint64_t i = 1; i <= kind->rounds; i++) {
        uint64_t round = kind->before + i;
        for (uint32_t row = 0; row < kind->rows; row++)
            if (!bare_row_touch(kind, board->rows[row], round))
                crowd_fail(context, "a written row has wrong contents");
        word_set(&board->turns[1], round);
        word_await(&board->turns[0], round);
    }
}

static void memory_operate(const struct bare_kind *kind, void *context)
{
    static unsigned char own[BARE_ROWS_MAX][BARE_SIZE_MAX];
    struct bare_board *board = kind->board;
    bool reads = kind->job->way == BARE_READS;
    struct trip trip;
    trip_open(&trip, &board->totals, kind->job->seed, 1);
    for (uint64_t i = 1; i <= kind->rounds; i++) {
        uint64_t round = kind->before + i;
        for (uint32_t row = 0; row < kind->rows; row++)
            bare_row_prepare(kind, own[row], round);
        word_await(&board->turns[1], round);
        trip_start(&trip);
        for (uint32_t row = 0; row < kind->rows; row++)
            if (reads)
                memcpy(own[row], board->rows[row], kind->size);
            else
                memcpy(board->rows[row], own[row], kind->size);
        if (!reads)
            stores_complete();
        (void)trip_end(&trip);
        for (uint32_t row = 0; row < kind->rows; row++)
            if (!bare_row_check(kind, own[row], round))
                crowd_fail(context, "a row was read with wrong contents");
        word_set(&board->turns[0], round);
    }
    bare_kind_note(kind);
}

/* With reads, a process polls the word of the other one; with writes, it polls its own word, which
 * the other one writes. */
static void memory_trips(struct crowd *crowd, const struct bare_job *job, struct bare_board *board,
                         struct trip_log *log)
{
    struct bare_word *own = &board->words[crowd->index], *other = &board->words[!crowd->index];
    struct bare_word *to = job->way == BARE_READS ? own : other;
    const struct bare_word *from = job->way == BARE_READS ? other : own;
    uint32_t total = trip_total(log);
    struct trip trip;
    if (crowd->index == 1) {
        for (uint64_t round = 1; round <= total; round++) {
            word_await(from, round);
            word_set(to, round);
        }
        return;
    }
    trip_open(&trip, log, job->seed, PAUSE_NSEC);
    for (uint64_t round = 1; round <= total; round++) {
        trip_start(&trip);
        word_set(to, round);
        word_await(from, round);
        (void)trip_end(&trip);
    }
}

static void bare_run(struct crowd *crowd, const void *argument)
{
    const struct bare_play *play = argument;
    const struct bare_job *job = &play->job;
    crowd_pin(crowd->index);
    crowd_meet(crowd);
    if (job->medium == BARE_FABRIC && play->log)
        bare_fabric_trips(crowd, job, play->board, play->log);
    else if (job->medium == BARE_FABRIC)
        bare_fabric_operate(crowd, job, play->board);
    else if (play->log)
        memory_trips(crowd, job, play->board, play->log);
    else
        bare_kinds(job, play->board, crowd->index == 0 ? memory_operate : memory_own, crowd);
}

static enum err bare_play(const struct bare_job *job, struct bare_board *board,
                          struct trip_log *log, char missing[BARE_REASON_SIZE], struct why *why)
{
    struct bare_play bare = {*job, board, log};
    struct crowd_play play = {bare_medium_names[job->medium], 2, bare_run, &bare};
    struct crowd_end end;
    assert(job->rows <= BARE_ROWS_MAX && job->count <= TRIP_MAX);
    enum err err = crowd_run(&play, &end, why);
    snprintf(missing, BARE_REASON_SIZE, "%s", !err && end.missing ? end.reason : "");
    return err;
}

enum err bare_operate(const struct bare_job *job, struct bare_result *result, struct why *why)
{
    struct bare_board *board = crowd_memory(sizeof *board);
    if (!board)
        return why_memory(why);
    assert(job->size_count <= BARE_SIZES_MAX);
    for (uint32_t i = 0; i < job->size_count; i++)
        assert(job->sizes[i] <= BARE_SIZE_MAX && job->sizes[i] % sizeof(uint64_t) == 0);
    board->totals.wanted = board->posts.wanted = job->count;
    board->totals.warm = board->posts.warm = trip_warm(job->count);
    for (uint32_t i = 0; i < BARE_SIZES_MAX * BARE_ROWS_MAX; i++)
        board->times[i / BARE_ROWS_MAX][i % BARE_ROWS_MAX] = (struct bare_times){NAN, NAN};
    enum err err = bare_play(job, board, NULL, result->missing, why);
    memcpy(result->times, board->times, sizeof result->times);
    crowd_memory_free(board, sizeof *board);
    return err;
}

enum err bare_trips(const struct bare_job *job, struct trip_log *log,
                    char missing[BARE_REASON_SIZE], struct why *why)
{
    struct bare_board *board = crowd_memory(sizeof *board);
    if (!board)
        return why_memory(why);
    log->wanted = job->count;
    log->warm = trip_warm(job->count);
    log->count = 0;
    enum err err = bare_play(job, board, log, missing, why);
    crowd_memory_free(board, sizeof *board);
    return err;
}
