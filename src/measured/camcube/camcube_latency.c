/* camcube_latency: figure 4c of "CamCubeOS" and the 15 hops of its section 4.2.2: round trips of a
 * packet that every server on the way forwards, compared with UDP and TCP on the same machine.
 *
 * Every way of communication runs once in each round; the median round is shown. */
#include <math.h>

#include "measured/camcube/camcube_trip.h"
#include "measured/crowd.h"
#include "measured/figures.h"
#include "measured/sample.h"
#include "measured/sides.h"

#define ROUND_MAX 5

enum way {
    SHM,
    UDP_LINKS,
    UDP,
    SHM_ASLEEP,
    UDP_LINKS_ASLEEP,
    UDP_ASLEEP,
    TCP_NEW,
    SIMULATED,
    WAYS,
};

/* Weft runs as two processes with two servers each, in which servers 0 and 3 are neighbours. */
static const struct way_kind {
    const char *name;
    const char *transport;   /* of weft's links; or NULL, and ... */
    const struct side *side; /* ... sockets of the system */
    bool polling;
} ways[WAYS] = {
    [SHM] = {"weft, shm, polling", "shm", NULL, true},
    [UDP_LINKS] = {"weft, udp, polling", "udp", NULL, true},
    [UDP] = {"UDP, polling", NULL, &side_udp, true},
    [SHM_ASLEEP] = {"weft, shm, asleep", "shm", NULL, false},
    [UDP_LINKS_ASLEEP] = {"weft, udp, asleep", "udp", NULL, false},
    [UDP_ASLEEP] = {"UDP, asleep", NULL, &side_udp, false},
    [TCP_NEW] = {"TCP, new connection", NULL, &side_tcp_new, false},
    [SIMULATED] = {"weft, simulated 1 Gb/s", NULL, NULL, false},
};

struct ask {
    uint32_t count; /* pings */
    int rounds;
    double usec[WAYS][TRIP_SIZES][ROUND_MAX];
};

static enum err side_measure(const struct side *side, bool polling, uint32_t count,
                             double usec[TRIP_SIZES], struct why *why)
{
    for (int size = 0; size < TRIP_SIZES; size++) {
        struct pair_result result;
        const struct job job = {.kind = JOB_PING,
                                .size = trip_sizes[size],
                                .count = 10,
                                .batches =
                                    count / 10 < PAIR_BATCH_MAX ? count / 10 : PAIR_BATCH_MAX,
                                .blocking = !polling};
        enum err err = pair_run(side, &job, &result, why);
        if (err)
            return err;
        usec[size] = result.missing ? NAN : result.wall * 1e6 / (job.count * job.batches);
    }
    return OK;
}

static enum err way_measure(enum way way, uint32_t count, double usec[TRIP_SIZES], struct why *why)
{
    const struct trip_job job = {
        .spec = "torus:4",
        .to = 3,
        .hops = 1,
        .count = way == SIMULATED ? 10 : count,
        .process_count = 2,
        .transport = ways[way].transport,
        .polling = ways[way].polling,
        .sleeping = !ways[way].polling,
    };
    if (way == SIMULATED)
        return trip_simulate(&job, usec, why);
    if (ways[way].side)
        return side_measure(ways[way].side, ways[way].polling, count, usec, why);
    return trip_measure(&job, usec, why);
}

/* Two processes that poll on one core would measure the scheduler. */
static bool is_possible(enum way way)
{
    return !ways[way].polling || crowd_cores() >= 2;
}

static enum err ways_measure(struct ask *ask, const struct figure_call *call, struct why *why)
{
    for (int round = 0; round < ask->rounds; round++) {
        for (int way = 0; way < WAYS; way++) {
            double usec[TRIP_SIZES] = {NAN, NAN};
            enum err err =
                is_possible((enum way)way) ? way_measure((enum way)way, ask->count, usec, why) : OK;
            if (err)
                return err;
            for (int size = 0; size < TRIP_SIZES; size++)
                ask->usec[way][size][round] = usec[size];
            figure_progress(call, (uint64_t)round * WAYS + (uint64_t)way + 1,
                            (uint64_t)ask->rounds * WAYS);
        }
    }
    return OK;
}

/* ---- figure 4c ---- */

