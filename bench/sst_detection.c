/* sst_detection: the time from setting a number until a trigger sees it. Both processes have a
 * detector thread, alone on its core; that of role 0 measures the time.
 *
 * A column of one number counts the turns. Role 0 sets it to the next number when role 1 has
 * answered the last one. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "sst_desk.h"
#include "sst_sides.h"
#include "transport/clock.h"

#define LINE       64
#define SAMPLE_MAX (1 << 18)
#define WAKE_MAX   64
#define WARM_USEC  20000 /* before the first wake-up, which is discarded */
#define HIGH       99    /* percent */

struct turn_row {
    uint64_t turn;
};

enum { TURN };

static const struct sst_column turn_columns[] = {
    [TURN] = SST_COLUMN(struct turn_row, turn, SST_U64, 0),
};

/* Single round trips. */
struct samples {
    nsec since;
    uint32_t count;
    uint32_t nsec[SAMPLE_MAX];
};

/* How role 0 measures time: by laps of the pair, or each round trip. */
struct clock {
    struct pair *pair;
    uint32_t left;           /* of the lap; counted down, which costs no division */
    struct samples *samples; /* or NULL */
};

struct game {
    struct pair *pair;
    struct desk desk;
    uint64_t total;
    struct clock clock;
};

/* ---- samples ---- */

static struct clock clock_make(struct pair *pair, bool high)
{
    struct clock clock = {.pair = pair, .left = pair->job->count};
    if (!high)
        return clock;
    clock.samples = calloc(1, sizeof *clock.samples);
    if (!clock.samples)
        pair_fail(pair, "not enough memory");
    clock.samples->since = clock_now();
    return clock;
}

static void samples_take(struct samples *samples)
{
    nsec now = clock_now();
    if (samples->count < SAMPLE_MAX)
        samples->nsec[samples->count++] = (uint32_t)(now - samples->since);
    samples->since = now;
}

/* Counts one more round trip. */
static void clock_step(struct clock *clock)
{
    if (clock->samples) {
        samples_take(clock->samples);
    } else if (--clock->left == 0) {
        pair_lap(clock->pair);
        clock->left = clock->pair->job->count;
    }
}

