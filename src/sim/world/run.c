/* run: see run.h. */
#include "sim/world/run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/observer.h"
#include "base/rng.h"
#include "services/bench/bench_wire.h"
#include "services/ping/ping_wire.h"

#define BOOT_MAX              (60 * PSEC_PER_SECOND)
#define BOOT_SLICE            (PSEC_PER_SECOND / 100)
#define SLICES                200   /* after each of which the observer is called */
#define ASKED_SLOTS           65536 /* requests that may wait for an answer */
#define PING_SIZE             64
#define TIMEOUT_MAX           INT64_C(1000000000)
#define DISK_SIZE             (UINT64_C(1) << 30)
#define DISK_DELAY            (PSEC_PER_SECOND / 10000) /* about that of a fast solid-state disk */
#define DISK_BYTES_PER_SECOND UINT64_C(1000000000)
#define TIMEOUT_INTERVALS     30 /* timeout of a ping: ping can have so many in flight at once */

struct run {
    const struct run_settings *settings;
    struct run_result *result;
    struct world *world;
    struct rng rng;
    struct latency_watcher latency;
    struct world_watcher *watchers[2];
    psec *busy;  /* bytes of each link before the load */
    psec *asked; /* by the number of the request: when it was sent; 0: answered */
    int refusal; /* the first refusal of a service */
    struct weft_simulation *simulation; /* RUN_CHECKER */
};

/* ---- answers ---- */

static void ping_answered(struct run *run, const void *bytes, uint32_t size)
{
    struct ping_answer answer;
    if (ping_answer_read(&answer, bytes, size))
        return;
    if (answer.kind == PING_REFUSED)
        run->refusal = -answer.error;
    if (answer.kind != PING_REPLY)
        return;
    run->result->answered++;
    latency_add(&run->result->round, (psec)answer.round_nsec * PSEC_PER_NSEC);
}

static void bench_answered(struct run *run, const void *bytes, uint32_t size)
{
    struct bench_answer answer;
    if (!bench_answer_read(&answer, bytes, size) && answer.error)
        run->refusal = -answer.error;
}

static void request_answered(struct run *run, uint64_t client, const void *bytes, uint32_t size)
{
    struct run_result *result = run->result;
    if (result->answered++ == 0) {
        result->answer_size = size < RUN_ANSWER_MAX ? size : RUN_ANSWER_MAX;
        memcpy(result->answer, bytes, result->answer_size);
    }
    psec *asked = &run->asked[client % ASKED_SLOTS];
    if (*asked)
        latency_add(&result->round, world_now(run->world) - *asked);
    *asked = 0;
}

static void answered(void *context, node_id at, uint64_t client, const void *bytes, uint32_t size)
{
    struct run *run = context;
    if (run->settings->load == RUN_PINGS)
        ping_answered(run, bytes, size);
    else if (run->settings->load == RUN_REQUESTS)
        request_answered(run, client, bytes, size);
    else
        bench_answered(run, bytes, size);
}

/* RUN_CHECKER. */
static int checker_answered(void *context, node_id at, const struct env_answer *to,
                            const void *bytes, uint32_t size)
{
    struct run *run = context;
    run->result->answered++;
    return run->simulation ? simulation_answer(run->simulation, to, bytes, size) : 0;
}

/* ---- loads ---- */

static int bench_start(struct run *run, node_id id)
{
    const struct run_settings *settings = run->settings;
    static const enum bench_mode modes[] = {
        [RUN_KEYS] = BENCH_KEYS, [RUN_SERVERS] = BENCH_SERVERS, [RUN_LINKS] = BENCH_SATURATE};
    struct bench_request request = {
        .kind = BENCH_START,
        .mode = modes[settings->load],
        .size = (uint16_t)settings->size,
        .duration_nsec = (int64_t)(settings->length / PSEC_PER_NSEC),
    };
    if (settings->load == RUN_LINKS)
        request.links = (uint8_t)run->settings->plan->port_count;
    else
        request.rate_milli = (uint64_t)(settings->rate * 1000);
    uint8_t bytes[BENCH_REQUEST_MAX];
    size_t size = bench_request_write(&request, bytes);
    return world_request(run->world, id, BENCH_SERVICE, 1, bytes, (uint32_t)size);
}

