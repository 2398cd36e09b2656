#pragma once
/* node: one server's whole behaviour, as a value with one entry.
 *
 * node_step() looks at the time, receives packets, fires timers that are due, lets services send
 * (egress) and returns the moment of its next call. It never blocks and does bounded work. os/
 * drives it in a real process and sim/ in a simulation; the node cannot tell the difference.
 *
 * The look at the time comes first in each call that ends in a call of a service: node_step,
 * node_local and its relatives, node_descriptor, and done() of an operation of the disk or of work.
 * So the driver sets env->now before each of them. A server that sent no hello for the silence was
 * away: stopped, or without a processor. Its neighbours have taken their links to it down, and
 * other servers answer for its keys. So all its links go down, and it is not settled before one of
 * them is up again, or before it finds no neighbour for as long as the silence.
 *
 * One thread. node_open allocates all memory; a step allocates nothing. */

#include <weft/service.h>

#include "base/arena.h"
#include "base/env.h"
#include "base/err.h"
#include "node/packet.h"
#include "node/plan.h"
#include "node/planted.h"

#define NODE_SERVICES_MAX  32  /* of one server, with the node's own */
#define NODE_QUEUE_PACKETS 256 /* default of a service's queue */
#define NODE_KEEP_PACKETS  256 /* default of the packets that a service may hold */
#define NODE_LIMBO_PACKETS 256
#define SERVICE_NAME_MAX   32 /* letters of the name of a service or of a counter */
/* Upper bound of a service's queue: the queue counts its bytes in 32 bits. */
#define NODE_QUEUE_PACKETS_MAX (UINT32_MAX / PACKET_SIZE_MAX)
#define NODE_KEEP_PACKETS_MAX  NODE_QUEUE_PACKETS_MAX /* upper bound of a service's share */

/* A call of a service that takes longer is counted and named: it delays all packets. */
#define NODE_SLOW_NSEC (1000 * 1000LL)

struct node;
struct configuration;

/* The functions of a service that a node calls. */
enum node_callback {
    CALLBACK_NONE,
    CALLBACK_START,
    CALLBACK_STOP,
    CALLBACK_DELIVER,
    CALLBACK_INTERCEPT,
    CALLBACK_POLL,
    CALLBACK_PEER_UP,
    CALLBACK_PEER_DOWN,
    CALLBACK_TIMER,
    CALLBACK_REQUEST,
    CALLBACK_STATS,
    CALLBACK_GONE,
    CALLBACK_WRITABLE, /* of weft/service.h or of weft/descriptor.h */
    CALLBACK_DONE,     /* of a struct weft_call */
    CALLBACK_STREAM,   /* one of those of weft/stream.h */
    CALLBACK_ACCEPTED, /* this and the next two: of weft/descriptor.h */
    CALLBACK_CONNECTED,
    CALLBACK_READABLE,
    CALLBACK_COUNT,
};

extern const char *const node_callback_names[CALLBACK_COUNT];

/* Which function of which service a node calls now. A watchdog in another thread reads it, and so
 * finds a function that never returns. */
struct node_pulse {
    uint64_t slow_ticks; /* of base/ticks.h: calls that take longer are counted; constant */
    uint64_t began;      /* of the current call; the node's thread only */
    /* The number of calls so far, times 256, plus enum node_callback of the current one, or 0
     * between two calls. The node's thread writes both; relaxed, because a reader that finds the
     * same number of calls twice, long after one another, finds the service of that call. */
    _Atomic uint64_t call;
    const struct weft_service *_Atomic service;
};

struct node_config {
    const struct plan *plan; /* borrowed, shared */
    node_id self;
    struct env *env;       /* borrowed */
    uint64_t incarnation;  /* larger than in any earlier run of this server; not 0 */
    uint64_t seed;         /* of all randomness in the node */
    env_nsec hello_nsec;   /* interval of hellos on a link; 0: 200 ms */
    env_nsec silence_nsec; /* a link without hellos for this long is down; 0: five hellos */
    bool separate;         /* send one packet per frame: no aggregation */
    const struct weft_service *const *services; /* ends with NULL; borrowed */
    uint32_t limbo_packets; /* that may wait while the root of their key is undecided; 0: 256 */
    uint64_t faults;        /* of PLANTED_BIT (planted.h); 0 except in tests */
    struct node_watcher *watcher; /* NULL, or notified of all events: the simulator */
    struct arena_source *memory;  /* NULL, or the source of all its memory; borrowed */
    /* Values of parameters, checked against `services` when the node opens; NULL: the defaults.
     * Borrowed. */
    const struct configuration *configuration;
    uint64_t machine_memory; /* bytes that services may take in all; 0: no limit */
    /* NULL: calls of services are not timed, as in a simulation. Otherwise zeroed except for
     * slow_ticks; borrowed. */
    struct node_pulse *pulse;
};

