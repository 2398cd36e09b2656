#pragma once
/* client_socket: where programs of this machine ask a node's services something. A Unix socket of
 * sequenced packets, FOLDER/node-ID.socket; a request is the service's number (two bytes, the
 * highest first) and the service's own bytes, an answer is bytes. A program that asks for a service
 * that is not there is hung up on; of an answer that its socket does not take the service is told.
 *
 * A program may ask for a channel (transport/ring/channel.h): from then on requests come and
 * answers go through shared memory, and the socket only rings. Memory is looked at, not waited for:
 * the sockets of a host are, once in every pass. Nonsense in it ends that program's attachment and
 * no other. */

#include <stdint.h>

#include "base/err.h"
#include "base/list.h"
#include "transport/wake/poller.h"

#define CLIENT_SOCKET_REQUEST_MAX (64 * 1024)
#define CLIENT_SOCKET_CLIENTS_MAX 64

struct client_socket;

/* Negative: hang up. */
typedef int client_socket_request(void *owner, uint16_t service, uint64_t client, const void *bytes,
                                  uint32_t size);

/* The client has hung up, or was hung up on. Its number is not used again. */
typedef void client_socket_gone(void *owner, uint64_t client);

/* It talks through memory from here on (0), or cannot (a negative errno) and uses the socket. */
typedef void client_socket_shared(void *owner, uint64_t client, int result);

struct client_socket_events {
    client_socket_request *request;
    client_socket_gone *gone;
    client_socket_shared *shared; /* or NULL */
    void *owner;
};

/* The client sockets of one host. */
struct client_sockets {
    struct list channels; /* clients that have one */
};

void client_sockets_init(struct client_sockets *all);
/* Takes requests from all channels, a few of each. */
void client_sockets_poll(struct client_sockets *all);
bool client_sockets_waiting(const struct client_sockets *all); /* would it find one? */
/* Around a sleep: then sockets become readable when something is put into a channel. Between arm
 * and the last look stands a barrier, which is the caller's: doorbell_prepare of his own bell. */
void client_sockets_arm(struct client_sockets *all);
void client_sockets_disarm(struct client_sockets *all);

/* Whoever holds the node's lock may call it: a socket that a dead process left is replaced. */
MUST_CHECK int client_socket_open(struct client_socket **listener, struct client_sockets *all,
                                  struct poller *poller, const char *folder, uint32_t server,
                                  const struct client_socket_events *events, struct why *why);
void client_socket_close(struct client_socket *listener); /* removes the socket; NULL is allowed */

/* 0; -EAGAIN: it does not take what it was answered before; -EPIPE: it is gone. */
int client_socket_answer(struct client_socket *listener, uint64_t client, const void *bytes,
                         uint32_t size);
