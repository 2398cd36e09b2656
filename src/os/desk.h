#pragma once
/* desk: where programs of this machine ask a node's services something. A Unix socket of sequenced
 * packets, FOLDER/node-ID.socket; a request is the service's number (two bytes, the highest first)
 * and the service's own bytes, an answer is bytes. A program that asks for a service that is not
 * there is hung up on; an answer that its socket does not take is dropped and counted. */

#include <stdint.h>

#include "base/err.h"
#include "transport/poller.h"

#define DESK_REQUEST_MAX (64 * 1024)
#define DESK_CLIENTS_MAX 64

struct desk;

/* Negative: hang up. */
typedef int desk_request(void *owner, uint16_t service, uint64_t client, const void *bytes,
                         uint32_t size);

/* The client has hung up, or was hung up on. Its number is not used again. */
typedef void desk_gone(void *owner, uint64_t client);

struct desk_events {
    desk_request *request;
    desk_gone *gone;
    void *owner;
};

/* Whoever holds the node's lock may call it: a socket that a dead process left is replaced. */
MUST_CHECK int desk_open(struct desk **desk, struct poller *poller, const char *folder,
                         uint32_t server, const struct desk_events *events, struct why *why);
void desk_close(struct desk *desk); /* removes the socket; NULL is allowed */

uint64_t desk_dropped(const struct desk *desk); /* answers */

/* Dropped if the client is gone, without being counted. */
void desk_answer(struct desk *desk, uint64_t client, const void *bytes, uint32_t size);
