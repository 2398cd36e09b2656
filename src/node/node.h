#pragma once
/* node: one server's whole behaviour, as a value with one entry.
 *
 * node_step() takes what the world has for it (receive), fires what is due, lets services send
 * (egress) and says when it wants to be called again. It never blocks and does bounded work. It is
 * driven by os/ in a real process and by sim/ in a simulated one; nothing in it knows which.
 *
 * One thread. All memory is taken in node_open; a step allocates nothing. */

#include <weft/service.h>

#include "base/arena.h"
#include "base/env.h"
#include "base/err.h"
#include "node/packet.h"
#include "node/plan.h"

#define NODE_SERVICES_MAX  32  /* that a server runs, its own too */
#define NODE_QUEUE_PACKETS 256 /* of a service that does not say */
#define NODE_LIMBO_PACKETS 256
/* Of a service that says: a queue counts its bytes in 32 bits. */
#define NODE_QUEUE_PACKETS_MAX (UINT32_MAX / PACKET_SIZE_MAX)

struct node;

struct node_config {
    const struct plan *plan; /* borrowed, shared */
    node_id self;
    struct env *env;       /* borrowed */
    uint64_t incarnation;  /* larger than that of any earlier life of this server; not 0 */
    uint64_t seed;         /* of everything random in it */
    env_nsec hello_nsec;   /* between two hellos on a link; 0: 200 ms */
    env_nsec silence_nsec; /* a link that is silent for so long is down; 0: five hellos */
    bool separate;         /* one packet a frame: no aggregation */
    const struct weft_service *const *services; /* ends with NULL; borrowed */
    uint32_t limbo_packets;       /* that may wait for their key's root to settle; 0: 256 */
    uint32_t faults;              /* enum node_fault; without effect in an ordinary build */
    struct node_watcher *watcher; /* NULL, or who is told of everything: the simulator */
    struct arena_source *memory;  /* NULL, or where all its memory comes from; borrowed */
};

/* Bugs that a test plants, each of which the simulator must find. Only test programs are built
 * with WEFT_PLANTED_BUGS: what is installed does not contain the bugs. */
#ifdef WEFT_PLANTED_BUGS
#define NODE_HAS_FAULT(config, fault) (((config)->faults & (fault)) != 0)
enum node_fault {
    NODE_FAULT_ROOTS_OVERLAP = 1, /* a returning server takes its keys at once */
    NODE_FAULT_STALE_FLOOD = 2,   /* a row that is not newer is taken and flooded on */
    NODE_FAULT_DEAD_PORT = 4,     /* packets that wait keep their ports when a link goes down */
    NODE_FAULT_LEAK = 8,    /* a packet that a service took up on its way is never given back */
    NODE_FAULT_UNFAIR = 16, /* the round now and then leaves out a service */
};
#else
#define NODE_HAS_FAULT(config, fault) false
#endif

/* Every reason to drop a packet has its counter. */
#define DROP_LIST(X)                                                                               \
    X(DAMAGED, "damaged", "damaged header")                                                        \
    X(HOPS, "hops", "hop limit reached")                                                           \
    X(UNREACHABLE, "unreachable", "server unreachable")                                            \
    X(NO_SERVICE, "no_service", "no such service here")                                            \
    X(QUEUE_FULL, "queue_full", "queue full")                                                      \
    X(NO_BUFFER, "no_buffer", "no packet buffer left")                                             \
    X(LIMBO_FULL, "limbo_full", "key between two roots, too many wait")                            \
    X(PORT_DOWN, "port_down", "link down")                                                         \
    X(STRAY, "stray", "from a link that is not up")                                                \
    X(REFUSED, "refused", "nonsense refused by its service")                                       \
    X(STOPPED, "stopped", "waiting when the server stopped")

enum drop_reason {
#define DROP_ENUM(reason, name, text) DROP_##reason,
    DROP_LIST(DROP_ENUM)
#undef DROP_ENUM
        DROP_COUNT,
};

extern const char *const drop_names[DROP_COUNT]; /* snake_case */
extern const char *const drop_texts[DROP_COUNT];

/* Told from inside steps. Each may be NULL. The packet is as it was then. */
struct node_watcher {
    void (*sent)(struct node_watcher *watcher, node_id at, const struct packet *packet);
    void (*delivered)(struct node_watcher *watcher, node_id at, const struct packet *packet);
    /* By a service on its way; after whatever the service did with it, so it may be gone: just what
     * it was, `trail`. */
    void (*taken)(struct node_watcher *watcher, node_id at, uint64_t trail);
    void (*dropped)(struct node_watcher *watcher, node_id at, const struct packet *packet,
                    enum drop_reason reason);
    void (*port)(struct node_watcher *watcher, node_id at, unsigned port, bool up);
    void (*transmitted)(struct node_watcher *watcher, node_id at, unsigned port,
                        const struct packet *packet);
    /* A row of that server's links, heard of a neighbour, was news. */
    void (*row)(struct node_watcher *watcher, node_id at, node_id server, uint64_t incarnation,
                uint64_t version);
};

