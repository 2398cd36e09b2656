/* sst_detection: figures 5 and 6 of "Distributed State Sharing and Predicate Detection over RDMA":
 * the time until node 0 detects that a predicate holds, by the number of rows that it reads, by
 * the number of nodes, and by the number of elements in a row.
 *
 * Node 0 and the node that makes the predicate true have a core each. The other nodes are members,
 * with rows that are written or fetched, and rest. The same is measured with all detectors polling
 * and yielding, and over libfabric's tcp. */
#include <math.h>
#include <stdio.h>

#include "measured/figures.h"
#include "measured/sample.h"
#include "measured/sst/sst_detect.h"

#define TRIPS       3000
#define TRIPS_SLOW  1000 /* over libfabric, and with yielding detectors */
#define TRIPS_QUICK 30
#define CONSTANT    1.5 /* "roughly constant" and "equivalent": within this factor */

/* The first act is a rehearsal that warms up caches, connections and the scheduler. Over libfabric
 * it takes longest, about 0.1 s, until the keeper threads of all contexts stop polling. */
#define REHEARSAL_TRIPS     100
#define REHEARSAL_TRIPS_FAR 3000

static void rehearsal_set(struct detect_job *job, bool quick)
{
    uint32_t trips = job->fabric ? REHEARSAL_TRIPS_FAR : REHEARSAL_TRIPS;
    job->acts[0] = (struct detect_act){.rows = 1, .trips = quick ? TRIPS_QUICK : trips};
}

/* Computes the times to detect of the acts after the rehearsal, in us. For the first act it is half
 * of the median trip; for the others the median trip less the way there, which is the time of the
 * first act. With `halves` it is half of each trip: if nodes take turns, or the kernel is between
 * them, the difference of two trips means less than either. */
static enum err times_find(const struct detect_job *job, bool halves,
                           double times[DETECT_ACTS_MAX - 1], char missing[CROWD_REASON_SIZE],
                           struct why *why)
{
    struct detect_result *result = crowd_memory(sizeof *result);
    if (!result)
        return why_memory(why);
    enum err err = detect_run(job, result, why);
    for (uint32_t i = 1; i < job->act_count && !err; i++) {
        double trip = sample_median(result->acts[i].usec, result->acts[i].count);
        times[i - 1] = i == 1 || halves ? trip / 2 : trip - times[0];
    }
    if (!err)
        snprintf(missing, CROWD_REASON_SIZE, "%s", result->missing);
    crowd_memory_free(result, sizeof *result);
    return err;
}

/* --- figure 5 --- */

enum { ONE_ROW, HALF_ROWS, ALL_ROWS, ROW_ACTS };

#define NODES_MAX 5

/* One of the three settings in which figure 5 is measured. */
struct setting {
    const char *table;
    enum sst_node_waiting waiting;
    bool fabric;
    uint32_t nodes[NODES_MAX], nodes_quick[NODES_MAX]; /* 0 ends them */
};

static const struct setting settings[] = {
    {"memory", NODES_REST, false, {5, 10, 15, 20, 25}, {3, 5}},
    {"yielding", NODES_YIELD, false, {5, 15, 25}, {3, 5}},
    {"libfabric_tcp", NODES_REST, true, {2, 4, 8}, {2, 3}},
};
#define SETTING_COUNT (sizeof settings / sizeof settings[0])

struct found {
    uint32_t nodes[NODES_MAX];
    size_t count;                         /* of nodes */
    double times[2][NODES_MAX][ROW_ACTS]; /* by design */
    char missing[CROWD_REASON_SIZE];
    const char *needs; /* why it is not run on this machine, or NULL */
};

static uint32_t act_rows(uint32_t nodes, int act)
{
    return act == ONE_ROW ? 1 : act == ALL_ROWS ? nodes - 1 : nodes / 2;
}

/* Nodes that poll need a core each; nodes that yield can share one. */
static bool needs_cores(const struct setting *setting)
{
    return setting->waiting != NODES_YIELD && crowd_cores() < 2;
}

