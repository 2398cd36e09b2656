/* sst_simple: table 4 and section 5.5.2 of "Distributed State Sharing and Predicate Detection
 * over RDMA": how soon node 0 detects the simplest predicate, which reads one other row, and the
 * most complex one, which reads all rows.
 *
 * The simplest is compared with bare operations: polling a word in the memory of the other
 * process, or in our own, into which the other process writes. All run in turn, several times,
 * and their times are pooled. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "measured/figures.h"
#include "measured/sample.h"
#include "measured/sst/sst_bare.h"
#include "measured/sst/sst_detect.h"

/* --- table 4 --- */

#define ROUNDS      4
#define TRIPS       5000 /* in each round */
#define TRIPS_SLOW  500  /* over libfabric */
#define TRIPS_QUICK 100
#define POOL_MAX    (ROUNDS * TRIPS)
#define QUANTILES   20 /* of the plotted distribution */

enum { WITH_TABLE, WITHOUT, MAKE_COUNT };

/* The times of one medium and one way, with a table or without. */
struct cell {
    double values[POOL_MAX]; /* half of a trip, us */
    size_t count;
    struct sample sample;
    char missing[CROWD_REASON_SIZE];
};

struct cells {
    struct cell cells[BARE_MEDIUM_COUNT][BARE_WAY_COUNT][MAKE_COUNT];
    struct detect_result detected; /* crowd_memory */
};

static const char *const make_names[MAKE_COUNT] = {[WITH_TABLE] = "SST", [WITHOUT] = "bare"};
static const char *const medium_marks[BARE_MEDIUM_COUNT] = {
    [BARE_MEMORY] = "",
    [BARE_FABRIC] = " over libfabric tcp",
};

/* Mean and deviation that the paper prints. */
static const double printed[BARE_WAY_COUNT][MAKE_COUNT][2] = {
    [BARE_READS] = {{2.22, 2.47}, {4.60, 3.21}},
    [BARE_WRITES] = {{4.50, 2.17}, {5.81, 1.67}},
};

static enum sst_design design_of(int way)
{
    return way == BARE_READS ? SST_READS : SST_WRITES;
}

/* Adds half of the time of each trip. */
static void cell_add(struct cell *cell, const struct trip_log *log)
{
    for (uint32_t i = 0; i < log->count && cell->count < POOL_MAX; i++)
        cell->values[cell->count++] = log->usec[i] / 2;
}

static enum err cell_measure(struct cells *cells, int medium, int way, int make,
                             const struct figure_call *call, uint64_t seed, struct why *why)
{
    struct cell *cell = &cells->cells[medium][way][make];
    struct detect_result *detected = &cells->detected;
    bool far = medium == BARE_FABRIC;
    uint32_t trips = call->quick ? (far ? TRIPS_QUICK / 4 : TRIPS_QUICK) : far ? TRIPS_SLOW : TRIPS;
    enum err err;
    if (cell->missing[0])
        return OK;
    if (make == WITHOUT) {
        struct bare_job job = {
            .medium = (enum bare_medium)medium,
            .way = (enum bare_way)way,
            .count = trips,
            .seed = seed,
        };
        err = bare_trips(&job, &detected->acts[0], cell->missing, why);
    } else {
        struct detect_job job = {
            .nodes = 2,
            .design = design_of(way),
            .waiting = NODES_BUSY,
            .fabric = medium == BARE_FABRIC,
            .seed = seed,
            .act_count = 1,
            .acts = {{.rows = 1, .trips = trips, .warm = trip_warm(trips)}},
        };
        err = detect_run(&job, detected, why);
        strcpy(cell->missing, detected->missing);
    }
    if (!err)
        cell_add(cell, &detected->acts[0]);
    return err;
}

