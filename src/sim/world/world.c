/* world: nodes, links and the engine, and the events between them.
 *
 * Channels of the engine, with W links (a server's port is a link, cabled or not) and N servers:
 *
 *     [0, W)             a packet arrives at the far end of the link
 *     [W, 2W)            the link has room again; set only while its node waits for room
 *     [2W, 2W + N)       the node's timer is due
 *     [2W + N, 2W + 2N)  an operation of the server's disk is done
 *     [2W + 2N, 2W + 3N) a function that a service runs beside the server has ended
 *     2W + 3N            something happens at a simulated socket
 *
 * The engine knows only the first arrival of each link. When it is due, the node is notified, and
 * the channel is not set again before the node receives. */
#include "sim/world/world.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/wide.h"
#include "sim/engine/sim_work.h"
#include "sim/world/world_impl.h"

#define NOT_ASKED      INT64_MIN /* value of `wanted`: the channel is not set */
#define REQUEST_TICKET 1         /* of all requests: the client's number tells them apart */
/* The distance of two starts leaves numbers for world_rewind that were never used. */
#define INCARNATION_FIRST 4096
#define INCARNATION_STEP  16
/* A node that is called this often at one moment would never stop. */
#define STEPS_PER_MOMENT_MAX 1000000u
/* Disks draw from the streams that are the numbers of their servers. */
#define WORK_STREAM (UINT64_C(1) << 40)

/* ---- clocks ---- */

/* The moment when that clock reads `moment`; now at the earliest. */
static psec clock_when(const struct world_node *at, env_nsec moment)
{
    psec now = engine_now(at->world->engine);
    if (moment == ENV_NEVER)
        return PSEC_NEVER;
    if (moment <= at->env.now)
        return now;
    uint128 passed = (uint128)(moment - at->clock_at_base);
    if (at->skewed)
        passed = (passed * CLOCK_RIGHT + at->rate - 1) / at->rate;
    uint128 when = ((uint128)at->clock_base + passed) * PSEC_PER_NSEC;
    if (when >= PSEC_NEVER)
        return PSEC_NEVER;
    return (psec)when > now ? (psec)when : now;
}

/* ---- steps ---- */

static inline uint32_t timer_channel(const struct world *world, node_id id)
{
    return 2 * world->sim_link_count + id;
}

static inline uint32_t disk_channel(const struct world *world, node_id id)
{
    return timer_channel(world, world->plan->server_count) + id;
}

static inline uint32_t work_channel(const struct world *world, node_id id)
{
    return disk_channel(world, world->plan->server_count) + id;
}

static inline uint32_t sockets_channel(const struct world *world)
{
    return work_channel(world, world->plan->server_count);
}

/* The link that ends at that port. */
static uint32_t link_into(const struct world *world, node_id id, unsigned port)
{
    const struct plan_end *end = plan_end(world->plan, id, port);
    return end->server * world->plan->port_count + end->port;
}

static inline void hash_add(struct world *world, uint64_t value)
{
    world->hash = hash_mix(world->hash ^ value);
}

static inline bool is_awake(const struct world_node *at)
{
    return at->node && !at->paused;
}

static void step(struct world_node *at)
{
    struct world *world = at->world;
    at->env.now = clock_read(at);
    env_nsec next = node_step(at->node);
    world->counts.steps++;
    if (next == at->wanted)
        return;
    at->wanted = next;
    engine_set(world->engine, timer_channel(world, at->self), clock_when(at, next));
}

static void timer_due(struct world_node *at)
{
    at->wanted = NOT_ASKED;
    if (is_awake(at))
        step(at);
}

/* Makes the link's first packet an event again, unless its node has been notified of it already. */
static void arm(struct world *world, uint32_t link)
{
    psec next = sim_link_next(&world->links[link]);
    engine_set(world->engine, link, next > engine_now(world->engine) ? next : PSEC_NEVER);
}

static void arrived(struct world *world, uint32_t link)
{
    const struct plan_end *end = &world->plan->ends[link];
    struct world_node *at = &world->nodes[end->server];
    at->input_port = (uint8_t)end->port;
    at->input_link = link;
    if (is_awake(at)) {
        node_input(at->node, end->port);
        step(at);
    } else if (!at->node) {
        sim_link_lose(&world->links[link], engine_now(world->engine));
        arm(world, link);
    }
}

