/* service: the functions that a service calls; weft/service.h documents each.
 *
 * A service is other people's code. What it does wrong is refused and reported by service_mistake,
 * wherever that can be detected; it never fails an assertion. */

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

#define NO_PACKET "the packet is NULL"
#define NOT_HELD  "the service does not hold the packet: it was sent or released before"
#define NO_KEY    "the key is NULL"

/* The packet, if a service of this server holds it; services may pass packets to each other. NULL:
 * a mistake. */
static inline struct packet *packet_held(struct weft_self *self, struct weft_packet *packet,
                                         const char *function)
{
    struct packet *in = packet_of(packet);
    if (__builtin_expect(in && in->kept == PACKET_HELD && in->keeper->node == self->node, 1))
        return in;
    service_mistake(self, function, in ? NOT_HELD : NO_PACKET);
    return NULL;
}

/* The same for functions that know only the packet: the last service that held it is at fault. */
static inline struct packet *packet_own(struct weft_packet *packet, const char *function)
{
    struct packet *in = packet_of(packet);
    if (__builtin_expect(in && in->kept == PACKET_HELD, 1))
        return in;
    if (in && in->keeper)
        service_mistake(in->keeper, function, NOT_HELD);
    return NULL;
}

static bool has_key(struct weft_self *self, const struct weft_key *key, const char *function)
{
    if (!key)
        service_mistake(self, function, NO_KEY);
    return key;
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

int64_t weft_wall(const struct weft_self *self)
{
    struct env *env = self->node->env;
    return env->ops->wall ? env->ops->wall(env) : env->now;
}

int64_t weft_clock(const struct weft_self *self)
{
    struct env *env = self->node->env;
    return env->ops->clock ? env->ops->clock(env) : env->now;
}

uint64_t weft_random(struct weft_self *self)
{
    return rng_next(&self->rng);
}

int weft_timer(struct weft_self *self, int64_t at, uint64_t cookie)
{
    if (!self->service->ops->timer) {
        service_mistake(self, "weft_timer", "the service has no timer function");
        return -EINVAL;
    }
    if (self->timer_count == SERVICE_TIMERS) {
        service_mistake(self, "weft_timer", "the service has set all its timers");
        return -ENOSPC;
    }
    /* A late timer is placed after all that are due: see timers_fire. */
    int64_t now = self->node->env->now;
    bool set = timers_set(&self->node->timers, at > now ? at : now, self->slot, cookie);
    assert(set); /* there is room for the timers of all services */
    self->timer_count++;
    return 0;
}

const void *weft_local(struct weft_self *self, const char *name, struct weft_self **other)
{
    if (!name)
        service_mistake(self, "weft_local", "the name is NULL");
    for (unsigned slot = 0; name && slot < self->node->service_count; slot++) {
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
    struct key key = key_hash(name, name ? size : 0);
    struct weft_key out;
    memcpy(out.bytes, key.bytes, KEY_SIZE);
    return out;
}

unsigned weft_servers(struct weft_self *self, const struct weft_key *key, weft_server *out,
                      unsigned most)
{
    if (!has_key(self, key, "weft_servers"))
        return 0;
    if (!out && most) {
        service_mistake(self, "weft_servers", "there is no array for the servers");
        return 0;
    }
    struct key in = key_in(key);
    uint32_t count = self->node->plan->server_count;
    return node_servers(self->node, &in, out, most < count ? most : count);
}

bool weft_is_root(struct weft_self *self, const struct weft_key *key)
{
    if (!has_key(self, key, "weft_is_root"))
        return false;
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
    if (size > PACKET_PAYLOAD_MAX || stored > size) {
        service_mistake(self, "weft_packet",
                        stored > size ? "more bytes are stored than the packet has"
                                      : "the payload is larger than WEFT_PAYLOAD_MAX");
        return NULL;
    }
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

int weft_done(struct weft_packet *packet)
{
    if (!packet)
        return 0;
    struct packet *in = packet_own(packet, "weft_done");
    if (!in)
        return -EINVAL;
    buffer_part(in);
    packet_done(in);
    return 0;
}

int weft_refuse(struct weft_self *self, struct weft_packet *packet)
{
    struct packet *in = packet_held(self, packet, "weft_refuse");
    if (!in)
        return -EINVAL;
    buffer_drop(self->node, in, DROP_REFUSED);
    return 0;
}

/* Memory for a service that writes to a payload it does not have: what it writes there harms no
 * packet. Its content is zero whenever it is handed out. */
__attribute__((noinline)) static void *nowhere(void)
{
    /* Only its own thread uses it; the model needs no function of the loader. */
    static _Thread_local uint64_t bytes[(PACKET_PAYLOAD_MAX + 7) / 8]
        __attribute__((tls_model("initial-exec")));
    memset(bytes, 0, sizeof bytes);
    return bytes;
}

void *weft_payload(struct weft_packet *packet)
{
    struct packet *in = packet_own(packet, "weft_payload");
    return in ? packet_payload(in) : nowhere();
}

uint32_t weft_size(const struct weft_packet *packet)
{
    return packet ? packet_of_const(packet)->stored - PACKET_HEADER_SIZE : 0;
}

uint32_t weft_size_sent(const struct weft_packet *packet)
{
    return packet ? packet_of_const(packet)->size - PACKET_HEADER_SIZE : 0;
}

int weft_set_size(struct weft_packet *packet, uint32_t size)
{
    struct packet *in = packet_own(packet, "weft_set_size");
    if (!in)
        return -EINVAL;
    if (size > (uint32_t)in->room - PACKET_HEADER_SIZE) {
        service_mistake(in->keeper, "weft_set_size", "the packet has no room for so many bytes");
        return -EMSGSIZE;
    }
    uint32_t stored = PACKET_HEADER_SIZE + size;
    if (stored > in->stored)
        memset(in->bytes + in->stored, 0, stored - in->stored);
    in->size = in->stored = stored;
    in->changed = true;
    return 0;
}

weft_server weft_source(const struct weft_packet *packet)
{
    return packet ? packet_of_const(packet)->source : WEFT_NOBODY;
}

unsigned weft_hops(const struct weft_packet *packet)
{
    return packet ? packet_of_const(packet)->hops : 0;
}

uint32_t weft_identity(const struct weft_packet *packet)
{
    return packet ? packet_of_const(packet)->identity : 0;
}

int weft_set_identity(struct weft_packet *packet, uint32_t identity)
{
    struct packet *in = packet_own(packet, "weft_set_identity");
    if (!in)
        return -EINVAL;
    in->identity = identity;
    in->changed = true;
    return 0;
}

int weft_set_priority(struct weft_packet *packet, unsigned priority)
{
    struct packet *in = packet_own(packet, "weft_set_priority");
    if (!in)
        return -EINVAL;
    if (priority > PACKET_PRIORITY_MAX) {
        service_mistake(in->keeper, "weft_set_priority", "the priority is larger than 7");
        return -EINVAL;
    }
    in->priority = (uint8_t)priority;
    in->changed = true;
    return 0;
}

bool weft_is_for_key(const struct weft_packet *packet, struct weft_key *key)
{
    if (!packet || packet_of_const(packet)->kind != PACKET_TO_KEY)
        return false;
    if (!key)
        return true;
    struct key found;
    packet_get_key(packet_of_const(packet), &found);
    memcpy(key->bytes, found.bytes, KEY_SIZE);
    return true;
}

unsigned weft_port_in(const struct weft_packet *packet)
{
    uint8_t port = packet ? packet_of_const(packet)->port_in : PORT_NONE;
    return port == PORT_NONE ? UINT32_MAX : port;
}

/* ---- sending ---- */

/* The packet now belongs to this service, whichever service sent it before. NULL: a mistake. */
static struct packet *claim(struct weft_self *self, struct weft_packet *packet,
                            const char *function)
{
    struct packet *in = packet_held(self, packet, function);
    if (!in)
        return NULL;
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

static int send_server(struct weft_self *self, struct packet *packet, weft_server server)
{
    packet_set_server(packet, server);
    return send_off(self, packet);
}

int weft_send_key(struct weft_self *self, struct weft_packet *packet, const struct weft_key *key)
{
    struct packet *in = claim(self, packet, "weft_send_key");
    if (!in)
        return -EINVAL;
    if (!has_key(self, key, "weft_send_key")) {
        buffer_drop(self->node, in, DROP_REFUSED);
        return -EINVAL;
    }
    struct key to = key_in(key);
    packet_set_key(in, &to);
    return send_off(self, in);
}

int weft_send_server(struct weft_self *self, struct weft_packet *packet, weft_server server)
{
    struct packet *in = claim(self, packet, "weft_send_server");
    return in ? send_server(self, in, server) : -EINVAL;
}

static void address_port(struct weft_self *self, struct packet *packet, unsigned port)
{
    packet->kind = PACKET_TO_NEIGHBOUR;
    packet->ports = port < self->node->plan->port_count ? (port_set)1 << port : 0;
}

int weft_send_port(struct weft_self *self, struct weft_packet *packet, unsigned port)
{
    struct packet *in = claim(self, packet, "weft_send_port");
    if (!in)
        return -EINVAL;
    address_port(self, in, port);
    return send_off(self, in);
}

int weft_reply(struct weft_self *self, struct weft_packet *packet)
{
    struct packet *in = claim(self, packet, "weft_reply");
    if (!in)
        return -EINVAL;
    node_id to = in->source;
    in->source = self->node->self;
    in->hops = 0;
    in->port_in = PORT_NONE;
    return send_server(self, in, to);
}

static uint32_t address(struct weft_self *self, struct packet *packet)
{
    packet->ports = 0;
    return dispatch_ports(self->node, packet);
}

uint32_t weft_address_key(struct weft_self *self, struct weft_packet *packet,
                          const struct weft_key *key)
{
    struct packet *in = claim(self, packet, "weft_address_key");
    if (!in || !has_key(self, key, "weft_address_key"))
        return 0;
    struct key to = key_in(key);
    packet_set_key(in, &to);
    return address(self, in);
}

uint32_t weft_address_server(struct weft_self *self, struct weft_packet *packet, weft_server server)
{
    struct packet *in = claim(self, packet, "weft_address_server");
    if (!in)
        return 0;
    packet_set_server(in, server);
    return address(self, in);
}

uint32_t weft_address_port(struct weft_self *self, struct weft_packet *packet, unsigned port)
{
    struct packet *in = claim(self, packet, "weft_address_port");
    if (!in)
        return 0;
    address_port(self, in, port);
    return dispatch_ports(self->node, in);
}

int weft_wake(struct weft_self *self, uint32_t ports)
{
    const struct weft_service *service = self->service;
    if (service->queue != WEFT_QUEUE_OWN || !service->ops->poll) {
        service_mistake(self, "weft_wake",
                        service->ops->poll ? "the queue of the service is not WEFT_QUEUE_OWN"
                                           : "the service has no poll function");
        return -EINVAL;
    }
    egress_wake(self->node->egress, self->slot, ports & self->node->planned);
    return 0;
}

int weft_answer(struct weft_self *self, uint64_t client, uint64_t ticket, const void *bytes,
                uint32_t size)
{
    const struct env_answer to = {client, ticket, self->service->id};
    if (size > WEFT_MESSAGE_MAX || (!bytes && size)) {
        service_mistake(self, "weft_answer",
                        bytes ? "the answer is larger than WEFT_MESSAGE_MAX"
                              : "there are no bytes to answer with");
        return bytes ? -EMSGSIZE : -EINVAL;
    }
    return self->node->env->ops->local(self->node->env, &to, bytes, size);
}
