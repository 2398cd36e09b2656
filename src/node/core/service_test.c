/* Checks what a node refuses of its services: services that cannot run, and calls beyond their
 * limits. */
#include <weft/service.h>

#include "base/list.h"
#include "node/core/node_impl.h"
#include "node/core/self.h"
#include "node/node_world.h"
#include "node/test_plan.h"

static int (*started)(struct weft_self *self);         /* set by the test, or NULL */
static void (*asked)(struct weft_self *self);          /* the same */
static void (*delivered)(const struct packet *packet); /* the same */

static int probe_start(struct weft_self *self)
{
    return started ? started(self) : 0;
}

static void probe_request(struct weft_self *self, uint64_t client, uint64_t ticket,
                          const void *bytes, uint32_t size)
{
    asked(self);
}

static void probe_deliver(struct weft_self *self, struct weft_packet *packet)
{
    if (delivered)
        delivered((const struct packet *)packet);
    weft_done(packet);
}

static void probe_timer(struct weft_self *self, uint64_t cookie)
{
}

static const struct weft_service_ops probe_ops = {
    .start = probe_start, .request = probe_request, .deliver = probe_deliver, .timer = probe_timer};
static const struct weft_service probe = {
    .version = WEFT_SERVICE_VERSION, .name = "probe", .id = 300, .ops = &probe_ops};

/* A service that keeps its own queue, which is empty. */
static struct weft_packet *own_poll(struct weft_self *self, unsigned port, uint32_t room)
{
    return NULL;
}

/* Wakes all ports, also those that do not exist. */
static void own_request(struct weft_self *self, uint64_t client, uint64_t ticket, const void *bytes,
                        uint32_t size)
{
    weft_wake(self, UINT32_MAX);
}

static const int own_local; /* what it offers to other services */
static const struct weft_service_ops own_ops = {.request = own_request, .poll = own_poll};
static const struct weft_service own = {.version = WEFT_SERVICE_VERSION,
                                        .name = "own",
                                        .id = 256, /* the first id that is not small */
                                        .queue = WEFT_QUEUE_OWN,
                                        .local = &own_local,
                                        .ops = &own_ops};
static const struct weft_service *const probes[] = {&probe, &own, NULL};

/* ---- services that cannot run ---- */

/* Opens a node with these services; `why` says why that failed. */
static enum err opened(const struct weft_service *const *services, struct arena_source *memory,
                       struct why *why)
{
    struct topology topology;
    struct plan plan;
    *why = (struct why){0};
    assert_int_equal(topology_build(&topology, "torus:3", why), OK);
    assert_int_equal(plan_init(&plan, &topology, why), OK);
    struct packet_pool *pool = packet_pool_open(8, PACKET_SIZE_MAX);
    struct env env = {&world_ops, 0, pool};
    struct node *node;
    const struct node_config config = {
        .plan = &plan, .env = &env, .incarnation = 1, .services = services, .memory = memory};
    enum err err = node_open(&node, &config, why);
    if (!err)
        node_close(node);
    packet_pool_close(pool);
    plan_fini(&plan);
    topology_fini(&topology);
    return err;
}

static void refused(const struct weft_service *const *services, const char *reason)
{
    struct why why;
    assert_int_equal(opened(services, NULL, &why), ERR_USAGE);
    assert_string_equal(why.text, reason);
}

static void services_that_cannot_run_are_refused(void **state)
{
    struct weft_service bad[10];
    for (unsigned i = 0; i < 10; i++)
        bad[i] = probe;
    bad[0].version++;
    bad[1].name = NULL;
    bad[2].name = "";
    bad[3].ops = NULL;
    bad[4].queue = WEFT_QUEUE_OWN;
    bad[6].queue = WEFT_QUEUE_OWN + 1;
    bad[7].queue_packets = NODE_QUEUE_PACKETS_MAX + 1;
    bad[8].keep_packets = NODE_KEEP_PACKETS_MAX + 1;
    bad[9].name = "two\nlines";
    const struct weft_service *list[3] = {&bad[0]};
    refused(list, "service probe: built for another version of weft/service.h; rebuild it");
    list[0] = &bad[1];
    refused(list, "service ?: its name is not one of 1 to 32 letters, digits and -");
    list[0] = &bad[2];
    refused(list, "service ?: its name is not one of 1 to 32 letters, digits and -");
    list[0] = &bad[9];
    refused(list, "service ?: its name is not one of 1 to 32 letters, digits and -");
    list[0] = &bad[3];
    refused(list, "service probe: has no functions");
    list[0] = &bad[8];
    refused(list, "service probe: has keep_packets above the limit");
    list[0] = &bad[4];
    refused(list, "service probe: keeps its own queue, but has no poll()");
    list[0] = &bad[6];
    refused(list, "service probe: has an unknown kind of queue");
    list[0] = &bad[7];
    refused(list, "service probe: has queue_packets above the limit");
    list[0] = &probe;
    list[1] = &bad[5];
    bad[5].id++;
    refused(list, "service probe: another service has the same name");
    bad[5] = probe;
    bad[5].name = "other";
    refused(list, "service other: has the id 300, like the service probe");
    bad[5].id = 0;
    refused(list, "service other: has the id 0, like the service links");
}

