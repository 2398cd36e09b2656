/* sst: how fast shared state becomes visible, compared with the limit of the machine (floor) and
 * with other libraries: all sides of a row in turn, the median of several rounds.
 *
 *     sst [--quick] [--json] [--only TEXT] [--alone]
 *
 * --only runs the rows whose name contains TEXT; --alone runs without peers, for a profiler. The
 * last value of most rows is a comparison: weft_to_floor is weft's value divided by the floor's. */
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "measured/crowd.h"
#include "measured/sides.h"
#include "peers.h"
#include "sst_sides.h"

#define ROUND_MAX 9
#define RIVAL_MAX 8
#define ROW_BYTES 4096
#define SEC_USEC  1000000

struct rival {
    const char *name;               /* in the table */
    const struct side *side;        /* two processes, or ... */
    const struct crowd_side *crowd; /* ... row->size processes */
    unsigned slower;                /* it does less by this factor; 0 means 1 */
    bool bar;                       /* weft is compared with the best of these */
};

enum measure {
    TIME, /* of one action */
    HALF, /* of one action, which is a round trip; half of it counts */
    RATE, /* actions per second */
    DATA, /* bytes per second */
};

struct row {
    const char *what;
    const char *unit;
    double scale; /* of the unit: units per second, or for rates the reciprocal */
    enum measure measure;
    uint32_t size; /* processes of a crowd */
    struct job job;
    const struct rival *rivals; /* weft is the first; the last one has no name */
    const char *compared;       /* name of the comparison; NULL: none */
    bool full;                  /* skipped in a quick run */
    bool each;                  /* also report the time divided by the number of processes, in ns */
};

#define FABRIC .transports = "fabric", .provider = "tcp", .address = "127.0.0.1"

static const struct rival detection[] = {
    {"weft", .side = &side_sst_writes},
    {"weft_reads", .side = &side_sst_reads},
    {"floor", .side = &side_line, .bar = true},
    {0},
};

static const struct rival detection_high[] = {
    {"weft", .side = &side_sst_writes_high},
    {"weft_reads", .side = &side_sst_reads_high},
    {"floor", .side = &side_line_high, .bar = true},
    {0},
};

static const struct rival wakes[] = {
    {"weft", .side = &side_sst_wake},
    {"unix", .side = &side_unix_wake, .bar = true},
    {0},
};

static const struct rival fires[] = {
    {"weft", .crowd = &side_fire},
    {"weft_named", .crowd = &side_fire_named},
    {"floor", .crowd = &side_fire_floor, .bar = true},
    {0},
};

static const struct rival fires_many[] = {
    {"weft", .crowd = &side_fire_many},
    {"weft_named", .crowd = &side_fire_named_many},
    {"floor", .crowd = &side_fire_floor_many, .bar = true},
    {0},
};

static const struct rival counts[] = {
    {"weft", .crowd = &side_count_writes},
    {"weft_reads", .crowd = &side_count_reads},
    {"floor", .crowd = &side_count_floor, .bar = true},
    {0},
};

static const struct rival fabric_writes[] = {
    {"weft", .side = &side_sst_writes},
    {"fi_write", .side = &side_fi_write_tcp},
    {"fi_inject_write", .side = &side_fi_inject_write_tcp, .bar = true},
    {0},
};

static const struct rival fabric_reads[] = {
    {"weft", .side = &side_sst_reads},
    {"fi_read", .side = &side_fi_read_tcp, .bar = true},
    {0},
};

static const struct rival row_streams[] = {
    {"weft", .side = &side_sst_rows},
    {"floor", .side = &side_rows_floor, .bar = true},
    {0},
};

static const struct rival row_tries[] = {
    {"weft", .side = &side_sst_rows_tries},
    {"floor", .side = &side_rows_floor_tries, .bar = true},
    {0},
};

static const struct rival row_pings[] = {
    {"weft", .side = &side_sst_row_ping},
    {"floor", .side = &side_floor, .bar = true},
    {0},
};

static const struct rival multicasts_one[] = {
    {"weft", .crowd = &side_multicast_one},
    {"openmpi", .side = &side_bcast, .slower = 2000, .bar = true},
    {"openmpi_yielding", .side = &side_bcast_yielding, .bar = true},
    {0},
};

static const struct rival multicasts_all[] = {
    {"weft", .crowd = &side_multicast_all},
    {"openmpi", .side = &side_bcast_turns, .slower = 2000, .bar = true},
    {"openmpi_yielding", .side = &side_bcast_turns_yielding, .bar = true},
    {0},
};

