#pragma once
/* fabric_impl: what the files of the fabric transport share, lowest layer first. See fabric.c. */

#include "base/list.h" /* first, so that libfabric does not define container_of */

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdbool.h>

#include "base/id_map.h"
#include "transport/fabric/fabric_library.h"
#include "transport/fabric/fabric_wire.h"
#include "transport/transport.h"

#define FABRIC_ADDRESS_MAX    128                   /* of an endpoint's name */
#define FABRIC_WINDOW_MAX     64                    /* frames in flight in one pipe */
#define FABRIC_WINDOW_MIN     16                    /* the same before the peer has answered */
#define FABRIC_SLAB_BUFFERS   32                    /* buffers allocated at a time */
#define FABRIC_BUFFER_SIZE    9024                  /* FABRIC_MESSAGE_MAX, in whole cache lines */
#define FABRIC_RECEIVES_EXTRA 8                     /* for returns, which need no credit */
#define FABRIC_PIECE_SIZE     (1024 * 1024)         /* piece size of a one-sided access */
#define FABRIC_PIECES_MAX     4                     /* pieces of one transfer at once */
#define FABRIC_REST_NSEC      (1000 * 1000LL)       /* pause of the keeper while a thread polls */
#define FABRIC_DRAIN_NSEC     (20 * 1000 * 1000LL)  /* wait for transfers of a lost link */
#define FABRIC_NAP_NSEC_MAX   (8 * 1000 * 1000LL)   /* between polls without a descriptor */
#define FABRIC_TICK_NSEC      (250 * 1000 * 1000LL) /* of fabric_check.c */
#define FABRIC_PROBES_KEPT    16                    /* that came before they were announced */

static_assert(FABRIC_BUFFER_SIZE >= FABRIC_MESSAGE_MAX, "a frame is received in one buffer");
static_assert(FABRIC_BUFFER_SIZE % 64 == 0, "bodies are aligned");

struct fabric;
struct fabric_link;

/* What the provider returns when it is done with something. The provider uses it meanwhile, so it
 * outlives links: it is part of a buffer or a job, and these are freed with the endpoint. */
struct fabric_operation {
    struct fi_context2 context; /* first: completions point here */
    enum { FABRIC_RECEIVE, FABRIC_SEND, FABRIC_TRANSFER } kind;
};

enum fabric_buffer_state {
    BUFFER_FREE,
    BUFFER_IDLE,   /* to be posted when the endpoint takes it */
    BUFFER_POSTED, /* held by the provider, to receive into */
    BUFFER_QUEUED, /* a frame that was not pulled yet */
    BUFFER_HELD,   /* a frame that was pulled and not released */
    BUFFER_UNSENT, /* waits in its link, or for the pipe's answer in its outlet */
    BUFFER_SENT,   /* held by the provider, to send */
};

struct fabric_buffer {
    struct fabric_operation operation;
    enum fabric_buffer_state state;
    struct list node;           /* in the list of its state */
    uint32_t index;             /* among all buffers: a frame's cookie */
    uint32_t size;              /* of the message in it */
    uint8_t *bytes;             /* FABRIC_BUFFER_SIZE of them */
    void *descriptor;           /* of the memory, for the provider */
    struct fabric_link *link;   /* on which it is sent */
    struct fabric_inlet *inlet; /* the frame's inlet; or the inlet whose unsent return it is */
};

struct fabric_slab {
    struct fabric_buffer buffers[FABRIC_SLAB_BUFFERS];
    uint8_t *bytes;
    struct fid_mr *mr; /* if the provider requires local memory to be registered */
};

/* The common part of inlets and outlets. */
struct fabric_pipe {
    uint64_t id;      /* our id, which the peer writes into its messages */
    uint64_t peer_id; /* the peer's id */
    bool is_inlet;
    bool ringing; /* in fabric->ringing */
    struct fabric_link *link;
    struct doorbell *bell;
    struct list ring_node;
    uint32_t send_sequence;
    uint32_t receive_sequence;
};

struct fabric_outlet {
    struct outlet outlet;
    struct fabric_pipe pipe;
    bool answered;
    bool starved;    /* a push was refused since the last ring */
    uint32_t window; /* FABRIC_WINDOW_MIN until answered */
    uint32_t credit;
    struct list unanswered;                /* frames pushed before the answer */
    uint64_t pushed_count;                 /* at least acknowledged_count */
    uint64_t acknowledged_count;           /* acknowledgements that arrived */
    struct acknowledgement *acks;          /* owned; a ring of uncollected ones */
    size_t ack_first, ack_count, ack_mask; /* mask: capacity - 1 */
};

