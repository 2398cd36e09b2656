#pragma once
/* world: all servers of a plan in one simulated world: the very node code, simulated links, one
 * clock, faults by hand, and watchers that see everything.
 *
 *     struct world_settings settings = WORLD_DEFAULTS;
 *     settings.plan = &plan;
 *     settings.node.services = services;
 *     settings.seed = 7;
 *     enum err err = world_open(&world, &settings, why);
 *     world_run(world, 2 * PSEC_PER_SECOND);       // bootstrap
 *     world_crash(world, 5);
 *     sim_link_set_faults(world_link(world, 1, 0), &(struct sim_link_faults){.loss = 10000});
 *     world_run(world, 4 * PSEC_PER_SECOND);
 *     world_restart(world, 5, why);
 *     ...
 *     printf("%016" PRIx64 "\n", world_hash(world)); // the same for this seed, always
 *     world_close(world);
 *
 * A run is a function of its settings and of what is done to it between calls of world_run: equal
 * in every build, on every machine and beside any other threads. A world belongs to one thread;
 * many may live at once.
 *
 * A hop without congestion is one event: the arrival. An event for room comes only if a node had
 * found none. */

#include "node/node.h"
#include "sim/engine/disk.h"
#include "sim/engine/engine.h"
#include "sim/engine/sim_link.h"

struct world;

/* ---- watchers ----
 *
 * Told of everything that happens, in order, from inside steps; they must not touch the world.
 * Each function may be NULL. What a packet is to them is its `trail`: a number of its own from the
 * moment its memory is taken; the duplicate that a faulty link makes has the same. */

struct world_watcher;

struct world_watcher_ops {
    void (*sent)(struct world_watcher *watcher, node_id at, const struct packet *packet);
    void (*delivered)(struct world_watcher *watcher, node_id at, const struct packet *packet);
    void (*taken)(struct world_watcher *watcher, node_id at, uint64_t trail);
    void (*dropped)(struct world_watcher *watcher, node_id at, const struct packet *packet,
                    enum drop_reason reason);
    void (*port)(struct world_watcher *watcher, node_id at, unsigned port, bool up);
    void (*transmitted)(struct world_watcher *watcher, node_id at, unsigned port,
                        const struct packet *packet);
    void (*row)(struct world_watcher *watcher, node_id at, node_id server, uint64_t incarnation,
                uint64_t version);
    /* By a link: made twice; or lost, dead, overrun or on its way to nobody. */
    void (*copied)(struct world_watcher *watcher, const struct packet *packet);
    void (*lost)(struct world_watcher *watcher, const struct packet *packet);
    /* A server begins a life, or its life ended: before and after its node is there. */
    void (*opened)(struct world_watcher *watcher, node_id at, uint64_t incarnation);
    void (*closed)(struct world_watcher *watcher, node_id at);
};

struct world_watcher {
    const char *name;
    const struct world_watcher_ops *ops;
    struct world *world; /* set by world_open */
};

/* ---- the world ---- */

struct world_settings {
    const struct plan *plan; /* borrowed */
    /* What all nodes have in common: services, hello_nsec, ...; plan, self, env, incarnation,
     * seed and watcher are the world's to fill in. */
    struct node_config node;
    struct sim_link_settings link;
    struct disk_settings disk; /* of each server; size 0: none has one */
    uint64_t seed;
    size_t packet_memory;                  /* bytes of packets at the most; 0: any */
    bool settled;                          /* it starts as if it had been up for long */
    bool down;                             /* it starts with no server: world_restart */
    struct world_watcher *const *watchers; /* ends with NULL, or is NULL; borrowed */
    /* Answers to world_request. */
    void (*answer)(void *context, node_id at, uint64_t client, const void *bytes, uint32_t size);
    void *context;
};

#define WORLD_DEFAULTS                                                                             \
    {                                                                                              \
        .link = SIM_LINK_DEFAULTS, .seed = 1                                                       \
    }

MUST_CHECK enum err world_open(struct world **world, const struct world_settings *settings,
                               struct why *why);
/* Ends every server's life and empties every link; returns how many packets were never given back.
 * After it the world can only be looked at and closed. */
uint64_t world_stop(struct world *world);
/* Asserts that every packet came back, unless world_stop said how many did not. */
void world_close(struct world *world);

/* Everything that is due before `until`; then that is now. */
void world_run(struct world *world, psec until);
psec world_now(const struct world *world);

/* ---- what happens to servers ----
 *
 * A crash drops the node with all it holds (its packets: dropped, STOPPED), and its disk keeps what
 * was synced, and of the rest what chance leaves. Frames that it sent
 * still arrive; those on their way to it are lost when they arrive, unless it lives again by then.
 * Its neighbours learn of it by silence alone. */
void world_crash(struct world *world, node_id id);
/* A new life, with the next incarnation. */
MUST_CHECK enum err world_restart(struct world *world, node_id id, struct why *why);
/* It does nothing while it is paused; what arrives waits, up to the link's buffer. */
void world_pause(struct world *world, node_id id, bool paused);
/* The links that lead to it have no room while they are full: shared memory that nobody reads. */
void world_fill(struct world *world, node_id id, bool full);
/* From now on its clock runs at `millionths` of the world's; 1,000,000 is right. It never jumps. */
void world_clock(struct world *world, node_id id, uint32_t millionths);
/* The world tells a node that the other end of that port is gone or there (node_carrier). */
void world_carrier(struct world *world, node_id id, unsigned port, bool on);
/* The operator cuts that end (node_cut). */
void world_cut(struct world *world, node_id id, unsigned port, bool cut);
/* A local program asks a service; answers come to settings.answer. -ENOENT; -ECONNREFUSED: down. */
int world_request(struct world *world, node_id id, uint16_t service, uint64_t client,
                  const void *bytes, uint32_t size);

/* ---- looking ---- */

struct node *world_node(struct world *world, node_id id);          /* NULL: it is down */
uint64_t world_incarnation(const struct world *world, node_id id); /* of its last life; 0: none */
/* The direction that leaves there; sim_link_set_faults, sim_link_set, sim_link_count. NULL: no
 * cable. */
struct sim_link *world_link(struct world *world, node_id id, unsigned port);
struct disk *world_disk(struct world *world, node_id id); /* NULL: it has none */
struct slab_pool *world_pool(struct world *world);
const struct plan *world_plan(const struct world *world);

struct world_counts {
    uint64_t events;
    uint64_t steps; /* of nodes */
    uint64_t hops;  /* packets that a node received over a link */
    uint64_t rooms; /* events because a node had found no room */
};
void world_count(const struct world *world, struct world_counts *counts);

/* Of all links together. */
void world_count_links(const struct world *world, struct sim_link_counts *counts);

/* Of every event so far: when, which, and which packets. */
uint64_t world_hash(const struct world *world);

/* Every server that is up has settled and reaches every other that is up. */
bool world_is_whole(struct world *world);

/* Bytes in all: nodes, links, engine, packets. */
size_t world_memory(const struct world *world);
void world_check(struct world *world); /* asserts invariants of nodes and links */
