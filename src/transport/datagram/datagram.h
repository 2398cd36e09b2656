#pragma once
/* datagram: pipes over a carrier that may lose, duplicate and reorder datagrams.
 *   datagram.c         the timer, and the dispatch of received datagrams
 *   datagram_outlet.c  the sender's end of a pipe
 *   datagram_inlet.c   the receiver's end
 *   datagram_ops.c     both ends as a table of operations
 *   datagram_memory.c  regions of ours that peers access, and access to theirs
 *
 * The struct of a transport that uses it begins with a datagram_core, and that of its links with a
 * datagram_link. The transport adds the carrier: a socket (udp.c), or the relay of a node
 * (routed.c). */

#include <stdalign.h>
#include <stdlib.h>

#include "base/id_map.h"
#include "base/list.h"
#include "transport/datagram/datagram_wire.h"
#include "transport/datagram/resend.h"

#define DATAGRAM_AGAIN_NSEC     (10 * 1000 * 1000LL)  /* first delay before sending again */
#define DATAGRAM_AGAIN_NSEC_MAX (320 * 1000 * 1000LL) /* longest delay, after doubling */
#define DATAGRAM_DELAY_NSEC     (2 * 1000 * 1000LL) /* how long news may wait to be sent together */

#define DATAGRAM_BATCH 16  /* datagrams per system call */
#define DATAGRAM_SMALL 128 /* bytes that fit into a slot */

/* A frame's body at either end. Windows are wide and most frames small, so only a large frame gets
 * memory of its own, and only while it is in the window. */
struct datagram_body {
    uint8_t *large; /* owned, or NULL: the body is small */
    alignas(16) uint8_t small[DATAGRAM_SMALL];
};

static inline const uint8_t *datagram_body_data(const struct datagram_body *body)
{
    return body->large ? body->large : body->small;
}

/* Returns where to write a body of that size; NULL if there is no memory. */
static inline uint8_t *datagram_body_room(struct datagram_body *body, size_t size)
{
    body->large = size > DATAGRAM_SMALL ? malloc(size) : NULL;
    return size > DATAGRAM_SMALL ? body->large : body->small;
}

static inline void datagram_body_free(struct datagram_body *body)
{
    free(body->large);
    body->large = NULL;
}

struct datagram_core;
struct datagram_batch;

/* Moves the datagrams: the socket of udp.c, or the relay of routed.c. */
struct datagram_carrier {
    void (*send)(struct datagram_batch *batch); /* sends all; a datagram that is refused is lost */
    int (*receive)(struct datagram_core *core); /* returns how many datagrams arrived */
    void (*watch)(struct datagram_core *core, bool on);
};

struct datagram_counts {
    uint64_t datagrams; /* received */
    uint64_t garbage;   /* that did not parse, or that contradict the state */
    uint64_t stray;     /* for an unknown pipe, or not from its peer */
    uint64_t doubles;   /* frames that had already arrived */
    uint64_t resent;    /* frames sent again */
    uint64_t refused;   /* datagrams that the socket did not take */
};

/* Memory of ours that peers may access. */
struct datagram_memory {
    struct list links;    /* struct datagram_memory_link */
    struct list regions;  /* struct memory_region */
    struct id_map keys;   /* struct memory_region by each of its keys */
    struct doorbell bell; /* for the pipes of memory, on which no thread sleeps */
    void *bell_page;      /* its memory, suitably aligned */
};

/* Requests and answers about memory between us and one peer. */
struct datagram_memory_link {
    struct list node;
    uint64_t number; /* the lifeline's number */
    uint64_t own;    /* a number for our end of the lifeline, and one for the peer's; they differ */
    uint64_t peer;
    /* The pipes that carry requests and answers in order; NULL until they are needed. */
    struct outlet *outlet;
    struct inlet *inlet;
    struct list asked;  /* our struct jobs, in order; the first may be half sent */
    struct list waits;  /* our struct jobs that were sent and wait for completion */
    struct list served; /* the peer's struct jobs, in order */
    unsigned served_count;
    uint64_t last; /* number of our last job */
    bool working;
};

struct datagram_core {
    struct transport transport;
    const struct datagram_carrier *carrier;
    struct poller *poller;
    struct poller_timer timer; /* always set; fires when the earliest pipe is due */
    bool polled;               /* threads poll, so the descriptor is not watched */
    bool polled_lately;
    nsec idle_at;        /* when to check whether threads still poll */
    uint32_t window;     /* frames per pipe that the carrier can hold */
    struct id_map pipes; /* struct datagram_pipe by its id */
    struct list all;
    struct datagram_memory memory;
    struct datagram_counts counts;
};

struct datagram_link {
    struct transport_link link;
    struct datagram_core *core;
    bool lost;
    struct datagram_memory_link memory;
};

/* The common part of both ends. */
struct datagram_pipe {
    struct list node;
    struct datagram_link *link;
    struct doorbell *bell; /* borrowed */
    uint64_t id;           /* in datagrams to us */
    uint64_t peer;         /* in datagrams from us; 0 until it is known */
    nsec due;              /* when the timer calls late(); NSEC_NEVER: it does not */
    void (*heard)(struct datagram_pipe *pipe, const struct pipe_datagram *datagram);
    void (*late)(struct datagram_pipe *pipe, nsec now); /* called after the timer has reset `due` */
};

