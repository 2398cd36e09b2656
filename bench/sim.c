/* sim: how fast simulated packets hop. */
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "sim/engine.h"
#include "sim/slab.h"
#include "sim/wire.h"
#include "topology/topology.h"

#define PACKET_SIZE 1000

/* ---- the bare engine: whoever gets a packet sends it on over a port at random ---- */

struct bare {
    struct topology topology;
    struct engine *engine;
    struct slab_pool *pool;
    struct wire_pace pace;
    uint32_t ports;
    struct wire *wires; /* of node n and port p: n * ports + p */
    uint32_t *ends;     /* of each wire: the node at its other end */
    uint64_t random;
    uint64_t hops;
};

/* A few instructions: it is not what is timed. */
static uint64_t draw(struct bare *bare)
{
    bare->random ^= bare->random << 13;
    bare->random ^= bare->random >> 7;
    bare->random ^= bare->random << 17;
    return bare->random >> 32;
}

static void forward(struct bare *bare, uint32_t node, struct packet *packet)
{
    uint32_t channel = node * bare->ports + (uint32_t)(draw(bare) * bare->ports >> 32);
    struct wire *wire = &bare->wires[channel];
    wire_send(wire, engine_now(bare->engine), &packet, 1);
    if (wire->first == packet)
        engine_set(bare->engine, channel, packet->order);
}

/* A torus: all nodes have as many ports. */
static void bare_open(struct bare *bare, const char *spec, uint32_t packets_per_node)
{
    struct why why;
    struct wire_settings settings = WIRE_DEFAULTS;
    settings.buffer = 0;
    bare->pace = wire_pace_make(&settings);
    if (topology_build(&bare->topology, spec, &why) || slab_open(&bare->pool, 0, &why) ||
        engine_open(&bare->engine, graph_channel_count(&bare->topology.graph), &why))
        bench_fail("%s", why.text);
    const struct graph *graph = &bare->topology.graph;
    bare->ports = graph_degree(graph, 0);
    bare->ends = graph->to; /* slots are by node and port */
    bare->wires = calloc(graph_channel_count(graph), sizeof *bare->wires);
    if (!bare->wires)
        bench_fail("not enough memory");
    for (uint32_t i = 0; i < graph_channel_count(graph); i++)
        wire_init(&bare->wires[i], &bare->pace, bare->pool, 1, i);
    bare->random = 88172645463325252u;
    for (uint32_t node = 0; node < graph->node_count; node++) {
        for (uint32_t i = 0; i < packets_per_node; i++) {
            struct packet *packet = packet_take(slab_packets(bare->pool), PACKET_HEADER_SIZE);
            packet->size = PACKET_SIZE;
            forward(bare, node, packet);
        }
    }
}

static void bare_run(void *context)
{
    struct bare *bare = context;
    uint32_t channel;
    struct packet *packet;
    for (uint64_t hops = 0; hops < bare->hops; hops++) {
        if (!engine_next(bare->engine, PSEC_NEVER, &channel))
            bench_fail("all packets are gone");
        struct wire *wire = &bare->wires[channel];
        wire_receive(wire, engine_now(bare->engine), &packet, 1);
        engine_set(bare->engine, channel, wire_next(wire));
        forward(bare, bare->ends[channel], packet);
    }
}

static void bare_close(struct bare *bare)
{
    for (uint32_t i = 0; i < graph_channel_count(&bare->topology.graph); i++)
        wire_fini(&bare->wires[i]);
    free(bare->wires);
    engine_close(bare->engine);
    slab_close(bare->pool);
    topology_fini(&bare->topology);
}

static void bare_rows(struct bench *bench)
{
    struct bare bare = {.hops = bench->quick ? 2000000 : 20000000};
    double rates[5];
    bare_open(&bare, "torus:8x8x8", 6);
    for (int round = 0; round < 5; round++) {
        double start = bench_seconds(bench);
        bare_run(&bare);
        rates[round] = (double)bare.hops / (bench_seconds(bench) - start) / 1e6;
    }
    bench_add(bench, "bare engine, torus:8x8x8, a forwarder at random", "M packet-hops/s",
              &(struct bench_value){"weft", bench_median(rates, 5)}, 1);
    bare_close(&bare);
}

int main(int count, char **words)
{
    static struct bench bench;
    bench_start(&bench, count, words);
    bench.cpu = true;
    bare_rows(&bench);
    return bench_finish(&bench);
}
