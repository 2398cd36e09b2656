#pragma once
/* client_socket: where programs of this machine send requests to a node's services. A Unix socket
 * of sequenced packets, FOLDER/node-ID.socket; a request is the service's number (two bytes, most
 * significant first) and the service's own bytes, an answer is bytes. A program that names a
 * missing service is disconnected. If a program's socket does not accept an answer, the service
 * gets an error.
 *
 * A program may ask for a channel (transport/ring/channel.h): from then on requests and answers go
 * through shared memory, and the socket only rings. Memory cannot be waited for, so a host polls
 * its channels once in every pass. Malformed data in a channel disconnects that program and no
 * other. */

#include <stdint.h>

#include "base/err.h"
#include "base/list.h"
#include "transport/wake/poller.h"

#define CLIENT_SOCKET_REQUEST_MAX (64 * 1024)
#define CLIENT_SOCKET_CLIENTS_MAX 64

struct client_socket;

/* Negative: disconnect the client. */
typedef int client_socket_request(void *owner, uint16_t service, uint64_t client, const void *bytes,
                                  uint32_t size);

/* The client has disconnected, or was disconnected. Its number is not used again. */
typedef void client_socket_gone(void *owner, uint64_t client);

/* The client uses a channel from now on (0), or cannot (a negative errno) and uses the socket. */
typedef void client_socket_shared(void *owner, uint64_t client, int result);

struct client_socket_events {
    client_socket_request *request;
    client_socket_gone *gone;
    client_socket_shared *shared; /* or NULL */
    void *owner;
};

/* The client sockets of one host. */
struct client_sockets {
    struct list channels; /* clients that have a channel */
};

void client_sockets_init(struct client_sockets *all);
/* Handles requests from all channels, a few of each. */
void client_sockets_poll(struct client_sockets *all);
/* Would client_sockets_poll find one? */
bool client_sockets_waiting(const struct client_sockets *all);
/* Call them around a sleep: in between, a socket becomes readable when its channel gets a message.
 * Between arm and the last poll the caller must have a barrier: doorbell_prepare of its own
 * bell. */
void client_sockets_arm(struct client_sockets *all);
void client_sockets_disarm(struct client_sockets *all);

/* Only the holder of the node's lock may call it: a socket left by a dead process is replaced. */
MUST_CHECK int client_socket_open(struct client_socket **listener, struct client_sockets *all,
                                  struct poller *poller, const char *folder, uint32_t server,
                                  const struct client_socket_events *events, struct why *why);
void client_socket_close(struct client_socket *listener); /* removes the socket; NULL is allowed */

/* Returns 0; -EAGAIN: the client has not read earlier answers; -EPIPE: it is gone. */
int client_socket_answer(struct client_socket *listener, uint64_t client, const void *bytes,
                         uint32_t size);