MUST_CHECK int datagram_pipe_open(struct datagram_pipe *pipe, struct datagram_link *link,
                                  struct doorbell *bell);
void datagram_pipe_close(struct datagram_pipe *pipe);
/* Replaces the random number of the pipe. -EEXIST: the number is in use. */
MUST_CHECK int datagram_pipe_renumber(struct datagram_pipe *pipe, uint64_t id);

/* For a pipe whose two numbers both ends know without exchanging them. */
struct datagram_numbers {
    uint64_t own;
    uint64_t peer;
};
MUST_CHECK int datagram_outlet_open_numbered(struct transport_link *link, struct doorbell *bell,
                                             const struct datagram_numbers *numbers,
                                             struct outlet **outlet);
MUST_CHECK int datagram_inlet_open_numbered(struct transport_link *link, struct doorbell *bell,
                                            const struct datagram_numbers *numbers,
                                            struct inlet **inlet);

/* Makes the timer call late() at that moment, or earlier if that was requested before. */
void datagram_pipe_wake(struct datagram_pipe *pipe, nsec at);

/* Datagrams to one peer for one system call. What the socket refuses is lost, as in the network. */
struct datagram_batch {
    struct datagram_pipe *pipe;
    unsigned count;
    struct iovec pieces[DATAGRAM_BATCH][2];
    uint8_t heads[DATAGRAM_BATCH][DATAGRAM_FRAME_SIZE];
};

void datagram_batch_start(struct datagram_batch *batch, struct datagram_pipe *pipe);
void datagram_batch_add(struct datagram_batch *batch, const struct pipe_datagram *frame,
                        const uint8_t *body);
void datagram_batch_send(struct datagram_batch *batch);

/* Opens the core of a transport: everything but the carrier, which the caller then opens. */
MUST_CHECK int datagram_core_open(struct datagram_core *core, const struct transport_ops *ops,
                                  const struct datagram_carrier *carrier,
                                  const struct transport_config *config);
void datagram_core_close(struct datagram_core *core);
/* Reads a datagram and returns the pipe that it is for; NULL: there is none, and it was counted.
 * The carrier then checks that it came from the pipe's peer, and calls heard(). */
struct datagram_pipe *datagram_pipe_of(struct datagram_core *core, const uint8_t *bytes,
                                       size_t size, struct pipe_datagram *datagram);

/* Sends one datagram without a body. */
void datagram_send(struct datagram_pipe *pipe, const struct pipe_datagram *datagram);

/* ---- datagram_memory.c ---- */

extern const struct memory_ops datagram_memory_ops;
/* Opens memory that is all zeroes; in any case it must be closed. */
MUST_CHECK int datagram_memory_open(struct datagram_memory *memory);
void datagram_memory_close(struct datagram_memory *memory);
/* `number` is the same at both ends and differs between links; `own` and `peer` differ, and are
 * swapped at the other end. */
void datagram_memory_link_open(struct datagram_link *link, uint64_t number, uint64_t own,
                               uint64_t peer);
void datagram_memory_link_close(struct datagram_link *link);
/* Opens the pipes, unless they are open: a transport may do so before they are needed. */
MUST_CHECK int datagram_memory_ready(struct datagram_link *link);
void datagram_memory_work(struct datagram_link *link); /* something arrived or is to be sent */
/* Completes all jobs with -EPIPE, and does what datagram_link_lost does. */
void datagram_memory_link_lost(struct transport_link *link);

/* The operations that udp and routed have in common. */
extern const struct pipe_ops datagram_pipe_ops;
void datagram_link_lost(struct transport_link *link);
int datagram_link_control(struct transport_link *link, struct control *control);
int datagram_progress(struct transport *transport);
int datagram_arm(struct transport *transport);

int datagram_outlet_open(struct transport_link *link, struct doorbell *bell, struct parcel *offer,
                         struct outlet **outlet);
int datagram_outlet_answer(struct outlet *outlet, struct parcel *answer);
void datagram_outlet_close(struct outlet *outlet);
int datagram_push(struct outlet *outlet, const struct frame_head *head, const struct iovec *pieces,
                  unsigned piece_count);
unsigned datagram_room(struct outlet *outlet, size_t size);
int datagram_collect(struct outlet *outlet, struct acknowledgement *out, unsigned max);
void datagram_outlet_count(struct outlet *outlet, struct outlet_counts *counts);
size_t datagram_outlet_owes(struct outlet *outlet);

int datagram_inlet_open(struct transport_link *link, struct doorbell *bell, struct parcel *offer,
                        struct parcel *answer, struct inlet **inlet);
void datagram_inlet_close(struct inlet *inlet);
int datagram_pull(struct inlet *inlet, struct frame *out, unsigned max);
bool datagram_waits(struct inlet *inlet); /* would datagram_pull return a frame? */
void datagram_release(struct inlet *inlet, const struct frame *frame);
int datagram_acknowledge(struct inlet *inlet, uint64_t token, int64_t status);
size_t datagram_inlet_owes(struct inlet *inlet);