/* Measures one number of nodes and one design. */
static enum err setting_times(const struct setting *setting, const struct figure_call *call,
                              uint32_t nodes, int design, double times[ROW_ACTS],
                              char missing[CROWD_REASON_SIZE], struct why *why)
{
    bool yields = setting->waiting == NODES_YIELD;
    uint32_t trips = call->quick ? TRIPS_QUICK : setting->fabric || yields ? TRIPS_SLOW : TRIPS;
    struct detect_job job = {
        .nodes = nodes,
        .design = (enum sst_design)design,
        .waiting = setting->waiting,
        .fabric = setting->fabric,
        .seed = call->seed,
        .act_count = 1 + ROW_ACTS,
    };
    rehearsal_set(&job, call->quick);
    for (int act = 0; act < ROW_ACTS; act++) {
        times[act] = NAN;
        job.acts[1 + act] = (struct detect_act){
            .rows = act_rows(nodes, act),
            .trips = trips,
            .warm = trip_warm(trips),
        };
    }
    return needs_cores(setting) ? OK
                                : times_find(&job, yields || setting->fabric, times, missing, why);
}

static enum err setting_run(const struct setting *setting, const struct figure_call *call,
                            struct found *found, struct why *why)
{
    const uint32_t *nodes = call->quick ? setting->nodes_quick : setting->nodes;
    enum err err = OK;
    *found = (struct found){.needs = needs_cores(setting) ? CROWD_NEEDS_CORES : NULL};
    for (size_t i = 0; i < NODES_MAX && nodes[i]; i++) {
        found->nodes[found->count++] = nodes[i];
        for (int design = 0; design < 2 && !err; design++)
            err = setting_times(setting, call, nodes[i], design, found->times[design][i],
                                found->missing, why);
    }
    return err;
}

static void rows_fill(struct figure_result *result, const struct setting *setting,
                      const struct found *found)
{
    struct figure_table *table =
        figure_table_add(result, setting->table, "curve, way, nodes, rows, latency (us)");
    for (int design = 0; design < 2; design++)
        for (size_t i = 0; i < found->count; i++)
            for (int act = 0; act < ROW_ACTS; act++) {
                const char *name = sst_node_design_names[design];
                uint32_t rows = act_rows(found->nodes[i], act);
                if (act > 0 && rows == act_rows(found->nodes[i], act - 1))
                    continue; /* few nodes: it is the same act */
                figure_row_words(table, figure_text(result, "%s %u", name, found->nodes[i]), name,
                                 (double[]){found->nodes[i], rows, found->times[design][i][act]});
            }
}

static void factor_claim(struct figure_result *result, const struct found *found, const char *what,
                         struct says says, double factor)
{
    figure_claim_needs(result, "section 5.6.1", what, says, found->needs, factor,
                       isnan(factor) ? figure_text(result, "%s", found->missing) : NULL);
}

static void row_claims(struct figure_result *result, const struct setting *setting,
                       const struct found *found)
{
    size_t last = found->count - 1;
    uint32_t most = found->nodes[last], fewest = found->nodes[0];
    const double(*reads)[ROW_ACTS] = found->times[SST_READS];
    const double(*writes)[ROW_ACTS] = found->times[SST_WRITES];
    const char *table = setting->table;
    bool yields = setting->waiting == NODES_YIELD;
    factor_claim(result, found,
                 figure_text(result, "reads, one row: %u nodes over %u, %s", most, fewest, table),
                 says_above(CONSTANT, NULL), reads[last][ONE_ROW] / reads[0][ONE_ROW]);
    factor_claim(result, found,
                 figure_text(result, "writes, one row: %u nodes over %u, %s", most, fewest, table),
                 says_at_most(CONSTANT, NULL), writes[last][ONE_ROW] / writes[0][ONE_ROW]);
    if (yields)
        return; /* the other claims would judge the scheduler */
    factor_claim(result, found,
                 figure_text(result, "reads, %u nodes: all rows over one row, %s", most, table),
                 says_at_most(CONSTANT, NULL), reads[last][ALL_ROWS] / reads[last][ONE_ROW]);
    factor_claim(result, found,
                 figure_text(result, "writes, %u nodes: all rows over one row, %s", most, table),
                 says_above(1, NULL), writes[last][ALL_ROWS] / writes[last][ONE_ROW]);
    factor_claim(result, found,
                 figure_text(result, "all rows, %u nodes: writes over reads, %s", most, table),
                 says_between(1 / CONSTANT, CONSTANT, NULL),
                 writes[last][ALL_ROWS] / reads[last][ALL_ROWS]);
}