static void has_room(struct world *world, uint32_t link)
{
    struct world_node *at = &world->nodes[link / world->plan->port_count];
    world->links[link].asked = false;
    world->counts.rooms++;
    if (!is_awake(at))
        return;
    node_room(at->node, link % world->plan->port_count);
    step(at);
}

/* While the server is paused, operations that are done wait for it: the first may be overdue. */
static void disk_arm(struct world_node *at)
{
    struct world *world = at->world;
    psec next = disk_next(at->disk), now = engine_now(world->engine);
    engine_set(world->engine, disk_channel(world, at->self), next > now ? next : now);
}

static void work_arm(const struct world_node *at)
{
    struct world *world = at->world;
    psec next = sim_work_next(at->work), now = engine_now(world->engine);
    engine_set(world->engine, work_channel(world, at->self), next > now ? next : now);
}

/* Completes operations. */
static void disk_due(struct world_node *at)
{
    if (!is_awake(at))
        return;
    struct world *world = at->world;
    at->env.now = clock_read(at);
    disk_run(at->disk, engine_now(world->engine));
    disk_arm(at);
    step(at);
}

/* Completes functions of services; while the server is paused they wait for it. */
static void work_due(struct world_node *at)
{
    if (!is_awake(at))
        return;
    struct world *world = at->world;
    at->env.now = clock_read(at);
    sim_work_run(at->work, engine_now(world->engine));
    work_arm(at);
    step(at);
}

static psec sockets_now(void *owner)
{
    return engine_now(((struct world *)owner)->engine);
}

static void sockets_due(void *owner)
{
    struct world *world = owner;
    engine_set(world->engine, sockets_channel(world), sim_sockets_next(world->sockets));
}

static bool sockets_turn(void *owner, node_id id, struct env_descriptor *descriptor, unsigned ready)
{
    struct world_node *at = &((struct world *)owner)->nodes[id];
    if (!is_awake(at))
        return false;
    at->env.now = clock_read(at);
    node_descriptor(descriptor, ready);
    step(at);
    return true;
}

/* A hop touches about thirty lines of memory in as many places, and a large world fits in no cache.
 * So the data of the next events is prefetched while this one is handled: for the farthest event
 * what its channel names, for the next one what that points to, and so on. */
static inline void fetch_ahead(struct world *world)
{
    const struct plan_end *ends = world->plan->ends, *end;
    uint32_t *ahead = world->ahead;
    ahead[0] = ahead[1];
    ahead[1] = ahead[2];
    ahead[2] = ahead[3];
    ahead[3] = engine_ahead(world->engine);
    if (ahead[3] < world->sim_link_count) {
        __builtin_prefetch(&world->links[ahead[3]]);
        __builtin_prefetch(&ends[ahead[3]]);
    }
    if (ahead[2] < world->sim_link_count) {
        const char *packet = (const char *)world->links[ahead[2]].first;
        __builtin_prefetch(packet);
        __builtin_prefetch(packet + 64);
        __builtin_prefetch(&world->nodes[ends[ahead[2]].server]);
    }
    if (ahead[1] < world->sim_link_count) {
        end = &ends[ahead[1]];
        if (world->nodes[end->server].node)
            node_approach(world->nodes[end->server].node, end->port);
    }
    if (ahead[0] < world->sim_link_count) {
        end = &ends[ahead[0]];
        const struct node *node = world->nodes[end->server].node;
        const struct packet *packet = world->links[ahead[0]].first;
        if (node && packet)
            node_expect(node, end->port, packet);
    }
}

static void reached_tell(const struct world *world)
{
    if (world->settings.reached)
        atomic_store_explicit(world->settings.reached, engine_now(world->engine),
                              memory_order_relaxed);
}

void world_run(struct world *world, psec until)
{
    uint32_t channel;
    psec before = engine_now(world->engine);
    world->interrupted = false;
    while (!world->interrupted && engine_next(world->engine, until, &channel)) {
        psec now = engine_now(world->engine);
        world->steps_at_moment = now == before ? world->steps_at_moment + 1 : 0;
        before = now;
        assert(world->steps_at_moment < STEPS_PER_MOMENT_MAX);
        world->counts.events++;
        reached_tell(world);
        fetch_ahead(world);
        hash_add(world, now * 0x9e3779b97f4a7c15u + channel);
        if (channel < world->sim_link_count)
            arrived(world, channel);
        else if (channel < 2 * world->sim_link_count)
            has_room(world, channel - world->sim_link_count);
        else if (channel < disk_channel(world, 0))
            timer_due(&world->nodes[channel - 2 * world->sim_link_count]);
        else if (channel < work_channel(world, 0))
            disk_due(&world->nodes[channel - disk_channel(world, 0)]);
        else if (channel < sockets_channel(world))
            work_due(&world->nodes[channel - work_channel(world, 0)]);
        else
            sim_sockets_run(world->sockets);
    }
    reached_tell(world);
}

