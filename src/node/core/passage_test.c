/* Follows packets on their way: services that see, change, take and refuse them, queues, and a
 * counter for each reason to drop one. Packets travel as bytes here, as between processes. */
#include "base/rng.h"
#include "node/node.h"
#include "node/node_world.h"

#define MSEC       1000000LL
#define COURIER_ID 300
#define RUSH_ID    301
#define NEWEST_ID  302
#define MUTE_ID    303
#define QUEUE_MOST 8
#define LIMBO_MOST 16

enum errand { ERRAND_PLAIN, ERRAND_CHANGE, ERRAND_NONSENSE, ERRAND_TAKE };

/* The request of a program, and the payload of a packet. */
struct letter {
    uint8_t errand;
    uint8_t touched; /* how many servers on the way intercepted it */
    uint8_t by_key;  /* to the root of `route` instead of a server */
    uint8_t by_stop; /* to `stop` first */
    uint32_t number;
    uint32_t priority;
    weft_server to, stop;
    uint64_t route;
    uint8_t rest[32];
};

#define LETTER_CUT (sizeof(struct letter) - sizeof((struct letter){0}.rest))

/* What happened on all servers of the test. */
static struct {
    unsigned count;
    uint32_t numbers[64];
    struct letter letter; /* the last one delivered, with its attributes */
    uint32_t size, identity, hops;
    weft_server source, at;
    unsigned stops, ups[27], downs[27];
    unsigned touched; /* sum over all delivered letters */
    unsigned dropped[DROP_COUNT];
} seen;

static uint8_t hop_limit; /* of the test's plan */

static void courier_request(struct weft_self *self, uint64_t client, uint64_t ticket,
                            const void *bytes, uint32_t size)
{
    struct letter letter;
    assert_int_equal(size, sizeof letter);
    memcpy(&letter, bytes, sizeof letter);
    struct weft_packet *packet = weft_packet(self, sizeof letter);
    if (!packet)
        return;
    memcpy(weft_payload(packet), &letter, sizeof letter);
    weft_set_identity(packet, letter.number);
    weft_set_priority(packet, letter.priority);
    if (!letter.by_key) {
        (void)weft_send_server(self, packet, letter.by_stop ? letter.stop : letter.to);
        return;
    }
    struct key made = key_make(letter.route);
    struct weft_key key;
    memcpy(key.bytes, made.bytes, sizeof key.bytes);
    (void)weft_send_key(self, packet, &key);
}

static enum weft_verdict courier_intercept(struct weft_self *self, struct weft_packet *packet)
{
    struct letter *letter = weft_payload(packet);
    letter->touched++;
    if (letter->errand == ERRAND_TAKE) {
        weft_done(packet);
        return WEFT_TAKEN;
    }
    if (letter->errand == ERRAND_CHANGE && weft_size(packet) == sizeof *letter) {
        weft_set_size(packet, LETTER_CUT);
        weft_set_identity(packet, weft_identity(packet) + 100);
    }
    return WEFT_PASS;
}

/* Each server that the packet passed through has intercepted it once and counted one hop. So has
 * the last one if it became the root while the packet waited there. */
static void way_check(const struct weft_packet *packet, const struct letter *letter)
{
    unsigned hops = weft_hops(packet);
    assert_true(letter->touched + 1u >= hops && letter->touched <= hops);
    assert_int_equal(((const struct packet *)packet)->hops_left, hop_limit - letter->touched);
}

static void courier_deliver(struct weft_self *self, struct weft_packet *packet)
{
    struct letter letter = {0};
    memcpy(&letter, weft_payload(packet), weft_size(packet));
    if (letter.errand == ERRAND_NONSENSE) {
        weft_refuse(self, packet);
        return;
    }
    if (letter.by_stop && letter.stop == weft_here(self)) {
        seen.stops++;
        (void)weft_send_server(self, packet, letter.to);
        return;
    }
    if (!letter.by_stop)
        way_check(packet, &letter);
    seen.letter = letter;
    seen.touched += letter.touched;
    seen.size = weft_size(packet);
    seen.identity = weft_identity(packet);
    seen.hops = weft_hops(packet);
    seen.source = weft_source(packet);
    seen.at = weft_here(self);
    seen.numbers[seen.count++ % 64] = weft_identity(packet);
    weft_done(packet);
}

static void courier_up(struct weft_self *self, weft_server server)
{
    seen.ups[server]++;
}