static int ping_start(struct run *run, node_id id)
{
    const struct run_settings *settings = run->settings;
    uint32_t others = settings->plan->server_count - 1;
    node_id server = others ? (node_id)rng_below(&run->rng, others) : 0;
    int64_t interval = (int64_t)(1e9 / settings->rate);
    struct ping_request request = {
        .kind = PING_START,
        .server = server + (others && server >= id),
        .count = (uint32_t)(settings->length / PSEC_PER_NSEC / (uint64_t)interval) + 1,
        .size = (uint16_t)(settings->size ? settings->size : PING_SIZE),
        .interval_nsec = interval,
        .timeout_nsec =
            TIMEOUT_INTERVALS * interval < TIMEOUT_MAX ? TIMEOUT_INTERVALS * interval : TIMEOUT_MAX,
    };
    uint8_t bytes[PING_REQUEST_MAX];
    size_t size = ping_request_write(&request, bytes);
    run->result->asked += request.count;
    return world_request(run->world, id, PING_SERVICE, 1, bytes, (uint32_t)size);
}

static uint32_t request_write(struct run *run, char out[RUN_REQUEST_MAX])
{
    size_t size = 0;
    for (const char *at = run->settings->request; *at && size + 4 < RUN_REQUEST_MAX; at++) {
        if (*at == '#')
            size += (size_t)snprintf(out + size, 4, "%u", (unsigned)rng_below(&run->rng, 1000));
        else
            out[size++] = *at;
    }
    return (uint32_t)size;
}

static int request_put(struct run *run, uint64_t number)
{
    char bytes[RUN_REQUEST_MAX];
    uint32_t size = request_write(run, bytes);
    node_id id = (node_id)(number % run->settings->plan->server_count);
    run->result->asked++;
    run->asked[number % ASKED_SLOTS] = world_now(run->world);
    return world_request(run->world, id, run->settings->service, number, bytes, size);
}

static void tell(const struct run *run, const char *stage, psec done, psec total)
{
    if (run->settings->observer)
        observer_tell(run->settings->observer, stage, done / 1000000000, total / 1000000000);
}

/* Sends requests from one server after the other, at equal intervals. */
static enum err requests_run(struct run *run, psec begin, psec end, struct why *why)
{
    const struct run_settings *settings = run->settings;
    double interval = (double)PSEC_PER_SECOND / settings->rate / settings->plan->server_count;
    for (uint64_t number = 0;; number++) {
        psec at = begin + (psec)(interval * (double)number);
        if (at >= end)
            return OK;
        world_run(run->world, at > begin ? at : begin + 1);
        if (number % 1024 == 0)
            tell(run, "simulated milliseconds", at - begin, end - begin);
        int error = request_put(run, number);
        if (error == -ENOENT)
            return why_fail(why, ERR_USAGE, "the service accepts no requests");
        run->result->refused += error < 0;
    }
}

static enum err load_start(struct run *run, struct why *why)
{
    enum run_load load = run->settings->load;
    int error = 0;
    for (node_id id = 0; !error && id < run->settings->plan->server_count; id++) {
        if (load == RUN_PINGS)
            error = ping_start(run, id);
        else if (load != RUN_REQUESTS && load != RUN_NOTHING && load != RUN_CHECKER)
            error = bench_start(run, id);
        error = error ? error : run->refusal;
    }
    if (error == -ENOENT)
        return why_fail(why, ERR_USAGE, "the service for this load does not run");
    if (error)
        return why_fail(why, ERR_USAGE, "the service refused the load: %s",
                        strerrordesc_np(-error));
    return OK;
}

