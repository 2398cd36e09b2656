/* links: the ports of a node, from the first hello to a link that carries keys.
 *
 *   DOWN    no hello received            --a hello of the planned neighbour-->  HEARD
 *   HEARD   hellos arrive                --the neighbour confirms ours-->       rows are exchanged
 *           rows are exchanged           --both ends have all rows-->           COMING
 *   COMING  our row says near            --all reachable servers saw it-->      UP
 *   any     silence, no carrier, new incarnation or session of the neighbour--> DOWN
 *
 * A hello names the incarnation and session of its sender and those that the sender received, so
 * both ends know that they mean the same session; each time a link goes down its session grows. A
 * lost link is put into our row at once, a new link a moment later, so that links that come up
 * together are announced together. */

#include "base/bitset.h"
#include "base/check.h"
#include "base/hash.h"
#include "node/core/node_impl.h"

static uint64_t own_incarnation(const struct node *node)
{
    const struct link_row *image = (const struct link_row *)(const void *)node->state.own.image;
    return image->incarnation;
}

static bool is_linked(const struct node *node, unsigned port)
{
    return node->flood.ports[port].linked;
}

static void carrier_note(struct node *node, unsigned port)
{
    bool is = node->ports[port].carrier && node->ports[port].state != PORT_CUT;
    port_set bit = (port_set)1 << port;
    node->carriers = is ? node->carriers | bit : node->carriers & ~bit;
}

/* The only writer of a port's state. */
static void port_become(struct node *node, unsigned port, enum port_state state)
{
    enum port_state last = node->ports[port].state;
    if (last == state)
        return;
    node->ports[port].state = state;
    node->links_due = true;
    carrier_note(node, port);
    if (node->config.watcher && node->config.watcher->port && (last == PORT_UP || state == PORT_UP))
        node->config.watcher->port(node->config.watcher, node->self, port, state == PORT_UP);
}

/* ---- sending ---- */

static struct packet *neighbour_packet(struct node *node, unsigned port, uint32_t size)
{
    struct packet *packet = buffer_take(node, SLOT_LINKS, size, PACKET_HEADER_SIZE + size);
    if (packet) {
        packet->kind = PACKET_TO_NEIGHBOUR;
        packet->ports = (port_set)1 << port;
    }
    return packet;
}

static void push(struct node *node, struct packet *packet)
{
    packet_seal(packet);
    (void)buffer_queue(node, packet); /* counts its drops itself; the message is repeated anyway */
}

static bool waits_for(const struct packet *packet, unsigned port)
{
    return packet->kind == PACKET_TO_NEIGHBOUR && packet->ports == (port_set)1 << port;
}

static unsigned type_of(const struct packet *packet)
{
    return hello_type(packet_payload(packet), packet->size - PACKET_HEADER_SIZE);
}

/* Removes messages for that port from our own queue: all of them (0), or those of one type. */
static void queue_recall(struct node *node, unsigned port, unsigned type)
{
    struct packet *next;
    for (struct packet *packet = egress_empty(node->egress, SLOT_LINKS); packet; packet = next) {
        next = packet->next;
        if (waits_for(packet, port) && (!type || type_of(packet) == type)) {
            packet_done(packet);
            continue;
        }
        struct packet *gone = egress_push(node->egress, SLOT_LINKS, packet);
        assert(!gone); /* they had room before */
    }
}

/* A hello that is queued replaces the one that still waits for this port: otherwise the messages to
 * a hung server would fill the queue that all ports share.
 *
 * A hello that the neighbour does not wait for (`lazy`) goes out at once and need not wake the
 * neighbour. */
static void hello_send(struct node *node, unsigned port, bool lazy)
{
    struct node_port *at = &node->ports[port];
    struct packet *packet = neighbour_packet(node, port, HELLO_SIZE);
    if (!packet)
        return;
    at->hello_now = false;
    hello_write(
        &(struct link_hello){
            .server = node->self,
            .port = port,
            .self = {own_incarnation(node), at->session},
            .heard = at->peer,
            .layout = node->state.table.schema.hash,
            .digest = node->state.digest,
        },
        packet_payload(packet));
    if (!lazy || node->env->ops->room(node->env, port) < packet->size) {
        queue_recall(node, port, HELLO);
        push(node, packet);
        return;
    }
    packet_seal(packet);
    at->frames_out++;
    at->packets_out++;
    at->bytes_out += packet->size;
    node->env->ops->transmit(node->env, port, &packet, 1, true);
}