static void courier_down(struct weft_self *self, weft_server server)
{
    seen.downs[server]++;
}

static const struct weft_service_ops courier_ops = {
    .deliver = courier_deliver,
    .intercept = courier_intercept,
    .peer_up = courier_up,
    .peer_down = courier_down,
    .request = courier_request,
};
static const struct weft_service_ops queue_ops = {
    .deliver = courier_deliver,
    .intercept = courier_intercept,
    .request = courier_request,
};
static const struct weft_service courier = {.version = WEFT_SERVICE_VERSION,
                                            .name = "courier",
                                            .id = COURIER_ID,
                                            .ops = &courier_ops,
                                            .queue_packets = QUEUE_MOST};
static const struct weft_service rush = {.version = WEFT_SERVICE_VERSION,
                                         .name = "rush",
                                         .id = RUSH_ID,
                                         .ops = &queue_ops,
                                         .queue = WEFT_QUEUE_PRIORITY,
                                         .queue_packets = QUEUE_MOST};
static const struct weft_service newest = {.version = WEFT_SERVICE_VERSION,
                                           .name = "newest",
                                           .id = NEWEST_ID,
                                           .ops = &queue_ops,
                                           .queue = WEFT_QUEUE_NEWEST,
                                           .queue_packets = QUEUE_MOST};

/* A service without intercept(). */
static void mute_deliver(struct weft_self *self, struct weft_packet *packet)
{
    seen.count++;
    weft_done(packet);
}

static const struct weft_service_ops mute_ops = {.deliver = mute_deliver,
                                                 .request = courier_request};
static const struct weft_service mute = {
    .version = WEFT_SERVICE_VERSION, .name = "mute", .id = MUTE_ID, .ops = &mute_ops};
static const struct weft_service *const services[] = {&courier, &rush, &newest, &mute, NULL};

static void on_dropped(struct node_watcher *watcher, node_id at, const struct packet *packet,
                       enum drop_reason reason)
{
    seen.dropped[reason] += packet->service != 0; /* link messages are repeated */
}

static struct node_watcher watcher = {.dropped = on_dropped};

static struct world *stage_open(const char *spec)
{
    const struct node_config config = {
        .seed = 1, .services = services, .watcher = &watcher, .limbo_packets = LIMBO_MOST};
    memset(&seen, 0, sizeof seen);
    struct world *world = world_open(spec, &config);
    hop_limit = world->plan.hop_limit;
    return world;
}

static struct world *stage_open_settled(const char *spec)
{
    struct world *world = stage_open(spec);
    world_run(world, WORLD_SETTLED);
    memset(&seen, 0, sizeof seen);
    return world;
}

static void post(struct world *world, node_id from, uint16_t service, const struct letter *letter)
{
    world_ask(world, from, service, 1, letter, sizeof *letter);
}

/* Checks the count of the nodes and the count of the watcher. */
static void assert_dropped(struct world *world, enum drop_reason reason, unsigned count)
{
    uint64_t sum = 0;
    for (node_id id = 0; id < world->plan.server_count; id++) {
        struct node_snapshot snapshot = {0};
        if (world->nodes[id].node)
            node_snapshot(world->nodes[id].node, &snapshot);
        sum += snapshot.drops[reason];
    }
    assert_int_equal(sum, count);
    assert_int_equal(seen.dropped[reason], count);
}

/* ---- passing through ---- */

static void changes_that_a_service_makes_to_a_packet_arrive(void **state)
{
    struct world *world = stage_open_settled("torus:7");
    const struct letter letter = {.errand = ERRAND_CHANGE, .number = 5, .to = 3};
    for (unsigned i = 1; i <= 20; i++) { /* also many in one frame */
        post(world, 0, COURIER_ID, &letter);
        if (i % QUEUE_MOST == 0)
            world_run(world, MSEC);
    }
    world_run(world, MSEC);
    assert_int_equal(seen.count, 20);
    for (unsigned i = 0; i < 20; i++)
        assert_int_equal(seen.numbers[i], 105);
    assert_int_equal(seen.size, LETTER_CUT);
    assert_int_equal(seen.letter.touched, 2);
    assert_dropped(world, DROP_DAMAGED, 0);
    post(world, 0, COURIER_ID, &(struct letter){.errand = ERRAND_TAKE, .to = 3});
    world_run(world, MSEC);
    assert_int_equal(seen.count, 20); /* taken by a service on the way */
    world_close(world);
}

