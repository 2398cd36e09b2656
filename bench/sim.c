/* sim: how fast simulated packets hop: through the bare engine, through the whole node code, and
 * through ns-3 on the same wiring with the same load, in turn; and the cost of 4,096 servers. ns-3
 * forwards by a table of ports (peer_ns3.cc), without IP: the least that it can do. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench.h"
#include "services/bench/bench.h"
#include "services/bench/bench_wire.h"
#include "services/services.h"
#include "sim/engine/engine.h"
#include "sim/engine/sim_link.h"
#include "sim/engine/slab.h"
#include "sim/world/world.h"
#include "topology/topology.h"

#define PACKET_SIZE 1000
#define LOAD        20000 /* packets per second and server */
#define ROUNDS      5

/* ---- the bare engine: a node forwards each packet over a random port ---- */

struct bare {
    struct topology topology;
    struct engine *engine;
    struct slab_pool *pool;
    struct sim_link_pace pace;
    uint32_t ports;
    struct sim_link *links; /* the link of node n and port p has index n * ports + p */
    uint32_t *ends;         /* of each link: the node at its other end */
    uint64_t random;
    uint64_t hops;
};

/* A cheap generator, so that its own cost hardly counts. */
static uint64_t draw(struct bare *bare)
{
    bare->random ^= bare->random << 13;
    bare->random ^= bare->random >> 7;
    bare->random ^= bare->random << 17;
    return bare->random >> 32;
}

/* Chooses the link over which a node sends next. */
static uint32_t choose(struct bare *bare, uint32_t node)
{
    return node * bare->ports + (uint32_t)(draw(bare) * bare->ports >> 32);
}

static void forward(struct bare *bare, uint32_t channel, struct packet *packet)
{
    struct sim_link *link = &bare->links[channel];
    sim_link_send(link, engine_now(bare->engine), &packet, 1);
    if (link->first == packet)
        engine_set(bare->engine, channel, packet->order);
}

/* For a torus: all nodes have the same number of ports. */
static void bare_open(struct bare *bare, const char *spec, uint32_t packets_per_node)
{
    struct why why;
    struct sim_link_settings settings = SIM_LINK_DEFAULTS;
    settings.buffer = 0;
    bare->pace = sim_link_pace_make(&settings);
    if (topology_build(&bare->topology, spec, &why) || slab_pool_open(&bare->pool, 0, &why) ||
        engine_open(&bare->engine, graph_channel_count(&bare->topology.graph), &why))
        bench_fail("%s", why.text);
    const struct graph *graph = &bare->topology.graph;
    bare->ports = graph_degree(graph, 0);
    bare->ends = graph->to; /* slots are in order of node and port */
    bare->links =
        aligned_alloc(alignof(struct sim_link), graph_channel_count(graph) * sizeof *bare->links);
    if (!bare->links)
        bench_fail("not enough memory");
    for (uint32_t i = 0; i < graph_channel_count(graph); i++)
        sim_link_init(&bare->links[i], &bare->pace, bare->pool, 1, i);
    bare->random = 88172645463325252u;
    for (uint32_t node = 0; node < graph->node_count; node++) {
        for (uint32_t i = 0; i < packets_per_node; i++) {
            struct packet *packet = packet_take(slab_packets(bare->pool), PACKET_HEADER_SIZE);
            packet->size = 64 + (uint32_t)(draw(bare) % 1437); /* 64 to 1,500 */
            forward(bare, choose(bare, node), packet);
        }
    }
}

static void bare_run(void *context)
{
    struct bare *bare = context;
    uint32_t channel, near = 0, nearer = 0;
    struct packet *packet;
    for (uint64_t hops = 0; hops < bare->hops; hops++) {
        if (!engine_next(bare->engine, PSEC_NEVER, &channel))
            bench_fail("no packet is left");
        uint32_t out = choose(bare, bare->ends[channel]);
        __builtin_prefetch(&bare->links[out]);
        if (bare->links[nearer].first)
            __builtin_prefetch(bare->links[nearer].first->next);
        nearer = near;
        __builtin_prefetch(bare->links[nearer].first);
        uint32_t ahead = engine_ahead(bare->engine);
        near = ahead != ENGINE_NONE ? ahead : 0;
        __builtin_prefetch(&bare->links[near]);
        struct sim_link *link = &bare->links[channel];
        sim_link_receive(link, engine_now(bare->engine), &packet, 1);
        engine_set(bare->engine, channel, sim_link_next(link));
        forward(bare, out, packet);
    }
}

