/* host: the nodes of one process and their ports: opening, events, closing. */
#include "os/host/host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/array.h"
#include "base/check.h"
#include "base/list.h"
#include "node/core/egress.h"
#include "os/cable/cable.h"
#include "os/crash.h"
#include "os/host/commission.h"
#include "os/host/host_impl.h"
#include "os/host/local_link.h"
#include "os/host/packets.h"
#include "transport/wake/wait.h"

enum {
    SPARE_PACKETS = 512,
    LINES_MAX = 20, /* lines about programs in the log of a server, in each LINES_NSEC */
};
#define LINES_NSEC (10 * NSEC_PER_SEC)
static_assert(ATTACH_VERSION == 2, "on_refused names the version");

static void host_say(struct host *host, node_id server, const char *text)
{
    if (host->config.said)
        host->config.said(host->config.owner, server, text);
}

/* ---- events ---- */

static void on_carrier(void *owner, uint32_t server, uint32_t number, bool on)
{
    struct host *host = owner;
    struct host_node *node = host_find(host, server);
    char text[80];
    port_set bit = (port_set)1 << number;
    node->carriers = on ? node->carriers | bit : node->carriers & ~bit;
    node->env.now = host_awake(host);
    if (node_has(node, number))
        node_carrier(node->node, number, on);
    node_ready(node);
    uint32_t other = host->config.machine ? host->config.machine->cables[number].serial
                                          : plan_end(host->config.plan, server, number)->server;
    snprintf(text, sizeof text, "port %u to %s%u: carrier %s", number,
             host->config.machine ? "serial " : "", other, on ? "on" : "off");
    host_say(host, node->server, text);
}

static void on_port(struct node_watcher *watcher, node_id at, unsigned port, bool up)
{
    struct host_node *node = container_of(watcher, struct host_node, watcher);
    struct host *host = node->host;
    char text[80];
    port_set silent = atomic_load_explicit(&node->watched->silent, memory_order_relaxed);
    port_set bit = (port_set)1 << port;
    atomic_store_explicit(&node->watched->silent, up ? silent & ~bit : silent | bit,
                          memory_order_relaxed);
    snprintf(text, sizeof text, "port %u to %u: %s", port,
             plan_end(host->config.plan, at, port)->server, up ? "up" : "down");
    host_say(host, at, text);
}

static void on_slow(struct node_watcher *watcher, node_id at, const char *service,
                    const char *function, env_nsec ran)
{
    char text[200];
    snprintf(text, sizeof text,
             "service %s: %s() ran for %.1f ms, and delayed all packets; weft/work.h is for that",
             service, function, (double)ran / 1e6);
    host_say(container_of(watcher, struct host_node, watcher)->host, at, text);
}

static void on_mistake(struct node_watcher *watcher, node_id at, const char *service,
                       const char *function, const char *reason)
{
    char text[200];
    snprintf(text, sizeof text, "service %s: %s: %s", service, function, reason);
    host_say(container_of(watcher, struct host_node, watcher)->host, at, text);
}

static void on_said(void *owner, uint32_t server, const char *text)
{
    host_say(owner, server, text);
}

static void on_local(void *owner, uint32_t server, uint32_t number, bool lazy)
{
    struct host_node *node = host_find(owner, server);
    node_input(node->node, number);
    if (!lazy)
        node_ready(node);
}

static int on_request(void *owner, const struct env_answer *from, const void *bytes, uint32_t size)
{
    struct host_node *node = owner;
    node->env.now = host_awake(node->host);
    node->host->eager = true;
    node_ready(node);
    return node_local(node->node, from, bytes, size);
}

int host_request(struct host *host, node_id server, uint16_t service, const void *bytes,
                 uint32_t size)
{
    const struct env_answer from = {.client = UINT64_MAX, .service = service};
    return on_request(host_find(host, server), &from, bytes, size);
}

static void on_gone(void *owner, uint64_t client)
{
    struct host_node *node = owner;
    node->env.now = host_awake(node->host);
    node_local_gone(node->node, client);
    node_ready(node);
}

static void on_writable(void *owner, uint64_t client, uint16_t service)
{
    struct host_node *node = owner;
    node->env.now = host_awake(node->host);
    node->host->eager = true;
    node_ready(node);
    node_local_writable(node->node, service, client);
}

static int on_number(void *owner, const char *name, size_t size)
{
    return node_service_number(((struct host_node *)owner)->node, name, size);
}

/* Writes a line about a program into the log, unless there were many lately: programs may attach
 * thousands of times. The next line then says how many were left out. */