static void a_packet_goes_to_its_stop_first_and_then_to_its_destination(void **state)
{
    struct world *world = stage_open_settled("torus:9");
    /* The stop is in the other direction. */
    post(world, 0, COURIER_ID, &(struct letter){.number = 8, .to = 4, .stop = 8, .by_stop = 1});
    world_run(world, MSEC);
    assert_int_equal(seen.stops, 1);
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.at, 4);
    assert_int_equal(seen.source, 0);
    assert_int_equal(seen.identity, 8);
    assert_int_equal(seen.hops, 1 + 4);
    assert_int_equal(seen.letter.touched, 3);
    world_close(world);
}

/* How many packets wait for a root on servers other than that one. */
static uint32_t limbo_but_at(const struct world *world, node_id here)
{
    uint32_t sum = 0;
    for (node_id id = 0; id < world->plan.server_count; id++) {
        struct node_snapshot snapshot = {0};
        if (world->nodes[id].node && id != here)
            node_snapshot(world->nodes[id].node, &snapshot);
        sum += snapshot.limbo;
    }
    return sum;
}

/* A root returns while one server sends to its keys: some packets wait on a server on the way. The
 * service there intercepts them once, like all others (way_check). */
static void a_packet_that_waited_for_a_root_is_intercepted_once_per_server(void **state)
{
    struct world *world = stage_open_settled("torus:9");
    uint64_t route = 1;
    uint32_t sent = 0, waited = 0;
    while (keyspace_group(&world->plan.keyspace, route).home != 4)
        route++;
    for (unsigned round = 0; round < 20; round++) {
        world_crash(world, 4);
        world_run(world, (1500 + round) * MSEC);
        world_start(world, 4);
        for (; !node_is_root(world->nodes[4].node, route); sent++) {
            post(world, 1, COURIER_ID, &(struct letter){.by_key = 1, .route = route});
            world_run(world, 700);
            waited += limbo_but_at(world, 1);
        }
        world_run(world, MSEC);
    }
    assert_true(waited > 0);
    assert_int_equal(seen.count + seen.dropped[DROP_LIMBO_FULL] + seen.dropped[DROP_QUEUE_FULL],
                     sent);
    world_close(world);
}

/* A letter to that key arrives at server 3, which is not its root, from server 2. */
static void letter_passes(struct world *world, uint64_t route)
{
    struct key key = key_make(route);
    struct letter passing = {.number = 7};
    struct packet *packet = world_forge(world, COURIER_ID, &passing, sizeof passing);
    packet_set_key(packet, &key);
    world_arrive(world, 2, 3, packet);
    world_run(world, 1);
}

/* The neighbour of a returning root receives its hellos, but not all servers have seen this yet:
 * packets to its keys wait, our own and one that passes through. Our service intercepts only the
 * latter when it goes on. */
static void a_packet_waits_while_its_root_is_near_but_not_up(void **state)
{
    struct world *world = stage_open_settled("torus:9");
    uint64_t route = 1;
    while (keyspace_group(&world->plan.keyspace, route).home != 4)
        route++;
    world_crash(world, 4);
    world_run(world, 1500 * MSEC);
    world_start(world, 4);
    struct node *node = world->nodes[3].node;
    while (!node_counts_on(node, 4))
        world_run(world, 1000);
    assert_false(node_reaches(node, 4));
    memset(&seen, 0, sizeof seen);
    post(world, 3, COURIER_ID, &(struct letter){.by_key = 1, .route = route});
    letter_passes(world, route);
    struct node_snapshot snapshot;
    node_snapshot(node, &snapshot);
    assert_int_equal(snapshot.limbo, 2);
    world_run(world, WORLD_SETTLED);
    assert_int_equal(seen.count, 2);
    assert_int_equal(seen.at, 4);
    assert_int_equal(seen.touched, 1);
    world_close(world);
}

/* The root is gone again before all servers have seen it: a packet that waited at the server that
 * takes over has arrived, and was intercepted by no service.
 */
static void a_waiting_packet_is_delivered_if_its_server_becomes_the_root(void **state)
{
    struct world *world = stage_open_settled("torus:9");
    struct node *node = world->nodes[3].node;
    world_crash(world, 4);
    world_run(world, 1500 * MSEC);
    uint64_t route = 1;
    while (keyspace_group(&world->plan.keyspace, route).home != 4 || !node_is_root(node, route))
        route++;
    world_start(world, 4);
    while (!node_counts_on(node, 4))
        world_run(world, 1000);
    letter_passes(world, route);
    world_crash(world, 4);
    memset(&seen, 0, sizeof seen);
    world_run(world, 1500 * MSEC);
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.at, 3);
    assert_int_equal(seen.touched, 0);
    world_close(world);
}

