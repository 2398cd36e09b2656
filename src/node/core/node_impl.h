#pragma once
/* node_impl: the parts of a node, for the files of this folder.
 *
 *   mistake.c   counts and reports what a service did wrong
 *   callback.c  counts and reports calls of services that take long
 *   buffer.c    makes, queues and drops packets for the other files
 *   frames.c    collects packets that leave over a port in one frame
 *   dispatch.c  decides about a packet: intercept, deliver, forward, wait, drop
 *   links.c     the ports: hellos, flooded rows, which links are up
 *   budget.c    the memory of services
 *   snapshot.c  what other code may read of a node
 *   parameters.c  the parameters of services
 *   service.c   the functions of weft/service.h
 *   files.c     the functions of weft/disk.h
 *   service_stream.c  the functions of weft/stream.h, and what node/stream needs of a node
 *   work.c      the functions of weft/work.h
 *   descriptors.c  the functions of weft/descriptor.h
 *   node.c      opening, closing and the step
 *
 * Each file calls only files above it in this list. dispatch.c delivers packets to links.c through
 * the function table of the node's own service, as to any other service.
 *
 * One thread; nothing here is shared. */

#include "base/check.h"
#include "base/rng.h"
#include "base/ticks.h"
#include "node/core/egress.h"
#include "node/core/timers.h"
#include "node/links/flood.h"
#include "node/node.h"
#include "node/stream/streams.h"

#define SERVICES_MAX NODE_SERVICES_MAX
static_assert(SERVICES_MAX <= EGRESS_SERVICES_MAX, "each has a place in the round");
#define SLOT_LINKS     0 /* the node's own service: hellos, rows, seen */
#define RECEIVE_BURST  32
#define SERVICE_TIMERS 64
/* Kinds of mistakes that a service's log names; further kinds are only counted. */
#define MISTAKE_KINDS_MAX 48
#define HELLO_NSEC        (200 * 1000 * 1000LL)
#define HELLOS_MISSED     5
/* Links that come near within this time are announced together. */
#define COMING_HOLD_NSEC (1 * 1000 * 1000LL)
/* After this time the row is put again for servers that missed it. */
#define SEEN_AGAIN_NSEC (50 * 1000 * 1000LL)

/* One end of a link. The only writer of its state is port_become (links.c). */
struct node_port {
    enum port_state state;
    bool carrier; /* the driver has not reported that the other end is gone */
    uint32_t session;
    struct hello_end peer; /* from the hellos of the neighbour */
    env_nsec heard_at;     /* the last hello */
    node_id found;         /* sender of the last hello, and its port */
    uint32_t found_port;
    bool hello_now; /* something changed that the neighbour waits for */
    uint64_t packets_out, bytes_out, frames_out;
    uint64_t packets_in, bytes_in;
    uint64_t busy;
};

/* A frame that is filled while its node receives packets. */
struct open_frame {
    struct packet *first; /* in order of arrival */
    struct packet **end;  /* where the next packet is linked */
    uint32_t room;        /* bytes */
    uint32_t packets_left;
};

/* What a service did with descriptors. */
struct descriptor_counts {
    uint64_t open, accepted, refused, bytes_in, bytes_out;
};

/* The instance of a service on this server. */
struct weft_self {
    struct node *node;
    const struct weft_service *service;
    unsigned slot;
    unsigned timer_count;
    /* Packets that the service holds: made by it or given to it, and neither sent nor released.
     * Packets that it sent to this very server count until they are delivered. */
    uint32_t kept;
    uint32_t share; /* as many as it may hold, and one more that intercept() looks at */
    void *memory;
    struct streams *streams; /* NULL: it has none */
    struct streams_host host;
    bool streams_turn; /* its own queue is polled before its streams */
    struct rng rng;
    uint64_t sent, delivered, intercepted, dropped;
    struct service_files *files;      /* NULL: it does not use the disk */
    uint64_t disk_calls, disk_failed; /* that are done; and of those: with an error */
    uint64_t disk_bytes_read, disk_bytes_written;
    struct service_work *work;        /* NULL: it does not use weft/work.h */
    uint64_t work_calls, work_failed; /* that are done; and of those: with a negative result */
    uint32_t work_under_way;          /* calls */
    uint32_t children_under_way;      /* of those: child processes */
    struct service_descriptors *descriptors; /* NULL: it uses none */
    struct descriptor_counts descriptor_counts;
    uint64_t budget;         /* of its memory: the parameter `memory` */
    uint64_t memory_taken;   /* bytes that it asked for and got */
    uint64_t memory_refused; /* the last request that was refused; 0: none */
    uint64_t over_share;     /* packets that were refused or dropped because it held so many */
    uint64_t slow;           /* calls that took long, */
    env_nsec slow_nsec;      /* ... the longest, */
    uint8_t slow_in;         /* ... its function, */
    uint32_t slow_known;     /* ... and the functions that were reported, a bit each */
    uint64_t mistakes;
    uint16_t mistake_kinds;                     /* entries of: */
    uint16_t mistakes_known[MISTAKE_KINDS_MAX]; /* hashes of the kinds that were reported */
};