static void trip_claims(struct figure_result *result, double usec[WAYS][TRIP_SIZES])
{
    static const struct {
        const char *what;
        enum way over, under;
        bool more; /* claimed: more than twice; otherwise at most twice */
    } ratios[] = {
        {"weft over udp, as a multiple of UDP, polling", UDP_LINKS, UDP, false},
        {"weft over shm, as a multiple of UDP, polling", SHM, UDP, false},
        {"weft over udp, as a multiple of UDP, asleep", UDP_LINKS_ASLEEP, UDP_ASLEEP, false},
        {"new TCP connections, as a multiple of UDP, asleep", TCP_NEW, UDP_ASLEEP, true},
        {"new TCP connections, as a multiple of weft over udp, asleep", TCP_NEW, UDP_LINKS_ASLEEP,
         true},
    };
    for (size_t i = 0; i < sizeof ratios / sizeof ratios[0]; i++)
        for (int size = 0; size < TRIP_SIZES; size++)
            figure_claim_needs(result, "fig 4c",
                               figure_text(result, "%s: %s", trip_size_words[size], ratios[i].what),
                               ratios[i].more ? says_above(2, NULL) : says_at_most(2, NULL),
                               is_possible(ratios[i].over) && is_possible(ratios[i].under)
                                   ? NULL
                                   : CROWD_NEEDS_CORES,
                               usec[ratios[i].over][size] / usec[ratios[i].under][size], NULL);
}

static enum err fig4c_run(struct figure_result *result, const struct figure_call *call,
                          struct why *why)
{
    struct ask ask = {.count = call->quick ? 200 : 10000, .rounds = call->quick ? 1 : ROUND_MAX};
    struct figure_table *table =
        figure_table_add(result, "round_trip", "way, number, standard (us), jumbo (us)");
    double usec[WAYS][TRIP_SIZES];
    enum err err = ways_measure(&ask, call, why);
    if (err)
        return err;
    for (int way = 0; way < WAYS; way++) {
        for (int size = 0; size < TRIP_SIZES; size++)
            usec[way][size] = sample_median(ask.usec[way][size], (size_t)ask.rounds);
        figure_row_named(table, ways[way].name, (double[]){way + 1, usec[way][0], usec[way][1]});
    }
    trip_claims(result, usec);
    return OK;
}

const struct figure figure_cam_fig4c = {
    .name = "cam-fig4c",
    .paper = "CamCubeOS",
    .what = "round trip over one hop, compared with UDP and TCP on this machine",
    .full = {"8 ways, 5 rounds of 10,000 round trips of each size", .seconds = 60},
    .quick = {"8 ways, 1 round of 200 round trips of each size", .seconds = 4},
    .measured = true,
    .choice =
        "Two processes on this machine replace two servers and a cable, so only ratios can be "
        "compared with the paper. A time is the median over the rounds of the mean of a round. "
        "Waiting processes poll, or sleep (asleep). All ways carry the same payloads: 1,460 and "
        "8,900 bytes, which with weft's header make packets of 1,500 and 8,940 bytes. The paper's "
        "\"comparable\" is taken as at most twice, TCP's \"much higher\" as more than twice. "
        "Simulated servers take no time: that row shows the cost of a cable of 1 Gb/s alone.",
    .shown = "number, way, standard, jumbo",
    .plot.table = "round_trip",
    .plot.x = {.column = "number",
               .label = "way of communication, as numbered in the table",
               .step = 1},
    .plot.y = {.label = "round trip (us)", .log = true},
    .plot.series =
        {
            {"1,500 B", "standard", NULL, NULL, STYLE_POINTS},
            {"jumbo", "jumbo", NULL, NULL, STYLE_POINTS},
        },
    .run = fig4c_run,
};

/* ---- 15 hops ---- */

#define HOPS 15
#define RING "torus:30" /* 15 hops across */
#define RATE 1000000000u

enum setting { TOGETHER, TWO, THIRTY, RING_SIMULATED, RING_TCP, SETTINGS };

static const struct {
    const char *name;
    uint32_t processes;
    uint64_t rate; /* of links; 0: no limit */
} settings[SETTINGS] = {
    [TOGETHER] = {"one process", 1, 0},         [TWO] = {"two processes", 2, 0},
    [THIRTY] = {"30 processes", 30, RATE},      [RING_SIMULATED] = {"simulated 1 Gb/s", 0, RATE},
    [RING_TCP] = {"TCP, new connection", 0, 0},
};

static const double paper_usec[TRIP_SIZES] = {2220, 5870};
static const double paper_ratio[TRIP_SIZES] = {4.2, 6.73};

