/* disk: appends with group sync on the 27 servers of a torus, against fio with as many processes,
 * the same block size and the same syncs, on the same file system and in the same run.
 *
 *   ./build/bench/disk [--quick] [--json] [--folder DIR] [--threads]
 *
 * The files are in DIR (default: the current folder). Each server is a process, as with weft up;
 * its service calls appends of a group of blocks and a sync at once, waits for the sync, and
 * repeats. fio (psync) makes the same calls: files grow, and fdatasync follows each group.
 *
 * Each side begins each round with new files, and removes them before the other begins. A side that
 * kept its files would also keep the memory in which the kernel caches them. In a virtual machine,
 * memory that was not used for a while is slow to write to, so the side that gets what the other
 * has just given back would be twice as fast. */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft/disk.h>

#include "bench.h"
#include "fio.h"
#include "os/cable/cable.h"
#include "os/data/data_erase.h"
#include "os/host/host.h"
#include "topology/generators.h"

#define SERVERS      27
#define GROUP_MAX    128
#define FILE_MAX     (256u << 20) /* then the file begins again */
#define SILENCE_NSEC (1000 * NSEC_PER_SEC)
#define CLUSTER      1

struct load {
    const char *what;
    uint32_t size;  /* of a block */
    uint32_t group; /* blocks for each sync */
};

static const struct load loads[] = {
    {"appends of 4 KiB, a sync for each 32", 4096, 32},
    {"appends of 4 KiB, a sync for each", 4096, 1},
    {"appends of 64 KiB, a sync for each 16", 65536, 16},
};

/* Appends of each server that were synced. A server's process writes its own, relaxed; the parent
 * reads them, relaxed, before it stops the processes: a count that is a little old is no harm. */
static _Atomic uint64_t *counts;
static struct load load;

/* ---- the service ---- */

struct appender {
    struct weft_call calls[GROUP_MAX];
    struct weft_call sync;
    struct weft_file *file;
    uint64_t size;
    char *block;
};

static void fail(const char *what, int64_t result)
{
    bench_fail("%s: %s", what, strerror((int)-result));
}

static void synced(struct weft_self *self, struct weft_call *call);

static void appended(struct weft_self *self, struct weft_call *call)
{
    if (call->result < 0)
        fail("append", call->result);
}

static void group_begin(struct weft_self *self, struct appender *appender)
{
    for (uint32_t i = 0; i < load.group; i++) {
        appender->calls[i].done = appended;
        int result =
            weft_disk_append(self, appender->file, &appender->calls[i], appender->block, load.size);
        if (result < 0)
            fail("append", result);
    }
    appender->size += (uint64_t)load.group * load.size;
    appender->sync.done = synced;
    (void)!weft_disk_sync(self, appender->file, &appender->sync); /* of all of them */
}

static void emptied(struct weft_self *self, struct weft_call *call)
{
    if (call->result < 0)
        fail("truncate", call->result);
    group_begin(self, weft_memory(self));
}

static void synced(struct weft_self *self, struct weft_call *call)
{
    struct appender *appender = weft_memory(self);
    if (call->result < 0)
        fail("sync", call->result);
    atomic_fetch_add_explicit(&counts[weft_here(self)], load.group, memory_order_relaxed);
    if (appender->size < FILE_MAX) {
        group_begin(self, appender);
        return;
    }
    appender->size = 0;
    call->done = emptied;
    (void)!weft_disk_truncate(self, appender->file, call, 0);
}

static void opened(struct weft_self *self, struct weft_call *call)
{
    if (call->result < 0)
        fail("open", call->result);
    group_begin(self, weft_memory(self));
}

static int start(struct weft_self *self)
{
    struct appender *appender = weft_memory(self);
    appender->block = weft_allocate(self, load.size);
    if (!appender->block)
        return -ENOMEM;
    memset(appender->block, 'x', load.size);
    appender->sync.done = opened;
    return weft_disk_open(self, &appender->sync, "log", WEFT_OPEN_CREATE, &appender->file);
}

static const struct weft_service_ops ops = {.start = start};
static const struct weft_service appender_service = {
    .version = WEFT_SERVICE_VERSION,
    .name = "appender",
    .id = 300,
    .size = sizeof(struct appender),
    .ops = &ops,
    .files = 1,
};

/* ---- the servers ---- */

struct stage {
    char links[64]; /* sockets and shared memory */
    char data[512];
    bool threads;
    struct topology topology;
    struct plan plan;
    pid_t pids[SERVERS];
};

static volatile sig_atomic_t ended; /* in a child; written by its signal handler */

static void on_term(int number)
{
    ended = 1;
}

