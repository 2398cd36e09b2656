#include "cli/ripc/ripc_inbox.h"

#include <errno.h>
#include <string.h>

#include "cli/ripc/ripc_call.h"

#define PATIENCE_NSEC 10000000000LL

static int window_post(struct ripc_inbox *inbox)
{
    int error = 0;
    if (inbox->window && !inbox->posted)
        error = ripc_window_add(inbox->ripc, inbox->service, inbox->window, inbox->window_size);
    inbox->posted = error >= 0;
    return error;
}

enum err ripc_inbox_open(struct ripc_inbox *inbox, struct ripc *ripc, struct ripc_service *service,
                         size_t window_size, struct why *why)
{
    *inbox = (struct ripc_inbox){.ripc = ripc,
                                 .service = service,
                                 .window_size = window_size,
                                 .patience_nsec = PATIENCE_NSEC};
    if (window_size == 0)
        return OK;
    inbox->window = ripc_alloc(ripc, window_size);
    if (!inbox->window)
        return why_memory(why);
    int error = window_post(inbox);
    return error < 0 ? ripc_call_fail(why, error, "window") : OK;
}

void ripc_inbox_close(struct ripc_inbox *inbox)
{
    if (!inbox->window)
        return;
    if (inbox->posted)
        ripc_window_remove(inbox->ripc, inbox->service, inbox->window);
    ripc_free(inbox->ripc, inbox->window);
    inbox->window = NULL;
}

/* Fetches a pending item. With a window, larger items are rejected; without one, an
 * item is fetched into memory of its size, up to a limit. */
static void item_fetch(struct ripc_inbox *inbox, unsigned index)
{
    struct ripc_inbox_item *item = &inbox->items[index];
    void *memory = NULL;
    if (!inbox->window && item->size > 0 && item->size <= RIPC_INBOX_LIMIT)
        memory = ripc_alloc(inbox->ripc, item->size);
    if (!memory) {
        item->status = -ENOBUFS;
        item->way = "rejected";
        ripc_reject(&inbox->message, index);
        return;
    }
    item->status =
        ripc_fetch(&inbox->message, index, memory, item->size, ripc_after(inbox->patience_nsec));
    item->way = item->status < 0 ? "lost" : "fetched";
    item->data = item->status < 0 ? NULL : memory;
    inbox->fetched[index] = memory;
}

static void items_get(struct ripc_inbox *inbox)
{
    for (unsigned i = 0; i < inbox->message.long_count; i++) {
        const struct ripc_item *item = &inbox->message.longs[i];
        inbox->items[i] = (struct ripc_inbox_item){
            .data = item->data, .size = item->size, .status = item->status};
        inbox->items[i].way = item->returned ? "return buffer" : "window";
        inbox->fetched[i] = item->owned ? item->data : NULL;
        if (item->data && item->data == inbox->window)
            inbox->posted = false;
        if (item->status == -EINPROGRESS)
            item_fetch(inbox, i);
        else if (item->status < 0)
            inbox->items[i].way = "lost";
    }
}

int ripc_inbox_receive(struct ripc_inbox *inbox, int64_t deadline)
{
    int count = ripc_receive(inbox->service, &inbox->message, 1, deadline);
    if (count == 1)
        items_get(inbox);
    return count;
}

int ripc_inbox_done(struct ripc_inbox *inbox)
{
    for (unsigned i = 0; i < inbox->message.long_count; i++) {
        if (inbox->fetched[i])
            ripc_free(inbox->ripc, inbox->fetched[i]);
        inbox->fetched[i] = NULL;
    }
    ripc_release(&inbox->message);
    return window_post(inbox);
}
