#pragma once
/* fuzz_stage: one server of four, settled, with all links up; the script plays the world.
 * stage_bring delivers packets to the server's ports, the packets that it sends are kept for a
 * while, and the script sets how programs react to its answers. */

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/check.h"
#include "node/node.h"

enum { STAGE_PORTS = 4, STAGE_KEPT = 16, STAGE_CLIENTS = 4, STAGE_PACKETS = 96 };

struct stage_kept {
    uint32_t size;
    unsigned port;
    uint8_t bytes[PACKET_SIZE_MAX];
};

struct fuzz_stage {
    struct env env;
    struct node *node;
    struct packet *waiting[STAGE_PORTS];
    uint64_t kept_count;
    struct stage_kept kept[STAGE_KEPT]; /* the last packets that it sent */
    int local;                          /* how programs take answers: 0, -EAGAIN or -EPIPE */
};

static inline unsigned stage_receive(struct env *env, unsigned port, struct packet **out,
                                     unsigned most)
{
    struct fuzz_stage *stage = (struct fuzz_stage *)env;
    if (!stage->waiting[port])
        return 0;
    out[0] = stage->waiting[port];
    stage->waiting[port] = NULL;
    return 1;
}

static inline uint32_t stage_room(struct env *env, unsigned port)
{
    return PACKET_SIZE_MAX;
}

static inline void stage_transmit(struct env *env, unsigned port, struct packet **packets,
                                  unsigned count, bool lazy)
{
    struct fuzz_stage *stage = (struct fuzz_stage *)env;
    for (unsigned i = 0; i < count; i++) {
        struct packet copy = *packets[i];
        packet_seal_hops(&copy);
        assert(packet_read(&copy, packets[i]->size)); /* what leaves is always valid */
        if (packets[i]->service) {
            struct stage_kept *kept = &stage->kept[stage->kept_count++ % STAGE_KEPT];
            kept->size = packets[i]->size;
            kept->port = port;
            memset(kept->bytes, 0, kept->size);
            memcpy(kept->bytes, packets[i]->bytes, packets[i]->stored);
        }
        packet_done(packets[i]);
    }
}

static inline int stage_local(struct env *env, const struct env_answer *to, const void *bytes,
                              uint32_t size)
{
    assert(to->client < STAGE_CLIENTS && bytes);
    return ((struct fuzz_stage *)env)->local;
}

static const struct env_ops stage_ops = {
    .receive = stage_receive, .room = stage_room, .transmit = stage_transmit, .local = stage_local};

/* The node gives a reason for each service that it refuses to run. */
static inline enum err stage_open(struct fuzz_stage *stage,
                                  const struct weft_service *const *services, struct why *why)
{
    static struct topology topology;
    static struct plan plan;
    static const uint64_t incarnations[] = {3, 3, 3, 3};
    if (!plan.server_count)
        assert(!topology_build(&topology, "torus:2x2", NULL) && !plan_init(&plan, &topology, NULL));
    stage->env =
        (struct env){.ops = &stage_ops, .pool = packet_pool_open(STAGE_PACKETS, PACKET_SIZE_MAX)};
    stage->kept_count = 0;
    stage->local = 0;
    memset(stage->waiting, 0, sizeof stage->waiting);
    enum err err = node_open(&stage->node,
                             &(struct node_config){.plan = &plan,
                                                   .env = &stage->env,
                                                   .incarnation = 3,
                                                   .silence_nsec = INT64_MAX / 4,
                                                   .services = services,
                                                   .limbo_packets = 4},
                             why);
    if (err) {
        packet_pool_close(stage->env.pool);
        return err;
    }
    node_settle(stage->node, incarnations);
    stage->env.now = 1000;
    return OK;
}

static inline void stage_close(struct fuzz_stage *stage)
{
    node_close(stage->node);
    for (unsigned port = 0; port < STAGE_PORTS; port++)
        if (stage->waiting[port])
            packet_done(stage->waiting[port]);
    packet_pool_close(stage->env.pool); /* asserts that all packets were returned */
}

/* Delivers a packet to that port of the node, with the header of a proper sender. */
static inline void stage_bring(struct fuzz_stage *stage, unsigned port, const struct packet *fields,
                               const uint8_t *key, const uint8_t *payload, uint32_t size)
{
    struct packet *packet =
        stage->waiting[port] ? NULL : packet_take(stage->env.pool, PACKET_HEADER_SIZE + size);
    if (!packet)
        return;
    packet->kind = fields->kind;
    packet->service = fields->service;
    packet->hops_left = fields->hops_left;
    packet->source = fields->source;
    packet->server = fields->server;
    packet->identity = fields->identity;
    if (key)
        memcpy(packet->bytes + 12, key, 20);
    if (size)
        memcpy(packet_payload(packet), payload, size);
    packet_seal(packet);
    packet->read = false;
    stage->waiting[port] = packet;
    node_input(stage->node, port);
}

static inline void stage_run(struct fuzz_stage *stage)
{
    for (unsigned i = 0; i < 50 && node_step(stage->node) <= stage->env.now; i++)
        node_check(stage->node);
}
