#pragma once
/* client_socket: the socket to which programs of this machine send requests for a node's services.
 * It is a Unix socket of sequenced packets, FOLDER/node-ID.socket. A request consists of the
 * service's number (two bytes, most significant first) and the bytes for the service; an answer has
 * only the bytes of the service. A program that names a missing service is disconnected. If a
 * program's socket does not accept an answer, the service gets an error.
 *
 * A program may ask for a channel (transport/ring/channel.h). From then on requests and answers go
 * through shared memory; the socket carries only wake-ups, and answers that are too long for the
 * channel. A process cannot wait for memory to change, so a host polls its channels once in every
 * pass. Malformed data in a channel disconnects that program and no other. */

#include <stdint.h>

#include "base/err.h"
#include "base/list.h"
#include "transport/wake/poller.h"

#define CLIENT_SOCKET_REQUEST_MAX (64 * 1024)
#define CLIENT_SOCKET_CLIENTS_MAX 64

struct client_socket;

/* Handles a request. A negative result disconnects the client. */
typedef int client_socket_request(void *owner, uint16_t service, uint64_t client, const void *bytes,
                                  uint32_t size);

/* The client has disconnected, or was disconnected. Its number is not used again. */
typedef void client_socket_gone(void *owner, uint64_t client);

/* The client has asked for a channel. Result 0: it uses the channel from now on; a negative errno:
 * it gets none and continues to use the socket. */
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
    bool asked;           /* a socket had a request since the host last cleared this */
};

void client_sockets_init(struct client_sockets *all);
/* Handles requests from all channels, a few of each. */
void client_sockets_poll(struct client_sockets *all);
/* Would client_sockets_poll find a request? */
bool client_sockets_waiting(const struct client_sockets *all);
/* Call arm before a sleep and disarm after it. In between, a socket becomes readable when its
 * channel gets a message. After arm the caller needs a barrier (doorbell_prepare of its own bell),
 * and then a last check of the channels. */
void client_sockets_arm(struct client_sockets *all);
void client_sockets_disarm(struct client_sockets *all);

/* Only the holder of the node's lock may call it, because it replaces a socket of this name, which
 * a dead process has left. */
MUST_CHECK int client_socket_open(struct client_socket **listener, struct client_sockets *all,
                                  struct poller *poller, const char *folder, uint32_t server,
                                  const struct client_socket_events *events, struct why *why);
void client_socket_close(struct client_socket *listener); /* removes the socket; NULL is allowed */

/* Returns 0; -EAGAIN: the client has not read earlier answers; -EPIPE: the client is gone. */
int client_socket_answer(struct client_socket *listener, uint64_t client, const void *bytes,
                         uint32_t size);
