/* sst_operations: figures 1 and 3 of "Distributed State Sharing and Predicate Detection over
 * RDMA": the times of one-sided reads and writes, alone by size, and several at once.
 *
 * In the paper an InfiniBand adapter does the work. Here the processor does it: through its caches
 * with mapped memory, through sockets with libfabric's tcp. */
#include <math.h>
#include <string.h>

#include "measured/crowd.h"
#include "measured/figures.h"
#include "measured/sample.h"
#include "measured/sst/sst_bare.h"

#define COUNT       2000
#define COUNT_QUICK 20

/* A kind is a medium and a way; kinds are measured in this order. */
#define KIND_COUNT (BARE_MEDIUM_COUNT * BARE_WAY_COUNT)

/* Measures every kind: all sizes, with 1 to `rows` at once. With one core nothing is measured,
 * because two processes that poll would measure the scheduler. */
static enum err operate(struct bare_result results[KIND_COUNT], const struct figure_call *call,
                        const uint32_t *sizes, uint32_t size_count, uint32_t rows, struct why *why)
{
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        struct bare_job job = {
            .medium = (enum bare_medium)(kind / BARE_WAY_COUNT),
            .way = (enum bare_way)(kind % BARE_WAY_COUNT),
            .count = call->quick ? COUNT_QUICK : COUNT,
            .seed = call->seed,
            .sizes = sizes,
            .size_count = size_count,
            .rows = rows,
        };
        for (uint32_t i = 0; i < BARE_SIZES_MAX * BARE_ROWS_MAX; i++)
            results[kind].times[i / BARE_ROWS_MAX][i % BARE_ROWS_MAX] =
                (struct bare_times){NAN, NAN};
        results[kind].missing[0] = '\0';
        enum err err = crowd_cores() < 2 ? OK : bare_operate(&job, &results[kind], why);
        if (err)
            return err;
        figure_progress(call, (uint64_t)kind + 1, KIND_COUNT);
    }
    return OK;
}

/* --- figure 1 --- */

static const uint32_t sizes[] = {8, 64, 256, 1024, 4096, 16384};
#define SIZE_COUNT (sizeof sizes / sizeof sizes[0])

/* The claims of the paper about each way: posting takes the same time for all sizes, most of
 * the time is spent waiting, and the time is linear in the size. */
static void size_claims(struct figure_result *result, const struct bare_result *results, int way)
{
    const struct bare_result *memory = &results[way], *fabric = &results[BARE_WAY_COUNT + way];
    const struct bare_times *first = fabric->times[0], *last = fabric->times[SIZE_COUNT - 1];
    const char *where = way == BARE_READS ? "fig 1a" : "fig 1b";
    const char *word = way == BARE_READS ? "read" : "write";
    double x[SIZE_COUNT], y[2][SIZE_COUNT], share = 1;
    for (size_t i = 0; i < SIZE_COUNT; i++) {
        const struct bare_times *times = fabric->times[i];
        x[i] = sizes[i];
        y[0][i] = memory->times[i]->total;
        y[1][i] = times->total;
        share = fmin(share, (times->total - times->post) / times->total);
    }
    const bool missing = isnan(first->total);
    const char *reason = figure_text(result, "%s", fabric->missing);
    figure_claim(result, where,
                 figure_text(result, "fi_%s: time to post 16 KiB, as a multiple of 8 B", word),
                 says_about(says_between(1, 1, NULL), 0.25), last->post / first->post,
                 missing ? reason : NULL);
    figure_claim(result, where, figure_text(result, "fi_%s: share of the time spent polling", word),
                 says_above(50, "%"), missing ? NAN : 100 * share, missing ? reason : NULL);
    figure_claim(result, where,
                 figure_text(result, "fi_%s: variance explained by a line in the size", word),
                 says_above(95, "%"), 100 * sample_line_of(x, y[1], SIZE_COUNT).share,
                 missing ? reason : NULL);
    figure_claim(result, where,
                 figure_text(result, "memory %s: variance explained by a line in the size", word),
                 says_above(95, "%"), 100 * sample_line_of(x, y[0], SIZE_COUNT).share, NULL);
}

static enum err fig1_run(struct figure_result *result, const struct figure_call *call,
                         struct why *why)
{
    struct figure_table *table =
        figure_table_add(result, "latency",
                         "size (B), memory_read (us), memory_write (us), fi_read (us), "
                         "fi_read_post (us), fi_read_poll (us), fi_write (us), "
                         "fi_write_post (us), fi_write_poll (us)");
    struct bare_result results[KIND_COUNT];
    enum err err = operate(results, call, sizes, SIZE_COUNT, 1, why);
    for (size_t i = 0; i < SIZE_COUNT && !err; i++) {
        const struct bare_times *read = results[BARE_WAY_COUNT + BARE_READS].times[i];
        const struct bare_times *write = results[BARE_WAY_COUNT + BARE_WRITES].times[i];
        figure_row_numbers(table, (double[]){sizes[i], results[BARE_READS].times[i]->total,
                                             results[BARE_WRITES].times[i]->total, read->total,
                                             read->post, read->total - read->post, write->total,
                                             write->post, write->total - write->post});
    }
    for (int way = 0; way < BARE_WAY_COUNT && !err; way++)
        size_claims(result, results, way);
    if (crowd_cores() < 2)
        figure_not_run(result, CROWD_NEEDS_CORES);
    return err;
}

