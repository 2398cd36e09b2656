/* beside: whether a server that is busy with something else still forwards packets as fast.
 *
 *   ./build/bench/beside [--quick] [--json]
 *
 * It starts a ring of five servers, a process each, and pings from server 0 to server 2, through
 * server 1. In turns server 1 is quiet, or has work that takes long: a service computes on a thread
 * (examples/primes.c), the disk of a service hangs (examples/journal.c on a file system that is
 * frozen; this needs root), or a program asks and never reads the answers (examples/echo.c).
 *
 * A thread that computes takes a processor from the servers, which on a machine with two processors
 * costs a ping more than weft can avoid. So the first row has a floor: all servers are quiet, and a
 * process that does not belong to weft computes with the lowest priority. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/weft.h>

#include "bench.h"
#include "transport/clock.h"

#define PATIENCE weft_deadline(60000000000)
#define PRIME    "1000000000000000003" /* for which the service computes for seconds */
#define BUSY     1                     /* the server that the pings pass */

enum { ROUNDS = 9, PINGS = 3000, ASKS = 10000 };

static char folder[64], data[sizeof folder + 8];
static bool quick, has_disk;

/* Runs a command; returns the first bytes of its output. */
static bool run(char *out, size_t size, const char *line)
{
    FILE *pipe = popen(line, "r");
    size_t got = pipe ? fread(out, 1, size - 1, pipe) : 0;
    out[got] = '\0';
    return pipe && !pclose(pipe);
}

static void command(char *out, size_t size, const char *words)
{
    char line[2048];
    snprintf(line, sizeof line, "%s %s --dir %s", BENCH_WEFT, words, folder);
    if (!run(out, size, line))
        bench_fail("%s failed", line);
}

static double ping_us(void)
{
    char out[8192], words[128];
    snprintf(words, sizeof words, "ping 2 --from 0 --count %d --json", quick ? PINGS / 10 : PINGS);
    command(out, sizeof out, words);
    const char *median = strstr(out, "\"median_ns\"");
    if (!median)
        bench_fail("weft ping printed no median");
    return strtod(strchr(median, ':') + 1, NULL) / 1e3;
}

/* ---- what server 1 has to do ---- */

struct asker {
    struct weft_attachment *weft;
    int service;
};

static struct asker asker_open(const char *service)
{
    struct asker asker;
    int result = weft_attach(folder, BUSY, 0, &asker.weft);
    if (result < 0)
        bench_fail("weft_attach: %s", weft_strerror(result));
    asker.service = weft_find(asker.weft, service, PATIENCE);
    if (asker.service < 0)
        bench_fail("weft_find: %s", weft_strerror(asker.service));
    return asker;
}

static void ask(struct asker *asker, const void *bytes, uint32_t size)
{
    uint64_t ticket;
    int result = weft_post(asker->weft, (uint32_t)asker->service, bytes, size, &ticket, PATIENCE);
    if (result < 0)
        bench_fail("weft_post: %s", weft_strerror(result));
}

static void worker_begin(struct asker *asker)
{
    *asker = asker_open("primes");
    ask(asker, PRIME, sizeof PRIME - 1);
}

/* Asks until the server takes no more; the answers stay where they are. */
static void reader_begin(struct asker *asker)
{
    static const uint8_t request[64] = {0, 0, 0, BUSY};
    *asker = asker_open("echo");
    for (unsigned i = 0; i < ASKS; i++) {
        uint64_t ticket;
        if (weft_post(asker->weft, (uint32_t)asker->service, request, sizeof request, &ticket,
                      WEFT_NOW) < 0)
            break;
    }
}

static void freeze(const char *option)
{
    char out[256], line[256];
    snprintf(line, sizeof line, "PATH=$PATH:/usr/sbin:/sbin fsfreeze %s %s 2>&1", option, data);
    if (!run(out, sizeof out, line))
        bench_fail("%s: %s", line, out);
}

static void disk_begin(struct asker *asker)
{
    *asker = asker_open("journal");
    freeze("-f");
    ask(asker, "+a record", 9);
}

static void disk_end(struct asker *asker)
{
    freeze("-u");
    weft_detach(asker->weft);
}

