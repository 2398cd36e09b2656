/* snapshot: what other code may read of a node: counters, ports, reachability and roots. */

#include <errno.h>
#include <string.h>

#include "base/bitset.h"
#include "base/check.h"
#include "node/core/node_impl.h"

struct weft_report {
    void (*told)(void *context, const char *service, const char *name, uint64_t value);
    void *context;
    const char *service;
    struct weft_self *self; /* NULL: the node itself reports its own counters */
};

/* Where the counters end that the node keeps: */
#define COUNTERS_ALL         5  /* ... for every service, also the node's own */
#define COUNTERS_OTHER       10 /* ... for all other services */
#define COUNTERS_DISK        14 /* ... for those that use the disk */
#define COUNTERS_WORK        17 /* ... for those that use weft/work.h */
#define COUNTERS_DESCRIPTORS 22 /* ... for those that use weft/descriptor.h */
static const char *const common_names[COUNTERS_DESCRIPTORS] = {
    "sent",
    "delivered",
    "intercepted",
    "dropped",
    "memory",
    "kept",
    "share",
    "over_share",
    "mistakes",
    "slow",
    "disk_calls",
    "disk_failed",
    "disk_bytes_read",
    "disk_bytes_written",
    "work_calls",
    "work_failed",
    "work_under_way",
    "descriptors_open",
    "descriptors_accepted",
    "descriptors_refused",
    "descriptors_bytes_in",
    "descriptors_bytes_out",
};

/* What is counted for services with streams. */
static const char *const stream_names[] = {
    "streams",           "streams_opened",    "streams_accepted", "streams_ended",
    "streams_moved",     "segments_sent",     "segments_resent",  "segments_copied",
    "segments_received", "segments_repeated", "segments_damaged",
};

void node_snapshot(const struct node *node, struct node_snapshot *snapshot)
{
    *snapshot = node->counts;
    snapshot->self = node->self;
    snapshot->incarnation = node->config.incarnation;
    snapshot->settled = node->settled;
    snapshot->reachable = node->state.routes.up_count;
    snapshot->limbo = node->limbo_count;
    snapshot->recomputations = node->state.recomputations;
    snapshot->rows_taken = node->state.taken;
    snapshot->rows_refused = node->state.refused;
    snapshot->digest = node->state.digest;
}

void node_snapshot_port(const struct node *node, unsigned port, struct port_snapshot *snapshot)
{
    assert(port < node->plan->port_count);
    const struct node_port *at = &node->ports[port];
    const struct plan_end *end = plan_end(node->plan, node->self, port);
    *snapshot = (struct port_snapshot){
        .state = at->state,
        .peer = end->server,
        .peer_port = end->port,
        .found = at->found,
        .found_port = at->found_port,
        .packets_out = at->packets_out,
        .bytes_out = at->bytes_out,
        .frames_out = at->frames_out,
        .packets_in = at->packets_in,
        .bytes_in = at->bytes_in,
        .busy = at->busy,
    };
}

unsigned node_service_count(const struct node *node)
{
    return node->service_count;
}

void node_snapshot_service(const struct node *node, unsigned slot,
                           struct service_snapshot *snapshot)
{
    assert(slot < node->service_count);
    const struct weft_self *self = node->services[slot];
    *snapshot = (struct service_snapshot){
        .name = self->service->name,
        .kept = self->kept,
        .share = self->share,
        .over_share = self->over_share,
        .mistakes = self->mistakes,
        .slow = self->slow,
        .slow_nsec = self->slow_nsec,
        .slow_in = (enum node_callback)self->slow_in,
    };
}

static bool has(const struct node *node, const uint64_t *servers, node_id server)
{
    return server < node->plan->server_count && bitset_has(servers, server);
}

bool node_reaches(const struct node *node, node_id server)
{
    return has(node, node->state.routes.up_set, server);
}

bool node_counts_on(const struct node *node, node_id server)
{
    return has(node, node->state.routes.near_set, server);
}

