/* ripc: the speed of messages between services, compared with the limit of the machine (floor) and
 * with other libraries: two processes on two cores, in turn, the median of several rounds.
 *
 *     ripc [--quick] [--json] [--full] [--only TEXT] [--alone] [--waits]
 *
 * --full sends a hundred million messages where the default sends ten million; --only runs the rows
 * whose name contains TEXT; --alone runs without peers, for a profiler; --waits measures the cost
 * of waiting, for the thresholds in transport/wake/wait.h. */
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "measured/crowd.h"
#include "measured/sides.h"
#include "peers.h"
#include "ripc_waits.h"

#define ROUND_MAX   9
#define PEER_MAX    9
#define KIB         1024UL
#define MIB         (1024 * KIB)
#define IDLE_MSEC   2000
#define CREDIT_RUNS 99 /* plus one that is discarded: a hundred batches */

struct rival {
    const char *name; /* in the table */
    const struct side *side;
    unsigned slower; /* it sends fewer messages by this factor */
};

struct row {
    const char *what;
    const char *unit;
    struct job job;
    const struct rival *rivals; /* at most PEER_MAX; the last one has no name */
};

static const struct rival short_rivals[] = {
    {"weft", &side_ripc, 1},
    {"floor", &side_floor, 1},
    {"ucx_tag", &side_ucx_tag, 1},
    {"ucx_am", &side_ucx_am, 1},
    {"openmpi", &side_openmpi, 1},
    {"libfabric_shm", &side_libfabric_shm, 2},
    {"tcp", &side_tcp, 20},
    {"unix", &side_unix, 20},
    {0},
};

static const struct rival blocking_rivals[] = {
    {"weft", &side_ripc, 1},
    {"unix", &side_unix, 1},
    {"tcp", &side_tcp, 1},
    {0},
};

static const struct rival no_rivals[] = {
    {"weft", &side_ripc, 1},
    {0},
};

static const struct rival stream_rivals[] = {
    {"weft", &side_ripc, 1},
    {"floor", &side_floor, 1},
    {"ucx_tag", &side_ucx_tag, 2},
    {0},
};

static const struct rival long_rivals[] = {
    {"weft", &side_ripc, 1},       {"floor", &side_floor, 1}, {"ucx_tag", &side_ucx_tag, 1},
    {"openmpi", &side_openmpi, 1}, {"tcp", &side_tcp, 2},     {0},
};

static const struct rival fabric_rivals[] = {
    {"weft", &side_ripc, 1},
    {"fi_pingpong", &side_fi_pingpong_tcp, 1},
    {"libfabric_tcp", &side_libfabric_tcp, 1},
    {0},
};

static const struct row rows[] = {
    {"short round trip 64 B polling",
     "ns",
     {.kind = JOB_PING, .size = 64, .count = 200, .batches = 600},
     short_rivals},
    {"short round trip 1500 B polling",
     "ns",
     {.kind = JOB_PING, .size = 1500, .count = 100, .batches = 600},
     short_rivals},
    {"short round trip 8900 B polling",
     "ns",
     {.kind = JOB_PING, .size = 8900, .count = 40, .batches = 600},
     short_rivals},
    {"short round trip 64 B after idling",
     "us",
     {.kind = JOB_PING,
      .size = 64,
      .count = 1,
      .batches = 300,
      .adaptive = true,
      .idle_usec = 1000},
     blocking_rivals},
    {"short round trip 64 B blocking",
     "us",
     {.kind = JOB_PING, .size = 64, .count = 20, .batches = 600, .blocking = true},
     blocking_rivals},
    {"idle service, share of a core",
     "%",
     {.kind = JOB_IDLE, .size = 64, .count = IDLE_MSEC, .batches = 1, .adaptive = true},
     no_rivals},
    {"one way 64 B",
     "M/s",
     {.kind = JOB_STREAM, .size = 64, .count = 8000, .batches = 500},
     stream_rivals},
    {"long 1 MiB",
     "GB/s",
     {.kind = JOB_LONG, .size = MIB, .count = 4, .batches = 400},
     long_rivals},
    {"long 64 MiB",
     "GB/s",
     {.kind = JOB_LONG, .size = 64 * MIB, .count = 1, .batches = 30},
     long_rivals},
    {"fabric over tcp, round trip 64 B",
     "us",
     {.kind = JOB_PING,
      .size = 64,
      .count = 10,
      .batches = 600,
      .transports = "fabric",
      .provider = "tcp",
      .address = "127.0.0.1"},
     fabric_rivals},
    {"fabric over tcp, round trip 1 MiB",
     "us",
     {.kind = JOB_LONG_PING,
      .size = MIB,
      .count = 1,
      .batches = 200,
      .transports = "fabric",
      .provider = "tcp",
      .address = "127.0.0.1"},
     fabric_rivals},
};

