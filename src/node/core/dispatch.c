/* dispatch: decides what happens to a packet.
 *
 *   for here      to the neighbour that receives it, to this server, or to a key whose root we are:
 *                 delivered to its service
 *   passing       the service may intercept it; otherwise it waits in the service's queue for one
 *                 of the ports on the shortest paths
 *   in limbo      to a key whose root is not yet reachable over links that are up, or is this
 *                 server before it has settled: it waits until the root is decided
 *   in the loop   from a service here to a service here: delivered in the next turn, so that
 *                 no service calls itself
 *   dropped       counted by reason
 *
 * A service holds a packet from deliver() on, or from intercept() on if it takes the packet, and
 * may hold as many as its share. Beyond that, packets for it are dropped, so that it leaves the
 * buffers that others need. intercept() may always look at one packet more. */

#include <errno.h>

#include "base/bitset.h"
#include "base/check.h"
#include "node/core/node_impl.h"

static void stream_deliver(struct node *node, struct packet *packet)
{
    struct weft_self *self = node->services[packet->slot];
    if (!self->streams) {
        buffer_drop(node, packet, DROP_REFUSED);
        return;
    }
    buffer_part(packet); /* the streams keep no packet */
    self->host.now = node->env->now;
    callback_begin(self, CALLBACK_STREAM);
    streams_receive(self->streams, packet);
    callback_end(self);
    packet_done(packet);
}

static void deliver(struct node *node, struct packet *packet)
{
    struct weft_self *self = node->services[packet->slot];
    if (packet->slot != SLOT_LINKS) {
        if (packet->kept == PACKET_LOOPED) {
            packet->kept = PACKET_HELD; /* it counts already */
        } else if (!buffer_keep(self, packet, self->share)) {
            buffer_drop(node, packet, DROP_SHARE);
            return;
        }
        node->counts.delivered++;
        self->delivered++;
        if (node->config.watcher && node->config.watcher->delivered)
            node->config.watcher->delivered(node->config.watcher, node->self, packet);
    }
    if (packet->stream) {
        stream_deliver(node, packet);
        return;
    }
    if (!self->service->ops->deliver) {
        buffer_drop(node, packet, DROP_REFUSED);
        return;
    }
    callback_begin(self, CALLBACK_DELIVER);
    self->service->ops->deliver(self, (struct weft_packet *)packet);
    callback_end(self);
}

/* False: the service says that the packet travels on, but has sent or released it. A buffer that
 * the service got again by weft_packet came from no port. */
static bool verdict_stands(struct weft_self *self, const struct packet *packet,
                           enum weft_verdict verdict)
{
    bool held =
        packet->kept == PACKET_HELD && packet->keeper == self && packet->port_in != PORT_NONE;
    if (!held)
        service_mistake(self, "intercept",
                        "the service passes a packet on that it has not any more");
    else if (verdict != WEFT_PASS)
        service_mistake(self, "intercept", "the verdict is neither WEFT_PASS nor WEFT_TAKEN");
    return held;
}

/* True: the service took the packet, or it was dropped. */
static bool intercept(struct node *node, struct packet *packet)
{
    struct weft_self *self = node->services[packet->slot];
    if (!self->service->ops->intercept || packet->stream)
        return false;
    uint64_t trail = packet->trail;
    if (!buffer_keep(self, packet, self->share + 1)) {
        buffer_drop(node, packet, DROP_SHARE);
        return true;
    }
    callback_begin(self, CALLBACK_INTERCEPT);
    enum weft_verdict verdict = self->service->ops->intercept(self, (struct weft_packet *)packet);
    callback_end(self);
    if (verdict != WEFT_TAKEN && verdict_stands(self, packet, verdict)) {
        buffer_part(packet);
        if (packet->changed)
            packet_seal(packet);
        return false;
    }
    node->counts.intercepted++;
    self->intercepted++;
    if (node->config.watcher && node->config.watcher->taken)
        node->config.watcher->taken(node->config.watcher, node->self, trail);
    if (HAS_BUG(&node->config, LEAK))
        (void)packet_take(node->env->pool, PACKET_HEADER_SIZE);
    return true;
}