static void services_are_notified_of_lost_and_returning_servers(void **state)
{
    struct world *world = stage_open_settled("torus:3x3x3");
    world_crash(world, 13);
    world_run(world, 1500 * MSEC);
    for (node_id id = 0; id < 27; id++) {
        assert_int_equal(seen.downs[id], id == 13 ? 26 : 0); /* the service of each other server */
        assert_int_equal(seen.ups[id], 0);
    }
    world_start(world, 13);
    world_run(world, 1500 * MSEC);
    for (node_id id = 0; id < 27; id++) {
        assert_int_equal(seen.downs[id], id == 13 ? 26 : 0);
        assert_int_equal(seen.ups[id], id == 13 ? 26 : 1); /* the service of 13 learns of all */
    }
    world_close(world);
}

/* ---- the watcher ---- */

static struct {
    unsigned sent, delivered, taken, transmitted, ups, downs;
    node_id at;     /* the last server that delivered or took one */
    uint64_t trail; /* of the last packet sent or taken */
} watched;

static void on_sent(struct node_watcher *self, node_id at, const struct packet *packet)
{
    watched.sent += packet->service != 0;
    watched.trail = packet->trail;
    assert_int_equal(at, 0);
}

static void on_delivered(struct node_watcher *self, node_id at, const struct packet *packet)
{
    watched.delivered += packet->service != 0;
    watched.at = at;
}

static void on_taken(struct node_watcher *self, node_id at, uint64_t trail)
{
    watched.taken++;
    watched.at = at;
    assert_true(trail == watched.trail);
}

static void on_port(struct node_watcher *self, node_id at, unsigned port, bool up)
{
    watched.ups += up;
    watched.downs += !up;
}

static void on_transmitted(struct node_watcher *self, node_id at, unsigned port,
                           const struct packet *packet)
{
    watched.transmitted += packet->service != 0;
}

static void a_watcher_is_notified_of_all_events(void **state)
{
    struct node_watcher all = {.sent = on_sent,
                               .delivered = on_delivered,
                               .taken = on_taken,
                               .port = on_port,
                               .transmitted = on_transmitted};
    const struct node_config config = {.seed = 1, .services = services, .watcher = &all};
    struct world *world = world_open("torus:7", &config);
    hop_limit = world->plan.hop_limit;
    world_run(world, WORLD_SETTLED);
    assert_int_equal(watched.ups, 2 * 7);
    memset(&seen, 0, sizeof seen);
    post(world, 0, COURIER_ID, &(struct letter){.to = 3});
    world_run(world, MSEC);
    assert_true(watched.sent == 1 && watched.delivered == 1 && watched.at == 3);
    assert_int_equal(watched.transmitted, 3);
    post(world, 0, MUTE_ID, &(struct letter){.to = 3});
    world_run(world, MSEC);
    assert_true(watched.sent == 2 && watched.delivered == 2 && watched.at == 3);
    assert_int_equal(watched.transmitted, 6);
    assert_int_equal(seen.count, 2);
    post(world, 0, COURIER_ID, &(struct letter){.errand = ERRAND_TAKE, .to = 3});
    world_run(world, MSEC);
    assert_true(watched.sent == 3 && watched.taken == 1 && watched.at == 1);
    assert_int_equal(watched.transmitted, 7);
    struct node_snapshot snapshot;
    node_snapshot(world->nodes[1].node, &snapshot);
    assert_int_equal(snapshot.intercepted, 1);
    assert_int_equal(world_number(world, 1, "courier", "intercepted"), 1);
    assert_int_equal(watched.downs, 0);
    world_cut(world, 0, 1, true);
    world_run(world, 1500 * MSEC);
    assert_int_equal(watched.downs, 2);
    assert_int_equal(watched.ups, 2 * 7);
    world_close(world);
}

/* ---- queues ---- */

/* Twelve letters at once over a slow link: one leaves at once, the others exceed the queue.
 */