/* Makes one service more than a node runs. */
static const struct weft_service **many_make(void)
{
    static struct weft_service many[NODE_SERVICES_MAX];
    static char names[NODE_SERVICES_MAX][8];
    static const struct weft_service *list[NODE_SERVICES_MAX + 1];
    for (unsigned i = 0; i < NODE_SERVICES_MAX; i++) { /* the links service comes in addition */
        many[i] = probe;
        names[i][0] = (char)('a' + i / 26);
        names[i][1] = (char)('a' + i % 26);
        many[i].name = names[i];
        many[i].id = (uint16_t)(255 + i); /* small ids end there */
        list[i] = &many[i];
    }
    return list;
}

static void more_services_than_slots_are_refused(void **state)
{
    const struct weft_service **list = many_make();
    refused(list, "33 services are too many: a server runs at most 32");
    struct why why;
    list[NODE_SERVICES_MAX - 1] = NULL;
    assert_int_equal(opened(list, NULL, &why), OK);
}

/* No slot is free between the last service and the value that means none. */
static void a_node_full_of_services_drops_packets_for_unknown_services(void **state)
{
    const struct weft_service **list = many_make();
    list[NODE_SERVICES_MAX - 1] = NULL;
    struct world *world = world_open_settled("torus:3", list, 0);
    for (uint16_t service = 254; service < 255 + NODE_SERVICES_MAX; service += NODE_SERVICES_MAX) {
        struct packet *packet = world_forge(world, service, NULL, 0);
        assert_int_equal(
            node_local(world->nodes[0].node, &(struct env_answer){1, 1, service}, "", 0), -ENOENT);
        packet_set_server(packet, service); /* such a server does not exist, either */
        unsigned port = plan_port(&world->plan, 0, 1);
        node_approach(world->nodes[0].node, port);
        node_expect(world->nodes[0].node, port, packet); /* hints may be wrong, too */
        packet->kind = PACKET_TO_NEIGHBOUR;
        world_arrive(world, 1, 0, packet);
        world_run(world, 1);
    }
    struct node_snapshot snapshot;
    node_snapshot(world->nodes[0].node, &snapshot);
    assert_int_equal(snapshot.drops[DROP_NO_SERVICE], 2);
    world_close(world);
}

/* Memory that refuses all blocks after the given number. */
struct meagre {
    struct arena_source source;
    unsigned before, taken, given;
};

static void *meagre_take(struct arena_source *source, size_t size)
{
    struct meagre *meagre = container_of(source, struct meagre, source);
    if (meagre->taken == meagre->before)
        return NULL;
    meagre->taken++;
    return aligned_alloc(ARENA_ALIGN, size);
}

static void meagre_give(struct arena_source *source, void *block, size_t size)
{
    container_of(source, struct meagre, source)->given++;
    free(block);
}

static void *meagre_map(struct arena_source *source, size_t size)
{
    void *memory = meagre_take(source, size / ARENA_ALIGN * ARENA_ALIGN + ARENA_ALIGN);
    return memory ? memset(memory, 0, size) : NULL;
}

#define MEAGRE(blocks)                                                                             \
    {                                                                                              \
        {meagre_take, meagre_give, meagre_map, meagre_give}, (blocks), 0, 0                        \
    }