static enum err fig5_run(struct figure_result *result, const struct figure_call *call,
                         struct why *why)
{
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        struct found found;
        enum err err = setting_run(&settings[i], call, &found, why);
        if (err)
            return err;
        rows_fill(result, &settings[i], &found);
        row_claims(result, &settings[i], &found);
        figure_progress(call, i + 1, SETTING_COUNT);
    }
    return OK;
}

const struct figure figure_sst_fig5 = {
    .name = "sst-fig5",
    .paper = "SST",
    .what = "time to detect a predicate, by the rows that it reads and by nodes",
    .full = {"5 to 25 processes, 3,000 trips; 2 to 8 over libfabric tcp, 1,000 trips",
             .seconds = 30},
    .quick = {"2 to 5 processes, 30 trips", .seconds = 4},
    .choice =
        "Claims are ratios of times. Measured as in the paper: a trip less the way there; medians. "
        "Nodes read each other's rows, or write into each other's memory. In the table \"memory\" "
        "two nodes have a core each and the others rest; in \"yielding\" all nodes poll and yield "
        "the core. There, and over libfabric, half of a trip is shown. \"Roughly constant\" is "
        "taken as within a factor of 1.5, \"increases\" as by more.",
    .measured = true,
    .plot.table = "memory",
    .plot.x = {.column = "rows", .label = "rows that the predicate reads"},
    .plot.y = {.label = "time to detect (us)"},
    .plot.series =
        {
            {"reads, 5 nodes", "latency", "curve", "reads 5", STYLE_BOTH},
            {"reads, 10 nodes", "latency", "curve", "reads 10", STYLE_BOTH},
            {"reads, 15 nodes", "latency", "curve", "reads 15", STYLE_BOTH},
            {"reads, 20 nodes", "latency", "curve", "reads 20", STYLE_BOTH},
            {"reads, 25 nodes", "latency", "curve", "reads 25", STYLE_BOTH},
            {"writes, 5 nodes", "latency", "curve", "writes 5", STYLE_BOTH},
            {"writes, 10 nodes", "latency", "curve", "writes 10", STYLE_BOTH},
            {"writes, 15 nodes", "latency", "curve", "writes 15", STYLE_BOTH},
            {"writes, 20 nodes", "latency", "curve", "writes 20", STYLE_BOTH},
            {"writes, 25 nodes", "latency", "curve", "writes 25", STYLE_BOTH},
        },
    .run = fig5_run,
};

/* --- figure 6 --- */

#define SIZES_MAX       5
#define NODE_COUNTS_MAX 4

static const uint32_t elements_full[SIZES_MAX] = {1, 16, 64, 256, 1024};
static const uint32_t elements_quick[SIZES_MAX] = {1, 1024};
static const uint32_t nodes_full[NODE_COUNTS_MAX] = {2, 8, 16, 24};
static const uint32_t nodes_quick[NODE_COUNTS_MAX] = {2, 4};

struct grid {
    size_t nodes, sizes; /* how many rows and columns of `times` are used */
    double times[2][NODE_COUNTS_MAX][SIZES_MAX];
};

static enum err grid_cell(const struct figure_call *call, uint32_t nodes, uint32_t elements,
                          int design, double *time, struct why *why)
{
    uint32_t trips = call->quick ? TRIPS_QUICK : TRIPS / 3;
    char missing[CROWD_REASON_SIZE];
    double times[DETECT_ACTS_MAX - 1] = {NAN, NAN};
    struct detect_job job = {
        .nodes = nodes,
        .design = (enum sst_design)design,
        .waiting = NODES_REST,
        .elements = elements,
        .seed = call->seed,
        .act_count = 3,
        .acts =
            {[1] = {.rows = 1, .trips = trips, .warm = trip_warm(trips)},
             [2] = {.rows = nodes - 1, .elements = true, .trips = trips, .warm = trip_warm(trips)}},
    };
    rehearsal_set(&job, call->quick);
    enum err err = crowd_cores() < 2 ? OK : times_find(&job, false, times, missing, why);
    *time = times[1];
    return err;
}

