#pragma once
/* host: runs the nodes of one process in the real world. One thread steps them all; links between
 * two of them pass packets by pointer, links to nodes of other processes are cables.
 *
 * A pass polls all sources of work, and steps the nodes that have some. While passes find nothing,
 * the host repeats them for a few microseconds, then yields, then sleeps until a frame or a request
 * arrives or the next timer is due. After work that is not urgent (hellos) it sleeps at once, and
 * hellos of neighbours do not wake it: it finds them when it sends its own. */

#include <signal.h>

#include "node/node.h"
#include "transport/clock.h"

struct host;
struct placement;
struct transport_ops;

/* A machine that finds its place in the plan by the cables in its ports (os/host/commission.h).
 * Machines are named by their serial numbers; the listeners of cables use these names. */
struct host_machine {
    uint32_t serial;
    struct {
        uint32_t serial;
        uint32_t port; /* PORT_NONE: nothing is plugged in */
    } cables[PORT_MAX];
    /* Called with its vertex and the findings about the cables, whenever they change; the vertex is
     * outside the plan if there are too many servers. The first time, if the place was unknown
     * before, the node is opened there with incarnation `life`, unless the callback returns
     * false. */
    bool (*placed)(void *owner, node_id vertex, const struct placement *placement, uint64_t *life);
    void (*failed)(void *owner, const char *why); /* the node could not be opened there */
};

/* Where the services of the servers have their files (os/data/data_folder.h). */
struct host_data {
    const char *folder; /* the data directory; NULL: services that use the disk get -ENODEV */
    uint64_t cluster;
    const char *topology;
    bool threads; /* do not use io_uring */
};

struct host_config {
    const struct plan *plan; /* borrowed */
    const node_id *servers;  /* that this process runs ... */
    const uint64_t *lives;   /* ... and their incarnations */
    uint32_t server_count;   /* at least 1 */
    /* If not NULL: the process runs one server with these cables, and its number is NODE_NONE if
     * its place is unknown. NULL: all servers know their places, and the cables are those of the
     * plan. */
    const struct host_machine *machine;
    uint32_t clients_max; /* programs that may be attached to one server; 0: the default */
    const char *folder;   /* for requests: a path short enough for a socket */
    const char *links;    /* for cables, the same */
    const struct transport_ops *transport; /* of cables */
    const char *address;           /* of this machine, for transports that need one; or NULL */
    uint64_t rate_bps;             /* of every link; 0: no limit */
    nsec hello_nsec, silence_nsec; /* 0: the node's default */
    bool separate;
    const struct weft_service *const *services; /* ends with NULL; borrowed */
    struct host_data data;
    const struct configuration *configuration; /* of the services; NULL: the defaults; borrowed */
    uint64_t machine_memory; /* bytes that the services of a server may take; 0: no limit */
    nsec spin, yield;        /* before it sleeps; 0: the default, -1: not at all */
    /* There are more processes than processors, and a yield lets only some of them run: the
     * scheduler groups processes by session (autogroups), or our processes have priority over all
     * ordinary ones, which run only while we sleep. If yields are futile then, we sleep early.
     */
    bool yield_is_partial;
    bool watchdog; /* names functions that do not return, in `folder` too: watchdog.h */
    nsec turn;     /* a busy host yields after this long; 0: never: the scheduler does it */
    /* Reports an event at that server for the log; or NULL. */
    void (*said)(void *owner, node_id server, const char *text);
    void *owner;
};

MUST_CHECK enum err host_open(struct host **host, const struct host_config *config,
                              struct why *why);
void host_close(struct host *host);

/* Polls everything once. True: something was done. */
bool host_pass(struct host *host);
/* Makes passes and waits until `stop` is set (by a signal handler, or in a pass) or until that
 * moment. */
void host_run(struct host *host, const volatile sig_atomic_t *stop, nsec until);
/* Ends the sleep of host_run. For signal handlers and other threads. */
void host_wake(struct host *host);

/* Makes a request like a local program; the answer is discarded. -ENOENT: no such service. */
int host_request(struct host *host, node_id server, uint16_t service, const void *bytes,
                 uint32_t size);

struct node *host_node(struct host *host, node_id server); /* NULL: not in this process */
struct port;
struct port *host_port(struct host *host, node_id server, unsigned number);