void world_interrupt(struct world *world)
{
    world->interrupted = true;
}

/* ---- the node's environment ---- */

static inline struct world_node *node_of_env(struct env *env)
{
    return container_of(env, struct world_node, env);
}

static unsigned env_receive(struct env *env, unsigned port, struct packet **out, unsigned most)
{
    struct world_node *at = node_of_env(env);
    struct world *world = at->world;
    uint32_t link = port == at->input_port ? at->input_link : link_into(world, at->self, port);
    unsigned count = sim_link_receive(&world->links[link], engine_now(world->engine), out, most);
    for (unsigned i = 0; i < count; i++)
        hash_add(world, out[i]->trail << 16 ^ out[i]->size);
    for (unsigned i = 0; world->watch.receives && i < count; i++)
        world_watch_received(&world->watch, at->self, port, out[i]);
    world->counts.hops += count;
    if (world->links[link].first) /* otherwise the channel stays unset: engine_next removed it */
        arm(world, link);
    return count;
}

static uint32_t env_room(struct env *env, unsigned port)
{
    struct world_node *at = node_of_env(env);
    struct world *world = at->world;
    uint32_t index = at->self * world->plan->port_count + port;
    struct sim_link *link = &world->links[index];
    uint32_t room = sim_link_room(link, engine_now(world->engine));
    if (!room)
        engine_set(world->engine, world->sim_link_count + index, sim_link_room_at(link));
    return room;
}

static void env_transmit(struct env *env, unsigned port, struct packet **packets, unsigned count,
                         bool lazy)
{
    struct world_node *at = node_of_env(env);
    struct world *world = at->world;
    uint32_t index = at->self * world->plan->port_count + port;
    struct sim_link *link = &world->links[index];
    struct packet *first = link->first;
    for (unsigned i = 0; i < count; i++) {
        assert(!packets[i]->changed); /* between processes its bytes would be outdated */
        packets[i]->read = true;      /* its fields stay valid */
    }
    sim_link_send(link, engine_now(world->engine), packets, count);
    if (link->first != first)
        arm(world, index);
}

static int env_local(struct env *env, const struct env_answer *to, const void *bytes, uint32_t size)
{
    struct world_node *at = node_of_env(env);
    const struct world_settings *settings = &at->world->settings;
    if (settings->answered)
        return settings->answered(settings->context, at->self, to, bytes, size);
    if (settings->answer)
        settings->answer(settings->context, at->self, to->client, bytes, size);
    return 0;
}

static void env_disk(struct env *env, struct disk_operation *operation)
{
    struct world_node *at = node_of_env(env);
    disk_submit(at->disk, engine_now(at->world->engine), operation);
    disk_arm(at);
}

static void env_disk_end(struct env *env)
{
    disk_end(node_of_env(env)->disk);
}

static void env_work(struct env *env, struct work_operation *operation)
{
    struct world_node *at = node_of_env(env);
    struct world *world = at->world;
    sim_work_submit(at->work, engine_now(world->engine), operation);
    work_arm(at);
}

static void env_work_cancel(struct env *env, struct work_operation *operation)
{
    struct world_node *at = node_of_env(env);
    struct world *world = at->world;
    sim_work_cancel(at->work, engine_now(world->engine), operation);
    work_arm(at);
}

static void env_work_end(struct env *env)
{
    if (node_of_env(env)->work)
        sim_work_end(node_of_env(env)->work);
}

static const struct env_ops world_env_ops = {
    .receive = env_receive,
    .room = env_room,
    .transmit = env_transmit,
    .local = env_local,
    .work = env_work,
    .work_cancel = env_work_cancel,
    .work_end = env_work_end,
    .simulates = true,
    .descriptors = &world_descriptor_ops,
    .wall = world_env_wall,
    .clock = world_env_clock,
};

