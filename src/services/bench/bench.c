#include "services/bench/bench.h"

#include <errno.h>
#include <string.h>

#include "base/check.h"

#define NSEC_IN_1000_S UINT64_C(1000000000000)
#define WAKE_NSEC      INT64_C(5000000)   /* how soon links that came back are polled again */
#define BURST          256                /* packets per timer */
#define LATE_NSEC      INT64_C(100000000) /* packets due for longer than this are skipped */
#define DRAWS          64                 /* attempts to draw a reachable server */
#define STORED         BENCH_SIZE_MIN     /* bytes of each payload in memory */

/* The moment of the next packet. Moments follow each other at exactly rate_milli per 1,000 s. */
struct pace {
    uint64_t rate_milli;
    uint64_t step, rest; /* nanoseconds between two, and the remainder of the division */
    uint64_t carry;      /* accumulated remainders, below rate_milli */
    int64_t at;
};

struct bench {
    struct bench_request request; /* of the active run */
    enum bench_mode mode;
    uint64_t client;
    uint64_t ticket; /* of the request that started the run */
    uint64_t run;    /* number of the last run; timers of an earlier one do nothing */
    int64_t started, ends;
    uint32_t loaded; /* BENCH_SATURATE: the loaded ports */
    struct pace pace;
    struct bench_count sent, received;
    uint64_t received_hops, refused, strange;
    struct {
        struct bench_count in, out;
    } ports[BENCH_PORTS_MAX];
};

static void count_add(struct bench_count *count, uint32_t bytes)
{
    count->packets++;
    count->bytes += bytes;
}

/* A random number below `bound`, which is so small that the bias does not matter. */
static uint64_t draw_below(struct weft_self *self, uint64_t bound)
{
    return (weft_random(self) >> 32) * (bound & UINT32_MAX) >> 32;
}

/* ---- at a rate ---- */

static struct pace pace_make(uint64_t rate_milli, int64_t first)
{
    return (struct pace){
        .rate_milli = rate_milli,
        .step = NSEC_IN_1000_S / rate_milli,
        .rest = NSEC_IN_1000_S % rate_milli,
        .at = first,
    };
}

static void pace_next(struct pace *pace)
{
    pace->at += (int64_t)pace->step;
    pace->carry += pace->rest;
    if (pace->carry >= pace->rate_milli) {
        pace->carry -= pace->rate_milli;
        pace->at++;
    }
}

static struct weft_packet *packet_make(struct weft_self *self, uint32_t size)
{
    struct weft_packet *packet = weft_packet_hollow(self, size, STORED);
    if (packet)
        *(uint8_t *)weft_payload(packet) = BENCH_VERSION;
    return packet;
}

/* A random other server that is reachable; WEFT_NOBODY: none was found. */
static weft_server server_draw(struct weft_self *self)
{
    uint32_t others = weft_server_count(self) - 1;
    for (unsigned draw = 0; others && draw < DRAWS; draw++) {
        weft_server server = (weft_server)draw_below(self, others);
        server += server >= weft_here(self);
        if (weft_reaches(self, server))
            return server;
    }
    return WEFT_NOBODY;
}

static struct weft_key key_draw(struct weft_self *self)
{
    struct weft_key key = {{0}};
    uint64_t route = weft_random(self);
    for (unsigned i = 0; i < 8; i++)
        key.bytes[WEFT_KEY_SIZE - 1 - i] = (uint8_t)(route >> 8 * i);
    return key;
}

static int send_one(struct weft_self *self, const struct bench *bench)
{
    weft_server server = WEFT_NOBODY;
    if (bench->mode == BENCH_SERVERS) {
        server = server_draw(self);
        if (server == WEFT_NOBODY)
            return -EHOSTUNREACH;
    }
    struct weft_packet *packet = packet_make(self, bench->request.size);
    if (!packet)
        return -ENOBUFS;
    if (bench->mode == BENCH_SERVERS)
        return weft_send_server(self, packet, server);
    struct weft_key key = key_draw(self);
    return weft_send_key(self, packet, &key);
}

