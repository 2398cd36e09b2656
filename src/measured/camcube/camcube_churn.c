/* camcube_churn: figure 5c of "CamCubeOS": the share of packets to random keys that is delivered by
 * the wrong server, or not at all, while servers fail and return; and the same on NovaCube and
 * Jellyfish, which the paper does not have. Simulated: a seed gives the same numbers every time.
 *
 * Each point of the figure is an independent simulated world. Threads run one point after another;
 * the results do not depend on which thread runs which point. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/check.h"
#include "measured/camcube/camcube_network.h"
#include "measured/figures.h"
#include "sim/chaos/churn.h"
#include "transport/clock.h"

#define POINT_MAX  16
#define THREAD_MAX 8
#define HELLO_NSEC 50000000  /* five missed hellos, 250 ms, are a failure */
#define DOWN       100000    /* share of servers that are down, in millionths */
#define PACKETS    1000      /* a second, from each server */
#define PAYLOAD    100       /* bytes; the paper does not state it; links are nearly idle */
#define LOOK_NSEC  100000000 /* between two updates of the progress */

/* The parameters of a point. */
struct point_plan {
    const char *network, *spec;
    double failures; /* a second */
    double seconds;  /* simulated */
};

struct point {
    struct point_plan plan;
    uint32_t servers;
    struct churn_result result;
    enum err err;
    struct why why;
    _Atomic uint64_t done; /* simulated milliseconds; written by its thread, relaxed */
};

/* Ten simulated minutes, as in the paper, where it prints a number; otherwise one minute. */
static const struct point_plan full[] = {
    {"torus", "torus:8x8x8", 2, 600},
    {"torus", "torus:8x8x8", 15, 600},
    {"torus", "torus:8x8x8", 0.5, 60},
    {"torus", "torus:8x8x8", 1, 60},
    {"torus", "torus:8x8x8", 5, 60},
    {"torus", "torus:8x8x8", 10, 60},
    {"novacube", "novacube:8x8x8", 2, 60},
    {"novacube", "novacube:8x8x8", 15, 60},
    {"jellyfish", "jellyfish:n=512,degree=6,seed=1", 2, 60},
    {"jellyfish", "jellyfish:n=512,degree=6,seed=1", 15, 60},
};

static const struct point_plan quick[] = {
    {"torus", "torus:3x3x3", 0.5, 5},
    {"torus", "torus:3x3x3", 2, 5},
    {"novacube", "novacube:3x3x3", 2, 5},
    {"jellyfish", "jellyfish:n=27,degree=6,seed=1", 2, 5},
};

/* ---- running them ---- */

struct points {
    struct point points[POINT_MAX];
    uint32_t count;
    uint64_t seed;
    _Atomic uint32_t next; /* the next point to run; relaxed: threads share nothing else */
    _Atomic uint32_t over; /* points that are done; added with release, read with acquire */
};

static void on_progress(void *context, double seconds)
{
    struct point *point = context;
    atomic_store_explicit(&point->done, (uint64_t)(1000 * seconds), memory_order_relaxed);
}

static enum err point_run(struct point *point, uint64_t seed, struct why *why)
{
    struct camcube_network network;
    enum err err = camcube_network_open(&network, point->plan.spec, why);
    if (err)
        return err;
    point->servers = network.plan.server_count;
    const struct churn_settings settings = {
        .plan = &network.plan,
        .failures = (uint64_t)(point->plan.failures * CHURN_MILLIONTHS),
        .down = DOWN,
        .packets = PACKETS * 1000,
        .payload = PAYLOAD,
        .length = (psec)point->plan.seconds * PSEC_PER_SECOND,
        .hello_nsec = HELLO_NSEC,
        .seed = seed,
        .progress = on_progress,
        .context = point,
    };
    err = churn_run(&settings, &point->result, why);
    camcube_network_close(&network);
    return err;
}

static void *points_work(void *argument)
{
    struct points *points = argument;
    for (;;) {
        uint32_t index = atomic_fetch_add_explicit(&points->next, 1, memory_order_relaxed);
        if (index >= points->count)
            return NULL;
        struct point *point = &points->points[index];
        point->err = point_run(point, points->seed, &point->why);
        atomic_fetch_add_explicit(&points->over, 1, memory_order_release);
    }
}

static void points_watch(struct points *points, const struct figure_call *call)
{
    while (atomic_load_explicit(&points->over, memory_order_acquire) < points->count) {
        double done = 0, total = 0;
        for (uint32_t i = 0; i < points->count; i++) {
            struct point *point = &points->points[i];
            done += (double)atomic_load_explicit(&point->done, memory_order_relaxed);
            total += 1000 * point->plan.seconds;
        }
        figure_progress(call, (uint64_t)done, (uint64_t)total);
        clock_nap(LOOK_NSEC);
    }
}

