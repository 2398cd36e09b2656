#pragma once
/* placement_cases: servers with serial numbers, wired by the plan or almost so. For tests only. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/rng.h"
#include "node/commission/placement.h"
#include "topology/build_test.h"

/* The true wiring, which no server knows. */
struct room {
    struct topology topology;
    struct plan plan;
    uint32_t count;
    uint64_t *serials;   /* of the server at each vertex */
    struct link *cables; /* as they are plugged in, by vertex */
    uint32_t cable_count;
    struct placement_report *reports; /* per vertex */
    struct rng rng;
};

static inline void room_open(struct room *room, const char *spec, uint64_t seed)
{
    *room = (struct room){.topology = build_test(spec), .rng = rng_make(seed, 0x726f6f6d)};
    assert_int_equal(plan_init(&room->plan, &room->topology, NULL), OK);
    room->count = room->plan.server_count;
    room->cable_count = room->topology.graph.link_count;
    assert(room->count);
    room->serials = calloc(room->count, sizeof *room->serials);
    room->cables = calloc(room->cable_count + 1, sizeof *room->cables);
    room->reports = calloc(room->count, sizeof *room->reports);
    assert_true(room->serials && room->cables && room->reports);
    memcpy(room->cables, room->topology.graph.links, room->cable_count * sizeof *room->cables);
    for (uint32_t vertex = 0; vertex < room->count; vertex++) {
        bool twice;
        do {
            room->serials[vertex] = 1 + rng_below(&room->rng, 9000);
            twice = false;
            for (uint32_t other = 0; other < vertex; other++)
                twice |= room->serials[other] == room->serials[vertex];
        } while (twice);
    }
}

static inline void room_close(struct room *room)
{
    free(room->serials);
    free(room->cables);
    free(room->reports);
    plan_fini(&room->plan);
    topology_fini(&room->topology);
}

/* The hellos that the ports receive. */
static inline void room_report(struct room *room)
{
    for (uint32_t vertex = 0; vertex < room->count; vertex++) {
        struct placement_report *report = &room->reports[vertex];
        *report = (struct placement_report){
            .serial = room->serials[vertex], .known = NODE_NONE, .port_count = PORT_MAX};
        for (uint32_t port = 0; port < PORT_MAX; port++)
            report->ears[port].port = PORT_NONE;
    }
    for (uint32_t i = 0; i < room->cable_count; i++) {
        const struct link *cable = &room->cables[i];
        room->reports[cable->a].ears[cable->a_port] =
            (struct placement_end){room->serials[cable->b], cable->b_port};
        room->reports[cable->b].ears[cable->b_port] =
            (struct placement_end){room->serials[cable->a], cable->a_port};
    }
}

static inline uint32_t room_vertex(const struct room *room, uint64_t serial)
{
    for (uint32_t vertex = 0; vertex < room->count; vertex++) {
        if (room->serials[vertex] == serial)
            return vertex;
    }
    return NODE_NONE;
}

/* ---- wiring mistakes ---- */

static inline uint32_t room_pick(struct room *room)
{
    return (uint32_t)rng_below(&room->rng, room->cable_count);
}

/* Two cables exchange an end. */
static inline void room_exchange(struct room *room, uint32_t one, uint32_t other)
{
    struct link *a = &room->cables[one], *b = &room->cables[other], old = *a;
    a->b = b->b;
    a->b_port = b->b_port;
    b->b = old.b;
    b->b_port = old.b_port;
}

static inline void room_remove(struct room *room, uint32_t cable)
{
    room->cables[cable] = room->cables[--room->cable_count];
}

/* An end is in a port that the plan leaves empty. */
static inline void room_wrong_port(struct room *room, uint32_t cable)
{
    uint32_t port = room->plan.port_count, vertex = room->cables[cable].a;
    for (uint32_t i = 0; i < room->cable_count; i++) { /* find the first free port */
        const struct link *other = &room->cables[i];
        if ((other->a == vertex && other->a_port == port) ||
            (other->b == vertex && other->b_port == port)) {
            port++;
            i = UINT32_MAX; /* from the start */
        }
    }
    room->cables[cable].a_port = port;
}

/* The cables in two ports of one server are exchanged. */
static inline void room_turn_ports(struct room *room, uint32_t vertex, uint32_t one, uint32_t other)
{
    for (uint32_t i = 0; i < room->cable_count; i++) {
        struct link *cable = &room->cables[i];
        uint32_t *port = cable->a == vertex   ? &cable->a_port
                         : cable->b == vertex ? &cable->b_port
                                              : NULL;
        if (port && (*port == one || *port == other))
            *port = *port == one ? other : one;
    }
}

static inline bool link_same(const struct link *one, const struct link *other)
{
    bool straight = one->a == other->a && one->a_port == other->a_port && one->b == other->b &&
                    one->b_port == other->b_port;
    return straight || (one->a == other->b && one->a_port == other->b_port && one->b == other->a &&
                        one->b_port == other->a_port);
}

static inline bool links_have(const struct link *links, uint32_t count, const struct link *link)
{
    for (uint32_t i = 0; i < count; i++) {
        if (link_same(&links[i], link))
            return true;
    }
    return false;
}

/* Returns how many cables are not as planned. */
static inline uint32_t room_wrong(const struct room *room)
{
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < room->cable_count; i++)
        wrong += !links_have(room->topology.graph.links, room->topology.graph.link_count,
                             &room->cables[i]);
    return wrong;
}