static void queue_fill(struct world *world, uint16_t service)
{
    static const uint8_t priorities[12] = {0, 3, 1, 7, 3, 2, 6, 0, 5, 4, 1, 7};
    world->rate = 1000 * 1000;
    for (uint32_t i = 0; i < 12; i++) {
        post(world, 0, service, &(struct letter){.number = i, .priority = priorities[i], .to = 1});
        world_run(world, 1000);
    }
    world_run(world, 100 * MSEC);
}

static void assert_order(const uint32_t *numbers, unsigned count)
{
    assert_int_equal(seen.count, count);
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(seen.numbers[i], numbers[i]);
}

static void built_in_queues_choose_which_packet_leaves_first_and_which_is_dropped(void **state)
{
    struct world *world = stage_open_settled("torus:5");
    queue_fill(world, COURIER_ID);
    assert_order((const uint32_t[]){0, 1, 2, 3, 4, 5, 6, 7, 8}, 9);
    assert_dropped(world, DROP_QUEUE_FULL, 3);
    world_close(world);

    world = stage_open_settled("torus:5");
    queue_fill(world, RUSH_ID); /* dropped, by lowest priority: 7, 2, 10 */
    assert_order((const uint32_t[]){0, 3, 11, 6, 8, 9, 1, 4, 5}, 9);
    assert_dropped(world, DROP_QUEUE_FULL, 3);
    world_close(world);

    world = stage_open_settled("torus:5");
    queue_fill(world, NEWEST_ID); /* dropped, the oldest: 1, 2, 3 */
    assert_order((const uint32_t[]){0, 11, 10, 9, 8, 7, 6, 5, 4}, 9);
    assert_dropped(world, DROP_QUEUE_FULL, 3);
    world_close(world);
}

/* Several packets arrive together while the port to the next server is busy with another. */
static void passing_packets_wait_for_room(void **state)
{
    struct world *world = stage_open_settled("torus:5");
    unsigned sent = 0;
    world->rate = 1000 * 1000;
    for (unsigned i = 0; i < 300; i++) {
        if (i % 6 == 0)
            for (unsigned j = 0; j < 3; j++, sent++)
                post(world, 0, COURIER_ID, &(struct letter){.to = 2});
        if (i % 5 == 0) {
            post(world, 1, COURIER_ID, &(struct letter){.to = 2});
            sent++;
        }
        world_run(world, MSEC / 3);
    }
    world_run(world, 100 * MSEC);
    assert_int_equal(seen.count + seen.dropped[DROP_QUEUE_FULL], sent);
    world_close(world);
}

/* ---- dropped ---- */

/* A packet as if server 1 had sent it to server 0; the caller seals it. */
static struct packet *forge(struct world *world, uint16_t service, weft_server to)
{
    struct packet *packet = packet_take(world->pool, PACKET_HEADER_SIZE);
    packet->size = packet->stored = PACKET_HEADER_SIZE;
    packet->service = service;
    packet->hops_left = 9;
    packet->source = 1;
    packet_set_server(packet, to);
    return packet;
}

static void arrive(struct world *world, struct packet *packet)
{
    struct world_link *link = world_link(world, 1, plan_port(&world->plan, 1, 0));
    packet->read = false;
    packet->order = (uint64_t)world->now;
    packet->next = NULL;
    *link->end = packet;
    link->end = &packet->next;
    world_run(world, MSEC);
}

static void useless_packets_are_counted_by_reason(void **state)
{
    struct world *world = stage_open_settled("torus:5");
    struct packet *packet = forge(world, COURIER_ID, 0);
    packet_seal(packet);
    packet->bytes[8] ^= 1;
    arrive(world, packet);
    assert_dropped(world, DROP_DAMAGED, 1);
    packet = forge(world, 999, 0);
    packet_seal(packet);
    arrive(world, packet);
    assert_dropped(world, DROP_NO_SERVICE, 1);
    packet = forge(world, 99, 0); /* small ids are looked up in another way */
    packet_seal(packet);
    arrive(world, packet);
    assert_dropped(world, DROP_NO_SERVICE, 2);
    packet = forge(world, COURIER_ID, 0x40000000);
    packet_seal(packet);
    arrive(world, packet);
    assert_dropped(world, DROP_UNREACHABLE, 1);
    packet = forge(world, COURIER_ID, 4);
    packet->hops_left = 0;
    packet_seal(packet);
    arrive(world, packet);
    assert_dropped(world, DROP_HOPS, 1);
    post(world, 0, COURIER_ID, &(struct letter){.errand = ERRAND_NONSENSE, .to = 2});
    world_run(world, MSEC);
    assert_dropped(world, DROP_REFUSED, 1);
    world_cut(world, 0, 1, true);
    world_run(world, 1500 * MSEC);
    packet = forge(world, COURIER_ID, 0);
    packet_seal(packet);
    arrive(world, packet);
    assert_dropped(world, DROP_STRAY, 1);
    assert_int_equal(seen.count, 0);
    world_close(world);
}

