/* ripc_latency: the figure of Kehne, "LibRIPC" (thesis, Karlsruhe 2012) that
 * compares round trips of short and long messages with TCP sockets and with the
 * bare hardware.
 *
 * The thesis used two machines and InfiniBand; here two processes run on two
 * cores, and their shared memory replaces raw verbs as the lower limit. The
 * library of the thesis slept while it waited, so ripc is measured both polling
 * and sleeping. Every way runs once in each round; the median round is shown. */
#include <math.h>
#include <stdlib.h>

#include "measured/crowd.h"
#include "measured/figures.h"
#include "measured/sides.h"

#define SIZE_MAX_COUNT 10
#define ROUND_MAX      5
#define BATCHES        400
#define BATCHES_QUICK  20

enum way { SHORT, LONG, SHORT_ASLEEP, LONG_ASLEEP, TCP, UNIX, BARE, LIBFABRIC, UCX, WAY_COUNT };

enum { PRINTED_SHORT, PRINTED_LONG, PRINTED_TCP, PRINTED_COUNT };

struct way_kind {
    const char *name;
    const struct side *side;
    enum job_kind kind;
    bool blocking;
    uint32_t count; /* round trips in a batch */
};

static const struct way_kind ways[WAY_COUNT] = {
    [SHORT] = {"short", &side_ripc, JOB_PING, false, 200},
    [LONG] = {"long", &side_ripc, JOB_LONG_PING, false, 100},
    [SHORT_ASLEEP] = {"short, asleep", &side_ripc, JOB_PING, true, 10},
    [LONG_ASLEEP] = {"long, asleep", &side_ripc, JOB_LONG_PING, true, 10},
    [TCP] = {"TCP", &side_tcp, JOB_PING, true, 10},
    [UNIX] = {"Unix socket", &side_unix, JOB_PING, true, 10},
    [BARE] = {"bare memory", &side_floor, JOB_PING, false, 200},
    [LIBFABRIC] = {"libfabric", &side_fi_pingpong_shm, JOB_PING, false, 50},
    [UCX] = {"UCX", &side_ucx_perftest, JOB_PING, false, 200},
};

/* The numbers that the thesis prints: the ends of the curves of its figure. */
static const struct printed {
    uint32_t size;
    double trips[PRINTED_COUNT]; /* us */
} printed[] = {
    {100, {17.72, 26.07, 56.5}},
    {1900, {22.44, 28.09, 66.11}},
};

/* The result of one way at one size; NaN if the way is missing on this machine. */
struct found {
    double trip;  /* us */
    double share; /* processor time, in percent of both cores */
    double cpu;   /* processor time of a round trip, both processes, us */
};

struct measured {
    uint32_t sizes[SIZE_MAX_COUNT];
    size_t size_count;
    struct found found[WAY_COUNT][SIZE_MAX_COUNT];
};

static int by_trip(const void *left, const void *right)
{
    double a = ((const struct found *)left)->trip, b = ((const struct found *)right)->trip;
    return (a > b) - (a < b);
}

/* Measures all rounds of all ways at one size. */
static enum err size_measure(struct measured *measured, size_t at, int rounds, uint32_t batches,
                             struct why *why)
{
    struct found found[WAY_COUNT][ROUND_MAX];
    bool missing[WAY_COUNT] = {0};
    for (int round = 0; round < rounds; round++)
        for (int way = 0; way < WAY_COUNT; way++) {
            struct pair_result result;
            struct job job = {.kind = ways[way].kind,
                              .size = measured->sizes[at],
                              .count = ways[way].count,
                              .batches = batches,
                              .blocking = ways[way].blocking};
            if (missing[way])
                continue;
            enum err err = pair_run(ways[way].side, &job, &result, why);
            if (err)
                return err;
            missing[way] = result.missing;
            found[way][round] = (struct found){1e6 * result.value, result.share, 1e6 * result.cpu};
        }
    for (int way = 0; way < WAY_COUNT; way++) {
        struct found *median = &measured->found[way][at];
        *median = (struct found){NAN, NAN, NAN};
        if (missing[way] || rounds == 0)
            continue;
        qsort(found[way], (size_t)rounds, sizeof found[way][0], by_trip);
        *median = found[way][rounds / 2];
    }
    return OK;
}