/* ---- the run ---- */

static enum err boot(struct run *run, struct why *why)
{
    if (!run->settings->boot)
        return OK;
    while (!world_is_whole(run->world)) {
        if (world_now(run->world) >= BOOT_MAX)
            return why_fail(why, ERR_SYSTEM, "not all servers found each other in %llu s",
                            BOOT_MAX / PSEC_PER_SECOND);
        world_run(run->world, world_now(run->world) + BOOT_SLICE);
        tell(run, "milliseconds of bootstrap", world_now(run->world), 0);
    }
    run->result->booted = world_now(run->world);
    return OK;
}

static void number_add(void *context, const char *service, const char *name, uint64_t value)
{
    struct run_result *result = context;
    for (unsigned i = 0; i < result->number_count; i++) {
        struct run_number *number = &result->numbers[i];
        if (strcmp(number->service, service) == 0 && strcmp(number->name, name) == 0) {
            number->value += value;
            return;
        }
    }
    if (result->number_count < RUN_NUMBERS_MAX)
        result->numbers[result->number_count++] = (struct run_number){service, name, value};
}

static void snapshots_add(struct run *run, bool after)
{
    struct run_result *result = run->result;
    uint64_t sign = after ? 1 : (uint64_t)-1; /* values from before the load are subtracted */
    for (node_id id = 0; id < run->settings->plan->server_count; id++) {
        struct node_snapshot snapshot;
        node_snapshot(world_node(run->world, id), &snapshot);
        result->sent += sign * snapshot.sent;
        result->delivered += sign * snapshot.delivered;
        result->intercepted += sign * snapshot.intercepted;
        for (unsigned reason = 0; reason < DROP_COUNT; reason++)
            result->drops[reason] += sign * snapshot.drops[reason];
        if (after)
            node_stats(world_node(run->world, id), number_add, result);
    }
}

static void busy_measure(struct run *run)
{
    const struct plan *plan = run->settings->plan;
    double line = (double)run->settings->link.rate / 8 * (double)run->result->length /
                  (double)PSEC_PER_SECOND;
    uint64_t sum = 0, most = 0, links = 0;
    for (uint32_t i = 0; i < plan->server_count * plan->port_count; i++) {
        const struct sim_link *link =
            world_link(run->world, i / plan->port_count, i % plan->port_count);
        if (!link)
            continue;
        uint64_t bytes = link->bytes - run->busy[i];
        sum += bytes;
        most = bytes > most ? bytes : most;
        links++;
    }
    if (line <= 0 || links == 0)
        return;
    run->result->busy_mean = (double)sum / (double)links / line;
    run->result->busy_most = (double)most / line;
}

static void before_load(struct run *run)
{
    const struct plan *plan = run->settings->plan;
    for (uint32_t i = 0; i < plan->server_count * plan->port_count; i++) {
        const struct sim_link *link =
            world_link(run->world, i / plan->port_count, i % plan->port_count);
        run->busy[i] = link ? link->bytes : 0;
    }
    run->latency.latency = (struct latency){0};
    snapshots_add(run, false);
}

static void counts_take(struct run_result *result, const struct world_counts *before,
                        const struct sim_link_counts *links)
{
    result->counts.events -= before->events;
    result->counts.steps -= before->steps;
    result->counts.hops -= before->hops;
    result->counts.rooms -= before->rooms;
    result->links.frames -= links->frames;
    result->links.sent -= links->sent;
    result->links.bytes -= links->bytes;
}

static enum err checker_start(struct run *run, struct why *why)
{
    const struct simulation_settings settings = {
        .checker = run->settings->checker,
        .world = run->world,
        .services = run->settings->services,
        .seed = run->settings->seed,
        .phase = WEFT_SIM_STEADY,
        .record = run->settings->record,
    };
    enum err err = simulation_open(&run->simulation, &settings, why);
    return err ? err : simulation_start(run->simulation, why);
}