static const struct env_ops world_env_disk_ops = {
    .receive = env_receive,
    .room = env_room,
    .transmit = env_transmit,
    .local = env_local,
    .disk = env_disk,
    .disk_end = env_disk_end,
    .work = env_work,
    .work_cancel = env_work_cancel,
    .work_end = env_work_end,
    .simulates = true,
    .descriptors = &world_descriptor_ops,
    .wall = world_env_wall,
    .clock = world_env_clock,
};

/* ---- start, crash and other actions ---- */

static enum err node_begin(struct world *world, node_id id, struct why *why)
{
    struct world_node *at = &world->nodes[id];
    assert(!at->node);
    struct node_config config = world->settings.node;
    config.plan = world->plan;
    config.self = id;
    config.env = &at->env;
    config.incarnation = at->incarnation ? at->incarnation + INCARNATION_STEP : INCARNATION_FIRST;
    /* Another incarnation draws other numbers. */
    config.seed =
        hash_mix(world->settings.seed ^ hash_mix((uint64_t)id << 32 ^ config.incarnation));
    config.watcher = world_watch_node(&world->watch);
    config.memory = &world->pages.source;
    at->env.now = clock_read(at);
    enum err err = node_open(&at->node, &config, why);
    if (err) {
        at->node = NULL;
        return err;
    }
    at->incarnation = config.incarnation;
    at->paused = false;
    at->wanted = NOT_ASKED;
    world_watch_opened(&world->watch, id, at->incarnation);
    engine_set(world->engine, timer_channel(world, id), engine_now(world->engine));
    return OK;
}

enum err world_restart(struct world *world, node_id id, struct why *why)
{
    return node_begin(world, id, why);
}

/* Packets that arrived but were not read are lost with their reader. */
static void lose_input(struct world *world, node_id id)
{
    for (unsigned port = 0; port < world->plan->port_count; port++) {
        if (plan_end(world->plan, id, port)->server == NODE_NONE)
            continue;
        uint32_t link = link_into(world, id, port);
        sim_link_lose(&world->links[link], engine_now(world->engine));
        arm(world, link);
    }
}

static void server_end(struct world *world, node_id id)
{
    struct world_node *at = &world->nodes[id];
    assert(at->node);
    local_queue_pass(&at->waiting, NULL);
    at->env.now = clock_read(at);
    node_close(at->node);
    at->node = NULL;
    at->paused = false;
    at->wanted = NOT_ASKED;
    engine_set(world->engine, timer_channel(world, id), PSEC_NEVER);
    for (unsigned port = 0; port < world->plan->port_count; port++) {
        uint32_t link = id * world->plan->port_count + port;
        world->links[link].asked = false;
        engine_set(world->engine, world->sim_link_count + link, PSEC_NEVER);
    }
    if (at->disk)
        engine_set(world->engine, disk_channel(world, id), PSEC_NEVER);
    if (at->work)
        engine_set(world->engine, work_channel(world, id), PSEC_NEVER);
    lose_input(world, id);
    hash_add(world, engine_now(world->engine) ^ id);
    world_watch_closed(&world->watch, id);
}

void world_crash(struct world *world, node_id id)
{
    server_end(world, id);
    if (world->nodes[id].disk)
        disk_crash(world->nodes[id].disk);
}

void world_kill(struct world *world, node_id id)
{
    server_end(world, id);
}

void world_hang(struct world *world, node_id id, psec length)
{
    struct world_node *at = &world->nodes[id];
    if (!at->disk)
        return;
    disk_hang(at->disk, engine_now(world->engine), length);
    disk_arm(at);
}

void world_erase(struct world *world, node_id id)
{
    assert(!world->nodes[id].node);
    if (world->nodes[id].disk)
        disk_erase(world->nodes[id].disk);
}

void world_pause(struct world *world, node_id id, bool paused)
{
    struct world_node *at = &world->nodes[id];
    if (!at->node || at->paused == paused)
        return;
    at->paused = paused;
    if (paused)
        return;
    at->env.now = clock_read(at);
    local_queue_pass(&at->waiting, at->node);
    /* It is notified now of all that happened meanwhile. */
    for (unsigned port = 0; port < world->plan->port_count; port++) {
        if (plan_end(world->plan, id, port)->server == NODE_NONE)
            continue;
        node_input(at->node, port);
        node_room(at->node, port);
    }
    step(at);
    if (at->disk)
        disk_due(at);
    if (at->work)
        work_due(at);
    sim_sockets_resume(world->sockets, id);
}

