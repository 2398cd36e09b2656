#include "program/inbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct item {
    struct list node;
    struct weft_message message;
    uint8_t bytes[];
};

void inbox_init(struct inbox *inbox)
{
    *inbox = (struct inbox){0};
    list_init(&inbox->items);
}

void inbox_fini(struct inbox *inbox)
{
    for (struct list *node; (node = list_take(&inbox->items));)
        free(container_of(node, struct item, node));
}

bool inbox_put(struct inbox *inbox, const struct weft_message *message, const void *bytes)
{
    bool event = message->kind == WEFT_EVENT;
    bool full = event && inbox->event_count == INBOX_EVENTS_MAX;
    struct item *item = full ? NULL : malloc(sizeof *item + message->size);
    if (!item) {
        inbox->dropped++;
        return false;
    }
    item->message = *message;
    if (message->size)
        memcpy(item->bytes, bytes, message->size);
    inbox->event_count += event;
    list_append(&inbox->items, &item->node);
    return true;
}

int inbox_take(struct inbox *inbox, struct weft_message *message, void *bytes, size_t room)
{
    if (list_is_empty(&inbox->items))
        return 0;
    struct item *item = container_of(inbox->items.next, struct item, node);
    *message = item->message;
    if (item->message.size > room)
        return -EMSGSIZE;
    if (item->message.size)
        memcpy(bytes, item->bytes, item->message.size);
    inbox->event_count -= item->message.kind == WEFT_EVENT;
    list_remove(&item->node);
    free(item);
    return 1;
}
