/* sst_counting: figure 8 of "Distributed State Sharing and Predicate Detection over RDMA":
 * all nodes count in step. A node's predicate holds when no row is behind its own; its
 * trigger increments its own count.
 *
 * The paper counts to a million and shows the time. Here all nodes count for a given time; node 0
 * measures the time of every few counts, and the figure shows a million times the median. Then
 * node 0 sets the number at which all nodes stop, and each checks that all rows end with exactly
 * this number. */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "measured/figures.h"
#include "measured/sample.h"
#include "measured/sst/sst_node.h"
#include "transport/clock.h"

#define LAST_NEVER UINT64_MAX
#define BATCH      8 /* counts between two readings of the clock */
#define BATCH_MAX  200000
#define MILLION    1e6

struct counting_job {
    uint32_t nodes;
    enum sst_design design;
    enum sst_node_waiting waiting;
    uint64_t warm; /* counts before the measurement: a multiple of BATCH */
    nsec length;   /* of the measurement */
};

/* Shared by the crowd. */
struct stage {
    _Atomic uint64_t last;        /* where to stop; node 0 stores it before its next count */
    _Atomic bool done[CROWD_MAX]; /* set by each node's trigger, with release */
    /* Written by node 0, read by the parent afterwards: seconds of each batch. */
    uint32_t batch_count;
    double batches[BATCH_MAX];
};

struct play {
    const struct counting_job *job;
    struct stage *stage;
};

/* The argument of the callbacks of a node. */
struct counter {
    struct sst_node node;
    const struct play *play;
    /* Used by the detector's thread only: */
    uint64_t own; /* our count */
    nsec began;   /* when the measurement began */
    nsec since;   /* when the current batch began */
};

enum { COUNT };

static const struct sst_column columns[] = {
    {.name = "count", .type = SST_U64, .count = 1, .flags = SST_GROWS},
};

static bool no_row_is_behind(const struct sst *table, void *argument)
{
    const struct counter *counter = argument;
    return sst_all_at_least_u64(table, COUNT, counter->own);
}

/* Node 0 logs a batch and checks whether the time is up. The other nodes are at most one count
 * ahead, and see stage->last before they see the next count of node 0. */
static void clock_check(struct counter *counter)
{
    struct stage *stage = counter->play->stage;
    const struct counting_job *job = counter->play->job;
    nsec now = clock_now();
    if (counter->own == job->warm)
        counter->began = now;
    else if (counter->own > job->warm)
        stage->batches[stage->batch_count++] = (double)(now - counter->since) * 1e-9;
    counter->since = now;
    if (counter->own > job->warm &&
        (now - counter->began >= job->length || stage->batch_count == BATCH_MAX))
        atomic_store_explicit(&stage->last, counter->own + 2, memory_order_release);
}

/* Checks the counts when this node increments its own: no row may be behind it, and none more than
 * one ahead. */
static void step_check(struct counter *counter, const struct sst *table)
{
    uint64_t least = sst_minimum_u64(table, COUNT), most = sst_maximum_u64(table, COUNT);
    if (least < counter->own || most > counter->own + 1)
        crowd_fail(
            counter->node.crowd, "out of step: this node is at %llu, the rows at %llu to %llu",
            (unsigned long long)counter->own, (unsigned long long)least, (unsigned long long)most);
}

static void count_one(struct sst *table, void *argument)
{
    struct counter *counter = argument;
    struct stage *stage = counter->play->stage;
    uint64_t last = atomic_load_explicit(&stage->last, memory_order_acquire);
    const uint32_t index = counter->node.crowd->index;
    if (counter->own == last) { /* all nodes are here, and none counts any more */
        atomic_store_explicit(&stage->done[index], true, memory_order_release);
        return;
    }
    if (counter->own % BATCH == 0)
        step_check(counter, table);
    if (index == 0 && last == LAST_NEVER && counter->own % BATCH == 0)
        clock_check(counter);
    counter->own++;
    sst_node_check(&counter->node, sst_set_u64(table, COUNT, counter->own), "sst_set_u64");
}

