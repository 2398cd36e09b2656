/* host_pass: steps the nodes that have work. */
#include "os/host/commission.h"
#include "os/host/host_impl.h"

enum {
    STEPS_PER_NODE = 4, /* in one pass, on average: then the links are polled again */
};

static void pass_links(struct host *host)
{
    for (uint32_t i = 0; i < host->outside_count; i++) {
        struct port *port = host->outside[i];
        enum port_news news = port->ops->poll(port);
        if (news == PORT_SILENT)
            continue;
        struct host_node *node = host_find(host, port->server);
        if (node_has(node, port->number))
            node_input(node->node, port->number);
        if (news == PORT_LAZY)
            continue; /* wait until the node has its own hello to send */
        host->eager = true;
        node_ready(node);
    }
}

static void pass_starved(struct host *host)
{
    for (uint32_t i = 0; host->starved_count && i < host->config.server_count; i++) {
        struct host_node *node = &host->nodes[i];
        if (!node->starved)
            continue;
        for (port_set left = node->starved; left; left &= left - 1) {
            unsigned number = (unsigned)__builtin_ctz(left);
            struct port *port = node->ports[number];
            if (shaper_busy_until(&port->shaper, host->now) || !port_room(port))
                continue;
            node->starved &= ~((port_set)1 << number);
            node_room(node->node, number);
            node_ready(node);
        }
        host->starved_count -= !node->starved;
    }
}

static void pass_timers(struct host *host)
{
    nsec next = NSEC_NEVER;
    for (uint32_t i = 0; i < host->config.server_count; i++) {
        struct host_node *node = &host->nodes[i];
        if (node->due <= host->now)
            node_ready(node);
        else if (node->due < next)
            next = node->due;
    }
    host->due = next;
}

/* Runs the commissioning of a machine. It reads only ports that no node reads; from the other ports
 * it gets its packets by commission_filter. */
static nsec pass_commission(struct host *host, struct host_node *node)
{
    node_id vertex;
    const struct placement *placement;
    for (unsigned number = 0; number < PORT_MAX; number++)
        if (node->ports[number] && !node_has(node, number))
            commission_drain(host->commission, number, host->now);
    nsec next = commission_step(host->commission, host->now);
    if (commission_news(host->commission, &vertex, &placement)) {
        host_placed(host, node, vertex, placement);
        return host->now;
    }
    return next;
}

static void pass_step(struct host *host, struct host_node *node)
{
    node->ready = false;
    node->env.now = host->now;
    node->due = node->node ? node_step(node->node) : NSEC_NEVER;
    client_sockets_ring(&host->client_sockets);
    if (host->commission) {
        nsec next = pass_commission(host, node);
        node->due = next < node->due ? next : node->due;
    }
    if (node->due <= host->now)
        node_ready(node);
    else if (node->due < host->due)
        host->due = node->due;
}

bool host_poll(struct host *host)
{
    pass_links(host);
    client_sockets_poll(&host->client_sockets);
    if (host->files)
        host_disk_poll(host);
    if (host->crew && crew_waiting(host->crew))
        crew_reap(host->crew);
    if (host->descriptors && descriptors_waiting(host->descriptors))
        descriptors_pass(host->descriptors);
    /* Read after the polls: a process that was stopped during them must notice that before it
     * handles what arrived meanwhile. */
    host->now = clock_now();
    if (host->starved_count)
        pass_starved(host);
    if (host->now >= host->due)
        pass_timers(host);
    if (host->queue_head == host->queue_tail) {
        client_sockets_ring(&host->client_sockets);
        return false;
    }
    uint32_t count = host->config.server_count, most = STEPS_PER_NODE * count;
    for (uint32_t steps = 0; host->queue_head != host->queue_tail && steps < most; steps++) {
        if (steps)
            host->now = clock_now(); /* the step took time, which the next node must see */
        pass_step(host, &host->nodes[host->queue[host->queue_head++ % count]]);
    }
    for (uint32_t i = 0; i < host->outside_count; i++)
        host->outside[i]->ops->settle(host->outside[i]);
    if (host->files)
        files_flush(host->files);
    return true;
}
