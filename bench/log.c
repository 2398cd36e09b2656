/* log: the store's log on one server, alone.
 *
 *   ./build/bench/log [--quick] [--json] [--folder DIR]
 *
 * Appends of 64 KiB records, 16 at once, so that a sync serves 16 of them, against fio with the
 * same block size and a sync for each 16, on the same file system, in turn. And a start with many
 * keys: from the opening of the server until log and index know all of them. The files are in DIR
 * (default: the current folder). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"
#include "fio.h"
#include "node/configuration/configuration.h"
#include "os/cable/cable.h"
#include "os/data/data_erase.h"
#include "os/host/host.h"
#include "services/store/index/index.h"
#include "services/store/log/log.h"
#include "topology/generators.h"

#define CLUSTER   1
#define GROUPS    150 /* placement groups of a server with three copies */
#define AT_ONCE   16
#define FILL_ONCE 512
#define BLOCK     (64u << 10)
#define SMALL     100        /* bytes of a value in the start */
#define FILE_MAX  (3u << 30) /* fio does not come to its end, from where it would overwrite */
#define TICK      (100 * 1000 * 1000)
#define INDEX     (UINT64_C(2) << 30)

static const struct log_settings settings = {72u << 20, BLOCK};

enum { TICKS, FLUSH };

/* What the process does, and what it sees; one thread. */
static struct {
    uint64_t keys; /* that are there in the end; 0: appends without an index */
    uint64_t next, done;
    bool opened;
    volatile sig_atomic_t stop;
} run;

struct job {
    struct log_append append;
    char key[24];
};

struct logger {
    struct weft_self *self;
    struct log *log;
    struct index index;
    struct job jobs[FILL_ONCE];
    char value[BLOCK];
};

static void fail(const char *what, int64_t result)
{
    bench_fail("%s: %s", what, strerror((int)-result));
}

/* ---- the index ---- */

static void entry_set(struct logger *logger, const struct record *record, struct log_place place)
{
    bool new;
    struct index_entry *entry = index_insert(&logger->index, record->group,
                                             (struct index_key){record->key, record->key_size},
                                             record->version, INDEX_VALUE, &new);
    if (!entry)
        bench_fail("the index is full");
    entry->segment = place.segment;
    entry->offset = place.unit;
    entry->value_size = record->value_size;
}

static void on_found(void *owner, const struct record *record, struct log_place place)
{
    struct logger *logger = owner;
    if (run.keys)
        entry_set(logger, record, place);
    else
        log_dead(logger->log, place, record->key_size, record->value_size);
}

static bool on_live(void *owner, struct record *record, struct log_place place)
{
    struct logger *logger = owner;
    struct index_key key = {record->key, record->key_size};
    const struct index_entry *entry =
        run.keys ? index_find(&logger->index, record->group, key) : NULL;
    return entry && entry->segment == place.segment && entry->offset == place.unit;
}

static bool on_moved(void *owner, const struct record *record, struct log_place from,
                     struct log_place to)
{
    return false; /* nothing is ever replaced here, so nothing is copied */
}

static void on_damaged(void *owner, const struct log_damage *damage)
{
    bench_fail("the log is damaged");
}

static void on_failed(void *owner, int error)
{
    fail("the log", error);
}

static void on_wake(void *owner)
{
    struct logger *logger = owner;
    (void)!weft_timer(logger->self, weft_now(logger->self), FLUSH);
}

/* ---- the load ---- */

static void append_begin(struct logger *logger, struct job *job);

static void appended(void *owner, struct log_append *append)
{
    struct logger *logger = owner;
    if (append->result)
        fail("append", append->result);
    run.done++;
    if (run.keys)
        entry_set(logger, &append->record, append->place);
    else
        log_dead(logger->log, append->place, append->record.key_size, append->record.value_size);
    if (!run.keys || run.next < run.keys)
        append_begin(logger, (struct job *)append);
    else if (run.done == run.keys)
        run.stop = 1;
}

static void append_begin(struct logger *logger, struct job *job)
{
    uint64_t number = run.next++;
    snprintf(job->key, sizeof job->key, "%020llu", (unsigned long long)number * 7919 % 100000007);
    job->append = (struct log_append){
        .record = {.kind = RECORD_VALUE,
                   .group = (uint32_t)(number % GROUPS),
                   .version = number + 1,
                   .key = job->key,
                   .key_size = 20,
                   .value = logger->value,
                   .value_size = run.keys ? SMALL : BLOCK},
        .done = appended,
    };
    int result = log_append(logger->log, &job->append);
    if (result)
        fail("append", result);
}

static void on_opened(void *owner, int result)
{
    struct logger *logger = owner;
    if (result)
        fail("open", result);
    run.opened = true;
    if (run.keys && run.next == run.keys) {
        run.stop = 1;
        return;
    }
    for (unsigned i = 0; i < (run.keys ? FILL_ONCE : AT_ONCE); i++)
        append_begin(logger, &logger->jobs[i]);
}

static const struct log_events events = {
    .found = on_found,
    .opened = on_opened,
    .damaged = on_damaged,
    .live = on_live,
    .moved = on_moved,
    .failed = on_failed,
    .wake = on_wake,
};

