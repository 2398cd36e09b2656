/* node: opening, closing, and the step.
 *
 * A step looks at the time, receives packets, fires what is due, and lets services send, in that
 * order, each in bounded portions. dispatch.c decides where a packet goes, frames.c in which frame
 * it leaves, and links.c whether a port is usable.
 *
 * The look comes first, because the server may have been stopped: its neighbours may have taken
 * their links to it down, and another server may answer for its keys. A packet that waited
 * meanwhile, a timer or a local request must not find this server in the state from before. */

#include "node/node.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <weft/descriptor.h>
#include <weft/disk.h>
#include <weft/work.h>

#include "base/bitset.h"
#include "base/check.h"
#include "node/configuration/configuration.h"
#include "node/core/node_impl.h"

#define DROP_NAME(reason, name, text) name,
#define DROP_TEXT(reason, name, text) text,
const char *const drop_names[DROP_COUNT] = {DROP_LIST(DROP_NAME)};
const char *const drop_texts[DROP_COUNT] = {DROP_LIST(DROP_TEXT)};

/* ---- services ---- */

/* What is wrong with a packet that poll() returned; NULL: nothing. */
static const char *poll_wrong(const struct node *node, const struct packet *packet, uint32_t room)
{
    if (packet->kept != PACKET_HELD || packet->keeper->node != node)
        return "the service does not hold the packet that it returns";
    if (packet->size > room)
        return "the packet is larger than the room";
    return packet->ports ? NULL : "the packet was not addressed, or no path leads to its address";
}

/* The next packet of a queue that a service keeps itself. */
static struct packet *service_own(struct weft_self *self, unsigned port, uint32_t room)
{
    struct node *node = self->node;
    callback_begin(self, CALLBACK_POLL);
    struct packet *packet = (struct packet *)self->service->ops->poll(self, port, room);
    callback_end(self);
    if (!packet)
        return NULL;
    const char *wrong = poll_wrong(node, packet, room);
    if (__builtin_expect(wrong != NULL, 0)) {
        service_mistake(self, "poll", wrong);
        if (packet->kept == PACKET_HELD)
            buffer_drop(node, packet, DROP_REFUSED);
        return NULL;
    }
    buffer_part(packet);
    return packet;
}

/* The streams of a service and its own queue, if it has one, take turns. */
static struct packet *service_next(struct weft_self *self, unsigned port, uint32_t room)
{
    bool own = self->service->queue == WEFT_QUEUE_OWN;
    struct packet *packet = NULL;
    self->host.now = self->node->env->now;
    self->streams_turn = !self->streams_turn && own;
    if (self->streams && !self->streams_turn)
        packet = streams_poll(self->streams, port, room);
    if (!packet && own)
        packet = service_own(self, port, room);
    if (!packet && self->streams && self->streams_turn)
        packet = streams_poll(self->streams, port, room);
    return packet;
}

static struct packet *service_poll(void *service, unsigned port, uint32_t room)
{
    struct weft_self *self = service;
    struct node *node = self->node;
    struct packet *packet = service_next(self, port, room);
    if (!packet)
        return NULL;
    packet->ports = (port_set)1 << port;
    node->counts.sent++;
    self->sent++;
    if (node->config.watcher && node->config.watcher->sent)
        node->config.watcher->sent(node->config.watcher, node->self, packet);
    packet_seal(packet);
    return packet;
}

static enum queue_kind queue_kind(enum weft_queue queue)
{
    return queue == WEFT_QUEUE_PRIORITY ? QUEUE_PRIORITY
           : queue == WEFT_QUEUE_NEWEST ? QUEUE_NEWEST
                                        : QUEUE_FIFO;
}

static uint32_t queue_packets_of(const struct weft_service *service)
{
    return service->queue_packets ? service->queue_packets : NODE_QUEUE_PACKETS;
}

static uint32_t share_of(const struct weft_service *service)
{
    return service->keep_packets ? service->keep_packets : NODE_KEEP_PACKETS;
}

/* Every holder of a packet is a term: with one too few, all packets could be in queues, with none
 * left to receive into. */
uint32_t node_packets_most(const struct weft_service *const *services, unsigned port_count)
{
    uint64_t most = queue_packets_of(&links_service); /* rows and hellos */
    most += NODE_LIMBO_PACKETS;                       /* keys without a settled root */
    for (unsigned i = 0; services && services[i]; i++) {
        most += queue_packets_of(services[i]);       /* waiting for a link */
        most += (uint64_t)share_of(services[i]) + 1; /* held by the service, or looked at */
    }
    most += port_count * RECEIVE_BURST; /* received, and collected into frames that are open */
    most += EGRESS_FRAME_MAX;           /* being collected into a frame */
    return most < UINT32_MAX ? (uint32_t)most : UINT32_MAX;
}