static double row_value(const struct row *row, const struct pair_result *result)
{
    double seconds = result->value;
    if (row->job.kind == JOB_IDLE)
        return 2 * result->share; /* `share` refers to two cores, this row to one */
    if (row->job.kind == JOB_STREAM)
        return 1e-6 / seconds;
    if (row->job.kind == JOB_LONG)
        return 1e-9 * (double)row->job.size / seconds;
    return seconds * (row->unit[0] == 'n' ? 1e9 : 1e6);
}

/* The job of a row, reduced for a quick run or a slower rival. */
static struct job job_of(const struct bench *bench, const struct row *row, unsigned slower)
{
    struct job job = row->job;
    if (job.kind == JOB_IDLE)
        return job;
    if (bench->quick && job.batches > 10)
        job.batches /= 5;
    job.count = job.count / slower ? job.count / slower : 1;
    return job;
}

/* One measurement. Returns false, with a message, if the rival is missing or has failed. */
static bool rival_run(struct bench *bench, const struct row *row, const struct rival *rival,
                      struct pair_result *result)
{
    struct why why = {""};
    struct job job = job_of(bench, row, rival->slower);
    enum err err = pair_run(rival->side, &job, result, &why);
    if (err || result->missing)
        bench_note(bench, "%s: skipping %s: %s", row->what, rival->name,
                   err ? why.text : result->reason);
    else if (result->lost || result->out_of_order)
        bench_fail("%s: %s lost %llu messages, %llu came out of order", row->what, rival->name,
                   (unsigned long long)result->lost, (unsigned long long)result->out_of_order);
    return !err && !result->missing;
}

static void row_run(struct bench *bench, const struct row *row, int rounds, bool alone)
{
    double values[PEER_MAX][ROUND_MAX];
    struct bench_value found[PEER_MAX];
    bool out[PEER_MAX] = {0};
    size_t count = 0;
    for (int round = 0; round < rounds; round++)
        for (int i = 0; row->rivals[i].name; i++) {
            struct pair_result result;
            if (out[i] || (alone && i > 0))
                continue;
            bench_show(bench, "%s: round %d of %d, %s", row->what, round + 1, rounds,
                       row->rivals[i].name);
            out[i] = !rival_run(bench, row, &row->rivals[i], &result);
            if (!out[i])
                values[i][round] = row_value(row, &result);
        }
    for (int i = 0; row->rivals[i].name; i++)
        if (!out[i] && !(alone && i > 0))
            found[count++] =
                (struct bench_value){row->rivals[i].name, bench_median(values[i], rounds)};
    bench_add(bench, row->what, row->unit, found, count);
}

/* Checks that no message is lost or out of order while the sender repeatedly runs out of credit. */
static void credits(struct bench *bench, bool full)
{
    uint32_t count = full ? 1000000 : bench->quick ? 10000 : 100000;
    struct job job = {.kind = JOB_STREAM, .size = 64, .count = count, .batches = CREDIT_RUNS};
    struct pair_result result;
    struct why why = {""};
    char what[BENCH_WHAT_SIZE];
    snprintf(what, sizeof what, "%.0e messages under credits", (CREDIT_RUNS + 1.0) * count);
    enum err err = pair_run(&side_ripc, &job, &result, &why);
    if (err) {
        bench_note(bench, "%s: skipping weft: %s", what, why.text);
        return;
    }
    bench_add(bench, what, "s",
              (const struct bench_value[]){{"weft", result.wall},
                                           {"lost", (double)result.lost},
                                           {"out_of_order", (double)result.out_of_order}},
              3);
}

int main(int count, char **words)
{
    static struct bench bench;
    bool full = false, waits = false, alone = false;
    const char *only = "";
    const struct bench_word more[] = {{"full", &full, NULL},
                                      {"alone", &alone, NULL},
                                      {"waits", &waits, NULL},
                                      {"only", NULL, &only},
                                      {0}};
    bench_start_with(&bench, count, words, more);
    if (crowd_cores() < 2)
        fprintf(
            stderr,
            "bench: fewer than two cores: processes are not pinned, and times are unreliable\n");
    if (waits) {
        waits_run(&bench);
        return bench_finish(&bench);
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strstr(rows[i].what, only))
            row_run(&bench, &rows[i], bench.quick ? 3 : 7, alone);
    if (strstr("messages under credits", only))
        credits(&bench, full);
    return bench_finish(&bench);
}