static void program_say(struct host_node *node, const char *what)
{
    char text[200], more[48] = "";
    nsec now = clock_now();
    if (now >= node->lines_since + LINES_NSEC) {
        node->lines_since = now;
        node->lines = 0;
    }
    if (node->lines == LINES_MAX) {
        node->lines_left_out++;
        return;
    }
    node->lines++;
    if (node->lines_left_out)
        snprintf(more, sizeof more, " (and %u lines about programs before)", node->lines_left_out);
    node->lines_left_out = 0;
    snprintf(text, sizeof text, "%s%s", what, more);
    host_say(node->host, node->server, text);
}

/* Programs that use the socket by choice send only a few requests, such as a command's. */
static void on_attached(void *owner, uint64_t client, int memory)
{
    char text[120];
    if (memory == -ENODATA)
        return;
    snprintf(text, sizeof text, "program %u attached through %s%s", (unsigned)(uint32_t)client,
             memory ? "its socket: " : "shared memory", memory ? strerror(-memory) : "");
    program_say(owner, text);
}

static void on_refused(void *owner, int error)
{
    program_say(owner, error == -EPROTONOSUPPORT
                           ? "refused a program: it does not use version 2 of the protocol"
                       : error == -EMFILE
                           ? "refused a program: no descriptors left; raise ulimit -n"
                           : "refused a program: too many programs are attached");
}

static void on_bell(void *owner, uint32_t events)
{
    struct host *host = owner;
    uint8_t byte;
    /* One ring is one byte; if there are more, we are called again. */
    (void)!recv(host->bell.event_fd, &byte, sizeof byte, MSG_DONTWAIT);
}

/* ---- opening ---- */

/* Opens as many packets as their holders can hold at once: with fewer, all of them could be in
 * queues and services, with none left to receive into. */
static enum err host_packets(struct host *host, struct why *why)
{
    const struct host_config *config = &host->config;
    unsigned ports = config->plan->port_count;
    uint64_t most = node_packets_most(config->services, ports);
    most += ports * LOCAL_LINK_PACKETS_MAX; /* passed to a node of this process */
    most *= config->server_count;
    most += SPARE_PACKETS; /* of the commissioning */
    if (most > UINT32_MAX)
        return why_fail(why, ERR_USAGE,
                        "%llu packets are too many for one process: lower queue_packets and "
                        "keep_packets of the services, or use more processes",
                        (unsigned long long)most);
    return packets_open(&host->packets, (uint32_t)most, why);
}

static enum err err_of(int result)
{
    return result == -ENOMEM ? ERR_MEMORY : ERR_SYSTEM;
}

/* Before the nodes: a start() that never returns, or crashes, is named, too. */
static enum err watchdog_begin(struct host *host, struct why *why)
{
    const struct host_config *config = &host->config;
    const struct watchdog_config watchdog = {
        .folder = config->folder,
        .plan = config->plan,
        .servers = host->watched,
        .server_count = config->server_count,
        .said = config->said,
        .owner = config->owner,
    };
    enum err err = watchdog_start(&host->watchdog, &watchdog, why);
    if (!err)
        crash_watch(host->watched, config->server_count);
    return err;
}

static enum err host_open_parts(struct host *host, struct why *why)
{
    const struct host_config *config = &host->config;
    int result = poller_open(&host->poller, &host->lock);
    if (!result)
        result = client_sockets_open(&host->client_sockets);
    if (!result)
        result = doorbell_open(&host->bell);
    if (!result)
        result = poller_add(host->poller, host->bell.event_fd, EPOLLIN, on_bell, host,
                            &host->bell_watch);
    if (result)
        return why_fail(why, err_of(result), "cannot set up waiting for events: %s",
                        strerror(-result));
    host->nodes = array_new(config->server_count, sizeof *host->nodes);
    host->queue = array_new(config->server_count, sizeof *host->queue);
    host->index_of = array_new(config->plan->server_count, sizeof *host->index_of);
    host->outside = array_new((size_t)config->server_count * PORT_MAX, sizeof(struct port *));
    host->watched = array_new(config->server_count, sizeof *host->watched);
    if (!host->nodes || !host->queue || !host->index_of || !host->outside || !host->watched)
        return why_memory(why);
    memset(host->index_of, 0xff, config->plan->server_count * sizeof *host->index_of);
    for (uint32_t i = 0; i < config->server_count; i++) {
        struct host_node *node = &host->nodes[i];
        node->host = host;
        node->server = config->servers[i];
        node->index = i;
        node->watched = &host->watched[i];
        node->watched->server = node->server;
        node->watched->pulse.slow_ticks = clock_ticks(NODE_SLOW_NSEC);
        if (config->machine)
            continue;
        if (host->index_of[node->server] != UINT32_MAX)
            return why_fail(why, ERR_USAGE, "server %u is listed twice", node->server);
        host->index_of[node->server] = i;
    }
    enum err err = host_descriptors_open(host, why);
    if (!err && config->watchdog)
        err = watchdog_begin(host, why);
    return err ? err : host_packets(host, why);
}