static struct queue *service_queue(struct node *node, const struct weft_service *service)
{
    uint32_t packets = queue_packets_of(service);
    struct queue_limits limits = {
        .kind = queue_kind(service->queue),
        .packets = packets,
        .bytes = packets * PACKET_SIZE_MAX,
        .port_count = node->plan->port_count,
    };
    void *memory = arena_take(&node->arena, queue_size(&limits));
    return memory ? queue_init(memory, &limits) : NULL;
}

/* A name that weft can show as it is, wherever it shows names. */
static bool name_is_good(const char *name)
{
    size_t size = name ? strnlen(name, SERVICE_NAME_MAX + 1) : 0;
    for (size_t i = 0; i < size; i++)
        if (name[i] != '-' && !(name[i] >= '0' && name[i] <= '9') &&
            !((name[i] | 0x20) >= 'a' && (name[i] | 0x20) <= 'z'))
            return false;
    return size > 0 && size <= SERVICE_NAME_MAX;
}

static enum err service_refused(const struct weft_service *service, struct why *why,
                                const char *reason)
{
    return why_fail(why, ERR_USAGE, "service %s: %s",
                    name_is_good(service->name) ? service->name : "?", reason);
}

static enum err service_clashes(const struct weft_service *service, const struct weft_service *with,
                                struct why *why)
{
    if (!strcmp(service->name, with->name))
        return service_refused(service, why, "another service has the same name");
    return why_fail(why, ERR_USAGE, "service %s: has the id %u, like the service %s", service->name,
                    service->id, with->name);
}

static enum err service_check(const struct weft_service *service, struct why *why)
{
    if (service->version != WEFT_SERVICE_VERSION)
        return service_refused(service, why,
                               "built for another version of weft/service.h; rebuild it");
    if (!name_is_good(service->name))
        return service_refused(service, why,
                               "its name is not one of 1 to 32 letters, digits and -");
    if (!service->ops)
        return service_refused(service, why, "has no functions");
    if ((uint32_t)service->queue > WEFT_QUEUE_OWN)
        return service_refused(service, why, "has an unknown kind of queue");
    if (service->queue_packets > NODE_QUEUE_PACKETS_MAX)
        return service_refused(service, why, "has queue_packets above the limit");
    if (service->keep_packets > NODE_KEEP_PACKETS_MAX)
        return service_refused(service, why, "has keep_packets above the limit");
    if (service->queue == WEFT_QUEUE_OWN && !service->ops->poll)
        return service_refused(service, why, "keeps its own queue, but has no poll()");
    if (service->files > WEFT_DISK_FILES_MAX)
        return service_refused(service, why, "has `files` above the limit");
    const char *refused = service->streams ? streams_refused(service->streams) : NULL;
    if (refused)
        return service_refused(service, why, refused);
    if (service->work > WEFT_WORK_MAX)
        return service_refused(service, why, "has `work` above the limit");
    if (service->children > service->work)
        return service_refused(service, why, "has more `children` than `work`");
    if (service->descriptors > WEFT_DESCRIPTORS_MAX)
        return service_refused(service, why, "has `descriptors` above the limit");
    return parameters_check(service, why);
}

static bool are_alike(const struct weft_service *service, const struct weft_service *with)
{
    return with->id == service->id || !strcmp(with->name, service->name);
}

enum err node_services_check(const struct weft_service *const *services, struct why *why)
{
    enum err err = OK;
    for (unsigned i = 0; !err && services && services[i]; i++) {
        err = service_check(services[i], why);
        if (!err && are_alike(services[i], &links_service))
            err = service_clashes(services[i], &links_service, why);
        for (unsigned k = 0; !err && k < i; k++)
            if (are_alike(services[i], services[k]))
                err = service_clashes(services[i], services[k], why);
    }
    return err;
}

