#pragma once
/* crew: the threads on which the services of one process run functions and wait for child processes
 * (weft/work.h).
 *
 * Each operation that is under way has a thread of its own: a thread that is idle, or a new one. So
 * no operation waits for another, and a function that never returns delays nothing but the end of
 * its server. Threads stay until the crew closes; there are as many as there were operations under
 * way at once. They have the lowest priority of ordinary processes.
 *
 * All functions are called by the host's thread. */

#include "base/env.h"
#include "base/err.h"

struct crew;
struct crew_server; /* one server of the process */

/* `children` is the folder for child processes; NULL: no service runs any. If it is not NULL, the
 * keeper of child processes is forked here: call this while the process is still small
 * (child.h). */
MUST_CHECK enum err crew_open(struct crew **crew, const char *children, struct why *why);
void crew_close(struct crew *crew); /* all servers have been closed; NULL is allowed */

/* `ready` is called before done() of an operation is called. `late` is called if the end of the
 * server waits long for a function of that service. */
struct crew_events {
    void (*ready)(void *owner);
    void (*late)(void *owner, const char *service);
    void *owner;
};

MUST_CHECK enum err crew_server_open(struct crew_server **server, struct crew *crew, node_id number,
                                     const struct crew_events *events, struct why *why);
/* Cancels all operations, and waits until none uses the caller's memory. done() is not called. */
void crew_server_end(struct crew_server *server);
void crew_server_close(struct crew_server *server); /* after crew_server_end; NULL is allowed */

void crew_begin(struct crew_server *server, struct work_operation *operation);

/* Calls done() of the operations that have ended. True: there were some. */
bool crew_reap(struct crew *crew);
bool crew_waiting(const struct crew *crew); /* is there something to reap? */

/* Is readable when there may be something to reap; then call crew_clear. */
int crew_descriptor(const struct crew *crew);
void crew_clear(struct crew *crew);
