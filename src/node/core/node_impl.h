#pragma once
/* node_impl: the parts of a node, for the files of this folder.
 *
 *   buffer.c    what each part may do with a packet: make one, queue it, drop it
 *   frames.c    what leaves over a port together
 *   dispatch.c  a packet's fate: intercept, deliver, forward, wait, drop
 *   links.c     the ports: hellos, what floods over them, which of them are up
 *   snapshot.c  what others may see of it
 *   service.c   what services may ask (weft/service.h)
 *   node.c      beginning, end and step
 *
 * Each file calls only files above it in this list. What dispatch.c has for links.c goes through
 * the table of the node's own service, like what it has for any other.
 *
 * One thread; nothing here is shared. */

#include "base/check.h"
#include "base/rng.h"
#include "node/core/egress.h"
#include "node/core/timers.h"
#include "node/links/flood.h"
#include "node/node.h"

#define SERVICES_MAX NODE_SERVICES_MAX
static_assert(SERVICES_MAX <= EGRESS_SERVICES_MAX, "each has a place in the round");
#define SLOT_LINKS       0 /* the node's own service: hellos, rows, seen */
#define RECEIVE_BURST    32
#define SERVICE_TIMERS   64
#define HELLO_NSEC       (200 * 1000 * 1000LL)
#define HELLOS_MISSED    5
#define COMING_HOLD_NSEC (1 * 1000 * 1000LL)  /* links that come together are announced together */
#define SEEN_AGAIN_NSEC  (50 * 1000 * 1000LL) /* then the row is put again, for who missed it */

/* One end of a link. The only writer of its state is port_become (links.c). */
struct node_port {
    enum port_state state;
    bool carrier; /* the world has not said that the other end is gone */
    uint32_t session;
    struct hello_end peer; /* heard at the other end */
    env_nsec heard_at;     /* the last hello */
    node_id found;         /* who said hello last, and from which port */
    uint32_t found_port;
    bool hello_now; /* something changed that the other end waits for */
    uint64_t packets_out, bytes_out, frames_out;
    uint64_t packets_in, bytes_in;
    uint64_t busy;
};

/* A frame that is filled while its node receives. */
struct open_frame {
    struct packet *first; /* in the order in which they came ... */
    struct packet **end;  /* ... and where the next goes */
    uint32_t room;        /* bytes */
    uint32_t packets_left;
};

/* A service on this server. */
struct weft_self {
    struct node *node;
    const struct weft_service *service;
    unsigned slot;
    unsigned timer_count;
    void *memory;
    struct rng rng;
    uint64_t sent, delivered, intercepted, dropped;
};

struct node {
    struct node_config config;
    const struct plan *plan;
    struct env *env;
    node_id self;
    struct arena arena;
    unsigned started_count; /* of the services */
    bool has_state;
    bool settled; /* it answers for keys */
    env_nsec opened_at;
    port_set inputs;   /* have something to receive */
    port_set blocked;  /* room() was 0 */
    port_set open;     /* have an open frame */
    bool alone;        /* nobody comes behind the packet that is dispatched */
    port_set planned;  /* have a cable */
    port_set carriers; /* of those: nobody said that the other end is gone, nor cut it */
    struct node_port ports[PORT_MAX];
    struct open_frame open_frames[PORT_MAX];
    struct link_state state;
    struct flood flood;
    env_nsec hello_at;  /* the next on all ports */
    env_nsec put_at;    /* the own row, if links of ours came near; ENV_NEVER */
    env_nsec seen_at;   /* it is put again if not all have seen it; ENV_NEVER ... */
    env_nsec seen_wait; /* ... after this long */
    bool links_due;     /* something for links_step, before ... */
    env_nsec links_at;  /* ... this moment */
    bool again;         /* routes changed: look at what waits */
    uint64_t *noticed;  /* servers that services know to be up */
    struct timers timers;
    struct egress *egress;
    struct weft_self *services[SERVICES_MAX];
    unsigned service_count;
    uint8_t slot_of[256];      /* of services with small ids; SERVICES_MAX: none */
    struct packet *limbo;      /* keys between two roots, in order of arrival ... */
    struct packet **limbo_end; /* ... and where the next goes */
    uint32_t limbo_count;
    void *scratch;       /* of the key space */
    struct packet *loop; /* from a service here for a service here, likewise */
    struct packet **loop_end;
    struct node_snapshot counts;
};

/* The slot of a service, or SERVICES_MAX. */
static inline unsigned node_slot(const struct node *node, uint16_t service)
{
    if (service < 256)
        return node->slot_of[service];
    for (unsigned slot = 0; slot < node->service_count; slot++)
        if (node->services[slot]->service->id == service)
            return slot;
    return SERVICES_MAX;
}

/* buffer.c */
/* A new packet of that service, with the header's fields set but for its destination. NULL: there
 * is none left; that is counted. */
struct packet *buffer_take(struct node *node, unsigned slot, uint32_t size, uint32_t stored);
void buffer_drop(struct node *node, struct packet *packet, enum drop_reason reason);
/* Drops the packets that a full queue gave back; -ENOBUFS if `packet` is one of them, else 0. */
int buffer_overflow(struct node *node, const struct packet *packet, struct packet *gone);
/* Puts a packet into its service's queue, for packet->ports; takes it. 0 or -ENOBUFS if it was
 * dropped. */
static inline int buffer_queue(struct node *node, struct packet *packet)
{
    struct packet *gone = egress_push(node->egress, packet->slot, packet);
    return gone ? buffer_overflow(node, packet, gone) : 0;
}

/* frames.c */
/* A packet that passes joins the open frame of a port for which nobody waits. False: there is none
 * with room, it has to wait. */
bool frames_join(struct node *node, struct packet *packet);
void frames_leave(struct node *node); /* the open ones */
/* The port goes down: what is in its open frame waits, and will be looked at again. */
void frames_recall(struct node *node, unsigned port);
/* What waits for that port, as far as there is room. True: there is more, and room. */
bool frames_send(struct node *node, unsigned port);

/* dispatch.c */
void dispatch_received(struct node *node, unsigned port, struct packet *packet); /* from a link */
/* From a service here, addressed and sealed; takes it. 0 or a negative errno if it was dropped. */
int dispatch_sent(struct node *node, struct packet *packet);
void dispatch_again(struct node *node); /* the routes changed: whatever waits is looked at again */
/* Over which ports a packet may leave; sets packet->server of one to a key. 0: none, or it stays.
 */
port_set dispatch_ports(struct node *node, struct packet *packet);
/* What waits in the loop is delivered. */
void dispatch_loop(struct node *node);
void dispatch_fini(struct node *node);

/* links.c */
extern const struct weft_service links_service; /* SLOT_LINKS */
void links_open(struct node *node);
void links_step(struct node *node); /* when links_due, or at links_at */
void links_fill(struct node *node, const uint64_t *incarnations);
void links_carrier(struct node *node, unsigned port, bool on);
void links_cut(struct node *node, unsigned port, bool cut);