#define COUNTING(processes, counts_of_lap)                                                         \
    {                                                                                              \
        .what = "distributed counting, " #processes " processes", .unit = "M/s", .scale = 1e-6,    \
        .measure = RATE, .size = (processes),                                                      \
        .job = {.kind = JOB_PING, .count = (counts_of_lap), .batches = 100}, .rivals = counts,     \
        .compared = "weft_to_floor", .each = true                                                  \
    }

static const struct row rows[] = {
    {.what = "simplest predicate, one way",
     .unit = "ns",
     .scale = 1e9,
     .measure = HALF,
     .job = {.kind = JOB_PING, .size = 16, .count = 400, .batches = 600},
     .rivals = detection,
     .compared = "weft_to_floor"},
    {.what = "simplest predicate, one way, 99th percentile",
     .unit = "ns",
     .scale = 1e9,
     .measure = HALF,
     .job = {.kind = JOB_PING, .size = 16, .count = 1000, .batches = 200},
     .rivals = detection_high,
     .compared = "weft_to_floor"},
    {.what = "first detection after 1 s of idling",
     .unit = "us",
     .scale = 1e6,
     .measure = TIME,
     .job =
         {.kind = JOB_PING, .count = 1, .batches = 5, .adaptive = true, .idle_usec = 1 * SEC_USEC},
     .rivals = wakes,
     .compared = "weft_to_unix"},
    {.what = "first detection after 10 s of idling",
     .unit = "us",
     .scale = 1e6,
     .measure = TIME,
     .job =
         {.kind = JOB_PING, .count = 1, .batches = 2, .adaptive = true, .idle_usec = 10 * SEC_USEC},
     .rivals = wakes,
     .compared = "weft_to_unix",
     .full = true},
    {.what = "evaluate and fire, 1 row",
     .unit = "M/s",
     .scale = 1e-6,
     .measure = RATE,
     .size = 1,
     .job = {.kind = JOB_PING, .count = 3000, .batches = 1000},
     .rivals = fires,
     .compared = "weft_to_floor"},
    {.what = "evaluate and fire, 29 rows",
     .unit = "M/s",
     .scale = 1e-6,
     .measure = RATE,
     .size = 1,
     .job = {.kind = JOB_PING, .count = 500, .batches = 1000},
     .rivals = fires_many,
     .compared = "weft_to_floor"},
    COUNTING(2, 2000),
    COUNTING(3, 100),
    COUNTING(4, 100),
    COUNTING(8, 50),
    COUNTING(16, 20),
    COUNTING(28, 20),
    {.what = "detection by writes over tcp, one way",
     .unit = "us",
     .scale = 1e6,
     .measure = HALF,
     .job = {.kind = JOB_PING, .size = 16, .count = 10, .batches = 600, FABRIC},
     .rivals = fabric_writes,
     .compared = "weft_to_fi_inject_write"},
    {.what = "detection by reads over tcp, one way",
     .unit = "us",
     .scale = 1e6,
     .measure = HALF,
     .job = {.kind = JOB_PING, .size = 16, .count = 10, .batches = 300, FABRIC},
     .rivals = fabric_reads,
     .compared = "weft_to_fi_read"},
    {.what = "4 KB rows published with a guard",
     .unit = "GB/s",
     .scale = 1e-9,
     .measure = DATA,
     .job = {.kind = JOB_STREAM, .size = ROW_BYTES, .count = 100, .batches = 1000},
     .rivals = row_streams,
     .compared = "weft_to_floor"},
    {.what = "4 KB rows, looks at guard and data",
     .unit = "M/s",
     .scale = 1e-6,
     .measure = RATE,
     .job = {.kind = JOB_STREAM, .size = ROW_BYTES, .count = 100, .batches = 1000},
     .rivals = row_tries,
     .compared = "weft_to_floor"},
    {.what = "4 KB row, published, detected and got whole, one way",
     .unit = "ns",
     .scale = 1e9,
     .measure = HALF,
     .job = {.kind = JOB_PING, .size = ROW_BYTES, .count = 20, .batches = 1000},
     .rivals = row_pings,
     .compared = "weft_to_floor"},
    {.what = "multicast in one order, 4 members, 64 B, one sends",
     .unit = "M/s",
     .scale = 1e-6,
     .measure = RATE,
     .size = 4,
     .job = {.kind = JOB_STREAM, .size = 64, .count = 4000, .batches = 100},
     .rivals = multicasts_one,
     .compared = "weft_to_openmpi"},
    {.what = "multicast in one order, 4 members, 64 B, all send",
     .unit = "M/s",
     .scale = 1e-6,
     .measure = RATE,
     .size = 4,
     .job = {.kind = JOB_STREAM, .size = 64, .count = 4000, .batches = 100},
     .rivals = multicasts_all,
     .compared = "weft_to_openmpi"},
};

