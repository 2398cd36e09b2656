#pragma once
/* transport: a way to move frames into another process, and perhaps to read
 * and write its memory.
 *
 * Three things make one up:
 *   link    what this transport knows of one peer process; lives with its lifeline
 *   pipe    frames from one service to another, in order, bounded by credit:
 *           an outlet at the sender, an inlet at the receiver, and a way back
 *           for acknowledgements
 *   region  memory of ours that peers may reach
 *
 * A pipe is opened by the sender: outlet_open writes a parcel, which the layer
 * above carries to the peer over the lifeline; inlet_open answers with another,
 * which goes back to outlet_answer. Frames may be pushed before the answer.
 *
 * All calls of one context run under its lock. Nothing here blocks. Results
 * are >= 0 or a negative errno; -EPIPE: the peer is gone or the pipe closed;
 * -EPROTO: the peer wrote nonsense, and the link is to be cut.
 *
 * Implementations begin with the struct below that they extend. */

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/err.h"
#include "base/list.h"
#include "transport/clock.h"
#include "transport/lifeline/lifeline.h"
#include "transport/memfile.h"
#include "transport/wake/doorbell.h"
#include "transport/wake/poller.h"

#define FRAME_BODY_MAX 8940   /* a node's largest packet, in one jumbo Ethernet frame */
#define FRAME_LAZY     0x8000 /* in a head's kind: no sleeping receiver need be woken for it */

/* In front of a frame's body. The transport looks at `token` and at FRAME_LAZY; the rest is of the
 * layer above, and travels as it is. */
struct frame_head {
    uint64_t user;  /* a number; between hosts in network order, as the token and the kind */
    uint64_t token; /* 0, or by which acknowledge() names the frame to its sender */
    uint16_t kind;
    uint8_t user_bytes[6];
};
static_assert(sizeof(struct frame_head) == 24, "it is copied as it is");

/* One received frame. The head is a copy: a hostile writer cannot change it
 * after it was checked. The body is in place until it is released. */
struct frame {
    struct frame_head head;
    uint32_t size;
    uint32_t cookie; /* the inlet's own */
    const uint8_t *body;
};

struct acknowledgement {
    uint64_t token;
    int64_t status;
};

#define PARCEL_BYTES_MAX 256

struct parcel {
    uint16_t size;
    uint8_t fd_count;
    int fds[CONTROL_FD_MAX]; /* owned by the parcel; taken ones are set to -1 */
    uint8_t bytes[PARCEL_BYTES_MAX];
};

/* Closes descriptors that nobody took. */
void parcel_fini(struct parcel *parcel);

/* How a peer names a piece of our memory to its transport. Plain data. */
struct remote_memory {
    uint64_t key;
    uint64_t address;
    uint64_t size;
};

enum memory_right { MEMORY_READ = 1, MEMORY_WRITE = 2 };

enum transport_ability {
    TRANSPORT_LOCAL = 1,  /* only peers on this host */
    TRANSPORT_POLLED = 2, /* needs progress() to move anything, also for memory access of others */
};

struct transport_config {
    struct poller *poller; /* for descriptors that announce work; callbacks ring the bells */
    const char *address;   /* our IP address, or NULL */
    const char *provider;  /* libfabric's, or NULL for its default */
    const char *node;      /* the socket of our server's node, or NULL */
    uint32_t ring_slots;
    uint32_t ring_bytes;
    struct list *bells; /* struct doorbell.polled; see struct transport */
    /* Of routed, or NULL: its node has gone (false) and is called again, or is back (true), and
     * describe() says something else: links that were open carry nothing any more. */
    void (*turned)(void *owner, bool up);
    void *owner;
};

struct transport;
struct transport_link;
struct outlet;
struct inlet;
struct region;
struct transfer;

/* Writes over one link of at most so many bytes are placed in the order they were started. */
#define TRANSFER_ORDERED_MAX 4096

/* Called once with 0 or a negative errno, from progress() or link_close(). */
typedef void transfer_done(struct transfer *transfer, int status);

/* A one-sided access under way; the caller's memory until done. */
struct transfer {
    transfer_done *done;
    /* A write is done when its bytes have left and `from` may be used again, which is
     * cheaper; else when the peer has them. */
    bool light;
    /* Of a layer between, while it is under way: the caller's done(), and the layer's own. */
    transfer_done *outer_done;
    void *internal[2];
};

/* Memory of a peer that is mapped here. */
struct mapping {
    void *base;
    void *internal;
};

/* Frames from one service to another. */
struct pipe_ops {
    /* The bell is of the local service: rung for acknowledgements and credit
     * (outlets) or frames (inlets) that came while it slept. */
    int (*outlet_open)(struct transport_link *link, struct doorbell *bell, struct parcel *offer,
                       struct outlet **outlet);
    int (*outlet_answer)(struct outlet *outlet, struct parcel *answer);
    void (*outlet_close)(struct outlet *outlet);
    int (*inlet_open)(struct transport_link *link, struct doorbell *bell, struct parcel *offer,
                      struct parcel *answer, struct inlet **inlet);
    void (*inlet_close)(struct inlet *inlet);

    /* Gathers the pieces into one frame. 0, -EAGAIN without credit (the bell
     * rings when there is some), -EMSGSIZE beyond FRAME_BODY_MAX, -EPIPE. */
    int (*push)(struct outlet *outlet, const struct frame_head *head, const struct iovec *pieces,
                unsigned piece_count);
    /* Would a frame of that size be taken now? */
    bool (*room)(struct outlet *outlet, size_t size);
    /* Takes acknowledgements; returns how many. */
    int (*collect)(struct outlet *outlet, struct acknowledgement *out, unsigned max);

