#include "measured/camcube/camcube_load.h"

#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"
#include "measured/camcube/camcube_network.h"
#include "measured/hosts.h"
#include "measured/sample.h"
#include "services/bench/bench_wire.h"
#include "services/services.h"
#include "sim/world/world.h"
#include "transport/clock.h"

#define ANSWER_SECONDS 30
#define WARM_SHARE     0.25 /* duration of the warm-up, as a share of the measured time */
#define SPARE_NSEC     (60 * NSEC_PER_SEC)

const char *const load_kind_words[LOAD_KINDS] = {"jumbo", "1,500 B", "1,500 B aggregated"};

/* Sizes of payloads; with weft's header the packets have 8,940 (the largest) and 1,500 bytes. */
static const uint16_t kind_sizes[LOAD_KINDS] = {WEFT_PAYLOAD_MAX, 1500 - WEFT_HEADER_SIZE,
                                                1500 - WEFT_HEADER_SIZE};

/* ---- two readings of the counters of all servers ---- */

struct readings {
    struct bench_answer *before, *after; /* of each server */
};

static enum err readings_init(struct readings *readings, uint32_t count, struct why *why)
{
    readings->before = array_new(count, sizeof *readings->before);
    readings->after = array_new(count, sizeof *readings->after);
    return readings->before && readings->after ? OK : why_memory(why);
}

static void readings_fini(struct readings *readings)
{
    free(readings->before);
    free(readings->after);
}

/* Returns the bits a second that arrived at that port, in packets with their headers. */
static double port_rate(const struct readings *readings, node_id server, unsigned port)
{
    const struct bench_answer *before = &readings->before[server],
                              *after = &readings->after[server];
    const struct bench_count *first = &before->ports[port].in, *last = &after->ports[port].in;
    uint64_t bytes =
        last->bytes - first->bytes + WEFT_HEADER_SIZE * (last->packets - first->packets);
    return (double)bytes * 8e9 / (double)(after->now - before->now);
}

/* Returns the rate that the server received, plus the rate that its neighbours received from it. */
static double server_rate(const struct readings *readings, const struct plan *plan, node_id server)
{
    double rate = 0;
    for (unsigned port = 0; port < plan->port_count; port++) {
        const struct plan_end *end = plan_end(plan, server, port);
        if (end->server == NODE_NONE)
            continue;
        rate += port_rate(readings, server, port) + port_rate(readings, end->server, end->port);
    }
    return rate;
}

static void point_fill(struct load_point *point, const struct readings *readings,
                       const struct plan *plan, unsigned links, double rate)
{
    double shares[27 * 8];
    uint32_t count = plan->server_count;
    assert(count <= sizeof shares / sizeof shares[0]);
    *point = (struct load_point){.low = INFINITY, .high = -INFINITY, .cores = NAN};
    for (node_id v = 0; v < count; v++) {
        double share = links ? server_rate(readings, plan, v) / (2 * links * rate) : 0;
        shares[v] = share;
        point->low = fmin(point->low, share);
        point->high = fmax(point->high, share);
        point->packets +=
            (double)(readings->after[v].received.packets - readings->before[v].received.packets) *
            1e9 / (double)(readings->after[v].now - readings->before[v].now);
    }
    point->share = sample_median(shares, count);
}

static struct bench_request request_start(enum load_kind kind, unsigned links)
{
    return (struct bench_request){.kind = BENCH_START,
                                  .token = 1,
                                  .mode = BENCH_SATURATE,
                                  .links = (uint8_t)links,
                                  .size = kind_sizes[kind],
                                  .duration_nsec = SPARE_NSEC};
}

/* ---- real ---- */

struct measurement {
    const struct load_job *job;
    bool separate;
    struct load_found *found; /* shared with the parent */
};

/* Sends the same request to all servers and reads their answers. */
static void servers_ask(struct hosts *hosts, const struct bench_request *request,
                        struct bench_answer *answers)
{
    uint8_t question[BENCH_REQUEST_MAX], bytes[BENCH_ANSWER_MAX];
    size_t size = bench_request_write(request, question);
    uint32_t count = hosts_wiring(hosts)->server_count;
    for (node_id v = 0; v < count; v++)
        hosts_tell(hosts, v, BENCH_SERVICE, question, size);
    for (node_id v = 0; v < count; v++) {
        size_t got = hosts_hear(hosts, v, bytes, sizeof bytes, ANSWER_SECONDS);
        if (bench_answer_read(&answers[v], bytes, got) < 0 || answers[v].error)
            hosts_fail(hosts, "the bench service refused the request");
    }
}

static void rest(double seconds)
{
    nsec until = clock_after((nsec)(seconds * 1e9)), left;
    while ((left = until - clock_now()) > 0)
        clock_nap(left);
}