static void rows_send(struct node *node, unsigned port)
{
    struct hello_rows rows;
    struct link_report reports[HELLO_ROWS_MAX];
    if (!flood_next(&node->flood, port, node->env->now, &rows, reports))
        return;
    struct packet *packet = neighbour_packet(node, port, hello_rows_size(rows.count));
    if (!packet)
        return; /* not acknowledged, so the rows are sent again */
    rows.self_session = node->ports[port].session;
    rows.peer_session = node->ports[port].peer.session;
    hello_rows_write(&rows, reports, packet_payload(packet));
    if (rows.sequence) /* a message that still waits was given up: its rows are sent again */
        queue_recall(node, port, HELLO_ROWS);
    push(node, packet);
}

static void seen_send(struct node *node, node_id server)
{
    struct link_report report, own;
    if (!bitset_has(node->state.routes.near_set, server) ||
        !link_state_report(&node->state, server, &report) ||
        !link_state_report(&node->state, node->self, &own))
        return;
    struct packet *packet =
        buffer_take(node, SLOT_LINKS, HELLO_SEEN_SIZE, PACKET_HEADER_SIZE + HELLO_SEEN_SIZE);
    if (!packet)
        return; /* the other end asks again */
    packet_set_server(packet, server);
    hello_seen_write(
        &(struct link_seen){report.incarnation, report.version, own.incarnation, own.version},
        packet_payload(packet));
    packet_seal(packet);
    (void)dispatch_sent(node, packet); /* if it is dropped, the other end asks again */
}

/* ---- a port goes down ---- */

static void port_down(struct node *node, unsigned port, enum port_state state)
{
    struct node_port *at = &node->ports[port];
    if (at->state == PORT_DOWN && state == PORT_DOWN && !at->peer.incarnation)
        return;
    at->session += !HAS_BUG(&node->config, SAME_SESSION);
    at->peer = (struct hello_end){0};
    flood_unlink(&node->flood, port);
    frames_recall(node, port);
    queue_recall(node, port, 0); /* messages of a session that is over */
    /* Also if it goes down before the others have heard that it was near, so that no route changes:
     * what waits for this port must not leave by it. */
    node->again |= node->state.own_near >> port & 1;
    link_state_near(&node->state, port, false);
    if (node->state.announced)
        node->put_at = node->env->now;
    port_become(node, port, state);
    node->links_due = true;
}

/* ---- receiving ---- */

static void port_heard(struct node *node, unsigned port)
{
    node->ports[port].heard_at = node->env->now;
    if (node->config.watcher && node->config.watcher->heard)
        node->config.watcher->heard(node->config.watcher, node->self, port);
}

/* Is `said` a later incarnation or session than `known`? If not, the hello is outdated. */
static bool end_is_new(const struct hello_end *known, const struct hello_end *said)
{
    return said->incarnation > known->incarnation ||
           (said->incarnation == known->incarnation && said->session > known->session);
}

static bool end_equal(const struct hello_end *one, const struct hello_end *other)
{
    return one->incarnation == other->incarnation && one->session == other->session;
}

static void hello_take(struct node *node, unsigned port, const struct link_hello *hello)
{
    struct node_port *at = &node->ports[port];
    const struct plan_end *end = plan_end(node->plan, node->self, port);
    at->found = hello->server;
    at->found_port = hello->port;
    if (at->state == PORT_CUT && !HAS_BUG(&node->config, CUT_IGNORED))
        return;
    if (!(node->planned >> port & 1)) {
        port_become(node, port, PORT_MISWIRED); /* a cable where none is planned */
        return;
    }
    if (hello->server != end->server || hello->port != end->port) {
        port_down(node, port, PORT_MISWIRED);
        return;
    }
    bool known = end_equal(&at->peer, &hello->self);
    if (!known && at->peer.incarnation && !end_is_new(&at->peer, &hello->self) &&
        !HAS_BUG(&node->config, OLD_HELLO))
        return;
    /* A new session of the neighbour also ends ours if the two ends had begun to exchange rows.
     * Otherwise ours stays: if it grew as well, each end would answer the other's new session with
     * another new one, forever. */
    if (!known && at->peer.incarnation && is_linked(node, port))
        port_down(node, port, PORT_DOWN);
    port_heard(node, port);
    if (!known) {
        at->peer = hello->self;
        at->hello_now = true;
        port_become(node, port, PORT_HEARD);
        node->links_due = true;
    }
    struct hello_end self = {own_incarnation(node), at->session};
    if (end_equal(&hello->heard, &self) && !is_linked(node, port)) {
        flood_link(&node->flood, port);
        at->hello_now = true;
        node->links_due = true;
    }
}

