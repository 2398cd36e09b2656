/* sst_throughput: section 5.5.3 and figure 7 of "Distributed State Sharing and Predicate
 * Detection over RDMA": how often a second a predicate that always holds is evaluated and its
 * trigger, which counts, is fired, by the number of rows that the predicate reads.
 *
 * Node 0 evaluates; the other nodes are members, set their rows and sleep. The predicate names
 * no columns, so that it is evaluated on every pass of the detector, as in the paper. */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/check.h"
#include "measured/figures.h"
#include "measured/sample.h"
#include "measured/sst/sst_node.h"
#include "transport/clock.h"

#define ACT_MAX       8
#define BATCH_MAX     500
#define BATCH_COUNT   1024 /* fires in a batch */
#define BATCHES       500
#define BATCHES_QUICK 5

struct throughput_job {
    uint32_t nodes;
    enum sst_design design;
    uint32_t batches;
    uint32_t act_count;
    uint32_t rows[ACT_MAX]; /* that the predicate reads, by act */
};

/* Shared by the crowd. */
struct stage {
    _Atomic bool done[ACT_MAX];      /* set by node 0's trigger, with release */
    double usec[ACT_MAX][BATCH_MAX]; /* of one fire; written by node 0, read by the parent */
};

struct play {
    const struct throughput_job *job;
    struct stage *stage;
};

/* The argument of node 0's callbacks. */
struct evaluator {
    struct sst_node node;
    const struct play *play;
    uint32_t act;
    uint32_t rows;
    uint64_t handle;
    uint64_t count; /* fires */
    uint32_t batch; /* batches that are done; the first one warms up */
    nsec since;
};

enum { VALUE };

static const struct sst_column columns[] = {
    {.name = "a", .type = SST_U64, .count = 1},
};

static bool all_are_set(const struct sst *table, void *argument)
{
    const struct evaluator *evaluator = argument;
    for (uint32_t i = 1; i <= evaluator->rows; i++)
        if (!sst_get_u64(table, evaluator->node.rows[i], VALUE))
            return false;
    return true;
}

static void batch_end(struct sst *table, struct evaluator *evaluator)
{
    struct stage *stage = evaluator->play->stage;
    nsec now = clock_now();
    if (evaluator->batch > 0)
        stage->usec[evaluator->act][evaluator->batch - 1] =
            (double)(now - evaluator->since) * 1e-3 / BATCH_COUNT;
    if (evaluator->batch++ == evaluator->play->job->batches) {
        sst_predicate_remove(table, evaluator->handle);
        atomic_store_explicit(&stage->done[evaluator->act], true, memory_order_release);
    }
    evaluator->since = clock_now();
}

static void count_one(struct sst *table, void *argument)
{
    struct evaluator *evaluator = argument;
    if (++evaluator->count % BATCH_COUNT == 0)
        batch_end(table, evaluator);
}

static void acts_run(struct evaluator *evaluator)
{
    const struct play *play = evaluator->play;
    struct sst_node *node = &evaluator->node;
    for (uint32_t act = 0; act < play->job->act_count; act++) {
        evaluator->act = act;
        evaluator->rows = play->job->rows[act];
        evaluator->count = evaluator->batch = 0;
        struct sst_predicate predicate = {
            .name = "set",
            .kind = SST_RECURRENT,
            .holds = all_are_set,
            .fire = count_one,
            .argument = evaluator,
        };
        sst_node_check(node, sst_predicate_add(node->table, &predicate, &evaluator->handle),
                       "sst_predicate_add");
        sst_node_await(node, &play->stage->done[act]);
    }
}

static void throughput_play(struct crowd *crowd, const void *argument)
{
    const struct play *play = argument;
    const struct sst_node_plan plan = {
        .design = play->job->design,
        .waiting = NODES_REST,
        .columns = columns,
        .column_count = 1,
        .row_size = sizeof(uint64_t),
    };
    struct evaluator evaluator = {.play = play};
    struct sst_node *node = &evaluator.node;
    crowd_pin(crowd->index);
    sst_node_open(node, crowd, &plan, crowd->index == 0);
    sst_node_check(node, sst_set_u64(node->table, VALUE, 1), "sst_set_u64");
    sst_node_check(node, sst_flush(node->table, RIPC_FOREVER), "sst_flush");
    crowd_meet(crowd);
    if (crowd->index == 0)
        acts_run(&evaluator);
    crowd_meet(crowd);
}

/* Measures the fires a second of each act. */
static enum err throughput_run(const struct throughput_job *job, double rates[ACT_MAX],
                               struct why *why)
{
    struct stage *stage = crowd_memory(sizeof *stage);
    struct play play = {job, stage};
    struct crowd_play crowd = {"throughput", job->nodes, throughput_play, &play};
    struct crowd_end end;
    assert(job->act_count <= ACT_MAX && job->batches <= BATCH_MAX);
    if (!stage)
        return why_memory(why);
    enum err err = crowd_run(&crowd, &end, why);
    for (uint32_t i = 0; i < job->act_count; i++)
        rates[i] = err ? NAN : 1e6 / sample_median(stage->usec[i], job->batches);
    crowd_memory_free(stage, sizeof *stage);
    return err;
}

