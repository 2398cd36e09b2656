#pragma once
/* client_socket: the socket at which programs of this machine attach to a node and send requests to
 * its services. It is a Unix socket of sequenced packets, FOLDER/node-ID.socket; wire/attach.h has
 * the messages. The first message of a program is its hello, with the version of the protocol and,
 * if it wants a channel, with shared memory (transport/ring/channel.h). With a channel, requests
 * and answers go through that memory; the socket carries only wake-ups, and messages that are too
 * long for the channel.
 *
 * A process cannot wait for memory to change, so a host polls channels in every pass. When more
 * than a few programs have one, those that are silent rest: their bells are armed, and the programs
 * ring with their next request.
 *
 * What one program does affects no other. In each turn a program gets a few requests handled, then
 * the next program has its turn. Answers that a program does not read wait in its own socket or
 * channel, up to its size; then services get -EAGAIN, and are told when there is room. A program
 * that sends invalid data is disconnected. A program that exceeds the limits below is refused: it
 * receives a welcome with an errno, not only the end of the connection. */

#include <stdint.h>

#include "base/env.h"
#include "base/err.h"
#include "base/list.h"
#include "transport/wake/poller.h"
#include "wire/attach.h"

#define CLIENT_SOCKET_CLIENTS_MAX 16384 /* programs of one server, unless configured */

struct client_socket;

/* Handles a request. -ENOENT: no such service, which the program is told; another negative result
 * disconnects the client. */
typedef int client_socket_request(void *owner, const struct env_answer *from, const void *bytes,
                                  uint32_t size);
/* The client has disconnected, or was disconnected. Its number is not used again. */
typedef void client_socket_gone(void *owner, uint64_t client);
/* The client has room for answers of that service, for which it had none. */
typedef void client_socket_writable(void *owner, uint64_t client, uint16_t service);
/* Returns the number of the service with that name, or -ENOENT. */
typedef int client_socket_number(void *owner, const char *name, size_t size);
/* The client has sent its hello. Memory 0: it uses a channel; -ENODATA: it asked for none; another
 * negative errno: it gets none, and uses the socket. */
typedef void client_socket_attached(void *owner, uint64_t client, int memory);
/* A program was refused: -EUSERS, -EMFILE or -EPROTONOSUPPORT. */
typedef void client_socket_refused(void *owner, int error);

struct client_socket_events {
    client_socket_request *request;
    client_socket_gone *gone;
    client_socket_writable *writable; /* this and the following may be NULL */
    client_socket_number *number;
    client_socket_attached *attached;
    client_socket_refused *refused;
    void *owner;
};

/* The client sockets of one host. */
struct client_sockets {
    struct list channels;   /* clients whose channel is polled */
    struct list resting;    /* clients whose channel is not: their programs ring */
    struct list blocked;    /* clients whose channel has no room for an answer */
    struct list unheard;    /* clients whose programs must be told of answers in their channels */
    uint32_t channel_count; /* in `channels` */
    uint32_t passes;        /* since silent channels were last put to rest */
    uint32_t count, most;   /* clients of all sockets; `most` by the limit of descriptors */
    int spare;              /* a descriptor that is closed to refuse a program when none is left */
    bool asked;             /* a socket had a request since the host last cleared this */
    uint8_t *bytes;         /* one message with its head, and a byte more; owned */
};

MUST_CHECK int client_sockets_open(struct client_sockets *all);
void client_sockets_close(struct client_sockets *all); /* after all its sockets */
/* Handles requests from all channels, a few of each. */
void client_sockets_poll(struct client_sockets *all);
/* Tells the programs that answers wait in their channels. Without it they sleep on. One call serves
 * all answers that were given before it. */
void client_sockets_ring(struct client_sockets *all);
/* Would client_sockets_poll find a request? */
bool client_sockets_waiting(const struct client_sockets *all);
/* Call arm before a sleep and disarm after it. In between, a socket becomes readable when its
 * channel gets a message or room. After arm the caller needs a barrier (doorbell_prepare of its own
 * bell), and then a last check by client_sockets_poll. */
void client_sockets_arm(struct client_sockets *all);
void client_sockets_disarm(struct client_sockets *all);

struct client_socket_config {
    const char *folder;
    uint32_t server;
    uint32_t clients_max; /* 0: CLIENT_SOCKET_CLIENTS_MAX */
    struct client_socket_events events;
};

/* Only the holder of the node's lock may call it, because it replaces a socket of this name, which
 * a dead process has left. */
MUST_CHECK int client_socket_open(struct client_socket **listener, struct client_sockets *all,
                                  struct poller *poller, const struct client_socket_config *config,
                                  struct why *why);
void client_socket_close(struct client_socket *listener); /* removes the socket; NULL is allowed */

/* Returns 0; -EAGAIN: the client has not read earlier answers, and writable() follows when it has;
 * -EPIPE: the client is gone. */
int client_socket_answer(struct client_socket *listener, const struct env_answer *to,
                         const void *bytes, uint32_t size);
