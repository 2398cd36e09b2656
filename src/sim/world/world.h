#pragma once
/* world: all servers of a plan in one simulated world: the real node code, simulated links, one
 * clock, faults on demand, and watchers that see all events.
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
 * A run is a function of its settings and of the calls between two calls of world_run: it is the
 * same in every build, on every machine and beside any other threads. A world belongs to one
 * thread; many may exist at once.
 *
 * A hop without congestion is one event, the arrival. A second event, for room, happens only if a
 * node found no room before. */

#include <stdatomic.h>

#include "node/node.h"
#include "sim/engine/disk.h"
#include "sim/engine/engine.h"
#include "sim/engine/sim_link.h"
#include "sim/engine/sim_socket.h"

struct world;

/* ---- watchers ----
 *
 * Watchers are called for every event, in order, from inside steps; they must not touch the world.
 * Each function may be NULL. A packet is identified by its `trail`, a unique number from the moment
 * its memory is taken; a duplicate that a faulty link makes has the same number. */

struct world_watcher;

struct world_watcher_ops {
    void (*sent)(struct world_watcher *watcher, node_id at, const struct packet *packet);
    void (*delivered)(struct world_watcher *watcher, node_id at, const struct packet *packet);
    void (*taken)(struct world_watcher *watcher, node_id at, uint64_t trail);
    void (*dropped)(struct world_watcher *watcher, node_id at, const struct packet *packet,
                    enum drop_reason reason);
    void (*port)(struct world_watcher *watcher, node_id at, unsigned port, bool up);
    void (*heard)(struct world_watcher *watcher, node_id at, unsigned port);
    /* A server takes a packet from a link; it has not looked at the packet yet. */
    void (*received)(struct world_watcher *watcher, node_id at, unsigned port,
                     const struct packet *packet);
    void (*transmitted)(struct world_watcher *watcher, node_id at, unsigned port,
                        const struct packet *packet);
    void (*row)(struct world_watcher *watcher, node_id at, node_id server, uint64_t incarnation,
                uint64_t version);
    void (*mistake)(struct world_watcher *watcher, node_id at, const char *service,
                    const char *function, const char *reason);
    /* A link has duplicated the packet; a link has lost it: at random, because the link is dead or
     * overrun, or because the server at its end is down. */
    void (*copied)(struct world_watcher *watcher, const struct packet *packet);
    void (*lost)(struct world_watcher *watcher, const struct packet *packet);
    /* A server starts (its node does not exist yet); a server has ended (its node is gone). */
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
    /* Settings common to all nodes: services, hello_nsec, ...; the world fills in plan, self, env,
     * incarnation, seed and watcher. */
    struct node_config node;
    struct sim_link_settings link;
    struct disk_settings disk;          /* of each server; size 0: no disks */
    struct sim_socket_settings sockets; /* connections to simulated clients */
    uint64_t seed;
    size_t packet_memory;                  /* bytes of packets at most; 0: no limit */
    bool settled;                          /* start as if the cluster had been up for long */
    bool down;                             /* start with all servers down: world_restart */
    struct world_watcher *const *watchers; /* ends with NULL, or is NULL; borrowed */
    /* Receives the answers to world_request. */
    void (*answer)(void *context, node_id at, uint64_t client, const void *bytes, uint32_t size);
    /* If it is not NULL, it is called in place of `answer`: also with the ticket, and its result is
     * that of weft_answer. */
    int (*answered)(void *context, node_id at, const struct env_answer *to, const void *bytes,
                    uint32_t size);
    void *context;
    /* NULL, or where world_run writes the time of each event before it handles the event, and its
     * own end: a process that watches this one reads how far the world came. Relaxed: it carries
     * nothing but itself. Borrowed. */
    _Atomic psec *reached;
};

#define WORLD_DEFAULTS                                                                             \
    {                                                                                              \
        .link = SIM_LINK_DEFAULTS, .seed = 1                                                       \
    }

MUST_CHECK enum err world_open(struct world **world, const struct world_settings *settings,
                               struct why *why);
/* Ends every server and empties every link; returns how many packets were never released. After
 * that the world can only be inspected and closed. */
uint64_t world_stop(struct world *world);
/* Asserts that every packet was released, unless a service still held it when its server ended
 * (packet.h) or world_stop has reported how many were not. */
void world_close(struct world *world);

/* Handles all events that are due before `until`. Then world_now returns `until`. */
void world_run(struct world *world, psec until);
psec world_now(const struct world *world);
/* Called from inside world_run, by a watcher or by answered(): world_run returns after this event,
 * before `until`. The events that follow are the same as without it. */
void world_interrupt(struct world *world);