/* The memory of the second service is a mapping of its own. */
static void a_node_without_memory_fails_and_frees_what_it_took(void **state)
{
    struct weft_service large = probe;
    large.size = 1 << 20;
    const struct weft_service *const list[] = {&own, &large, NULL};
    struct why why;
    unsigned blocks = 0;
    for (enum err err = ERR_MEMORY; err; blocks++) {
        struct meagre meagre = MEAGRE(blocks);
        err = opened(list, &meagre.source, &why);
        assert_true(!err || err == ERR_MEMORY);
        assert_int_equal(meagre.taken, blocks);
        assert_int_equal(meagre.given, blocks);
    }
    assert_true(blocks > 2);
}

/* Memory runs out at any point: the size of a service's memory moves all that is allocated after
 * it. */
static void memory_may_run_out_at_any_allocation_of_a_node(void **state)
{
    struct weft_service sized = probe;
    const struct weft_service *const list[] = {&own, &sized, NULL};
    struct why why;
    struct meagre meagre = MEAGRE(UINT32_MAX);
    assert_int_equal(opened(list, &meagre.source, &why), OK);
    unsigned blocks = meagre.taken, worked = 0;
    for (sized.size = 64; sized.size < 64 * 1024; sized.size += 64) {
        meagre = (struct meagre)MEAGRE(blocks);
        enum err err = opened(list, &meagre.source, &why);
        worked += err == OK;
        assert_true(err == OK || err == ERR_MEMORY);
        assert_int_equal(meagre.given, meagre.taken);
    }
    assert_in_range(worked, 1, 1021);
}

/* ---- services that start and stop ---- */

static unsigned stopped;

static int start_well(struct weft_self *self)
{
    return 0;
}

static int start_badly(struct weft_self *self)
{
    return -EINVAL;
}

static void stop_count(struct weft_self *self)
{
    stopped++;
}

static void a_service_that_cannot_start_stops_the_others(void **state)
{
    static const struct weft_service_ops well = {.start = start_well, .stop = stop_count};
    static const struct weft_service_ops badly = {.start = start_badly, .stop = stop_count};
    struct weft_service one = probe, two = probe;
    one.ops = &well;
    two.ops = &badly;
    two.name = "bad";
    two.id++;
    const struct weft_service *list[] = {&one, NULL, NULL};
    struct why why;
    assert_int_equal(opened(list, NULL, &why), OK);
    assert_int_equal(stopped, 1);
    list[1] = &two;
    assert_int_equal(opened(list, NULL, &why), ERR_SYSTEM);
    assert_string_equal(why.text, "service bad cannot start: Invalid argument");
    assert_int_equal(stopped, 2); /* the one that had started */
}

/* ---- calls beyond the limits ---- */

static int memory_is_taken_at_the_start(struct weft_self *self)
{
    assert_non_null(weft_allocate(self, 100));
    return 0;
}

static void limits_check(struct weft_self *self)
{
    assert_null(weft_allocate(self, 100));
    assert_null(weft_packet(self, WEFT_PAYLOAD_MAX + 1));
    assert_null(weft_packet_hollow(self, 10, 11));
    unsigned timers = 0;
    while (!weft_timer(self, weft_now(self) + 1000, timers))
        assert_true(++timers <= 64);
    assert_int_equal(timers, 64);
    struct weft_key key;
    struct weft_packet *packet = weft_packet(self, 1);
    assert_false(weft_is_for_key(packet, &key));
    assert_int_equal(weft_set_priority(packet, 1000), -EINVAL);
    assert_int_equal(weft_set_priority(packet, PACKET_PRIORITY_MAX), 0);
    assert_int_equal(weft_send_server(self, packet, 1), 0);
    assert_int_equal(weft_send_server(self, weft_packet(self, 1), 0x40000000), -EHOSTUNREACH);
}

static unsigned arrived;

static void priority_check(const struct packet *packet)
{
    assert_int_equal(packet->priority, PACKET_PRIORITY_MAX);
    arrived++;
}

static void services_cannot_exceed_their_limits(void **state)
{
    started = memory_is_taken_at_the_start;
    struct world *world = world_open_settled("torus:5", probes, 0);
    asked = limits_check;
    delivered = priority_check;
    world_ask(world, 0, 300, 1, "", 0);
    world_run(world, 1000000);
    assert_int_equal(arrived, 1);
    started = NULL;
    delivered = NULL;
    world_close(world);
}

static unsigned gone_port;

