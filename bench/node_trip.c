/* node_trip: a packet goes to the other end of a chain and back, repeatedly, one at a time. */
#include "node_trip.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "node_stage.h"
#include "token.h"

#define TRIP_ID 301
#define PAYLOAD 24 /* 64 bytes with the header, like the kernel's datagrams */
#define LINKS   6
#define SPIN    (NSEC_NEVER / 2)

static_assert(TURNS_MAX >= 20000, "room for all trips of a round");

struct trip_order {
    weft_server to;
    uint32_t turns;
};

static struct trip_order order; /* of this process: destination, and trips left */
static double times[TURNS_MAX]; /* of each trip: the median ignores trips that lost the processor */
static nsec begun;              /* start of the current trip */
static volatile sig_atomic_t landed; /* all trips are done */

static void trip_begin(struct weft_self *self)
{
    struct weft_packet *packet = weft_packet(self, PAYLOAD);
    begun = clock_now();
    if (!packet || weft_send_server(self, packet, order.to) < 0)
        bench_fail("cannot send a packet");
}

static void trip_request(struct weft_self *self, uint64_t client, uint64_t ticket,
                         const void *bytes, uint32_t size)
{
    trip_begin(self);
}

static void trip_deliver(struct weft_self *self, struct weft_packet *packet)
{
    if (!order.turns || weft_source(packet) != order.to) {
        weft_reply(self, packet);
        return;
    }
    weft_done(packet);
    times[order.turns - 1] = (double)(clock_now() - begun) / 1e3;
    if (--order.turns)
        trip_begin(self);
    else
        landed = 1;
}

static const struct weft_service_ops trip_ops = {.deliver = trip_deliver, .request = trip_request};
static const struct weft_service trip = {
    .version = WEFT_SERVICE_VERSION, .name = "trip", .id = TRIP_ID, .ops = &trip_ops};

static double trip_time(struct host *host, weft_server to, unsigned turns)
{
    order = (struct trip_order){to, turns};
    landed = 0;
    if (host_request(host, 0, TRIP_ID, NULL, 0))
        bench_fail("the trip service does not run");
    host_run(host, &landed, clock_after(60 * NSEC_PER_SEC));
    if (!landed)
        bench_fail("a packet was lost");
    return bench_median(times, (int)turns);
}

/* One assignment of servers to processes, compared with one path through the kernel, in turn. */
struct trip_plan {
    const char *what;
    const char *peer;
    uint32_t servers;       /* of the chain */
    uint32_t here;          /* servers of this process */
    uint32_t others[LINKS]; /* of the other processes; 0 ends the list */
    nsec spin, yield;
    bool pinned; /* as `weft up --pin` does */
    unsigned turns;
};

/* The processor of that server's process; -1: any. */
static int trip_processor(const struct trip_plan *plan, uint32_t server)
{
    if (plan->spin == SPIN)
        return server > 0;
    return plan->pinned ? (int)(server % 2) : -1;
}

static void trip_compare(struct bench *bench, const struct trip_plan *plan,
                         struct kernel_path *kernel)
{
    struct node_stage stage;
    int rounds = bench->quick ? 3 : 9;
    unsigned turns = bench->quick ? plan->turns / 5 : plan->turns;
    double ours[16], theirs[16], floors[16];
    bool has_floor = plan->spin < 0;
    stage_open(&stage, plan->servers);
    for (uint32_t i = 0; i < LINKS && plan->others[i]; i++)
        stage_spawn(&stage, plan->others[i], &trip, trip_processor(plan, i + 1), plan->spin,
                    plan->yield);
    bench_pin(trip_processor(plan, 0));
    struct host *host = stage_host(&stage, plan->here, &trip, plan->spin, plan->yield);
    weft_server last = plan->servers - 1;
    stage_settle(host, 0, last, plan->servers);
    trip_time(host, last, turns / 10 + 1);
    for (int round = 0; round < rounds; round++) {
        ours[round] = trip_time(host, last, turns);
        stage_pause(&stage,
                    true); /* polling processes would take a processor from the other side */
        theirs[round] = kernel ? kernel_trip(kernel, turns) : 0;
        floors[round] = has_floor ? token_trip(plan->servers, turns) : 0;
        stage_pause(&stage, false);
    }
    struct bench_value values[4] = {{"weft", bench_median(ours, rounds)}};
    size_t count = 1;
    if (kernel) {
        double peer = bench_median(theirs, rounds);
        values[count++] = (struct bench_value){plan->peer, peer};
        values[count++] = (struct bench_value){"ratio", peer / values[0].value};
    }
    if (has_floor)
        values[count++] = (struct bench_value){"floor", bench_median(floors, rounds)};
    bench_add(bench, plan->what, "us", values, count);
    host_close(host);
    stage_close(&stage);
    stage_unpin();
}

void trip_run(struct bench *bench)
{
    static const struct trip_plan one = {.what = "1 link there and back, 64 B, both polling",
                                         .peer = "udp",
                                         .servers = 2,
                                         .here = 1 << 0,
                                         .others = {1 << 1},
                                         .spin = SPIN,
                                         .yield = -1,
                                         .turns = 20000};
    static const struct trip_plan two = {.what = "6 links there and back, two processes polling",
                                         .peer = "netns",
                                         .servers = LINKS + 1,
                                         .here = 0x0f,
                                         .others = {0x70},
                                         .spin = SPIN,
                                         .yield = -1,
                                         .turns = 5000};
    static const struct trip_plan each = {
        .what = "6 links there and back, a process a server",
        .peer = "netns",
        .servers = LINKS + 1,
        .here = 1 << 0,
        .others = {1 << 1, 1 << 2, 1 << 3, 1 << 4, 1 << 5, 1 << 6},
        .spin = -1, /* as weftd does if there are few processors */
        .turns = 2000};
    struct trip_plan pinned = each;
    pinned.what = "6 links there and back, a process a server, pinned";
    pinned.pinned = true;
    struct trip_plan realtime = pinned;
    realtime.what = "6 links there and back, a process a server, real-time";
    char why[80];
    struct kernel_path *kernel = kernel_loopback();
    trip_compare(bench, &one, kernel);
    kernel_close(kernel);
    kernel = kernel_namespaces(LINKS, why, sizeof why);
    if (!kernel && !bench->json)
        printf("namespaces: skipped, %s\n", why);
    trip_compare(bench, &two, kernel);
    trip_compare(bench, &each, kernel);
    trip_compare(bench, &pinned, kernel);
    if (stage_realtime(true)) { /* as `weft up --realtime` does */
        trip_compare(bench, &realtime, kernel);
        stage_realtime(false);
    } else if (!bench->json)
        puts("real-time: skipped, it needs CAP_SYS_NICE");
    if (kernel)
        kernel_close(kernel);
}
