/* control: answers local programs about this server. It sends no packets. */
#include "services/control/control.h"

#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "node/core/self.h"
#include "services/control/control_wire.h"

struct control {
    int64_t started;
    uint64_t answered, refused;
    struct control_snapshot snapshot; /* of the current request; too large for a stack */
    uint8_t bytes[CONTROL_ANSWER_MAX];
};

static int control_start(struct weft_self *self)
{
    struct control *control = weft_memory(self);
    control->started = weft_now(self);
    return 0;
}

/* Adds the service to the snapshot if an operator should know of it. */
static void trouble_add(struct control_snapshot *snapshot, const struct node *node, unsigned slot)
{
    struct service_snapshot service;
    node_snapshot_service(node, slot, &service);
    if (service.kept < service.share && !service.mistakes && !service.slow)
        return;
    struct control_trouble *trouble = &snapshot->troubles[snapshot->trouble_count++];
    *trouble = (struct control_trouble){
        .kept = service.kept,
        .share = service.share,
        .over_share = service.over_share,
        .mistakes = service.mistakes,
        .slow = service.slow,
        .slow_nsec = service.slow_nsec,
        .slow_in = service.slow_in,
    };
    strncpy(trouble->service, service.name, CONTROL_NAME_MAX);
}

static void answer_snapshot(struct weft_self *self, struct control *control, struct writer *out)
{
    struct node *node = node_of(self);
    struct control_snapshot *snapshot = &control->snapshot;
    memset(snapshot, 0, sizeof *snapshot);
    node_snapshot(node, &snapshot->node);
    snapshot->now = weft_now(self);
    snapshot->started = control->started;
    snapshot->server_count = weft_server_count(self);
    snapshot->port_count = weft_port_count(self);
    for (uint32_t port = 0; port < snapshot->port_count; port++)
        node_snapshot_port(node, port, &snapshot->ports[port]);
    for (unsigned slot = 0; slot < node_service_count(node); slot++)
        trouble_add(snapshot, node, slot);
    for (node_id server = 0; server < snapshot->server_count; server++)
        if (node_reaches(node, server))
            snapshot->reach[server / 8] |= (uint8_t)(1u << server % 8);
    control_snapshot_write(out, snapshot);
}

struct stats_told {
    struct writer *out; /* NULL: only count */
    uint32_t first, count;
    bool full;
};

static void stat_told(void *context, const char *service, const char *name, uint64_t value)
{
    struct stats_told *told = context;
    uint32_t index = told->count++;
    if (told->out && !told->full && index >= told->first)
        told->full = !control_stat_write(told->out, service, name, value);
}

static void answer_stats(struct weft_self *self, uint32_t first, struct writer *out)
{
    struct stats_told all = {0}, some = {.out = out, .first = first};
    node_stats(node_of(self), stat_told, &all);
    control_stats_write(out, all.count);
    node_stats(node_of(self), stat_told, &some);
}

static void parameter_told(void *context, const char *service,
                           const struct weft_parameter *parameter, const char *value)
{
    struct stats_told *told = context;
    uint32_t index = told->count++;
    if (told->out && !told->full && index >= told->first)
        told->full = !control_parameter_write(told->out, service, parameter, value);
}

static void answer_parameters(struct weft_self *self, uint32_t first, struct writer *out)
{
    struct stats_told all = {0}, some = {.out = out, .first = first};
    node_parameters(node_of(self), parameter_told, &all);
    control_stats_write(out, all.count);
    node_parameters(node_of(self), parameter_told, &some);
}

static void answer_where(struct weft_self *self, const struct control_request *request,
                         struct writer *out)
{
    struct node *node = node_of(self);
    struct node_snapshot snapshot;
    struct control_where where = {0};
    node_id servers[CONTROL_REPLICAS_MAX];
    node_snapshot(node, &snapshot);
    where.settled = snapshot.settled;
    where.own = node_is_root(node, key_route(&request->key));
    where.root = node_root(node, &request->key);
    where.count = node_servers(node, &request->key, servers, request->most);
    for (uint32_t i = 0; i < where.count; i++)
        where.replicas[i] = (struct control_replica){servers[i], node_distance(node, servers[i])};
    control_where_write(out, &where);
}

/* Returns an errno if the request cannot be answered; 0: continue. */
static uint8_t request_error(struct weft_self *self, const struct control_request *request)
{
    if (request->kind == CONTROL_SNAPSHOT && weft_server_count(self) > CONTROL_SERVERS_MAX)
        return E2BIG;
    if (request->kind == CONTROL_ROUTE && request->server >= weft_server_count(self))
        return ENOENT;
    if (request->kind == CONTROL_CUT) {
        struct port_snapshot port = {.state = PORT_ABSENT};
        if (request->port < weft_port_count(self))
            node_snapshot_port(node_of(self), request->port, &port);
        return port.state == PORT_ABSENT ? ENOENT : 0;
    }
    return 0;
}

static void request_answer(struct weft_self *self, const struct control_request *request,
                           struct writer *out)
{
    struct node *node = node_of(self);
    struct control_route route;
    switch (request->kind) {
    case CONTROL_SNAPSHOT:
        answer_snapshot(self, weft_memory(self), out);
        return;
    case CONTROL_STATS:
        answer_stats(self, request->first, out);
        return;
    case CONTROL_PARAMETERS:
        answer_parameters(self, request->first, out);
        return;
    case CONTROL_CUT:
        node_cut(node, request->port, request->cut);
        return;
    case CONTROL_WHERE:
        answer_where(self, request, out);
        return;
    case CONTROL_ROUTE:
        route.distance = node_distance(node, request->server);
        route.ports = node_ports_to(node, request->server);
        control_route_write(out, &route);
        return;
    case CONTROL_KIND_END:
        break;
    }
    assert_unreachable();
}

static void control_request(struct weft_self *self, uint64_t client, uint64_t ticket,
                            const void *bytes, uint32_t size)
{
    struct control *control = weft_memory(self);
    struct control_request request;
    struct writer out = writer_make(control->bytes, sizeof control->bytes);
    if (control_request_read(&request, bytes, size)) {
        control->refused++; /* it would not understand an answer of this version */
        return;
    }
    struct control_answer answer = {request.kind, request.token, request_error(self, &request)};
    control_answer_write(&out, &answer);
    if (!answer.error)
        request_answer(self, &request, &out);
    assert(!out.failed);
    control->answered++;
    weft_answer(self, client, ticket, control->bytes, (uint32_t)(sizeof control->bytes - out.left));
}

static void control_stats(struct weft_self *self, struct weft_report *report)
{
    const struct control *control = weft_memory(self);
    weft_stat(report, "answered", control->answered);
    weft_stat(report, "refused", control->refused);
}

static const struct weft_service_ops control_ops = {
    .start = control_start,
    .request = control_request,
    .stats = control_stats,
};

const struct weft_service service_control = {
    .version = WEFT_SERVICE_VERSION,
    .name = "control",
    .id = CONTROL_SERVICE,
    .queue_packets = 1,
    .size = sizeof(struct control),
    .ops = &control_ops,
};
