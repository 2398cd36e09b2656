/* sst_rows: rows of 4 KB with a guard. Every publish has a number, which is in a word of every
 * cache line of the data and in the guard. */
#include <stdatomic.h>
#include <string.h>

#include "measured/payload.h"
#include "sst_desk.h"
#include "sst_sides.h"

#define WORDS          512
#define WORDS_PER_LINE (PAYLOAD_LINE / sizeof(uint64_t))

struct wide_row {
    uint64_t data[WORDS];
    uint64_t guard;
};

enum { DATA, GUARD };

static const struct sst_column wide_columns[] = {
    [DATA] = SST_COLUMN(struct wide_row, data, SST_U64, 0),
    [GUARD] = SST_COLUMN(struct wide_row, guard, SST_U64, SST_GUARD),
};

struct rows {
    struct pair *pair;
    struct desk desk;
    const struct ways *ways;
    bool counts; /* this role measures time, by laps of its own actions */
    bool ended;
    uint32_t left; /* in the current lap */
    uint64_t total;
};

static void rows_open(struct rows *rows, struct pair *pair)
{
    const struct desk_config config = {
        .folder = pair->folder,
        .job = pair->job,
        .columns = wide_columns,
        .column_count = 2,
        .row_size = sizeof(struct wide_row),
        .members = 2,
    };
    *rows = (struct rows){.pair = pair, .total = pair_total(pair), .left = pair->job->count};
    if (pair->job->size != sizeof((struct wide_row *)0)->data)
        pair_fail(pair, "rows must have %zu bytes", sizeof((struct wide_row *)0)->data);
    if (!desk_open(&rows->desk, &config))
        pair_fail(pair, "%s", rows->desk.reason);
}

static void data_mark(uint64_t *data, uint64_t number)
{
    for (size_t i = 0; i < WORDS; i += WORDS_PER_LINE)
        data[i] = number;
}

/* Is any word older than that? Words are loaded one by one, because they change meanwhile. */
static bool data_is_older(const void *data, uint64_t number)
{
    const _Atomic uint64_t *words = data;
    bool older = false;
    for (size_t i = 0; i < WORDS; i += WORDS_PER_LINE)
        older |= atomic_load_explicit(&words[i], memory_order_relaxed) < number;
    return older;
}

static void rows_publish(struct rows *rows, uint64_t number)
{
    struct wide_row *own = sst_own(rows->desk.table);
    data_mark(own->data, number);
    int error =
        sst_publish(rows->desk.table, &(struct sst_range){.column = DATA}, 1, GUARD, number, NULL);
    if (error < 0)
        pair_fail(rows->pair, "sst_publish: %s", ripc_strerror(error));
}

/* ---- as fast as possible ---- */

/* Memory of the pair. Role 0 stores the guard with release, after the data; the reader loads it
 * with acquire, before the data. The role that measures time stores `ended`. */
struct board {
    _Alignas(PAYLOAD_LINE) _Atomic uint64_t guard;
    _Alignas(PAYLOAD_LINE) _Atomic bool ended;
    _Alignas(PAYLOAD_LINE) uint64_t data[WORDS];
};

/* A way to publish, and a way to read. */
struct ways {
    void (*publish)(struct rows *rows, uint64_t number);
    uint64_t (*guard)(struct rows *rows);
    const void *(*data)(struct rows *rows);
};

static struct board *board_of(const struct rows *rows)
{
    return (struct board *)rows->pair->memory;
}

static uint64_t sst_guard(struct rows *rows)
{
    return sst_get_u64(rows->desk.table, rows->desk.other, GUARD);
}

static const void *sst_data(struct rows *rows)
{
    return sst_cells(rows->desk.table, rows->desk.other, DATA);
}

/* The reader reads single words, each of which is stored as a whole. */
static void board_publish(struct rows *rows, uint64_t number)
{
    struct board *board = board_of(rows);
    uint64_t *image = (uint64_t *)rows->pair->own;
    data_mark(image, number);
    atomic_thread_fence(memory_order_release);
    memcpy(board->data, image, sizeof board->data);
    atomic_store_explicit(&board->guard, number, memory_order_release);
}

static uint64_t board_guard(struct rows *rows)
{
    return atomic_load_explicit(&board_of(rows)->guard, memory_order_acquire);
}

static const void *board_data(struct rows *rows)
{
    return board_of(rows)->data;
}

static const struct ways sst_ways = {rows_publish, sst_guard, sst_data};
static const struct ways board_ways = {board_publish, board_guard, board_data};

static void rows_write(struct rows *rows)
{
    rows->ways->publish(rows, ++rows->desk.seen);
}

static void rows_check(struct rows *rows)
{
    uint64_t guard = rows->ways->guard(rows);
    if (data_is_older(rows->ways->data(rows), guard))
        pair_fail(rows->pair, "guard %llu was visible before its data", (unsigned long long)guard);
}