static void ports_check(struct weft_self *self)
{
    static const unsigned ports[] = {2, 31, 32, 33, 64, 65};
    assert_int_equal(weft_port_count(self), 2);
    for (unsigned i = 0; i < sizeof ports / sizeof *ports; i++) {
        assert_int_equal(weft_send_port(self, weft_packet(self, 1), ports[i]), -EHOSTUNREACH);
        struct weft_packet *packet = weft_packet(self, 1);
        assert_int_equal(weft_address_port(self, packet, ports[i]), 0);
        weft_done(packet);
        assert_int_equal(weft_neighbour(self, ports[i]), WEFT_NOBODY);
    }
    assert_int_equal(weft_send_port(self, weft_packet(self, 1), gone_port), -EHOSTUNREACH);
    assert_int_equal(weft_send_port(self, weft_packet(self, 1), 1 - gone_port), 0);
}

static unsigned over_ports;

static void over_port_check(const struct packet *packet)
{
    over_ports += packet->kind == PACKET_TO_NEIGHBOUR;
}

static void absent_and_down_ports_accept_nothing(void **state)
{
    struct world *world = world_open_settled("torus:5", probes, 0);
    gone_port = plan_port(&world->plan, 0, 1);
    world_cut(world, 0, 1, true);
    world_run(world, 3 * INT64_C(1000000000));
    asked = ports_check;
    delivered = over_port_check;
    world_ask(world, 0, 300, 1, "", 0);
    world_ask(world, 0, own.id, 1, "", 0);
    world_run(world, 1000000);
    delivered = NULL;
    assert_int_equal(over_ports, 1); /* the existing port carried it */
    node_check(world->nodes[0].node);
    world_close(world);
}

static void a_service_without_deliver_refuses_packets(void **state)
{
    struct world *world = world_open_settled("torus:3", probes, 0);
    struct packet *packet = world_forge(world, own.id, NULL, 0);
    packet_set_server(packet, 0);
    world_arrive(world, 1, 0, packet);
    world_run(world, 1000000);
    struct node_snapshot snapshot;
    node_snapshot(world->nodes[0].node, &snapshot);
    assert_int_equal(snapshot.drops[DROP_REFUSED], 1);
    assert_int_equal(world_number(world, 0, "own", "dropped"), 1);
    world_close(world);
}

/* ---- a service that keeps its own queue ---- */

static struct weft_packet *queued[3];
static unsigned queued_arrived[4]; /* by kind */

static struct weft_packet *queued_poll(struct weft_self *self, unsigned port, uint32_t room)
{
    for (unsigned i = 0; i < 3; i++) {
        struct weft_packet *packet = queued[i];
        if (!packet || ((struct packet *)packet)->size > room)
            continue;
        queued[i] = NULL;
        return packet;
    }
    return NULL;
}

/* Sends three packets to server 1, a neighbour: to the server, to one of its keys, and over the
 * link. */
static void queued_request(struct weft_self *self, uint64_t client, uint64_t ticket,
                           const void *bytes, uint32_t size)
{
    struct weft_key key;
    assert_int_equal(size, sizeof key);
    memcpy(&key, bytes, sizeof key);
    unsigned port = 0;
    while (weft_neighbour(self, port) != 1)
        port++;
    for (unsigned i = 0; i < 3; i++)
        queued[i] = weft_packet(self, 10 + i);
    assert_int_equal(weft_address_server(self, queued[0], 1), 1u << port);
    assert_int_equal(weft_address_key(self, queued[1], &key), 1u << port);
    assert_int_equal(weft_address_port(self, queued[2], port), 1u << port);
    weft_wake(self, 1u << port);
}

static void queued_deliver(struct weft_self *self, struct weft_packet *packet)
{
    const struct packet *in = (const struct packet *)packet;
    assert_int_equal(weft_here(self), 1);
    assert_int_equal(in->source, 0);
    queued_arrived[in->kind]++;
    weft_done(packet);
}

static const struct weft_service_ops queued_ops = {
    .request = queued_request, .poll = queued_poll, .deliver = queued_deliver};
static const struct weft_service queued_service = {.version = WEFT_SERVICE_VERSION,
                                                   .name = "queued",
                                                   .id = 301,
                                                   .queue = WEFT_QUEUE_OWN,
                                                   .ops = &queued_ops};
static const struct weft_service *const queued_list[] = {&queued_service, NULL};

static unsigned queued_sent;

static void on_sent(struct node_watcher *watcher, node_id at, const struct packet *packet)
{
    queued_sent += packet->service == queued_service.id;
}

