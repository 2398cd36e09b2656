/* node_forward: a node in the middle of a chain, on its own processor, forwards packets. A driver
 * on the other processor sends them into the node's left link as fast as it can, and receives them
 * from its right link.
 *
 * The driver's two ends are real nodes until the links are up; then the driver writes and reads
 * frames itself, because two whole nodes on one processor would be slower than the measured one.
 * The middle is a real node throughout: dispatch, queue, round robin, aggregation. */
#include "node_forward.h"

#include <stdlib.h>
#include <string.h>

#include "node_stage.h"
#include "os/host/port.h"

#define SERVICE_ID 300
#define BURST      32

static void sink_deliver(struct weft_self *self, struct weft_packet *packet)
{
    weft_done(packet);
}

static const struct weft_service_ops sink_ops = {.deliver = sink_deliver};
static const struct weft_service sink = {
    .version = WEFT_SERVICE_VERSION,
    .name = "sink",
    .id = SERVICE_ID,
    .queue_packets = 512,
    .ops = &sink_ops,
};

/* A frame that is sent repeatedly: one "packet" with all the bytes, never freed. */
struct pump {
    struct packet_pool pool;
    struct packet packet;
    uint8_t bytes[PACKET_SIZE_MAX];
    uint32_t frame_packets;
};

static void pump_give(struct packet_pool *pool, struct packet *packet)
{
}

static const struct packet_pool_ops pump_ops = {.give = pump_give};

static void pump_fill(struct pump *pump, uint32_t size, unsigned count)
{
    *pump = (struct pump){.pool.ops = &pump_ops, .frame_packets = count};
    for (unsigned i = 0; i < count; i++) {
        struct packet packet = {
            .bytes = pump->bytes + (size_t)i * size,
            .size = size,
            .stored = size,
            .service = SERVICE_ID,
            .hops_left = 64,
            .source = 0,
            .identity = i,
        };
        packet_set_server(&packet, 2);
        packet_seal(&packet);
    }
    pump->packet = (struct packet){
        .pool = &pump->pool,
        .bytes = pump->bytes,
        .size = count * size,
        .stored = count * size,
        .hops_left = 64,
    };
}

static uint64_t drain(struct port *port, uint32_t size)
{
    struct packet *got[BURST];
    uint64_t packets = 0;
    port->ops->poll(port);
    for (;;) {
        unsigned count = port->ops->receive(port, got, BURST);
        for (unsigned i = 0; i < count; i++) {
            packets += got[i]->size == size;
            packet_done(got[i]);
        }
        if (count < BURST)
            return packets;
    }
}

struct forward_row {
    const char *what;
    uint32_t size;
    unsigned frame_packets;
};

struct forward_round {
    double packets_per_sec; /* by the wall clock */
    double packets_per_cpu; /* per second of processor time of the forwarder */
};

static struct forward_round forward_round(struct host *host, pid_t forwarder, uint32_t size,
                                          unsigned frame_packets, double seconds)
{
    static struct pump pump;
    struct port *left = host_port(host, 0, 0), *right = host_port(host, 2, 0);
    uint64_t packets = 0;
    pump_fill(&pump, size, frame_packets);
    nsec begin = clock_now(), warm = begin + NSEC_PER_SEC / 20;
    nsec end = warm + (nsec)(seconds * 1e9), now = begin;
    double cpu = 0;
    bool counting = false;
    while (now < end) {
        for (unsigned i = 0; i < 8 && port_room(left); i++) {
            struct packet *frame = &pump.packet;
            if (!port_transmit(left, &frame, 1, false))
                bench_fail("the link is down");
        }
        packets += drain(right, size);
        now = clock_now();
        if (!counting && now >= warm) {
            counting = true;
            packets = 0;
            begin = now;
            cpu = stage_cpu_seconds(forwarder);
        }
    }
    cpu = stage_cpu_seconds(forwarder) - cpu;
    struct forward_round round = {.packets_per_sec = (double)packets * 1e9 / (double)(now - begin),
                                  .packets_per_cpu = cpu > 0 ? (double)packets / cpu : 0};
    for (nsec quiet = clock_now(); clock_now() - quiet < NSEC_PER_SEC / 50;)
        if (drain(right, size))
            quiet = clock_now();
    return round;
}