/* One publish or read. Returns false when the role that measures time has all its laps. */
static bool rows_step(struct rows *rows)
{
    struct pair *pair = rows->pair;
    if (pair->role == 0)
        rows_write(rows);
    else
        rows_check(rows);
    if (!rows->counts)
        return !atomic_load_explicit(&board_of(rows)->ended, memory_order_acquire);
    if (--rows->left > 0)
        return true;
    rows->left = pair->job->count;
    pair_lap(pair);
    if (pair->batch_count <= pair->job->batches)
        return true;
    atomic_store_explicit(&board_of(rows)->ended, true, memory_order_release);
    return false;
}

static void rows_floor(struct pair *pair, bool tries)
{
    struct rows rows = {.pair = pair,
                        .ways = &board_ways,
                        .counts = pair->role == (int)tries,
                        .left = pair->job->count};
    pair_meet(pair);
    pair_start(pair);
    while (rows_step(&rows))
        ;
    pair_meet(pair);
}

static bool rows_go_on(const struct sst *table, void *argument)
{
    const struct rows *rows = argument;
    return !rows->ended;
}

static void rows_turn(struct sst *table, void *argument)
{
    struct rows *rows = argument;
    rows->ended = !rows_step(rows);
    if (rows->ended)
        sem_post(&rows->desk.done);
}

/* Runs in triggers: the detector has the core for itself. */
static void rows_run(struct pair *pair, bool tries)
{
    struct rows rows;
    rows_open(&rows, pair);
    rows.ways = &sst_ways;
    rows.counts = pair->role == (int)tries;
    pair_meet(pair);
    pair_start(pair);
    if (!desk_predicate(&rows.desk, rows_go_on, rows_turn, &rows, UINT32_MAX))
        pair_fail(pair, "%s", rows.desk.reason);
    desk_wait(&rows.desk);
    pair_meet(pair);
    desk_close(&rows.desk);
}

static void sst_rows_run(struct pair *pair)
{
    rows_run(pair, false);
}

static void sst_rows_tries_run(struct pair *pair)
{
    rows_run(pair, true);
}

static void rows_floor_run(struct pair *pair)
{
    rows_floor(pair, false);
}

static void rows_floor_tries_run(struct pair *pair)
{
    rows_floor(pair, true);
}

/* ---- in turn ---- */

static bool row_is_new(const struct sst *table, void *argument)
{
    const struct rows *rows = argument;
    return sst_get_u64(table, rows->desk.other, GUARD) > rows->desk.seen;
}

/* Reads the complete row; both roles do. */
static void row_take(struct rows *rows)
{
    uint64_t *data = (uint64_t *)rows->pair->own;
    uint64_t number = ++rows->desk.seen;
    int error =
        sst_get(rows->desk.table, rows->desk.other, &(struct sst_range){.column = DATA}, data);
    if (error < 0)
        pair_fail(rows->pair, "sst_get: %s", ripc_strerror(error));
    for (size_t i = 0; i < WORDS; i += WORDS_PER_LINE)
        if (data[i] != number)
            pair_fail(rows->pair, "row %llu arrived damaged", (unsigned long long)number);
}

static void row_answer(struct sst *table, void *argument)
{
    struct rows *rows = argument;
    row_take(rows);
    rows_publish(rows, rows->desk.seen);
    if (rows->desk.seen == rows->total)
        sem_post(&rows->desk.done);
}

static void row_ask(struct sst *table, void *argument)
{
    struct rows *rows = argument;
    row_take(rows);
    if (--rows->left == 0) {
        pair_lap(rows->pair);
        rows->left = rows->pair->job->count;
    }
    if (rows->desk.seen == rows->total)
        sem_post(&rows->desk.done);
    else
        rows_publish(rows, rows->desk.seen + 1);
}

static void sst_row_ping_run(struct pair *pair)
{
    struct rows rows;
    rows_open(&rows, pair);
    if (!desk_predicate(&rows.desk, row_is_new, pair->role == 0 ? row_ask : row_answer, &rows,
                        GUARD))
        pair_fail(pair, "%s", rows.desk.reason);
    pair_meet(pair);
    pair_start(pair);
    if (pair->role == 0)
        rows_publish(&rows, 1);
    desk_wait(&rows.desk);
    if (pair->role == 1)
        pair_stop(pair);
    pair_meet(pair);
    desk_close(&rows.desk);
}

const struct side side_sst_rows = {"rows", sst_rows_run};
const struct side side_sst_rows_tries = {"rows", sst_rows_tries_run};
const struct side side_rows_floor = {"floor", rows_floor_run};
const struct side side_rows_floor_tries = {"floor", rows_floor_tries_run};
const struct side side_sst_row_ping = {"row", sst_row_ping_run};