static _Noreturn void server_run(const struct stage *stage, node_id server)
{
    uint64_t life = (uint64_t)clock_wall();
    struct host *host;
    struct why why = {0};
    const struct weft_service *services[] = {&appender_service, NULL};
    const struct host_config config = {
        .plan = &stage->plan,
        .servers = &server,
        .lives = &life,
        .server_count = 1,
        .folder = stage->links,
        .links = stage->links,
        .transport = cables_transport("shm"),
        .services = services,
        .silence_nsec = SILENCE_NSEC,
        .data = {.folder = stage->data,
                 .cluster = CLUSTER,
                 .topology = "torus:3x3x3",
                 .threads = stage->threads},
        .spin = -1, /* as weftd with more processes than processors */
        .yield_is_partial = true,
    };
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGTERM, on_term);
    if (host_open(&host, &config, &why))
        bench_fail("%s", why.text);
    while (!ended)
        host_run(host, &ended, clock_after(NSEC_PER_SEC));
    host_close(host);
    exit(0);
}

static void servers_signal(const struct stage *stage, int number)
{
    for (unsigned i = 0; i < SERVERS; i++)
        kill(stage->pids[i], number);
}

static uint64_t appends(void)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < SERVERS; i++)
        sum += atomic_load_explicit(&counts[i], memory_order_relaxed);
    return sum;
}

static void servers_start(struct stage *stage)
{
    memset((void *)counts, 0, SERVERS * sizeof *counts);
    for (node_id i = 0; i < SERVERS; i++) {
        fflush(NULL);
        stage->pids[i] = fork();
        if (stage->pids[i] < 0)
            bench_fail("cannot fork");
        if (!stage->pids[i])
            server_run(stage, i);
    }
    for (unsigned i = 0; i < SERVERS; i++)
        while (!atomic_load_explicit(&counts[i], memory_order_relaxed)) {
            if (waitpid(stage->pids[i], NULL, WNOHANG) > 0)
                bench_fail("server %u has ended", i);
            clock_nap(1000000);
        }
    servers_signal(stage, SIGSTOP);
}

static void servers_end(struct stage *stage)
{
    uint32_t erased;
    struct why why = {0};
    servers_signal(stage, SIGTERM);
    servers_signal(stage, SIGCONT);
    for (unsigned i = 0; i < SERVERS; i++)
        waitpid(stage->pids[i], NULL, 0);
    if (data_erase(stage->data, CLUSTER, &erased, &why))
        bench_fail("%s", why.text);
}

/* Appends a second on all servers. */
static double weft_measure(const struct stage *stage, int seconds)
{
    servers_signal(stage, SIGCONT);
    uint64_t before = appends();
    nsec begun = clock_now();
    clock_nap(seconds * NSEC_PER_SEC);
    uint64_t done = appends() - before;
    double took = (double)(clock_now() - begun) / 1e9;
    servers_signal(stage, SIGSTOP);
    return (double)done / took;
}

/* ---- */

static void row(struct bench *bench, struct stage *stage, const struct load *what)
{
    int rounds = bench->quick ? 3 : 5, seconds = bench->quick ? 1 : 3;
    double weft[5], fio[5], ratio[5];
    load = *what;
    bench_show(bench, "%s", load.what);
    for (int i = 0; i < rounds; i++) {
        servers_start(stage);
        weft[i] = weft_measure(stage, seconds);
        servers_end(stage);
        fio[i] = fio_rate(stage->data, load.size, load.group, SERVERS, FILE_MAX, seconds);
        ratio[i] = weft[i] / fio[i];
    }
    const struct bench_value values[] = {{"weft", bench_median(weft, rounds)},
                                         {"fio", bench_median(fio, rounds)},
                                         {"ratio", bench_median(ratio, rounds)}};
    bench_add(bench, load.what, "1/s", values, 3);
}

int main(int count, char **words)
{
    struct bench bench;
    static struct stage stage;
    struct why why = {0};
    const char *folder = ".";
    bench_start_with(&bench, count, words,
                     (const struct bench_word[]){{.name = "folder", .value = &folder},
                                                 {.name = "threads", .given = &stage.threads},
                                                 {0}});
    counts = mmap(NULL, SERVERS * sizeof *counts, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    snprintf(stage.links, sizeof stage.links, "/dev/shm/weft-bench-XXXXXX");
    if (counts == MAP_FAILED || !mkdtemp(stage.links))
        bench_fail("no shared memory");
    snprintf(stage.data, sizeof stage.data, "%s/weft-bench-disk-%d", folder, (int)getpid());
    if (topology_build(&stage.topology, "torus:3x3x3", &why) ||
        plan_init(&stage.plan, &stage.topology, &why))
        bench_fail("%s", why.text);
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++)
        row(&bench, &stage, &loads[i]);
    rmdir(stage.data);
    rmdir(stage.links);
    plan_fini(&stage.plan);
    topology_fini(&stage.topology);
    return bench_finish(&bench);
}