uint32_t node_distance(const struct node *node, node_id server)
{
    return node_reaches(node, server) ? node->state.routes.up_hops[server] : UINT32_MAX;
}

port_set node_ports_to(const struct node *node, node_id server)
{
    return server < node->plan->server_count ? node->state.routes.ports[server] : 0;
}

static node_id root_of(const struct node *node, uint64_t route)
{
    struct place_group group = keyspace_group(&node->plan->keyspace, route);
    return keyspace_root(&node->plan->keyspace, group, node->state.routes.near_set, node->scratch);
}

node_id node_root(struct node *node, const struct key *key)
{
    node_id root = root_of(node, key_route(key));
    bool known = root == node->self ? node->settled : node_reaches(node, root);
    return known ? root : NODE_NONE;
}

bool node_is_root(struct node *node, uint64_t route)
{
    return node->settled && root_of(node, route) == node->self;
}

static bool is_up(const void *context, node_id server)
{
    return bitset_has(context, server);
}

unsigned node_servers(struct node *node, const struct key *key, node_id *out, unsigned most)
{
    struct place_group group = keyspace_group(&node->plan->keyspace, key_route(key));
    return keyspace_servers(&node->plan->keyspace, group, is_up, node->state.routes.up_set,
                            node->scratch, out, most);
}

/* What is wrong with the name of a counter; NULL: nothing. */
static const char *stat_wrong(const struct weft_self *self, const char *name)
{
    size_t size = name ? strnlen(name, SERVICE_NAME_MAX + 1) : 0;
    if (size < 1 || size > SERVICE_NAME_MAX)
        return "the name of a counter has not 1 to 32 letters";
    for (size_t i = 0; i < size; i++)
        if (name[i] <= ' ' || name[i] > '~')
            return "the name of a counter has blanks or unprintable letters";
    for (size_t i = 0; i < sizeof common_names / sizeof *common_names; i++)
        if (name[0] == common_names[i][0] && !strcmp(name, common_names[i]))
            return "the name of a counter is one of those that weft counts for every service";
    for (size_t i = 0; self->streams && i < sizeof stream_names / sizeof *stream_names; i++)
        if (name[0] == stream_names[i][0] && !strcmp(name, stream_names[i]))
            return "the name of a counter is one of those that weft counts for streams";
    return NULL;
}

int weft_stat(struct weft_report *report, const char *name, uint64_t value)
{
    if (!report)
        return -EINVAL;
    const char *wrong = report->self ? stat_wrong(report->self, name) : NULL;
    if (wrong) {
        service_mistake(report->self, "weft_stat", wrong);
        return -EINVAL;
    }
    report->told(report->context, report->service, name, value);
    return 0;
}

static void stats_some(struct weft_report *report, const uint64_t *values, unsigned first,
                       unsigned end)
{
    for (unsigned i = first; i < end; i++)
        weft_stat(report, common_names[i], values[i]);
}

static void stats_common(struct weft_self *self, struct weft_report *report)
{
    const uint64_t values[COUNTERS_DESCRIPTORS] = {
        self->sent,
        self->delivered,
        self->intercepted,
        self->dropped,
        self->memory_taken,
        self->kept,
        self->share,
        self->over_share,
        self->mistakes,
        self->slow,
        self->disk_calls,
        self->disk_failed,
        self->disk_bytes_read,
        self->disk_bytes_written,
        self->work_calls,
        self->work_failed,
        self->work_under_way,
        self->descriptor_counts.open,
        self->descriptor_counts.accepted,
        self->descriptor_counts.refused,
        self->descriptor_counts.bytes_in,
        self->descriptor_counts.bytes_out,
    };
    /* The node's own service has no share and makes no mistakes. */
    stats_some(report, values, 0, self->slot == SLOT_LINKS ? COUNTERS_ALL : COUNTERS_OTHER);
    if (self->files)
        stats_some(report, values, COUNTERS_OTHER, COUNTERS_DISK);
    if (self->work)
        stats_some(report, values, COUNTERS_DISK, COUNTERS_WORK);
    if (self->descriptors)
        stats_some(report, values, COUNTERS_WORK, COUNTERS_DESCRIPTORS);
}

