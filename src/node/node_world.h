#pragma once
/* node_world: a few whole nodes in one process, for the tests of the node and of services. Links
 * have a rate and a delay, and a test can cut them; servers crash and restart; programs send
 * requests, and their answers are kept. Time jumps from event to event. The real simulator is sim/.
 *
 *     struct world *world = world_open_settled("torus:3x3", services, 1000000000);
 *     world_ask(world, 0, PING_SERVICE, client, bytes, size);
 *     world_run(world, 1000000);
 *     world->answers[0].bytes ...
 *     world_close(world);  asserts that no packet is left
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/test.h"
#include "node/node.h"

#define WORLD_DELAY   1000               /* nanoseconds on a link */
#define WORLD_SETTLED INT64_C(400000000) /* by then every server knows all servers */
#define WORLD_PACKETS 4000

struct world_link {
    struct packet *first, **end; /* in flight; packet->order is the moment of arrival */
    env_nsec free_at;            /* when the last frame has left */
    bool blocked;                /* its node was refused room */
    bool dead;
};

struct world_node {
    struct env env;
    struct world *world;
    struct node *node; /* NULL: crashed */
    env_nsec next;
    uint64_t incarnation;
    node_id self;
};

struct world_answer {
    node_id server;
    uint64_t client;
    uint64_t ticket;
    uint16_t service;
    uint32_t size;
    uint8_t *bytes;
};

/* The ticket of the requests that a program of these tests sends; no two programs have the same. */
#define WORLD_TICKET(client) ((client) + 1000)

struct world {
    struct topology topology;
    struct plan plan;
    struct packet_pool *pool;
    struct world_node *nodes;
    struct world_link *links; /* by sender and port */
    struct world_answer *answers;
    uint32_t answer_count;
    bool deaf;          /* programs accept no answers */
    uint64_t abandoned; /* packets that services keep when their servers end, as the test expects */
    env_nsec now;
    uint64_t rate; /* bits per second of each link; 0: no limit */
    struct node_config config;
};

static inline struct world_link *world_link(const struct world *world, node_id from, unsigned port)
{
    assert(world->links);
    return &world->links[(size_t)from * world->plan.port_count + port];
}

/* The link that ends at this port; NULL: no cable. */
static inline struct world_link *world_link_to(const struct world *world, node_id to, unsigned port)
{
    const struct plan_end *end = plan_end(&world->plan, to, port);
    return end->server == NODE_NONE ? NULL : world_link(world, end->server, end->port);
}

/* ---- the node's environment ---- */

static inline unsigned world_receive(struct env *env, unsigned port, struct packet **out,
                                     unsigned most)
{
    const struct world_node *at = (struct world_node *)env;
    struct world_link *link = world_link_to(at->world, at->self, port);
    unsigned count = 0;
    while (count < most && link->first && (env_nsec)link->first->order <= at->world->now) {
        out[count++] = link->first;
        link->first = link->first->next;
        if (!link->first)
            link->end = &link->first;
    }
    return count;
}

static inline uint32_t world_room(struct env *env, unsigned port)
{
    const struct world_node *at = (struct world_node *)env;
    struct world_link *link = world_link(at->world, at->self, port);
    link->blocked = at->world->now < link->free_at;
    return link->blocked ? 0 : PACKET_SIZE_MAX;
}

static inline void world_transmit(struct env *env, unsigned port, struct packet **packets,
                                  unsigned count, bool lazy)
{
    const struct world_node *at = (struct world_node *)env;
    const struct world *world = at->world;
    struct world_link *link = world_link(world, at->self, port);
    uint64_t bits = 0;
    for (unsigned i = 0; i < count; i++)
        bits += packets[i]->size * UINT64_C(8);
    env_nsec length = world->rate ? (env_nsec)(bits * UINT64_C(1000000000) / world->rate) : 0;
    link->free_at = (link->free_at > world->now ? link->free_at : world->now) + length;
    for (unsigned i = 0; i < count; i++) {
        if (link->dead) {
            packet_done(packets[i]);
            continue;
        }
        packet_seal_hops(packets[i]);
        packets[i]->read = false; /* it travels as bytes */
        packets[i]->order = (uint64_t)(link->free_at + WORLD_DELAY);
        packets[i]->next = NULL;
        *link->end = packets[i];
        link->end = &packets[i]->next;
    }
}