static enum err service_add(struct node *node, const struct weft_service *service, struct why *why)
{
    assert(node->service_count < SERVICES_MAX); /* services_add counts them */
    struct weft_self *self = arena_take(&node->arena, sizeof *self);
    bool polled = service->queue == WEFT_QUEUE_OWN || service->streams;
    bool weighs = service->weight && !HAS_BUG(&node->config, NO_WEIGHTS);
    uint16_t weight = weighs ? service->weight : 1;
    struct queue *queue = service_queue(node, service); /* forwarded packets wait there */
    if (!self || !queue)
        return why_memory(why);
    *self = (struct weft_self){.node = node, .service = service, .share = share_of(service)};
    enum err err = budget_init(self, why);
    if (err)
        return err;
    self->memory = budget_take(self, service->size);
    if (!self->memory)
        return budget_fail(self, why);
    err = parameters_apply(self, why);
    if (err)
        return err;
    self->rng = rng_make(node->config.seed, (uint64_t)node->self << 16 | service->id);
    if ((service->files && !files_add(self)) || (service->descriptors && !descriptors_add(self)))
        return why_memory(why);
    err = service->work ? work_add(self, why) : OK;
    if (err)
        return err;
    self->slot = egress_add(node->egress, &(struct egress_source){
                                              .queue = queue,
                                              .poll = polled ? service_poll : NULL,
                                              .service = self,
                                              .alternates = service->streams != NULL,
                                              .weight = weight,
                                          });
    assert(self->slot == node->service_count);
    uint8_t *first = &node->slot_of[service->id & UINT8_MAX];
    if (*first == SERVICES_MAX)
        *first = (uint8_t)self->slot;
    node->services[node->service_count++] = self;
    assert(node_slot(node, service->id) == self->slot);
    return service->streams ? service_stream_init(self, why) : OK;
}

static enum err services_add(struct node *node, struct why *why)
{
    unsigned count = 1;
    while (node->config.services && node->config.services[count - 1])
        count++;
    if (count > SERVICES_MAX)
        return why_fail(why, ERR_USAGE, "%u services are too many: a server runs at most %d", count,
                        SERVICES_MAX);
    enum err err = node_services_check(node->config.services, why);
    if (err)
        return err;
    void *memory = arena_take(&node->arena, egress_size(node->plan->port_count, count));
    if (!memory)
        return why_memory(why);
    node->egress = egress_init(memory, node->plan->port_count, count, !node->config.separate);
    memset(node->slot_of, SERVICES_MAX, sizeof node->slot_of);
    err = service_add(node, &links_service, why);
    for (unsigned i = 0; !err && i + 1 < count; i++)
        err = service_add(node, node->config.services[i], why);
    if (!err && node->config.configuration && node->config.services)
        err = configuration_check(node->config.configuration, node->config.services, why);
    uint32_t timers = count * SERVICE_TIMERS;
    node->timers.most = timers;
    node->timers.heap = arena_take_array(&node->arena, timers, sizeof *node->timers.heap);
    return err ? err : node->timers.heap ? OK : why_memory(why);
}

static enum err services_start(struct node *node, struct why *why)
{
    for (unsigned slot = 0; slot < node->service_count; slot++) {
        struct weft_self *self = node->services[slot];
        callback_begin(self, CALLBACK_START); /* may take long, but is named if it never returns */
        int result = self->service->ops->start ? self->service->ops->start(self) : 0;
        callback_leave(self);
        if (self->memory_refused) /* whatever the service made of it */
            return budget_fail(self, why);
        const char *text = result < 0 && result != INT_MIN ? strerrordesc_np(-result) : NULL;
        if (result < 0 && !text)
            return why_fail(why, ERR_SYSTEM, "service %s cannot start: start() returned %d",
                            self->service->name, result);
        if (result < 0)
            return why_fail(why, ERR_SYSTEM, "service %s cannot start: %s", self->service->name,
                            text);
        node->started_count = slot + 1;
    }
    return OK;
}

/* ---- beginning and end ---- */

static enum err node_fill(struct node *node, struct why *why)
{
    const struct plan *plan = node->plan;
    enum err err = services_add(node, why);
    if (err)
        return err;
    node->noticed =
        arena_take_array(&node->arena, bitset_words(plan->server_count), sizeof *node->noticed);
    size_t scratch = keyspace_scratch_size(&plan->keyspace);
    node->scratch = scratch ? arena_take(&node->arena, scratch) : NULL;
    if (!node->noticed || (scratch && !node->scratch))
        return why_memory(why);
    bitset_add(node->noticed, node->self);
    err = link_state_init(&node->state, plan, node->self, node->config.incarnation,
                          &node->flood.spread, &node->arena, why);
    if (err)
        return err;
    node->has_state = true;
    if (!flood_init(&node->flood, &node->state, &node->arena))
        return why_memory(why);
    node->flood.faults = node->state.faults = node->config.faults;
    if (HAS_BUG(&node->config, UNFAIR))
        egress_fault_skips(node->egress, 3);
    links_open(node);
    node->settled = HAS_BUG(&node->config, ROOTS_OVERLAP);
    err = services_start(node, why);
    arena_seal(&node->arena);
    return err;
}