/* The service `control` calls this from a function of its own, which goes on after that: the time
 * of stats() is not added to it. */
static void stats_call(struct weft_self *self, struct weft_report *report)
{
    struct node_pulse *pulse = self->node->pulse;
    if (!pulse) {
        self->service->ops->stats(self, report);
        return;
    }
    uint64_t outer_began = pulse->began;
    const struct weft_service *outer = atomic_load_explicit(&pulse->service, memory_order_relaxed);
    uint64_t outer_call = atomic_load_explicit(&pulse->call, memory_order_relaxed) & 0xff;
    callback_begin(self, CALLBACK_STATS);
    self->service->ops->stats(self, report);
    callback_end(self);
    pulse->began = outer_began + (ticks_now() - pulse->began);
    uint64_t call = atomic_load_explicit(&pulse->call, memory_order_relaxed);
    atomic_store_explicit(&pulse->service, outer, memory_order_relaxed);
    atomic_store_explicit(&pulse->call, call + outer_call, memory_order_relaxed);
}

static void streams_report(const struct weft_self *self, struct weft_report *report)
{
    const struct streams_counts *counts = streams_count(self->streams);
    const uint64_t values[] = {
        streams_live(self->streams),
        counts->opened,
        counts->accepted,
        counts->ended,
        counts->moved,
        counts->segments,
        counts->resent,
        counts->copied,
        counts->received,
        counts->repeats,
        counts->damaged,
    };
    static_assert(sizeof values / sizeof *values == sizeof stream_names / sizeof *stream_names,
                  "a name for each value");
    for (unsigned i = 0; i < sizeof values / sizeof *values; i++)
        weft_stat(report, stream_names[i], values[i]);
}

static void service_stats(struct weft_self *self,
                          void (*told)(void *context, const char *service, const char *name,
                                       uint64_t value),
                          void *context)
{
    struct weft_report report = {told, context, self->service->name, NULL};
    stats_common(self, &report);
    if (self->streams)
        streams_report(self, &report);
    report.self = self;
    if (self->service->ops->stats)
        stats_call(self, &report);
}

void node_stats(struct node *node,
                void (*told)(void *context, const char *service, const char *name, uint64_t value),
                void *context)
{
    for (unsigned slot = 0; slot < node->service_count; slot++)
        service_stats(node->services[slot], told, context);
}

void node_stats_of(struct node *node, const struct weft_service *service,
                   void (*told)(void *context, const char *service, const char *name,
                                uint64_t value),
                   void *context)
{
    for (unsigned slot = 0; slot < node->service_count; slot++)
        if (node->services[slot]->service == service)
            service_stats(node->services[slot], told, context);
}

size_t node_memory(const struct node *node)
{
    return node->arena.used + node->plan->server_count * (3 * sizeof(uint64_t) + sizeof(void *));
}

void node_check(const struct node *node)
{
    egress_check(node->egress);
    for (unsigned slot = 0; slot < node->service_count; slot++)
        assert(node->services[slot]->kept <= node->services[slot]->share + 1);
    for (uint32_t left = node->stream_slots; left; left &= left - 1)
        streams_check(node->services[__builtin_ctz(left)]->streams);
    uint32_t count = 0;
    for (const struct packet *packet = node->limbo; packet; packet = packet->next)
        count++;
    assert(count == node->limbo_count && count <= node->config.limbo_packets);
    port_set near = 0, up = 0;
    for (unsigned port = 0; port < node->plan->port_count; port++) {
        enum port_state state = node->ports[port].state;
        near |= (port_set)(state == PORT_COMING || state == PORT_UP) << port;
        up |= (port_set)(state == PORT_UP) << port;
    }
    assert(near == node->state.own_near && up == node->state.own_up);
}