/* Returns the printed rate for that many rows, in K/s; NaN: the paper prints none. */
static double printed(uint32_t rows)
{
    return rows == 24 ? 800 : rows == 29 ? 500 : NAN;
}

static enum err rates_find(struct figure_result *result, const struct figure_call *call,
                           struct throughput_job *job, double rates[2][ACT_MAX], struct why *why)
{
    struct figure_table *table =
        figure_table_add(result, "throughput", "rows, writes (K/s), reads (K/s), paper (K/s)");
    for (int design = 0; design < 2; design++) {
        job->design = (enum sst_design)design;
        job->batches = call->quick ? BATCHES_QUICK : BATCHES;
        enum err err = throughput_run(job, rates[design], why);
        if (err)
            return err;
        figure_progress(call, (uint64_t)design + 1, 2);
    }
    for (uint32_t i = 0; i < job->act_count; i++)
        figure_row_numbers(table, (double[]){job->rows[i], rates[SST_WRITES][i] * 1e-3,
                                             rates[SST_READS][i] * 1e-3, printed(job->rows[i])});
    return OK;
}

/* Claims the rates of the printed number of rows, which is the largest of the full size. */
static void rate_claims(struct figure_result *result, const char *where, uint32_t rows,
                        const struct throughput_job *job, double rates[2][ACT_MAX])
{
    uint32_t last = job->act_count - 1;
    assert(last < ACT_MAX);
    const char *needs = NULL;
    if (job->rows[last] != rows)
        needs = figure_text(result, "only the full size has %u rows: run it without --quick", rows);
    for (int design = 0; design < 2; design++)
        figure_claim_needs(result, where,
                           figure_text(result, "%s, %u rows: evaluations a second",
                                       sst_node_design_names[design], rows),
                           says_above(printed(rows), "K/s"), needs, rates[design][last] * 1e-3,
                           NULL);
}

static enum err throughput_figure(struct figure_result *result, const struct figure_call *call,
                                  struct why *why)
{
    struct throughput_job full = {.nodes = 25, .act_count = 1, .rows = {24}};
    struct throughput_job quick = {.nodes = 5, .act_count = 1, .rows = {4}};
    struct throughput_job *job = call->quick ? &quick : &full;
    double rates[2][ACT_MAX] = {0};
    enum err err = rates_find(result, call, job, rates, why);
    if (!err)
        rate_claims(result, "section 5.5.3", 24, job, rates);
    return err;
}

static enum err fig7_run(struct figure_result *result, const struct figure_call *call,
                         struct why *why)
{
    struct throughput_job full = {.nodes = 30, .act_count = 7, .rows = {1, 5, 10, 15, 20, 25, 29}};
    struct throughput_job quick = {.nodes = 6, .act_count = 3, .rows = {1, 3, 5}};
    struct throughput_job *job = call->quick ? &quick : &full;
    double rates[2][ACT_MAX] = {0};
    enum err err = rates_find(result, call, job, rates, why);
    if (err)
        return err;
    uint32_t last = job->act_count - 1;
    assert(last < ACT_MAX);
    rate_claims(result, "section 5.6.3", 29, job, rates);
    for (int design = 0; design < 2; design++)
        figure_claim(result, "fig 7",
                     figure_text(result, "%s: rate of %u rows, as a share of that of one row",
                                 sst_node_design_names[design], job->rows[last]),
                     says_above(50, "%"), 100 * rates[design][last] / rates[design][0], NULL);
    return OK;
}

#define RATE_PLOT                                                                                  \
    {                                                                                              \
        .table = "throughput", .x = {.column = "rows", .label = "rows that the predicate reads"},  \
        .y = {.label = "evaluations (K/s)", .log = true},                                          \
        .series = {                                                                                \
            {"writes", "writes", NULL, NULL, STYLE_BOTH},                                          \
            {"reads", "reads", NULL, NULL, STYLE_BOTH},                                            \
            {"in the paper", "paper", NULL, NULL, STYLE_PAPER},                                    \
        },                                                                                         \
    }

const struct figure figure_sst_throughput = {
    .name = "sst-throughput",
    .paper = "SST",
    .what = "evaluations a second of a predicate over 24 rows that always holds",
    .full = {"25 processes, 500 batches of 1,024", .seconds = 3},
    .quick = {"5 processes, 4 rows, 5 batches of 1,024", .seconds = 1},
    .choice = "Each evaluation also fires the trigger. The processes of the other nodes sleep. The "
              "800 K/s that the paper prints for 24 rows do not fit its figure 7, which has nearly "
              "500 K/s at 29 rows.",
    .measured = true,
    .plot = RATE_PLOT,
    .run = throughput_figure,
};

const struct figure figure_sst_fig7 = {
    .name = "sst-fig7",
    .paper = "SST",
    .what = "evaluations a second of a predicate that always holds, by the rows it reads",
    .full = {"30 processes, 1 to 29 rows, 500 batches of 1,024", .seconds = 6},
    .quick = {"6 processes, 1 to 5 rows, 5 batches of 1,024", .seconds = 1},
    .choice = "Each evaluation also fires the trigger. The processes of the other nodes sleep. "
              "\"Decreases slightly\" is taken as to not less than half.",
    .measured = true,
    .plot = RATE_PLOT,
    .run = fig7_run,
};