static enum err checker_end(struct run *run, struct why *why)
{
    simulation_finish(run->simulation);
    const struct simulation_failure *failure = simulation_failed(run->simulation);
    run->result->failed = failure != NULL;
    if (failure)
        run->result->failure = *failure;
    return simulation_error(run->simulation) ? why_memory(why) : OK;
}

static void advance(struct run *run, psec until)
{
    if (run->simulation)
        simulation_run(run->simulation, until);
    else
        world_run(run->world, until);
}

static enum err load_run(struct run *run, struct why *why)
{
    const struct run_settings *settings = run->settings;
    struct run_result *result = run->result;
    struct world_counts counts;
    struct sim_link_counts links;
    world_count(run->world, &counts);
    world_count_links(run->world, &links);
    before_load(run);
    psec begin = world_now(run->world), end = begin + settings->length;
    world_run(run->world, begin + 1); /* the first step of nodes that began settled */
    enum err err = load_start(run, why);
    if (!err && settings->load == RUN_REQUESTS)
        err = requests_run(run, begin, end, why);
    if (!err && settings->load == RUN_CHECKER)
        err = checker_start(run, why);
    if (err)
        return err;
    for (unsigned slice = 1; slice <= SLICES; slice++) {
        psec until = begin + settings->length / SLICES * slice;
        if (until > world_now(run->world))
            advance(run, until);
        tell(run, "simulated milliseconds", until - begin, settings->length);
    }
    advance(run, end);
    if (run->simulation)
        err = checker_end(run, why);
    result->length = settings->length;
    world_count(run->world, &result->counts);
    world_count_links(run->world, &result->links);
    counts_take(result, &counts, &links);
    snapshots_add(run, true);
    busy_measure(run);
    result->one_way = run->latency.latency;
    result->hash = world_hash(run->world);
    result->memory = world_memory(run->world);
    world_check(run->world);
    return err;
}

/* A disk without faults for each server, if a service uses one. */
static struct disk_settings disk_of(const struct weft_service *const *services)
{
    const struct disk_settings disk = {
        .size = DISK_SIZE, .delay = DISK_DELAY, .rate = DISK_BYTES_PER_SECOND};
    for (; services && *services; services++)
        if ((*services)->files)
            return disk;
    return (struct disk_settings){0};
}

enum err run_scenario(const struct run_settings *settings, struct run_result *result,
                      struct why *why)
{
    struct run run = {.settings = settings, .result = result, .rng = rng_make(settings->seed, 77)};
    struct world_settings world = WORLD_DEFAULTS;
    *result = (struct run_result){0};
    run.busy =
        calloc((size_t)settings->plan->server_count * settings->plan->port_count, sizeof *run.busy);
    run.asked = calloc(ASKED_SLOTS, sizeof *run.asked);
    enum err err = run.busy && run.asked ? OK : why_memory(why);
    if (!err)
        err = latency_watcher_init(&run.latency, why);
    if (err)
        goto done;
    run.watchers[0] = &run.latency.watcher;
    world.plan = settings->plan;
    world.node.services = settings->services;
    world.node.configuration = settings->configuration;
    world.link = settings->link;
    world.disk = disk_of(settings->services);
    world.seed = settings->seed;
    world.settled = !settings->boot;
    world.watchers = run.watchers;
    world.answer = answered;
    world.answered = settings->load == RUN_CHECKER ? checker_answered : NULL;
    world.context = &run;
    world.reached = settings->record ? &settings->record->reached : NULL;
    err = world_open(&run.world, &world, why);
    if (!err)
        err = boot(&run, why);
    if (!err)
        err = load_run(&run, why);
    simulation_close(run.simulation);
    run.simulation = NULL; /* servers that are stopped may still answer */
    world_close(run.world);
done:
    latency_watcher_fini(&run.latency);
    free(run.busy);
    free(run.asked);
    return err;
}