static void packets_of_a_polled_service_arrive(void **state)
{
    struct node_watcher watcher = {.sent = on_sent};
    const struct node_config config = {.seed = 1, .services = queued_list, .watcher = &watcher};
    struct world *world = world_open("torus:3", &config);
    world_run(world, WORLD_SETTLED);
    uint64_t route = 0;
    while (keyspace_group(&world->plan.keyspace, route).home != 1)
        route += UINT64_C(1) << 56;
    struct key key = key_make(route);
    struct node_snapshot before, after;
    node_snapshot(world->nodes[0].node, &before);
    world_ask(world, 0, queued_service.id, 1, key.bytes, sizeof key.bytes);
    world_run(world, 2 * WORLD_DELAY);
    assert_int_equal(queued_arrived[PACKET_TO_SERVER], 1);
    assert_int_equal(queued_arrived[PACKET_TO_KEY], 1);
    assert_int_equal(queued_arrived[PACKET_TO_NEIGHBOUR], 1);
    node_snapshot(world->nodes[0].node, &after);
    assert_int_equal(after.sent - before.sent, 3);
    assert_int_equal(world_number(world, 0, "queued", "sent"), 3);
    assert_int_equal(queued_sent, 3);
    world_close(world);
}

static unsigned checks;

/* Nothing is left of the packet that used the buffer before. */
static void zeroes_check(struct weft_self *self)
{
    static const uint8_t zeroes[100];
    struct weft_packet *packet = weft_packet(self, sizeof zeroes);
    memset(weft_payload(packet), 0xee, sizeof zeroes);
    weft_done(packet);
    packet = weft_packet(self, sizeof zeroes);
    assert_memory_equal(weft_payload(packet), zeroes, sizeof zeroes);
    weft_done(packet);
    checks++;
}

static void a_new_packet_is_all_zeroes(void **state)
{
    struct world *world = world_open_settled("torus:3", probes, 0);
    asked = zeroes_check;
    world_ask(world, 0, 300, 1, "", 0);
    assert_int_equal(checks, 1);
    checks = 0;
    world_close(world);
}

/* ---- answers to a service ---- */

static void others_check(struct weft_self *self)
{
    struct weft_self *other = NULL;
    assert_ptr_equal(weft_local(self, "own", &other), &own_local);
    assert_true(other && other != self);
    assert_null(weft_local(self, "probe", &other)); /* it offers nothing */
    assert_ptr_equal(other, self);
    other = NULL;
    assert_null(weft_local(self, "missing", &other));
    assert_null(other);
    assert_ptr_equal(weft_local(self, "own", NULL), &own_local);
}

static void where_check(struct weft_self *self)
{
    assert_int_equal(weft_server_count(self), 5);
    for (weft_server server = 0; server < 5; server++) {
        assert_true(weft_reaches(self, server));
        assert_int_equal(weft_distance(self, server), server <= 2 ? server : 5 - server);
    }
    assert_false(weft_reaches(self, 5));
    unsigned roots = 0;
    for (uint32_t name = 0; name < 100; name++) {
        struct weft_key key = weft_key_of(&name, sizeof name);
        struct key hash = key_hash(&name, sizeof name);
        assert_memory_equal(key.bytes, hash.bytes, sizeof key.bytes);
        weft_server servers[6];
        assert_int_equal(weft_servers(self, &key, servers, 6), 5);
        assert_true(weft_is_root(self, &key) == (servers[0] == 0));
        roots += servers[0] == 0;
    }
    assert_in_range(roots, 1, 99);
}

static void packets_check(struct weft_self *self)
{
    struct weft_packet *packet = weft_packet(self, WEFT_PAYLOAD_MAX);
    assert_int_equal(weft_size(packet), WEFT_PAYLOAD_MAX);
    assert_int_equal(weft_port_in(packet), UINT32_MAX);
    assert_int_equal(weft_hops(packet), 0);
    weft_set_priority(packet, PACKET_PRIORITY_MAX - 1);
    assert_int_equal(((struct packet *)packet)->priority, PACKET_PRIORITY_MAX - 1);
    weft_done(packet);
    packet = weft_packet_hollow(self, 10, 10);
    assert_int_equal(weft_size(packet), 10);
    weft_done(packet);
    packet = weft_packet_hollow(self, 10, 3);
    assert_int_equal(weft_size(packet), 3);
    assert_int_equal(weft_size_sent(packet), 10);
    struct weft_key key = weft_key_of("name", 4), found;
    (void)weft_address_key(self, packet, &key);
    assert_true(weft_is_for_key(packet, &found));
    assert_memory_equal(&key, &found, sizeof key);
    weft_done(packet);
}