struct fabric_inlet {
    struct inlet inlet;
    struct fabric_pipe pipe;
    uint32_t window;
    uint32_t taken; /* frames that arrived and whose credit was not returned */
    uint32_t owed;  /* of these: released, so that their credit is due */
    struct list queue;
    struct fabric_buffer *open_return; /* an unsent return, to which more can be added */
};

/* Has the fabric carried something to the peer? See fabric_check.c. */
enum fabric_proof { FABRIC_UNPROVEN, FABRIC_PROVING, FABRIC_FAILED, FABRIC_PROVEN };

/* One peer. A closed link stays until everything in flight was returned. */
struct fabric_link {
    struct transport_link link;
    struct fabric *fabric;
    struct lifeline *line; /* NULL once lost */
    fi_addr_t address;
    bool closed;
    bool broken; /* nothing is sent any more */
    enum fabric_proof proof;
    bool unsure;            /* frames were sent since the peer was last heard */
    bool checked;           /* the peer has confirmed over the lifeline that it lives */
    unsigned ticks;         /* while proving, after a failure, or since it is unsure */
    unsigned checked_ticks; /* since it was confirmed */
    uint64_t probe;         /* token that we sent last, or 0 */
    uint64_t announced;     /* token that the peer has announced and we have not received, or 0 */
    unsigned pipe_count;
    unsigned sends_under_way;
    struct list node;    /* in fabric->links */
    struct list unsent;  /* buffers that the endpoint did not take yet, in order */
    struct list jobs;    /* with pieces in flight, or not taken by the endpoint yet */
    struct list waiting; /* small writes that the endpoint did not take yet, in order */
};

struct fabric_piece {
    struct fabric_operation operation;
    struct fabric_job *job; /* NULL: free */
};

/* A transfer in progress, cut into pieces. */
struct fabric_job {
    struct list node; /* in a list of its link, or of the fabric */
    struct fabric_link *link;
    struct transfer *transfer; /* the caller's; NULL once done() was called */
    bool writes;
    bool light;   /* from its transfer */
    bool ordered; /* a write of one piece, which no later one overtakes */
    int status;
    uint8_t *local;   /* the next piece */
    uint64_t address; /* the next piece at the peer */
    uint64_t key;
    size_t left; /* not yet handed to the provider */
    void *descriptor;
    unsigned under_way;
    struct fabric_piece pieces[FABRIC_PIECES_MAX];
};

struct fabric_region {
    struct region region;
    struct fabric *fabric;
    uint8_t *base;
    size_t size;
    struct fid_mr *mrs[4]; /* by memory_right bits; [0] for local use; NULL until needed */
};

struct fabric {
    struct transport transport;
    struct poller *poller;
    const struct fabric_library *library;
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_cq *cq;
    struct fid_ep *endpoint;
    bool delivers; /* the provider supports FI_DELIVERY_COMPLETE */
    bool sticky;   /* the descriptor cannot be relied on: see watch_ready */
    uint8_t address[FABRIC_ADDRESS_MAX];
    size_t address_size;
    uint32_t window; /* of our inlets */

    struct fabric_slab **slabs; /* owned */
    size_t slab_count, slab_capacity;
    struct list free_buffers;
    struct list idle_buffers; /* receives that the endpoint did not take */
    unsigned receive_count;   /* buffers for receiving, wherever they are now */
    unsigned receive_goal;    /* how many there should be: a sum over the pipes */
    struct list links;        /* includes closed links */
    struct list free_jobs;
    struct list untold_jobs; /* ended while a link was drained; done() not called yet */
    bool draining;
    struct id_map pipes;    /* id: struct fabric_pipe */
    struct list ringing;    /* pipes whose bell must be rung */
    unsigned depth;         /* nesting of progress: callbacks may call us */
    bool stalled;           /* something waits until the endpoint takes it */
    uint64_t garbage_count; /* invalid messages */
    uint64_t stray_count;   /* messages for unknown or closed pipes */
    uint64_t error_count;   /* completions with an error */

    void (*settled)(void *owner); /* from the config; NULL: links are not checked */
    void *owner;
    struct poller_timer checker;
    bool checking;                       /* the timer `checker` is set */
    uint64_t probes[FABRIC_PROBES_KEPT]; /* tokens */
    unsigned probe_next;

    struct poller_watch *watch; /* NULL: the provider has no descriptor */
    struct poller_timer timer;
    int fd;                /* that descriptor, or -1 */
    bool armed;            /* the descriptor is watched */
    unsigned false_alarms; /* of the descriptor, consecutive */
    nsec nap;
    unsigned polls; /* by threads of the program, since the descriptor was armed */
    nsec polled_at; /* approximately */
};

/* fabric_provider.c */
MUST_CHECK int fabric_provider_open(struct fabric *fabric, const struct transport_config *config,
                                    struct why *why);