static void counting_play(struct crowd *crowd, const void *argument)
{
    static const uint32_t named[] = {COUNT};
    const struct play *play = argument;
    const struct sst_node_plan plan = {
        .design = play->job->design,
        .waiting = play->job->waiting,
        .columns = columns,
        .column_count = 1,
        .row_size = sizeof(uint64_t),
    };
    struct counter counter = {.play = play};
    crowd_pin(crowd->index);
    sst_node_open(&counter.node, crowd, &plan, true);
    crowd_meet(crowd);
    sst_node_check(&counter.node,
                   sst_predicate_add(counter.node.table,
                                     &(struct sst_predicate){.name = "count",
                                                             .kind = SST_RECURRENT,
                                                             .holds = no_row_is_behind,
                                                             .fire = count_one,
                                                             .argument = &counter,
                                                             .columns = named,
                                                             .column_count = 1},
                                     NULL),
                   "sst_predicate_add");
    sst_node_await(&counter.node, &play->stage->done[crowd->index]);
    crowd_meet(crowd);
    for (uint32_t i = 0; i < crowd->count; i++)
        if (sst_get_u64(counter.node.table, counter.node.rows[i], COUNT) != play->stage->last)
            crowd_fail(crowd, "node %u sees a wrong last count of node %u", crowd->index, i);
}

/* Measures the seconds of a million counts. */
static enum err counting_run(const struct counting_job *job, double *seconds, struct why *why)
{
    struct stage *stage = crowd_memory(sizeof *stage);
    struct play play = {job, stage};
    struct crowd_play crowd = {"counting", job->nodes, counting_play, &play};
    struct crowd_end end;
    if (!stage)
        return why_memory(why);
    atomic_store_explicit(&stage->last, LAST_NEVER, memory_order_relaxed);
    enum err err = crowd_run(&crowd, &end, why);
    if (!err)
        *seconds = sample_median(stage->batches, stage->batch_count) / BATCH * MILLION;
    crowd_memory_free(stage, sizeof *stage);
    return err;
}

/* --- the figure --- */

static const uint32_t nodes_full[] = {2, 3, 8, 13, 18, 23, 28}, nodes_quick[] = {2, 3, 4, 6};
#define NODES_MAX (sizeof nodes_full / sizeof nodes_full[0])

/* Times with detectors that yield the core, and with detectors that do not. */
struct counted {
    uint32_t nodes;
    double yield[2], busy[2]; /* by design: seconds of a million counts; NaN: not measured */
};

/* Counts a second that the paper prints, for its smallest and largest number of nodes. */
static const struct printed {
    uint32_t nodes;
    double rates[2]; /* by design, in thousands */
} printed[] = {
    {3, {[SST_WRITES] = 325, [SST_READS] = 400}},
    {28, {[SST_WRITES] = 48, [SST_READS] = 40}},
};

static const struct printed *printed_of(uint32_t nodes)
{
    for (size_t i = 0; i < sizeof printed / sizeof printed[0]; i++)
        if (printed[i].nodes == nodes)
            return &printed[i];
    return NULL;
}

static const char *nodes_needed(struct figure_result *result, uint32_t nodes)
{
    return figure_text(result, "only the full size has %u nodes: run it without --quick", nodes);
}

static void rate_claims(struct figure_result *result, const struct counted *counted,
                        const struct printed *paper)
{
    const char *needs = counted ? NULL : nodes_needed(result, paper->nodes);
    for (int design = 0; design < 2; design++)
        figure_claim_needs(result, "section 5.7",
                           figure_text(result, "%s, %u nodes, yielding: counts",
                                       sst_node_design_names[design], paper->nodes),
                           says_above(paper->rates[design], "K/s"), needs,
                           counted ? MILLION / counted->yield[design] * 1e-3 : NAN, NULL);
}

static void shape_claims(struct figure_result *result, const struct counted *counted, size_t count)
{
    double nodes[NODES_MAX], times[NODES_MAX], slopes[2];
    for (int design = 0; design < 2; design++) {
        size_t used = 0;
        for (size_t i = 0; i < count; i++)
            if (counted[i].nodes > 2) {
                nodes[used] = counted[i].nodes;
                times[used++] = counted[i].yield[design];
            }
        struct sample_line line = sample_line_of(nodes, times, used);
        slopes[design] = line.slope;
        figure_claim(result, "fig 8",
                     figure_text(result, "%s: variance explained by a line in the number of nodes",
                                 sst_node_design_names[design]),
                     says_above(95, "%"), 100 * line.share, NULL);
    }
    figure_claim(result, "section 5.7", "time that one more node adds, reads over writes",
                 says_above(1, NULL), slopes[SST_READS] / slopes[SST_WRITES], NULL);
}

/* Claims the times of detectors that never give up the core although there are more of them than
 * cores. */
