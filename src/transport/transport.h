#pragma once
/* transport: moves frames into another process, and, where the transport can, reads and writes that
 * process's memory.
 *
 * A transport consists of three things:
 *   link    what this transport knows about one peer process; it exists until the lifeline
 *           to that peer is lost and all frames from the peer were taken
 *   pipe    frames from one service to another, in order, limited by credit: an outlet
 *           at the sender, an inlet at the receiver, and a way back for acknowledgements
 *   region  memory of ours that peers may access
 *
 * The sender opens a pipe: outlet_open writes a parcel, which the layer above carries to the peer
 * over the lifeline; inlet_open answers with a second parcel, which the layer above carries back to
 * outlet_answer. The sender may push frames before the answer arrives.
 *
 * All calls of one context run under its lock. No call blocks. Results are >= 0 or a negative
 * errno. -EPIPE: the peer is gone or the pipe is closed. -EPROTO: the peer wrote invalid data, and
 * the caller has to cut the link.
 *
 * Each implementation's structs begin with the struct below that they extend. */

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
#define FRAME_LAZY     0x8000 /* in a head's kind: do not wake a sleeping receiver for it */

/* Precedes a frame's body. The transport looks only at `token` and at FRAME_LAZY; the rest belongs
 * to the layer above and travels unchanged. */
struct frame_head {
    uint64_t user;  /* a number; between hosts in network order, like the token and the kind */
    uint64_t token; /* 0, or the number by which acknowledge() names the frame to its sender */
    uint16_t kind;
    uint8_t user_bytes[6];
};
static_assert(sizeof(struct frame_head) == 24, "the head is copied byte by byte");

/* One received frame. The head is a copy, so a hostile writer cannot change it after the check. The
 * body stays in the pipe's memory until the frame is released. */
struct frame {
    struct frame_head head;
    uint32_t size;
    uint32_t cookie; /* private to the inlet */
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
    int fds[CONTROL_FD_MAX]; /* owned by the parcel; a descriptor that was taken is set to -1 */
    uint8_t bytes[PARCEL_BYTES_MAX];
};

/* Closes the descriptors that were not taken. */
void parcel_fini(struct parcel *parcel);

/* The name of a piece of our memory, in the form that a peer passes to its transport. Plain
 * data. */
struct remote_memory {
    uint64_t key;
    uint64_t address;
    uint64_t size;
};

enum memory_right { MEMORY_READ = 1, MEMORY_WRITE = 2 };

enum transport_ability {
    TRANSPORT_LOCAL = 1,  /* reaches only peers on this host */
    TRANSPORT_POLLED = 2, /* moves data only in progress(), also when peers access our memory */
};

struct transport_config {
    struct poller *poller; /* for descriptors that announce work; callbacks ring the bells */
    const char *address;   /* our IP address, or NULL */
    const char *provider;  /* a provider of libfabric; NULL: the transport chooses */
    const char *node;      /* path of the socket of our server's node, or NULL */
    uint32_t ring_slots;
    uint32_t ring_bytes;
    struct list *bells; /* links doorbells by struct doorbell.polled; see struct transport */
    /* Only used by routed; may be NULL. Called with false when its node is gone and routed tries to
     * connect to it again, and with true when the node is back. Then describe() returns a new
     * description, and links that were open before carry nothing any more. */
    void (*turned)(void *owner, bool up);
    /* Only used by fabric; may be NULL, and then its links are not checked. Called when a link for
     * which outlet_open returned -ENOBUFS can be used, or cannot (-ENETDOWN). */
    void (*settled)(void *owner);
    void *owner;
};

struct transport;
struct transport_link;
struct outlet;
struct inlet;
struct region;
struct transfer;

/* Writes of at most this many bytes over one link are placed in the order in which they were
 * started. */
#define TRANSFER_ORDERED_MAX 4096

/* Called once with 0 or a negative errno, from progress() or link_close(). */
typedef void transfer_done(struct transfer *transfer, int status);

/* A one-sided access in progress. This struct and the local memory belong to the caller, who keeps
 * them until done() is called. */
