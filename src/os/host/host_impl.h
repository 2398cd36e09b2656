#pragma once
/* host_impl: the nodes of one process, for the files of this folder.
 *
 *   host_slow.c  for how long a function of a service ran
 *   host_descriptors.c  the descriptors of the servers' services
 *   host_env.c   the environment of a node while it is stepped
 *   host_disk.c  the files of the servers' services
 *   host_work.c  the functions that services run on threads
 *   host.c       the nodes and their ports: opening, events, closing
 *   host_pass.c  the pass: steps the nodes that have work
 *   host_wait.c  the loop, and how it waits between passes
 *
 * Each file calls only files above it in this list.
 *
 * A node is stepped when it is in the ready queue. It enters the queue when packets arrived for it,
 * when a busy port has room again, when its timer is due, when a request came, and when its last
 * step left work. Invariants: a node is in the queue iff `ready`; `due` is no later than the
 * earliest timer of a node; starved_count is the number of nodes with starved ports.
 *
 * One thread; nothing here is shared, except what watchdog.h says. */

#include "os/data/files.h"
#include "os/descriptor/descriptors.h"
#include "os/host/client_socket.h"
#include "os/host/host.h"
#include "os/host/port.h"
#include "os/host/watchdog.h"
#include "os/work/crew.h"
#include "transport/wake/doorbell.h"

/* How long it yields before it sleeps; longer than elsewhere, because answers pass through many
 * processes. */
#define YIELD_NSEC      (200 * 1000LL)
#define YIELD_REST_NSEC (20 * 1000 * 1000LL) /* pause after the first yield that was a mistake */

/* What the host's thread has used so far. */
struct host_usage {
    nsec processor;
    nsec delay; /* time for which it could have run, but another process did */
};

struct host_node {
    struct env env;
    struct node_watcher watcher; /* for the log */
    struct host *host;
    node_id server;
    uint32_t index;
    struct node *node;            /* NULL: its place is unknown */
    struct port *ports[PORT_MAX]; /* NULL: no cable */
    port_set carriers;            /* of cables */
    port_set starved;             /* ports whose room() was 0 */
    nsec due;
    bool ready;
    struct client_socket *client_socket;
    struct files_server *files; /* NULL: no service uses the disk */
    struct crew_server *crew;   /* NULL: no service uses weft/work.h */
    struct watchdog_server *watched;
    nsec lines_since;        /* lines about programs in the log: when they began to be counted, */
    uint32_t lines;          /* ... how many since then, */
    uint32_t lines_left_out; /* ... and how many were left out */
};

struct host {
    struct host_config config;
    struct lock lock;
    struct poller *poller;
    struct doorbell bell;
    struct poller_watch *bell_watch;
    struct packets *packets;
    struct client_sockets client_sockets;
    struct files *files;             /* NULL: no service uses the disk */
    struct descriptors *descriptors; /* NULL: no service uses any */
    struct poller_watch *files_watches[2];
    struct crew *crew; /* NULL: no service uses weft/work.h */
    struct poller_watch *crew_watch;
    struct watchdog_server *watched; /* by index of the node */
    struct watchdog *watchdog;       /* NULL: none */
    pid_t thread;                    /* whose usage it is; 0: of none yet */
    int delays;                      /* the file with its delays; -1: there is none */
    struct host_usage usage;         /* at the last look, ... */
    nsec looked_at;                  /* ... at this moment, after which the thread */
    nsec awake;                      /* ... was awake for this long until `woke_at`, */
    nsec woke_at;                    /* ... and since then, */
    bool asleep;                     /* ... unless it sleeps */
    struct cables *cables;           /* NULL: all neighbours are in this process */
    struct commission *commission;   /* NULL: the servers know their places */
    struct host_node *nodes;
    uint32_t *index_of;    /* of the plan's servers; UINT32_MAX: not in this process */
    struct port **outside; /* the cables */
    uint32_t outside_count;
    uint32_t *queue; /* ready nodes, a ring */
    uint32_t queue_head, queue_tail;
    uint32_t starved_count;
    nsec now;
    nsec due;
    nsec poll_at;      /* when the sockets are polled next */
    nsec listen_until; /* until then programs may send requests by socket: see host_wait.c */
    nsec yield_again;  /* do not yield before this moment */
    nsec yield_rest;   /* the length of the next pause */
    bool failed;       /* a server did not start: their folders are withdrawn */
    bool eager;        /* an answer may come soon: do not sleep yet */
};

/* host_slow.c */
void host_usage_begin(struct host *host); /* this thread runs it from now on */
void host_usage_end(struct host *host);
void host_usage_rest(struct host *host); /* it is about to sleep */
void host_usage_look(struct host *host); /* now and then, if it does not sleep; between calls */
/* Reads the clock; the thread does not sleep any more. */
static inline nsec host_awake(struct host *host)
{
    nsec now = clock_now();
    if (host->asleep)
        host->woke_at = now;
    host->asleep = false;
    return now;
}
/* A call of a service took that many ticks: see env_ops. */
nsec host_ran(struct host *host, uint64_t ticks);

/* host_env.c: the functions of a node's env. */
extern const struct env_ops host_ops, host_disk_ops;

/* host_descriptors.c: their functions in a node's env; and those of all nodes of a process. */
extern const struct env_descriptor_ops host_descriptor_ops;
MUST_CHECK enum err host_descriptors_open(struct host *host, struct why *why);
void host_descriptors_close(struct host *host); /* after all nodes */

/* host_disk.c: opens the files of a node's services, if one of them uses the disk. */
MUST_CHECK enum err host_disk_open(struct host_node *node, struct why *why);
void host_disk_close(struct host_node *node); /* after its node */
void host_disk_end(struct host *host);        /* after all nodes */

/* host_work.c: prepares threads for a node's services, if one of them uses weft/work.h. */
MUST_CHECK enum err host_work_open(struct host_node *node, struct why *why);
void host_work_close(struct host_node *node); /* after its node */
void host_work_end(struct host *host);        /* after all nodes */

/* host.c: a machine has got its place, or new findings about its cables. */
void host_placed(struct host *host, struct host_node *node, node_id vertex,
                 const struct placement *placement);

/* host_pass.c: polls everything except a transport that needs cables_progress. */
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

/* Completes and submits operations of disks. */
static inline void host_disk_poll(struct host *host)
{
    if (files_waiting(host->files))
        files_reap(host->files);
    files_flush(host->files);
}

/* A cable may be in a port that the plan does not have. */
static inline bool node_has(const struct host_node *node, unsigned number)
{
    return node->node && number < node->host->config.plan->port_count;
}