static int by_value(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

static void clock_report(struct clock *clock)
{
    struct samples *samples = clock->samples;
    if (!samples)
        return;
    uint32_t warm = samples->count / 10; /* pages and caches are cold at first */
    uint32_t count = samples->count - warm;
    qsort(samples->nsec + warm, count, sizeof samples->nsec[0], by_value);
    uint64_t high = warm + (uint64_t)count * HIGH / 100;
    pair_report(clock->pair, 1e-9 * samples->nsec[high]);
    free(samples);
}

/* ---- round trips ---- */

static bool game_goes_on(const struct sst *table, void *argument)
{
    const struct game *game = argument;
    return sst_get_u64(table, game->desk.other, TURN) > game->desk.seen;
}

static void game_answer(struct sst *table, void *argument)
{
    struct game *game = argument;
    sst_set_u64(table, TURN, ++game->desk.seen);
    if (game->desk.seen == game->total)
        sem_post(&game->desk.done);
}

static void game_ask(struct sst *table, void *argument)
{
    struct game *game = argument;
    uint64_t seen = ++game->desk.seen;
    clock_step(&game->clock);
    if (seen == game->total)
        sem_post(&game->desk.done);
    else
        sst_set_u64(table, TURN, seen + 1);
}

static void game_open(struct game *game, struct pair *pair, enum sst_design design)
{
    const struct desk_config config = {
        .folder = pair->folder,
        .job = pair->job,
        .design = design,
        .columns = turn_columns,
        .column_count = 1,
        .row_size = sizeof(struct turn_row),
        .members = 2,
    };
    *game = (struct game){.pair = pair, .total = pair_total(pair)};
    if (!desk_open(&game->desk, &config))
        pair_fail(pair, "%s", game->desk.reason);
}

static void game_predicate(struct game *game, sst_fire *fire)
{
    if (!desk_predicate(&game->desk, game_goes_on, fire, game, TURN))
        pair_fail(game->pair, "%s", game->desk.reason);
    pair_meet(game->pair);
}

static void game_run(struct pair *pair, enum sst_design design, bool high)
{
    struct game game;
    game_open(&game, pair, design);
    game.clock = clock_make(pair, high && pair->role == 0);
    game_predicate(&game, pair->role == 0 ? game_ask : game_answer);
    pair_start(pair);
    if (pair->role == 0)
        sst_set_u64(game.desk.table, TURN, 1);
    desk_wait(&game.desk);
    if (pair->role == 1)
        pair_stop(pair);
    pair_meet(pair); /* over a fabric the other may still need our progress */
    clock_report(&game.clock);
    desk_close(&game.desk);
}

static void sst_writes_run(struct pair *pair)
{
    game_run(pair, SST_WRITES, false);
}

static void sst_writes_high_run(struct pair *pair)
{
    game_run(pair, SST_WRITES, true);
}

static void sst_reads_run(struct pair *pair)
{
    game_run(pair, SST_READS, false);
}

static void sst_reads_high_run(struct pair *pair)
{
    game_run(pair, SST_READS, true);
}

/* Each role writes its cache line with release; the other polls it. */
static void line_ping(struct pair *pair, bool high)
{
    _Atomic uint64_t *own = (_Atomic uint64_t *)(pair->memory + pair->role * LINE);
    _Atomic uint64_t *other = (_Atomic uint64_t *)(pair->memory + !pair->role * LINE);
    struct clock clock = clock_make(pair, high && pair->role == 0);
    uint64_t total = pair_total(pair);
    pair_meet(pair);
    pair_start(pair);
    for (uint64_t i = 1; i <= total; i++) {
        if (pair->role == 0)
            atomic_store_explicit(own, i, memory_order_release);
        while (atomic_load_explicit(other, memory_order_acquire) != i)
            ;
        if (pair->role == 1)
            atomic_store_explicit(own, i, memory_order_release);
        else
            clock_step(&clock);
    }
    clock_report(&clock);
}

static void line_run(struct pair *pair)
{
    line_ping(pair, false);
}

static void line_high_run(struct pair *pair)
{
    line_ping(pair, true);
}

/* ---- after idling ---- */

/* In the memory of the pair: when role 1 noticed each wake-up; stored with release. */
struct wakes {
    _Atomic int64_t noticed[WAKE_MAX];
};

static nsec wake_wait(struct pair *pair, uint32_t index)
{
    struct wakes *wakes = (struct wakes *)pair->memory;
    nsec at;
    while (!(at = atomic_load_explicit(&wakes->noticed[index], memory_order_acquire)))
        usleep(1000);
    return at;
}

static void wake_note(struct pair *pair, uint32_t index)
{
    struct wakes *wakes = (struct wakes *)pair->memory;
    atomic_store_explicit(&wakes->noticed[index], clock_now(), memory_order_release);
}

/* Role 0: wakes the other job->batches times, after one wake-up that is discarded. */
static void wakes_run(struct pair *pair, void (*wake)(void *argument, uint32_t index),
                      void *argument)
{
    double times[WAKE_MAX];
    uint32_t count = pair->job->batches;
    if (count >= WAKE_MAX)
        pair_fail(pair, "too many wake-ups");
    for (uint32_t i = 0; i <= count; i++) {
        usleep(i ? pair->job->idle_usec : WARM_USEC);
        nsec since = clock_now();
        wake(argument, i);
        times[i] = 1e-9 * (double)(wake_wait(pair, i) - since);
    }
    pair_report(pair, bench_median(times + 1, (int)count));
}

static void game_noticed(struct sst *table, void *argument)
{
    struct game *game = argument;
    wake_note(game->pair, (uint32_t)game->desk.seen++);
    if (game->desk.seen == game->total)
        sem_post(&game->desk.done);
}

static void game_wake(void *argument, uint32_t index)
{
    struct game *game = argument;
    sst_set_u64(game->desk.table, TURN, index + 1);
}

static void sst_wake_run(struct pair *pair)
{
    struct game game;
    game_open(&game, pair, SST_WRITES);
    if (pair->role == 0) {
        pair_meet(pair);
        wakes_run(pair, game_wake, &game);
    } else {
        game_predicate(&game, game_noticed);
        desk_wait(&game.desk);
    }
    pair_meet(pair);
    desk_close(&game.desk);
}

static void unix_wake(void *argument, uint32_t index)
{
    struct pair *pair = argument;
    char byte = (char)index;
    if (write(pair->channel, &byte, 1) != 1)
        pair_fail(pair, "the other process has ended");
}

static void unix_wake_run(struct pair *pair)
{
    pair_meet(pair);
    if (pair->role == 0)
        wakes_run(pair, unix_wake, pair);
    for (uint32_t i = 0; pair->role == 1 && i <= pair->job->batches; i++) {
        char byte;
        if (read(pair->channel, &byte, 1) != 1)
            pair_fail(pair, "the other process has ended");
        wake_note(pair, i);
    }
    pair_meet(pair);
}

const struct side side_sst_writes = {"writes", sst_writes_run};
const struct side side_sst_writes_high = {"writes", sst_writes_high_run};
const struct side side_sst_reads = {"reads", sst_reads_run};
const struct side side_sst_reads_high = {"reads", sst_reads_high_run};
const struct side side_line = {"cache line", line_run};
const struct side side_line_high = {"cache line", line_high_run};
const struct side side_sst_wake = {"writes", sst_wake_run};
const struct side side_unix_wake = {"unix", unix_wake_run};