static enum err node_start(struct host *host, struct host_node *node, uint64_t life,
                           struct why *why)
{
    const struct host_config *config = &host->config;
    enum err err = node_services_check(config->services, why); /* before folders are made */
    if (!err)
        err = host_disk_open(node, why);
    if (!err)
        err = host_work_open(node, why);
    if (err)
        return err;
    node->env = (struct env){.ops = node->files ? &host_disk_ops : &host_ops,
                             .now = clock_now(),
                             .pool = packets_pool(host->packets)};
    node->watcher.port = on_port;
    node->watcher.mistake = on_mistake;
    node->watcher.slow = on_slow;
    atomic_store_explicit(&node->watched->server, node->server, memory_order_relaxed);
    const struct node_config options = {
        .plan = config->plan,
        .self = node->server,
        .env = &node->env,
        .incarnation = life,
        .seed = entropy_u64(),
        .hello_nsec = config->hello_nsec,
        .silence_nsec = config->silence_nsec,
        .separate = config->separate,
        .services = config->services,
        .configuration = config->configuration,
        .machine_memory = config->machine_memory,
        .watcher = &node->watcher,
        .pulse = &node->watched->pulse,
    };
    err = node_open(&node->node, &options, why);
    if (err)
        return err;
    node_ready(node);
    const struct client_socket_config programs = {
        .folder = config->folder,
        .server = node->server,
        .clients_max = config->clients_max,
        .events = {.request = on_request,
                   .gone = on_gone,
                   .writable = on_writable,
                   .number = on_number,
                   .attached = on_attached,
                   .refused = on_refused,
                   .owner = node},
    };
    int result = client_socket_open(&node->client_socket, &host->client_sockets, host->poller,
                                    &programs, why);
    return result ? err_of(result) : OK;
}

/* Reports the place, or new findings, to the callback. Opens the node the first time that the
 * callback accepts the place. */
void host_placed(struct host *host, struct host_node *node, node_id vertex,
                 const struct placement *placement)
{
    const struct host_config *config = &host->config;
    struct why why = {0};
    uint64_t life;
    bool good = config->machine->placed(config->owner, vertex, placement, &life);
    if (node->node || !good)
        return;
    assert(vertex < config->plan->server_count);
    node->server = vertex;
    commission_keep(host->commission, vertex, host->now);
    enum err err = node_start(host, node, life, &why);
    host->failed = err != OK;
    if (err)
        config->machine->failed(config->owner, why.text);
    for (unsigned number = 0; node->node && number < config->plan->port_count; number++)
        node_carrier(node->node, number, node->carriers >> number & 1);
}

static bool is_outside(const struct host *host, node_id server)
{
    return host->index_of[server] == UINT32_MAX;
}

static enum err cables_begin(struct host *host, struct why *why)
{
    const struct host_config *config = &host->config;
    const struct cables_config cables = {
        .transport = config->transport,
        .folder = config->links,
        .address = config->address,
        .poller = host->poller,
        .bell = &host->bell,
        .packets = host->packets,
        .events = {.carrier = on_carrier, .said = on_said, .owner = host},
    };
    int result = cables_open(&host->cables, &cables, why);
    for (uint32_t i = 0; !result && i < config->server_count; i++)
        result = cables_listen(
            host->cables, config->machine ? config->machine->serial : host->nodes[i].server, why);
    return result ? err_of(result) : OK;
}

/* A link to another process begins without a carrier; the node assumes one until it is told. */
static enum err port_cable(struct host *host, struct host_node *node,
                           const struct cable_plan *cable, struct why *why)
{
    unsigned number = cable->number;
    if (!host->cables) {
        enum err err = cables_begin(host, why);
        if (err)
            return err;
    }
    int result = cables_add(host->cables, cable, &node->ports[number], why);
    if (result)
        return err_of(result);
    host->outside[host->outside_count++] = node->ports[number];
    if (node_has(node, number))
        node_carrier(node->node, number, false);
    return OK;
}

static enum err port_local(struct host *host, struct host_node *node, unsigned number,
                           const struct plan_end *end, struct why *why)
{
    const struct local_link_end ends[2] = {{node->server, number}, {end->server, end->port}};
    struct host_node *other = host_find(host, end->server);
    struct port *ports[2];
    if (node->ports[number])
        return OK; /* already made from its other end */
    enum err err = local_link_open(ends, on_local, host, ports, why);
    if (err)
        return err;
    node->ports[number] = ports[0];
    other->ports[end->port] = ports[1];
    return OK;
}