static inline int world_local(struct env *env, const struct env_answer *to, const void *bytes,
                              uint32_t size)
{
    const struct world_node *at = (struct world_node *)env;
    struct world *world = at->world;
    if (world->deaf)
        return -EAGAIN;
    world->answers = realloc(world->answers, (world->answer_count + 1) * sizeof *world->answers);
    struct world_answer *answer = &world->answers[world->answer_count++];
    *answer = (struct world_answer){at->self,    to->client, to->ticket,
                                    to->service, size,       malloc(size ? size : 1)};
    memcpy(answer->bytes, bytes, size);
    return 0;
}

static const struct env_ops world_ops = {
    .receive = world_receive,
    .room = world_room,
    .transmit = world_transmit,
    .local = world_local,
};

/* ---- controlled by the test ---- */

static inline void world_start(struct world *world, node_id id)
{
    struct world_node *at = &world->nodes[id];
    assert_null(at->node);
    struct node_config config = world->config;
    config.plan = &world->plan;
    config.self = id;
    config.env = &at->env;
    config.incarnation = ++at->incarnation;
    at->env.now = world->now;
    struct why why;
    assert_int_equal(node_open(&at->node, &config, &why), OK);
    at->next = world->now;
}

static inline void world_crash(struct world *world, node_id id)
{
    world->nodes[id].env.now = world->now;
    node_close(world->nodes[id].node);
    world->nodes[id].node = NULL;
}

static inline void world_cut(struct world *world, node_id one, node_id other, bool dead)
{
    world_link(world, one, plan_port(&world->plan, one, other))->dead = dead;
    world_link(world, other, plan_port(&world->plan, other, one))->dead = dead;
}

/* A program sends a request to a service of that server. */
static inline void world_ask(struct world *world, node_id id, uint16_t service, uint64_t client,
                             const void *bytes, size_t size)
{
    struct world_node *at = &world->nodes[id];
    at->env.now = world->now;
    const struct env_answer from = {client, WORLD_TICKET(client), service};
    assert_int_equal(node_local(at->node, &from, bytes, (uint32_t)size), 0);
    at->next = world->now;
}

/* A forged packet with that payload; the caller sets its kind and destination. */
static inline struct packet *world_forge(const struct world *world, uint16_t service,
                                         const void *payload, uint32_t size)
{
    struct packet *packet = packet_take(world->pool, PACKET_HEADER_SIZE + size);
    packet->service = service;
    packet->hops_left = world->plan.hop_limit;
    if (size)
        memcpy(packet_payload(packet), payload, size);
    return packet;
}

/* The packet arrives from that neighbour now, as bytes; it is sealed here. */
static inline void world_arrive(struct world *world, node_id from, node_id to,
                                struct packet *packet)
{
    struct world_link *link = world_link(world, from, plan_port(&world->plan, from, to));
    packet_seal(packet);
    packet->read = false;
    packet->order = (uint64_t)world->now;
    packet->next = link->first; /* before all packets in flight */
    if (!link->first)
        link->end = &packet->next;
    link->first = packet;
}

/* ---- time ---- */

static inline void world_earlier(env_nsec *at, env_nsec other)
{
    *at = other < *at ? other : *at;
}

/* The moment of the next event after now. */
static inline env_nsec world_next(const struct world *world, env_nsec until)
{
    env_nsec at = until;
    for (node_id id = 0; id < world->plan.server_count; id++) {
        if (world->nodes[id].node)
            world_earlier(&at, world->nodes[id].next);
        for (unsigned port = 0; port < world->plan.port_count; port++) {
            const struct world_link *link = world_link(world, id, port);
            if (link->first)
                world_earlier(&at, (env_nsec)link->first->order);
            if (link->blocked)
                world_earlier(&at, link->free_at);
        }
    }
    return at > world->now ? at : world->now;
}