static void grid_claims(struct figure_result *result, const struct grid *grid)
{
    size_t nodes = grid->nodes - 1, sizes = grid->sizes - 1;
    for (int design = 0; design < 2; design++) {
        const double(*times)[SIZES_MAX] = grid->times[design];
        const char *name = sst_node_design_names[design];
        double most = times[nodes][sizes];
        figure_claim(result, "fig 6", figure_text(result, "%s, 4 KB: most nodes over fewest", name),
                     says_above(1, NULL), most / times[0][sizes], NULL);
        figure_claim(result, "fig 6", figure_text(result, "%s, most nodes: 4 KB over 4 B", name),
                     says_above(1, NULL), most / times[nodes][0], NULL);
    }
    double equal = grid->times[SST_WRITES][nodes][sizes] / grid->times[SST_READS][nodes][sizes];
    figure_claim(result, "section 5.6.2", "4 KB, most nodes: writes over reads",
                 says_between(1 / CONSTANT, CONSTANT, NULL), equal, NULL);
    if (crowd_cores() < 2)
        figure_not_run(result, CROWD_NEEDS_CORES);
}

static enum err fig6_run(struct figure_result *result, const struct figure_call *call,
                         struct why *why)
{
    struct figure_table *table =
        figure_table_add(result, "size", "nodes, size (B), writes (us), reads (us)");
    const uint32_t *nodes = call->quick ? nodes_quick : nodes_full;
    const uint32_t *elements = call->quick ? elements_quick : elements_full;
    struct grid grid = {
        .nodes = call->quick ? 2 : NODE_COUNTS_MAX,
        .sizes = call->quick ? 2 : SIZES_MAX,
    };
    for (size_t i = 0; i < grid.nodes * grid.sizes; i++) {
        size_t at = i / grid.sizes, size = i % grid.sizes;
        for (int design = 0; design < 2; design++) {
            enum err err = grid_cell(call, nodes[at], elements[size], design,
                                     &grid.times[design][at][size], why);
            if (err)
                return err;
        }
        figure_row_numbers(table, (double[]){nodes[at], 4.0 * elements[size],
                                             grid.times[SST_WRITES][at][size],
                                             grid.times[SST_READS][at][size]});
        figure_progress(call, i + 1, grid.nodes * grid.sizes);
    }
    grid_claims(result, &grid);
    return OK;
}

const struct figure figure_sst_fig6 = {
    .name = "sst-fig6",
    .paper = "SST",
    .what = "time to detect a predicate over all elements of all rows, by size of a row",
    .full = {"2 to 24 processes, rows of 4 B to 4 KB, 1,000 trips", .seconds = 20},
    .quick = {"2 and 4 processes, rows of 4 B and 4 KB, 30 trips", .seconds = 4},
    .choice = "Claims are ratios of times. A node puts its whole row, as in the paper; two nodes "
              "have a core each, the others rest; medians. \"Equivalently\" is taken as within a "
              "factor of 1.5.",
    .measured = true,
    .plot.table = "size",
    .plot.x = {.column = "size", .label = "size of a row (B)", .log = true},
    .plot.y = {.label = "time to detect (us)", .log = true},
    .plot.series =
        {
            {"reads, 2 nodes", "reads", "nodes", "2", STYLE_BOTH},
            {"reads, 8 nodes", "reads", "nodes", "8", STYLE_BOTH},
            {"reads, 16 nodes", "reads", "nodes", "16", STYLE_BOTH},
            {"reads, 24 nodes", "reads", "nodes", "24", STYLE_BOTH},
            {"writes, 2 nodes", "writes", "nodes", "2", STYLE_BOTH},
            {"writes, 8 nodes", "writes", "nodes", "8", STYLE_BOTH},
            {"writes, 16 nodes", "writes", "nodes", "16", STYLE_BOTH},
            {"writes, 24 nodes", "writes", "nodes", "24", STYLE_BOTH},
        },
    .run = fig6_run,
};
