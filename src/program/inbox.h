#pragma once
/* inbox: messages that were received and wait for weft_take, in order. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/weft.h>

#include "base/err.h"
#include "base/list.h"

#define INBOX_EVENTS_MAX 4096

struct inbox {
    struct list items;
    uint32_t event_count; /* messages that the program did not ask for */
    uint64_t dropped;
};

void inbox_init(struct inbox *inbox);
void inbox_fini(struct inbox *inbox);
/* Copies a message with its bytes. An answer or a notice is kept unless there is no memory; an
 * event is dropped if there are too many. False: it was dropped, and counted. */
bool inbox_put(struct inbox *inbox, const struct weft_message *message, const void *bytes);
/* Returns 1, 0 (there is none), or -EMSGSIZE: the next message is larger than the room. */
MUST_CHECK int inbox_take(struct inbox *inbox, struct weft_message *message, void *bytes,
                          size_t room);
