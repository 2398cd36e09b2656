#pragma once
/* ripc_inbox: receives the messages of a service one by one, with their long items.
 *
 * With a window, items that fit are received into it and larger ones are rejected.
 * Without a window, every item arrives pending and is fetched into memory of its
 * size, up to a limit. The results are in `items` until ripc_inbox_done. */

#include <stdbool.h>
#include <stddef.h>

#include <weft/ripc.h>

#include "base/err.h"

#define RIPC_INBOX_LIMIT ((uint64_t)1 << 30) /* a larger item is not fetched */

struct ripc_inbox_item {
    const void *data; /* NULL if it was not received */
    uint64_t size;
    int status;      /* 0, or the errno why it was not received */
    const char *way; /* "window", "fetched", "return buffer", "rejected" or "lost" */
};

struct ripc_inbox {
    struct ripc *ripc;            /* borrowed */
    struct ripc_service *service; /* borrowed */
    void *window;                 /* of ripc_alloc; NULL: none */
    size_t window_size;
    bool posted;
    int64_t patience_nsec; /* timeout for fetching one item */
    struct ripc_message message;
    struct ripc_inbox_item items[RIPC_ITEM_MAX];
    void *fetched[RIPC_ITEM_MAX]; /* our memory with fetched items, or NULL */
};

/* A window_size of 0 means none. */
MUST_CHECK enum err ripc_inbox_open(struct ripc_inbox *inbox, struct ripc *ripc,
                                    struct ripc_service *service, size_t window_size,
                                    struct why *why);
void ripc_inbox_close(struct ripc_inbox *inbox);

/* Receives one message and its items. Returns 1, or a negative errno. */
int ripc_inbox_receive(struct ripc_inbox *inbox, int64_t deadline);

/* Releases the message and its items. Fails if the window cannot be posted
 * again. */
MUST_CHECK int ripc_inbox_done(struct ripc_inbox *inbox);