static int start(struct weft_self *self)
{
    struct logger *logger = weft_memory(self);
    void *memory = weft_allocate(self, INDEX);
    logger->self = self;
    logger->log = log_init(self, &settings, &events, logger);
    if (!memory || !logger->log || !index_init(&logger->index, memory, INDEX, GROUPS))
        return -ENOMEM;
    memset(logger->value, 'x', sizeof logger->value);
    (void)!weft_timer(self, weft_now(self) + TICK, TICKS);
    return log_open(logger->log);
}

static void timer(struct weft_self *self, uint64_t cookie)
{
    struct logger *logger = weft_memory(self);
    if (cookie == FLUSH) {
        log_flush(logger->log);
        return;
    }
    log_tick(logger->log);
    (void)!weft_timer(self, weft_now(self) + TICK, TICKS);
}

static const struct weft_service_ops ops = {.start = start, .timer = timer};
static const struct weft_service logger_service = {
    .version = WEFT_SERVICE_VERSION,
    .name = "logger",
    .id = 300,
    .size = sizeof(struct logger),
    .ops = &ops,
    .files = LOG_FILES,
    .work = LOG_WORK,
};
static const struct weft_service *const services[] = {&logger_service, NULL};

/* ---- the server ---- */

struct stage {
    char links[64], data[512];
    struct topology topology;
    struct plan plan;
    struct configuration configuration;
    struct host *host;
};

static void server_open(struct stage *stage)
{
    static uint64_t life;
    node_id server = 0;
    struct why why = {0};
    life = (uint64_t)clock_wall();
    const struct host_config config = {
        .plan = &stage->plan,
        .servers = &server,
        .lives = &life,
        .server_count = 1,
        .folder = stage->links,
        .links = stage->links,
        .transport = cables_transport("shm"),
        .services = services,
        .configuration = &stage->configuration,
        .data = {.folder = stage->data, .cluster = CLUSTER, .topology = "torus:3"},
    };
    if (host_open(&stage->host, &config, &why))
        bench_fail("%s", why.text);
}

static void server_run(struct stage *stage, double seconds)
{
    host_run(stage->host, &run.stop, clock_after((nsec)(seconds * 1e9)));
}

static void server_end(struct stage *stage, bool erase)
{
    uint32_t erased;
    struct why why = {0};
    host_close(stage->host);
    if (erase && data_erase(stage->data, CLUSTER, &erased, &why))
        bench_fail("%s", why.text);
}

/* ---- rows ---- */

static void row_appends(struct bench *bench, struct stage *stage)
{
    int rounds = bench->quick ? 3 : 5, seconds = bench->quick ? 2 : 4;
    double weft[5], fio[5], ratio[5];
    memset(&run, 0, sizeof run);
    server_open(stage);
    server_run(stage, 1);
    for (int i = 0; i < rounds; i++) {
        uint64_t before = run.done;
        nsec begun = clock_now();
        server_run(stage, seconds);
        weft[i] = (double)(run.done - before) * 1e9 / (double)(clock_now() - begun);
        fio[i] = fio_rate(stage->data, BLOCK, AT_ONCE, 1, FILE_MAX, seconds);
        ratio[i] = weft[i] / fio[i];
    }
    server_end(stage, true);
    const struct bench_value values[] = {{"weft", bench_median(weft, rounds)},
                                         {"fio", bench_median(fio, rounds)},
                                         {"ratio", bench_median(ratio, rounds)}};
    bench_add(bench, "appends of 64 KiB, a sync for each 16", "1/s", values, 3);
}

static void row_start(struct bench *bench, struct stage *stage)
{
    char what[BENCH_WHAT_SIZE];
    memset(&run, 0, sizeof run);
    run.keys = bench->quick ? 1000000 : 10000000;
    server_open(stage);
    server_run(stage, 3600);
    run.stop = 0;
    server_run(stage, 20); /* hints are written */
    server_end(stage, false);
    run.opened = false;
    run.stop = 0;
    nsec begun = clock_now();
    server_open(stage);
    server_run(stage, 3600);
    double took = (double)(clock_now() - begun) / 1e9;
    server_end(stage, true);
    snprintf(what, sizeof what, "start with %llu keys, values of %d bytes",
             (unsigned long long)run.keys, SMALL);
    bench_add(bench, what, "s", (const struct bench_value[]){{"weft", took}}, 1);
}

int main(int count, char **words)
{
    struct bench bench;
    static struct stage stage;
    struct why why = {0};
    const char *folder = ".";
    bench_start_with(&bench, count, words,
                     (const struct bench_word[]){{.name = "folder", .value = &folder}, {0}});
    snprintf(stage.links, sizeof stage.links, "/dev/shm/weft-bench-XXXXXX");
    if (!mkdtemp(stage.links))
        bench_fail("no shared memory");
    snprintf(stage.data, sizeof stage.data, "%s/weft-bench-log-%d", folder, (int)getpid());
    if (topology_build(&stage.topology, "torus:3", &why) ||
        plan_init(&stage.plan, &stage.topology, &why) ||
        configuration_add(&stage.configuration, "bench", "logger.memory=3G", &why))
        bench_fail("%s", why.text);
    row_appends(&bench, &stage);
    row_start(&bench, &stage);
    rmdir(stage.data);
    rmdir(stage.links);
    configuration_fini(&stage.configuration);
    plan_fini(&stage.plan);
    topology_fini(&stage.topology);
    return bench_finish(&bench);
}
