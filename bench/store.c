/* store: requests to a store of three servers on this machine, against etcd and redis.
 *
 *   ./build/bench/store [--quick] [--json] [--memory] [--folder FOLDER] [--seconds SECONDS]
 *
 * All three run here, with their data on the disk of FOLDER (default: the current folder), and keep
 * three copies: weft with three servers, etcd with three members, redis with two replicas and
 * WAIT 2. All sync before they answer. A run of each follows the other; the rows have the medians
 * of several runs. The floor is a write of 1 KiB and fdatasync, which each of the servers needs.
 *
 * With --memory nothing is on a disk, and nothing is synced. etcd has no such mode. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store_side.h"

enum { ROUNDS = 5, SIDES = 3, LOCAL_GETS = 5000, FLOOR_WRITES = 500, REQUEST = 32 };

static const struct store_side *const sides[SIDES] = {&store_weft, &store_etcd, &store_redis};
static bool present[SIDES];
static char folder[400];
static bool in_memory;
static double seconds;

static double percentile(double *sorted, size_t count, double part)
{
    size_t at = (size_t)(part * (double)count);
    return sorted[at < count ? at : count - 1];
}

/* ---- floors ---- */

/* The median of a write of 1 KiB behind the last one, into space that is there, and a sync. */
static double floor_sync(int count)
{
    char path[500];
    double *times = malloc((size_t)count * sizeof *times);
    snprintf(path, sizeof path, "%s/floor", folder);
    int file = open(path, O_CREAT | O_RDWR | O_TRUNC, 0600);
    bool good = file >= 0 && times;
    for (int i = 0; good && i < count; i++)
        good = pwrite(file, store_value(), STORE_VALUE, (off_t)i * STORE_VALUE) == STORE_VALUE;
    good = good && !fsync(file);
    for (int i = 0; good && i < count; i++) {
        double begun = store_now();
        good = pwrite(file, store_value(), STORE_VALUE, (off_t)i * STORE_VALUE) == STORE_VALUE &&
               !fdatasync(file);
        times[i] = store_now() - begun;
    }
    if (!good)
        bench_fail("%s: %s", path, strerror(errno));
    close(file);
    unlink(path);
    double median = bench_median(times, count);
    free(times);
    return median;
}

static void echo(int fd)
{
    char bytes[STORE_VALUE];
    while (recv(fd, bytes, REQUEST, MSG_WAITALL) == REQUEST)
        if (send(fd, store_value(), STORE_VALUE, MSG_NOSIGNAL) != STORE_VALUE)
            break;
    _exit(0);
}

/* The median of a round trip through a Unix socket: a short request, an answer of 1 KiB. */
static double floor_socket(int count)
{
    int ends[2];
    char bytes[STORE_VALUE] = {0};
    double *times = malloc((size_t)count * sizeof *times);
    if (!times || socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
        bench_fail("socketpair: %s", strerror(errno));
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        echo(ends[1]);
    }
    close(ends[1]);
    for (int i = 0; i < count; i++) {
        double begun = store_now();
        if (send(ends[0], bytes, REQUEST, MSG_NOSIGNAL) != REQUEST ||
            recv(ends[0], bytes, sizeof bytes, MSG_WAITALL) != STORE_VALUE)
            bench_fail("socket: %s", strerror(errno));
        times[i] = store_now() - begun;
    }
    close(ends[0]);
    if (child < 0 || waitpid(child, NULL, 0) < 0)
        bench_fail("fork: %s", strerror(errno));
    double median = bench_median(times, count);
    free(times);
    return median;
}

/* ---- rows ---- */

struct measure {
    double rate[SIDES][ROUNDS], median[SIDES][ROUNDS], p99[SIDES][ROUNDS], floor[ROUNDS];
};

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void measure_run(struct measure *measure, unsigned side, int round, struct store_turn *run)
{
    sides[side]->run(run);
    struct store_times *times = &run->times;
    qsort(times->latencies, times->count, sizeof *times->latencies, by_value);
    measure->rate[side][round] = (double)times->count / times->seconds;
    measure->median[side][round] = percentile(times->latencies, times->count, 0.5) * 1e6;
    measure->p99[side][round] = percentile(times->latencies, times->count, 0.99) * 1e6;
}

static void row(struct bench *bench, const char *what, const char *unit,
                double figures[SIDES][ROUNDS], int rounds, double floor)
{
    struct bench_value values[SIDES + 1];
    size_t count = 0;
    for (unsigned side = 0; side < SIDES; side++)
        if (present[side])
            values[count++] =
                (struct bench_value){sides[side]->name, bench_median(figures[side], rounds)};
    if (floor > 0)
        values[count++] = (struct bench_value){"floor", floor};
    bench_add(bench, what, unit, values, count);
}