/* A server that cannot keep up, or was stopped for a while, counts the packets it missed as
 * refused. */
static uint64_t pace_skip(struct pace *pace, int64_t until)
{
    uint64_t step = pace->step ? pace->step : 1;
    uint64_t count = pace->at < until ? (uint64_t)(until - pace->at) / step : 0;
    pace->at += (int64_t)(count * step);
    return count;
}

static void send_due(struct weft_self *self, struct bench *bench)
{
    int64_t now = weft_now(self);
    bench->refused += pace_skip(&bench->pace, now - LATE_NSEC);
    int error = 0;
    for (unsigned i = 0; i < BURST && bench->pace.at <= now && bench->pace.at < bench->ends; i++) {
        error = send_one(self, bench);
        if (error)
            bench->refused++;
        else
            count_add(&bench->sent, bench->request.size);
        pace_next(&bench->pace);
        if (error == -ENOBUFS)
            break;
    }
    /* There is no room: skip the overdue packets instead of trying each. */
    if (error == -ENOBUFS)
        bench->refused += pace_skip(&bench->pace, now);
}

/* ---- as much as the links take ---- */

/* The first `links` of the ports that are up now; if these are too few, others in addition. */
static uint32_t links_choose(struct weft_self *self, unsigned links)
{
    uint32_t chosen = 0;
    for (unsigned up = 2; up-- > 0;)
        for (unsigned port = 0; links && port < weft_port_count(self); port++)
            if ((weft_neighbour(self, port) != WEFT_NOBODY) == up) {
                chosen |= 1u << port;
                links--;
            }
    return chosen;
}

static struct weft_packet *bench_poll(struct weft_self *self, unsigned port, uint32_t room)
{
    struct bench *bench = weft_memory(self);
    if (bench->mode != BENCH_SATURATE || weft_now(self) >= bench->ends ||
        !(bench->loaded >> port & 1))
        return NULL;
    if (room < (uint32_t)bench->request.size + WEFT_HEADER_SIZE)
        return NULL;
    struct weft_packet *packet = packet_make(self, bench->request.size);
    if (!packet)
        return NULL; /* the timer wakes us again */
    if (!weft_address_port(self, packet, port)) {
        weft_done(packet);
        return NULL;
    }
    count_add(&bench->sent, bench->request.size);
    count_add(&bench->ports[port].out, bench->request.size);
    return packet;
}

/* ---- arriving packets ---- */

static void bench_deliver(struct weft_self *self, struct weft_packet *packet)
{
    struct bench *bench = weft_memory(self);
    uint32_t size = weft_size_sent(packet);
    unsigned port = weft_port_in(packet);
    if (weft_size(packet) < STORED || *(uint8_t *)weft_payload(packet) != BENCH_VERSION) {
        bench->strange++;
    } else {
        count_add(&bench->received, size);
        bench->received_hops += weft_hops(packet);
        if (port < BENCH_PORTS_MAX) /* otherwise this server sent it, to a key of its own */
            count_add(&bench->ports[port].in, size);
    }
    weft_done(packet);
}

/* ---- runs ---- */

static void answer(struct weft_self *self, uint64_t client, uint64_t ticket, uint32_t token,
                   int error)
{
    const struct bench *bench = weft_memory(self);
    struct bench_answer state = {
        .token = token,
        .error = (uint8_t)-error,
        .mode = bench->mode,
        .now = weft_now(self),
        .started = bench->started,
        .ends = bench->ends,
        .sent = bench->sent,
        .received = bench->received,
        .received_hops = bench->received_hops,
        .refused = bench->refused,
        .strange = bench->strange,
        .port_count = weft_port_count(self),
    };
    for (unsigned port = 0; port < state.port_count; port++) {
        state.ports[port].in = bench->ports[port].in;
        state.ports[port].out = bench->ports[port].out;
        state.ports[port].neighbour = weft_neighbour(self, port);
    }
    uint8_t bytes[BENCH_ANSWER_MAX];
    weft_answer(self, client, ticket, bytes, (uint32_t)bench_answer_write(&state, bytes));
}