static void world_check(struct weft_self *self)
{
    char word[8];
    assert_int_equal(weft_answer(self, 9, 0, "well", 4), 0);
    assert_int_equal(weft_answer(self, 9, 0, word, WEFT_MESSAGE_MAX + 1), -EMSGSIZE);
    assert_true(weft_random(self) != weft_random(self));
    struct node *node = node_of(self);
    assert_true(node_memory(node) > 1000);
}

static void answers_check(struct weft_self *self)
{
    world_check(self);
    others_check(self);
    where_check(self);
    packets_check(self);
    checks++;
}

static void calls_of_a_service_return_correct_values(void **state)
{
    struct world *world = world_open_settled("torus:5", probes, 0);
    asked = answers_check;
    world_ask(world, 0, 300, 1, "", 0);
    assert_int_equal(checks, 1);
    assert_int_equal(world->answer_count, 1);
    assert_true(world->answers[0].client == 9 && world->answers[0].size == 4);
    checks = 0;
    world_close(world);
}

static uint64_t gone_client;

static void gone_note(struct weft_self *self, uint64_t client)
{
    gone_client = client;
}

static void requests_reach_only_services_that_accept_them(void **state)
{
    static const struct weft_service_ops ops = {.gone = gone_note};
    static const struct weft_service deaf = {
        .version = WEFT_SERVICE_VERSION, .name = "deaf", .id = 255, .ops = &ops};
    static const struct weft_service *const list[] = {&probe, &deaf, NULL};
    struct world *world = world_open_settled("torus:2", list, 0);
    struct node *node = world->nodes[0].node;
    static const uint16_t wrong[] = {255, 254, 301, 0};
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(node_local(node, &(struct env_answer){1, 1, wrong[i]}, "", 0), -ENOENT);
    node_local_gone(node, 77);
    assert_int_equal(gone_client, 77);
    world_close(world);
}

/* Each timer fires exactly at its moment; of several with one moment the one set first goes
 * first. */
static struct {
    int64_t at;
    uint64_t cookie;
} fired[8];
static unsigned fired_count;

static void moments_timer(struct weft_self *self, uint64_t cookie)
{
    fired[fired_count].at = weft_now(self);
    fired[fired_count++].cookie = cookie;
}

static void moments_request(struct weft_self *self, uint64_t client, uint64_t ticket,
                            const void *bytes, uint32_t size)
{
    static const int64_t delays[] = {700, 500, 500, -9, 0, 900};
    for (uint64_t i = 0; i < 6; i++)
        assert_int_equal(weft_timer(self, weft_now(self) + delays[i], i), 0);
}

static void timers_fire_at_their_moment(void **state)
{
    static const struct weft_service_ops ops = {.request = moments_request, .timer = moments_timer};
    static const struct weft_service moments = {
        .version = WEFT_SERVICE_VERSION, .name = "moments", .id = 300, .ops = &ops};
    static const struct weft_service *const list[] = {&moments, NULL};
    static const int64_t delays[] = {0, 0, 500, 500, 700, 900};
    static const uint64_t cookies[] = {3, 4, 1, 2, 0, 5};
    struct world *world = world_open_settled("torus:2", list, 0);
    env_nsec now = world->now;
    world_ask(world, 0, 300, 1, "", 0);
    world_run(world, 2000);
    assert_int_equal(fired_count, 6);
    for (unsigned i = 0; i < 6; i++)
        assert_true(fired[i].at == now + delays[i] && fired[i].cookie == cookies[i]);
    world_close(world);
}

/* ---- steps ---- */

static unsigned echoes;

/* Sends to itself a few times. */
static void echo_deliver(struct weft_self *self, struct weft_packet *packet)
{
    if (echoes++ < 3)
        assert_int_equal(weft_send_server(self, packet, weft_here(self)), 0);
    else
        weft_done(packet);
}

static void echo_request(struct weft_self *self, uint64_t client, uint64_t ticket,
                         const void *bytes, uint32_t size)
{
    assert_int_equal(weft_send_server(self, weft_packet(self, 0), weft_here(self)), 0);
}

