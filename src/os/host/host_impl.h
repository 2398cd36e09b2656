#pragma once
/* host_impl: the nodes of one process, for the files of this folder.
 *
 *   host_env.c   the world as a node sees it while it is stepped
 *   host.c       the nodes and their ports: beginning, what happens to them, end
 *   host_pass.c  the pass: a node that has something to do is stepped
 *   host_wait.c  the loop, and how it waits between passes
 *
 * Each file calls only files above it in this list.
 *
 * A node is stepped when it is in the ready queue, which it enters when something came for it, when
 * a port that was busy is so no longer, when its timer is due, when a request came, and when its
 * last step left something to do. Invariants: a node is in the queue iff `ready`; `due` is no later
 * than the earliest timer of a node; starved_count is the number of nodes with starved ports.
 *
 * One thread; nothing here is shared. */

#include "os/host/client_socket.h"
#include "os/host/host.h"
#include "os/host/port.h"
#include "transport/wake/doorbell.h"

/* Before it sleeps; longer than others have it, for answers come through many processes. */
#define YIELD_NSEC      (200 * 1000LL)
#define YIELD_REST_NSEC (20 * 1000 * 1000LL) /* the first, after a yield that was a mistake */

struct host_node {
    struct env env;
    struct node_watcher watcher; /* for the log */
    struct host *host;
    node_id server;
    uint32_t index;
    struct node *node;            /* NULL: it does not know its place yet */
    struct port *ports[PORT_MAX]; /* NULL: no cable */
    port_set carriers;            /* of cables */
    port_set starved;             /* were told that there is no room */
    nsec due;
    bool ready;
    struct client_socket *client_socket;
};

struct host {
    struct host_config config;
    struct lock lock;
    struct poller *poller;
    struct doorbell bell;
    struct poller_watch *bell_watch;
    struct packets *packets;
    struct client_sockets client_sockets;
    struct cables *cables;         /* NULL: all neighbours live here */
    struct commission *commission; /* NULL: the servers know their places */
    struct host_node *nodes;
    uint32_t *index_of;    /* of the plan's servers; UINT32_MAX: not here */
    struct port **outside; /* the cables ... */
    uint32_t outside_count;
    uint32_t *queue; /* ready nodes, a ring */
    uint32_t queue_head, queue_tail;
    uint32_t starved_count;
    nsec now;
    nsec due;
    nsec poll_at;
    nsec yield_again; /* not before this moment ... */
    nsec yield_rest;  /* ... and how long not, the next time */
    bool eager;       /* somebody may answer soon: do not sleep yet */
};

/* host_env.c: what a node may ask of its env. */
extern const struct env_ops host_ops;

/* host.c: a machine is told its place, or what is wrong with its cables. */
void host_placed(struct host *host, struct host_node *node, node_id vertex,
                 const struct placement *placement);

/* host_pass.c: polls all but a transport that moves nothing by itself. */
bool host_poll(struct host *host);

static inline void node_ready(struct host_node *node)
{
    struct host *host = node->host;
    if (node->ready)
        return;
    node->ready = true;
    host->queue[host->queue_tail++ % host->config.server_count] = node->index;
}

static inline struct host_node *host_find(struct host *host, node_id server)
{
    if (host->config.machine)
        return &host->nodes[0];
    uint32_t index = host->index_of[server];
    return index == UINT32_MAX ? NULL : &host->nodes[index];
}

/* A cable may be in a port that the plan does not have. */
static inline bool node_has(const struct host_node *node, unsigned number)
{
    return node->node && number < node->host->config.plan->port_count;
}