static void bare_close(struct bare *bare)
{
    for (uint32_t i = 0; i < graph_channel_count(&bare->topology.graph); i++)
        sim_link_fini(&bare->links[i]);
    free(bare->links);
    engine_close(bare->engine);
    slab_pool_close(bare->pool);
    topology_fini(&bare->topology);
}

static void bare_rows(struct bench *bench)
{
    struct bare bare = {.hops = bench->quick ? 2000000 : 20000000};
    double rates[ROUNDS];
    bare_open(&bare, "torus:8x8x8", 6);
    for (int round = 0; round < ROUNDS; round++) {
        double start = bench_seconds(bench);
        bare_run(&bare);
        rates[round] = (double)bare.hops / (bench_seconds(bench) - start) / 1e6;
    }
    bench_add(bench, "bare engine, torus:8x8x8, a forwarder at random", "M packet-hops/s",
              &(struct bench_value){"weft", bench_median(rates, ROUNDS)}, 1);
    bare_close(&bare);
}

/* ---- the whole node code: every server sends to random keys ---- */

struct whole {
    struct topology topology;
    struct plan plan;
    struct world *world;
};

static void whole_load(struct whole *whole, uint64_t rate)
{
    uint8_t bytes[BENCH_REQUEST_MAX];
    size_t size = bench_request_write(&(struct bench_request){.kind = BENCH_START,
                                                              .mode = BENCH_KEYS,
                                                              .size = PACKET_SIZE - 40,
                                                              .rate_milli = rate * 1000,
                                                              .duration_nsec = BENCH_DURATION_MAX},
                                      bytes);
    for (node_id id = 0; id < whole->plan.server_count; id++)
        if (world_request(whole->world, id, BENCH_SERVICE, 1, bytes, (uint32_t)size) < 0)
            bench_fail("a server refused its load");
}

static void whole_open(struct whole *whole, const char *spec, uint64_t rate,
                       const struct weft_service *const *services)
{
    struct why why;
    struct world_settings settings = WORLD_DEFAULTS;
    settings.plan = &whole->plan;
    settings.node.services = services;
    settings.settled = true;
    if (topology_build(&whole->topology, spec, &why) ||
        plan_init(&whole->plan, &whole->topology, &why) ||
        world_open(&whole->world, &settings, &why))
        bench_fail("%s", why.text);
    if (rate)
        whole_load(whole, rate);
}

static void whole_close(struct whole *whole)
{
    world_close(whole->world);
    plan_fini(&whole->plan);
    topology_fini(&whole->topology);
}

/* Returns millions of hops per second of processor time. */
static double whole_run(struct bench *bench, struct whole *whole, psec length)
{
    struct world_counts before, after;
    double start = bench_seconds(bench);
    world_count(whole->world, &before);
    world_run(whole->world, world_now(whole->world) + length);
    world_count(whole->world, &after);
    return (double)(after.hops - before.hops) / (bench_seconds(bench) - start) / 1e6;
}

/* ---- ns-3 on the same wiring, with the same load ---- */

#ifdef PEER_NS3
static void wiring_write(const struct graph *graph, char path[])
{
    int file = mkstemp(path);
    FILE *out = file < 0 ? NULL : fdopen(file, "w");
    if (!out)
        bench_fail("%s: cannot be written", path);
    fprintf(out, "%u %u\n", graph->node_count, graph->link_count);
    for (uint32_t i = 0; i < graph->link_count; i++)
        fprintf(out, "%u %u\n", graph->links[i].a, graph->links[i].b);
    if (fclose(out))
        bench_fail("%s: cannot be written", path);
}