static void busy_claims(struct figure_result *result, const struct counted *last)
{
    const struct printed *paper = printed_of(28);
    const char *needs = last->nodes == paper->nodes ? NULL : nodes_needed(result, paper->nodes);
    for (int design = 0; design < 2; design++)
        figure_claim_needs(result, "fig 8",
                           figure_text(result,
                                       "%s, 28 nodes, busy as in the paper: a million counts",
                                       sst_node_design_names[design]),
                           says_at_most(MILLION / paper->rates[design] * 1e-3, "s"), needs,
                           last->busy[design], NULL);
}

static void table_fill(struct figure_result *result, const struct counted *counted, size_t count)
{
    struct figure_table *table =
        figure_table_add(result, "counting",
                         "nodes, writes (s), reads (s), busy_writes (s), busy_reads (s), "
                         "paper_writes (s), paper_reads (s)");
    for (size_t i = 0; i < count; i++) {
        const struct printed *paper = printed_of(counted[i].nodes);
        figure_row_numbers(table,
                           (double[]){counted[i].nodes, counted[i].yield[SST_WRITES],
                                      counted[i].yield[SST_READS], counted[i].busy[SST_WRITES],
                                      counted[i].busy[SST_READS],
                                      paper ? MILLION / paper->rates[SST_WRITES] * 1e-3 : NAN,
                                      paper ? MILLION / paper->rates[SST_READS] * 1e-3 : NAN});
    }
}

/* Busy detectors are measured if there are enough cores, and with the most nodes, to show the
 * effect of too few cores. */
static enum err nodes_count(struct counted *counted, bool busy, bool quick, struct why *why)
{
    enum err err = OK;
    for (int design = 0; design < 2 && !err; design++) {
        struct counting_job job = {
            .nodes = counted->nodes,
            .design = (enum sst_design)design,
            .waiting = NODES_YIELD,
            .warm = quick ? BATCH : 20 * BATCH,
            .length = quick ? NSEC_PER_SEC / 50 : NSEC_PER_SEC / 2,
        };
        err = counting_run(&job, &counted->yield[design], why);
        job.waiting = NODES_BUSY;
        job.warm = BATCH;
        counted->busy[design] = NAN;
        if (!err && busy)
            err = counting_run(&job, &counted->busy[design], why);
    }
    return err;
}

static enum err fig8_run(struct figure_result *result, const struct figure_call *call,
                         struct why *why)
{
    struct counted counted[NODES_MAX];
    const uint32_t *nodes = call->quick ? nodes_quick : nodes_full;
    size_t count = call->quick ? sizeof nodes_quick / sizeof nodes_quick[0] : NODES_MAX;
    for (size_t i = 0; i < count; i++) {
        bool busy = (int)nodes[i] <= crowd_cores() || (i + 1 == count && !call->quick);
        counted[i].nodes = nodes[i];
        enum err err = nodes_count(&counted[i], busy, call->quick, why);
        if (err)
            return err;
        figure_progress(call, i + 1, count);
    }
    table_fill(result, counted, count);
    for (size_t i = 0; i < sizeof printed / sizeof printed[0]; i++) {
        const struct counted *same = NULL;
        for (size_t k = 0; k < count; k++)
            same = counted[k].nodes == printed[i].nodes ? &counted[k] : same;
        rate_claims(result, same, &printed[i]);
    }
    shape_claims(result, counted, count);
    busy_claims(result, &counted[count - 1]);
    return OK;
}

const struct figure figure_sst_fig8 = {
    .name = "sst-fig8",
    .paper = "SST",
    .what = "time of a million counts of nodes that count in step",
    .full = {"2 to 28 processes, half a second each", .seconds = 20},
    .quick = {"2 to 6 processes, 20 ms each", .seconds = 2},
    .choice = "Processes replace machines and share the cores of this one. Their detectors yield "
              "the core after each pass; in the columns busy_writes and busy_reads they do not. "
              "Table 5 of the paper prints 3.23 s for two nodes, more than the 3.08 s of three "
              "nodes in its figure 8.",
    .shown = "nodes, writes, reads, busy_writes, busy_reads, paper_writes, paper_reads",
    .measured = true,
    .plot.table = "counting",
    .plot.x = {.column = "nodes", .label = "nodes"},
    .plot.y = {.label = "time of a million counts (s)"},
    .plot.series =
        {
            {"writes, yielding", "writes", NULL, NULL, STYLE_BOTH},
            {"reads, yielding", "reads", NULL, NULL, STYLE_BOTH},
            {"writes, in the paper", "paper_writes", NULL, NULL, STYLE_PAPER},
            {"reads, in the paper", "paper_reads", NULL, NULL, STYLE_PAPER},
        },
    .run = fig8_run,
};
