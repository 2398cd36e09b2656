/* stream: the speed of streams between the instances of a service (weft/stream.h): messages of
 * 1 MiB over one link in shared memory, against a copy through shared memory (floor), TCP over
 * loopback, UCX and Open MPI: two processes on two cores, in turn, the median of several rounds.
 * Each side has two messages under way, and the receiver has each message in memory of its own.
 * Then a stream over three hops of a cluster of 27 processes, against raw packets (stream_way.h).
 *
 *     stream [--quick] [--json] [--alone]
 *
 * --alone runs streams over one link only, without peers, for a profiler. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <weft/stream.h>

#include "bench.h"
#include "measured/payload.h"
#include "measured/sides.h"
#include "os/cable/cable.h"
#include "os/host/host.h"
#include "peers.h"
#include "stream_way.h"
#include "topology/generators.h"
#include "topology/spec.h"

#define MIB       (1024 * 1024UL)
#define ROUND_MAX 9
#define SERVICE   300
#define SILENCE   (1000 * NSEC_PER_SEC) /* a busy server sends no hellos */

/* ---- a service that sends the messages of a pair ---- */

struct letter {
    struct weft_call call;
    bool busy;
};

static struct pair *now; /* the pair of this process: a process runs one */
static struct letter letters[PAIR_DEPTH];
static uint64_t sent, done_count, arrived_count;
static volatile sig_atomic_t finished;

static void fill(struct weft_self *self, struct weft_stream *stream);

static struct weft_stream *outgoing;

static void done(struct weft_self *self, struct weft_call *call)
{
    struct letter *letter = (struct letter *)(void *)call;
    if (call->result < 0)
        pair_fail(now, "the stream ended");
    letter->busy = false;
    if (++done_count % now->job->count == 0)
        pair_lap(now);
    if (done_count == pair_total(now))
        finished = 1;
    else
        fill(self, outgoing);
}

static void fill(struct weft_self *self, struct weft_stream *stream)
{
    while (sent < pair_total(now)) {
        struct letter *letter = &letters[sent % PAIR_DEPTH];
        unsigned char *data = now->own + sent % PAIR_DEPTH * now->job->size;
        if (letter->busy)
            return;
        letter->call.done = done;
        letter->busy = true;
        payload_number(data, sent++);
        if (weft_stream_send(self, stream, &letter->call, data, now->job->size, false))
            pair_fail(now, "the stream takes no message");
    }
}

static void request(struct weft_self *self, uint64_t client, uint64_t ticket, const void *bytes,
                    uint32_t size)
{
    if (weft_stream_open_server(self, 1, NULL, &outgoing))
        pair_fail(now, "cannot open a stream");
    fill(self, outgoing);
}

static void *target(struct weft_self *self, struct weft_stream *stream, uint64_t message,
                    uint64_t offset, uint32_t size)
{
    bool fits = offset <= now->job->size && size <= now->job->size - offset;
    return fits ? now->own + message % PAIR_DEPTH * now->job->size + offset : NULL;
}

static uint32_t arrived(struct weft_self *self, struct weft_stream *stream,
                        const struct weft_stream_piece *piece)
{
    unsigned char *data = now->own + arrived_count % PAIR_DEPTH * now->job->size;
    if (piece->bytes != data + piece->offset)
        pair_fail(now, "a piece is in the wrong place");
    if (piece->last) {
        if (memcmp(data, &arrived_count, sizeof arrived_count) != 0)
            pair_fail(now, "message %llu is out of order", (unsigned long long)arrived_count);
        if (++arrived_count == pair_total(now))
            finished = 1;
    }
    return piece->size;
}

static const struct weft_service_ops ops = {.request = request};
static const struct weft_streams streams = {
    .outgoing = 1, .incoming = 1, .window = 1 << 20, .arrived = arrived, .target = target};
static const struct weft_service service = {
    .version = WEFT_SERVICE_VERSION,
    .name = "stream-bench",
    .id = SERVICE,
    .ops = &ops,
    .streams = &streams,
};

/* ---- the side ---- */