static double ns3_run(const struct whole *whole, psec length)
{
    char path[] = "/tmp/weft-bench-XXXXXX", command[512];
    unsigned long long hops = 0, delivered;
    double seconds = 0;
    wiring_write(&whole->topology.graph, path);
    snprintf(command, sizeof command, "%s %d %d %" PRIu64 " < %s", PEER_NS3, LOAD, PACKET_SIZE,
             (uint64_t)(length / PSEC_PER_NSEC), path);
    FILE *answer = popen(command, "r");
    bool read = answer && fscanf(answer, "%llu %llu %lf", &hops, &delivered, &seconds) == 3;
    bool ended = answer && pclose(answer) == 0;
    unlink(path);
    if (!read || !ended || seconds <= 0)
        bench_fail("ns-3 failed");
    return (double)hops / seconds / 1e6;
}
#endif

static void whole_rows(struct bench *bench)
{
    struct whole whole;
    double rates[ROUNDS];
    psec length = (bench->quick ? 5 : 50) * (PSEC_PER_SECOND / 1000);
    struct bench_value values[3] = {{"weft", 0}, {"ns-3", 0}, {"ratio", 0}};
    whole_open(&whole, "torus:8x8x8", LOAD, services_all);
    world_run(whole.world, PSEC_PER_SECOND / 1000);
#ifdef PEER_NS3
    double peers[ROUNDS], ratios[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        rates[round] = whole_run(bench, &whole, length);
        peers[round] = ns3_run(&whole, length / 10);
        ratios[round] = rates[round] / peers[round];
    }
    values[1].value = bench_median(peers, ROUNDS);
    values[2].value = bench_median(ratios, ROUNDS);
    size_t count = 3;
#else
    for (int round = 0; round < ROUNDS; round++)
        rates[round] = whole_run(bench, &whole, length);
    size_t count = 1;
    fprintf(stderr, "ns-3 is not installed (tools/setup bench): only weft is timed\n");
#endif
    values[0].value = bench_median(rates, ROUNDS);
    bench_add(bench, "whole node code, torus:8x8x8, random keys", "M packet-hops/s", values, count);
    whole_close(&whole);
}

/* ---- 4,096 servers ---- */

static void large_rows(struct bench *bench)
{
    struct whole whole;
    struct world_counts counts;
    struct rusage usage;
    double start = bench_seconds(bench);
    /* Only the service that makes the load: the others keep tables of about 300 kB per server. */
    const struct weft_service *const services[] = {&service_bench, NULL};
    whole_open(&whole, "torus:16x16x16", 5000, services);
    world_run(whole.world, (bench->quick ? 2 : 20) * (PSEC_PER_SECOND / 1000));
    world_count(whole.world, &counts);
    double seconds = bench_seconds(bench) - start;
    bench_add(bench, "memory of torus:16x16x16, 4,096 servers, random keys", "MiB",
              &(struct bench_value){"weft", (double)world_memory(whole.world) / (1 << 20)}, 1);
    whole_close(&whole);
    getrusage(RUSAGE_SELF, &usage);
    bench_add(bench, "most memory of the process until here", "MiB",
              &(struct bench_value){"weft", (double)usage.ru_maxrss / 1024}, 1);
    bench_add(bench, "whole node code, torus:16x16x16, random keys, its start too",
              "M packet-hops/s", &(struct bench_value){"weft", (double)counts.hops / seconds / 1e6},
              1);
}

int main(int count, char **words)
{
    static struct bench bench;
    const char *only = NULL;
    bench_start_with(&bench, count, words,
                     (const struct bench_word[]){{.name = "only", .value = &only}, {0}});
    bench.cpu = true;
    if (!only || strcmp(only, "bare") == 0)
        bare_rows(&bench);
    if (!only || strcmp(only, "whole") == 0)
        whole_rows(&bench);
    if (!only || strcmp(only, "large") == 0)
        large_rows(&bench);
    return bench_finish(&bench);
}
