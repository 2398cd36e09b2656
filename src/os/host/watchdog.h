#pragma once
/* watchdog: a thread that names functions of services that do not return.
 *
 * A function that never returns blocks the thread of its process for good: its servers answer
 * nothing any more, and their neighbours see only silence. This thread looks at the pulse of each
 * server (node.h) every quarter of a second. It says in the server's log which function hangs, and
 * writes that into a file FOLDER/node-ID.stuck, for `weft status` and for the watchdogs of the
 * neighbours on this machine, which say it in their logs when the link is silent. When the function
 * returns, the file is removed. */

#include "node/node.h"

struct watchdog;

/* A server as the watchdog sees it. */
struct watchdog_server {
    /* NODE_NONE: its place is unknown. Written by the host's thread before the first call of a
     * service, read by the watchdog; relaxed, because the watchdog has nothing to report about this
     * server before. */
    _Atomic node_id server;
    struct node_pulse pulse;
    /* Ports that went down after they were up, a bit each. The host's thread writes it, the
     * watchdog reads it; relaxed, because it carries nothing but itself. */
    _Atomic port_set silent;
    struct {
        uint64_t call;    /* at the last look */
        unsigned looks;   /* that found the same call */
        bool told;        /* that it hangs */
        int64_t since;    /* wall-clock time of the first look at this call */
        port_set told_of; /* ports whose neighbour was named */
    } seen;               /* the watchdog's thread only */
};

struct watchdog_config {
    const char *folder;
    const struct plan *plan;
    struct watchdog_server *servers; /* borrowed, like all pointers here */
    uint32_t server_count;
    /* Called by the watchdog's thread. */
    void (*said)(void *owner, node_id server, const char *text);
    void *owner;
};

MUST_CHECK enum err watchdog_start(struct watchdog **watchdog, const struct watchdog_config *config,
                                   struct why *why);
void watchdog_stop(struct watchdog *watchdog); /* NULL is allowed */

/* What the file of a server says. */
struct watchdog_stuck {
    char service[SERVICE_NAME_MAX + 1];
    char function[SERVICE_NAME_MAX + 1];
    int64_t since; /* wall-clock time, nanoseconds */
    int pid;       /* of the process that wrote it; if it has ended, the file is left over */
};

/* False: the server has no such file, or it is malformed. */
bool watchdog_read(const char *folder, node_id server, struct watchdog_stuck *stuck);
