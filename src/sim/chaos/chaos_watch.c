/* chaos_watch: passes the events of a world to the checkers, and shows them the world. */
#include <string.h>

#include "base/list.h"
#include "sim/chaos/chaos_impl.h"

/* ---- events for the checkers ---- */

static struct chaos *chaos_of(struct world_watcher *watcher)
{
    return container_of(watcher, struct chaos, watcher);
}

static void saw_sent(struct world_watcher *watcher, node_id at, const struct packet *packet)
{
    struct chaos *chaos = chaos_of(watcher);
    chaos->result->sent++;
    CHECKERS_TELL(&chaos->checkers, sent, at, packet);
}

static void saw_delivered(struct world_watcher *watcher, node_id at, const struct packet *packet)
{
    struct chaos *chaos = chaos_of(watcher);
    chaos->result->delivered++;
    CHECKERS_TELL(&chaos->checkers, delivered, at, packet);
}

static void saw_taken(struct world_watcher *watcher, node_id at, uint64_t trail)
{
    struct chaos *chaos = chaos_of(watcher);
    chaos->result->taken++;
    CHECKERS_TELL(&chaos->checkers, taken, at, trail);
}

static void saw_dropped(struct world_watcher *watcher, node_id at, const struct packet *packet,
                        enum drop_reason reason)
{
    struct chaos *chaos = chaos_of(watcher);
    chaos->result->dropped[reason]++;
    CHECKERS_TELL(&chaos->checkers, dropped, at, packet, reason);
}

static void saw_port(struct world_watcher *watcher, node_id at, unsigned port, bool up)
{
    struct chaos *chaos = chaos_of(watcher);
    if (up) {
        CHECKERS_TELL(&chaos->checkers, up, at, port);
    } else {
        CHECKERS_TELL(&chaos->checkers, down, at);
        CHECKERS_TELL(&chaos->checkers, fell, at, port);
    }
}

static void saw_heard(struct world_watcher *watcher, node_id at, unsigned port)
{
    CHECKERS_TELL(&chaos_of(watcher)->checkers, heard, at, port);
}

static void saw_received(struct world_watcher *watcher, node_id at, unsigned port,
                         const struct packet *packet)
{
    CHECKERS_TELL(&chaos_of(watcher)->checkers, received, at, port, packet);
}

static void saw_transmitted(struct world_watcher *watcher, node_id at, unsigned port,
                            const struct packet *packet)
{
    CHECKERS_TELL(&chaos_of(watcher)->checkers, transmitted, at, port, packet);
}

static void saw_row(struct world_watcher *watcher, node_id at, node_id server, uint64_t incarnation,
                    uint64_t version)
{
    CHECKERS_TELL(&chaos_of(watcher)->checkers, row, at, server, incarnation, version);
}

static void saw_copied(struct world_watcher *watcher, const struct packet *packet)
{
    struct chaos *chaos = chaos_of(watcher);
    chaos->result->copied++;
    CHECKERS_TELL(&chaos->checkers, copied, packet);
}

static void saw_lost(struct world_watcher *watcher, const struct packet *packet)
{
    struct chaos *chaos = chaos_of(watcher);
    chaos->result->lost++;
    CHECKERS_TELL(&chaos->checkers, lost, packet);
}

static void saw_opened(struct world_watcher *watcher, node_id at, uint64_t incarnation)
{
    struct chaos *chaos = chaos_of(watcher);
    chaos->servers[at].stopped = false;
    CHECKERS_TELL(&chaos->checkers, started, at);
    CHECKERS_TELL(&chaos->checkers, down, at);
}

static void saw_closed(struct world_watcher *watcher, node_id at)
{
    CHECKERS_TELL(&chaos_of(watcher)->checkers, down, at);
}

const struct world_watcher_ops chaos_watcher_ops = {
    .sent = saw_sent,
    .delivered = saw_delivered,
    .taken = saw_taken,
    .dropped = saw_dropped,
    .port = saw_port,
    .heard = saw_heard,
    .received = saw_received,
    .transmitted = saw_transmitted,
    .row = saw_row,
    .copied = saw_copied,
    .lost = saw_lost,
    .opened = saw_opened,
    .closed = saw_closed,
};

/* ---- the checkers' view ---- */

static psec view_now(void *context)
{
    return world_now(((struct chaos *)context)->world);
}

static struct node *view_node(void *context, node_id server)
{
    return world_node(((struct chaos *)context)->world, server);
}

static enum port_state view_port(void *context, node_id server, unsigned port)
{
    const struct node *node = view_node(context, server);
    if (!node)
        return PORT_DOWN;
    struct port_snapshot snapshot;
    node_snapshot_port(node, port, &snapshot);
    return snapshot.state;
}

static bool view_settled(void *context, node_id server)
{
    const struct node *node = view_node(context, server);
    struct node_snapshot snapshot;
    if (!node)
        return false;
    node_snapshot(node, &snapshot);
    return snapshot.settled;
}

static bool view_counts_on(void *context, node_id server, node_id other)
{
    const struct node *node = view_node(context, server);
    return node && node_counts_on(node, other);
}

static uint64_t view_live(void *context)
{
    return slab_packets(world_pool(((struct chaos *)context)->world))->live;
}

/* Called for servers that start, too, before world_open has returned. */
static env_nsec view_clock(void *context, node_id server)
{
    return world_clock_of(((struct chaos *)context)->watcher.world, server);
}

struct load_stats {
    struct checker_observed observed;
    bool found;
};

/* A server is asked a thousand times a second, and tells dozens of counters: most differ in their
 * first letter. */
static bool is(const char *name, const char *wanted)
{
    return name[0] == wanted[0] && !strcmp(name, wanted);
}

static void load_stat(void *context, const char *service, const char *name, uint64_t value)
{
    struct load_stats *stats = context;
    struct checker_observed *observed = &stats->observed;
    stats->found = true;
    if (is(name, "peers"))
        observed->peers = value;
    else if (is(name, "peers_repeated"))
        observed->peers_repeated = value;
    else if (is(name, "passes_wrong"))
        observed->passes_wrong = value;
    else if (is(name, "misdelivered"))
        observed->misdelivered = value;
    else if (is(name, "timers_early"))
        observed->timers_early = value;
    else if (is(name, "timer_overdue"))
        observed->timer_overdue = value;
}

static bool view_observed(void *context, node_id server, struct checker_observed *observed)
{
    struct load_stats stats = {0};
    struct node *node = view_node(context, server);
    if (node)
        node_stats_of(node, &chaos_load_service, load_stat, &stats);
    *observed = stats.observed;
    return stats.found;
}

struct checker_view chaos_view(struct chaos *chaos)
{
    return (struct checker_view){
        .plan = chaos->plan,
        .now = view_now,
        .node = view_node,
        .port = view_port,
        .settled = view_settled,
        .counts_on = view_counts_on,
        .live = view_live,
        .clock = view_clock,
        .observed = view_observed,
        .guests_apart = chaos->guests && chaos->guests->apart,
        .context = chaos,
    };
}