static void rows_take(struct node *node, unsigned port, const uint8_t *bytes, size_t size)
{
    struct node_port *at = &node->ports[port];
    struct hello_rows rows;
    if (!is_linked(node, port) || !hello_rows_read(bytes, size, &rows) ||
        ((rows.self_session != at->peer.session || rows.peer_session != at->session) &&
         !HAS_BUG(&node->config, OLD_ROWS)))
        return; /* of a session that is over, or not known yet: it is sent again */
    port_heard(node, port);
    flood_take(&node->flood, port, &rows, bytes);
    node->links_due = true;
}

static void links_deliver(struct weft_self *self, struct weft_packet *delivered)
{
    struct node *node = self->node;
    struct packet *packet = (struct packet *)delivered;
    const uint8_t *bytes = packet_payload(packet);
    size_t size = packet->size - PACKET_HEADER_SIZE;
    unsigned type = packet->stored == packet->size ? hello_type(bytes, size) : 0;
    bool neighbour = packet->kind == PACKET_TO_NEIGHBOUR;
    if (type == HELLO && neighbour) {
        struct link_hello hello;
        hello_read(bytes, &hello);
        if (hello.layout == node->state.table.schema.hash)
            hello_take(node, packet->port_in, &hello);
    } else if (type == HELLO_ROWS && neighbour) {
        rows_take(node, packet->port_in, bytes, size);
    } else if (type == HELLO_SEEN && packet->kind == PACKET_TO_SERVER) {
        struct link_seen seen;
        hello_seen_read(bytes, &seen);
        link_state_seen(&node->state, packet->source, &seen);
        node->links_due = true;
    } else {
        buffer_drop(node, packet, type ? DROP_REFUSED : DROP_DAMAGED);
        return;
    }
    packet_done(packet);
}

enum {
    LINKS_WEIGHT = 8, /* hellos and rows are few, and must not be late */
};

static const struct weft_service_ops links_ops = {.deliver = links_deliver};
const struct weft_service links_service = {
    .version = WEFT_SERVICE_VERSION,
    .name = "links",
    .id = 0,
    .weight = LINKS_WEIGHT,
    .ops = &links_ops,
};

/* ---- what is due ---- */

static void hellos_step(struct node *node)
{
    env_nsec now = node->env->now;
    bool due = now >= node->hello_at;
    for (port_set left = node->planned; left; left &= left - 1) {
        unsigned port = (unsigned)__builtin_ctz(left);
        struct node_port *at = &node->ports[port];
        if (at->state == PORT_CUT || !at->carrier)
            continue;
        if (due || at->hello_now)
            hello_send(node, port, !at->hello_now);
    }
    if (due)
        node->hello_at = now + node->config.hello_nsec;
}

/* Links whose ends have exchanged all rows are near from now on. */
static void near_step(struct node *node)
{
    for (port_set left = node->planned; left; left &= left - 1) {
        unsigned port = (unsigned)__builtin_ctz(left);
        const struct flood_port *flood = &node->flood.ports[port];
        bool synced = flood->synced_in && flood->synced_out;
        if (HAS_BUG(&node->config, NO_SYNC))
            synced = flood->linked;
        if (node->ports[port].state != PORT_HEARD || !synced)
            continue;
        port_become(node, port, PORT_COMING);
        link_state_near(&node->state, port, true);
        env_nsec at = node->env->now + COMING_HOLD_NSEC;
        node->put_at = at < node->put_at ? at : node->put_at;
    }
}

static void put_step(struct node *node)
{
    env_nsec now = node->env->now;
    bool waiting = link_state_is_waiting(&node->state);
    bool again = waiting && now >= node->seen_at;
    if (now < node->put_at && !again)
        return;
    node->put_at = ENV_NEVER;
    link_state_put(&node->state, again);
    node->seen_wait =
        again && node->seen_wait < 8 * SEEN_AGAIN_NSEC ? 2 * node->seen_wait : SEEN_AGAIN_NSEC;
    node->seen_at = waiting ? now + node->seen_wait : ENV_NEVER;
}