static void side_run(struct pair *pair)
{
    static const struct weft_service *const services[] = {&service, NULL};
    struct topology topology;
    struct plan plan;
    struct host *host;
    struct why why = {0};
    node_id self = (node_id)pair->role;
    uint64_t life = (uint64_t)clock_wall();
    if (pair->job->kind != JOB_LONG)
        pair_missing(pair, "streams do not measure this job");
    now = pair;
    sent = done_count = arrived_count = 0;
    finished = 0;
    if (topology_build(&topology, "torus:2", &why) || plan_init(&plan, &topology, &why))
        pair_fail(pair, "%s", why.text);
    struct host_config config = {
        .plan = &plan,
        .servers = &self,
        .lives = &life,
        .server_count = 1,
        .folder = pair->folder,
        .links = pair->folder,
        .transport = cables_transport("shm"),
        .services = services,
        .silence_nsec = SILENCE,
        .spin = SILENCE,
    };
    if (host_open(&host, &config, &why))
        pair_fail(pair, "%s", why.text);
    volatile sig_atomic_t never = 0;
    while (!node_reaches(host_node(host, self), 1 - self))
        host_run(host, &never, clock_after(NSEC_PER_SEC / 1000));
    pair_start(pair);
    if (pair->role == 0 && host_request(host, 0, SERVICE, "go", 2))
        pair_fail(pair, "the service does not run");
    host_run(host, &finished, clock_after(SILENCE));
    if (pair->role == 1)
        pair_stop(pair);
    /* The receiver's last answers leave while the sender waits for them. The sender writes the word
     * with release; the receiver reads it with acquire. */
    _Atomic uint32_t *over = (_Atomic uint32_t *)(void *)pair->memory;
    if (pair->role == 0)
        atomic_store_explicit(over, 1, memory_order_release);
    while (!atomic_load_explicit(over, memory_order_acquire))
        host_run(host, &never, clock_after(NSEC_PER_SEC / 1000));
    pair_meet(pair);
    host_close(host);
    plan_fini(&plan);
    topology_fini(&topology);
}

static const struct side side_stream = {"stream", side_run};

static const struct rival {
    const char *name;
    const struct side *side;
} rivals[] = {
    {"weft", &side_stream}, {"floor", &side_floor},     {"tcp", &side_tcp},
    {"ucx", &side_ucx_tag}, {"openmpi", &side_openmpi},
};
#define RIVALS (sizeof rivals / sizeof *rivals)

/* ---- the table ---- */

static void row(struct bench *bench, const char *what, const struct job *job, int rounds,
                bool alone)
{
    double values[RIVALS][ROUND_MAX];
    struct bench_value found[RIVALS + 1];
    bool out[RIVALS] = {false};
    size_t count = 0, sides = alone ? 1 : RIVALS;
    for (int round = 0; round < rounds; round++)
        for (size_t i = 0; i < sides; i++) {
            struct pair_result result;
            struct why why = {""};
            if (out[i])
                continue;
            bench_show(bench, "%s: round %d of %d, %s", what, round + 1, rounds, rivals[i].name);
            enum err err = pair_run(rivals[i].side, job, &result, &why);
            out[i] = err || result.missing;
            if (out[i])
                bench_note(bench, "%s: skipping %s: %s", what, rivals[i].name,
                           err ? why.text : result.reason);
            else
                values[i][round] = 1e-9 * (double)job->size / result.value;
        }
    for (size_t i = 0; i < sides; i++)
        if (!out[i])
            found[count++] = (struct bench_value){rivals[i].name, bench_median(values[i], rounds)};
    bench_add(bench, what, "GB/s", found, count);
}

int main(int count, char **words)
{
    struct bench bench;
    bool alone = false;
    const struct bench_word more[] = {{"alone", &alone, NULL}, {0}};
    bench_start_with(&bench, count, words, more);
    int rounds = bench.quick ? 3 : ROUND_MAX;
    uint32_t batches = bench.quick ? 40 : 200;
    row(&bench, "messages of 1 MiB over one link",
        &(struct job){.kind = JOB_LONG, .size = MIB, .count = 4, .batches = batches}, rounds,
        alone);
    row(&bench, "messages of 64 KiB over one link",
        &(struct job){.kind = JOB_LONG, .size = MIB / 16, .count = 64, .batches = batches}, rounds,
        alone);
    if (!alone)
        stream_way(&bench);
    return bench_finish(&bench);
}