static void asker_end(struct asker *asker)
{
    weft_detach(asker->weft); /* the service cancels what it computes for this program */
}

/* ---- a process that computes ---- */

static pid_t stranger_begin(void)
{
    pid_t self = getpid(), stranger = fork();
    if (stranger < 0)
        bench_fail("fork: %s", strerror(errno));
    if (stranger)
        return stranger;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != self ||
        sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){0}))
        _exit(1);
    for (volatile unsigned computed = 0;; computed++)
        continue;
}

static double ping_beside_stranger(void)
{
    pid_t stranger = stranger_begin();
    double time = ping_us();
    if (waitpid(stranger, NULL, WNOHANG))
        bench_fail("the process that computes has ended");
    kill(stranger, SIGKILL);
    waitpid(stranger, NULL, 0);
    return time;
}

/* ---- comparing ---- */

struct burden {
    const char *what;
    void (*begin)(struct asker *asker);
    void (*end)(struct asker *asker);
    bool computes;
};

static void measure(struct bench *bench, const struct burden *burden)
{
    double quiet[ROUNDS], busy[ROUNDS], floor[ROUNDS];
    int count = quick ? 3 : ROUNDS;
    for (int i = 0; i < count; i++) {
        struct asker asker;
        bench_show(bench, "%s: round %d", burden->what, i + 1);
        quiet[i] = ping_us();
        burden->begin(&asker);
        busy[i] = ping_us();
        burden->end(&asker);
        floor[i] = burden->computes ? ping_beside_stranger() : 0;
    }
    double medians[2] = {bench_median(quiet, count), bench_median(busy, count)};
    const struct bench_value values[] = {{"quiet", medians[0]},
                                         {"busy", medians[1]},
                                         {"ratio", medians[1] / medians[0]},
                                         {"floor", bench_median(floor, count)}};
    bench_add(bench, burden->what, "us", values, burden->computes ? 4 : 3);
}

/* Mounts a small file system for the data, in a namespace of our own, which the servers inherit.
 * False: not permitted. */
static bool disk_mount(void)
{
    char out[512], line[1024];
    if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mkdir(data, 0700))
        return false;
    snprintf(line, sizeof line,
             "PATH=$PATH:/usr/sbin:/sbin; truncate -s 64M %s.image && mkfs.ext4 -q -F %s.image && "
             "mount -o loop %s.image %s && fsfreeze -f %s && fsfreeze -u %s",
             data, data, data, data, data, data);
    return run(out, sizeof out, line);
}

static void clean(void)
{
    char line[1024];
    snprintf(line, sizeof line,
             "%s down --dir %s >/dev/null 2>&1; PATH=$PATH:/usr/sbin:/sbin; umount %s 2>/dev/null; "
             "rm -rf %s %s.image",
             BENCH_WEFT, folder, data, data, data);
    (void)!system(line);
}

int main(int argc, char **argv)
{
    static const struct burden burdens[] = {
        {"ping through a server beside a worker that computes", worker_begin, asker_end, true},
        {"ping through a server beside a client that never reads", reader_begin, asker_end, false},
        {"ping through a server beside a disk that hangs", disk_begin, disk_end, false},
    };
    struct bench bench;
    char out[4096], words[1024];
    bench_start(&bench, argc, argv);
    quick = bench.quick;
    snprintf(folder, sizeof folder, "/tmp/weft-bench-%d", (int)getpid());
    snprintf(data, sizeof data, "%s.data", folder);
    atexit(clean);
    has_disk = disk_mount();
    snprintf(words, sizeof words, "up torus:5 --service %s --service %s --service %s --data %s",
             BENCH_PRIMES, BENCH_ECHO, BENCH_JOURNAL, data);
    command(out, sizeof out, words);
    for (unsigned i = 0; i < sizeof burdens / sizeof *burdens; i++) {
        if (burdens[i].begin == disk_begin && !has_disk)
            bench_note(&bench, "a disk that hangs: skipped, it needs root and a loop device");
        else
            measure(&bench, &burdens[i]);
    }
    return bench_finish(&bench);
}