static void rows(struct bench *bench, const char *name, enum store_job job, unsigned at_once)
{
    static struct measure measure;
    static struct store_turn runs[SIDES];
    char what[BENCH_WHAT_SIZE];
    int rounds = bench->quick ? 3 : ROUNDS;
    for (int round = 0; round < rounds; round++) {
        if (job == STORE_PUTS && !in_memory)
            measure.floor[round] = floor_sync(FLOOR_WRITES) * 1e6;
        else
            measure.floor[round] = floor_socket(LOCAL_GETS) * 1e6;
        for (unsigned side = 0; side < SIDES; side++) {
            if (!present[side])
                continue;
            bench_show(bench, "%s, %u at once: round %d of %d, %s", name, at_once, round + 1,
                       rounds, sides[side]->name);
            runs[side] = (struct store_turn){.job = job,
                                             .at_once = at_once,
                                             .seconds = seconds,
                                             .times = runs[side].times,
                                             .state = (unsigned)round + 1};
            measure_run(&measure, side, round, &runs[side]);
        }
    }
    double floor = bench_median(measure.floor, rounds);
    snprintf(what, sizeof what, "%s, %u at once", name, at_once);
    row(bench, what, "1/s", measure.rate, rounds, 0);
    snprintf(what, sizeof what, "%s, %u at once: median", name, at_once);
    row(bench, what, "us", measure.median, rounds, floor);
    snprintf(what, sizeof what, "%s, %u at once: 99 of 100", name, at_once);
    row(bench, what, "us", measure.p99, rounds, 0);
}

static void row_local(struct bench *bench)
{
    double weft[ROUNDS], socket[ROUNDS];
    int rounds = bench->quick ? 3 : ROUNDS;
    for (int round = 0; round < rounds; round++) {
        bench_show(bench, "gets of a key that is kept here: round %d of %d", round + 1, rounds);
        weft[round] = store_weft_local(LOCAL_GETS) * 1e6;
        socket[round] = floor_socket(LOCAL_GETS) * 1e6;
    }
    const struct bench_value values[] = {{"weft", bench_median(weft, rounds)},
                                         {"floor", bench_median(socket, rounds)}};
    bench_add(bench, "get of 1 KiB that the server leads; a Unix socket: median", "us", values, 2);
}

/* ---- the program ---- */

static void folder_remove(void)
{
    char line[600];
    snprintf(line, sizeof line, "rm -rf '%s'", folder);
    (void)!system(line);
}

static void on_signal(int number)
{
    /* The functions of atexit end what was started, wherever this one was interrupted. */
    exit(128 + number); /* NOLINT(bugprone-signal-handler) */
}

static void begin(struct bench *bench)
{
    for (unsigned side = 0; side < SIDES; side++) {
        struct store_turn load = {.job = STORE_PUTS, .at_once = STORE_AT_ONCE_MAX, .all = true};
        bench_show(bench, "starting %s", sides[side]->name);
        present[side] = sides[side]->begin(folder, in_memory);
        if (!present[side]) {
            bench_note(bench, "%s is not installed%s; its columns are missing (tools/setup bench)",
                       sides[side]->name, in_memory ? ", or keeps nothing in memory" : "");
            continue;
        }
        sides[side]->run(&load);
        free(load.times.latencies);
    }
}

int main(int count, char **words)
{
    struct bench bench;
    const char *disk = ".", *time = NULL;
    char here[300];
    bench_start_with(&bench, count, words,
                     (const struct bench_word[]){{.name = "folder", .value = &disk},
                                                 {.name = "seconds", .value = &time},
                                                 {.name = "memory", .given = &in_memory},
                                                 {0}});
    seconds = time ? strtod(time, NULL) : bench.quick ? 1 : 3;
    if (!realpath(disk, here) || !(seconds > 0))
        bench_fail("%s: %s", disk, seconds > 0 ? strerror(errno) : "--seconds must be above 0");
    snprintf(folder, sizeof folder, "%s/weft-bench-store-%d", here, (int)getpid());
    if (mkdir(folder, 0700))
        bench_fail("%s: %s", folder, strerror(errno));
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    signal(SIGPIPE, on_signal); /* the reader of the rows has ended */
    atexit(folder_remove);
    begin(&bench);
    rows(&bench, "puts of 1 KiB, 3 copies", STORE_PUTS, 1);
    rows(&bench, "puts of 1 KiB, 3 copies", STORE_PUTS, STORE_AT_ONCE_MAX);
    rows(&bench, "gets of 1 KiB", STORE_GETS, 1);
    rows(&bench, "gets of 1 KiB", STORE_GETS, STORE_AT_ONCE_MAX);
    row_local(&bench);
    return bench_finish(&bench);
}