static void notice(struct node *node, node_id server, bool up)
{
    for (unsigned slot = 0; slot < node->service_count; slot++) {
        struct weft_self *self = node->services[slot];
        const struct weft_service_ops *ops = self->service->ops;
        if (up && ops->peer_up) {
            callback_begin(self, CALLBACK_PEER_UP);
            ops->peer_up(self, server);
            callback_end(self);
        }
        if (!up && ops->peer_down &&
            !(HAS_BUG(&node->config, PEER_DOWN_SKIPPED) && server % 8 == 7)) {
            callback_begin(self, CALLBACK_PEER_DOWN);
            ops->peer_down(self, server);
            callback_end(self);
        }
    }
}

static void notices(struct node *node)
{
    const uint64_t *now = node->state.routes.up_set;
    for (size_t word = 0; word < bitset_words(node->plan->server_count); word++) {
        uint64_t other = now[word] ^ node->noticed[word];
        node->noticed[word] = now[word];
        while (other) {
            node_id server = (node_id)bitset_take_lowest(&other, word);
            notice(node, server, bitset_has(now, server));
            if (HAS_BUG(&node->config, PEER_UP_SKIPPED))
                break;
        }
    }
}

/* A server without a link that is up answers for keys only if it has no neighbour at all. */
static void settled_step(struct node *node)
{
    if (node->settled)
        return;
    bool alone = true;
    for (port_set left = node->planned; left; left &= left - 1)
        alone &= !node->ports[__builtin_ctz(left)].peer.incarnation;
    if (node->state.own_up ||
        (alone && node->env->now - node->opened_at >= node->config.silence_nsec)) {
        node->settled = true;
        node->again = !HAS_BUG(&node->config, LIMBO_STUCK);
    }
}

/* The streams of services find their paths and roots again. */
static void streams_reroute(struct node *node)
{
    for (uint32_t left = node->stream_slots; left; left &= left - 1) {
        struct weft_self *self = node->services[__builtin_ctz(left)];
        self->host.now = node->env->now;
        streams_routes(self->streams);
    }
}

/* Handles changed rows and links that all servers have seen, until there are no more of either. */
static void state_step(struct node *node)
{
    for (;;) {
        put_step(node);
        node->again |= link_state_settle(&node->state);
        port_set admitted = link_state_admit(&node->state);
        if (HAS_BUG(&node->config, ROOTS_OVERLAP))
            admitted = link_state_admit_blindly(&node->state);
        for (port_set left = admitted; left; left &= left - 1)
            port_become(node, (unsigned)__builtin_ctz(left), PORT_UP);
        if (!admitted)
            return;
        node->put_at = node->env->now;
    }
}

static env_nsec links_next(const struct node *node)
{
    env_nsec next = node->hello_at < node->put_at ? node->hello_at : node->put_at;
    if (link_state_is_waiting(&node->state) && node->seen_at < next)
        next = node->seen_at;
    for (port_set left = node->planned; left; left &= left - 1) {
        unsigned port = (unsigned)__builtin_ctz(left);
        env_nsec due = flood_due(&node->flood, port);
        next = due < next ? due : next;
        due = node->ports[port].heard_at + node->config.silence_nsec;
        if (node->ports[port].peer.incarnation && due < next)
            next = due;
    }
    env_nsec alone = node->opened_at + node->config.silence_nsec;
    return !node->settled && alone > node->env->now && alone < next ? alone : next;
}

/* Routes, services and waiting packets follow the links. */
static void links_apply(struct node *node)
{
    near_step(node);
    state_step(node);
    settled_step(node);
    if (node->again) {
        node->again = false;
        notices(node);
        dispatch_again(node);
        streams_reroute(node);
    }
}

void links_step(struct node *node)
{
    node->links_due = false;
    hellos_step(node);
    links_apply(node);
    for (port_set left = node->planned; left; left &= left - 1)
        rows_send(node, (unsigned)__builtin_ctz(left));
    for (node_id server; (server = flood_owed(&node->flood)) != NODE_NONE;)
        seen_send(node, server);
    node->links_at = links_next(node);
}

/* ---- the look at the time ---- */

/* Has the silence passed since the last hellos of this server? The neighbours measure the silence
 * from the last hello that they received, and none of them received one that was sent later. So
 * they have taken their links to this server down, or will unless a hello that is still on its way
 * arrives. A server whose steps are on time sends hellos often enough. */