/* Every reason to drop a packet has its counter. */
#define DROP_LIST(X)                                                                               \
    X(DAMAGED, "damaged", "damaged header")                                                        \
    X(HOPS, "hops", "hop limit reached")                                                           \
    X(UNREACHABLE, "unreachable", "server unreachable")                                            \
    X(NO_SERVICE, "no_service", "no such service here")                                            \
    X(QUEUE_FULL, "queue_full", "queue full")                                                      \
    X(NO_BUFFER, "no_buffer", "no packet buffer left")                                             \
    X(SHARE, "share", "its service holds as many packets as it may")                               \
    X(LIMBO_FULL, "limbo_full", "key without a settled root, too many wait")                       \
    X(PORT_DOWN, "port_down", "link down")                                                         \
    X(STRAY, "stray", "from a link that is not up")                                                \
    X(REFUSED, "refused", "malformed, refused by its service")                                     \
    X(STOPPED, "stopped", "still waiting when the server stopped")

enum drop_reason {
#define DROP_ENUM(reason, name, text) DROP_##reason,
    DROP_LIST(DROP_ENUM)
#undef DROP_ENUM
        DROP_COUNT,
};

extern const char *const drop_names[DROP_COUNT]; /* snake_case */
extern const char *const drop_texts[DROP_COUNT];

/* Callbacks from inside steps; each may be NULL. The packet is in the state that it has at that
 * moment. */
struct node_watcher {
    void (*sent)(struct node_watcher *watcher, node_id at, const struct packet *packet);
    void (*delivered)(struct node_watcher *watcher, node_id at, const struct packet *packet);
    /* A service intercepted a packet. The service may have released it already, so only its `trail`
     * is given. */
    void (*taken)(struct node_watcher *watcher, node_id at, uint64_t trail);
    void (*dropped)(struct node_watcher *watcher, node_id at, const struct packet *packet,
                    enum drop_reason reason);
    void (*port)(struct node_watcher *watcher, node_id at, unsigned port, bool up);
    /* A hello or rows of the neighbour's current session arrived: the link is not silent. */
    void (*heard)(struct node_watcher *watcher, node_id at, unsigned port);
    void (*transmitted)(struct node_watcher *watcher, node_id at, unsigned port,
                        const struct packet *packet);
    /* A row with the links of `server`, received from a neighbour, was news. */
    void (*row)(struct node_watcher *watcher, node_id at, node_id server, uint64_t incarnation,
                uint64_t version);
    /* A service used a function wrongly; the first time that it does so in this way. */
    void (*mistake)(struct node_watcher *watcher, node_id at, const char *service,
                    const char *function, const char *reason);
    /* A function of a service took long; the first time that this function does. */
    void (*slow)(struct node_watcher *watcher, node_id at, const char *service,
                 const char *function, env_nsec ran);
};

/* Checks what services declare, as node_open does, for a driver that makes something for them
 * before it opens the node. `services` ends with NULL. */
MUST_CHECK enum err node_services_check(const struct weft_service *const *services,
                                        struct why *why);
MUST_CHECK enum err node_open(struct node **node, const struct node_config *config,
                              struct why *why);
/* Releases every packet that it holds (dropped: STOPPED), then its memory. */
void node_close(struct node *node);

/* Does all that is due at env->now. Returns the moment of the next call if no event comes before
 * (ENV_NEVER at most), or env->now if more work waits. */
env_nsec node_step(struct node *node);

/* The driver reports an event, then calls node_step. */
void node_input(struct node *node, unsigned port); /* receive() has packets */
void node_room(struct node *node, unsigned port);  /* room() was 0 and no longer is */
/* Called from inside transmit(): the packet cannot be sent because the link is gone. Takes the
 * packet. */
void node_lost(struct node *node, struct packet *packet);
/* The driver found that the other end is gone, or is back. */
void node_carrier(struct node *node, unsigned port, bool on);
/* Hints of a driver of many nodes that knows which node is next: they load into the cache what a
 * step will touch, and change nothing. node_approach loads the node itself; node_expect, a little
 * later, what the node points to. The packet is the one that the node will receive over that
 * port. */
void node_approach(const struct node *node, unsigned port);
void node_expect(const struct node *node, unsigned port, const struct packet *packet);

/* Passes a local program's request to a service. -ENOENT: no such service. */
int node_local(struct node *node, const struct env_answer *from, const void *bytes, uint32_t size);

/* That program has room for answers of that service again. */
void node_local_writable(struct node *node, uint16_t service, uint64_t client);

