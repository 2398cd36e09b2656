/* service_stream: the functions of weft/stream.h that a service calls, and what node/stream needs
 * of its node. */

#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/list.h"
#include "node/core/node_impl.h"

/* ---- what node/stream needs ---- */

static struct weft_self *self_of(struct streams_host *host)
{
    return container_of(host, struct weft_self, host);
}

static struct packet *host_make(struct streams_host *host, uint32_t size, uint32_t stored)
{
    const struct weft_self *self = self_of(host);
    return buffer_take(self->node, self->slot, size, PACKET_HEADER_SIZE + stored);
}

static void host_send(struct streams_host *host, struct packet *packet, node_id server)
{
    packet_set_server(packet, server);
    packet_seal(packet);
    (void)dispatch_sent(self_of(host)->node, packet); /* it counts a drop; the stream sends again */
}

static void host_send_key(struct streams_host *host, struct packet *packet, const struct key *key)
{
    packet_set_key(packet, key);
    packet_seal(packet);
    (void)dispatch_sent(self_of(host)->node, packet);
}

static void host_address(struct streams_host *host, struct packet *packet, node_id server)
{
    packet_set_server(packet, server);
}

static port_set host_ports(struct streams_host *host, node_id server)
{
    return node_ports_to(self_of(host)->node, server);
}

static node_id host_root(struct streams_host *host, const struct key *key)
{
    return node_root(self_of(host)->node, key);
}

static bool host_is_root(struct streams_host *host, uint64_t route)
{
    return node_is_root(self_of(host)->node, route);
}

static bool host_is_crowded(struct streams_host *host)
{
    const struct weft_self *self = self_of(host);
    /* Packets to this very server wait in the loop, and count in the share. */
    return egress_is_long(self->node->egress, self->slot) || self->kept > self->share / 4;
}

static void host_mistake(struct streams_host *host, const char *function, const char *reason)
{
    service_mistake(self_of(host), function, reason);
}

static void host_wake(struct streams_host *host, port_set ports)
{
    const struct weft_self *self = self_of(host);
    egress_wake(self->node->egress, self->slot, ports & self->node->planned);
}

/* ---- the node ---- */

enum err service_stream_init(struct weft_self *self, struct why *why)
{
    struct node *node = self->node;
    const struct weft_streams *settings = self->service->streams;
    void *memory = budget_take(self, streams_size(settings));
    void *window = memory ? budget_take(self, streams_window_size(settings)) : NULL;
    if (!window)
        return budget_fail(self, why);
    self->host = (struct streams_host){
        .make = host_make,
        .send = host_send,
        .send_key = host_send_key,
        .address = host_address,
        .ports = host_ports,
        .root = host_root,
        .is_root = host_is_root,
        .is_crowded = host_is_crowded,
        .mistake = host_mistake,
        .wake = host_wake,
        .here = node->self,
        .server_count = node->plan->server_count,
        .gathers = node->env->ops->gathers,
        .now = node->env->now,
        .self = self,
        .faults = node->config.faults,
    };
    /* Another run of this server has another incarnation, and another seed unless a test chose it.
     */
    uint64_t run = hash_mix(node->config.seed ^
                            hash_mix(node->config.incarnation ^
                                     hash_mix((uint64_t)node->self << 16 ^ self->service->id)));
    self->streams = streams_init(memory, window, settings, &self->host, run ? run : 1);
    node->stream_slots |= 1u << self->slot;
    return OK;
}

void service_stream_step(struct node *node)
{
    for (uint32_t left = node->stream_slots; left; left &= left - 1) {
        struct weft_self *self = node->services[__builtin_ctz(left)];
        self->host.now = node->env->now;
        if (streams_next(self->streams) > node->env->now)
            continue;
        callback_begin(self, CALLBACK_STREAM);
        streams_run(self->streams);
        callback_end(self);
    }
}

env_nsec service_stream_next(const struct node *node)
{
    env_nsec next = ENV_NEVER;
    for (uint32_t left = node->stream_slots; left; left &= left - 1) {
        env_nsec at = streams_next(node->services[__builtin_ctz(left)]->streams);
        next = at < next ? at : next;
    }
    return next;
}

/* ---- the service ---- */

/* NULL: the service has no streams, which is reported. */
static struct streams *streams_of(struct weft_self *self, const char *function)
{
    if (!self->streams)
        service_mistake(self, function, "the service has no streams");
    self->host.now = self->node->env->now;
    return self->streams;
}

int weft_stream_open_server(struct weft_self *self, weft_server server,
                            const struct weft_stream_options *options, struct weft_stream **stream)
{
    struct streams *streams = streams_of(self, "weft_stream_open_server");
    return streams ? streams_open(streams, server, NULL, options, stream) : -EINVAL;
}

int weft_stream_open_key(struct weft_self *self, const struct weft_key *key,
                         const struct weft_stream_options *options, struct weft_stream **stream)
{
    struct streams *streams = streams_of(self, "weft_stream_open_key");
    struct key to;
    if (!streams)
        return -EINVAL;
    if (!key) {
        service_mistake(self, "weft_stream_open_key", "there is no key");
        return -EINVAL;
    }
    memcpy(to.bytes, key->bytes, KEY_SIZE);
    return streams_open(streams, NODE_NONE, &to, options, stream);
}

int weft_stream_send(struct weft_self *self, struct weft_stream *stream, struct weft_call *call,
                     const void *bytes, uint64_t size, bool more)
{
    struct streams *streams = streams_of(self, "weft_stream_send");
    return streams ? streams_send(streams, stream, call, bytes, size, more) : -EINVAL;
}

int weft_stream_finish(struct weft_self *self, struct weft_stream *stream)
{
    struct streams *streams = streams_of(self, "weft_stream_finish");
    return streams ? streams_finish(streams, stream) : -EINVAL;
}

void weft_stream_cancel(struct weft_self *self, struct weft_stream *stream)
{
    struct streams *streams = streams_of(self, "weft_stream_cancel");
    if (streams)
        streams_cancel(streams, stream);
}

void weft_stream_acknowledge(struct weft_self *self, struct weft_stream *stream, uint64_t place)
{
    struct streams *streams = streams_of(self, "weft_stream_acknowledge");
    if (streams)
        streams_acknowledge(streams, stream, place);
}

void weft_stream_resume(struct weft_self *self, struct weft_stream *stream)
{
    struct streams *streams = streams_of(self, "weft_stream_resume");
    if (streams)
        streams_resume(streams, stream);
}

void weft_stream_deadline(struct weft_self *self, struct weft_stream *stream, int64_t deadline)
{
    struct streams *streams = streams_of(self, "weft_stream_deadline");
    if (streams)
        streams_deadline(streams, stream, deadline);
}