enum err node_open(struct node **out, const struct node_config *config, struct why *why)
{
    assert(config->self < config->plan->server_count && config->incarnation);
    struct arena arena = {.source = config->memory};
    struct node *node = arena_take(&arena, sizeof *node);
    if (!node) {
        arena_fini(&arena);
        return why_memory(why);
    }
    node->arena = arena;
    node->config = *config;
    node->plan = config->plan;
    node->env = config->env;
    node->self = config->self;
    node->pulse = config->pulse;
    node->limbo_end = &node->limbo;
    node->loop_end = &node->loop;
    if (!node->config.hello_nsec)
        node->config.hello_nsec = HELLO_NSEC;
    if (!node->config.silence_nsec)
        node->config.silence_nsec = HELLOS_MISSED * node->config.hello_nsec;
    if (HAS_BUG(config, LONG_SILENCE))
        node->config.silence_nsec *= 2;
    if (!node->config.limbo_packets)
        node->config.limbo_packets = NODE_LIMBO_PACKETS;
    enum err err = node_fill(node, why);
    if (err) {
        node_close(node);
        return err;
    }
    *out = node;
    return OK;
}

void node_close(struct node *node)
{
    node->stopping = true;
    for (unsigned slot = node->started_count; slot-- > 0;) {
        struct weft_self *self = node->services[slot];
        callback_begin(self, CALLBACK_STOP);
        if (self->service->ops->stop)
            self->service->ops->stop(self);
        callback_leave(self);
    }
    descriptors_end(node);
    work_end(node);
    files_end(node);
    if (node->egress)
        dispatch_fini(node);
    /* What a service holds now it will never release: its memory goes. */
    for (unsigned slot = 0; slot < node->service_count; slot++) {
        if (node->services[slot]->kept)
            service_mistake(node->services[slot], "stop", "the service still holds packets");
        node->env->pool->abandoned += node->services[slot]->kept;
    }
    if (node->has_state)
        link_state_fini(&node->state);
    struct arena arena = node->arena; /* the node itself is in it */
    arena_fini(&arena);
}

void node_settle(struct node *node, const uint64_t *incarnations)
{
    links_fill(node, incarnations);
}

/* ---- the step ---- */

/* True: there may be more packets. `only`: no other port has any. */
static bool receive(struct node *node, unsigned port, bool only)
{
    struct packet *burst[RECEIVE_BURST];
    unsigned count = node->env->ops->receive(node->env, port, burst, RECEIVE_BURST);
    node->alone = only && count == 1;
    for (unsigned i = 0; i < count; i++) {
        if (i + 1 < count)
            __builtin_prefetch(burst[i + 1]->bytes);
        dispatch_received(node, port, burst[i]);
    }
    return count == RECEIVE_BURST;
}

/* Does not fire timers that are set meanwhile: a late service that sets its next timer for now
 * would keep the node from all other work. */
static void timers_fire(struct node *node)
{
    struct timer timer;
    uint64_t order = node->timers.order;
    env_nsec now = node->env->now + (HAS_BUG(&node->config, EARLY_TIMER) ? 1000000 : 0);
    while (timers_take(&node->timers, now, order, &timer)) {
        struct weft_self *self = node->services[timer.owner];
        self->timer_count--;
        if (!self->service->ops->timer)
            continue;
        callback_begin(self, CALLBACK_TIMER);
        self->service->ops->timer(self, timer.cookie);
        callback_end(self);
    }
}

env_nsec node_step(struct node *node)
{
    bool more = false;
    env_nsec now = node->env->now;
    node->counts.steps++;
    if (!HAS_BUG(&node->config, LATE_LOOK))
        links_glance(node);
    port_set inputs = node->inputs;
    node->inputs = 0;
    for (port_set left = inputs; left; left &= left - 1) {
        unsigned port = (unsigned)__builtin_ctz(left);
        if (receive(node, port, inputs == (port_set)1 << port)) {
            node->inputs |= (port_set)1 << port;
            more = true;
        }
    }
    frames_leave(node);
    if (timers_next(&node->timers) <= now)
        timers_fire(node);
    if (node->loop)
        dispatch_loop(node);
    if (HAS_BUG(&node->config, LATE_LOOK))
        links_glance(node);
    if (node->links_due)
        links_step(node);
    if (node->stream_slots)
        service_stream_step(node);
    /* egress_ports is called again after each port: a packet that waits for several ports is gone
     * once one of them has taken it. */
    port_set open = node->carriers & ~node->blocked, wanted;
    while ((wanted = egress_ports(node->egress) & open)) {
        open &= ~(wanted & -wanted);
        more |= frames_send(node, (unsigned)__builtin_ctz(wanted));
    }
    if (more || node->loop || node->links_due)
        return now;
    env_nsec next = timers_next(&node->timers);
    next = next < node->links_at ? next : node->links_at;
    if (!node->stream_slots)
        return next;
    env_nsec stream = service_stream_next(node);
    return stream < next ? stream : next;
}