/* The number of a service that local programs know by its name; -ENOENT. */
int node_service_number(const struct node *node, const char *name, size_t size);

/* That program has disconnected; calls gone() of every service that has it. */
void node_local_gone(struct node *node, uint64_t client);

/* A descriptor of a service is ready for these (ENV_READ, ENV_WRITE), of which the node wants at
 * least one. One turn: afterwards the descriptor may still be ready for what the node wants, and
 * then it gets another turn later. It may be closed, too. */
void node_descriptor(struct env_descriptor *descriptor, unsigned ready);

/* The operator cuts a cable at this end, or mends it. */
void node_cut(struct node *node, unsigned port, bool cut);

/* ---- looking ---- */

enum port_state {
    PORT_ABSENT, /* no cable planned */
    PORT_DOWN,   /* no hello received */
    PORT_HEARD,  /* hellos arrive; the neighbour does not report ours yet */
    PORT_COMING, /* both ends receive hellos; not every server has seen the link yet */
    PORT_UP,
    PORT_CUT,      /* by the operator */
    PORT_MISWIRED, /* the cable leads to another server or port than planned */
};

struct port_snapshot {
    enum port_state state;
    node_id peer;       /* planned */
    uint32_t peer_port; /* planned */
    node_id found;      /* sender of the last hello; NODE_NONE */
    uint32_t found_port;
    uint64_t packets_out, bytes_out, frames_out;
    uint64_t packets_in, bytes_in;
    uint64_t busy; /* how often packets waited and there was no room */
};

struct node_snapshot {
    node_id self;
    uint64_t incarnation;
    bool settled;       /* it answers for keys */
    uint32_t reachable; /* servers, this one included */
    uint32_t limbo;     /* packets that wait for their key's root to settle */
    uint64_t steps, packets_in, packets_out, delivered, intercepted, sent;
    uint64_t recomputations; /* of routes */
    uint64_t rows_taken, rows_refused;
    uint64_t digest; /* of the link state: equal on servers that have the same rows */
    uint64_t drops[DROP_COUNT];
};

void node_snapshot(const struct node *node, struct node_snapshot *snapshot);
void node_snapshot_port(const struct node *node, unsigned port, struct port_snapshot *snapshot);

/* A service of this server, and what it holds and did wrong. */
struct service_snapshot {
    const char *name;
    uint32_t kept, share; /* packets that it holds, and may hold */
    uint64_t over_share;  /* packets that were refused or dropped because it held so many */
    uint64_t mistakes;
    uint64_t slow;              /* calls that took longer than NODE_SLOW_NSEC, */
    env_nsec slow_nsec;         /* ... the longest, */
    enum node_callback slow_in; /* ... and its function */
};

unsigned node_service_count(const struct node *node); /* with the node's own */
void node_snapshot_service(const struct node *node, unsigned slot,
                           struct service_snapshot *snapshot);
bool node_reaches(const struct node *node, node_id server);
/* Is the server reachable over links whose ends hear each other, up or not? Then this node leaves
 * the server's keys to it. */
bool node_counts_on(const struct node *node, node_id server);
uint32_t node_distance(const struct node *node, node_id server);
port_set node_ports_to(const struct node *node, node_id server); /* first ports of shortest paths */
/* The root of the key now, as far as this node knows; NODE_NONE if undecided. */
node_id node_root(struct node *node, const struct key *key);
/* Would this node deliver the key itself? */
bool node_is_root(struct node *node, uint64_t route);
unsigned node_servers(struct node *node, const struct key *key, node_id *out, unsigned most);
/* Calls back for each counter of each service. */
void node_stats(struct node *node,
                void (*told)(void *context, const char *service, const char *name, uint64_t value),
                void *context);
/* The same of one service. */
void node_stats_of(struct node *node, const struct weft_service *service,
                   void (*told)(void *context, const char *service, const char *name,
                                uint64_t value),
                   void *context);
/* Calls back for each parameter of each service, with the value in effect. */
void node_parameters(const struct node *node,
                     void (*told)(void *context, const char *service,
                                  const struct weft_parameter *parameter, const char *value),
                     void *context);
void node_check(const struct node *node); /* asserts its invariants */

/* The most packets that a node with these services (a list that ends with NULL, or NULL) and so
 * many ports holds at any moment: a pool with this number for each node never runs out. */
uint32_t node_packets_most(const struct weft_service *const *services, unsigned port_count);

/* The approximate size of a node's memory, without packets and without large pieces of services,
 * which occupy memory only where they were written. */
size_t node_memory(const struct node *node);

/* Starts as if the cluster had been up for long: all links of the plan are up and all servers have
 * the given incarnations. For large simulations that skip the start. Call it before the first
 * step. */
void node_settle(struct node *node, const uint64_t *incarnations);