static void a_step_returns_whether_more_work_waits(void **state)
{
    static const struct weft_service_ops ops = {.request = echo_request, .deliver = echo_deliver};
    static const struct weft_service echo = {
        .version = WEFT_SERVICE_VERSION, .name = "echo", .id = 300, .ops = &ops};
    static const struct weft_service *const list[] = {&echo, NULL};
    struct world *world = world_open_settled("torus:3", list, 0);
    struct world_node *at = &world->nodes[0];
    at->env.now = world->now = world->now + 1;
    while (node_step(at->node) <= world->now)
        ;
    /* No service is called from inside its own call: one delivery per step. */
    assert_int_equal(node_local(at->node, &(struct env_answer){1, 1, 300}, "", 0), 0);
    assert_int_equal(echoes, 0);
    for (unsigned step = 1; step <= 4; step++) {
        assert_true((node_step(at->node) == world->now) == (step < 4));
        assert_int_equal(echoes, step);
    }
    /* More than one burst arrives: the rest is received in the next step, without another
     * node_input. */
    for (unsigned i = 0; i < 40; i++) {
        struct packet *packet = world_forge(world, 300, NULL, 0);
        packet->kind = PACKET_TO_NEIGHBOUR;
        world_arrive(world, 1, 0, packet);
    }
    node_input(at->node, plan_port(&world->plan, 0, 1));
    assert_true(node_step(at->node) == world->now);
    assert_int_equal(echoes, 4 + 32);
    assert_true(node_step(at->node) > world->now);
    assert_int_equal(echoes, 4 + 40);
    world_close(world);
}

static void full_check(struct weft_self *self)
{
    assert_int_equal(weft_port_count(self), PORT_MAX);
    struct weft_packet *packet = weft_packet(self, 1);
    assert_int_equal(weft_address_port(self, packet, PORT_MAX), 0);
    assert_true(weft_address_port(self, packet, PORT_MAX - 1) == UINT32_C(1) << (PORT_MAX - 1));
    weft_done(packet);
    assert_int_equal(weft_send_port(self, weft_packet(self, 1), PORT_MAX), -EHOSTUNREACH);
    checks++;
}

/* Such a server uses all bits of a set of ports. */
static void a_server_with_all_ports_has_no_further_port(void **state)
{
    struct world *world = world_open_settled("jellyfish:n=33,degree=32,seed=1", probes, 0);
    asked = full_check;
    world_ask(world, 0, 300, 1, "", 0);
    world_run(world, 1000000);
    assert_int_equal(checks, 1);
    world_close(world);
}

/* 512 servers fill a cache line of a set: the memory after it belongs to something else. */
static void servers_beyond_the_plan_are_unreachable(void **state)
{
    struct test_plan test;
    test_plan_open(&test, "torus:8x8x8");
    struct packet_pool *pool = packet_pool_open(64, PACKET_SIZE_MAX);
    struct env env = {&world_ops, 0, pool};
    const struct node_config config = {.plan = &test.plan, .env = &env, .incarnation = 1};
    struct node *node;
    assert_int_equal(node_open(&node, &config, NULL), OK);
    assert_true(node_reaches(node, 0));
    assert_true(node_counts_on(node, 0));
    for (node_id server = 512; server < 600; server++) {
        assert_false(node_reaches(node, server));
        assert_false(node_counts_on(node, server));
        assert_int_equal(node_distance(node, server), UINT32_MAX);
        assert_int_equal(node_ports_to(node, server), 0);
    }
    node_close(node);
    packet_pool_close(pool);
    test_plan_close(&test);
}

TEST_MAIN(TEST(services_that_cannot_run_are_refused), TEST(more_services_than_slots_are_refused),
          TEST(a_node_full_of_services_drops_packets_for_unknown_services),
          TEST(a_node_without_memory_fails_and_frees_what_it_took),
          TEST(packets_of_a_polled_service_arrive), TEST(calls_of_a_service_return_correct_values),
          TEST(memory_may_run_out_at_any_allocation_of_a_node),
          TEST(a_service_that_cannot_start_stops_the_others),
          TEST(requests_reach_only_services_that_accept_them), TEST(timers_fire_at_their_moment),
          TEST(a_step_returns_whether_more_work_waits), TEST(services_cannot_exceed_their_limits),
          TEST(absent_and_down_ports_accept_nothing),
          TEST(a_service_without_deliver_refuses_packets), TEST(a_new_packet_is_all_zeroes),
          TEST(a_server_with_all_ports_has_no_further_port),
          TEST(servers_beyond_the_plan_are_unreachable))