static enum err setting_measure(enum setting setting, uint32_t count, double usec[TRIP_SIZES],
                                struct why *why)
{
    const struct trip_job job = {
        .spec = RING,
        .to = HOPS,
        .hops = HOPS,
        .count = setting == RING_SIMULATED ? 10 : count,
        .process_count = settings[setting].processes,
        .transport = "shm",
        .rate = settings[setting].rate,
    };
    if (setting == RING_TCP)
        return side_measure(&side_tcp_new, false, count, usec, why);
    return setting == RING_SIMULATED ? trip_simulate(&job, usec, why)
                                     : trip_measure(&job, usec, why);
}

static void hop_claims(struct figure_result *result, double usec[SETTINGS][TRIP_SIZES])
{
    for (int size = 0; size < TRIP_SIZES; size++) {
        double hop = (paper_usec[size] - usec[RING_SIMULATED][size]) / (2 * HOPS);
        figure_claim(
            result, "section 4.2.2", figure_text(result, "%s: simulated", trip_size_words[size]),
            says_at_most(paper_usec[size] * 1e-3, "ms"), usec[RING_SIMULATED][size] * 1e-3, NULL);
        figure_claim(
            result, "section 4.2.2", figure_text(result, "%s: 30 processes", trip_size_words[size]),
            says_equal(paper_usec[size] * 1e-3, 0.005, "ms"), usec[THIRTY][size] * 1e-3,
            figure_text(
                result,
                "here are no cables; without theirs, a hop took the paper's servers %.3g us", hop));
        figure_claim(result, "section 4.2.2",
                     figure_text(result, "%s: 30 processes, as a multiple of TCP over one hop",
                                 trip_size_words[size]),
                     says_equal(paper_ratio[size], 0.05, NULL),
                     usec[THIRTY][size] / usec[RING_TCP][size],
                     crowd_cores() < 2 ? "measured with all processes on one core" : NULL);
    }
}

static enum err hop15_run(struct figure_result *result, const struct figure_call *call,
                          struct why *why)
{
    static const double bytes[TRIP_SIZES] = {1500, 8940};
    struct figure_table *table = figure_table_add(
        result, "hops", "way, size (B), round_trip (ms), per_hop (us), paper (ms)");
    double usec[SETTINGS][TRIP_SIZES];
    for (int setting = 0; setting < SETTINGS; setting++) {
        enum err err =
            setting_measure((enum setting)setting, call->quick ? 20 : 10000, usec[setting], why);
        if (err)
            return err;
        figure_progress(call, (uint64_t)setting + 1, SETTINGS);
        double hops = setting == RING_TCP ? 2 : 2 * HOPS;
        for (int size = 0; size < TRIP_SIZES; size++)
            figure_row_named(
                table, settings[setting].name,
                (double[]){bytes[size], usec[setting][size] * 1e-3, usec[setting][size] / hops,
                           setting == RING_TCP ? paper_usec[size] * 1e-3 / paper_ratio[size]
                                               : paper_usec[size] * 1e-3});
    }
    hop_claims(result, usec);
    return OK;
}

const struct figure figure_cam_15hop = {
    .name = "cam-15hop",
    .paper = "CamCubeOS",
    .what = "round trip over 15 hops, forwarded by the servers",
    .full = {"a ring of 30 servers, 10,000 round trips of each size", .seconds = 60},
    .quick = {"a ring of 30 servers, 20 round trips of each size", .seconds = 6},
    .measured = true,
    .choice =
        "The longest path in a ring of 30 servers has 15 hops. The servers are hosted in one "
        "process, in two and in 30, over shared memory, and wait as they do by default; times are "
        "means. The links of 30 processes are limited to 1 Gb/s, which does not delay a single "
        "packet; those of one or two processes are not limited, because the next packet would "
        "come before a link is free again. Simulated: 1 Gb/s, store and forward, 1 us for the "
        "cable of each hop, servers take no time. The paper's TCP times are computed from its two "
        "ratios. NovaCubes and Jellyfish of 30 servers have no path of 15 hops.",
    .plot.table = "hops",
    .plot.x = {.column = "size", .label = "packet (B)"},
    .plot.y = {.label = "round trip (ms)", .log = true},
    .plot.series =
        {
            {"one process", "round_trip", "way", "one process", STYLE_BOTH},
            {"two processes", "round_trip", "way", "two processes", STYLE_BOTH},
            {"30 processes", "round_trip", "way", "30 processes", STYLE_BOTH},
            {"simulated 1 Gb/s", "round_trip", "way", "simulated 1 Gb/s", STYLE_BOTH},
            {"TCP, one hop", "round_trip", "way", "TCP, new connection", STYLE_BOTH},
            {"in the paper", "paper", "way", "30 processes", STYLE_PAPER},
        },
    .run = hop15_run,
};