/* ---- actions on servers ----
 *
 * A crash ends the node and drops all that it holds (packets as DROP_STOPPED). Its disk keeps the
 * synced data; chance decides about unsynced writes. Frames that the server sent still arrive;
 * frames to it are lost on arrival, unless it runs again by then. Its neighbours notice the crash
 * only by its silence. */
void world_crash(struct world *world, node_id id);
/* The process ends, and its machine goes on: what it wrote to the disk can be read, and is synced
 * no more than before. Else like a crash. */
void world_kill(struct world *world, node_id id);
/* Restarts the server, with the next incarnation. */
MUST_CHECK enum err world_restart(struct world *world, node_id id, struct why *why);
/* The disk of that server hangs for this long. */
void world_hang(struct world *world, node_id id, psec length);
/* The disk of a server that is down is replaced by an empty one. */
void world_erase(struct world *world, node_id id);
/* A paused server does nothing; packets that arrive wait, up to the link's buffer. So do requests:
 * the server gets them first when it goes on. */
void world_pause(struct world *world, node_id id, bool paused);
/* Makes the links to that server full, or ends this. A full link has no room for frames, like
 * shared memory that is not read. */
void world_fill(struct world *world, node_id id, bool full);
/* From now on its clock runs at `millionths` of the world's rate; 1,000,000 is correct. */
void world_clock(struct world *world, node_id id, uint32_t millionths);
/* Its clock jumps ahead. (A clock that only measures durations never jumps back.) */
void world_jump(struct world *world, node_id id, env_nsec ahead);
/* What its clock shows now. */
env_nsec world_clock_of(const struct world *world, node_id id);
/* Its wall clock jumps, ahead or back; so it does with world_clock and world_jump, too. In a world
 * without these, it is wrong by at most WORLD_WALL_SKEW, by another time on each server. */
#define WORLD_WALL_SKEW (INT64_C(1) * 1000000000)
void world_wall_jump(struct world *world, node_id id, env_nsec by);
/* What its wall clock shows now: nanoseconds since 1970. */
env_nsec world_wall_of(const struct world *world, node_id id);
/* What weft_clock shows there: it never jumps, and runs up to so many thousandths too fast or slow.
 */
#define WORLD_BOOT_SKEW 50
env_nsec world_boot_of(const struct world *world, node_id id);
/* A server that is down forgets about that many of its incarnations, as if the clock from which it
 * takes the number had gone back: the next start uses a lower number than the last, which was not
 * used before. */
void world_rewind(struct world *world, node_id id, uint64_t incarnations);
/* Tells a node that the other end of that port is gone or back (node_carrier). */
void world_carrier(struct world *world, node_id id, unsigned port, bool on);
/* The operator cuts that end (node_cut). */
void world_cut(struct world *world, node_id id, unsigned port, bool cut);
/* Sends a local program's request to a service; answers go to settings.answer. -ENOENT: no such
 * service; -ECONNREFUSED: the server is down; -ENOMEM. To a paused server the result is 0. */
int world_request(struct world *world, node_id id, uint16_t service, uint64_t client,
                  const void *bytes, uint32_t size);
/* The same with a ticket. */
int world_call(struct world *world, node_id id, const struct env_answer *from, const void *bytes,
               uint32_t size);
/* That program has disconnected. 0 or -ENOMEM. */
int world_gone(struct world *world, node_id id, uint64_t client);

/* ---- inspection ---- */

struct node *world_node(struct world *world, node_id id); /* NULL: it is down */
bool world_is_paused(const struct world *world, node_id id);
uint64_t world_incarnation(const struct world *world, node_id id); /* of its last start; 0: none */
/* Returns the direction of the link that leaves the server at that port, for sim_link_set_faults,
 * sim_link_set and sim_link_count. NULL: no cable. */
struct sim_link *world_link(struct world *world, node_id id, unsigned port);
struct disk *world_disk(struct world *world, node_id id); /* NULL: it has none */
struct sim_sockets *world_sockets(struct world *world);   /* for simulated clients */
struct slab_pool *world_pool(struct world *world);
const struct plan *world_plan(const struct world *world);

struct world_counts {
    uint64_t events;
    uint64_t steps; /* of nodes */
    uint64_t hops;  /* packets that nodes received over links */
    uint64_t rooms; /* events because a node had found no room */
};
void world_count(const struct world *world, struct world_counts *counts);

/* Sum over all links. */
void world_count_links(const struct world *world, struct sim_link_counts *counts);

/* Covers every event so far: its time, its channel and its packets. */
uint64_t world_hash(const struct world *world);

/* Every server that is up has settled and reaches every other server that is up. */
bool world_is_whole(struct world *world);

/* Total bytes of nodes, links, engine and packets. */
size_t world_memory(const struct world *world);
void world_check(struct world *world); /* asserts invariants of nodes and links */