static double printed_trip(uint32_t size, int which)
{
    for (size_t i = 0; i < sizeof printed / sizeof *printed; i++)
        if (printed[i].size == size)
            return printed[i].trips[which];
    return NAN;
}

static void tables_fill(struct figure_result *result, const struct measured *measured)
{
    struct figure_table *trips =
        figure_table_add(result, "round_trip",
                         "size (B), short (us), long (us), short_asleep (us), long_asleep (us), "
                         "tcp (us), unix (us), bare (us), libfabric_shm (us), ucx (us), "
                         "paper_short (us), paper_long (us), paper_tcp (us)");
    struct figure_table *loads =
        figure_table_add(result, "processor", "way, size (B), share (%), per_round_trip (us)");
    for (size_t i = 0; i < measured->size_count; i++) {
        struct figure_cell cells[1 + WAY_COUNT + PRINTED_COUNT];
        cells[0] = figure_number(measured->sizes[i]);
        for (int way = 0; way < WAY_COUNT; way++)
            cells[1 + way] = figure_number(measured->found[way][i].trip);
        for (int k = 0; k < PRINTED_COUNT; k++)
            cells[1 + WAY_COUNT + k] = figure_number(printed_trip(measured->sizes[i], k));
        figure_row(trips, cells);
    }
    for (int way = 0; way < LIBFABRIC; way++) /* other programs do not report theirs */
        for (size_t i = 0; i < measured->size_count; i++) {
            const struct found *found = &measured->found[way][i];
            figure_row_named(loads, ways[way].name,
                             (double[]){measured->sizes[i], found->share, found->cpu});
        }
}

/* --- the claims of the thesis (section 5.4.1) --- */

static void trip_claims(struct figure_result *result, const struct measured *measured)
{
    const struct found(*found)[SIZE_MAX_COUNT] = measured->found;
    size_t last = measured->size_count - 1;
    double ahead = found[TCP][0].trip / found[SHORT][0].trip;
    double ahead_last = found[TCP][last].trip / found[SHORT][last].trip;
    double asleep = fmax(found[SHORT_ASLEEP][0].share, found[LONG_ASLEEP][0].share);
    const double *first = printed[0].trips, *end = printed[1].trips;
    figure_claim(result, "fig 5.5", "short message, 100 B",
                 says_at_most(first[PRINTED_SHORT], "us"), found[SHORT][0].trip, NULL);
    figure_claim(result, "fig 5.5", "short message, 1,900 B",
                 says_at_most(end[PRINTED_SHORT], "us"), found[SHORT][last].trip, NULL);
    figure_claim(result, "fig 5.5", "long message, 100 B", says_at_most(first[PRINTED_LONG], "us"),
                 found[LONG][0].trip, NULL);
    figure_claim(result, "fig 5.5", "long message, 1,900 B", says_at_most(end[PRINTED_LONG], "us"),
                 found[LONG][last].trip, NULL);
    figure_claim(result, "fig 5.5", "TCP, 100 B", says_at_most(first[PRINTED_TCP], "us"),
                 found[TCP][0].trip, NULL);
    figure_claim(result, "fig 5.5", "TCP, 1,900 B", says_at_most(end[PRINTED_TCP], "us"),
                 found[TCP][last].trip, NULL);
    figure_claim(result, "fig 5.5", "TCP as a multiple of short, 100 B",
                 says_above(first[PRINTED_TCP] / first[PRINTED_SHORT], NULL), ahead, NULL);
    figure_claim(result, "fig 5.5", "TCP as a multiple of short, 1,900 B",
                 says_above(end[PRINTED_TCP] / end[PRINTED_SHORT], NULL), ahead_last, NULL);
    figure_claim(result, "fig 5.5", "long as a multiple of short, 100 B",
                 says_at_most(first[PRINTED_LONG] / first[PRINTED_SHORT], NULL),
                 found[LONG][0].trip / found[SHORT][0].trip, NULL);
    figure_claim(result, "fig 5.5", "short as a multiple of the bare hardware, 100 B",
                 says_at_most(first[PRINTED_SHORT] / 5.38, NULL),
                 found[SHORT][0].trip / found[BARE][0].trip, NULL);
    figure_claim(result, "section 5.4.1", "processor load, short and long messages, waiting asleep",
                 says_below(1, "%"), asleep, NULL);
    figure_claim(result, "section 5.4.1", "processor load, TCP", says_between(4, 5, "%"),
                 found[TCP][0].share, NULL);
    /* at least 4 % of 56.5 us over 1 % of 17.72 us */
    figure_claim(result, "fig 5.5", "processor time of a round trip, TCP as a multiple of short",
                 says_above(4 * first[PRINTED_TCP] / first[PRINTED_SHORT], NULL),
                 found[TCP][0].cpu / found[SHORT][0].cpu, NULL);
}

