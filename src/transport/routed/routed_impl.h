#pragma once
/* routed_impl: what the two files of the routed transport share.
 *   routed.c         datagrams through the relay, links
 *   routed_memory.c  regions of ours that peers access, and access to theirs */

#include "transport/datagram/datagram.h"
#include "transport/routed/routed.h"

struct routed {
    struct datagram_core core;
    struct attachment *attachment;
    uint32_t number; /* number of the next datagram */
    unsigned next;   /* the slot that is overwritten next */
    struct part_slot *slots;
    uint8_t *whole; /* a reassembled datagram */
    struct list links;
    struct list regions;
    struct id_map keys;   /* struct routed_region by each of its keys */
    struct doorbell bell; /* for pipes on which no thread sleeps */
    void *bell_page;      /* its memory, suitably aligned */
};

struct routed_link {
    struct datagram_link datagrams;
    struct relay_address program; /* the peer's address */
    struct list node;
    uint64_t number; /* the lifeline's number */
    /* The pipes that carry requests and answers about memory in order; NULL once closed. */
    struct outlet *outlet;
    struct inlet *inlet;
    struct list asked;  /* our struct jobs, in order; the first may be half sent */
    struct list waits;  /* our struct jobs that were sent and wait for completion */
    struct list served; /* the peer's struct jobs, in order */
    unsigned served_count;
    uint64_t last; /* number of our last job */
    bool working;
};

extern const struct memory_ops routed_memory_ops;
MUST_CHECK int routed_memory_open(struct routed_link *link);
void routed_memory_work(struct routed_link *link); /* something arrived or is to be sent */
void routed_memory_lost(struct routed_link *link); /* completes all jobs with -EPIPE */
void routed_memory_close(struct routed_link *link);
