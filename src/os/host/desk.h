#pragma once
/* desk: where programs of this machine ask a node's services something. A Unix socket of sequenced
 * packets, FOLDER/node-ID.socket; a request is the service's number (two bytes, the highest first)
 * and the service's own bytes, an answer is bytes. A program that asks for a service that is not
 * there is hung up on; of an answer that its socket does not take the service is told.
 *
 * A program may ask for a channel (transport/ring/channel.h): from then on requests come and
 * answers go through shared memory, and the socket only rings. Memory is looked at, not waited for:
 * the desks of a host are, once in every pass. Nonsense in it ends that program's attachment and no
 * other. */

#include <stdint.h>

#include "base/err.h"
#include "base/list.h"
#include "transport/wake/poller.h"

#define DESK_REQUEST_MAX (64 * 1024)
#define DESK_CLIENTS_MAX 64

struct desk;

/* Negative: hang up. */
typedef int desk_request(void *owner, uint16_t service, uint64_t client, const void *bytes,
                         uint32_t size);

/* The client has hung up, or was hung up on. Its number is not used again. */
typedef void desk_gone(void *owner, uint64_t client);

/* It talks through memory from here on (0), or cannot (a negative errno) and uses the socket. */
typedef void desk_shared(void *owner, uint64_t client, int result);

struct desk_events {
    desk_request *request;
    desk_gone *gone;
    desk_shared *shared; /* or NULL */
    void *owner;
};

/* The desks of one host. */
struct desks {
    struct list channels; /* clients that have one */
};

void desks_init(struct desks *desks);
/* Takes requests from all channels, a few of each. */
void desks_poll(struct desks *desks);
bool desks_waiting(const struct desks *desks); /* would it find one? */
/* Around a sleep: then sockets become readable when something is put into a channel. Between arm
 * and the last look stands a barrier, which is the caller's: doorbell_prepare of his own bell. */
void desks_arm(struct desks *desks);
void desks_disarm(struct desks *desks);

/* Whoever holds the node's lock may call it: a socket that a dead process left is replaced. */
MUST_CHECK int desk_open(struct desk **desk, struct desks *desks, struct poller *poller,
                         const char *folder, uint32_t server, const struct desk_events *events,
                         struct why *why);
void desk_close(struct desk *desk); /* removes the socket; NULL is allowed */

/* 0; -EAGAIN: it does not take what it was answered before; -EPIPE: it is gone. */
int desk_answer(struct desk *desk, uint64_t client, const void *bytes, uint32_t size);