/* ---- choosing the way ---- */

enum way {
    WAY_HERE,
    WAY_PORTS, /* packet->ports */
    WAY_LIMBO,
    WAY_NONE,
};

static enum way way_to_key(struct node *node, struct packet *packet)
{
    const struct routes *routes = &node->state.routes;
    struct place_group group = keyspace_group(&node->plan->keyspace, packet->route);
    const uint64_t *near = HAS_BUG(&node->config, ROOT_OVER_UP) ? routes->up_set : routes->near_set;
    node_id root = keyspace_root(&node->plan->keyspace, group, near, node->scratch);
    packet->server = root;
    if (root == node->self)
        return node->settled ? WAY_HERE : WAY_LIMBO;
    if (!bitset_has(routes->up_set, root))
        return WAY_LIMBO;
    packet->ports = routes->ports[root];
    return WAY_PORTS;
}

static enum way way_find(struct node *node, struct packet *packet)
{
    if (packet->kind == PACKET_TO_KEY)
        return way_to_key(node, packet);
    if (packet->kind == PACKET_TO_NEIGHBOUR) {
        bool all = packet->slot == SLOT_LINKS || HAS_BUG(&node->config, NEIGHBOUR_DOWN);
        port_set open = all ? node->planned : node->state.own_near;
        return packet->ports & open ? WAY_PORTS : WAY_NONE;
    }
    if (packet->server == node->self)
        return WAY_HERE;
    if (packet->server >= node->plan->server_count)
        return WAY_NONE;
    packet->ports = node->state.routes.ports[packet->server];
    return packet->ports ? WAY_PORTS : WAY_NONE;
}

port_set dispatch_ports(struct node *node, struct packet *packet)
{
    return way_find(node, packet) == WAY_PORTS ? packet->ports : 0;
}

/* ---- waiting ---- */

static int limbo_add(struct node *node, struct packet *packet)
{
    if (node->limbo_count == node->config.limbo_packets) {
        buffer_drop(node, packet, DROP_LIMBO_FULL);
        return -ENOBUFS;
    }
    node->limbo_count++;
    packet->next = NULL;
    *node->limbo_end = packet;
    node->limbo_end = &packet->next;
    return 0;
}

/* A packet in the loop belongs to its service's share: the loop has no limit of its own. */
static int loop_add(struct node *node, struct packet *packet)
{
    struct weft_self *self = node->services[packet->slot];
    if (packet->slot != SLOT_LINKS && !buffer_keep(self, packet, self->share + 1)) {
        buffer_drop(node, packet, DROP_SHARE);
        return -ENOBUFS;
    }
    packet->kept = packet->slot == SLOT_LINKS ? PACKET_FREE : PACKET_LOOPED;
    packet->next = NULL;
    *node->loop_end = packet;
    node->loop_end = &packet->next;
    return 0;
}

/* Handles a packet from a service here, or one that has waited. */
static int follow_way(struct node *node, struct packet *packet)
{
    switch (way_find(node, packet)) {
    case WAY_HERE:
        return loop_add(node, packet);
    case WAY_PORTS:
        return buffer_queue(node, packet);
    case WAY_LIMBO:
        return limbo_add(node, packet);
    case WAY_NONE:
        buffer_drop(node, packet,
                    packet->kind == PACKET_TO_NEIGHBOUR ? DROP_PORT_DOWN : DROP_UNREACHABLE);
        return -EHOSTUNREACH;
    }
    assert_unreachable();
}

int dispatch_sent(struct node *node, struct packet *packet)
{
    if (packet->slot != SLOT_LINKS) {
        node->counts.sent++;
        node->services[packet->slot]->sent++;
        if (node->config.watcher && node->config.watcher->sent)
            node->config.watcher->sent(node->config.watcher, node->self, packet);
    }
    return follow_way(node, packet);
}

/* ---- receiving ---- */

