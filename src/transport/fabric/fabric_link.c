/* fabric_link: sends to a peer, in order.
 *
 * A closed link stays in the list until the provider has returned all its sends and transfers,
 * because their completions point into buffers and jobs that refer to the link. Then its address is
 * removed from the address vector, which lets the provider close the connection. */
#include <errno.h>
#include <stdlib.h>

#include "base/check.h"
#include "transport/fabric/fabric_impl.h"

/* ---- sending ---- */

void fabric_link_drop_unsent(struct fabric_link *link)
{
    struct list *node;
    while ((node = list_take(&link->unsent))) {
        struct fabric_buffer *buffer = container_of(node, struct fabric_buffer, node);
        if (buffer->inlet)
            buffer->inlet->open_return = NULL;
        fabric_buffer_give(link->fabric, buffer);
    }
}

void fabric_link_break(struct fabric_link *link, int reason)
{
    if (link->broken)
        return;
    link->broken = true;
    if (link->line)
        lifeline_cut(link->line, reason);
}

/* The provider could not send. A link without pipes is only being probed: then the layer above
 * takes another transport, and the lifeline stays. */
static void link_failed(struct fabric_link *link)
{
    if (link->proof != FABRIC_PROVING || link->pipe_count) {
        fabric_link_break(link, -EPIPE);
        return;
    }
    link->proof = FABRIC_FAILED;
    link->ticks = 0;
    fabric_check_start(link->fabric);
    link->fabric->settled(link->fabric->owner);
}

/* True if the provider has taken it, or it is lost with the link. */
static bool link_try(struct fabric_link *link, struct fabric_buffer *buffer)
{
    struct fabric *fabric = link->fabric;
    buffer->operation.kind = FABRIC_SEND;
    ssize_t result = fi_send(fabric->endpoint, buffer->bytes, buffer->size, buffer->descriptor,
                             link->address, &buffer->operation.context);
    if (result == -FI_EAGAIN)
        return false;
    if (buffer->inlet)
        buffer->inlet->open_return = NULL;
    buffer->inlet = NULL;
    if (result) {
        fabric_buffer_give(fabric, buffer);
        link_failed(link);
        return true;
    }
    buffer->state = BUFFER_SENT;
    link->sends_under_way++;
    return true;
}

void fabric_link_send(struct fabric_link *link, struct fabric_buffer *buffer)
{
    if (link->broken) {
        fabric_buffer_give(link->fabric, buffer);
        return;
    }
    buffer->link = link;
    if (list_is_empty(&link->unsent) && link_try(link, buffer))
        return;
    buffer->state = BUFFER_UNSENT;
    list_append(&link->unsent, &buffer->node);
    fabric_stall(link->fabric);
}

void fabric_link_sent(struct fabric_buffer *buffer, int status)
{
    struct fabric_link *link = buffer->link;
    assert(buffer->state == BUFFER_SENT && link->sends_under_way > 0);
    link->sends_under_way--;
    fabric_buffer_give(link->fabric, buffer);
    if (status < 0)
        link_failed(link);
}

void fabric_link_flush(struct fabric_link *link)
{
    if (link->broken)
        fabric_link_drop_unsent(link);
    while (!list_is_empty(&link->unsent)) {
        struct fabric_buffer *buffer = container_of(link->unsent.next, struct fabric_buffer, node);
        list_remove(&buffer->node);
        if (link_try(link, buffer))
            continue;
        list_append(link->unsent.next, &buffer->node); /* back to the front */
        fabric_stall(link->fabric);
        return;
    }
}

size_t fabric_link_owes(const struct fabric_link *link)
{
    size_t owed = link->sends_under_way;
    list_each(&link->unsent, node) owed++;
    return link->broken ? 0 : owed;
}

/* ---- the end ---- */

void fabric_links_reap(struct fabric *fabric)
{
    if (fabric->depth)
        return; /* a caller is iterating over the links */
    list_each(&fabric->links, node)
    {
        struct fabric_link *link = container_of(node, struct fabric_link, node);
        if (!link->closed || link->sends_under_way || !list_is_empty(&link->jobs) ||
            !list_is_empty(&link->waiting))
            continue;
        fi_av_remove(fabric->av, &link->address, 1, 0);
        list_remove(node);
        free(link);
    }
}

void fabric_links_fini(struct fabric *fabric)
{
    list_each(&fabric->links, node)
    {
        struct fabric_link *link = container_of(node, struct fabric_link, node);
        assert(link->closed);
        list_remove(node);
        free(link);
    }
}
