#pragma once
/* udp_pipes: what the files of the two transports over datagrams share.
 *   udp.c         the socket, the links, who gets which datagram, the timer
 *   datagram_outlet.c  the sender's end of a pipe
 *   datagram_inlet.c   the receiver's end
 *   routed.c      the same pipes over a node's relay in place of a socket */

#include <stdalign.h>
#include <stdlib.h>

#include "base/id_map.h"
#include "base/list.h"
#include "transport/datagram/datagram_wire.h"
#include "transport/routed/attachment.h"
#include "transport/socket.h"
#include "transport/udp/udp.h"

#define UDP_AGAIN_NSEC     (10 * 1000 * 1000LL)  /* until something is sent again, at first */
#define UDP_AGAIN_NSEC_MAX (320 * 1000 * 1000LL) /* and at last, after doubling */
#define UDP_DELAY_NSEC     (2 * 1000 * 1000LL)   /* how long news may wait for company */

#define UDP_BATCH 16  /* datagrams of one system call */
#define UDP_SMALL 128 /* bytes that a slot holds itself */

/* A frame's body at either end. Windows are wide and most frames small, so only
 * large ones take memory of their own, and only while they are there. */
struct udp_body {
    uint8_t *large; /* owned, or NULL: the body is small */
    alignas(16) uint8_t small[UDP_SMALL];
};

static inline const uint8_t *udp_body_data(const struct udp_body *body)
{
    return body->large ? body->large : body->small;
}

/* Where to write a body of that size; NULL without memory. */
static inline uint8_t *udp_body_room(struct udp_body *body, size_t size)
{
    body->large = size > UDP_SMALL ? malloc(size) : NULL;
    return size > UDP_SMALL ? body->large : body->small;
}

static inline void udp_body_free(struct udp_body *body)
{
    free(body->large);
    body->large = NULL;
}

struct udp;
struct udp_batch;

/* What moves the datagrams: the socket of udp.c, or the relay of routed.c. */
struct udp_carrier {
    void (*send)(struct udp_batch *batch); /* all of it; what is refused is lost */
    int (*receive)(struct udp *udp);       /* calls udp_heard; returns how many datagrams came */
    void (*watch)(struct udp *udp, bool on);
};

struct udp {
    struct transport transport;
    const struct udp_carrier *carrier;
    struct poller *poller;
    int fd;
    struct poller_watch *watch;
    struct poller_timer timer; /* always set; due when the earliest pipe is */
    bool polled;               /* threads poll: the descriptor is left to them */
    bool polled_lately;
    nsec idle_at; /* when to look whether they still do */
    struct socket_address address;
    uint32_t window;     /* frames of a pipe that the socket's buffer can hold */
    struct id_map pipes; /* struct udp_pipe by its id */
    struct list all;
    struct udp_counts counts;
    uint8_t *buffers; /* UDP_BATCH datagrams */
};

struct udp_link {
    struct link link;
    struct udp *udp;
    union {
        struct socket_address peer;   /* udp */
        struct relay_address program; /* routed */
    };
    bool lost;
};

/* What the two ends have in common. */
struct udp_pipe {
    struct list node;
    struct udp_link *link;
    struct doorbell *bell; /* borrowed */
    uint64_t id;           /* datagrams to us carry it */
    uint64_t peer;         /* datagrams from us carry it; 0 until it is known */
    nsec due;              /* when the timer calls back; NSEC_NEVER: not */
    unsigned tries;        /* in vain since the peer was last heard of */
    void (*heard)(struct udp_pipe *pipe, const struct udp_datagram *datagram);
    void (*late)(struct udp_pipe *pipe, nsec now); /* due has been reset */
};

MUST_CHECK int udp_pipe_open(struct udp_pipe *pipe, struct udp_link *link, struct doorbell *bell);
void udp_pipe_close(struct udp_pipe *pipe);
/* Another number than the random one it got. -EEXIST */
MUST_CHECK int udp_pipe_renumber(struct udp_pipe *pipe, uint64_t id);

/* A pipe whose two numbers both ends know by themselves. */
struct udp_numbers {
    uint64_t own;
    uint64_t peer;
};
MUST_CHECK int udp_outlet_open_numbered(struct link *link, struct doorbell *bell,
                                        const struct udp_numbers *numbers, struct outlet **outlet);
MUST_CHECK int udp_inlet_open_numbered(struct link *link, struct doorbell *bell,
                                       const struct udp_numbers *numbers, struct inlet **inlet);

/* Has late() called at that moment, or earlier if that was wanted before. */
void udp_pipe_wake(struct udp_pipe *pipe, nsec at);
/* When to try again, after so many tries in vain. */
nsec udp_pipe_again(const struct udp_pipe *pipe, nsec now);

/* Datagrams to one peer for one system call. What the socket refuses is lost, as
 * in the network. */
struct udp_batch {
    struct udp_pipe *pipe;
    unsigned count;
    struct mmsghdr messages[UDP_BATCH];
    struct iovec pieces[UDP_BATCH][2];
    uint8_t heads[UDP_BATCH][UDP_FRAME_SIZE];
};

void udp_batch_start(struct udp_batch *batch, struct udp_pipe *pipe);
void udp_batch_add(struct udp_batch *batch, const struct udp_datagram *frame, const uint8_t *body);
void udp_batch_send(struct udp_batch *batch);

/* The core of a transport: all but what carries its datagrams, which the caller then opens. */
MUST_CHECK int udp_core_open(struct udp *udp, const struct transport_ops *ops,
                             const struct udp_carrier *carrier,
                             const struct transport_config *config);
void udp_core_close(struct udp *udp);
/* The pipe that a datagram is for, and the datagram read; NULL: none, and it was counted. The
 * carrier looks whether it came from the pipe's peer, and calls heard(). */
struct udp_pipe *udp_pipe_of(struct udp *udp, const uint8_t *bytes, size_t size,
                             struct udp_datagram *datagram);

/* One datagram without a body. */
void udp_send(struct udp_pipe *pipe, const struct udp_datagram *datagram);

/* What the ops tables of both have in common. */
extern const struct pipe_ops udp_pipe_ops;
void udp_link_lost(struct link *link);
int udp_link_control(struct link *link, struct control *control);
int udp_progress(struct transport *transport);
int udp_arm(struct transport *transport);

int udp_outlet_open(struct link *link, struct doorbell *bell, struct parcel *offer,
                    struct outlet **outlet);
int udp_outlet_answer(struct outlet *outlet, struct parcel *answer);
void udp_outlet_close(struct outlet *outlet);
int udp_push(struct outlet *outlet, const struct frame_head *head, const struct iovec *pieces,
             unsigned piece_count);
bool udp_room(struct outlet *outlet, size_t size);
int udp_collect(struct outlet *outlet, struct acknowledgement *out, unsigned max);
size_t udp_outlet_owes(struct outlet *outlet);

int udp_inlet_open(struct link *link, struct doorbell *bell, struct parcel *offer,
                   struct parcel *answer, struct inlet **inlet);
void udp_inlet_close(struct inlet *inlet);
int udp_pull(struct inlet *inlet, struct frame *out, unsigned max);
bool udp_waits(struct inlet *inlet); /* would udp_pull return a frame? */
void udp_release(struct inlet *inlet, const struct frame *frame);
int udp_acknowledge(struct inlet *inlet, uint64_t token, int64_t status);
size_t udp_inlet_owes(struct inlet *inlet);
