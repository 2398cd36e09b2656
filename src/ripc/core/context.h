#pragma once
/* context: one open ripc instance of a process, with all its state.
 *
 * One lock protects all of it. The keeper, a background thread, waits for rare events (connections,
 * names, deaths) and handles them under the lock. Frequent work is done by the calling thread
 * itself. A context opened with RIPC_MANUAL has no keeper: ripc_progress and every waiting call do
 * its work. */

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
#include "transport/fork/owner.h"
#include "transport/lifeline/lifeline.h"
#include "transport/transport.h"
#include "transport/wake/lock.h"
#include "transport/wake/poller.h"
#include "transport/wake/thread.h"

#define CONTEXT_TRANSPORT_MAX 4

struct ripc {
    struct owner owner; /* the process that opened the context; constant */
    struct lock lock;
    const struct events *events; /* the table of handlers; constant */
    struct poller *poller;
    struct lifelines *lines;
    struct names *names;
    struct pool *pool;
    struct trace *trace; /* NULL if its file could not be created; the context then cannot be
                          * traced */
    struct thread keeper;
    bool manual;
    bool closing; /* under the lock; the keeper ends when it sees this */
    bool adrift;  /* the connection to the node is lost; reconnecting */

    struct context_address address;
    char folder[DOMAIN_PATH_MAX];
    uint8_t card[LIFELINE_CARD_MAX]; /* descriptions of our transports, sent to peers */
    size_t card_size;
    uint8_t key[32];
    bool has_key;

    struct transport *transports[CONTEXT_TRANSPORT_MAX]; /* cheapest first */
    unsigned transport_count;
    unsigned link_counts[CONTEXT_TRANSPORT_MAX]; /* number of peers that each transport reaches
                                                  * now */
    /* moved_links: links whose transport performs one-sided access only in progress(). seen_links:
     * those of them on which the writes of peers also arrive only in progress(). Written under the
     * lock; read without it, relaxed, to decide whether to take the lock. */
    _Atomic unsigned moved_links;
    _Atomic unsigned seen_links;
    /* Bells that transports ring when writes of peers may have arrived; linked by
     * doorbell.polled. */
    struct list bells;
    unsigned reach_count;      /* number of open reaches (access to memory of peers) */
    _Atomic unsigned reaching; /* running calls of reach_progress in a context without a keeper;
                                * relaxed */

    struct list peers;
    struct id_map services;
    struct marks *marks;          /* of our return buffers; NULL until the first is made */
    struct windows windows;       /* for all services */
    struct ripc_service *notices; /* service that receives notifications; NULL until a notice is
                                   * opened */
    struct id_map notice_map;     /* by token */
    struct list notices_due;      /* notices whose callback has to be called */
    bool notices_opening;         /* a thread waits for the id of the service `notices` */
    bool notices_closing;
    struct thread notifier;
    struct id_map grants; /* grants that we gave, by key */
    struct id_map ghosts; /* revoked grants to whose memory peers may still write, by key */
    struct poller_timer ghost_timer;
    struct poller_timer moving_timer;  /* set while ids that move are not bound again */
    struct poller_timer resolve_timer; /* always set; see remotes_timer_open */
    uint64_t pipe_last;                /* number of the last pipe that we opened */
    nsec spin;
    nsec yield;
    struct ripc_stats stats;
};

/* May this process use the context? Not if it is a child of the process that opened it: then every
 * call returns -ECHILD and changes nothing. */
static inline bool context_is_ours(const struct ripc *ripc)
{
    return owner_is_here(&ripc->owner);
}

/* Closes the regions of an extent that is freed. */
extern const struct pool_events context_pool_events;

/* Returns the region of the transport for an extent; opens it when first used. Negative errno. */
int context_region(struct ripc *ripc, unsigned transport, struct extent *extent,
                   struct region **region);

/* Returns the region of the transport for any memory of ours that the transport will read or write,
 * or NULL if it needs no region. If the region had to be opened for this one use, it is also
 * returned as `temporary` (else NULL) and the caller closes it. Negative errno. */
int context_region_for(struct ripc *ripc, unsigned transport, void *base, size_t size,
                       struct region **region, struct region **temporary);

/* Counts a link of the transport that was opened (1) or closed (-1). */
void context_count_link(struct ripc *ripc, unsigned transport, int change);

/* Rings the bells of all services, after an event that any of them may be waiting for. */
void context_wake(struct ripc *ripc);