struct transfer {
    transfer_done *done;
    /* True: a write is done as soon as its bytes have left and `from` may be reused, which is
     * cheaper. False: it is done when the peer has the bytes. */
    bool light;
    /* Used by a layer in between while the transfer runs: the caller's done(), and that layer's own
     * data. */
    transfer_done *outer_done;
    void *internal[2];
};

/* Memory of a peer, mapped into this process. */
struct mapping {
    void *base;
    void *internal;
};

/* Frames of an outlet since it was opened. */
struct outlet_counts {
    uint64_t pushed;
    uint64_t released; /* of these, the frames that the receiver is known to have released */
};

/* Frames from one service to another. */
struct pipe_ops {
    /* The bell belongs to the local service. It is rung for acknowledgements and credit (outlets)
     * or for frames (inlets) that arrive while the service sleeps. */
    /* -ENOBUFS: not now, try again later; -ENETDOWN: the transport does not reach the peer at
     * present, take another. */
    int (*outlet_open)(struct transport_link *link, struct doorbell *bell, struct parcel *offer,
                       struct outlet **outlet);
    int (*outlet_answer)(struct outlet *outlet, struct parcel *answer);
    void (*outlet_close)(struct outlet *outlet);
    int (*inlet_open)(struct transport_link *link, struct doorbell *bell, struct parcel *offer,
                      struct parcel *answer, struct inlet **inlet);
    void (*inlet_close)(struct inlet *inlet);

    /* Gathers the pieces into one frame. Returns 0, -EAGAIN without credit (the bell rings when
     * credit arrives), -EMSGSIZE beyond FRAME_BODY_MAX, or -EPIPE. */
    int (*push)(struct outlet *outlet, const struct frame_head *head, const struct iovec *pieces,
                unsigned piece_count);
    /* Where a caller may write the body of the next frame, so that push() with that place as the
     * only piece copies nothing. Until then nothing else is pushed. NULL, as a function or as its
     * result: not possible, or not now. */
    uint8_t *(*place)(struct outlet *outlet, size_t size);
    /* Returns how many frames of up to that size are certainly accepted from now on, or 0. */
    unsigned (*room)(struct outlet *outlet, size_t size);
    /* Takes acknowledgements; returns how many. */
    int (*collect)(struct outlet *outlet, struct acknowledgement *out, unsigned max);
    /* Also works when the peer is lost. */
    void (*outlet_count)(struct outlet *outlet, struct outlet_counts *counts);

    /* Takes frames in order; returns how many. The caller may release them in any order. */
    int (*pull)(struct inlet *inlet, struct frame *out, unsigned max);
    /* Would pull() find a frame? Far cheaper than pull(). NULL: only pull() can tell. */
    bool (*waiting)(const struct inlet *inlet);
    /* Reads only the frame's cookie and size; a size that is too small only delays credit. */
    void (*release)(struct inlet *inlet, const struct frame *frame);
    /* Acknowledges the frame with that token to its sender. Allowed at most once for each pulled
     * frame, at any time until the inlet closes; there is always room for it. */
    int (*acknowledge)(struct inlet *inlet, uint64_t token, int64_t status);

    /* Number of pushed frames, or of acknowledgements, that would be lost if this process ended
     * now: those of which we do not know that the peer has them. The number falls by itself while
     * the peer runs. NULL: always 0, because the peer finds all of them even if this process
     * dies. */
    size_t (*outlet_owes)(struct outlet *outlet);
    size_t (*inlet_owes)(struct inlet *inlet);
};

/* Memory that another process reads and writes. */
struct memory_ops {
    /* `file` is the memory file that contains the region, or NULL for other memory. */
    int (*region_open)(struct transport *transport, void *base, size_t size,
                       const struct memfile *file, struct region **region);
    void (*region_close)(struct region *region);
    /* Gives the peer access to a piece of the region, and writes its name to `out`. */
    int (*share)(struct transport_link *link, struct region *region, void *piece, size_t size,
                 uint32_t rights, struct remote_memory *out);
    /* Moves bytes between remote memory and our own (in `region`). Returns 1 if the transfer is
     * done already, as with zero bytes (done() is not called), 0 if done() will be called, or an
     * error (done() is not called): -EACCES, -ERANGE, -EPIPE, -EAGAIN. */
    int (*read)(struct transport_link *link, const struct remote_memory *from, uint64_t offset,
                void *to, size_t size, struct region *region, struct transfer *transfer);
    int (*write)(struct transport_link *link, const struct remote_memory *to, uint64_t offset,
                 const void *from, size_t size, struct region *region, struct transfer *transfer);