static enum err ports_open(struct host *host, struct host_node *node, struct why *why)
{
    const struct plan *plan = host->config.plan;
    for (unsigned number = 0; number < plan->port_count; number++) {
        const struct plan_end *end = plan_end(plan, node->server, number);
        if (end->server == NODE_NONE)
            continue;
        const struct cable_plan cable = {node->server, number, end->server, end->port};
        enum err err = is_outside(host, end->server) ? port_cable(host, node, &cable, why)
                                                     : port_local(host, node, number, end, why);
        if (err)
            return err;
        shaper_start(&node->ports[number]->shaper, host->config.rate_bps);
    }
    return OK;
}

/* A machine's ports have the cables that are plugged into them, whatever the plan says. */
static enum err machine_open(struct host *host, struct why *why)
{
    struct host_node *node = &host->nodes[0];
    const struct host_machine *machine = host->config.machine;
    const struct commission_config options = {
        .plan = host->config.plan,
        .serial = machine->serial,
        .known = node->server,
        .ports = node->ports,
        .pool = packets_pool(host->packets),
    };
    for (unsigned number = 0; number < PORT_MAX; number++) {
        if (machine->cables[number].port == PORT_NONE)
            continue;
        const struct cable_plan cable = {machine->serial, number, machine->cables[number].serial,
                                         machine->cables[number].port};
        enum err err = port_cable(host, node, &cable, why);
        if (err)
            return err;
        shaper_start(&node->ports[number]->shaper, host->config.rate_bps);
    }
    for (unsigned number = 0; node->node && number < host->config.plan->port_count; number++)
        node_carrier(node->node, number, false);
    node_ready(node);
    return commission_open(&host->commission, &options, why);
}

enum err host_open(struct host **out, const struct host_config *config, struct why *why)
{
    assert(config->server_count > 0 && (!config->machine || config->server_count == 1));
    struct host *host = array_new(1, sizeof *host);
    if (!host)
        return why_memory(why);
    host->config = *config;
    host_usage_begin(host);
    if (!config->spin)
        host->config.spin = WAIT_SPIN_NSEC;
    if (!config->yield)
        host->config.yield = YIELD_NSEC;
    host->yield_rest = YIELD_REST_NSEC;
    enum err err = host_open_parts(host, why);
    for (uint32_t i = 0; !err && i < config->server_count; i++)
        if (config->servers[i] != NODE_NONE)
            err = node_start(host, &host->nodes[i], config->lives[i], why);
    for (uint32_t i = 0; !err && !config->machine && i < config->server_count; i++)
        err = ports_open(host, &host->nodes[i], why);
    if (!err && config->machine)
        err = machine_open(host, why);
    if (err) {
        host->failed = true;
        host_close(host);
        return err;
    }
    if (host->cables)
        cables_call(host->cables);
    *out = host;
    return OK;
}

/* ---- closing ---- */

static void nodes_close(struct host *host)
{
    for (uint32_t i = 0; host->nodes && i < host->config.server_count; i++) {
        struct host_node *node = &host->nodes[i];
        client_socket_close(node->client_socket);
        if (node->node)
            node_close(node->node);
        host_disk_close(node);
        host_work_close(node);
    }
    for (uint32_t i = 0; host->nodes && i < host->config.server_count; i++)
        for (unsigned number = 0; number < PORT_MAX; number++) {
            struct port *port = host->nodes[i].ports[number];
            if (port)
                port->ops->close(port);
        }
}

void host_close(struct host *host)
{
    if (!host)
        return;
    nodes_close(host);
    host_descriptors_close(host);
    host_disk_end(host);
    host_work_end(host);
    commission_close(host->commission);
    cables_close(host->cables);
    packets_close(host->packets);
    client_sockets_close(&host->client_sockets);
    if (host->poller)
        poller_remove(host->poller, host->bell_watch);
    doorbell_close(&host->bell);
    poller_close(host->poller);
    if (host->watchdog)
        crash_unwatch();
    watchdog_stop(host->watchdog);
    host_usage_end(host);
    free(host->watched);
    free(host->outside);
    free(host->index_of);
    free(host->queue);
    free(host->nodes);
    free(host);
}

/* ---- inspection ---- */

struct node *host_node(struct host *host, node_id server)
{
    struct host_node *node = host_find(host, server);
    return node ? node->node : NULL;
}

struct port *host_port(struct host *host, node_id server, unsigned number)
{
    struct host_node *node = host_find(host, server);
    return node ? node->ports[number] : NULL;
}