void world_fill(struct world *world, node_id id, bool full)
{
    for (unsigned port = 0; port < world->plan->port_count; port++) {
        if (plan_end(world->plan, id, port)->server == NODE_NONE)
            continue;
        uint32_t index = link_into(world, id, port);
        struct sim_link *link = &world->links[index];
        link->stuck = full;
        if (full || !link->asked)
            continue;
        psec now = engine_now(world->engine), at = sim_link_room_at(link);
        engine_set(world->engine, world->sim_link_count + index, at > now ? at : now);
    }
}

static void clock_set(struct world_node *at, env_nsec reads, uint32_t rate)
{
    at->clock_at_base = reads;
    at->clock_base = world_nsec(at->world);
    at->rate = rate;
    at->skewed = true;
    at->wanted = NOT_ASKED;
    if (is_awake(at))
        step(at); /* its timers are due earlier or later now */
}

void world_clock(struct world *world, node_id id, uint32_t millionths)
{
    struct world_node *at = &world->nodes[id];
    assert(millionths > 0);
    clock_set(at, clock_read(at), millionths);
}

void world_jump(struct world *world, node_id id, env_nsec ahead)
{
    struct world_node *at = &world->nodes[id];
    assert(ahead >= 0);
    clock_set(at, clock_read(at) + ahead, at->rate);
}

env_nsec world_clock_of(const struct world *world, node_id id)
{
    return clock_read(&world->nodes[id]);
}

void world_rewind(struct world *world, node_id id, uint64_t incarnations)
{
    struct world_node *at = &world->nodes[id];
    assert(!at->node);
    uint64_t back = incarnations * INCARNATION_STEP + ++at->rewinds % INCARNATION_STEP;
    at->incarnation -= back < at->incarnation ? back : at->incarnation - 1;
}

void world_carrier(struct world *world, node_id id, unsigned port, bool on)
{
    struct world_node *at = &world->nodes[id];
    if (!at->node)
        return;
    at->env.now = clock_read(at);
    node_carrier(at->node, port, on);
    if (!at->paused)
        step(at);
}

void world_cut(struct world *world, node_id id, unsigned port, bool cut)
{
    struct world_node *at = &world->nodes[id];
    if (!at->node)
        return;
    at->env.now = clock_read(at);
    node_cut(at->node, port, cut);
    if (!at->paused)
        step(at);
}

int world_call(struct world *world, node_id id, const struct env_answer *from, const void *bytes,
               uint32_t size)
{
    struct world_node *at = &world->nodes[id];
    if (!at->node)
        return -ECONNREFUSED;
    if (at->paused)
        return local_queue_add(&at->waiting, from, false, bytes, size);
    at->env.now = clock_read(at);
    int result = node_local(at->node, from, bytes, size);
    step(at);
    return result;
}

int world_request(struct world *world, node_id id, uint16_t service, uint64_t client,
                  const void *bytes, uint32_t size)
{
    return world_call(world, id, &(struct env_answer){client, REQUEST_TICKET, service}, bytes,
                      size);
}

int world_gone(struct world *world, node_id id, uint64_t client)
{
    struct world_node *at = &world->nodes[id];
    if (!at->node)
        return 0;
    if (at->paused)
        return local_queue_add(&at->waiting, &(struct env_answer){.client = client}, true, NULL, 0);
    at->env.now = clock_read(at);
    node_local_gone(at->node, client);
    step(at);
    return 0;
}

/* ---- opening and closing ---- */

static enum err disks_open(struct world *world, struct why *why)
{
    enum err err = OK;
    for (node_id id = 0; !err && world->settings.disk.size && id < world->plan->server_count; id++)
        err =
            disk_open(&world->nodes[id].disk, &world->settings.disk, world->settings.seed, id, why);
    return err;
}

static bool uses_work(const struct weft_service *const *services)
{
    for (unsigned i = 0; services && services[i]; i++)
        if (services[i]->work)
            return true;
    return false;
}

static enum err works_open(struct world *world, struct why *why)
{
    enum err err = OK;
    bool used = uses_work(world->settings.node.services);
    for (node_id id = 0; !err && used && id < world->plan->server_count; id++)
        err = sim_work_open(&world->nodes[id].work, world->settings.seed,
                            WORK_STREAM | (uint64_t)id, why);
    return err;
}

