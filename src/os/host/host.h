#pragma once
/* host: the real world of the nodes of one process. One thread steps them all; links between two of
 * them hand packets over by pointer, links to others are cables.
 *
 * A pass looks at all that may have something, and steps whoever has. A pass that finds nothing is
 * followed by another for a few microseconds, then by yielding, then by sleep, until a frame or a
 * request comes or the next timer is due; after work that nobody waits for (hellos) it sleeps at
 * once, and hellos of others do not wake it: it finds them when it sends its own. */

#include <signal.h>

#include "node/node.h"
#include "transport/clock.h"

struct host;
struct placement;
struct transport_ops;

/* A machine that finds its place in the plan by the cables in its ports (os/host/commission.h).
 * Names of machines are their serial numbers: where listeners of cables meet. */
struct host_machine {
    uint32_t serial;
    struct {
        uint32_t serial;
        uint32_t port; /* PORT_NONE: nothing is plugged in */
    } cables[PORT_MAX];
    /* Told of its vertex and of what is wrong with the cables, whenever that changes; the vertex is
     * not the plan's if there are too many servers. The first time, if it did not know its place,
     * the node is opened there with that incarnation, unless the answer is false. */
    bool (*placed)(void *owner, node_id vertex, const struct placement *placement, uint64_t *life);
    void (*failed)(void *owner, const char *why); /* it could not be opened there */
};

struct host_config {
    const struct plan *plan; /* borrowed */
    const node_id *servers;  /* that live here ... */
    const uint64_t *lives;   /* ... and their incarnations */
    uint32_t server_count;   /* at least 1 */
    /* One server, at these cables, and NODE_NONE if it does not know its place; NULL: all know
     * theirs, and the cables are those of the plan. */
    const struct host_machine *machine;
    const char *folder;                    /* for requests: by a path that fits a socket's name */
    const char *links;                     /* for cables, likewise */
    const struct transport_ops *transport; /* of cables */
    const char *address;           /* of this machine, for transports that need one; or NULL */
    uint64_t rate_bps;             /* of every link; 0: as fast as it goes */
    nsec hello_nsec, silence_nsec; /* 0: the node's own choice */
    bool separate;
    const struct weft_service *const *services; /* ends with NULL; borrowed */
    nsec spin, yield; /* before it sleeps; 0: its own choice, -1: not at all */
    /* There are more processes than processors, and a yield lets only some of them run: the
     * scheduler keeps sessions in groups (automatic groups), or our processes run before all
     * ordinary ones, which get nothing until we sleep. If yields are futile then, we sleep early.
     */
    bool yield_is_partial;
    nsec turn; /* who is busy yields after so long; 0: never, for the scheduler sees to it */
    /* Something happened at that server that a person may want to read; or NULL. */
    void (*said)(void *owner, node_id server, const char *text);
    void *owner;
};

MUST_CHECK enum err host_open(struct host **host, const struct host_config *config,
                              struct why *why);
void host_close(struct host *host);

/* One look at everything. True: something was done. */
bool host_pass(struct host *host);
/* Passes and waits until `stop` is set (by a signal's handler, or a pass) or the moment comes. */
void host_run(struct host *host, const volatile sig_atomic_t *stop, nsec until);
/* Ends the sleep of host_run. For signal handlers, and other threads. */
void host_wake(struct host *host);

/* A request as if of a local program; the answer goes nowhere. -ENOENT: no such service. */
int host_request(struct host *host, node_id server, uint16_t service, const void *bytes,
                 uint32_t size);

struct node *host_node(struct host *host, node_id server); /* NULL: not here */
struct port;
struct port *host_port(struct host *host, node_id server, unsigned number);