static enum err fig5_5_run(struct figure_result *result, const struct figure_call *call,
                           struct why *why)
{
    const bool quick = call->quick;
    struct measured measured = {0};
    int rounds = quick ? 1 : ROUND_MAX;
    measured.size_count = quick ? 3 : SIZE_MAX_COUNT;
    if (crowd_cores() < 2)
        rounds = 0; /* two processes that poll on one core would measure the scheduler */
    for (size_t i = 0; i < measured.size_count; i++) {
        measured.sizes[i] = 100 + (quick ? 900 : 200) * (uint32_t)i;
        enum err err = size_measure(&measured, i, rounds, quick ? BATCHES_QUICK : BATCHES, why);
        if (err)
            return err;
        figure_progress(call, i + 1, measured.size_count);
    }
    tables_fill(result, &measured);
    trip_claims(result, &measured);
    if (rounds == 0)
        figure_not_run(result, CROWD_NEEDS_CORES);
    return OK;
}

const struct figure figure_ripc_fig5_5 = {
    .name = "ripc-fig5.5",
    .paper = "LibRIPC",
    .what = "round trip of short and long messages, compared with sockets and other libraries",
    .full = {"10 sizes, 5 rounds, 400 batches", .seconds = 40},
    .quick = {"3 sizes, 1 round, 20 batches", .seconds = 3},
    .choice = "Two processes on one machine replace the two machines of the thesis; bare shared "
              "memory replaces the InfiniBand hardware (raw verbs, 128 B). Short and long messages "
              "poll while they wait; \"asleep\" is measured with waiting processes asleep, as in "
              "the thesis. libfabric and UCX are measured with fi_pingpong and ucx_perftest, if "
              "these are installed.",
    .measured = true,
    .plot.table = "round_trip",
    .plot.x = {.column = "size", .label = "message size (B)"},
    .plot.y = {.label = "round trip (us)", .log = true},
    .plot.series =
        {
            {"short", "short", NULL, NULL, STYLE_BOTH},
            {"long", "long", NULL, NULL, STYLE_BOTH},
            {"TCP", "tcp", NULL, NULL, STYLE_BOTH},
            {"short, asleep", "short_asleep", NULL, NULL, STYLE_BOTH},
            {"Unix socket", "unix", NULL, NULL, STYLE_BOTH},
            {"bare memory", "bare", NULL, NULL, STYLE_BOTH},
            {"UCX", "ucx", NULL, NULL, STYLE_BOTH},
            {"libfabric's shm", "libfabric_shm", NULL, NULL, STYLE_BOTH},
            {"short, in the paper", "paper_short", NULL, NULL, STYLE_PAPER},
            {"long, in the paper", "paper_long", NULL, NULL, STYLE_PAPER},
            {"TCP, in the paper", "paper_tcp", NULL, NULL, STYLE_PAPER},
        },
    .run = fig5_5_run,
};