void fabric_provider_close(struct fabric *fabric);
void fabric_clean(void); /* removes the shm provider's files of dead processes */
bool fabric_wants(const struct fabric *fabric, int mr_mode);
/* Converts a provider's error into one of ours. */
int fabric_error(long error);
MUST_CHECK int fabric_mr_open(struct fabric *fabric, void *base, size_t size, uint64_t access,
                              struct fid_mr **mr);

/* fabric_timer.c */
void fabric_timer_set(struct fabric *fabric, nsec delay);
void fabric_timer_set_by(struct fabric *fabric, nsec delay); /* unless it fires earlier */
/* Something was refused with -FI_EAGAIN: makes the keeper poll again soon. */
void fabric_stall(struct fabric *fabric);
/* Makes the timer of fabric_check.c fire after a tick, unless it is set already. */
void fabric_check_start(struct fabric *fabric);

/* fabric_buffer.c */
struct fabric_buffer *fabric_buffer_take(struct fabric *fabric);
void fabric_buffer_give(struct fabric *fabric, struct fabric_buffer *buffer);
struct fabric_buffer *fabric_buffer_at(struct fabric *fabric, uint32_t index);
void fabric_buffers_fini(struct fabric *fabric);
/* Reserves more or fewer buffers for receiving. -ENOMEM */
MUST_CHECK int fabric_receives_grow(struct fabric *fabric, unsigned count);
void fabric_receives_shrink(struct fabric *fabric, unsigned count);
/* Posts a buffer again after something was received into it, or frees it if there are enough. */
void fabric_receive_again(struct fabric *fabric, struct fabric_buffer *buffer);
void fabric_receives_flush(struct fabric *fabric);

/* fabric_link.c */
/* Stops sending over this link, and cuts its line. */
void fabric_link_break(struct fabric_link *link, int reason);
/* Takes over the buffer, and sends it now or when the endpoint takes it. */
void fabric_link_send(struct fabric_link *link, struct fabric_buffer *buffer);
void fabric_link_sent(struct fabric_buffer *buffer, int status);
void fabric_link_flush(struct fabric_link *link);
void fabric_link_drop_unsent(struct fabric_link *link);
/* How many messages of all its pipes have not left; 0 for a broken link. */
size_t fabric_link_owes(const struct fabric_link *link);
/* Frees closed links for which nothing is in flight. */
void fabric_links_reap(struct fabric *fabric);
void fabric_links_fini(struct fabric *fabric);

/* fabric_check.c */
void fabric_check_open(struct fabric *fabric, const struct transport_config *config);
void fabric_check_close(struct fabric *fabric);
/* May pipes be opened? -ENOBUFS: not known yet; -ENETDOWN: the fabric does not reach the peer. */
int fabric_link_prove(struct fabric_link *link);
/* Something came from the peer. */
void fabric_link_sure(struct fabric_link *link);
/* Frames are sent, and something has come from the peer since the last ones. */
void fabric_link_unsure(struct fabric_link *link);
void fabric_probe_received(struct fabric *fabric, uint64_t token);
int fabric_link_control(struct transport_link *link, struct control *control);

/* fabric_pipe.c */
extern const struct pipe_ops fabric_pipe_ops;
/* Handles a received message. */
void fabric_received(struct fabric *fabric, struct fabric_buffer *buffer, size_t size);

/* fabric_memory.c */
extern const struct memory_ops fabric_memory_ops;
/* A piece of a transfer is done. */
void fabric_transferred(struct fabric_piece *piece, int status);
void fabric_jobs_flush(struct fabric_link *link);
/* Fails all transfers of the link; true if the provider still holds some. */
bool fabric_jobs_fail(struct fabric_link *link);
/* Calls done() for transfers of the link (NULL: any) that ended while a link was drained. */
void fabric_jobs_tell(struct fabric *fabric, struct fabric_link *link);
/* Calls done() with -EPIPE for the link's other transfers. */
void fabric_jobs_abandon(struct fabric_link *link);
void fabric_jobs_fini(struct fabric *fabric);

/* fabric_progress.c */
int fabric_progress(struct transport *transport);
int fabric_poll(struct fabric *fabric);
int fabric_arm(struct transport *transport);
MUST_CHECK int fabric_watch_open(struct fabric *fabric);
void fabric_watch_close(struct fabric *fabric);

/* fabric_link_open.c */
int fabric_link_open(struct transport *transport, struct lifeline *line,
                     const struct context_address *peer, const uint8_t *description, size_t size,
                     struct transport_link **link);
void fabric_link_lost(struct transport_link *link);
void fabric_link_close(struct transport_link *link);