/* 16 servers fill a cache line of ports: the memory after it belongs to something else. */
static void the_first_server_beyond_the_plan_is_unreachable(void **state)
{
    struct world *world = stage_open_settled("torus:4x4");
    struct packet *packet = forge(world, COURIER_ID, 16);
    packet_seal(packet);
    arrive(world, packet);
    assert_dropped(world, DROP_UNREACHABLE, 1);
    world_close(world);
}

static void packets_that_cannot_leave_are_counted(void **state)
{
    static struct packet *taken[WORLD_PACKETS + 1]; /* the last entry is NULL */
    struct world *world = stage_open_settled("torus:5");
    post(world, 0, COURIER_ID, &(struct letter){.to = 77});
    assert_dropped(world, DROP_UNREACHABLE, 1);

    unsigned count = 0;
    while ((taken[count] = packet_take(world->pool, PACKET_HEADER_SIZE)) != NULL)
        count++;
    post(world, 0, COURIER_ID, &(struct letter){.to = 1});
    while (count > 0)
        packet_done(taken[--count]);
    struct node_snapshot snapshot;
    node_snapshot(world->nodes[0].node, &snapshot);
    assert_int_equal(snapshot.drops[DROP_NO_BUFFER], 1);

    struct packet *lost = forge(world, COURIER_ID, 1);
    lost->slot = 1;
    node_lost(world->nodes[0].node, lost);
    assert_dropped(world, DROP_PORT_DOWN, 1);

    world->rate = 1000 * 1000;
    for (unsigned i = 0; i < 4; i++) {
        post(world, 0, COURIER_ID, &(struct letter){.to = 1});
        world_run(world, 1000);
    }
    post(world, 0, COURIER_ID, &(struct letter){.to = 0}); /* would be delivered in the next step */
    world_crash(world, 0);
    assert_int_equal(seen.dropped[DROP_STOPPED], 4); /* one was in flight */
    world_start(world, 0);
    uint64_t route = 1;
    while (keyspace_group(&world->plan.keyspace, route).home != 0)
        route++;
    post(world, 0, COURIER_ID, &(struct letter){.by_key = 1, .route = route});
    world_crash(world, 0); /* before it knows whether it is the root */
    assert_int_equal(seen.dropped[DROP_STOPPED], 5);
    world_close(world);
}

static void excess_packets_to_a_key_without_a_root_are_counted(void **state)
{
    struct world *world = stage_open("torus:5");
    uint64_t route = 1;
    while (keyspace_group(&world->plan.keyspace, route).home != 0)
        route++;
    world_run(world, 1000);
    for (unsigned i = 0; i < LIMBO_MOST + 3; i++)
        post(world, 0, COURIER_ID, &(struct letter){.by_key = 1, .route = route});
    assert_dropped(world, DROP_LIMBO_FULL, 3);
    world_run(world, WORLD_SETTLED);
    assert_int_equal(seen.count, LIMBO_MOST);
    world_close(world);
}

TEST_MAIN(TEST(a_waiting_packet_is_delivered_if_its_server_becomes_the_root),
          TEST(a_packet_waits_while_its_root_is_near_but_not_up),
          TEST(the_first_server_beyond_the_plan_is_unreachable),
          TEST(a_watcher_is_notified_of_all_events),
          TEST(changes_that_a_service_makes_to_a_packet_arrive),
          TEST(a_packet_goes_to_its_stop_first_and_then_to_its_destination),
          TEST(a_packet_that_waited_for_a_root_is_intercepted_once_per_server),
          TEST(services_are_notified_of_lost_and_returning_servers),
          TEST(built_in_queues_choose_which_packet_leaves_first_and_which_is_dropped),
          TEST(passing_packets_wait_for_room), TEST(useless_packets_are_counted_by_reason),
          TEST(packets_that_cannot_leave_are_counted),
          TEST(excess_packets_to_a_key_without_a_root_are_counted))