static double row_value(const struct row *row, double seconds)
{
    switch (row->measure) {
    case TIME:
        return seconds * row->scale;
    case HALF:
        return seconds / 2 * row->scale;
    case RATE:
        return row->scale / seconds;
    case DATA:
        return row->scale * (double)row->job.size / seconds;
    }
    return 0;
}

/* The job of a row, reduced for a quick run or a slower rival. */
static struct job job_of(const struct bench *bench, const struct row *row, unsigned slower)
{
    struct job job = row->job;
    if (bench->quick && job.batches > 10)
        job.batches /= 5;
    if (slower)
        job.count = job.count / slower ? job.count / slower : 1;
    return job;
}

/* One measurement, in seconds. Returns false, with a message, if the rival is missing or has
 * failed. */
static bool rival_run(struct bench *bench, const struct row *row, const struct rival *rival,
                      double *seconds)
{
    struct why why = {""};
    struct pair_result result;
    struct job job = job_of(bench, row, rival->slower);
    enum err err = rival->side ? pair_run(rival->side, &job, &result, &why)
                               : crowd_side_run(rival->crowd, &job, row->size, &result, &why);
    if (!err && !result.missing && !(result.value > 0))
        err = why_fail(&why, ERR_SYSTEM, "the measured time is zero");
    if (err || result.missing)
        bench_note(bench, "%s: skipping %s: %s", row->what, rival->name,
                   err ? why.text : result.reason);
    *seconds = result.value;
    return !err && !result.missing;
}

struct found {
    struct bench_value values[BENCH_VALUE_MAX];
    size_t count;
};

static void found_add(struct found *found, const char *name, double value)
{
    found->values[found->count++] = (struct bench_value){name, value};
}

/* Adds a row with the medians of the rivals that ran, and weft's value relative to the best of the
 * rivals marked `bar`. */
static void row_report(struct bench *bench, const struct row *row, const bool *out,
                       double seconds[RIVAL_MAX][ROUND_MAX], int rounds)
{
    struct found found = {.count = 0};
    double best = 0, own = 0;
    for (int i = 0; row->rivals[i].name; i++) {
        if (out[i])
            continue;
        double median = bench_median(seconds[i], rounds);
        found_add(&found, row->rivals[i].name, row_value(row, median));
        if (i == 0)
            own = median;
        if (row->rivals[i].bar && (best == 0 || median < best))
            best = median;
    }
    if (row->each && own > 0)
        found_add(&found, "weft_ns_per_process", 1e9 * own / row->size);
    if (row->compared && own > 0 && best > 0)
        found_add(&found, row->compared, row_value(row, own) / row_value(row, best));
    bench_add(bench, row->what, row->unit, found.values, found.count);
}

static void row_run(struct bench *bench, const struct row *row, int rounds, bool alone)
{
    double seconds[RIVAL_MAX][ROUND_MAX];
    bool out[RIVAL_MAX] = {0};
    for (int round = 0; round < rounds; round++)
        for (int i = 0; row->rivals[i].name; i++) {
            out[i] = out[i] || (alone && i > 0);
            if (out[i])
                continue;
            bench_show(bench, "%s: round %d of %d, %s", row->what, round + 1, rounds,
                       row->rivals[i].name);
            out[i] = !rival_run(bench, row, &row->rivals[i], &seconds[i][round]);
        }
    row_report(bench, row, out, seconds, rounds);
}

int main(int count, char **words)
{
    static struct bench bench;
    bool alone = false;
    const char *only = "";
    const struct bench_word more[] = {{"alone", &alone, NULL}, {"only", NULL, &only}, {0}};
    bench_start_with(&bench, count, words, more);
    if (crowd_cores() < 2)
        bench_note(&bench,
                   "fewer than two cores: processes are not pinned, and times are unreliable");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strstr(rows[i].what, only) && !(bench.quick && rows[i].full))
            row_run(&bench, &rows[i], bench.quick ? 3 : 7, alone);
    return bench_finish(&bench);
}
