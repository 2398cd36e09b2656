#pragma once
/* context: one process's door to the others, and everything behind it.
 *
 * One lock guards all of it. The keeper, a thread, waits for whatever is rare
 * (connections, names, deaths) and handles it under the lock; whatever is
 * frequent is done by the calling thread itself. A context opened RIPC_MANUAL
 * has no keeper: ripc_progress and every waiting call step in. */

#include <stdbool.h>
#include <stdint.h>

#include <weft/ripc.h>

#include "base/id_map.h"
#include "base/list.h"
#include "ripc/core/events.h"
#include "ripc/names/names.h"
#include "ripc/pool/pool.h"
#include "ripc/pool/window.h"
#include "ripc/trace/trace.h"
#include "transport/domain.h"
#include "transport/lifeline/lifeline.h"
#include "transport/transport.h"
#include "transport/wake/lock.h"
#include "transport/wake/poller.h"
#include "transport/wake/thread.h"

#define CONTEXT_TRANSPORT_MAX 4

struct ripc {
    struct lock lock;
    const struct events *events; /* who hears of what; constant */
    struct poller *poller;
    struct lifelines *lines;
    struct names *names;
    struct pool *pool;
    struct trace *trace; /* NULL if its file could not be made: nobody can watch then */
    struct thread keeper;
    bool manual;
    bool closing; /* under the lock; the keeper ends when it sees it */
    bool adrift;  /* our server's node is gone, and called again */

    struct context_address address;
    char folder[DOMAIN_PATH_MAX];
    uint8_t card[LIFELINE_CARD_MAX]; /* our transports' descriptions */
    size_t card_size;
    uint8_t key[32];
    bool has_key;

    struct transport *transports[CONTEXT_TRANSPORT_MAX]; /* cheapest first */
    unsigned transport_count;
    unsigned link_counts[CONTEXT_TRANSPORT_MAX]; /* peers that each reaches now */
    /* Of those, links whose one-sided access moves only by progress(), and those whose peers'
     * writes arrive only by it, too. Written under the lock; read without it, relaxed, by who
     * asks whether to take it. */
    _Atomic unsigned moved_links;
    _Atomic unsigned seen_links;
    struct list bells;         /* struct doorbell.polled, for the transports */
    unsigned reach_count;      /* of peers' memory, open */
    _Atomic unsigned reaching; /* calls of reach_progress without a keeper; relaxed */

    struct list peers;
    struct id_map services;
    struct windows windows;       /* for all services */
    struct ripc_service *notices; /* where notifications arrive; NULL until one is opened */
    struct id_map notice_map;     /* by token */
    struct list notices_due;      /* to be called back */
    bool notices_opening;         /* a thread waits for its name */
    bool notices_closing;
    struct thread notifier;
    struct id_map grants; /* that we gave, by key */
    struct id_map ghosts; /* of those, void ones that peers may still write to, by key */
    struct poller_timer ghost_timer;
    uint64_t pipe_last; /* number of the last pipe we opened */
    nsec spin;
    nsec yield;
    struct ripc_stats stats;
};

/* Closes the regions of memory that goes. */
extern const struct pool_events context_pool_events;

/* The region of the transport for memory that lies in the extent; made when
 * first asked for. Negative errno. */
int context_region(struct ripc *ripc, unsigned transport, struct extent *extent,
                   struct region **region);

/* The region of the transport for any memory of ours that it is to read from or
 * write to: NULL where it needs none, `temporary` (else NULL) where it was made for
 * this once: the caller closes it. Negative errno. */
int context_region_for(struct ripc *ripc, unsigned transport, void *base, size_t size,
                       struct region **region, struct region **temporary);

/* A link of the transport was opened (1) or closed (-1). */
void context_count_link(struct ripc *ripc, unsigned transport, int change);

/* Rings the bells of all services: something happened that anybody may wait for. */
void context_wake(struct ripc *ripc);
