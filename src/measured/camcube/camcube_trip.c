#include "measured/camcube/camcube_trip.h"

#include <string.h>

#include "measured/camcube/camcube_network.h"
#include "services/ping/ping_wire.h"
#include "services/services.h"
#include "sim/world/world.h"
#include "transport/clock.h"

#define LOST_NSEC   (5 * NSEC_PER_SEC) /* a ping that takes longer is lost */
#define END_SECONDS 120                /* how long to wait for an answer */
#define WARM        100                /* pings before those that are measured */
#define ATTEMPTS    5

const uint16_t trip_sizes[TRIP_SIZES] = {1500 - WEFT_HEADER_SIZE, WEFT_PAYLOAD_MAX};
const char *const trip_size_words[TRIP_SIZES] = {"1,500 B", "jumbo"};

static size_t question_write(uint8_t *question, const struct trip_job *job, uint16_t size,
                             uint32_t count, bool quiet)
{
    const struct ping_request request = {.kind = PING_START,
                                         .token = 1,
                                         .server = job->to,
                                         .count = count,
                                         .size = size,
                                         .quiet = quiet,
                                         .timeout_nsec = LOST_NSEC};
    return ping_request_write(&request, question);
}

/* Returns NULL if the answer is as expected, or else what is wrong. */
static const char *answer_judge(const struct trip_job *job, const struct ping_answer *answer)
{
    if (answer->kind == PING_REPLY)
        return answer->hops_there == job->hops && answer->hops_back == job->hops
                   ? NULL
                   : "a ping took an unexpected number of hops";
    if (answer->kind != PING_END)
        return "a ping was refused or lost";
    return answer->lost || answer->received != answer->sent ? "pings were lost" : NULL;
}

/* ---- real ---- */

struct measurement {
    const struct trip_job *job;
    double *usec; /* shared with the parent */
};

/* Runs `count` pings. Returns NULL and sets *mean if all of them were answered, or else returns
 * what is wrong. */
static const char *pings_try(struct hosts *hosts, const struct trip_job *job, uint16_t size,
                             uint32_t count, bool quiet, double *mean)
{
    uint8_t bytes[PING_ANSWER_MAX], question[PING_REQUEST_MAX];
    struct ping_answer answer;
    const char *wrong = NULL;
    hosts_tell(hosts, 0, PING_SERVICE, question, question_write(question, job, size, count, quiet));
    do {
        size_t got = hosts_hear(hosts, 0, bytes, sizeof bytes, END_SECONDS);
        if (ping_answer_read(&answer, bytes, got) < 0)
            hosts_fail(hosts, "the ping service sent a malformed answer");
        if (!wrong)
            wrong = answer_judge(job, &answer);
    } while (answer.kind == PING_REPLY || answer.kind == PING_LOST);
    *mean = (double)answer.sum_nsec * 1e-3 / answer.received;
    return wrong;
}

/* Runs `count` pings; returns the mean. If the machine did not run a server for longer than its
 * neighbours wait, they lost their link to it, and with it pings: that is no measurement of a round
 * trip, and the run is repeated when all servers reach each other again. */
static double pings_run(struct hosts *hosts, const struct trip_job *job, uint16_t size,
                        uint32_t count, bool quiet)
{
    double mean;
    const char *wrong = pings_try(hosts, job, size, count, quiet, &mean);
    for (int attempt = 1; wrong && attempt < ATTEMPTS; attempt++) {
        hosts_await(hosts);
        wrong = pings_try(hosts, job, size, count, quiet, &mean);
    }
    if (wrong)
        hosts_fail(hosts, wrong);
    return mean;
}

static void measure_run(struct hosts *hosts, const void *argument)
{
    const struct measurement *measurement = argument;
    const struct trip_job *job = measurement->job;
    for (int i = 0; i < TRIP_SIZES; i++) {
        pings_run(hosts, job, trip_sizes[i], 1, false); /* its answer shows the hops */
        pings_run(hosts, job, trip_sizes[i], WARM, true);
        measurement->usec[i] = pings_run(hosts, job, trip_sizes[i], job->count, true);
    }
}

enum err trip_measure(const struct trip_job *job, double usec[TRIP_SIZES], struct why *why)
{
    const size_t size = TRIP_SIZES * sizeof *usec;
    struct measurement measurement = {job, crowd_memory(size)};
    if (!measurement.usec)
        return why_memory(why);
    const struct hosts_plan plan = {
        .name = "round trips",
        .spec = job->spec,
        .process_count = job->process_count,
        .transport = job->transport,
        .rate = job->rate,
        .polling = job->polling,
        .sleeping = job->sleeping,
        .run = measure_run,
        .argument = &measurement,
    };
    enum err err = hosts_run(&plan, why);
    memcpy(usec, measurement.usec, size);
    crowd_memory_free(measurement.usec, size);
    return err;
}

/* ---- simulated ---- */

struct listener {
    const struct trip_job *job;
    struct ping_answer last;
    const char *wrong;
};

static void on_answer(void *context, node_id at, uint64_t client, const void *bytes, uint32_t size)
{
    struct listener *listener = context;
    const char *wrong = ping_answer_read(&listener->last, bytes, size) < 0
                            ? "the ping service sent a malformed answer"
                            : answer_judge(listener->job, &listener->last);
    if (!listener->wrong)
        listener->wrong = wrong;
}

static const char *pings_simulate(struct world *world, struct listener *listener, uint16_t size,
                                  double *usec)
{
    uint8_t question[PING_REQUEST_MAX];
    size_t length = question_write(question, listener->job, size, listener->job->count, false);
    listener->last = (struct ping_answer){0};
    if (world_request(world, 0, PING_SERVICE, 1, question, (uint32_t)length) < 0)
        return "the ping service refused the request";
    for (int second = 0; second < 60 && listener->last.kind != PING_END; second++)
        world_run(world, world_now(world) + PSEC_PER_SECOND);
    if (!listener->wrong && listener->last.kind != PING_END)
        return "the pings did not end in time";
    *usec = (double)listener->last.sum_nsec * 1e-3 / listener->last.received;
    return listener->wrong;
}

static enum err plan_simulate(const struct plan *plan, const struct trip_job *job,
                              double usec[TRIP_SIZES], struct why *why)
{
    struct world_settings settings = WORLD_DEFAULTS;
    struct listener listener = {.job = job};
    struct world *world;
    const char *wrong = NULL;
    settings.plan = plan;
    settings.node.services = services_all;
    settings.settled = true;
    settings.answer = on_answer;
    settings.context = &listener;
    enum err err = world_open(&world, &settings, why);
    if (err)
        return err;
    for (int i = 0; i < TRIP_SIZES && !wrong; i++)
        wrong = pings_simulate(world, &listener, trip_sizes[i], &usec[i]);
    world_close(world);
    return wrong ? why_fail(why, ERR_SYSTEM, "simulated round trips: %s", wrong) : OK;
}

enum err trip_simulate(const struct trip_job *job, double usec[TRIP_SIZES], struct why *why)
{
    struct camcube_network network;
    enum err err = camcube_network_open(&network, job->spec, why);
    if (err)
        return err;
    err = plan_simulate(&network.plan, job, usec, why);
    camcube_network_close(&network);
    return err;
}