const struct figure figure_sst_fig1 = {
    .name = "sst-fig1",
    .paper = "SST",
    .what = "times of one-sided reads and writes by size",
    .full = {"6 sizes, 2,000 operations each", .seconds = 4},
    .quick = {"6 sizes, 20 operations each", .seconds = 1},
    .choice = "fi_read and fi_write are libfabric's calls over its tcp provider. \"Constant\" is "
              "taken as within a quarter, \"linear\" as a straight line that explains 95 % of the "
              "variance. Over mapped memory nothing is posted: a read is a memcpy of cache lines "
              "that the other core has changed, a write is a memcpy and a barrier.",
    .measured = true,
    .plot.table = "latency",
    .plot.x = {.column = "size", .label = "size (B)", .log = true},
    .plot.y = {.label = "latency (us)", .log = true},
    .plot.series =
        {
            {"fi_read", "fi_read", NULL, NULL, STYLE_BOTH},
            {"fi_read, posting", "fi_read_post", NULL, NULL, STYLE_BOTH},
            {"fi_write", "fi_write", NULL, NULL, STYLE_BOTH},
            {"fi_write, posting", "fi_write_post", NULL, NULL, STYLE_BOTH},
            {"read of mapped memory", "memory_read", NULL, NULL, STYLE_BOTH},
            {"write to mapped memory", "memory_write", NULL, NULL, STYLE_BOTH},
        },
    .run = fig1_run,
};

/* --- figure 3 --- */

static const uint32_t row_sizes[] = {8, 64, 1024, 4096}, row_sizes_quick[] = {8, 4096};

static void row_claim(struct figure_result *result, int kind, uint32_t size,
                      const struct bare_times times[BARE_ROWS_MAX], const char *missing)
{
    int medium = kind / BARE_WAY_COUNT, way = kind % BARE_WAY_COUNT;
    double factor = times[BARE_ROWS_MAX - 1].total / times[0].total;
    figure_claim(result, way == BARE_READS ? "fig 3a" : "fig 3b",
                 figure_text(result, "%s, %s, %u B: seven at once, as a multiple of one",
                             bare_way_names[way], bare_medium_names[medium], size),
                 says_below(2, NULL), factor,
                 isnan(factor) ? figure_text(result, "%s", missing) : NULL);
}

static enum err fig3_run(struct figure_result *result, const struct figure_call *call,
                         struct why *why)
{
    struct figure_table *table = figure_table_add(
        result, "rows",
        "size (B), rows, memory_read (us), memory_write (us), fi_read (us), fi_write (us)");
    struct bare_result results[KIND_COUNT];
    const uint32_t *used = call->quick ? row_sizes_quick : row_sizes;
    uint32_t count = (call->quick ? sizeof row_sizes_quick : sizeof row_sizes) / sizeof *used;
    enum err err = operate(results, call, used, count, BARE_ROWS_MAX, why);
    for (size_t i = 0; i < count && !err; i++)
        for (uint32_t rows = 1; rows <= BARE_ROWS_MAX; rows++) {
            struct figure_cell cells[2 + KIND_COUNT];
            cells[0] = figure_number(used[i]);
            cells[1] = figure_number(rows);
            for (int kind = 0; kind < KIND_COUNT; kind++)
                cells[2 + kind] = figure_number(results[kind].times[i][rows - 1].total);
            figure_row(table, cells);
        }
    for (int kind = 0; kind < KIND_COUNT && !err; kind++) {
        const struct bare_result *found = &results[kind];
        row_claim(result, kind, used[0], found->times[0], found->missing);
        row_claim(result, kind, used[count - 1], found->times[count - 1], found->missing);
    }
    if (crowd_cores() < 2)
        figure_not_run(result, CROWD_NEEDS_CORES);
    return err;
}

const struct figure figure_sst_fig3 = {
    .name = "sst-fig3",
    .paper = "SST",
    .what = "times of one-sided reads and writes of 1 to 7 rows at once",
    .full = {"4 sizes, 1 to 7 rows, 2,000 operations each", .seconds = 10},
    .quick = {"2 sizes, 1 to 7 rows, 20 operations each", .seconds = 3},
    .choice = "One process on the other core owns all rows, with an endpoint for each, because in "
              "the paper network adapters serve the rows, not processes that take turns.",
    .measured = true,
    .plot.table = "rows",
    .plot.x = {.column = "rows", .label = "rows at once"},
    .plot.y = {.label = "latency (us)", .log = true},
    .plot.series =
        {
            {"fi_read, 8 B", "fi_read", "size", "8", STYLE_BOTH},
            {"fi_read, 4 KB", "fi_read", "size", "4096", STYLE_BOTH},
            {"fi_write, 8 B", "fi_write", "size", "8", STYLE_BOTH},
            {"fi_write, 4 KB", "fi_write", "size", "4096", STYLE_BOTH},
            {"memory read, 8 B", "memory_read", "size", "8", STYLE_BOTH},
            {"memory read, 4 KB", "memory_read", "size", "4096", STYLE_BOTH},
            {"memory write, 8 B", "memory_write", "size", "8", STYLE_BOTH},
            {"memory write, 4 KB", "memory_write", "size", "4096", STYLE_BOTH},
        },
    .run = fig3_run,
};
