#pragma once
/* routed_impl: what the two files of the routed transport share.
 *   routed.c         datagrams through the relay, links
 *   routed_memory.c  regions of ours that peers may reach, and reaching theirs */

#include "transport/datagram/datagram.h"
#include "transport/routed/routed.h"

struct routed {
    struct datagram_core core;
    struct attachment *attachment;
    uint32_t number; /* of the next datagram */
    unsigned next;   /* of the slots to be overwritten */
    struct part_slot *slots;
    uint8_t *whole; /* a datagram put together */
    struct list links;
    struct list regions;
    struct id_map keys;   /* struct routed_region by each of its keys */
    struct doorbell bell; /* of pipes that nobody sleeps on */
    void *bell_page;      /* its memory, aligned as it wants it */
};

struct routed_link {
    struct datagram_link datagrams;
    struct relay_address program; /* the peer */
    struct list node;
    uint64_t number; /* of the lifeline */
    /* Requests and answers about memory, in order; NULL once closed. */
    struct outlet *outlet;
    struct inlet *inlet;
    struct list asked;  /* struct job of ours, in order; the first may be half said */
    struct list waits;  /* struct job of ours that were said, and wait for their end */
    struct list served; /* struct job of the peer's, in order */
    unsigned served_count;
    uint64_t last; /* the number of our last job */
    bool working;
};

extern const struct memory_ops routed_memory_ops;
MUST_CHECK int routed_memory_open(struct routed_link *link);
void routed_memory_work(struct routed_link *link); /* something came, or there is something to do */
void routed_memory_lost(struct routed_link *link); /* completes all with -EPIPE */
void routed_memory_close(struct routed_link *link);
