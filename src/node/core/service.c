/* service: the functions that a service calls; weft/service.h documents each. */

#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "node/core/node_impl.h"
#include "node/core/self.h"

static_assert(sizeof(struct weft_key) == sizeof(struct key) && WEFT_KEY_SIZE == KEY_SIZE,
              "a key is a key");
static_assert(WEFT_HEADER_SIZE == PACKET_HEADER_SIZE, "one header");
static_assert(WEFT_PAYLOAD_MAX == PACKET_PAYLOAD_MAX && WEFT_NOBODY == NODE_NONE, "one limit");

static struct packet *packet_of(struct weft_packet *packet)
{
    return (struct packet *)packet;
}

static const struct packet *packet_of_const(const struct weft_packet *packet)
{
    return (const struct packet *)packet;
}

static struct key key_in(const struct weft_key *key)
{
    struct key out;
    memcpy(out.bytes, key->bytes, KEY_SIZE);
    return out;
}

struct node *node_of(struct weft_self *self)
{
    return self->node;
}

/* ---- where we are ---- */

weft_server weft_here(const struct weft_self *self)
{
    return self->node->self;
}

uint32_t weft_server_count(const struct weft_self *self)
{
    return self->node->plan->server_count;
}

int64_t weft_now(const struct weft_self *self)
{
    return self->node->env->now;
}

uint64_t weft_random(struct weft_self *self)
{
    return rng_next(&self->rng);
}

int weft_timer(struct weft_self *self, int64_t at, uint64_t cookie)
{
    if (self->timer_count == SERVICE_TIMERS)
        return -ENOSPC;
    /* A late timer is placed after all that are due: see timers_fire. */
    int64_t now = self->node->env->now;
    bool set = timers_set(&self->node->timers, at > now ? at : now, self->slot, cookie);
    assert(set); /* there is room for the timers of all services */
    self->timer_count++;
    return 0;
}

const void *weft_local(struct weft_self *self, const char *name, struct weft_self **other)
{
    for (unsigned slot = 0; slot < self->node->service_count; slot++) {
        struct weft_self *found = self->node->services[slot];
        if (strcmp(found->service->name, name) != 0)
            continue;
        if (other)
            *other = found;
        return found->service->local;
    }
    return NULL;
}

/* ---- keys and servers ---- */

struct weft_key weft_key_of(const void *name, uint32_t size)
{
    struct key key = key_hash(name, size);
    struct weft_key out;
    memcpy(out.bytes, key.bytes, KEY_SIZE);
    return out;
}

unsigned weft_servers(struct weft_self *self, const struct weft_key *key, weft_server *out,
                      unsigned most)
{
    struct key in = key_in(key);
    return node_servers(self->node, &in, out, most);
}

bool weft_is_root(struct weft_self *self, const struct weft_key *key)
{
    struct key in = key_in(key);
    return node_is_root(self->node, key_route(&in));
}

bool weft_reaches(const struct weft_self *self, weft_server server)
{
    return node_reaches(self->node, server);
}

unsigned weft_distance(const struct weft_self *self, weft_server server)
{
    return node_distance(self->node, server);
}

unsigned weft_port_count(const struct weft_self *self)
{
    return self->node->plan->port_count;
}

weft_server weft_neighbour(const struct weft_self *self, unsigned port)
{
    const struct node *node = self->node;
    bool up = port < node->plan->port_count && node->ports[port].state == PORT_UP;
    return up ? plan_end(node->plan, node->self, port)->server : WEFT_NOBODY;
}

/* ---- packets ---- */

struct weft_packet *weft_packet_hollow(struct weft_self *self, uint32_t size, uint32_t stored)
{
    if (size > PACKET_PAYLOAD_MAX || stored > size)
        return NULL;
    if (self->kept >= self->share) {
        self->node->counts.drops[DROP_SHARE]++;
        self->over_share++;
        return NULL;
    }
    struct packet *packet = buffer_take(self->node, self->slot, size, PACKET_HEADER_SIZE + stored);
    if (!packet)
        return NULL;
    bool kept = buffer_keep(self, packet, self->share);
    assert(kept);
    memset(packet_payload(packet), 0, stored);
    return (struct weft_packet *)packet;
}

struct weft_packet *weft_packet(struct weft_self *self, uint32_t size)
{
    return weft_packet_hollow(self, size, size);
}

void weft_done(struct weft_packet *packet)
{
    buffer_part(packet_of(packet));
    packet_done(packet_of(packet));
}

void weft_refuse(struct weft_self *self, struct weft_packet *packet)
{
    buffer_drop(self->node, packet_of(packet), DROP_REFUSED);
}

void *weft_payload(struct weft_packet *packet)
{
    return packet_payload(packet_of(packet));
}

uint32_t weft_size(const struct weft_packet *packet)
{
    return packet_of_const(packet)->stored - PACKET_HEADER_SIZE;
}