static enum err sockets_open(struct world *world, struct why *why)
{
    const struct sim_sockets_world functions = {sockets_now, sockets_due, sockets_turn, world};
    return sim_sockets_open(&world->sockets, &world->settings.sockets, &functions,
                            world->settings.seed, why);
}

static enum err parts_open(struct world *world, struct why *why)
{
    const struct plan *plan = world->plan;
    enum err err = slab_pool_open(&world->pool, world->settings.packet_memory, why);
    if (!err)
        err = engine_open(&world->engine, sockets_channel(world) + 1, why);
    if (!err)
        err = sockets_open(world, why);
    if (err)
        return err;
    world->links = arena_take_array(&world->arena, world->sim_link_count, sizeof *world->links);
    world->nodes = arena_take_array(&world->arena, plan->server_count, sizeof *world->nodes);
    if (!world->links || !world->nodes)
        return why_memory(why);
    slab_watch(world->pool, world_watch_slab(&world->watch));
    for (uint32_t i = 0; i < world->sim_link_count; i++)
        sim_link_init(&world->links[i], &world->pace, world->pool, world->settings.seed, i);
    for (node_id id = 0; id < plan->server_count; id++)
        world->nodes[id] = (struct world_node){
            .env = {.ops = world->settings.disk.size ? &world_env_disk_ops : &world_env_ops,
                    .pool = slab_packets(world->pool)},
            .world = world,
            .self = id,
            .wanted = NOT_ASKED,
            .input_port = PORT_NONE,
            .rate = CLOCK_RIGHT,
        };
    enum err opened = disks_open(world, why);
    return opened ? opened : works_open(world, why);
}

static enum err nodes_open(struct world *world, struct why *why)
{
    uint32_t count = world->plan->server_count;
    for (node_id id = 0; id < count; id++) {
        enum err err = node_begin(world, id, why);
        if (err)
            return err;
    }
    if (!world->settings.settled)
        return OK;
    uint64_t *incarnations = array_new(count, sizeof *incarnations);
    if (!incarnations)
        return why_memory(why);
    for (node_id id = 0; id < count; id++)
        incarnations[id] = world->nodes[id].incarnation;
    for (node_id id = 0; id < count; id++)
        node_settle(world->nodes[id].node, incarnations);
    free(incarnations);
    return OK;
}

enum err world_open(struct world **out, const struct world_settings *settings, struct why *why)
{
    struct world *world = calloc(1, sizeof *world);
    if (!world)
        return why_memory(why);
    world->settings = *settings;
    world->plan = settings->plan;
    world->pace = sim_link_pace_make(&settings->link);
    pages_init(&world->pages);
    world->arena.source = &world->pages.source;
    for (unsigned i = 0; i < 4; i++)
        world->ahead[i] = ENGINE_NONE;
    world->sim_link_count = world->plan->server_count * world->plan->port_count;
    world_watch_init(&world->watch, world, settings->watchers);
    enum err err = parts_open(world, why);
    if (!err && !settings->down)
        err = nodes_open(world, why);
    if (err) {
        world_close(world);
        return err;
    }
    *out = world;
    return OK;
}

uint64_t world_stop(struct world *world)
{
    for (node_id id = 0; world->nodes && id < world->plan->server_count; id++)
        if (world->nodes[id].node)
            world_crash(world, id);
    for (uint32_t i = 0; world->links && i < world->sim_link_count; i++)
        sim_link_flush(&world->links[i]);
    world->stopped = true;
    return world->pool ? slab_packets(world->pool)->live : 0;
}

void world_close(struct world *world)
{
    if (!world)
        return;
    bool stopped = world->stopped;
    uint64_t left = world_stop(world);
    assert(stopped || !world->pool || left == slab_packets(world->pool)->abandoned);
    for (uint32_t i = 0; world->links && i < world->sim_link_count; i++)
        sim_link_fini(&world->links[i]);
    for (node_id id = 0; world->nodes && id < world->plan->server_count; id++) {
        disk_close(world->nodes[id].disk);
        sim_work_close(world->nodes[id].work);
    }
    sim_sockets_close(world->sockets);
    engine_close(world->engine);
    slab_pool_close(world->pool);
    arena_fini(&world->arena);
    pages_fini(&world->pages);
    free(world);
}