/* Runs once on every server that the packet passes through. False: the packet ends here. */
static bool passes(struct node *node, struct packet *packet)
{
    if (packet->slot != SLOT_LINKS && intercept(node, packet))
        return false;
    if (packet->hops_left == 0) {
        buffer_drop(node, packet, DROP_HOPS);
        return false;
    }
    packet->hops_left--;
    return true;
}

static void forward(struct node *node, struct packet *packet)
{
    if (passes(node, packet) && !frames_join(node, packet))
        (void)buffer_queue(node, packet); /* counts its drops itself */
}

void dispatch_received(struct node *node, unsigned port, struct packet *packet)
{
    struct node_port *at = &node->ports[port];
    packet->port_in = (uint8_t)port;
    packet->slot = SERVICES_MAX;
    if (!packet->read && !packet_read(packet, packet->size)) {
        buffer_drop(node, packet, DROP_DAMAGED);
        return;
    }
    at->packets_in++;
    at->bytes_in += packet->size;
    node->counts.packets_in++;
    packet->hops++;
    packet->slot = (uint8_t)node_slot(node, packet->service);
    if (packet->slot >= node->service_count) {
        buffer_drop(node, packet, DROP_NO_SERVICE);
        return;
    }
    if (packet->slot != SLOT_LINKS && !node->flood.ports[port].linked) {
        buffer_drop(node, packet, DROP_STRAY);
        return;
    }
    if (packet->kind == PACKET_TO_NEIGHBOUR) {
        deliver(node, packet);
        return;
    }
    switch (way_find(node, packet)) {
    case WAY_HERE:
        deliver(node, packet);
        return;
    case WAY_PORTS:
        forward(node, packet);
        return;
    case WAY_LIMBO:
        packet->unseen = !HAS_BUG(&node->config, UNSEEN);
        (void)limbo_add(node, packet); /* counts its drops itself */
        return;
    case WAY_NONE:
        buffer_drop(node, packet, DROP_UNREACHABLE);
        return;
    }
}

/* ---- waiting packets again ---- */

/* Decides again about a packet that waited in limbo or in the loop. Its service has not seen it yet
 * if it came from a link: until now it could have been for this server. */
static void leave(struct node *node, struct packet *packet)
{
    if (packet->unseen && way_find(node, packet) == WAY_PORTS) {
        packet->unseen = false;
        if (!passes(node, packet))
            return;
    }
    (void)follow_way(node, packet); /* counts its drops itself */
}

void dispatch_again(struct node *node)
{
    struct packet *next, *limbo = node->limbo;
    node->limbo = NULL;
    node->limbo_end = &node->limbo;
    node->limbo_count = 0;
    for (struct packet *packet = limbo; packet; packet = next) {
        next = packet->next;
        leave(node, packet);
    }
    if (HAS_BUG(&node->config, DEAD_PORT))
        return;
    for (unsigned slot = 0; slot < node->service_count; slot++)
        for (struct packet *packet = egress_empty(node->egress, slot); packet; packet = next) {
            next = packet->next;
            (void)follow_way(node, packet);
        }
}

void dispatch_loop(struct node *node)
{
    struct packet *next, *loop = node->loop;
    node->loop = NULL;
    node->loop_end = &node->loop;
    for (struct packet *packet = loop; packet; packet = next) {
        next = packet->next;
        /* The routes may have changed since: the packet may now go another way. */
        if (way_find(node, packet) == WAY_HERE) {
            deliver(node, packet);
            continue;
        }
        if (packet->kept)
            buffer_part(packet);
        leave(node, packet);
    }
}

static void list_drop(struct node *node, struct packet *list)
{
    struct packet *next;
    for (; list; list = next) {
        next = list->next;
        buffer_drop(node, list, DROP_STOPPED);
    }
}

void dispatch_fini(struct node *node)
{
    list_drop(node, node->limbo);
    list_drop(node, node->loop);
    for (unsigned slot = 0; slot < node->service_count; slot++)
        list_drop(node, egress_empty(node->egress, slot));
}