static void cells_fill(struct figure_result *result, struct cells *cells)
{
    struct figure_table *table =
        figure_table_add(result, "simplest",
                         "medium, way, sst_mean (us), sst_deviation (us), sst_median (us), "
                         "sst_high (us), bare_mean (us), bare_deviation (us), bare_median (us), "
                         "bare_high (us), paper_sst (us), paper_sst_deviation (us), "
                         "paper_bare (us), paper_bare_deviation (us)");
    struct figure_table *shares =
        figure_table_add(result, "distribution", "curve, latency (us), share (%)");
    for (int at = 0; at < BARE_MEDIUM_COUNT * BARE_WAY_COUNT; at++) {
        int medium = at / BARE_WAY_COUNT, way = at % BARE_WAY_COUNT, used = 0;
        double row[6 * MAKE_COUNT];
        for (int make = 0; make < MAKE_COUNT; make++) {
            struct cell *cell = &cells->cells[medium][way][make];
            cell->sample = sample_of(cell->values, cell->count);
            row[used++] = cell->sample.mean;
            row[used++] = cell->sample.deviation;
            row[used++] = cell->sample.median;
            row[used++] = cell->sample.high;
            for (size_t i = 1; i < QUANTILES && cell->count; i++)
                figure_row_named(shares,
                                 figure_text(result, "%s %s%s", make_names[make],
                                             bare_way_names[way], medium_marks[medium]),
                                 (double[]){cell->values[i * cell->count / QUANTILES],
                                            100.0 * (double)i / QUANTILES});
        }
        for (int make = 0; make < MAKE_COUNT; make++)
            for (int k = 0; k < 2; k++)
                row[used++] = medium == BARE_MEMORY ? printed[way][make][k] : NAN;
        figure_row_words(table, bare_medium_names[medium], bare_way_names[way], row);
    }
}

static void cell_claims(struct figure_result *result, const struct cells *cells, int medium)
{
    const char *where = "table 4", *name = bare_medium_names[medium];
    for (int way = 0; way < BARE_WAY_COUNT; way++) {
        const struct cell *made = cells->cells[medium][way];
        const char *missing = figure_text(result, "%s", made[WITH_TABLE].missing);
        bool here = made[WITH_TABLE].count && made[WITHOUT].count;
        for (int make = 0; make < MAKE_COUNT; make++)
            figure_claim(
                result, where,
                figure_text(result, "%s %s, %s: mean", make_names[make], bare_way_names[way], name),
                says_at_most(printed[way][make][0], "us"), made[make].sample.mean,
                here ? NULL : missing);
        figure_claim(result, "section 5.5.1",
                     figure_text(result, "SST as a multiple of bare, %s, %s: medians",
                                 bare_way_names[way], name),
                     says_about(says_at_most(1, NULL), 0.1),
                     made[WITH_TABLE].sample.median / made[WITHOUT].sample.median,
                     here ? NULL : missing);
    }
    const struct cell *reads = &cells->cells[medium][BARE_READS][WITH_TABLE];
    const struct cell *writes = &cells->cells[medium][BARE_WRITES][WITH_TABLE];
    figure_claim(result, "section 5.5.1",
                 figure_text(result, "deviation of SST reads over that of SST writes, %s", name),
                 says_above(1, NULL), reads->sample.deviation / writes->sample.deviation,
                 reads->count && writes->count ? NULL : figure_text(result, "%s", reads->missing));
}

static enum err table4_run(struct figure_result *result, const struct figure_call *call,
                           struct why *why)
{
    const int kinds = BARE_MEDIUM_COUNT * BARE_WAY_COUNT * MAKE_COUNT;
    int rounds = crowd_cores() < 2 ? 0 : call->quick ? 1 : ROUNDS;
    struct cells *cells = crowd_memory(sizeof *cells);
    enum err err = OK;
    if (!cells)
        return why_memory(why);
    for (int i = 0; i < rounds * kinds && !err; i++) {
        int kind = i % kinds, make = kind % MAKE_COUNT;
        err = cell_measure(cells, kind / MAKE_COUNT / BARE_WAY_COUNT,
                           kind / MAKE_COUNT % BARE_WAY_COUNT, make, call,
                           call->seed + (uint64_t)(i / kinds), why);
        figure_progress(call, (uint64_t)i + 1, (uint64_t)rounds * (uint64_t)kinds);
    }
    if (!err) {
        cells_fill(result, cells);
        for (int medium = 0; medium < BARE_MEDIUM_COUNT; medium++)
            cell_claims(result, cells, medium);
    }
    if (rounds == 0)
        figure_not_run(result, CROWD_NEEDS_CORES);
    crowd_memory_free(cells, sizeof *cells);
    return err;
}