MUST_CHECK enum err node_open(struct node **node, const struct node_config *config,
                              struct why *why);
/* Gives back every packet it holds (dropped: STOPPED), then its memory. */
void node_close(struct node *node);

/* Does what there is to do at env->now; returns the moment of the next call if nothing happens
 * before, at most ENV_NEVER; env->now if there is more to do at once. */
env_nsec node_step(struct node *node);

/* What happened; then call node_step. */
void node_input(struct node *node, unsigned port); /* receive() has something */
void node_room(struct node *node, unsigned port);  /* room() was 0 and is not any more */
/* From inside transmit(): it cannot be sent, the link is gone. Takes it. */
void node_lost(struct node *node, struct packet *packet);
void node_carrier(struct node *node, unsigned port, bool on); /* the world knows that the other end
                                                               * is gone, or there again */
/* Hints of a driver of many nodes that knows who is next: they bring into the cache what a step
 * will touch, and change nothing. First the node itself, a little later what that points to; the
 * packet is what it will receive over that port. */
void node_approach(const struct node *node, unsigned port);
void node_expect(const struct node *node, unsigned port, const struct packet *packet);

/* A local program's request to a service; -ENOENT: no such service. */
int node_local(struct node *node, uint16_t service, uint64_t client, const void *bytes,
               uint32_t size);

/* That program has hung up; every service that wants to know is told. */
void node_local_gone(struct node *node, uint64_t client);

/* The operator cuts a cable at this end, or mends it. */
void node_cut(struct node *node, unsigned port, bool cut);

/* ---- looking ---- */

enum port_state {
    PORT_ABSENT, /* no cable planned */
    PORT_DOWN,   /* nothing heard */
    PORT_HEARD,  /* it hears the other end, which does not say the same yet */
    PORT_COMING, /* both do; not every server has seen it yet */
    PORT_UP,
    PORT_CUT,      /* by the operator */
    PORT_MISWIRED, /* another server or port than planned is there */
};

struct port_snapshot {
    enum port_state state;
    node_id peer;       /* planned */
    uint32_t peer_port; /* planned */
    node_id found;      /* who is there, as its hello says; NODE_NONE */
    uint32_t found_port;
    uint64_t packets_out, bytes_out, frames_out;
    uint64_t packets_in, bytes_in;
    uint64_t busy; /* times that something waited and there was no room */
};

struct node_snapshot {
    node_id self;
    uint64_t incarnation;
    bool settled;       /* it answers for keys */
    uint32_t reachable; /* servers, itself too */
    uint32_t limbo;     /* packets that wait for their key's root */
    uint64_t steps, packets_in, packets_out, delivered, intercepted, sent;
    uint64_t recomputations; /* of routes */
    uint64_t rows_taken, rows_refused;
    uint64_t digest; /* of the link state: equal where all is known */
    uint64_t drops[DROP_COUNT];
};

void node_snapshot(const struct node *node, struct node_snapshot *snapshot);
void node_snapshot_port(const struct node *node, unsigned port, struct port_snapshot *snapshot);
bool node_reaches(const struct node *node, node_id server);
/* Over links that both ends hear, all of them up or not: it counts on that server for keys. */
bool node_counts_on(const struct node *node, node_id server);
uint32_t node_distance(const struct node *node, node_id server);
port_set node_ports_to(const struct node *node, node_id server); /* first ports of shortest paths */
/* Who takes the key now, as this node knows; NODE_NONE if it cannot tell. */
node_id node_root(struct node *node, const struct key *key);
/* Would it deliver the key itself? */
bool node_is_root(struct node *node, uint64_t route);
unsigned node_servers(struct node *node, const struct key *key, node_id *out, unsigned most);
/* Calls back for each number of each service. */
void node_stats(struct node *node,
                void (*told)(void *context, const char *service, const char *name, uint64_t value),
                void *context);
void node_check(const struct node *node); /* asserts its invariants */

/* Memory that a node takes, for sizing: about; without packets. */
size_t node_memory(const struct node *node);

/* Starts as if it had been up for long, with all links of the plan up and everybody at the given
 * incarnation: for large simulations whose start is not the question. Before the first step. */
void node_settle(struct node *node, const uint64_t *incarnations);