static bool was_away(const struct node *node)
{
    const struct node_config *config = &node->config;
    env_nsec silence = config->silence_nsec, hello = config->hello_nsec;
    return node->planned &&
           node->env->now - node->hello_at >= (silence > hello ? silence - hello : silence);
}

/* What waits in the input of a server that was away belongs to sessions that are over: hellos and
 * rows are ignored, packets of services are dropped as strays. */
void links_look(struct node *node)
{
    bool away = was_away(node), fell = false;
    node->links_due = true;
    for (port_set left = node->planned; left; left &= left - 1) {
        unsigned port = (unsigned)__builtin_ctz(left);
        struct node_port *at = &node->ports[port];
        at->hello_now |= away;
        if (!at->peer.incarnation ||
            (!away && node->env->now - at->heard_at < node->config.silence_nsec))
            continue;
        port_down(node, port, PORT_DOWN);
        fell = true;
    }
    if (away) {
        node->settled = HAS_BUG(&node->config, KEEPS_KEYS);
        node->opened_at = node->env->now;
        node->again = true;
    }
    if (away || fell)
        links_apply(node);
}

/* ---- calls from outside ---- */

static void row_news(void *context, const struct link_report *report)
{
    const struct node *node = context;
    node->config.watcher->row(node->config.watcher, node->self, report->server, report->incarnation,
                              report->version);
}

/* A delay specific to this server, so that servers that start together do not all send at once. */
static env_nsec phase(const struct node *node, env_nsec period)
{
    uint64_t number = hash_mix(node->config.seed ^ hash_mix(node->self + 1));
    return (env_nsec)(number % (uint64_t)period);
}

void links_open(struct node *node)
{
    node->planned = node->plan->ports[node->self];
    if (node->config.watcher && node->config.watcher->row) {
        node->flood.news = row_news;
        node->flood.context = node;
    }
    for (unsigned port = 0; port < node->plan->port_count; port++) {
        struct node_port *at = &node->ports[port];
        bool planned = node->planned >> port & 1;
        at->state = planned ? PORT_DOWN : PORT_ABSENT;
        at->carrier = planned;
        at->session = 1;
        at->found = NODE_NONE;
        at->found_port = PORT_NONE;
        carrier_note(node, port);
    }
    node->opened_at = node->env->now;
    node->put_at = node->env->now;
    node->seen_at = ENV_NEVER;
    node->seen_wait = SEEN_AGAIN_NSEC;
    node->links_due = true;
    node->hello_at = node->env->now + phase(node, 1000) * 1000;
}

void links_fill(struct node *node, const uint64_t *incarnations)
{
    link_state_fill(&node->state, incarnations);
    for (port_set left = node->planned; left; left &= left - 1) {
        unsigned port = (unsigned)__builtin_ctz(left);
        struct node_port *at = &node->ports[port];
        const struct plan_end *end = plan_end(node->plan, node->self, port);
        at->state = PORT_UP;
        at->found = end->server;
        at->found_port = end->port;
        at->peer = (struct hello_end){incarnations[end->server], 1};
        at->heard_at = node->env->now;
        struct flood_port *flood = &node->flood.ports[port];
        flood->linked = flood->synced_in = flood->synced_out = true;
    }
    node->put_at = ENV_NEVER;
    node->settled = true;
    /* Spread over a whole period, or all servers would be silent and then send at once. */
    node->hello_at = node->env->now + phase(node, node->config.hello_nsec);
    notices(node);
}

void links_carrier(struct node *node, unsigned port, bool on)
{
    struct node_port *at = &node->ports[port];
    if (!(node->planned >> port & 1) || at->carrier == on ||
        HAS_BUG(&node->config, CARRIER_IGNORED))
        return;
    at->carrier = on;
    carrier_note(node, port);
    node->links_due = true;
    if (on)
        at->hello_now = true;
    else if (at->state != PORT_CUT)
        port_down(node, port, PORT_DOWN);
}

void links_cut(struct node *node, unsigned port, bool cut)
{
    struct node_port *at = &node->ports[port];
    if (!(node->planned >> port & 1) || cut == (at->state == PORT_CUT))
        return;
    port_down(node, port, cut ? PORT_CUT : PORT_DOWN);
    at->hello_now = !cut;
}