const struct figure figure_sst_table4 = {
    .name = "sst-table4",
    .paper = "SST",
    .what = "time to detect the simplest predicate of two nodes, and bare reads and writes",
    .full = {"2 processes, 20,000 trips; 2,000 over libfabric tcp", .seconds = 15},
    .quick = {"2 processes, 100 trips; 25 over libfabric tcp", .seconds = 2},
    .choice = "Two processes on two cores replace two machines. \"SST\" is a predicate of a shared "
              "state table, \"bare\" the same operation without a table; nodes read each other's "
              "rows, or write into each other's memory. Mean and deviation leave out the slowest "
              "hundredth. \"Negligible\" is taken as at most a tenth. In the printed table, reads "
              "with SST take half as long as bare reads: SST does more than the bare operation and "
              "cannot take less time, so the paper's bare reads must have used another loop.",
    .measured = true,
    .plot.table = "distribution",
    .plot.x = {.column = "latency", .label = "time to detect (us)", .log = true},
    .plot.y = {.label = "share of trips that are at most as long (%)"},
    .plot.series =
        {
            {"SST reads", "share", "curve", "SST reads", STYLE_LINE},
            {"bare reads", "share", "curve", "bare reads", STYLE_LINE},
            {"SST writes", "share", "curve", "SST writes", STYLE_LINE},
            {"bare writes", "share", "curve", "bare writes", STYLE_LINE},
            {"SST reads, tcp", "share", "curve", "SST reads over libfabric tcp", STYLE_LINE},
            {"bare reads, tcp", "share", "curve", "bare reads over libfabric tcp", STYLE_LINE},
            {"SST writes, tcp", "share", "curve", "SST writes over libfabric tcp", STYLE_LINE},
            {"bare writes, tcp", "share", "curve", "bare writes over libfabric tcp", STYLE_LINE},
        },
    .run = table4_run,
};

/* --- section 5.5.2 --- */

#define COMPLEX_NODES       25
#define COMPLEX_NODES_QUICK 4

enum { SIMPLE, COMPLEX, COMPLEX_ACTS };

static double complex_printed(int way)
{
    return way == BARE_READS ? 12.04 : 11.6;
}

/* Measures the median trip of each act. */
static enum err complex_trips(const struct figure_call *call, int way,
                              enum sst_node_waiting waiting, uint32_t nodes,
                              double trips[COMPLEX_ACTS], struct why *why)
{
    struct detect_result *result = crowd_memory(sizeof *result);
    bool slow = waiting == NODES_BUSY && nodes > 2;
    uint32_t count = slow ? 20 : call->quick ? 50 : 2000, warm = trip_warm(count);
    struct detect_job job = {
        .nodes = nodes,
        .design = design_of(way),
        .waiting = waiting,
        .seed = call->seed,
        .act_count = COMPLEX_ACTS,
        .acts = {[SIMPLE] = {.rows = 1, .trips = count, .warm = warm},
                 [COMPLEX] = {.rows = nodes - 1, .all = true, .trips = count, .warm = warm}},
    };
    if (!result)
        return why_memory(why);
    enum err err = detect_run(&job, result, why);
    for (int act = 0; act < COMPLEX_ACTS && !err; act++)
        trips[act] = sample_median(result->acts[act].usec, result->acts[act].count);
    crowd_memory_free(result, sizeof *result);
    return err;
}

/* Measures one way to wait and one design, and adds a row. *found is the time of the complex
 * predicate: its trip less the way there, which is half a trip of the simple predicate. With two
 * nodes *found is the time of the simple predicate. */