struct node {
    struct node_config config;
    const struct plan *plan;
    struct env *env;
    node_id self;
    struct arena arena;
    uint64_t services_memory; /* memory_taken of all services */
    unsigned started_count;   /* of the services */
    bool stopping;            /* no call that takes time is accepted any more */
    bool has_state;
    bool settled;             /* it answers for keys */
    env_nsec opened_at;       /* or when it returned after it was away */
    struct node_pulse *pulse; /* NULL: calls are not timed */
    port_set inputs;          /* ports with packets to receive */
    port_set blocked;         /* ports whose room() was 0 */
    port_set open;            /* ports with an open frame */
    bool alone;               /* no other packet follows the one that is being dispatched */
    port_set planned;         /* ports with a cable */
    port_set carriers; /* of those: ports whose other end is not gone and whose cable is not cut */
    struct node_port ports[PORT_MAX];
    struct open_frame open_frames[PORT_MAX];
    struct link_state state;
    struct flood flood;
    env_nsec hello_at;  /* the next hello on all ports */
    env_nsec put_at;    /* when the own row is put, if links came near; ENV_NEVER */
    env_nsec seen_at;   /* when the row is put again if not all servers have seen it; ENV_NEVER */
    env_nsec seen_wait; /* how long after the last put that is */
    bool links_due;     /* links_step has work now */
    env_nsec links_at;  /* when links_step has work in any case */
    bool again;         /* routes changed: dispatch waiting packets again */
    uint64_t *noticed;  /* servers that services were told are up */
    struct timers timers;
    struct egress *egress;
    struct weft_self *services[SERVICES_MAX];
    unsigned service_count;
    uint32_t stream_slots; /* services with streams */
    /* By the low byte of a service's id: the first service with that byte; SERVICES_MAX: none. */
    uint8_t slot_of[256];
    struct packet *limbo;      /* packets whose key has no settled root, in order of arrival */
    struct packet **limbo_end; /* where the next packet is linked */
    uint32_t limbo_count;
    void *scratch;       /* for the key space */
    struct packet *loop; /* packets from a service here to a service here, in order */
    struct packet **loop_end;
    struct node_snapshot counts;
};

/* The slot of a service, or SERVICES_MAX. */
static inline unsigned node_slot(const struct node *node, uint16_t service)
{
    unsigned slot = node->slot_of[service & UINT8_MAX];
    if (slot == SERVICES_MAX || node->services[slot]->service->id == service)
        return slot;
    for (slot++; slot < node->service_count; slot++)
        if (node->services[slot]->service->id == service)
            return slot;
    return SERVICES_MAX;
}

/* mistake.c */
/* The service used that function wrongly, for that reason, and the call is refused. */
void service_mistake(struct weft_self *self, const char *function, const char *reason);

/* callback.c */
/* A call of that service took more than slow_ticks. */
void callback_slow(struct weft_self *self, uint64_t ticks);
/* Every call of a service is between these two. */
static inline void callback_begin(struct weft_self *self, enum node_callback which)
{
    struct node_pulse *pulse = self->node->pulse;
    if (!pulse)
        return;
    uint64_t call = atomic_load_explicit(&pulse->call, memory_order_relaxed) | 0xff;
    atomic_store_explicit(&pulse->service, self->service, memory_order_relaxed);
    atomic_store_explicit(&pulse->call, call + 1 + (unsigned)which, memory_order_relaxed);
    pulse->began = ticks_now();
}
/* The same without the time that it took. */
static inline void callback_leave(struct weft_self *self)
{
    struct node_pulse *pulse = self->node->pulse;
    if (!pulse)
        return;
    uint64_t call = atomic_load_explicit(&pulse->call, memory_order_relaxed);
    atomic_store_explicit(&pulse->call, call & ~UINT64_C(255), memory_order_relaxed);
}
static inline void callback_end(struct weft_self *self)
{
    struct node_pulse *pulse = self->node->pulse;
    if (!pulse)
        return;
    uint64_t took = ticks_now() - pulse->began;
    if (__builtin_expect(took > pulse->slow_ticks, 0))
        callback_slow(self, took);
    callback_leave(self);
}