/* Sends what is due, and sets a timer for the next packet. */
static void run_step(struct weft_self *self, struct bench *bench)
{
    int64_t now = weft_now(self);
    if (now >= bench->ends) {
        bench->mode = BENCH_IDLE;
        answer(self, bench->client, bench->ticket, bench->request.token, 0);
        return;
    }
    int64_t next = now + WAKE_NSEC;
    if (bench->mode == BENCH_SATURATE) {
        weft_wake(self, bench->loaded);
    } else {
        send_due(self, bench);
        next = bench->pace.at;
    }
    next = next < bench->ends ? next : bench->ends;
    int error = weft_timer(self, next > now ? next : now, bench->run);
    assert(!error); /* the timer that called us is free again */
}

static void bench_timer(struct weft_self *self, uint64_t cookie)
{
    struct bench *bench = weft_memory(self);
    if (bench->mode != BENCH_IDLE && cookie == bench->run)
        run_step(self, bench);
}

static int run_start(struct weft_self *self, uint64_t client, uint64_t ticket,
                     const struct bench_request *request)
{
    struct bench *bench = weft_memory(self);
    if (bench->mode != BENCH_IDLE)
        return -EBUSY;
    if (request->links > weft_port_count(self))
        return -EINVAL;
    int64_t now = weft_now(self);
    bench->run++;
    if (weft_timer(self, now, bench->run) < 0)
        return -EBUSY; /* too many timers of stopped runs are still set */
    bench->request = *request;
    bench->mode = request->mode;
    bench->client = client;
    bench->ticket = ticket;
    bench->started = now;
    bench->ends = now + request->duration_nsec;
    bench->loaded = links_choose(self, request->links);
    if (request->mode != BENCH_SATURATE) {
        uint64_t step = NSEC_IN_1000_S / request->rate_milli;
        uint64_t span = step < UINT32_MAX ? step : UINT32_MAX;
        bench->pace = pace_make(request->rate_milli, now + (int64_t)draw_below(self, span));
    }
    return 0;
}

static void bench_request(struct weft_self *self, uint64_t client, uint64_t ticket,
                          const void *bytes, uint32_t size)
{
    struct bench *bench = weft_memory(self);
    struct bench_request request;
    int error = bench_request_read(&request, bytes, size);
    if (!error && request.kind == BENCH_START)
        error = run_start(self, client, ticket, &request);
    if (!error && request.kind == BENCH_STOP)
        bench->mode = BENCH_IDLE;
    answer(self, client, ticket, request.token, error);
}

/* The program that measures the load has disconnected. */
static void bench_gone(struct weft_self *self, uint64_t client)
{
    struct bench *bench = weft_memory(self);
    if (bench->client == client)
        bench->mode = BENCH_IDLE;
}

static void bench_stats(struct weft_self *self, struct weft_report *report)
{
    const struct bench *bench = weft_memory(self);
    weft_stat(report, "packets_sent", bench->sent.packets);
    weft_stat(report, "bytes_sent", bench->sent.bytes);
    weft_stat(report, "packets_received", bench->received.packets);
    weft_stat(report, "bytes_received", bench->received.bytes);
    weft_stat(report, "hops_received", bench->received_hops);
    weft_stat(report, "refused", bench->refused);
    weft_stat(report, "strange", bench->strange);
}

static const struct weft_service_ops bench_ops = {
    .deliver = bench_deliver,
    .poll = bench_poll,
    .timer = bench_timer,
    .request = bench_request,
    .stats = bench_stats,
    .gone = bench_gone,
};

const struct weft_service service_bench = {
    .version = WEFT_SERVICE_VERSION,
    .name = "bench",
    .id = BENCH_SERVICE,
    .queue = WEFT_QUEUE_OWN,
    .queue_packets = 1024,
    .size = sizeof(struct bench),
    .ops = &bench_ops,
};