static enum err complex_row(struct figure_table *table, const struct figure_call *call, int way,
                            enum sst_node_waiting waiting, uint32_t nodes, double *found,
                            struct why *why)
{
    double trips[COMPLEX_ACTS];
    enum err err = complex_trips(call, way, waiting, nodes, trips, why);
    if (err)
        return err;
    *found = trips[COMPLEX] - trips[SIMPLE] / 2;
    figure_row_words(table, sst_node_waiting_names[waiting], bare_way_names[way],
                     (double[]){nodes, trips[SIMPLE] / 2, nodes > 2 ? *found : NAN,
                                nodes == COMPLEX_NODES ? complex_printed(way) : NAN});
    *found = nodes > 2 ? *found : trips[SIMPLE] / 2;
    return OK;
}

static void complex_claims(struct figure_result *result, int way, bool full, const double found[3])
{
    const char *needs = full ? NULL : "only the full size has 25 nodes: run it without --quick";
    const char *name = bare_way_names[way];
    figure_claim_needs(result, "section 5.5.2",
                       figure_text(result, "%s, 25 nodes, yielding: predicate over all rows", name),
                       says_at_most(complex_printed(way), "us"), needs, found[NODES_YIELD], NULL);
    figure_claim_needs(result, "section 5.5.2",
                       figure_text(result, "%s, 25 nodes, busy as in the paper: the same", name),
                       says_at_most(complex_printed(way), "us"), needs, found[NODES_BUSY], NULL);
    figure_claim_needs(
        result, "section 5.5.2",
        figure_text(result, "%s: yielding, as a multiple of the simplest predicate", name),
        says_below(6, NULL), needs, found[NODES_YIELD] / found[2], NULL);
}

static enum err complex_run(struct figure_result *result, const struct figure_call *call,
                            struct why *why)
{
    struct figure_table *table = figure_table_add(
        result, "complex", "waiting, way, nodes, simple (us), complex (us), paper_complex (us)");
    uint32_t nodes = call->quick ? COMPLEX_NODES_QUICK : COMPLEX_NODES;
    enum sst_node_waiting two = crowd_cores() < 2 ? NODES_YIELD : NODES_BUSY;
    double found[BARE_WAY_COUNT][3] = {{0}}; /* by way to wait; [2]: of two nodes */
    static_assert(NODES_BUSY < 2 && NODES_YIELD < 2, "they are indices");
    for (int way = 0; way < BARE_WAY_COUNT; way++) {
        enum err err = complex_row(table, call, way, two, 2, &found[way][2], why);
        if (!err)
            err = complex_row(table, call, way, NODES_YIELD, nodes, &found[way][NODES_YIELD], why);
        if (!err && !call->quick)
            err = complex_row(table, call, way, NODES_BUSY, nodes, &found[way][NODES_BUSY], why);
        if (err)
            return err;
        figure_progress(call, (uint64_t)way + 1, BARE_WAY_COUNT);
    }
    for (int way = 0; way < BARE_WAY_COUNT; way++)
        complex_claims(result, way, !call->quick, found[way]);
    return OK;
}

const struct figure figure_sst_complex = {
    .name = "sst-complex",
    .paper = "SST",
    .what = "time to detect a predicate over all rows, which all nodes set at once",
    .full = {"25 processes, 2,000 trips", .seconds = 8},
    .quick = {"4 processes, 50 trips", .seconds = 1},
    .choice = "Measured as in the paper: a trip to all nodes and back, less the time of the "
              "simplest predicate with the same number of nodes; medians. Processes replace "
              "machines and share the cores of this one; they yield the core after each pass, or "
              "never (busy).",
    .measured = true,
    .plot.table = "complex",
    .plot.x = {.column = "nodes", .label = "nodes"},
    .plot.y = {.label = "time to detect (us)", .log = true},
    .plot.series =
        {
            {"simplest, yielding", "simple", "waiting", "yielding", STYLE_POINTS},
            {"all rows, yielding", "complex", "waiting", "yielding", STYLE_POINTS},
            {"simplest, busy", "simple", "waiting", "busy", STYLE_POINTS},
            {"all rows, busy", "complex", "waiting", "busy", STYLE_POINTS},
            {"in the paper", "paper_complex", NULL, NULL, STYLE_PAPER},
        },
    .run = complex_run,
};