/* buffer.c */
/* The service holds the packet from now on. False: it holds `most` packets already. */
static inline bool buffer_keep(struct weft_self *self, struct packet *packet, uint32_t most)
{
    assert(packet->kept == PACKET_FREE);
    if (self->kept >= most)
        return false;
    self->kept++;
    packet->kept = PACKET_HELD;
    packet->keeper = self;
    packet->room = packet->stored;
    return true;
}
/* The packet counts in no share any more. */
static inline void buffer_part(struct packet *packet)
{
    assert(packet->kept && packet->keeper->kept > 0);
    packet->kept = PACKET_FREE;
    packet->keeper->kept--;
}
/* Makes a packet of that service, with the header's fields set except for its destination. NULL: no
 * buffer left; this is counted. */
struct packet *buffer_take(struct node *node, unsigned slot, uint32_t size, uint32_t stored);
void buffer_drop(struct node *node, struct packet *packet, enum drop_reason reason);
/* Drops the packets that a full queue returned; -ENOBUFS if `packet` is one of them, else 0. */
int buffer_overflow(struct node *node, const struct packet *packet, struct packet *gone);
/* A packet of a stream waits in a long queue: its sender will hear of it, and slow down. */
void buffer_mark(struct packet *packet);
/* Puts a packet into its service's queue, for packet->ports; takes the packet. Returns 0, or
 * -ENOBUFS if it was dropped. */
static inline int buffer_queue(struct node *node, struct packet *packet)
{
    if (packet->stream && !packet->marked && egress_is_long(node->egress, packet->slot))
        buffer_mark(packet);
    struct packet *gone = egress_push(node->egress, packet->slot, packet);
    return gone ? buffer_overflow(node, packet, gone) : 0;
}

/* budget.c */
/* Reads the budget of a service. */
MUST_CHECK enum err budget_init(struct weft_self *self, struct why *why);
/* Takes zeroed memory for a service, until the node closes; only while the node opens. NULL: there
 * is not enough, and budget_fail writes the reason. */
void *budget_take(struct weft_self *self, uint64_t size);
MUST_CHECK enum err budget_fail(const struct weft_self *self, struct why *why);

/* frames.c */
/* Adds a packet that passes through to the open frame of a port for which no packet waits. False:
 * no such port has room, and the packet has to wait. */
bool frames_join(struct node *node, struct packet *packet);
void frames_leave(struct node *node); /* sends all open frames */
/* The port goes down: the packets of its open frame go back to the queue, and are dispatched
 * again. */
void frames_recall(struct node *node, unsigned port);
/* Sends packets that wait for that port, as far as there is room. True: there are more, and
 * room. */
bool frames_send(struct node *node, unsigned port);

/* dispatch.c */
void dispatch_received(struct node *node, unsigned port, struct packet *packet); /* from a link */
/* Handles a packet from a service here, addressed and sealed; takes it. Returns 0, or a negative
 * errno if the packet was dropped. */
int dispatch_sent(struct node *node, struct packet *packet);
/* The routes changed: decides again about all waiting packets. */
void dispatch_again(struct node *node);
/* The ports by which a packet may leave; sets packet->server of a packet to a key. 0: none, or the
 * packet is for this server.
 */
port_set dispatch_ports(struct node *node, struct packet *packet);
/* Delivers the packets from services here to services here. */
void dispatch_loop(struct node *node);
void dispatch_fini(struct node *node);

/* parameters.c */
/* Writes the parameters of a service into its memory. */
MUST_CHECK enum err parameters_apply(struct weft_self *self, struct why *why);
/* service_stream.c */
/* Makes the streams of a service, if it has any. */
MUST_CHECK enum err service_stream_init(struct weft_self *self, struct why *why);
/* Does what is due for the streams of all services. */
void service_stream_step(struct node *node);
/* When service_stream_step has work. */
env_nsec service_stream_next(const struct node *node);

/* links.c */
extern const struct weft_service links_service; /* SLOT_LINKS */
void links_open(struct node *node);
/* At links_at: takes links down that were silent for too long. If this server was away for the
 * silence, these are all its links, and it is no longer settled. Sends nothing: links_step is due
 * then. */
void links_look(struct node *node);
/* Looks at the time. Every call of the driver that ends in a call of a service begins with this. */
static inline void links_glance(struct node *node)
{
    if (node->env->now >= node->links_at)
        links_look(node);
}
void links_step(struct node *node); /* when links_due */
void links_fill(struct node *node, const uint64_t *incarnations);
void links_carrier(struct node *node, unsigned port, bool on);
void links_cut(struct node *node, unsigned port, bool cut);

/* files.c */
MUST_CHECK bool files_add(struct weft_self *self); /* false: no memory */
void files_end(struct node *node);                 /* no operation uses its memory any more */

/* work.c */
MUST_CHECK enum err work_add(struct weft_self *self, struct why *why);
void work_end(struct node *node); /* no call uses its memory any more */

/* descriptors.c */
MUST_CHECK bool descriptors_add(struct weft_self *self); /* false: no memory */
void descriptors_end(struct node *node);                 /* closes all of them */
