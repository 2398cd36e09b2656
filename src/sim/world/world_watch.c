#include "sim/world/world_watch.h"

#include "base/list.h"

/* Calls that function of every watcher that has it. */
#define TELL(watch, function, ...)                                                                 \
    for (struct world_watcher *const *each = (watch)->watchers; each && *each; each++)             \
        if ((*each)->ops->function)                                                                \
    (*each)->ops->function(*each, __VA_ARGS__)

static struct world_watch *of_node(struct node_watcher *watcher)
{
    return container_of(watcher, struct world_watch, node);
}

static void tell_sent(struct node_watcher *watcher, node_id at, const struct packet *packet)
{
    TELL(of_node(watcher), sent, at, packet);
}

static void tell_delivered(struct node_watcher *watcher, node_id at, const struct packet *packet)
{
    TELL(of_node(watcher), delivered, at, packet);
}

static void tell_taken(struct node_watcher *watcher, node_id at, uint64_t trail)
{
    TELL(of_node(watcher), taken, at, trail);
}

static void tell_dropped(struct node_watcher *watcher, node_id at, const struct packet *packet,
                         enum drop_reason reason)
{
    TELL(of_node(watcher), dropped, at, packet, reason);
}

static void tell_port(struct node_watcher *watcher, node_id at, unsigned port, bool up)
{
    TELL(of_node(watcher), port, at, port, up);
}

static void tell_heard(struct node_watcher *watcher, node_id at, unsigned port)
{
    TELL(of_node(watcher), heard, at, port);
}

static void tell_transmitted(struct node_watcher *watcher, node_id at, unsigned port,
                             const struct packet *packet)
{
    TELL(of_node(watcher), transmitted, at, port, packet);
}

static void tell_row(struct node_watcher *watcher, node_id at, node_id server, uint64_t incarnation,
                     uint64_t version)
{
    TELL(of_node(watcher), row, at, server, incarnation, version);
}

static void tell_mistake(struct node_watcher *watcher, node_id at, const char *service,
                         const char *function, const char *reason)
{
    TELL(of_node(watcher), mistake, at, service, function, reason);
}

static void tell_copied(void *context, const struct packet *packet)
{
    TELL((struct world_watch *)context, copied, packet);
}

static void tell_lost(void *context, const struct packet *packet)
{
    TELL((struct world_watch *)context, lost, packet);
}

#define LISTEN(watch, part, function)                                                              \
    for (struct world_watcher *const *each = (watch)->watchers; each && *each; each++)             \
        if ((*each)->ops->function)                                                                \
    (watch)->part.function = tell_##function

void world_watch_init(struct world_watch *watch, struct world *world,
                      struct world_watcher *const *watchers)
{
    *watch = (struct world_watch){.watchers = watchers, .slab.context = watch};
    LISTEN(watch, node, sent);
    LISTEN(watch, node, delivered);
    LISTEN(watch, node, taken);
    LISTEN(watch, node, dropped);
    LISTEN(watch, node, port);
    LISTEN(watch, node, heard);
    LISTEN(watch, node, transmitted);
    LISTEN(watch, node, row);
    LISTEN(watch, node, mistake);
    LISTEN(watch, slab, copied);
    LISTEN(watch, slab, lost);
    for (struct world_watcher *const *each = watchers; each && *each; each++) {
        (*each)->world = world;
        watch->receives |= (*each)->ops->received != NULL;
    }
}

struct node_watcher *world_watch_node(struct world_watch *watch)
{
    return watch->watchers && *watch->watchers ? &watch->node : NULL;
}

const struct slab_watcher *world_watch_slab(struct world_watch *watch)
{
    return &watch->slab;
}

void world_watch_received(const struct world_watch *watch, node_id at, unsigned port,
                          const struct packet *packet)
{
    TELL(watch, received, at, port, packet);
}

void world_watch_opened(const struct world_watch *watch, node_id at, uint64_t incarnation)
{
    TELL(watch, opened, at, incarnation);
}

void world_watch_closed(const struct world_watch *watch, node_id at)
{
    TELL(watch, closed, at);
}