void node_input(struct node *node, unsigned port)
{
    node->inputs |= (port_set)1 << port;
}

void node_room(struct node *node, unsigned port)
{
    if (!HAS_BUG(&node->config, ROOM_LOST))
        node->blocked &= ~((port_set)1 << port);
}

void node_lost(struct node *node, struct packet *packet)
{
    buffer_drop(node, packet, DROP_PORT_DOWN);
}

void node_approach(const struct node *node, unsigned port)
{
    const struct node_port *at = &node->ports[port];
    __builtin_prefetch(&node->plan);
    __builtin_prefetch(&node->inputs);
    __builtin_prefetch(&at->packets_out);
    __builtin_prefetch(&at->packets_in);
    __builtin_prefetch(&node->state.routes);
    __builtin_prefetch(&node->flood.ports[port].linked);
    __builtin_prefetch(&node->links_at);
    __builtin_prefetch(&node->egress);
    __builtin_prefetch(&node->services[2]);
    __builtin_prefetch(&node->slot_of[0]);
    __builtin_prefetch(&node->loop);
    __builtin_prefetch(&node->counts.steps);
}

void node_expect(const struct node *node, unsigned port, const struct packet *packet)
{
    unsigned slot = node_slot(node, packet->service);
    /* In a packet to a key, `server` is the root as the last hop knew it. */
    if (packet->kind != PACKET_TO_NEIGHBOUR) {
        node_id server = packet->server < node->plan->server_count ? packet->server : 0;
        __builtin_prefetch(&node->state.routes.near_set[bitset_word(server)]);
        __builtin_prefetch(&node->state.routes.up_set[bitset_word(server)]);
        __builtin_prefetch(&node->state.routes.ports[server]);
    }
    if (slot < node->service_count)
        __builtin_prefetch(node->services[slot]);
    if (node->timers.count)
        __builtin_prefetch(node->timers.heap);
    egress_expect(node->egress, slot);
}

void node_carrier(struct node *node, unsigned port, bool on)
{
    links_carrier(node, port, on);
}

void node_cut(struct node *node, unsigned port, bool cut)
{
    links_cut(node, port, cut);
}

int node_local(struct node *node, const struct env_answer *from, const void *bytes, uint32_t size)
{
    unsigned slot = node_slot(node, from->service);
    if (slot >= node->service_count || !node->services[slot]->service->ops->request)
        return -ENOENT;
    if (!HAS_BUG(&node->config, LOCAL_BLIND))
        links_glance(node);
    struct weft_self *self = node->services[slot];
    callback_begin(self, CALLBACK_REQUEST);
    self->service->ops->request(self, from->client, from->ticket, bytes, size);
    callback_end(self);
    return 0;
}

void node_local_writable(struct node *node, uint16_t service, uint64_t client)
{
    unsigned slot = node_slot(node, service);
    links_glance(node);
    struct weft_self *self = slot < node->service_count ? node->services[slot] : NULL;
    if (!self || !self->service->ops->writable)
        return;
    callback_begin(self, CALLBACK_WRITABLE);
    self->service->ops->writable(self, client);
    callback_end(self);
}

int node_service_number(const struct node *node, const char *name, size_t size)
{
    for (unsigned slot = 0; slot < node->service_count; slot++) {
        const struct weft_service *service = node->services[slot]->service;
        if (service->ops->request && strlen(service->name) == size &&
            !memcmp(service->name, name, size))
            return service->id;
    }
    return -ENOENT;
}

void node_local_gone(struct node *node, uint64_t client)
{
    links_glance(node);
    for (unsigned slot = 0; slot < node->service_count; slot++) {
        struct weft_self *self = node->services[slot];
        if (!self->service->ops->gone)
            continue;
        callback_begin(self, CALLBACK_GONE);
        self->service->ops->gone(self, client);
        callback_end(self);
    }
}