static inline void world_port(struct world *world, struct world_node *at, unsigned port)
{
    struct world_link *in = world_link_to(world, at->self, port);
    struct world_link *out = world_link(world, at->self, port);
    if (in && in->first && (env_nsec)in->first->order <= world->now) {
        if (at->node) {
            node_input(at->node, port);
            at->next = world->now;
        } else {
            struct packet *lost;
            while (world_receive(&at->env, port, &lost, 1))
                packet_done(lost);
        }
    }
    if (out->blocked && out->free_at <= world->now) {
        out->blocked = false;
        if (at->node) {
            node_room(at->node, port);
            at->next = world->now;
        }
    }
}

static inline void world_run(struct world *world, env_nsec length)
{
    env_nsec until = world->now + length;
    while (world->now < until) {
        for (node_id id = 0; id < world->plan.server_count; id++) {
            struct world_node *at = &world->nodes[id];
            for (unsigned port = 0; port < world->plan.port_count; port++)
                world_port(world, at, port);
            at->env.now = world->now;
            while (at->node && at->next <= world->now)
                at->next = node_step(at->node);
        }
        world->now = world_next(world, until);
    }
}

/* ---- beginning and end ---- */

/* Starts all servers now. The caller sets those fields of the configuration that are not of one
 * node. */
static inline struct world *world_open(const char *spec, const struct node_config *config)
{
    struct world *world = calloc(1, sizeof *world);
    struct why why = {0};
    assert_int_equal(topology_build(&world->topology, spec, &why), OK);
    assert_int_equal(plan_init(&world->plan, &world->topology, &why), OK);
    uint32_t count = world->plan.server_count;
    uint32_t links = count * world->plan.port_count;
    world->pool = packet_pool_open(WORLD_PACKETS, PACKET_SIZE_MAX);
    world->nodes = calloc(count, sizeof *world->nodes);
    world->links = calloc(links, sizeof *world->links);
    world->config = *config;
    for (uint32_t i = 0; i < links; i++)
        world->links[i].end = &world->links[i].first;
    for (node_id id = 0; id < count; id++) {
        world->nodes[id].env = (struct env){&world_ops, 0, world->pool};
        world->nodes[id].world = world;
        world->nodes[id].self = id;
        world_start(world, id);
    }
    return world;
}

/* All servers are up and know each other. */
static inline struct world *
world_open_settled(const char *spec, const struct weft_service *const *services, uint64_t rate)
{
    struct node_config config = {.seed = 1, .services = services};
    struct world *world = world_open(spec, &config);
    world->rate = rate;
    world_run(world, WORLD_SETTLED);
    return world;
}

static inline void world_forget(struct world *world)
{
    for (uint32_t i = 0; i < world->answer_count; i++)
        free(world->answers[i].bytes);
    world->answer_count = 0;
}

/* Asserts that no packet is left, except those that the test expects to be abandoned. */
static inline void world_close(struct world *world)
{
    for (node_id id = 0; id < world->plan.server_count; id++)
        if (world->nodes[id].node)
            world_crash(world, id);
    for (uint32_t i = 0; i < world->plan.server_count * world->plan.port_count; i++)
        for (struct packet *packet = world->links[i].first, *next; packet; packet = next) {
            next = packet->next;
            packet_done(packet);
        }
    assert_int_equal(world->pool->abandoned, world->abandoned);
    packet_pool_close(world->pool);
    world_forget(world);
    free(world->answers);
    free(world->links);
    free(world->nodes);
    plan_fini(&world->plan);
    topology_fini(&world->topology);
    free(world);
}

struct world_number {
    const char *service, *name;
    uint64_t value;
    bool found;
};

static inline void world_told(void *context, const char *service, const char *name, uint64_t value)
{
    struct world_number *number = context;
    if (strcmp(service, number->service) != 0 || strcmp(name, number->name) != 0)
        return;
    number->value = value;
    number->found = true;
}

/* One of a service's counters. */
static inline uint64_t world_number(struct world *world, node_id id, const char *service,
                                    const char *name)
{
    struct world_number number = {.service = service, .name = name};
    node_stats(world->nodes[id].node, world_told, &number);
    assert_true(number.found);
    return number.value;
}