uint32_t weft_size_sent(const struct weft_packet *packet)
{
    return packet_of_const(packet)->size - PACKET_HEADER_SIZE;
}

void weft_set_size(struct weft_packet *packet, uint32_t size)
{
    assert(size <= packet_of(packet)->stored - PACKET_HEADER_SIZE);
    packet_of(packet)->size = packet_of(packet)->stored = PACKET_HEADER_SIZE + size;
    packet_of(packet)->changed = true;
}

weft_server weft_source(const struct weft_packet *packet)
{
    return packet_of_const(packet)->source;
}

unsigned weft_hops(const struct weft_packet *packet)
{
    return packet_of_const(packet)->hops;
}

uint32_t weft_identity(const struct weft_packet *packet)
{
    return packet_of_const(packet)->identity;
}

void weft_set_identity(struct weft_packet *packet, uint32_t identity)
{
    packet_of(packet)->identity = identity;
    packet_of(packet)->changed = true;
}

void weft_set_priority(struct weft_packet *packet, unsigned priority)
{
    packet_of(packet)->priority =
        (uint8_t)(priority < PACKET_PRIORITY_MAX ? priority : PACKET_PRIORITY_MAX);
    packet_of(packet)->changed = true;
}

bool weft_is_for_key(const struct weft_packet *packet, struct weft_key *key)
{
    if (packet_of_const(packet)->kind != PACKET_TO_KEY)
        return false;
    struct key found;
    packet_get_key(packet_of_const(packet), &found);
    memcpy(key->bytes, found.bytes, KEY_SIZE);
    return true;
}

unsigned weft_port_in(const struct weft_packet *packet)
{
    uint8_t port = packet_of_const(packet)->port_in;
    return port == PORT_NONE ? UINT32_MAX : port;
}

/* ---- sending ---- */

/* The packet now belongs to this service, whichever service sent it before. */
static struct packet *claim(struct weft_self *self, struct weft_packet *packet)
{
    struct packet *in = packet_of(packet);
    in->service = self->service->id;
    in->slot = (uint8_t)self->slot;
    in->hops_left = self->node->plan->hop_limit;
    in->unseen = false;
    return in;
}

/* The packet is addressed: the service no longer holds it. */
static int send_off(struct weft_self *self, struct packet *packet)
{
    buffer_part(packet);
    packet_seal(packet);
    return dispatch_sent(self->node, packet);
}

int weft_send_key(struct weft_self *self, struct weft_packet *packet, const struct weft_key *key)
{
    struct packet *in = claim(self, packet);
    struct key to = key_in(key);
    packet_set_key(in, &to);
    return send_off(self, in);
}

int weft_send_server(struct weft_self *self, struct weft_packet *packet, weft_server server)
{
    struct packet *in = claim(self, packet);
    packet_set_server(in, server);
    return send_off(self, in);
}

int weft_send_port(struct weft_self *self, struct weft_packet *packet, unsigned port)
{
    struct packet *in = claim(self, packet);
    in->kind = PACKET_TO_NEIGHBOUR;
    in->ports = port < self->node->plan->port_count ? (port_set)1 << port : 0;
    return send_off(self, in);
}

int weft_reply(struct weft_self *self, struct weft_packet *packet)
{
    struct packet *in = packet_of(packet);
    node_id to = in->source;
    in->source = self->node->self;
    in->hops = 0;
    in->port_in = PORT_NONE;
    return weft_send_server(self, packet, to);
}

static uint32_t address(struct weft_self *self, struct packet *packet)
{
    packet->ports = 0;
    return dispatch_ports(self->node, packet);
}

uint32_t weft_address_key(struct weft_self *self, struct weft_packet *packet,
                          const struct weft_key *key)
{
    struct key to = key_in(key);
    packet_set_key(claim(self, packet), &to);
    return address(self, packet_of(packet));
}

uint32_t weft_address_server(struct weft_self *self, struct weft_packet *packet, weft_server server)
{
    packet_set_server(claim(self, packet), server);
    return address(self, packet_of(packet));
}

uint32_t weft_address_port(struct weft_self *self, struct weft_packet *packet, unsigned port)
{
    struct packet *in = claim(self, packet);
    in->kind = PACKET_TO_NEIGHBOUR;
    in->ports = port < self->node->plan->port_count ? (port_set)1 << port : 0;
    return dispatch_ports(self->node, in);
}

void weft_wake(struct weft_self *self, uint32_t ports)
{
    egress_wake(self->node->egress, self->slot, ports & self->node->planned);
}

int weft_answer(struct weft_self *self, uint64_t client, uint64_t ticket, const void *bytes,
                uint32_t size)
{
    const struct env_answer to = {client, ticket, self->service->id};
    if (size > WEFT_MESSAGE_MAX)
        return -EMSGSIZE;
    return self->node->env->ops->local(self->node->env, &to, bytes, size);
}