/* The same with all three nodes in this thread; only the time of the middle one counts: the cost of
 * a packet for the node, without the transfer between two processors and other load of the
 * machine. */
static double forward_alone(struct host *host, struct host *middle, uint32_t size,
                            unsigned frame_packets, unsigned turns)
{
    static struct pump pump;
    struct port *left = host_port(host, 0, 0), *right = host_port(host, 2, 0);
    struct bench clock = {.cpu = true};
    uint64_t packets = 0;
    double seconds = 0;
    pump_fill(&pump, size, frame_packets);
    for (unsigned turn = 0; turn < turns; turn++) {
        for (unsigned i = 0; i < 16 && port_room(left); i++) {
            struct packet *frame = &pump.packet;
            if (!port_transmit(left, &frame, 1, false))
                bench_fail("the link is down");
        }
        double begin = bench_seconds(&clock);
        while (host_pass(middle))
            continue;
        double spent = bench_seconds(&clock) - begin;
        uint64_t count = drain(right, size);
        if (turn < turns / 10)
            continue;
        seconds += spent;
        packets += count;
    }
    return (double)packets / seconds;
}

static void alone_run(struct bench *bench)
{
    static const struct forward_row rows[] = {
        {"forward 64 B, frames of 96 packets, in one thread", 64, 96},
        {"forward 64 B, one packet a frame, in one thread", 64, 1},
        {"forward 8,940 B, in one thread", 8940, 1},
    };
    struct node_stage stage;
    stage_open(&stage, 3);
    struct host *middle = stage_host(&stage, 1 << 1, &sink, 0, 0);
    struct host *host = stage_host(&stage, 1 << 0 | 1 << 2, &sink, 0, 0);
    stage_settle_with(host, middle, 0, 2, 3);
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        double rates[9];
        int rounds = bench->quick ? 3 : 9;
        for (int round = 0; round < rounds; round++)
            rates[round] = forward_alone(host, middle, rows[i].size, rows[i].frame_packets,
                                         bench->quick ? 500 : 2000);
        double rate = bench_median(rates, rounds);
        struct bench_value packets = {"weft", rate / 1e6};
        struct bench_value bytes = {"weft", rate * rows[i].size / 1e9};
        bool small = rows[i].size < 1000;
        bench_add(bench, rows[i].what, small ? "M/s" : "GB/s", small ? &packets : &bytes, 1);
    }
    host_close(host);
    host_close(middle);
    stage_close(&stage);
}

void forward_run(struct bench *bench)
{
    alone_run(bench);
    static const struct forward_row rows[] = {
        {"forward 64 B, frames of 96 packets", 64, 96},
        {"forward 64 B, one packet a frame", 64, 1},
        {"forward 8,940 B", 8940, 1},
    };
    struct node_stage stage;
    int rounds = bench->quick ? 3 : 9;
    stage_open(&stage, 3);
    stage_spawn(&stage, 1 << 1, &sink, 1, NSEC_NEVER / 2, -1);
    bench_pin(0);
    struct host *host = stage_host(&stage, 1 << 0 | 1 << 2, &sink, 0, 0);
    stage_settle(host, 0, 2, 3);
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        double wall[16], cpu[16];
        for (int round = 0; round < rounds; round++) {
            struct forward_round got = forward_round(
                host, stage.pids[0], rows[i].size, rows[i].frame_packets, bench->quick ? 0.3 : 0.5);
            wall[round] = got.packets_per_sec;
            cpu[round] = got.packets_per_cpu;
        }
        double rate = bench_median(wall, rounds), core = bench_median(cpu, rounds);
        struct bench_value packets[] = {{"weft", rate / 1e6}, {"weft_per_cpu_second", core / 1e6}};
        struct bench_value bytes[] = {{"weft", rate * rows[i].size / 1e9},
                                      {"weft_per_cpu_second", core * rows[i].size / 1e9}};
        if (rows[i].size < 1000)
            bench_add(bench, rows[i].what, "M/s", packets, 2);
        else
            bench_add(bench, rows[i].what, "GB/s", bytes, 2);
    }
    host_close(host);
    stage_close(&stage);
}