static void kind_measure(struct hosts *hosts, const struct measurement *measurement,
                         enum load_kind kind, unsigned links, struct readings *readings)
{
    const struct load_job *job = measurement->job;
    const struct bench_request report = {.kind = BENCH_REPORT, .token = 1};
    const struct bench_request stop = {.kind = BENCH_STOP, .token = 1};
    const struct bench_request start = request_start(kind, links);
    struct load_point *point = &measurement->found->points[kind][links];
    if (links)
        servers_ask(hosts, &start, readings->before);
    rest(WARM_SHARE * job->seconds);
    servers_ask(hosts, &report, readings->before);
    double cpu = hosts_cpu(hosts);
    nsec since = clock_now();
    rest(job->seconds);
    cpu = hosts_cpu(hosts) - cpu;
    double wall = (double)(clock_now() - since) * 1e-9;
    servers_ask(hosts, links ? &stop : &report, readings->after);
    point_fill(point, readings, hosts_wiring(hosts), links, (double)job->rate);
    point->cores = cpu / wall;
}

static void measure_run(struct hosts *hosts, const void *argument)
{
    const struct measurement *measurement = argument;
    struct readings readings;
    struct why why = {0};
    if (readings_init(&readings, hosts_wiring(hosts)->server_count, &why))
        hosts_fail(hosts, why.text);
    for (int kind = 0; kind < LOAD_KINDS; kind++)
        for (unsigned links = 0; links <= CAMCUBE_LINKS_MAX; links++)
            if ((kind == LOAD_STANDARD) == measurement->separate &&
                measurement->job->links >> links & 1)
                kind_measure(hosts, measurement, (enum load_kind)kind, links, &readings);
    readings_fini(&readings);
}

enum err load_measure(struct load_found *found, const struct load_job *job, struct why *why)
{
    struct measurement measurement = {.job = job, .found = crowd_memory(sizeof *found)};
    enum err err = OK;
    if (!measurement.found)
        return why_memory(why);
    struct hosts_plan plan = {
        .name = "saturated links",
        .spec = job->spec,
        .process_count = job->processes,
        .transport = "shm",
        .rate = job->rate,
        .sleeping = true, /* a process that polls before it sleeps would always be busy */
        .run = measure_run,
        .argument = &measurement,
    };
    for (int separate = 0; separate < 2 && !err; separate++) {
        measurement.separate = plan.separate = separate;
        err = hosts_run(&plan, why);
    }
    *found = *measurement.found;
    crowd_memory_free(measurement.found, sizeof *found);
    return err;
}

/* ---- simulated ---- */

static void on_answer(void *context, node_id at, uint64_t client, const void *bytes, uint32_t size)
{
    struct bench_answer *const *answers = context;
    int error = bench_answer_read(&(*answers)[at], bytes, size);
    assert(!error && !(*answers)[at].error); /* nothing here can damage the answer */
}

static void world_ask(struct world *world, const struct bench_request *request)
{
    uint8_t question[BENCH_REQUEST_MAX];
    uint32_t size = (uint32_t)bench_request_write(request, question);
    for (node_id v = 0; v < world_plan(world)->server_count; v++) {
        int error = world_request(world, v, BENCH_SERVICE, 1, question, size);
        assert(!error);
    }
}

static enum err kind_simulate(struct load_found *found, const struct load_job *job,
                              const struct plan *plan, enum load_kind kind, unsigned links,
                              struct why *why)
{
    const struct bench_request report = {.kind = BENCH_REPORT, .token = 1};
    const struct bench_request start = request_start(kind, links);
    struct bench_answer *answers;
    struct world_settings settings = WORLD_DEFAULTS;
    struct world *world;
    struct readings readings = {0};
    settings.plan = plan;
    settings.node.services = services_all;
    settings.node.separate = kind == LOAD_STANDARD;
    settings.link.rate = job->rate;
    settings.seed = job->seed;
    settings.settled = true;
    settings.answer = on_answer;
    settings.context = &answers;
    enum err err = readings_init(&readings, plan->server_count, why);
    if (!err)
        err = world_open(&world, &settings, why);
    if (err)
        goto free_readings;
    psec length = (psec)(job->seconds * 1e12), warm = (psec)(WARM_SHARE * (double)length);
    answers = readings.before;
    world_ask(world, &start);
    world_run(world, warm);
    world_ask(world, &report);
    world_run(world, warm + length);
    answers = readings.after;
    world_ask(world, &report);
    point_fill(&found->points[kind][links], &readings, plan, links, (double)job->rate);
    world_close(world);
free_readings:
    readings_fini(&readings);
    return err;
}

enum err load_simulate(struct load_found *found, const struct load_job *job, struct why *why)
{
    struct camcube_network network;
    *found = (struct load_found){0};
    enum err err = camcube_network_open(&network, job->spec, why);
    if (err)
        return err;
    for (int kind = 0; kind < LOAD_KINDS && !err; kind++)
        for (unsigned links = 1; links <= CAMCUBE_LINKS_MAX && !err; links++)
            if (job->links >> links & 1)
                err = kind_simulate(found, job, &network.plan, (enum load_kind)kind, links, why);
    camcube_network_close(&network);
    return err;
}