    /* Maps the remote memory itself. It stays mapped until unmap, even if its owner revokes it or
     * dies, or the link closes. -EACCES, -ERANGE, -EPIPE; -EOPNOTSUPP: this memory cannot be
     * mapped. Both calls are NULL where no memory can be mapped. */
    int (*map)(struct transport_link *link, const struct remote_memory *memory, bool writable,
               struct mapping *mapping);
    void (*unmap)(struct mapping *mapping);
};

struct transport_ops {
    const char *name;
    uint32_t abilities;
    uint32_t cost_nsec; /* approximate cost of a short message; the cheapest transport is chosen */
    const struct pipe_ops *pipes;
    const struct memory_ops *memory; /* NULL: this transport cannot access memory of peers */

    /* -ENOPKG: a library that the transport needs is not installed on this host. */
    int (*open)(struct transport **transport, const struct transport_config *config,
                struct why *why);
    void (*close)(struct transport *transport); /* after all links and regions are closed */
    /* Removes what killed processes left outside the domain's folder. NULL: they leave nothing
     * there. */
    void (*clean)(void);

    /* Writes what a peer needs to reach us, at most 160 bytes. Returns the size. */
    int (*describe)(struct transport *transport, uint8_t *out, size_t size);

    /* The line is valid until link_lost or link_close. -EHOSTUNREACH: this transport cannot reach
     * the peer. */
    int (*link_open)(struct transport *transport, struct lifeline *line,
                     const struct context_address *peer, const uint8_t *description, size_t size,
                     struct transport_link **link);
    /* The peer is dead and the line is about to be freed: do not use it any more. Frames that
     * arrived can still be pulled and mapped memory can still be read. Everything else fails with
     * -EPIPE from now on, transfers in progress included. link_close follows when all frames have
     * been taken. */
    void (*link_lost)(struct transport_link *link);
    /* Completes the link's transfers with -EPIPE. Its pipes are already closed. */
    void (*link_close)(struct transport_link *link);
    /* Handles a control message whose kind is CONTROL_TRANSPORT or above. -ENOMSG: it belongs to
     * another transport. */
    int (*link_control)(struct transport_link *link, struct control *control);

    /* Moves what can be moved. Returns how many events happened. NULL if the transport is not
     * polled. */
    int (*progress)(struct transport *transport);
    /* A thread that called progress() is about to sleep: from now on the poller notices what
     * arrives. Called after doorbell_prepare. Returns how many events happened meanwhile; if any
     * did, the caller looks again before it sleeps. NULL if the transport is not polled. */
    int (*arm)(struct transport *transport);
};

struct transport {
    const struct transport_ops *ops;
    uint64_t wakes; /* how often we woke a sleeping peer, where the transport can tell */
    bool unseen;    /* polled, but hardware places what peers write even without progress() */
    /* Bells of the threads that wait for what peers write into our memory. Rung when a progress()
     * call of another thread may have placed some of it. Borrowed, and changed under the lock;
     * NULL: no such threads. */
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

/* -EOPNOTSUPP: this transport cannot access memory. */
static inline int transport_region_open(struct transport *transport, void *base, size_t size,
                                        const struct memfile *file, struct region **region)
{
    const struct memory_ops *memory = transport->ops->memory;
    return memory ? memory->region_open(transport, base, size, file, region) : -EOPNOTSUPP;
}

/* All transports that were built in, cheapest first, terminated by NULL. */
extern const struct transport_ops *const transports[];
extern const struct transport_ops transport_shm;
extern const struct transport_ops transport_fabric;
extern const struct transport_ops transport_udp;
extern const struct transport_ops transport_routed;
