#pragma once
/* cluster_ask: requests to services of servers on this machine, over their sockets (wire/attach.h).
 * No call waits past its deadline. */

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "services/control/control_wire.h"

#define CLUSTER_MESSAGE_MAX 65536

/* Connects to a server's socket and sends the hello. -ECONNREFUSED or -ENOENT: no process
 * listens. */
MUST_CHECK int cluster_connect(const char *folder, node_id server);
/* Sends a request with ticket 1. */
MUST_CHECK int cluster_tell(int handle, uint16_t service, const void *bytes, size_t size);
/* Returns the size of the next answer to a request; -ETIMEDOUT; -ECONNRESET: the server is gone;
 * -EPROTONOSUPPORT: the server has another version; -EUSERS, -EMFILE: it accepts no more programs;
 * -EADDRNOTAVAIL: it does not have the service. */
MUST_CHECK int cluster_hear(int handle, void *bytes, size_t size, int64_t deadline);

/* One request to one server and its answer. */
struct cluster_ask {
    node_id server;
    uint16_t service;
    const void *request;
    size_t request_size;
    void *answer; /* the caller's buffer of answer_size bytes */
    size_t answer_size;
    int result; /* size of the answer, or a negative errno as above */
};

/* Sends the requests, many at once, and waits for the answers. */
void cluster_ask(const char *folder, struct cluster_ask *asks, uint32_t count, int64_t deadline);

/* Sends a request to control; `in` is then at the rest of the answer, to be read by its kind.
 * Returns 0 or a negative errno; -EPROTO: the server has another version. `bytes` is the caller's
 * buffer of CONTROL_ANSWER_MAX bytes. */
MUST_CHECK int cluster_control(const char *folder, node_id server,
                               const struct control_request *request, uint8_t *bytes,
                               struct reader *in, int64_t deadline);