static enum err points_run(struct points *points, const struct figure_call *call, struct why *why)
{
    pthread_t threads[THREAD_MAX];
    uint32_t count = 0;
    while ((count == 0 || count < call->threads) && count < THREAD_MAX &&
           !pthread_create(&threads[count], NULL, points_work, points))
        count++;
    if (count == 0)
        points_work(points);
    points_watch(points, call);
    for (uint32_t i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    for (uint32_t i = 0; i < points->count; i++)
        if (points->points[i].err) {
            *why = points->points[i].why;
            return points->points[i].err;
        }
    return OK;
}

/* ---- the figure ---- */

static double share(uint64_t part, const struct churn_result *result)
{
    return 100 * (double)part / (double)result->sent;
}

static double dropped_share(const struct point *point)
{
    return share(churn_dropped(&point->result), &point->result);
}

static void point_row(struct figure_table *table, const struct point *point, bool is_quick)
{
    const struct churn_result *found = &point->result;
    const uint64_t *dropped = found->dropped;
    bool printed = !is_quick && point->plan.network[0] == 't';
    double paper = printed && point->plan.failures == 15  ? 27.41
                   : printed && point->plan.failures == 2 ? 1
                                                          : NAN;
    figure_row_named(table, point->plan.network,
                     (double[]){point->servers, 2 * point->plan.failures, point->plan.failures,
                                point->plan.seconds, found->failures, 100 * found->down,
                                found->sent, found->misdelivered, dropped_share(point),
                                share(found->lost, found),
                                share(dropped[DROP_UNREACHABLE] + dropped[DROP_PORT_DOWN] +
                                          dropped[DROP_HOPS] + dropped[DROP_STRAY],
                                      found),
                                share(dropped[DROP_LIMBO_FULL] + found->left, found),
                                share(dropped[DROP_STOPPED], found), paper});
}

static void churn_claims(struct figure_result *result, const struct points *points, bool is_quick)
{
    double wrong = 0, two = NAN, fifteen = NAN;
    for (uint32_t i = 0; i < points->count; i++) {
        const struct point *point = &points->points[i];
        wrong += (double)point->result.misdelivered;
        if (is_quick || point->plan.network[0] != 't')
            continue;
        if (point->plan.failures == 2)
            two = dropped_share(point);
        if (point->plan.failures == 15)
            fifteen = dropped_share(point);
    }
    const char *needs =
        is_quick ? "only the full size has 512 servers: run it without --quick" : NULL;
    figure_claim(result, "section 4.2.5", "misdelivered, all points", says_equal(0, 0, "packets"),
                 wrong, NULL);
    figure_claim_needs(result, "section 4.2.5", "dropped at 2 failures/s", says_below(1, "%"),
                       needs, two, NULL);
    figure_claim_needs(result, "section 4.2.5", "dropped at 15 failures/s",
                       says_equal(27.41, 0.5, "%"), needs, fifteen, NULL);
}

static enum err fig5c_run(struct figure_result *result, const struct figure_call *call,
                          struct why *why)
{
    struct figure_table *table =
        figure_table_add(result, "churn",
                         "network, servers, churn (1/s), failures (1/s), seconds (s), failed, "
                         "down (%), sent, misdelivered, dropped (%), lost_on_way (%), "
                         "no_way (%), limbo (%), stopped (%), paper (%)");
    const struct point_plan *list = call->quick ? quick : full;
    struct points *points = calloc(1, sizeof *points);
    if (!points)
        return why_memory(why);
    points->seed = call->seed;
    points->count =
        (uint32_t)(call->quick ? sizeof quick / sizeof quick[0] : sizeof full / sizeof full[0]);
    assert(points->count <= POINT_MAX);
    for (uint32_t i = 0; i < points->count; i++)
        points->points[i].plan = list[i];
    enum err err = points_run(points, call, why);
    for (uint32_t i = 0; i < points->count && !err; i++)
        point_row(table, &points->points[i], call->quick);
    if (!err)
        churn_claims(result, points, call->quick);
    free(points);
    return err;
}

const struct figure figure_cam_fig5c = {
    .name = "cam-fig5c",
    .paper = "CamCubeOS",
    .what = "packets that are misdelivered or dropped while servers fail and return",
    .full = {"512 servers; 10 simulated minutes at 2 and at 15 failures/s, a minute at others, a "
             "minute each on NovaCube and Jellyfish",
             .seconds = 8000},
    .quick = {"27 servers, 5 simulated seconds", .seconds = 2},
    .choice =
        "The churn rate is the number of failures and returns a second; failures are half of it. "
        "Times between failures are exponential, and each failure hits a random server that is "
        "up. A server stays down so long that 10 % are down on average (also at the start), and "
        "sends again once it has settled. Each server sends 1,000 packets of 100 bytes a second "
        "to random keys. Servers send hellos every 50 ms; after five missed ones (250 ms) a link "
        "is down. Servers notice failures in no other way. A packet is misdelivered if a server "
        "delivers it while a server before it in the key's list is alive, settled and connected "
        "to it by links that are up at both ends, as seen from outside at that moment. Dropped "
        "are all packets that were sent and not delivered, those on the way to a failed server "
        "and those it held included. To run a single point: weft sim churn.",
    .plot.table = "churn",
    .plot.x = {.column = "churn", .label = "churn rate (failures and returns a second)"},
    .plot.y = {.label = "packets dropped (%)"},
    .plot.series =
        {
            {"torus", "dropped", "network", "torus", STYLE_POINTS},
            {"NovaCube", "dropped", "network", "novacube", STYLE_POINTS},
            {"Jellyfish", "dropped", "network", "jellyfish", STYLE_POINTS},
            {"in the paper", "paper", "network", "torus", STYLE_PAPER},
        },
    .run = fig5c_run,
};