    /* Takes frames in order; returns how many. Release in any order. */
    int (*pull)(struct inlet *inlet, struct frame *out, unsigned max);
    /* Would a pull find something? Far cheaper than one. NULL: pull, to know. */
    bool (*waiting)(const struct inlet *inlet);
    void (*release)(struct inlet *inlet, const struct frame *frame);
    /* To the sender of a frame with that token. At most one for each frame
     * pulled, at any time until the inlet closes; never lacks room. */
    int (*acknowledge)(struct inlet *inlet, uint64_t token, int64_t status);

    /* What would be lost if we ended now: frames that were pushed, or acknowledgements that were
     * made, of which we do not know that the peer has them. It gets less by itself while the peer
     * lives. NULL: there never is any, for the peer finds all of it though we die. */
    size_t (*outlet_owes)(struct outlet *outlet);
    size_t (*inlet_owes)(struct inlet *inlet);
};

/* Memory that another process reads and writes. */
struct memory_ops {
    /* `file` is the memory file it lies in, or NULL for foreign memory. */
    int (*region_open)(struct transport *transport, void *base, size_t size,
                       const struct memfile *file, struct region **region);
    void (*region_close)(struct region *region);
    /* Makes a piece of the region reachable for the peer, and names it. */
    int (*share)(struct transport_link *link, struct region *region, void *piece, size_t size,
                 uint32_t rights, struct remote_memory *out);
    /* Moves bytes between remote memory and ours (in `region`). Returns 1 when
     * done at once (done is not called), as no bytes are, 0 when done() will be called, or an
     * error (done is not called): -EACCES, -ERANGE, -EPIPE, -EAGAIN. */
    int (*read)(struct transport_link *link, const struct remote_memory *from, uint64_t offset,
                void *to, size_t size, struct region *region, struct transfer *transfer);
    int (*write)(struct transport_link *link, const struct remote_memory *to, uint64_t offset,
                 const void *from, size_t size, struct region *region, struct transfer *transfer);

    /* The remote memory itself: it stays mapped until unmap, though its owner takes it back,
     * dies, or the link is closed. -EACCES, -ERANGE, -EPIPE; -EOPNOTSUPP: not that memory.
     * Both are NULL where none can be mapped. */
    int (*map)(struct transport_link *link, const struct remote_memory *memory, bool writable,
               struct mapping *mapping);
    void (*unmap)(struct mapping *mapping);
};

struct transport_ops {
    const char *name;
    uint32_t abilities;
    uint32_t cost_nsec; /* of one short message, about: the cheapest way is taken */
    const struct pipe_ops *pipes;
    const struct memory_ops *memory; /* NULL: this transport reaches no memory of peers */

    /* -ENOPKG: a library that it needs is not on this host. */
    int (*open)(struct transport **transport, const struct transport_config *config,
                struct why *why);
    void (*close)(struct transport *transport); /* after all links and regions */
    /* Removes what killed processes left outside of the domain's folder. NULL: they leave nothing.
     */
    void (*clean)(void);

    /* What a peer must know to reach us; at most 160 bytes. Returns the size. */
    int (*describe)(struct transport *transport, uint8_t *out, size_t size);

    /* The line lives until link_lost or link_close. -EHOSTUNREACH: this transport cannot. */
    int (*link_open)(struct transport *transport, struct lifeline *line,
                     const struct context_address *peer, const uint8_t *description, size_t size,
                     struct transport_link **link);
    /* The peer is dead and the line about to be freed: forget it. Frames that arrived can
     * still be pulled and memory that is mapped still be read; the rest is -EPIPE from now on,
     * transfers under way included. link_close follows when all has been taken. */
    void (*link_lost)(struct transport_link *link);
    /* Completes its transfers with -EPIPE. Its pipes are closed already. */
    void (*link_close)(struct transport_link *link);
    /* A control message of a kind from CONTROL_TRANSPORT on. */
    int (*link_control)(struct transport_link *link, struct control *control);

    /* Moves what can be moved. Returns how many things happened. NULL if not polled. */
    int (*progress)(struct transport *transport);
    /* A thread that called progress() is about to sleep: from now on the poller
     * notices what arrives. Called after doorbell_prepare. Returns how many
     * things happened meanwhile: look again if any. NULL if not polled. */
    int (*arm)(struct transport *transport);
};

struct transport {
    const struct transport_ops *ops;
    uint64_t wakes; /* peers that slept and had to be woken, where we can tell */
    bool unseen;    /* polled, but what peers write is placed by hardware, without progress() */
    /* Bells of who waits for what peers write into our memory: rung when progress() by others
     * may have placed some. Borrowed, and changed under the lock; NULL: nobody's. */
    struct list *bells;
};
struct transport_link {
    const struct transport_ops *ops;
};
struct outlet {
    const struct pipe_ops *ops;
};
struct inlet {
    const struct pipe_ops *ops;
};
struct region {
    const struct memory_ops *ops;
};

/* -EOPNOTSUPP: this transport reaches no memory. */
static inline int transport_region_open(struct transport *transport, void *base, size_t size,
                                        const struct memfile *file, struct region **region)
{
    const struct memory_ops *memory = transport->ops->memory;
    return memory ? memory->region_open(transport, base, size, file, region) : -EOPNOTSUPP;
}

/* All that were built in, cheapest first, NULL at the end. */
extern const struct transport_ops *const transports[];
extern const struct transport_ops transport_shm;
extern const struct transport_ops transport_fabric;
extern const struct transport_ops transport_udp;
extern const struct transport_ops transport_routed;
